# SPDX-License-Identifier: BSL-1.0
"""A budget is divided so that a verdict keeps its rounds; too small a budget is noticed, not exceeded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millpond.cells.cell import CONTROLS
from millpond.execution import schedule

seconds = st.floats(min_value=0.0, max_value=3600.0)
run_seconds = st.floats(min_value=0.001, max_value=600.0)


@given(seconds, run_seconds, st.integers(0, 40))
def test_choosing_leaves_room_for_a_judgement(budget: float, run: float, candidates: int) -> None:
    found = schedule.choosing(budget, run, candidates)
    assert 0 <= found.candidates <= candidates
    if found.choosing_rounds:
        assert found.candidates >= 2
        short = found.choosing_rounds < schedule.FEWEST_CHOOSING_ROUNDS
        judgement = schedule.SHORT_VERDICT_ROUNDS * (len(CONTROLS) + 1)
        if not short:
            judgement = schedule.VERDICT_ROUNDS * (len(CONTROLS) + 2)
        assert ((found.candidates + 1) * (found.choosing_rounds + 1) + judgement) * run <= budget * 1.000001


@given(seconds, run_seconds, st.integers(1, 12))
def test_judging_fits_into_what_is_left(left: float, run: float, contenders: int) -> None:
    rounds = schedule.judging(left, run, contenders)
    assert 0 <= rounds <= schedule.MOST_ROUNDS
    assert rounds * contenders * run <= left * 1.000001


@given(seconds, run_seconds, st.integers(0, 12))
def test_helpers_alone_never_cost_the_verdict_its_rounds(left: float, run: float, helpful: int) -> None:
    count = schedule.helpers(left, run, helpful)
    assert 0 <= count <= helpful
    if count:
        contenders = len(CONTROLS) + 1 + count
        assert schedule.judging(left, run, contenders) >= schedule.VERDICT_ROUNDS


def test_one_candidate_needs_no_choosing() -> None:
    assert schedule.choosing(1000.0, 0.1, 1) == schedule.Schedule(1, 0)


def test_a_small_budget_takes_the_largest_candidate_unchosen() -> None:
    assert schedule.choosing(10.0, 5.0, 8) == schedule.Schedule(1, 0)
