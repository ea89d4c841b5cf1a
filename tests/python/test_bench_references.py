# SPDX-License-Identifier: BSL-1.0
"""Compares the rounds and counts of captures and simulators."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_environments import fake_environments
from msgspec.structs import asdict

from millpond.advice.advice_data import LayoutPrediction, PredictedLayouts
from millpond.advice.layout_prediction import LayoutPredictor
from millpond.cells.plan_file import PlanFile
from millpond.cells.plans import Plan, from_json
from millpond.rounds import capture_tools, predicted_misses
from millpond.rounds.capture_tools import ToolFolder
from millpond.rounds.layouts import Layout
from millpond.rounds.real_program import RealProgram
from millpond.rounds.trial_data import TrialPlan, TrialProgram, TrialResult
from millpond.statistics.order_statistics import Comparison, summarise
from millpond.system.errors import Failure, Status
from millpond_bench.laboratory import bench_affinity, bench_layouts, bench_references
from millpond_bench.laboratory.bench_references import CACHES, capturing, memory, misses, simulating, together
from millpond_bench.laboratory.bench_rows import Bench, Round

WORK = RealProgram("work", ("work",))
PLAN = {
    "schema": "millpond.plan/1",
    "program": {"path": "/bin/x", "build_id": "00"},
    "routes": [{"subsystems": ["a"], "pool": "a", "strategy": "multipool"}],
}


def cost(cpu_seconds: float, peak_bytes: int = 1) -> Round:
    return Round(cpu_seconds, 0.0, cpu_seconds, peak_bytes, "")


class FakeBench(Bench):
    """Rounds whose CPU seconds depend on the tool that runs."""

    seconds: Mapping[str, float] = {"none": 2.0, "cachegrind": 4.0, "--discard": 3.0, "--simulate": 5.0}

    def run(self, argv: Any, workload: RealProgram) -> Round:
        if workload.name == "missing":
            raise Failure(Status.ENVIRONMENT, "missing cannot run")
        words = " ".join(map(str, argv))
        return cost(next(seconds for tool, seconds in self.seconds.items() if tool in words), len(workload.command))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBench:
    monkeypatch.setattr(capture_tools.callgrind, "find_valgrind", lambda: "valgrind")
    monkeypatch.setattr(bench_references.native, "find", lambda name: tmp_path / "bin" / name)
    return FakeBench(tmp_path, tmp_path, 3, True, 1)


def program(_bench: Bench) -> RealProgram:
    return WORK


def test_a_capture_is_compared_with_valgrinds_tool_none(bench: FakeBench) -> None:
    [bar] = capturing(program, 1.4)(bench)
    assert bar.ours is not None
    assert bar.ours.median == 1.5
    assert bar.holds is False
    assert len(bar.outcomes) == 6


def test_a_program_that_fails_leaves_the_mean_of_the_others(bench: FakeBench) -> None:
    makers = (lambda _: WORK, lambda _: RealProgram("missing", ("missing",)))
    work, missing, mean = together(makers, 1.3, 1.0)(bench)
    assert work.ours is not None
    assert mean.ours is not None
    assert (work.ours.median, work.holds) == (1.25, True)
    assert "missing cannot run" in missing.note
    assert (mean.ours.median, mean.holds) == (1.25, False)


def test_peaks_of_a_short_and_a_long_run_are_compared(bench: FakeBench) -> None:
    [bar] = memory(lambda events: RealProgram("loop", ("x",) * events), 2, 4.5)(bench)
    assert bar.ours is not None
    assert bar.ours.median == 4.0
    assert bar.holds is True


def test_only_all_simulators_together_have_a_bar(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"value": 30e6, "low": 29e6, "high": 31e6, "rounds": 5}
    speeds = [{"simulator": name, **value} for name in ("one", "all together")]
    monkeypatch.setattr(bench_references, "json_of", lambda _: {"speeds": speeds})
    one, everything = simulating(None, 40.0)(bench)
    assert one.holds is None
    assert everything.holds is False
    assert everything.ours is not None
    assert (everything.ours.low, everything.ours.high) == (29.0, 31.0)


@pytest.mark.parametrize(("counted", "holds"), [(1000, True), (1002, True), (1010, False)])
def test_misses_may_differ_by_one_in_a_million(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch, counted: int, holds: bool
) -> None:
    rows = [
        {"metric": "misses", "cache_bytes": cache.kibibytes * 1024, "ways": cache.ways, "value": counted}
        for cache in CACHES
    ]
    ours = {"input": {"references": 3_000_000}, "simulators": [{"metrics": rows}]}
    monkeypatch.setattr(bench_references, "one_tool_folder", lambda place: ToolFolder(place, place / "capture"))
    monkeypatch.setattr(bench_references, "run_under", lambda *_: "")
    said = "==1== I   refs:      9,000,000\n==1== D   refs:      1,000,000  (1 rd + 2 wr)\n"
    said += "==1== D1  misses:        1,000  (1 rd + 2 wr)"
    monkeypatch.setattr(capture_tools, "run_under", lambda *_: said)
    monkeypatch.setattr(bench_references.native, "require", lambda *_: None)
    monkeypatch.setattr(bench_references, "json_of", lambda _: ours)
    bars = misses(lambda _: WORK)(bench)
    assert len(bars) == len(CACHES)
    assert {bar.holds for bar in bars} == {holds}


def test_predictions_are_held_against_cachegrind(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = fake_environments(monkeypatch, Layout, predicted=1030, truth=1000)
    rows = bench_layouts.predicting(lambda _: RealProgram("od", ("od",)))(bench)
    each = len(predicted_misses.CACHES) + len(predicted_misses.MEMORY_SHARES)
    assert len(rows) == len(predicted_misses.MALLOCS) * each + 2
    assert all(row.ours is not None and row.ours.median == pytest.approx(3.0) for row in rows)
    assert {row.verdict for row in rows[:-2]} == {"holds"}
    assert {row.verdict for row in rows[-2:]} == {"missed"}  # 3 % is within 10, and no median is within 2
    assert {(on, of) for on, of, _ in seen} == {
        ("multipool" if name == "glibc" else "glibc", name) for name in predicted_misses.MALLOCS
    }


def test_a_malloc_that_is_missing_is_a_bar_that_does_not_hold(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def layout(name: str) -> Layout:
        if name == "jemalloc":
            raise Failure(Status.ENVIRONMENT, "jemalloc is not on this machine")
        return Layout(name)

    fake_environments(monkeypatch, layout, predicted=1000, truth=1000)
    rows = bench_layouts.predicting(lambda _: RealProgram("od", ("od",)))(bench)
    [missing] = [row for row in rows if "jemalloc" in row.claim.statement]
    assert missing.holds is not True and "is not on this machine" in missing.note
    assert [row.verdict for row in rows if row is not missing] == ["holds"] * (len(rows) - 1)


def test_affinity_plans_are_shown_as_predicted_and_as_tried(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fakes:
        groups = True

        def characterise(self, _program: str, words: list[str]) -> None:
            folder = Path(words[words.index("--plan-out") + 1])
            folder.mkdir()
            for name in bench_affinity.PLANS if self.groups else ("all",):
                (folder / f"{name}.plan.json").touch()

        def predict(self, plans: list[Plan], _mallocs: object) -> PredictedLayouts:
            found = (LayoutPrediction(kind="plan", name=p.name, misses=9, misses_ratio=0.9, instructions_ratio=1.0)
                     for p in plans)  # fmt: skip
            return PredictedLayouts(seconds_taken=1.0, cache="c", misses=10, layouts=tuple(found))

        def try_all(self, words: list[str], workload: RealProgram) -> None:
            assert words[-1] == "work" and workload is WORK
            names = [Path(path).name.partition(".")[0] for word, path in pairwise(words) if word == "--plan"]
            cpu = Comparison(**asdict(summarise([0.8] * 6)), metric="cpu_seconds", of="plan", against="malloc",
                             saved=summarise([1.0]), p=0.1, p_adjusted=0.1)  # fmt: skip
            program = PlanFile.from_json(PLAN)
            tried = tuple(TrialPlan(name, program, {"net": {"cpu_seconds": cpu}}) for name in names)
            result = TrialResult(program=TrialProgram(("work",), 0, 0), machine="m", rounds=6, seed=1, plans=tried)
            out = next(word.removeprefix("json:") for word in words if word.startswith("json:"))
            Path(out).write_text(json.dumps(result.to_json()), encoding="utf-8")

    fakes = Fakes()
    monkeypatch.setattr(bench_affinity.native, "require", fakes.characterise)
    monkeypatch.setattr(bench_affinity.plans_of, "read", lambda path: from_json(PLAN, path.name.partition(".")[0]))
    monkeypatch.setattr(LayoutPredictor, "predict", lambda _, plans, mallocs: fakes.predict(plans, mallocs))
    monkeypatch.setattr(bench_affinity, "run_verb", fakes.try_all)
    monkeypatch.setattr(FakeBench, "seconds", {"-o": 1.0})
    step = bench_affinity.comparing_affinity(lambda _: WORK)
    for groups in (True, False):
        fakes.groups = groups
        bench.trace.touch()
        rows = step(bench)
        assert len(rows) == (3 if groups else 2)
        assert rows[0].ours is not None and rows[0].ours.median == 0.8
        assert "predicted misses -10.0 %" in rows[0].note
        shutil.rmtree(bench.folder / "plans of work")
    assert rows[-1].note == "it is the plan by subsystem"
