# SPDX-License-Identifier: BSL-1.0
"""Results leave a machine without its names, come back whole or not at all, and become one matrix."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import repository
from fakes.fake_p0089_suite import FakeP0089
from msgspec.structs import replace
from sample_results import NOBODY, claim, contribution, part, results

from millpond.cli import main
from millpond.report import json_schemas
from millpond.system import output
from millpond.system.errors import Failure, Status
from millpond_bench.bench_cli import main as bench_main
from millpond_bench.pages import kept_results
from millpond_bench.pages.contribution import BYTES_AT_MOST, packed, read, read_all
from millpond_bench.pages.kept_results import KeptResults, in_folder
from millpond_bench.pages.statement_matrix import matrix_of

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

Use = Callable[..., FakeP0089]
RESULTS = repository.ROOT / "docs" / "results"
HOST, USER, HOME, WORK = "mossgate", "quillon", "zebediah", "ploverfield"


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts_of(each)
    if isinstance(value, str):
        yield value


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.lengthy
def test_no_name_of_the_machine_is_in_a_contribution(
    p0089: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / HOME / WORK
    work.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(work.parent))
    monkeypatch.setenv("USER", USER)
    monkeypatch.setattr(socket, "gethostname", lambda: f"{HOST}.example.org")
    p0089()
    monkeypatch.chdir(work)
    said = [
        f"{work}/libfast.so of {USER} is missing on {HOST}",
        f"~/{WORK}/x",
        f"{work.parent}/plans of {USER.upper()}",
    ]
    machine = f"Xeon, Linux 6.1.0-{HOST}, glibc 2.36 [0123456789ab]"
    results_of_run = kept_results.results_of

    def results_of(run: Any, options: str) -> KeptResults | None:
        found = results_of_run(run, f"{options} --perf-control={work}/ctl,{work}/ack")
        assert found is not None
        claims = tuple(replace(one, missing=said[0], note=said[1], worst=said[2]) for one in found.parts[0].claims)
        here = replace(found.parts[0], claims=claims, machine=machine, compiler=f"g++ by {USER}@{HOST}.example.org")
        return replace(found, parts=(here,))

    monkeypatch.setattr(kept_results, "results_of", results_of)
    words = ["run", "suballocator.1", "--scale=quick", "--store=store", "-o", "out.json", "-o", "out.html"]
    assert bench_main([*words, "-o", "run.contribution.json"]) == Status.OK
    assert main(["report", "store", "-o", "stored.contribution.json"]) == Status.OK
    content = Path("run.contribution.json").read_bytes()
    assert content == Path("stored.contribution.json").read_bytes()
    found = read(Path("run.contribution.json"))
    (one,) = found.results[0].parts
    assert one.machine == "Xeon, Linux 6.1.0-HOST, glibc 2.36 [0123456789ab]"
    assert one.command.endswith("--perf-control=PATH,PATH") and one.malloc == "glibc"
    assert one.claims[0].missing == "PATH of USER is missing on HOST"
    everything = "\n".join([content.decode(), *texts_of(json.loads(content))]).lower()
    for private in (HOST, USER, HOME, WORK, str(tmp_path), str(repository.ROOT)):
        assert private.lower() not in everything
    assert not re.search(rf"\b{re.escape(os.uname().nodename.lower())}\b", everything)
    assert not [text for text in texts_of(json.loads(content)) if text.startswith(("/", "~"))]


@pytest.mark.lengthy
def test_programs_and_libraries_have_digests(p0089: Use) -> None:
    p0089()
    Path("millpond-suballocator-suite").write_bytes(b"program")
    words = ["run", "suballocator.1", "--scale=quick", "-o", "x.json", "-o", "x.html", "-o", "x.contribution.json"]
    assert bench_main(words) == Status.OK
    (one,) = read(Path("x.contribution.json")).results[0].parts
    assert one.digests["millpond-suballocator-suite"] == (
        "sha256:1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8"
    )


@pytest.mark.lengthy
@pytest.mark.parametrize("words", [("--cells=*",), ("--litter=0.5",), ("--shard=1/2", "--store=s")])
def test_a_part_of_an_experiment_is_not_contributed(p0089: Use, words: tuple[str, ...]) -> None:
    fake = p0089()
    assert bench_main(["run", "suballocator.1", "--scale=quick", "-o", "x.contribution.json", *words]) == Status.USAGE
    assert not Path("x.contribution.json").exists() and not fake.calls


def test_experiments_without_statements_are_not_contributed(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_main(["run", "library", "--scale=quick", "-o", "x.contribution.json"]) == Status.USAGE
    assert "-o contribution:FILE does not apply to library" in capsys.readouterr().err


def test_a_store_without_verdicts_makes_no_contribution(capsys: pytest.CaptureFixture[str]) -> None:
    Path("store").mkdir()
    assert main(["report", "store", "-o", "x.contribution.json"]) == Status.INPUT
    assert "millpond-bench run EXPERIMENT --store DIR" in capsys.readouterr().err
    assert not Path("x.contribution.json").exists()


def test_equal_results_make_equal_bytes_in_any_order() -> None:
    first, second = part(), part(machine="n")
    assert packed([results(first, second)], NOBODY) == packed([results(second), results(first)], NOBODY)
    other = results(part(experiment="e.1"), document="e")
    assert packed([results(first), other], NOBODY) == packed([other, results(first)], NOBODY)


def test_the_kept_results_of_the_repository_can_be_packed() -> None:
    text = packed(in_folder(RESULTS), NOBODY)
    Path("all.contribution.json").write_text(text, encoding="utf-8")
    found = read(Path("all.contribution.json"))
    assert packed(found.results, NOBODY) == text and len(text) < BYTES_AT_MOST // 8
    assert matrix_of(found.results).documents == matrix_of(in_folder(RESULTS)).documents
    schema = json_schemas.schema("millpond.contribution.1")
    jsonschema.validate(json.loads(text), schema, cls=jsonschema.Draft202012Validator)


def test_the_same_contribution_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    one = contribution("one", part())
    Path("two.contribution.json").write_bytes(one.read_bytes())
    assert main(["report", str(one), "two.contribution.json", "-o", "twice.json"]) == Status.OK
    assert "two.contribution.json is the same contribution as one.contribution.json: it counts once" in (
        capsys.readouterr().err
    )
    assert main(["report", str(one), "-o", "once.json"]) == Status.OK
    assert Path("twice.json").read_bytes() == Path("once.json").read_bytes()


def test_the_order_of_contributions_does_not_matter() -> None:
    a = contribution("a", part(), part(experiment="d.2"))
    b = contribution("b", part(machine="n", claims=(claim(verdict="opposite"),)))
    # An earlier run of the first one's place, and one of the same moment with other figures.
    c = contribution("c", part(measured="2025-01-01T00:00:00+00:00"), part(claims=(claim(verdict="weaker"),)))
    assert read_all([a, b, c]).results == read_all([c, b, a]).results
    forms = [[str(path) for path in order] for order in ([a, b, c], [c, a, b])]
    for number, order in enumerate(forms):
        assert main(["report", *order, "-o", f"{number}.md", "-o", f"{number}.json"]) == Status.OK
    assert Path("0.md").read_bytes() == Path("1.md").read_bytes()
    assert Path("0.json").read_bytes() == Path("1.json").read_bytes()


def test_replaced_results_are_listed_as_left_out() -> None:
    early, quick = part(), part(scale="quick", measured="2026-03-01T00:00:00+00:00")
    late = part(measured="2026-02-01T00:00:00+00:00")
    found = read_all([contribution("a", early, quick), contribution("b", late), contribution("c", early)])
    assert found.results == (results(late),)
    assert [line.partition(", on ")[0] for line in found.left_out] == [
        "d.1, standard scale, measured 2026-01-01T00:00:00",
    ]


def test_every_form_shows_verdict_interval_and_rounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    few = claim(verdict="opposite", ours=None)
    paths = [
        str(contribution("a", part())),
        str(contribution("b", part(machine="n", malloc="jemalloc", claims=(few,)))),
    ]
    names = ["x.html", "x.md", "x.json", "x.txt"]
    assert main(["report", *paths, *(word for name in names for word in ("-o", name))]) == Status.OK
    assert main(["report", *paths]) == Status.OK
    printed = capsys.readouterr().out
    for text in (*(Path(name).read_text(encoding="utf-8") for name in ("x.html", "x.md", "x.txt")), printed):
        words = " ".join(text.split())
        assert "1.75 (1.7 – 1.8)" in words and "11 rounds" in words and "opposite (standard)" in words
        assert "n; release, jemalloc" in words
    found = json.loads(Path("x.json").read_text(encoding="utf-8"))
    schema = json_schemas.schema("millpond.matrix.1")
    jsonschema.validate(found, schema, cls=jsonschema.Draft202012Validator)
    (row,) = found["documents"][0]["rows"]
    assert [(cell["column"], cell["verdict"]) for cell in row["cells"]] == [("M1", "holds"), ("M2", "opposite")]
    assert row["cells"][0]["figure"]["n"] == 11 and row["cells"][0]["figure"]["low"] == 1.7
    assert len(found["contributions"]) == 2


def test_other_definitions_of_a_statement_get_rows_of_their_own() -> None:
    newer = claim(low=1.2)
    (one,) = matrix_of([results(part(), part(machine="n", claims=(newer,)))]).documents
    first, second = one.rows
    assert first.id == second.id and first.definition != second.definition
    assert one.label(first) == f"1.x ({first.definition})" and one.label(second) == f"1.x ({second.definition})"
    (same,) = matrix_of([results(part(), part(machine="n"))]).documents
    assert [same.label(row) for row in same.rows] == ["1.x"] and len(same.rows[0].cells) == 2


def test_contributions_are_merged_into_kept_results() -> None:
    path = contribution("a", part())
    assert main(["report", str(path), "-o", "results:kept"]) == Status.OK
    assert in_folder(Path("kept")) == [results(part())]
    later = contribution("b", part(machine="n"))
    assert main(["report", str(later), "-o", "results:kept"]) == Status.OK
    assert [one.machine for one in in_folder(Path("kept"))[0].parts] == ["m", "n"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["a.contribution.json", "-o", "x.csv"], "contributions have no csv"),
        (["a.contribution.json", "--run=latest"], "--run picks a run of a store"),
        (["store", "other"], "report takes one store, not 2"),
    ],
)
def test_forms_and_options_of_stores_do_not_apply(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    contribution("a", part())
    assert main(["report", *words]) == Status.USAGE
    assert reason in capsys.readouterr().err


def test_results_with_unseen_characters_are_not_packed() -> None:
    with pytest.raises(Failure, match="cannot be packed: a text has the character U\\+202E") as failed:
        packed([results(part(title="t\u202e"))], NOBODY)
    assert failed.value.status == Status.INPUT


def test_statements_have_a_line_each_and_read_back() -> None:
    found = results(part(claims=(claim(), claim(id="2.x"))), part(machine="n", claims=(claim(statement='"0"'),)))
    text = kept_results.json_text(found.to_json())
    assert KeptResults.from_json(json.loads(text)) == found
    assert [line.strip()[:12] for line in text.splitlines() if '"id":' in line] == [
        '{"id":"1.x",', '{"id":"2.x",', '{"id":"1.x",',
    ]  # fmt: skip
    assert output.json_text([]) == kept_results.json_text([])
