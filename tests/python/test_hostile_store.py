# SPDX-License-Identifier: BSL-1.0
"""Verbs survive any content of a store's files: no traceback, no hang, no deleted file."""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_store
from conftest import FakeLab

from millpond.store import store_files
from millpond.store.column_table import TEXT, WHOLE, ColumnTable
from millpond.store.relations import RELATIONS
from millpond.store.store import Store
from tiers import scaled

FORMATS = ("html", "text", "json", "markdown", "csv", "pprof", "collapsed", "speedscope", "chrome")
VALUES: list[Any] = [None, True, -1, 0, 1e300, 10**30, "", "text", "\x1b[31m\n", [], [[]], ["a"], [5], {}, {"a": 1}]
DOCUMENTS = ("advice", "characterisation")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with one whole run, and the run's id."""
    folder = tmp_path_factory.mktemp("sound") / "store"
    return folder, str(sample_store.advise(folder)["run"])


@pytest.fixture
def store(sound: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """A copy of the sound store that a test may damage."""
    return Path(shutil.copytree(sound[0], tmp_path / "store")), sound[1]


def listing(folder: Path) -> dict[str, bytes]:
    """Returns every file below a folder with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def read_all(lab: FakeLab, folder: Path, formats: tuple[str, ...] = FORMATS) -> list[int]:
    """Runs every verb that reads a store; returns the statuses. An exception fails the test."""
    statuses = []
    before = listing(folder)
    reports = [("report", str(folder), "-o", f"{form}:-") for form in formats]
    for words in (*reports, ("compare", str(folder), str(folder))):
        done = lab.run(*words)
        assert done.status in (0, 3), (words, done)
        assert all(line.startswith("millpond: ") for line in done.stderr.splitlines()), done.stderr
        statuses.append(done.status)
    assert listing(folder) == before
    return statuses


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Lists the paths to all values; of a list, only to the first."""
    yield way
    children = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*way, key))


def changed(document: Any, way: tuple[Any, ...], value: Any, *, gone: bool = False) -> Any:
    result = copy.deepcopy(document)
    parent = result
    for key in way[:-1]:
        parent = parent[key]
    if gone:
        del parent[way[-1]]
    else:
        parent[way[-1]] = value
    return result


def put(path: Path, document: Any) -> None:
    path.write_bytes(gzip.compress(json.dumps(document).encode()))


def rewrite(path: Path, relation: str, change: dict[str, list[Any]], about: Any = None) -> None:
    """Rewrites a relation's file with some columns replaced."""
    table = store_files.read_parquet(path, RELATIONS[relation])
    changed = ColumnTable.of(table.kinds, {**table.values, **change})
    store_files.write_parquet(path, changed, store_files.about(path) if about is None else about)


@pytest.mark.lengthy
@pytest.mark.scaled
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_any_value_of_a_document_may_be_replaced(lab: FakeLab, store: tuple[Path, str], kind: str, seed: int) -> None:
    folder, run = store
    path = folder / kind / f"{run}.json.gz"
    whole = store_files.read_document(path)
    chance = random.Random(seed)
    ways = [way for way in places(whole) if way]
    for way in chance.sample(ways, min(len(ways), scaled(25, 4))):
        document = changed(whole, way, chance.choice(VALUES), gone=chance.random() < 0.2)
        put(path, document)
        form = chance.choice(FORMATS[:4])
        print(kind, way)
        read_all(lab, folder, (form, "chrome") if kind == "characterisation" else (form,))


@pytest.mark.more
@pytest.mark.parametrize("value", [[], 5, None, "text", {}, {"program": 5}, {"program": {"argv": 5}}])
def test_a_foreign_document_is_named_and_left_out(lab: FakeLab, store: tuple[Path, str], value: Any) -> None:
    folder, run = store
    put(folder / "advice" / f"{run}.json.gz", value)
    for form in FORMATS[:4]:
        done = lab.run("report", str(folder), "-o", f"{form}:-")
        assert done.status == 3
        assert f"advice/{run}.json.gz" in done.stderr


@pytest.mark.lengthy
def test_a_foreign_characterisation_is_left_out_of_the_report(lab: FakeLab, store: tuple[Path, str]) -> None:
    folder, run = store
    put(folder / "characterisation" / f"{run}.json.gz", {"trace": 5, "process": [], "heat_map": "x"})
    done = lab.run("report", str(folder), "-o", "markdown:-")
    assert done.status == 3
    assert "shop::book" in done.stdout
    assert f"characterisation/{run}.json.gz" in done.stderr
    assert f"advice/{run}.json.gz" not in done.stderr


DEEP = "[" * 100_000


@pytest.mark.more
@pytest.mark.parametrize("text", [DEEP, DEEP + "]" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900])
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_deep_nesting_crashes_no_verb(lab: FakeLab, store: tuple[Path, str], kind: str, text: str) -> None:
    folder, run = store
    (folder / kind / f"{run}.json.gz").write_bytes(gzip.compress(text.encode()))
    assert 3 in read_all(lab, folder, ("html", "json", "chrome"))


# For every row of a column: nested deeply enough to overflow the interpreter's parser.
DEEP_ROW = "[" * 3000
BAD_TEXTS = [
    None,
    "",
    "5",
    "[]",
    "{",
    DEEP_ROW,
]


@pytest.mark.more
@pytest.mark.parametrize("text", BAD_TEXTS)
def test_parameters_of_rows_are_checked(lab: FakeLab, store: tuple[Path, str], text: str | None) -> None:
    folder, run = store
    path = folder / "observations" / f"{run}.parquet"
    rows = len(store_files.read_parquet(path, RELATIONS["observations"]))
    rewrite(path, "observations", {"parameters": [text] * rows})
    assert 3 in read_all(lab, folder, ("json",))


