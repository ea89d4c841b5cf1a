# SPDX-License-Identifier: BSL-1.0
"""`millpond-bench` runs published experiments, resumes interrupted runs, and reports everything it leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.report import json_schemas
from millpond.system import native
from millpond.system.errors import Status
from millpond_bench import command as bench
from millpond_bench.bench_cli import main
from millpond_bench.experiments.bench_document import BenchDocument
from millpond_bench.suites.p0089_notation import notation
from millpond_bench.suites.p0089_strategies import ALIASES, DOCUMENTS_LOCKED

Use = Callable[..., FakeP0089]
AS1, AS3, AS7 = ALIASES["AS1"], ALIASES["AS3"], ALIASES["AS7"]
OLD_AS7 = DOCUMENTS_LOCKED["AS7"]
ONE = ("p0089.1", "--scale=quick", "--cells=structures/ds=2/log2_size=8/*")
LISTS = ("p0089.2", "--scale=quick", "--cells=locality/log2_g=20/log2_s=18/af=4/*")


def run(*words: str) -> tuple[int, dict[str, Any]]:
    """Returns the status, and the document if one was written."""
    Path("out.json").unlink(missing_ok=True)
    status = main(["run", "-o", "out.json", "-o", "out.html", *words])
    path = Path("out.json")
    return status, json.loads(path.read_text()) if path.exists() else {}


def follows_its_schema(document: dict[str, Any]) -> None:
    """Asserts that the document fits its schema and survives the conversion to a record."""
    jsonschema.validate(document, json_schemas.schema("millpond.bench.1"), cls=jsonschema.Draft202012Validator)
    assert BenchDocument.from_json(document).to_json() == document


def row_of(document: dict[str, Any], strategy: str, metric: str) -> dict[str, Any]:
    (found,) = [r for r in document["summary"] if r["strategy"] == strategy and r["metric"] == metric]
    return dict(found)


@pytest.mark.more
def test_a_row_has_our_figure_next_to_the_published_one(p0089: Use) -> None:
    p0089(factor={AS7: 0.5})
    status, document = run(*ONE)
    assert status == Status.OK
    row = row_of(document, AS7, "leaves_cpu_seconds")
    assert (row["alias"], row["heap_state"], row["n"]) == ("AS7", "fresh", 3)
    assert row["parameters"] == {"ds": 2, "log2_size": 8, "log2_leaves": 16, "text_most": 1000}
    assert (row["published"], row["published_unit"]) == (13.2, "seconds")
    assert row["median"] == pytest.approx(6.6)
    assert row["low"] <= row["median"] <= row["high"]
    assert row["ratio_to_baseline"] == pytest.approx(6.6 / 70.8)
    assert row["ratio_to_baseline_low"] <= row["ratio_to_baseline"] <= row["ratio_to_baseline_high"]
    assert row["published_ratio"] == pytest.approx(13.2 / 70.8)
    assert row_of(document, AS7, "peak_bytes")["published"] is None


@pytest.mark.more
def test_the_document_is_complete_and_names_its_sources(p0089: Use) -> None:
    fake = p0089()
    _, document = run(*ONE)
    assert document["schema"] == "millpond.bench/1"
    assert document["experiments"][0]["suite"]["compiler"] == "g++ 12.2.0"
    assert {r["alias"] for r in document["summary"]} == {*ALIASES, *(f"{label}s-2015" for label in DOCUMENTS_LOCKED)}
    assert {c["verdict"] for c in document["claims"]} >= {"undecided", "not measured", "cannot be tested here"}
    assert len(document["observations"]) % len(fake.calls) == 0
    for row in document["observations"]:
        assert (row["experiment"], row["workload"], row["heap_state"]) == ("p0089.1", "structures", "fresh")
        assert row["compiler"] == "g++ 12.2.0, libstdc++"
    follows_its_schema(document)
    evidence = next(c["evidence"] for c in document["claims"] if c["id"] == "1.ds2.multipool")
    assert evidence and set(evidence) <= {r["cell"] for r in document["summary"]}


@pytest.mark.lengthy
def test_each_round_is_a_process_that_is_given_every_parameter(p0089: Use) -> None:
    fake = p0089()
    run(*LISTS, "--rounds=2", "--seed=7")
    assert len(fake.calls) == 2 * 2 * len((AS1, AS7, OLD_AS7))
    words = next(c for c in fake.calls if AS7 in c and "-5" in c)
    point = ("--log2_g", "20", "--log2_s", "18", "--af", "4", "--sf", "-5", "--rf", "1")
    room = ("--memory-limit-bytes", str(bench.memory_bytes()))
    assert words[1:] == ("--workload", "locality", "--contender", AS7, *point, "--seed", "7", *room)


@pytest.mark.lengthy
def test_benchmark_ii_divides_times_after_and_before_shuffling(p0089: Use) -> None:
    p0089()
    _, document = run(*LISTS)
    row = row_of(document, AS1, "slowdown")
    assert row["n"] == 3
    assert row["parameters"]["sf"] == 5
    assert not [r for r in document["summary"] if r["metric"] == "slowdown" and r["parameters"]["sf"] == -5]
    assert [r for r in document["summary"] if r["metric"] == "access_seconds" and r["parameters"]["sf"] == -5]


@pytest.mark.lengthy
def test_a_point_in_the_papers_notation_selects_only_its_cells(p0089: Use) -> None:
    fake = p0089()
    status, document = run("p0089.2", "--scale=quick", "--rounds=1", "--cells", "-21 18 8 +3 32")
    assert status == Status.OK
    assert {c[c.index("--sf") + 1] for c in fake.calls} == {"3"}
    assert {r["cell"] for r in document["summary"]} == {
        f"locality/log2_g=21/log2_s=18/af=8/sf=3/rf=32/{strategy}" for strategy in (AS1, AS7, OLD_AS7)
    }


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("-21 18 8 +3 32", ("log2_g", "21", "log2_s", "18", "af", "8", "sf", "3", "rf", "32")),
        ("10000000  1000 10 -5 1", ("links", "10000000", "links_each", "1000", "af", "10", "sf", "-5", "rf", "1")),
        ("10000000 1000 10 5 1", None),
        ("-9999999999 18 8 +3 32", None),
        ("10000000 1000 10 +5", None),
    ],
)
def test_links_are_powers_of_two_or_numbers(text: str, made: tuple[str, ...] | None) -> None:
    found = notation(text)
    assert (None if found is None else tuple(word for pair in found for word in pair)) == made


@pytest.mark.more
def test_a_filter_may_end_with_an_alias(p0089: Use) -> None:
    fake = p0089()
    run("p0089.1", "--scale=quick", "--rounds=1", "--cells=structures/ds=1/*/AS7")
    assert {c[c.index("--contender") + 1] for c in fake.calls} == {AS7}


@pytest.mark.parametrize("words", [("p0089.5",), (), ("p0089.1", "--cells=nothing*"), ("p0089.1", "--shard=1/2"),
                                   ("p0089.1", "--rounds=0"), ("p0089.1", "--scale=tiny"),
                                   ("p0089.1", "--cells", "-21 18 8 +3 32")])  # fmt: skip
def test_wrong_selections_are_status_2_and_run_nothing(
    p0089: Use, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    fake = p0089()
    assert run(*words)[0] == Status.USAGE
    assert not fake.calls
    assert capsys.readouterr().err.startswith("millpond: ")


def test_an_outdated_program_fails_before_anything_is_measured(p0089: Use) -> None:
    fake = p0089(lacks=[AS7])
    assert run(*ONE)[0] == Status.ENVIRONMENT
    assert not fake.calls


@pytest.mark.more
def test_open_parameters_of_an_experiment_can_be_set(p0089: Use) -> None:
    fake = p0089()
    status, document = run(*ONE, "--set", "log2_leaves=12,14", "--set", "text_most=100")
    assert status == Status.OK
    rows = [row for row in document["summary"] if row["strategy"] == AS7 and row["metric"] == "leaves_cpu_seconds"]
    assert [row["parameters"]["log2_leaves"] for row in rows] == [12, 14]
    assert {row["parameters"]["text_most"] for row in rows} == {100}
    assert all("--text_most 100" in " ".join(argv) for argv in fake.calls)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("log2_size=3", "p0089.1 does not leave it open; it leaves open log2_leaves, lives, text_most"),
        ("log2_leaves", "write NAME=VALUE,VALUE"),
        ("lives=many", "--set lives=many: the value must be a whole number"),
        ("log2_leaves=1,", "write NAME=VALUE,VALUE"),
        ("log2_leaves=99", "log2_leaves is 99, not 0 to 40"),
        ("log2_leaves=99999999999", "log2_leaves is 99999999999, not 0 to 40"),
    ],
)
def test_a_value_that_cannot_be_set_is_refused(
    p0089: Use, capsys: pytest.CaptureFixture[str], value: str, said: str
) -> None:
    p0089()
    assert run(*ONE, "--set", value)[0] == Status.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.lengthy
@pytest.mark.parametrize("words", [["list"], ["run", "--dry-run"]])
def test_listing_and_dry_run_write_nothing(
    p0089: Use, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = p0089()
    assert main([*words, "p0089", "--scale=quick", "--store=st"]) == Status.OK
    assert not fake.calls and not list(tmp_path.iterdir())
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("structures/", "locality/", "utilization/", "contention/"))


BLOCKS = ("p0089.3", "--scale=quick", "--cells=utilization/*/log2_s=10/*")


def test_a_dry_run_shows_seconds_memory_and_refused_cells(
    p0089: Use, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    p0089()
    monkeypatch.setattr(bench, "memory_bytes", lambda: 2**30)
    assert main(["run", *BLOCKS, "--dry-run", "--json"]) == Status.OK
    grid = json.loads(capsys.readouterr().out)
    assert grid["estimated_seconds"] > 0.0
    assert {cell["contender"]["name"] for cell in grid["cells"] if cell["refused"]} == {AS3, ALIASES["AS5"]}
    assert 0 < grid["bytes"] <= 2**30
    assert all(cell["seconds"] == cell["runs"] == 0 for cell in grid["cells"] if cell["refused"])
    assert grid["runs"] == 3 * sum(not cell["refused"] for cell in grid["cells"])


@pytest.mark.lengthy
def test_a_cell_that_cannot_fit_in_memory_is_refused_and_not_run(p0089: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = p0089()
    monkeypatch.setattr(bench, "memory_bytes", lambda: 2**30)
    status, document = run(*BLOCKS, "--rounds=2", "--store=st")
    assert status == Status.OK
    assert not [c for c in fake.calls if AS3 in c]
    row = next(r for r in document["summary"] if r["strategy"] == AS3 and r["metric"] == "cpu_seconds")
    assert (row["status"], row["n"], row["median"]) == ("refused", 0, None)
    assert "memory" in row["why_null"]
    kept = [o for o in document["observations"] if o["contender"] == AS3]
    assert kept and all((o["status"], o["value"]) == ("refused", None) for o in kept)
    assert any("memory" in note for note in document["notes"])
    calls = len(fake.calls)
    run(*BLOCKS, "--rounds=2", "--store=st")
    assert len(fake.calls) == calls


@pytest.mark.more
@pytest.mark.parametrize(("how", "status"), [("bad_alloc", "bad_alloc"), ("dies", "killed"), ("refuses", "refused")])
def test_a_strategy_that_fails_is_a_value_and_is_not_run_again(p0089: Use, how: str, status: str) -> None:
    fake = p0089(**{how: [AS3]})
    done, document = run(*ONE)
    assert done == Status.OK
    assert row_of(document, AS3, "leaves_cpu_seconds")["status"] == status
    assert sum(AS3 in c for c in fake.calls) == 1
    assert row_of(document, AS7, "leaves_cpu_seconds")["n"] == 3


@pytest.mark.more
def test_a_strategy_that_did_other_work_is_left_out_and_named(p0089: Use) -> None:
    p0089(checksum={AS7: "8"})
    _, document = run(*ONE)
    assert row_of(document, AS7, "leaves_cpu_seconds")["n"] == 0
    assert any("checksum" in note for note in document["notes"])


@pytest.mark.more
@pytest.mark.parametrize("after", range(12))
def test_a_run_that_was_stopped_after_any_cell_goes_on(p0089: Use, after: int) -> None:
    first = p0089(stop_after=after)
    assert run(*LISTS, "--rounds=2", "--store=st")[0] == Status.ENVIRONMENT
    assert len(first.calls) == after
    second = p0089()
    status, document = run(*LISTS, "--rounds=2", "--store=st")
    assert status == Status.OK
    assert len(second.calls) == 12 - 6 * (after // 6), "whole rounds are not run again, torn ones are"
    assert row_of(document, AS1, "slowdown")["n"] == 2
    third = p0089()
    _, again = run(*LISTS, "--rounds=2", "--store=st")
    assert not third.calls
    assert again["summary"] == document["summary"]


@pytest.mark.more
def test_another_seed_or_litter_measures_again(p0089: Use) -> None:
    fake = p0089()
    for words in ((), ("--seed=2",), ("--litter=0.25",)):
        before = len(fake.calls)
        _, document = run(*LISTS, "--rounds=1", "--store=st", *words)
        assert len(fake.calls) == before + 6
    assert {r["heap_state"] for r in document["summary"]} == {"littered:0.25"}
    assert {o["heap_state"] for o in document["observations"]} == {"littered:0.25"}
    assert fake.calls[-1][-6:-4] == ("--litter", "0.25")


@pytest.mark.more
def test_the_shards_make_the_whole(p0089: Use) -> None:
    fake = p0089()
    for part in ("1/2", "2/2"):
        assert run(*ONE, "--store=st", "--shard", part)[0] == Status.OK
    assert len(fake.calls) == 3 * (14 + 8)
    _, document = run(*ONE, "--store=st")
    assert len(fake.calls) == 3 * (14 + 8)
    assert row_of(document, AS7, "leaves_cpu_seconds")["n"] == 3


def test_unwritable_places_are_refused_before_measuring(p0089: Use, tmp_path: Path) -> None:
    fake = p0089()
    assert main(["run", *ONE, "-o", "nowhere/out.json"]) == Status.ENVIRONMENT
    (tmp_path / "results").write_text("no folder")
    assert main(["run", *ONE]) == Status.ENVIRONMENT
    assert not fake.calls


@pytest.mark.more
def test_each_experiment_gets_a_file_unless_one_is_named(p0089: Use) -> None:
    p0089()
    both = ("p0089.3", "p0089.4", "--scale=quick", "--rounds=1")
    assert main(["run", *both]) == Status.OK
    names = {p.name for p in Path("results/bench").iterdir()}
    assert names == {"p0089.3.json", "p0089.3.html", "p0089.4.json", "p0089.4.html"}
    _, document = run(*both)
    assert [e["name"] for e in document["experiments"]] == ["p0089.3", "p0089.4"]
    assert {r["experiment"] for r in document["summary"]} == {"p0089.3", "p0089.4"}


@pytest.mark.lengthy
def test_a_filter_without_matches_is_answered_with_similar_names(
    p0089: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    p0089()
    assert main(["list", "p0089", "--cells=structures/ds=77/*"]) == Status.USAGE
    said = capsys.readouterr().err
    assert "matches no cell" in said and "structures/ds=" in said and "--dry-run" in said
    assert len(said) < 2000, "a grid of thousands is no answer"


def test_a_file_given_as_experiment_gets_a_hint_about_json(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    p0089()
    assert main(["run", "p0089.1", "--json", "out.json"]) == Status.USAGE
    assert "-o out.json" in capsys.readouterr().err
    assert main(["run", "p0090.1"]) == Status.USAGE
    assert "--json" not in capsys.readouterr().err


@pytest.mark.more
@pytest.mark.parametrize(("words", "said"), [(("--store=st",), "continues"), ((), "--store DIR")])
def test_an_interrupted_run_reports_its_kept_rounds(
    p0089: Use, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    fake = p0089()
    whole = fake.capture

    def stopped(*given: Any, **more: Any) -> Any:
        if len(fake.calls) == 30:
            raise KeyboardInterrupt
        return whole(*given, **more)

    monkeypatch.setattr(native, "capture", stopped)
    monkeypatch.setattr("millpond.verbs.guarded_main.end_as", lambda status, number: 128 + number)
    run(*ONE, *words)
    assert said in capsys.readouterr().err
    monkeypatch.setattr(native, "capture", whole)
    run(*ONE, *words)
    again = 2 if words else 3  # rounds: the first one was whole
    assert len(fake.calls) == 30 + again * (len(ALIASES) + len(DOCUMENTS_LOCKED))


def test_an_unwritable_report_path_leaves_no_folder(p0089: Use) -> None:
    p0089()
    assert main(["run", *ONE, "-o", "nowhere/page.html"]) == Status.ENVIRONMENT
    assert not Path("results").exists()


def test_an_unknown_option_value_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "p0089.1", "--scale=nonsense"]) == Status.USAGE
    assert "--scale: 'nonsense' is not one of quick" in capsys.readouterr().err


@pytest.mark.more
def test_rows_of_earlier_runs_are_as_complete_as_new_ones(p0089: Use) -> None:
    p0089()
    run(*ONE, "--store=st", "--rounds=2")
    _, document = run(*ONE, "--store=st", "--rounds=3")
    rows = document["observations"]
    assert len({row["run"] for row in rows}) == 2
    assert {row["compiler"] for row in rows} == {"g++ 12.2.0, libstdc++"}
    assert {frozenset(row["parameters"]) for row in rows} == {
        frozenset({"ds", "log2_size", "log2_leaves", "text_most"})
    }
