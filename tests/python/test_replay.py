# SPDX-License-Identifier: BSL-1.0
"""Replay: interleaved rounds of every contender, the loop's own cost subtracted, differences with honest intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab

from millpond.cells.cell import Cell, Outcome, Strategy
from millpond.commands import replay
from millpond.rounds.mallocs import Malloc
from millpond.rounds.replay_rounds import (
    NULL,
    RECORDED,
    STRATEGIES,
    ReplayRunner,
    against_recorded,
    predicted_difference,
    replay_cell,
    replay_cells,
    subtract_null,
)
from millpond.store.store import Store
from millpond.system import native

Write = Callable[..., Path]
TRACE = Path("/t.mpt")


@pytest.fixture
def trace(lab: FakeLab) -> str:
    path = lab.work / "t.mpt"
    path.write_text("1")
    return str(path)


def variants(lab: FakeLab) -> list[str]:
    """Returns the malloc library, or else the strategy, of each round so far."""
    return [c[c.index("--malloc" if "--malloc" in c else "--strategy") + 1] for c in lab.calls() if "--play" in c]


def outcome(cell: Cell, number: int, cpu: float, status: str = "ok") -> Outcome:
    return Outcome(cell, "replay", number, {"cpu_seconds": cpu, "held_bytes": 7.0}, "", status)


def test_every_contender_plays_in_every_round(
    lab: FakeLab, trace: str, plan_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [Malloc("glibc", None), Malloc("fast", Path("/lib/libfast.so"))]
    monkeypatch.setattr(replay, "find_mallocs", lambda: (here, {}))
    done = lab.run("replay", trace, "--rounds=3", "--json=out.json")
    assert done.status == 0, done.stderr
    found = json.loads((lab.work / "out.json").read_text())
    assert [c["name"] for c in found["contenders"]] == [RECORDED.name, *STRATEGIES, "/lib/libfast.so"]
    assert found["rounds"] == 3
    for variant in (RECORDED.name, NULL.name, *STRATEGIES, "/lib/libfast.so"):
        assert variants(lab).count(variant) == 4, variant  # including the warm-up
    assert "libfast.so" in done.stdout


def test_only_named_contenders_are_played(lab: FakeLab, trace: str, plan_file: Write) -> None:
    words = ("--rounds=1", "--strategy=monotonic", "--plan", str(plan_file("p", "book")))
    done = lab.run("replay", trace, *words, "--json=out.json")
    assert done.status == 0, done.stderr
    assert set(variants(lab)) == {RECORDED.name, NULL.name, "monotonic", "plan"}
    names = [c["name"] for c in json.loads((lab.work / "out.json").read_text())["contenders"]]
    assert names == [RECORDED.name, "monotonic", "plan:p"]


def test_the_cost_of_the_replay_loop_is_subtracted(lab: FakeLab, trace: str) -> None:
    lab.configure(replayed={"multipool": 0.5, "monotonic": 1.3})
    lab.run("replay", trace, "--strategy=multipool", "--strategy=monotonic", "--json=out.json")
    found = json.loads((lab.work / "out.json").read_text())
    assert found["loop"]["cpu_seconds"]["median"] == pytest.approx(0.1)
    by_name = {c["name"]: c for c in found["contenders"]}
    assert by_name[RECORDED.name]["metrics"]["cpu_seconds"]["median"] == pytest.approx(1.0, rel=0.02)
    for name, seconds, verdict in (("multipool", 0.5, "better"), ("monotonic", 1.3, "worse")):
        versus = by_name[name]["against_recorded"]["cpu_seconds"]
        assert versus["median"] == pytest.approx(seconds, rel=0.02)
        assert versus["verdict"] == verdict
        assert versus["saved"]["median"] == pytest.approx(1.0 - seconds, abs=0.02)
    assert not by_name[RECORDED.name]["against_recorded"]
    assert found["error"]["validated"] is False


def test_a_filter_keeps_the_contenders_compared_against(lab: FakeLab, trace: str) -> None:
    done = lab.run("replay", trace, "--rounds=1", "--cells=mono*", "--strategy=monotonic", "--strategy=multipool")
    assert done.status == 0, done.stderr
    assert set(variants(lab)) == {RECORDED.name, NULL.name, "monotonic"}


@pytest.mark.lengthy
def test_paced_rounds_are_other_rounds(lab: FakeLab, trace: str) -> None:
    words = ("replay", trace, "--rounds=1", "--strategy=multipool", "--store=s")
    lab.run(*words)
    played = len(variants(lab))
    assert lab.run(*words, "--pace").status == 0
    paced = [c for c in lab.calls() if "--play" in c][played:]
    assert len(paced) == 6, "rounds at full speed were taken for paced ones"
    assert all("--pace" in c for c in paced)


def test_a_budget_allows_at_least_one_round_and_is_reported(lab: FakeLab, trace: str) -> None:
    done = lab.run("replay", trace, "--budget=0", "--strategy=multipool")
    assert done.status == 0
    assert "the budget allowed 1 round of 11" in done.stdout


@pytest.mark.lengthy
def test_the_store_keeps_every_round_raw_and_goes_on_from_it(lab: FakeLab, trace: str) -> None:
    words = ("replay", trace, "--rounds=3", "--strategy=multipool", "--store=s")
    assert lab.run(*words).status == 0
    store = Store(lab.work / "s")
    rows = store.query("select contender, median(value) m from observations where metric = 'cpu_seconds' group by all")
    assert {r["contender"]: pytest.approx(r["m"], rel=0.05) for r in rows} == {
        RECORDED.name: 1.1, NULL.name: 0.1, "multipool": 1.1,
    }  # fmt: skip
    (held,) = store.query("select distinct why_null from observations where metric = 'held_bytes'")
    assert held["why_null"] == "a malloc"
    (run,) = store.runs()
    assert store.load(run.run).documents["replay"]["schema"] == "millpond.replay/1"
    played = len(variants(lab))
    assert lab.run(*words).status == 0
    assert len(variants(lab)) == played, "what is stored was played again"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--strategy=best",), 2, "multipool(monotonic)"),
        (("--order=sideways",), 2, "dependency"),
        (("--order=dependency", "--pace"), 2, "one clock"),
        (("--malloc=/nowhere/lib.so",), 3, "/nowhere/lib.so"),
        (("--plan=none.plan.json",), 3, "none.plan.json"),
        (("--cells=nothing*",), 2, "matches no cell"),
        (("--shard=1/2",), 2, "--store"),
    ],
)
def test_errors_are_reported_before_any_round(
    lab: FakeLab, trace: str, words: Sequence[str], status: int, said: str
) -> None:
    done = lab.run("replay", trace, *words)
    assert (done.status, said in done.stderr) == (status, True), done.stderr
    assert not lab.calls()


def test_a_missing_trace_is_named(lab: FakeLab) -> None:
    done = lab.run("replay", "none.mpt")
    assert done.status == 3
    assert "none.mpt" in done.stderr


def test_a_plans_failure_names_the_plan(lab: FakeLab, trace: str, plan_file: Write) -> None:
    plan = str(plan_file("mine", "book"))
    lab.configure(fails={"replay": [2, "no function belongs to the subsystem"]})
    done = lab.run("replay", trace, "--plan", plan)
    assert done.status == 2
    assert "belongs to the subsystem" in done.stderr


def test_rounds_without_memory_or_with_a_crash_give_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script: dict[str, Any] = {"events": 1}

    def run(name: str, arguments: Sequence[str], **_: object) -> native.ProcessEnd:
        if arguments[0].startswith("--prepare="):
            Path(arguments[arguments.index("--json") + 1]).write_text(json.dumps(script))
            return native.ProcessEnd(0, "")
        if "--malloc" in arguments:
            return native.ProcessEnd(-11, "")
        result = {"status": "bad_alloc", "why": "ran out of memory", "cpu_seconds": 1.0}
        Path(arguments[arguments.index("--result") + 1]).write_text(json.dumps(result))
        return native.ProcessEnd(0, "")

    monkeypatch.setattr(native, "run", run)
    runner = ReplayRunner(tmp_path)
    out = runner.run(replay_cell(TRACE, Strategy("monotonic")), "replay", 1)
    assert (out.status, out.why) == ("bad_alloc", "ran out of memory")
    out = runner.run(replay_cell(TRACE, Malloc("/lib/broken.so", Path("/lib/broken.so"))), "replay", 1)
    assert (out.status, out.why) == ("killed", "dies of SIGSEGV")


def test_null_is_subtracted_within_its_own_round() -> None:
    recorded, null = replay_cells(TRACE)
    outcomes = [
        outcome(recorded, 1, 2.0), outcome(null, 1, 0.5), outcome(recorded, 2, 4.0), outcome(null, 2, 1.5),
        outcome(recorded, 3, 9.0), outcome(null, 3, 1.0, "killed"),
    ]  # fmt: skip
    left = subtract_null(outcomes)
    assert [(o.round, o.values["cpu_seconds"], o.values["held_bytes"]) for o in left] == [(1, 1.5, 7.0), (2, 2.5, 7.0)]


def test_a_predicted_difference_is_the_same_with_and_without_the_loop() -> None:
    recorded, null, fast = replay_cells(TRACE, strategies=["multipool"])
    outcomes = [
        outcome(cell, number, cpu + 0.1 * number)
        for number in range(1, 12)
        for cell, cpu in ((recorded, 2.0), (null, 0.25), (fast, 1.5))
    ]
    for given in (outcomes, subtract_null(outcomes)):
        found = predicted_difference(given, fast, recorded, "cpu_seconds")
        assert found is not None
        assert (found.n, found.median) == (11, pytest.approx(-0.5))
    assert predicted_difference([], fast, recorded, "cpu_seconds") is None
    compared = against_recorded(subtract_null(outcomes), [recorded, null, fast])
    assert set(compared) == {(fast, "cpu_seconds")}
    assert compared[fast, "cpu_seconds"].verdict == "better"