@pytest.mark.more
@pytest.mark.parametrize("text", ["", "5", "{", "{}", "[5]", DEEP_ROW])
def test_subjects_of_rows_are_checked(lab: FakeLab, store: tuple[Path, str], text: str) -> None:
    folder, run = store
    path = folder / "observations" / f"{run}.parquet"
    rows = len(store_files.read_parquet(path, RELATIONS["observations"]))
    rewrite(path, "observations", {"subject": [text] * rows})
    assert 3 in read_all(lab, folder, ("json",))


@pytest.mark.lengthy
@pytest.mark.parametrize("column", ["stage", "exit_status"])
def test_columns_of_another_type_are_foreign(lab: FakeLab, store: tuple[Path, str], column: str) -> None:
    folder, run = store
    path = folder / "observations" / f"{run}.parquet"
    rows = len(store_files.read_parquet(path, RELATIONS["observations"]))
    kind, wrong = (WHOLE, 5) if column == "stage" else (TEXT, "x")
    table = store_files.read_parquet(path, RELATIONS["observations"])
    foreign = ColumnTable.of({**table.kinds, column: kind}, {**table.values, column: [wrong] * rows})
    store_files.write_parquet(path, foreign, store_files.about(path))
    assert 3 in read_all(lab, folder, ("json",))


BAD_PLANS = ["5", "[]", "{", DEEP_ROW, '{"routes": 5}', '{"routes": [5]}', '{"routes": [{"pool": 5}]}']


@pytest.mark.more
@pytest.mark.parametrize("plan", BAD_PLANS)
def test_plans_of_rows_are_checked(lab: FakeLab, store: tuple[Path, str], plan: str) -> None:
    folder, run = store
    path = folder / "observations" / f"{run}.parquet"
    rows = len(store_files.read_parquet(path, RELATIONS["observations"]))
    rewrite(path, "observations", {"plan": [plan] * rows})
    assert 3 in read_all(lab, folder, ("json",))


@pytest.mark.more
@pytest.mark.parametrize(("relation", "column"), [(r, c) for r, columns in RELATIONS.items() for c in columns])
def test_any_column_may_be_empty_or_strange(lab: FakeLab, store: tuple[Path, str], relation: str, column: str) -> None:
    folder, run = store
    path = folder / relation / f"{run}.parquet"
    sound_bytes = path.read_bytes()
    rows = len(store_files.read_parquet(path, RELATIONS[relation]))
    strange = {"whole numbers": [2**62, -5], "numbers": [float("nan"), -1e308], "text": ["", DEEP_ROW]}
    for value in [None, *strange.get(RELATIONS[relation][column], [])]:
        rewrite(path, relation, {column: [value] * rows})
        read_all(lab, folder, ("text", "csv" if relation == "observations" else "pprof"))
        path.write_bytes(sound_bytes)


@pytest.mark.more
@pytest.mark.parametrize("about", [[], 5, {}, {"functions": 5}, {"functions": [], "subsystems": []}])
def test_foreign_footers_crash_no_verb(lab: FakeLab, store: tuple[Path, str], about: Any) -> None:
    folder, run = store
    for relation in RELATIONS:
        rewrite(folder / relation / f"{run}.parquet", relation, {}, about)
    read_all(lab, folder, ("json", "pprof", "chrome"))


@pytest.mark.lengthy
def test_no_verb_waits_for_a_fifo(lab: FakeLab, store: tuple[Path, str]) -> None:
    folder, run = store
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        path.unlink()
        os.mkfifo(path)
    os.mkfifo(folder / "observations" / ".x.rounds")
    for form in FORMATS:
        assert lab.run("report", str(folder), "-o", f"{form}:-").status == 3
        assert lab.run("report", str(folder), "--run", run, "-o", f"{form}:-").status == 3
    assert lab.run("compare", str(folder), str(folder)).status == 3
    Store(folder).prepare()


MISSING = {
    "observations": "rounds cannot be shown",
    "subsystems": "lifetimes",
    "characterisation": "lifetimes",
    "contexts": "call tree",
}


@pytest.mark.more
@pytest.mark.parametrize("kind", MISSING)
@pytest.mark.parametrize("form", FORMATS[:4])
def test_a_missing_file_is_named_with_its_consequence(
    lab: FakeLab, store: tuple[Path, str], kind: str, form: str
) -> None:
    folder, run = store
    assert "issing" not in lab.run("report", str(folder), "-o", f"{form}:-").stdout.replace('"missing": []', "")
    (path,) = (folder / kind).glob(f"{run}.*")
    path.unlink()
    done = lab.run("report", str(folder), "-o", f"{form}:-")
    assert done.status == 0, done.stderr
    said = " ".join(done.stdout.replace("\\", "").split())
    assert f"{kind}/{path.name} is not in the store" in said
    assert MISSING[kind] in said


@pytest.mark.more
@pytest.mark.parametrize("form", FORMATS[:4])
def test_a_run_without_its_advice_is_named(lab: FakeLab, store: tuple[Path, str], form: str) -> None:
    folder, run = store
    other = sample_store.advise(folder, ("/bin/other",), seed=2)["run"]
    (folder / "advice" / f"{run}.json.gz").unlink()
    done = lab.run("report", str(folder), "-o", f"{form}:-")
    assert done.status == 0, done.stderr
    said = " ".join(done.stdout.replace("\\", "").split())
    assert f"advice/{run}.json.gz is not in the store (the run was perhaps stopped)" in said
    assert f"advice/{other}" not in said
