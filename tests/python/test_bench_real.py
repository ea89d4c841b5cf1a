# SPDX-License-Identifier: BSL-1.0
"""The table of real programs: a row has the effect of an advice that is followed, and missing programs are named."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from millpond.advice.advice_data import Advice
from millpond.cells.plan_file import PlanFile, PlanProgram
from millpond.rounds.trial_data import TrialPlan
from millpond.statistics.order_statistics import Comparison, summarise
from millpond_bench.laboratory import bench_followed
from millpond_bench.laboratory.bench_rows import Bench, Round, values_of
from millpond_bench.programs import more_real_programs
from millpond_bench.runs import steps_run
from millpond_bench.suites.laboratory import REAL

# Fields that these tests ignore.
BLANK: dict[str, Any] = {
    "effects": {}, "sums": {}, "rounds": 0, "program": {"argv": ["p"]}, "trace": {}, "subsystems": [], "notes": [],
}  # fmt: skip


def advice(kind: str, name: str = "", purpose: str | None = None) -> Advice:
    judged = {"cpu": {"median": 0.71}, "peak": {"median": 1.0}}
    found = {
        "verdict": "No verdict: the program exited with 3.",
        "choice": {"kind": kind, "name": name, "for": purpose, "cpu": None, "peak": None},
        "plan": {
            "program": {"path": "p", "build_id": ""},
            "routes": [{"subsystems": [n], "pool": n, "strategy": "multipool"} for n in ("book", "index")],
        },
        "alternatives": [
            {"kind": "malloc", "name": "lean", "judged": True, **judged},
            {"kind": "plan", "name": "together", "judged": True, **judged},
            {"kind": "malloc", "name": "large", "judged": True, **judged},
            {"kind": "malloc", "name": "slow", "judged": False, **judged},
        ],
    }
    return Advice.from_json({**BLANK, **found})


def followed(cpu: tuple[float, ...], peak: tuple[float, ...] = (1.0,)) -> bench_followed.Followed:
    return {"cpu_seconds": summarise(cpu), "peak_bytes": summarise(peak)}


@pytest.mark.parametrize(
    ("ratios", "holds"),
    [((0.8, 0.9, 1.0), True), ((1.005, 1.2, 1.3), True), ((1.02, 1.03, 1.04), False)],
)
def test_only_harm_beyond_the_noise_fails(ratios: tuple[float, ...], holds: bool) -> None:
    cpu, peak = bench_followed.following("gawk", advice("malloc", "lean", "CPU"), followed(ratios))
    assert (cpu.holds, peak.holds) == (holds, True)
    assert cpu.note.startswith("advised: lean to save CPU, preloaded by hand")


@pytest.mark.parametrize(
    ("kind", "words"),
    [("nothing", "do nothing"), ("undecided", "no advice: No verdict: the program exited with 3")],
)
def test_without_a_change_nothing_is_followed(kind: str, words: str) -> None:
    for row in bench_followed.following("gawk", advice(kind), None):
        assert row.holds and row.ours is not None and row.ours.median == 1.0
        assert words in row.note and "the program stays as it is" in row.note


def test_a_plan_is_followed_by_its_trial() -> None:
    saved = summarise([1.0])
    net = {
        m: Comparison(*structs.astuple(summarise([0.8, 0.9, 1.1])), metric=m, of="a", against="b", saved=saved, p=1.0,
                      p_adjusted=1.0)
        for m in bench_followed.METRICS
    }  # fmt: skip
    plan = TrialPlan("advised", PlanFile(program=PlanProgram("p", ""), routes=()), {"net": net, "total": {}})
    found = bench_followed.net_effects(plan)
    cpu, _ = bench_followed.following("gawk", advice("plan", "together", "CPU"), found)
    assert cpu.ours is not None and (cpu.ours.low, cpu.ours.median, cpu.ours.high) == (0.8, 0.9, 1.1)
    assert "pools for book, index" in cpu.note and "`millpond try`" in cpu.note


def test_judged_mallocs_keep_their_order() -> None:
    assert bench_followed.judged_mallocs(advice("nothing")) == ["lean", "large"]


def test_ratios_are_paired_within_a_round() -> None:
    rounds = [Round(cpu, 0.0, cpu, 100, "now") for cpu in (1.0, 2.0, 4.0)]
    half = [Round(r.cpu_seconds / 2, 0.0, 1.0, 150, "now") for r in rounds]
    found = bench_followed.ratio(half, rounds, "cpu_seconds")
    assert (found.low, found.median, found.high) == (0.5, 0.5, 0.5)
    assert len(values_of({"as it is": rounds, "lean": half}, bench_followed.METRICS)) == 12


def test_a_budget_may_be_exceeded_by_a_twentieth() -> None:
    assert bench_followed.budget_row("gawk", 125.9).holds is True
    assert bench_followed.budget_row("gawk", 126.1).holds is False


@pytest.mark.lengthy
def test_a_missing_program_is_a_row_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bench = Bench(tmp_path, tmp_path / "inputs", 1, True, 1)
    steps = [(n, s) for n, s in REAL.steps().items() if n in ("xmllint", "redis")]
    missing, server = steps_run.measure(steps, bench)
    assert missing.name == "xmllint" and missing.ours is None and missing.holds is False
    assert "xmllint is missing; `scripts/setup bench-real`" in missing.note
    assert "redis-server is missing" in server.note


@pytest.mark.more
def test_inputs_are_whole_and_the_same_each_time() -> None:
    text = more_real_programs._xml(50)
    assert text == more_real_programs._xml(50)
    assert len(ElementTree.fromstring(text)) == 50
    assert len(json.loads(more_real_programs._sales())) == 60_000
    history = "".join(more_real_programs._history())
    assert history.count("commit refs/heads/main\n") == 1200
    manifest = more_real_programs._ninja()
    assert manifest.count(": compile ") == 30_000 and manifest.count(": write\n") == 300
