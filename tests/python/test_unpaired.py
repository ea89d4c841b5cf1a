# SPDX-License-Identifier: BSL-1.0
"""Two separate runs: intervals cover the shift, equal runs are seldom called different, real changes are found."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.statistics import unpaired as u
from millpond.statistics.order_statistics import ALPHA, LEVEL

pytestmark = pytest.mark.lengthy

positive = st.floats(min_value=1e-3, max_value=1e6)


def sample(values: object, *, counted: bool = False) -> u.Sample:
    return u.Sample((tuple(float(v) for v in np.asarray(values).ravel()),), counted)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 5), (4, 4), (5, 3)])
def test_counts_are_those_of_all_orders(n: int, m: int) -> None:
    expected = [0] * (n * m + 1)
    for chosen in itertools.combinations(range(n + m), n):
        others = [i for i in range(n + m) if i not in chosen]
        expected[sum(c > o for c in chosen for o in others)] += 1
    assert list(u._mann_whitney_counts(n, m)) == expected


def test_counts_of_many_values_are_right_up_to_the_middle() -> None:
    n, m = 31, 48
    counts = u._mann_whitney_counts(n, m)
    below = counts[: n * m // 2].sum() + counts[n * m // 2] / 2
    assert below == pytest.approx(math.comb(n + m, n) / 2, rel=1e-9)


@pytest.mark.lengthy
@pytest.mark.parametrize(("n", "m"), [(4, 4), (11, 11), (11, 31), (70, 11)])
@pytest.mark.parametrize("ratio", [1.0, 1.1])
def test_intervals_cover_the_true_ratio_as_often_as_they_claim(n: int, m: int, ratio: float, seed: int) -> None:
    generator = np.random.default_rng([seed, n, m])
    trials, covered = 300, 0
    for _ in range(trials):
        a, b = generator.lognormal(0, 0.1, n), ratio * generator.lognormal(0, 0.1, m)
        found = u.change(sample(a), sample(b))
        assert found.ratio is not None and found.ratio.level >= LEVEL
        covered += found.ratio.low <= ratio <= found.ratio.high
    assert covered / trials >= LEVEL - 4 * math.sqrt(LEVEL * (1 - LEVEL) / trials)


@pytest.mark.more
def test_equal_runs_keep_the_error_rate(seed: int) -> None:
    generator = np.random.default_rng(seed)
    families, wrong = 100, 0
    for _ in range(families):
        family = {i: u.change(*(sample(generator.lognormal(0, 0.05, 11)) for _ in "ab")) for i in range(8)}
        wrong += any(c.verdict in ("better", "worse") for c in u.judge_family(family).values())
    assert wrong / families <= ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / families)


def test_ten_per_cent_more_are_found_in_eleven_rounds_a_side(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = generator.lognormal(0, 0.02, 11), 1.1 * generator.lognormal(0, 0.02, 11)
    found = u.change(sample(a), sample(b))
    assert found.verdict == "worse"
    assert found.ratio is not None and found.ratio.low < 1.1 < found.ratio.high


@pytest.mark.lengthy
@given(st.lists(positive, min_size=1, max_size=12), st.lists(positive, min_size=1, max_size=12))
@settings(max_examples=40)
def test_swapping_the_sides_swaps_the_change(a: list[float], b: list[float]) -> None:
    there, back = u.change(sample(a), sample(b)), u.change(sample(b), sample(a))
    assert there.p == pytest.approx(back.p)
    assert there.difference.median == pytest.approx(-back.difference.median)
    assert there.ratio is not None and back.ratio is not None
    assert there.ratio.median == pytest.approx(1 / back.ratio.median)


def test_constant_counts_are_compared_exactly() -> None:
    one = u.change(sample([1000], counted=True), sample([1001], counted=True))
    assert (one.exact, one.verdict, one.difference.median) == (True, "worse", 1.0)
    same = u.change(sample([7] * 3, counted=True), sample([7] * 5, counted=True))
    assert (same.exact, same.verdict) == (True, "no difference")
    varying = u.change(sample([1000, 1002], counted=True), sample([1001, 1003], counted=True))
    assert not varying.exact


def test_counts_that_were_zero_have_a_difference_and_no_ratio() -> None:
    found = u.change(sample([0.0] * 11), sample(np.arange(5, 16)))
    assert found.ratio is None
    assert found.verdict == "worse"


def runs_of(generator: np.random.Generator, number: int, drift: float, factor: float = 1.0) -> u.Sample:
    """Returns runs of eleven rounds, each with its own drift."""
    levels = factor * generator.lognormal(0, drift, number)
    return u.Sample(tuple(tuple(level * generator.lognormal(0, 0.02, 11)) for level in levels))


@pytest.mark.lengthy
@pytest.mark.parametrize("runs", [1, 2, 4])
def test_equal_drifting_runs_keep_the_error_rate(runs: int, seed: int) -> None:
    generator = np.random.default_rng([seed, runs])
    trials, wrong = 200, 0
    for _ in range(trials):
        a, b = runs_of(generator, runs, u.DRIFT), runs_of(generator, runs, u.DRIFT)
        wrong += u.change(a, b, drift=u.DRIFT).verdict in ("better", "worse")
    assert wrong / trials <= ALPHA


@pytest.mark.lengthy
def test_widely_scattered_runs_widen_the_interval(seed: int) -> None:
    """The machine drifts four times as much as usual; several runs on each side show it."""
    generator = np.random.default_rng(seed)
    trials, wrong = 200, 0
    for _ in range(trials):
        a, b = runs_of(generator, 6, 4 * u.DRIFT), runs_of(generator, 6, 4 * u.DRIFT)
        wrong += u.change(a, b, drift=u.DRIFT).verdict in ("better", "worse")
    assert wrong / trials <= ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / trials)


def test_ten_per_cent_more_time_is_found_in_one_run_a_side(seed: int) -> None:
    generator = np.random.default_rng(seed)
    found = sum(
        u.change(runs_of(generator, 1, 0.005), runs_of(generator, 1, 0.005, 1.1), drift=u.DRIFT).verdict == "worse"
        for _ in range(50)
    )
    assert found >= 45


def test_three_rounds_a_side_are_too_few_for_a_verdict() -> None:
    assert u.change(sample([1, 1.01, 1.02]), sample([2, 2.01, 2.02])).verdict not in ("better", "worse")


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="both sides"):
        u.change(sample([]), sample([1.0]))
