# SPDX-License-Identifier: BSL-1.0
"""Plans have one reader: the native programs and the command line agree on every file."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading_harness import BIN, Done, Run

from millpond import cli
from millpond.cells import plans
from millpond.system.errors import Failure
from tiers import scaled

VALID: dict[str, Any] = {
    "schema": "millpond.plan/1",
    "program": {"path": "/bin/true", "build_id": "4f1c"},
    "routes": [
        {"subsystems": ["node_pool", "names"], "pool": "nodes", "strategy": "multipool", "huge_pages": False},
        {"subsystems": ["*"], "pool": "rest", "strategy": "synchronized(multipool)"},
    ],
}
OTHER_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 5, 1.5, 1e300, 10**40, "", "yes", "*", "\0", "\ud800", "é\n\x1b[31m", [], [[]], [5],
    ["a", None], {}, {"a": {}}, [[[[[[]]]]]], "x" * 5000,
]  # fmt: skip
KEYS = ("huge_page", "hugepages", "Pool", "", "pool ", "strategies", "routes", "__proto__", "\0", "k" * 3000)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Lists the path of keys to every value of a document; the document itself comes first."""
    yield way
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*way, key))


def replaced(document: Any, way: tuple[Any, ...], value: Any) -> Any:
    if not way:
        return value
    result = copy.deepcopy(document)
    parent = result
    for key in way[:-1]:
        parent = parent[key]
    parent[way[-1]] = value
    return result


def at(document: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        document = document[key]
    return document


def renamed(document: Any, way: tuple[Any, ...], key: str, new: str) -> Any:
    """Returns the document with one key of the object at `way` renamed in place."""
    return replaced(document, way, {new if k == key else k: v for k, v in at(document, way).items()})


def every_mutant() -> Iterator[str]:
    """Yields documents with one value replaced or nested, or one key misspelt or removed."""
    for way in places(VALID):
        for value in OTHER_VALUES:
            yield json.dumps(replaced(VALID, way, value))
        yield json.dumps(replaced(VALID, way, [at(VALID, way)]))
        yield json.dumps(replaced(VALID, way, {"value": at(VALID, way)}))
        if isinstance(at(VALID, way), dict):
            for key in at(VALID, way):
                yield json.dumps(replaced(VALID, way, {k: v for k, v in at(VALID, way).items() if k != key}))
                for new in KEYS:
                    yield json.dumps(renamed(VALID, way, key, new))


def random_mutant(chance: random.Random) -> bytes:
    """Returns a plan with several changed values or bytes."""
    document: Any = VALID
    for _ in range(chance.randint(1, 3)):
        way = chance.choice(list(places(document)))
        document = replaced(document, way, chance.choice(OTHER_VALUES))
    text = bytearray(json.dumps(document).encode())
    for _ in range(chance.choice((0, 0, 1, 3))):
        where = chance.randrange(len(text) + 1)
        new = bytes(chance.choices(b'{}[]",:x5\\ \xff\x00\n', k=chance.randint(0, 2)))
        text[where : where + chance.randint(0, 2)] = new
    return bytes(text)


def check(path: Path, native: Run, capfd: pytest.CaptureFixture[str]) -> bool:
    """Returns whether the readers accept the plan. All must agree."""
    said = native("millpond-trial", f"--check-plan={path}")
    compiled = native("millpond-trial", "--compile", str(path), "--modules", "none", "-o", "routes")
    if said.status == 0:
        assert "none: cannot be opened" in compiled.stderr, (path.read_bytes(), compiled)
        plan = plans.read(path)
        assert plan.to_json() == json.loads(said.stdout)
        assert type(plan.to_json()["routes"]) is list
        assert all(type(r.huge_pages) is bool and type(r.pool) is str for r in plan.routes)
        return True
    said.assert_refused()
    assert (compiled.status, compiled.stderr) == (said.status, said.stderr)
    with pytest.raises(Failure) as caught:
        plans.read(path)
    assert (caught.value.status, f"millpond: {caught.value.message}\n") == (said.status, said.stderr)
    for words in (["try", "--plan", str(path), "--", "/bin/true"], ["trace", "replay", str(path), "--plan", str(path)]):
        capfd.readouterr()
        status = cli.main(words)
        shown = capfd.readouterr()
        assert (status, shown.err) == (said.status, said.stderr), path.read_bytes()
    return False


@pytest.fixture(autouse=True)
def real_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MILLPOND_BIN", str(BIN))
    monkeypatch.chdir(tmp_path)


@pytest.mark.scaled
def test_all_readers_agree_on_every_single_change(
    tmp_path: Path, native: Run, capfd: pytest.CaptureFixture[str], seed: int
) -> None:
    path = tmp_path / "mutant.plan.json"
    mutants = list(dict.fromkeys(every_mutant()))
    assert len(mutants) > 300
    verdicts = []
    for text in random.Random(seed).sample(mutants, scaled(len(mutants), 60)):
        path.write_text(text)
        verdicts.append(check(path, native, capfd))
    assert 0 < sum(verdicts) < len(verdicts) / 3


@pytest.mark.scaled
def test_all_readers_agree_on_random_changes(
    tmp_path: Path, native: Run, capfd: pytest.CaptureFixture[str], seed: int
) -> None:
    chance = random.Random(seed)
    path = tmp_path / "mutant.plan.json"
    for _ in range(scaled(150, 30)):
        path.write_bytes(random_mutant(chance))
        check(path, native, capfd)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ('"huge_page": true', "routes[0].huge_page"),
        ('"huge_pages": "yes"', "routes[0].huge_pages"),
        ('"pool": 5', "routes[0].pool"),
    ],
)
def test_plans_that_one_reader_accepted_are_refused_by_all(
    tmp_path: Path, native: Run, capfd: pytest.CaptureFixture[str], change: str, place: str
) -> None:
    path = tmp_path / "p.plan.json"
    pool = "" if "pool" in change else '"pool": "x", '
    route = f'{{"subsystems": ["a"], {pool}"strategy": "multipool", {change}}}'
    program = '{"path": "/bin/true", "build_id": "ab"}'
    path.write_text(f'{{"schema": "millpond.plan/1", "program": {program}, "routes": [{route}]}}')
    assert not check(path, native, capfd)
    assert place in native("millpond-trial", "--check-plan", str(path)).stderr


