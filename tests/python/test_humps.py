# SPDX-License-Identifier: BSL-1.0
"""Effects that come and go: two groups of rounds are told apart; one noisy group stays one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.statistics.humps import FEWEST_ROUNDS, humps_of
from millpond.statistics.order_statistics import compare
from millpond.system.wording import change_text


def ratios(random_: random.Random, *groups: tuple[int, float]) -> list[float]:
    """Returns the given number of rounds around each ratio, within 1 %, in random order."""
    found = [middle * random_.uniform(0.995, 1.005) for rounds, middle in groups for _ in range(rounds)]
    random_.shuffle(found)
    return found


@given(st.randoms(use_true_random=False), st.integers(3, 9), st.integers(6, 12), st.floats(0.3, 0.85))
def test_two_groups_far_apart_are_reported(random_: random.Random, few: int, many: int, low: float) -> None:
    found = humps_of(ratios(random_, (few, low), (many, 0.98)))
    assert [h.rounds for h in found] == [few, many]
    assert found[0].median == pytest.approx(low, rel=0.01) and found[1].median == pytest.approx(0.98, rel=0.01)


@given(st.randoms(use_true_random=False), st.integers(FEWEST_ROUNDS, 40), st.floats(0.3, 1.5))
def test_one_group_is_reported_as_one(random_: random.Random, rounds: int, middle: float) -> None:
    assert humps_of(ratios(random_, (rounds, middle))) == ()


@pytest.mark.parametrize(
    "groups",
    [
        [(1, 0.5), (10, 1.0)],  # one disturbed round
        [(4, 0.95), (7, 1.0)],  # near to one another
        [(3, 0.5), (4, 1.0)],  # too few rounds in all
        [(4, 0.4), (4, 0.7), (4, 1.0)],  # three groups are not reported as two
    ],
)
def test_less_than_two_groups_are_not_reported(groups: list[tuple[int, float]]) -> None:
    assert humps_of(ratios(random.Random(3), *groups)) == ()


def test_a_comparison_reports_both_groups() -> None:
    of = ratios(random.Random(5), (7, 0.47), (4, 0.98))
    both = compare("cpu_seconds", "a", "bare", of, [1.0] * 11)
    assert both is not None
    assert change_text(both).startswith("comes and goes: -5") and change_text(both).endswith(" % in 4")
    assert "in 7 rounds" in change_text(both) and "humps" in both.to_json()
    one = compare("cpu_seconds", "a", "bare", ratios(random.Random(5), (11, 0.47)), [1.0] * 11)
    assert one is not None and "humps" not in one.to_json() and "comes and goes" not in change_text(one)
