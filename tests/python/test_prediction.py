# SPDX-License-Identifier: BSL-1.0
"""Replay next to the trial: its intervals include its error, and if the two disagree, the trial is followed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from test_advise import SUBSYSTEMS, advise, rows

from millpond.advice.advice_data import PREDICTED, Replay
from millpond.advice.prediction import agree, predict
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.doctor.replay_error import DEFAULT_ERROR, NOT_VALIDATED, ReplayError
from millpond.statistics.order_statistics import summarise
from millpond.system.progress import ProgressReport

SLOW = {"bare": 1.0, "empty": 1.0, "shared": 0.9, "shared_huge": 0.9, "looked_up": 0.93}


def plan(name: str) -> Plan:
    return Plan(f"01-{name}", "/bin/fake", "ab12", (PlanRoute((name,), name, "multipool"),))


def predicted(lab: FakeLab, error: ReplayError, **given: Any) -> Replay:
    (lab.work / "trace").write_text("0")
    options: dict[str, Any] = {
        "folder": lab.work, "listener": ProgressReport(), "deadline": time.monotonic() + 60, "seed": 1, "events": 1000,
    } | given  # fmt: skip
    whole = {"cpu_seconds": 2.0, "peak_bytes": 1e6}
    return predict(("fake",), Path("trace"), [plan("book")], whole, error, **options)


def test_savings_are_differences_between_replays_and_carry_the_error(lab: FakeLab) -> None:
    lab.configure(replayed={"book": 0.7})
    exact = predicted(lab, ReplayError({"cpu_seconds": 0.0, "peak_bytes": 0.0}, "run", 5)).of_plan("01-book")
    widened = predicted(lab, ReplayError({"cpu_seconds": 0.05, "peak_bytes": 0.0}, "run", 5)).of_plan("01-book")
    assert exact and widened
    assert exact.saves("cpu_seconds").median == pytest.approx(0.3, abs=0.03)
    half = widened.saves("cpu_seconds").high - widened.saves("cpu_seconds").median
    assert half > 0.05 * 2.0
    assert all(exact.saves(metric) for metric in PREDICTED)


def test_untriable_strategies_are_predicted_against_a_pool(lab: FakeLab) -> None:
    lab.configure(replayed={"monotonic": 0.4, "multipool": 0.9, "multipool(monotonic)": 0.8})
    found = {p.strategy: p for p in predicted(lab, NOT_VALIDATED).strategies("01-book")}
    assert set(found) == {"monotonic", "multipool(monotonic)"}
    assert found["monotonic"].saves("cpu_seconds").median == pytest.approx(0.5, abs=0.05)


def test_replays_skipped_for_time_or_size_have_a_reason(lab: FakeLab) -> None:
    late = predicted(lab, NOT_VALIDATED, deadline=time.monotonic() - 1)
    assert late.rounds == 0 and "budget" in late.why_null
    short = predicted(lab, NOT_VALIDATED, deadline=time.monotonic() + 5, events=10**7)
    assert short.rounds == 0 and "budget" in short.why_null, "not even one round fits"
    large = predicted(lab, NOT_VALIDATED, events=10**9)
    assert large.rounds == 0 and "too long" in large.why_null
    assert not lab.calls()


def test_intervals_agree_where_they_meet() -> None:
    left, right = summarise([1.0, 1.1, 0.9]), summarise([1.1, 1.2, 1.3])
    assert agree(left, right) and agree(right, left)
    assert not agree(left, summarise([2.0, 2.1]))


@pytest.mark.lengthy
def test_the_trial_is_followed_if_replay_disagrees(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=SLOW, gains={"book": 0.5, "prices": 0.97}, replayed={})
    advice = advise(lab)
    found = rows(advice)
    assert found["book"]["best"] == "multipool"
    assert found["book"]["replay"]["agrees"] is False
    assert found["book"]["reason"].endswith("the advice follows the trial")
    assert found["prices"]["replay"]["agrees"] is True
    assert "the advice follows the trial" not in found["prices"]["reason"]
    assert found["printer"]["replay"] is not None
    assert advice["errors"]["replay"]["values"] == DEFAULT_ERROR
    assert advice["errors"]["replay"]["validated"] is False
    assert any("not validated on this machine" in note for note in advice["notes"])


@pytest.mark.lengthy
def test_replayed_rounds_are_kept_as_observations(lab: FakeLab) -> None:
    from millpond.store.store import Store

    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=SLOW, gains={"book": 0.5})
    advice = advise(lab)
    stored = {r["id"]: r for r in Store(lab.work / "results/store").query("select * from observations")}
    behind = [stored[i] for i in rows(advice)["book"]["replay"]["evidence"]]
    assert behind
    assert {r["workload"] for r in behind} == {"true"}
    assert all('"predictor": "replay"' in r["parameters"] for r in behind)
