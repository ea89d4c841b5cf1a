# SPDX-License-Identifier: BSL-1.0
"""Steps that a budget has no time for are reported; the least important ones are left out first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from conftest import FakeLab
from test_advise import CPU, MALLOCS, SUBSYSTEMS, advise

from millpond.advice.advice_rounds import AdviceRounds
from millpond.cells.cell import Cell, Outcome
from millpond.rounds import schedule
from millpond.rounds.interleaved_rounds import RoundsRequest


@pytest.mark.lengthy
def test_too_few_rounds_give_their_figures_but_no_verdict(lab: FakeLab) -> None:
    lab.configure(
        events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.7}, mallocs=MALLOCS, run=True,
    )  # fmt: skip
    found = advise(lab, "--budget=5", program=("sleep", "0.3"))
    assert 0 < found["rounds"] < 4
    assert found["choice"]["kind"] == "undecided" and found["plan"] is None
    assert found["verdict"].startswith("Not enough time for a verdict: 4 rounds would take")
    assert "so far" in found["verdict"] and "book: CPU -3" in found["verdict"]
    assert not any("changes nothing" in r["reason"] for r in found["subsystems"] if r["name"] == "book")
    assert re.search(r" --budget [1-9]\d*0 should be enough\.", found["verdict"])


@pytest.mark.lengthy
def test_a_malloc_that_costs_too_much_memory_is_a_trade(lab: FakeLab) -> None:
    large = {"events": 1000, "subsystems": SUBSYSTEMS[:1], "cpu": CPU, "peak_bytes": 100_000_000}
    lab.configure(**large, mallocs={"fast": [0.95, 1.19]})
    found = advise(lab)
    assert found["choice"]["kind"] == "trade"
    assert found["verdict"].startswith("A trade between CPU and memory (--prefer cpu and --prefer memory weigh them")
    assert "libfast.so: CPU -" in found["verdict"] and "peak memory +19.0 %" in found["verdict"]
    assert found["choices"]["fastest"]["name"] == found["choices"]["without_source_change"]["name"] == "fast"
    lab.configure(**large, mallocs={"fast": [0.5, 1.1]})
    assert advise(lab, "--seed=2")["choice"]["name"] == "fast"


@pytest.mark.lengthy
@pytest.mark.parametrize(("peak_bytes", "factor"), [(10_000_000, 1.4), (1_000_000_000, 1.019)])
def test_a_few_more_bytes_do_not_outweigh_a_gain(lab: FakeLab, peak_bytes: int, factor: float) -> None:
    """Applies below 4 MiB, or below 2 % of the peak."""
    lab.configure(
        events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, peak_bytes=peak_bytes, mallocs={"fast": [0.95, factor]}
    )
    assert advise(lab)["choice"]["name"] == "fast"


@pytest.mark.lengthy
def test_a_plan_that_looked_no_better_is_left_out_for_time(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AdviceRounds, "has_time_for_plan", lambda _: False)
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 1.2}, mallocs=MALLOCS)
    found = advise(lab)
    assert (found["choice"]["kind"], found["choice"]["name"]) == ("malloc", "fast")
    assert not any(a["judged"] for a in found["alternatives"] if a["kind"] == "plan")
    assert "No pool looked better while choosing (the best, for book: CPU +2" in found["verdict"]

    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 1.2}, mallocs={"slow": [1.1, 1.0]})
    verdict = advise(lab)["verdict"]
    assert verdict.startswith("Do nothing: none of 1 malloc of this machine beats") and "No pool looked" in verdict

    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.7}, mallocs=MALLOCS)
    better = advise(lab, "--store=other")
    assert better["choice"]["kind"] == "plan", "one that looked better is judged whatever it takes"


@pytest.mark.lengthy
def test_candidates_without_time_are_counted(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.7}, mallocs=MALLOCS)
    assert not any("had no time" in note for note in advise(lab)["notes"])
    monkeypatch.setattr(schedule, "choosing", lambda *_: schedule.Schedule(1, 1, 4, 6))
    candidates = len(SUBSYSTEMS)
    notes = advise(lab, "--store=other")["notes"]
    assert any(re.match(rf"{candidates - 1} candidates? had no time to be tried; --budget", note) for note in notes), (
        notes
    )
    monkeypatch.setattr(schedule, "choosing", lambda *_: schedule.Schedule(1, 0, 4, 6))
    notes = advise(lab, "--store=third")["notes"]
    assert any("had no time to be tried" in note for note in notes), notes


@pytest.mark.lengthy
def test_slow_choosing_rounds_leave_time_for_the_judgement(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its deadline, choosing goes on to the fewest rounds that choose, however many were planned."""
    asked: list[RoundsRequest] = []
    run = AdviceRounds.run

    def noted(rounds: AdviceRounds, cells: Sequence[Cell], request: RoundsRequest) -> list[Outcome]:
        asked.append(request)
        return run(rounds, cells, request)

    monkeypatch.setattr(AdviceRounds, "run", noted)
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.7}, mallocs=MALLOCS)
    assert advise(lab)["choice"]["kind"] == "plan"
    choosing = next(one for one in asked if one.stage == "choosing")
    assert choosing.rounds == schedule.CHOOSING_ROUNDS
    late = replace(choosing, clock=lambda: choosing.deadline)
    assert not late.is_over(schedule.FEWEST_CHOOSING_ROUNDS - 1, 1.0)
    assert late.is_over(schedule.FEWEST_CHOOSING_ROUNDS, 1.0)
