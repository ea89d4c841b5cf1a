# SPDX-License-Identifier: BSL-1.0
"""The interval of a difference joins two intervals, and covers the true difference as often as they do."""

from __future__ import annotations

import random
from math import inf, sqrt

import numpy as np
import pytest

from millpond.statistics.difference_interval import Ends, difference_interval, sum_interval


def drawn(dice: random.Random) -> tuple[float, Ends]:
    value = dice.uniform(-10, 10)
    return value, (value - dice.uniform(0, 5), value + dice.uniform(0, 5))


def test_it_lies_about_the_difference_and_turns_with_it(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(1000):
        (a, a_ends), (b, b_ends) = drawn(dice), drawn(dice)
        low, high = difference_interval(a, a_ends, b, b_ends)
        assert low <= b - a <= high
        assert difference_interval(b, b_ends, a, a_ends) == pytest.approx((-high, -low))
        assert high - low <= (a_ends[1] or 0) - a_ends[0] + (b_ends[1] or 0) - b_ends[0] + 1e-9
        total = sum_interval(a, a_ends, b, b_ends)
        assert total == pytest.approx(difference_interval(-a, (-(a_ends[1] or 0), -a_ends[0]), b, b_ends))


def test_exact_values_have_an_exact_difference() -> None:
    assert difference_interval(3, (3, 3), 10, (10, 10)) == (7, 7)
    assert sum_interval(3, (3, 3), 10, (10, 10)) == (13, 13)
    assert difference_interval(3, (3, 3), 10, (8, 14)) == (5, 11)


def test_an_open_end_stays_open() -> None:
    assert difference_interval(3, (2, None), 10, (10, 10)) == (-inf, 8)
    assert sum_interval(3, (2, None), 10, (10, 10)) == (12, inf)


def of_count(count: float) -> Ends:
    """Garwood's 95 % interval of the mean of a count, by the approximation of Wilson and Hilferty."""

    def end(shape: float, sign: float) -> float:
        return shape * (1 - 1 / (9 * shape) + sign * 1.96 / (3 * sqrt(shape))) ** 3 if shape > 0 else 0.0

    return max(0.0, end(count, -1)), end(count + 1, 1)


@pytest.mark.parametrize("means", [(0.5, 0.5), (3, 3), (3, 40), (200, 10), (1, 900)])
def test_it_covers_the_difference_of_means(means: tuple[float, float], seed: int) -> None:
    draws = np.random.default_rng(seed).poisson(means, size=(4000, 2))
    intervals = [difference_interval(a, of_count(a), b, of_count(b)) for a, b in draws.tolist()]
    held = sum(low <= means[1] - means[0] <= high for low, high in intervals)
    assert held >= 0.94 * len(intervals)  # 3 standard deviations of the count below 95 %