DEEP = 100_000
STRANGE = {
    "empty": b"",
    "blank": b" \n\t",
    "binary": bytes(range(256)) * 20,
    "arrays": b"[" * DEEP,
    "closed arrays": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"a":' * DEEP,
    "a deep note": b'{"note":' + b"[" * DEEP + b"]" * DEEP + b"," + json.dumps(VALID).encode()[1:],
    "a deep route": json.dumps(VALID).replace('"nodes"', "[" * DEEP + "]" * DEEP).encode(),
    "a name twice": json.dumps(VALID).replace('"routes"', '"routes": [], "routes"').encode(),
    "NaN": json.dumps(VALID).replace("false", "NaN").encode(),
    "infinity": json.dumps(VALID).replace("false", "1e999").encode(),
    "many digits": json.dumps(VALID).replace("false", "9" * 10_000).encode(),
    "latin": '{"schema": "é"}'.encode("latin-1"),
    "two plans": json.dumps(VALID).encode() * 2,
    "utf-16": json.dumps(VALID).encode("utf-16"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_content_is_refused_by_all(
    tmp_path: Path, native: Run, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / "strange.plan.json"
    path.write_bytes(STRANGE[name])
    assert not check(path, native, capfd)
    assert str(path) in native("millpond-trial", "--check-plan", str(path)).stderr


def test_a_byte_order_mark_is_accepted(tmp_path: Path, native: Run, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "marked.plan.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(VALID).encode())
    assert check(path, native, capfd)


@pytest.mark.parametrize("program", [{"path": "", "build_id": ""}, {"path": "/no/such", "build_id": ""}])
def test_a_plan_of_no_program_says_so(tmp_path: Path, millpond: Run, trace: Path, program: dict[str, str]) -> None:
    path = tmp_path / "p.plan.json"
    path.write_text(json.dumps({**VALID, "program": program}))
    for words in (
        ("try", "--plan", str(path), "--", "/bin/true"),
        ("trace", "replay", str(trace), "--plan", str(path)),
    ):
        done: Done = millpond(*words)
        done.assert_refused(3)
        assert "belongs to  " not in done.stderr
        assert "of build ," not in done.stderr
        assert ("/no/such" if program["path"] else "does not say to which program") in done.stderr
