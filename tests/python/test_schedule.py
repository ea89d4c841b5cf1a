# SPDX-License-Identifier: BSL-1.0
"""A budget is divided so that a verdict keeps its rounds; too small a budget is noticed, not exceeded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.rounds import schedule

seconds = st.floats(min_value=0.0, max_value=3600.0)
run_seconds = st.floats(min_value=0.001, max_value=600.0)


@pytest.mark.lengthy
@given(seconds, run_seconds, st.integers(0, 40), st.integers(1, 8))
def test_choosing_leaves_room_for_a_judgement(budget: float, run: float, candidates: int, others: int) -> None:
    found = schedule.choosing(budget, run, candidates, others)
    assert 0 <= found.candidates <= candidates
    if found.choosing_rounds:
        chosen = (found.candidates + others) * found.choosing_rounds * run
        least = schedule.FEWEST_JUDGING_ROUNDS * schedule.JUDGED_AT_LEAST * run
        assert chosen + least <= budget * 1.000001
        needed = schedule.seconds_of_judgement(run, schedule.JUDGED_AT_LEAST, schedule.FEWEST_VERDICT_ROUNDS)
        if (others + 1) * run + needed <= budget * 0.999999:
            assert found.verdict_rounds >= schedule.FEWEST_VERDICT_ROUNDS
            judgement = schedule.seconds_of_judgement(run, found.judged, found.verdict_rounds)
            assert chosen + judgement <= budget * 1.000001


@pytest.mark.lengthy
@given(seconds, run_seconds, st.integers(1, 12))
def test_judging_fits_into_the_remaining_time(left: float, run: float, contenders: int) -> None:
    rounds = schedule.judging(left, run, contenders)
    assert 0 <= rounds <= schedule.MOST_ROUNDS
    assert rounds * contenders * run <= left * 1.000001


@pytest.mark.lengthy
@given(seconds, run_seconds, st.integers(0, 12))
def test_helpers_never_take_rounds_from_the_verdict(left: float, run: float, helpful: int) -> None:
    count = schedule.helpers(left, run, helpful)
    assert 0 <= count <= helpful
    if count:
        contenders = schedule.JUDGED + count
        assert schedule.judging(left, run, contenders) >= schedule.VERDICT_ROUNDS


@pytest.mark.lengthy
@given(seconds, run_seconds, st.integers(0, 12))
def test_contenders_are_dropped_before_rounds_of_the_verdict(left: float, run: float, wanted: int) -> None:
    kept = schedule.judged(left, run, wanted)
    assert min(wanted, schedule.JUDGED_AT_LEAST) <= kept <= wanted
    if kept > schedule.JUDGED_AT_LEAST:
        rounds = schedule.VERDICT_ROUNDS if kept > schedule.JUDGED else schedule.FEW_VERDICT_ROUNDS
        assert schedule.judging(left, run, kept) >= rounds


@given(st.floats(min_value=0.0, max_value=1e4), run_seconds, st.integers(1, 40))
def test_the_default_budget_is_bounded_and_grows_with_the_program(spent: float, run: float, contenders: int) -> None:
    found = schedule.budget(spent, run, contenders)
    assert schedule.BUDGET_LEAST_SECONDS <= found <= schedule.BUDGET_MOST_SECONDS == 600
    assert found <= schedule.budget(spent, 2 * run, contenders)
    if found < schedule.BUDGET_MOST_SECONDS:
        spending = schedule.choosing(found - spent, run, contenders, 0)
        assert spending.choosing_rounds >= schedule.FEWEST_CHOOSING_ROUNDS and spending.judged == schedule.JUDGED


@pytest.mark.parametrize(("run", "rounds"), [(1.0, 11), (3.0, 11), (8.0, 4), (20.0, 4)])
def test_a_slow_program_has_time_for_a_verdict_in_ten_minutes(run: float, rounds: int) -> None:
    """Counts the recording, six candidates, seven mallocs, the unchanged program, and the look-ups."""
    left = schedule.budget(5 * run, run, 15) - 5 * run
    spending = schedule.choosing(left, run * 1.2, 6, 9)
    chosen = spending.choosing_rounds * (spending.candidates + 9) * run * 1.2
    assert schedule.judging(left - chosen, run * 1.2, schedule.JUDGED_AT_LEAST) >= rounds


def test_a_small_budget_takes_the_largest_candidate_unchosen() -> None:
    assert schedule.choosing(10.0, 5.0, 8, 5) == schedule.Schedule(1, 0, 4, 4)


def test_rounds_are_cut_first_then_judgement_then_candidates() -> None:
    whole, least = (schedule.seconds_of_judgement(1.0, judged) for judged in (6, 4))
    assert schedule.choosing(whole + 7 * 10, 1.0, 6, 4) == schedule.Schedule(6, 7, 6)
    assert schedule.choosing(whole + 3 * 10, 1.0, 6, 4) == schedule.Schedule(6, 3, 6)
    assert schedule.choosing(least + 4 * 10, 1.0, 6, 4) == schedule.Schedule(6, 4, 4)
    assert schedule.choosing(least + 10, 1.0, 6, 4) == schedule.Schedule(6, 1, 4)
    assert schedule.choosing(least + 7, 1.0, 6, 4) == schedule.Schedule(6, 1, 6, 6)
    assert schedule.choosing(4 * 4 + 10, 1.0, 6, 4) == schedule.Schedule(6, 1, 4, 4)
    assert schedule.choosing(4 * 4 + 7, 1.0, 6, 4) == schedule.Schedule(3, 1, 4, 4)


def test_candidates_are_chosen_even_without_time_for_a_verdict() -> None:
    assert schedule.choosing(6 + 4 + 3 * 4, 1.0, 6, 4) == schedule.Schedule(2, 1, 4, 4)
    assert schedule.choosing(6 + 3 * 4, 1.0, 2, 4) == schedule.Schedule(2, 1, 4, 3)
    assert schedule.choosing(6 + 3 * 4 - 1, 1.0, 2, 4) == schedule.Schedule(1, 0, 4, 4)


@given(seconds, run_seconds, st.floats(min_value=1.0, max_value=10.0))
def test_observing_scopes_leaves_a_judgement_its_time(left: float, run: float, recorder: float) -> None:
    needed = schedule.seconds_of_judgement(run, schedule.JUDGED_AT_LEAST, schedule.FEWEST_VERDICT_ROUNDS)
    observed = schedule.observing(left, run, recorder * run)
    assert observed <= schedule.OBSERVING_SHARE * left
    assert observed == 0 or left - recorder * run >= needed
    assert observed == 0 or observed >= recorder * run


@pytest.mark.parametrize("run", [1.0, 3.0, 8.0, 20.0])
def test_a_slow_program_has_time_to_observe_its_scopes(run: float) -> None:
    """The recording takes 50 % longer than the program, within the default budget."""
    left = schedule.budget(2.5 * run, schedule.seconds_of_run(run), 15) - 2.5 * run
    assert schedule.observing(left, run, 1.5 * run) > 1.5 * run
