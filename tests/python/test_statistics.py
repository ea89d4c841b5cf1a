# SPDX-License-Identifier: BSL-1.0
"""Intervals cover as often as they claim, tests keep their error rate, and verdicts need all conditions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.statistics import order_statistics as s
from millpond.statistics import students_t

scipy_stats = pytest.importorskip("scipy.stats")
binom, norm, t = scipy_stats.binom, scipy_stats.norm, scipy_stats.t
ttest_1samp, wilcoxon = scipy_stats.ttest_1samp, scipy_stats.wilcoxon
pytestmark = pytest.mark.lengthy

Array = np.ndarray[Any, np.dtype[np.float64]]

positive = st.floats(min_value=1e-6, max_value=1e6)
p_value = st.floats(min_value=0.0, max_value=1.0)


@pytest.mark.lengthy
@given(st.lists(positive, min_size=1, max_size=40))
def test_summary_lies_inside_its_values(values: list[float]) -> None:
    found = s.summarise(values)
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
    assert found.n == len(values)
    assert found.method == "order statistics"


@pytest.mark.parametrize(("n", "level"), [(1, 0.0), (2, 0.5), (5, 0.9375), (6, 0.96875), (11, 1 - 2 * 12 / 2**11)])
def test_order_statistics_state_the_level_that_they_attain(n: int, level: float) -> None:
    found = s.summarise([float(i) for i in range(n)])
    assert found.level == pytest.approx(level)
    assert found.level >= s.LEVEL or (found.low, found.high) == (0.0, n - 1.0)


@pytest.mark.parametrize("n", [20, 31, 100, 1000, 5000])
def test_no_narrower_pair_of_order_statistics_would_keep_the_level(n: int) -> None:
    outside, level = s.left_out(n, s.LEVEL)
    assert level == pytest.approx(1 - 2 * binom.cdf(outside, n, 0.5), abs=1e-9)
    assert level >= s.LEVEL > 1 - 2 * binom.cdf(outside + 1, n, 0.5)


def test_summary_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        s.summarise([])


def fewest(trials: int, chance: float) -> int:
    """Returns a lower limit: with at least that chance each, fewer successes occur once in a million simulations."""
    return int(binom.ppf(1e-6, trials, chance))


def most(trials: int, chance: float) -> int:
    """Returns an upper limit: with at most that chance each, more successes occur once in a million simulations."""
    return int(binom.ppf(1 - 1e-6, trials, chance))


# Maps uniform numbers, so the true median is the value at 0.5.
SHAPES: dict[str, Callable[[Array], Array]] = {
    "normal": norm.ppf,
    "skewed": lambda u: -np.log1p(-u),
    "very skewed": lambda u: np.exp(1.5 * norm.ppf(u)),
    "heavy tails": lambda u: np.tan(np.pi * (u - 0.5)),
    "a slow minute in ten": lambda u: np.where(u < 0.9, 1 + 0.01 * u, 1.5 + u),
    "clock ticks": lambda u: np.floor(9 * u) / 9,
}


@pytest.mark.lengthy
@pytest.mark.parametrize("n", [6, 11, 19, 20, 21, 31, 60])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_the_true_median_as_often_as_they_claim(n: int, shape: str, seed: int) -> None:
    generator = np.random.default_rng([seed, n, list(SHAPES).index(shape)])
    true = float(SHAPES[shape](np.asarray([0.5]))[0])
    trials, level = 1000, s.left_out(n, s.LEVEL)[1]
    found = [s.summarise(list(row)) for row in SHAPES[shape](generator.uniform(size=(trials, n)))]
    assert {f.level for f in found} == {level}
    assert level >= s.LEVEL
    assert sum(f.low <= true <= f.high for f in found) >= fewest(trials, level)


# Noise of the two contenders of a round, independent of each other, in seconds around one.
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "lognormal": lambda g, size: g.lognormal(0, 0.05, size),
    "heavy tails": lambda g, size: 1 + 0.02 * np.abs(g.standard_cauchy(size)),
    "clock ticks": lambda g, size: np.round(g.lognormal(0, 0.05, size), 2),
}


@pytest.mark.lengthy
@pytest.mark.parametrize("n", [4, 5, 7, 8, 11, 31])
@pytest.mark.parametrize("noise", NOISES)
def test_a_contender_against_itself_is_inside_the_noise(n: int, noise: str, seed: int) -> None:
    generator = np.random.default_rng([seed, n, list(NOISES).index(noise)])
    trials, wrong = 200, 0
    for _ in range(trials):
        a, b = NOISES[noise](generator, (2, n))
        found = s.compare("cpu_seconds", "a", "b", list(a), list(b))
        assert found is not None
        wrong += found.verdict in ("better", "worse")
    assert wrong <= most(trials, s.ALPHA)


def test_an_effect_well_above_the_noise_is_found_in_eleven_rounds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    weather = generator.lognormal(0, 0.3, size=11)  # noise common to both contenders of a round
    a, b = 0.9 * weather * generator.lognormal(0, 0.01, 11), weather * generator.lognormal(0, 0.01, 11)
    found = s.compare("cpu_seconds", "a", "b", list(a), list(b))
    assert found is not None
    assert found.verdict == "better"
    assert found.low < 0.9 * 1.02
    assert found.saved.low > 0


@pytest.mark.lengthy
@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=30))
@settings(max_examples=30)
def test_swapping_the_contenders_swaps_the_verdict(pairs: list[tuple[float, float]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    one, other = s.compare("m", "a", "b", left, right), s.compare("m", "b", "a", right, left)
    assert one is not None and other is not None
    assert one.p == pytest.approx(other.p)
    unlike = ({"better", "worse"}, {"not settled", "worse"}, {"not settled", "no difference"})
    assert {one.verdict, other.verdict} in ({"not settled"}, {"no difference"}, *unlike)


def test_an_effect_below_one_per_cent_is_noise_however_certain() -> None:
    found = s.compare("m", "a", "b", [0.995 - i * 1e-6 for i in range(19)], [1.0] * 19)
    assert found is not None
    assert found.p < 0.001
    assert found.high < 1.0
    assert found.verdict == s.NO_DIFFERENCE


def test_three_rounds_are_too_few_for_a_verdict() -> None:
    found = s.compare("m", "a", "b", [0.5] * 3, [1.0] * 3)
    assert found is not None
    assert found.verdict not in ("better", "worse")


@pytest.mark.parametrize("n", range(s.FEWEST, s.FEWEST_BY_ORDER))
def test_few_rounds_are_judged_by_students_t(n: int, seed: int) -> None:
    generator = np.random.default_rng([seed, n])
    a, b = generator.lognormal(np.log(0.8), 0.01, n), generator.lognormal(0, 0.01, n)
    found = s.compare("m", "a", "b", list(a), list(b))
    assert found is not None
    assert found.verdict == "better" and found.method == s.METHOD_OF_FEW and found.level == s.LEVEL
    expected = ttest_1samp(np.log(a / b), 0.0)
    ends = expected.confidence_interval(s.LEVEL)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((np.exp(ends.low), np.exp(ends.high)))
    ends = ttest_1samp(b - a, 0.0).confidence_interval(s.LEVEL)
    assert (found.saved.low, found.saved.high) == pytest.approx((ends.low, ends.high))


def test_students_quantile_matches_textbook_values() -> None:
    for freedom, level in itertools.product(range(1, 12), (0.5, 0.95, 0.99)):
        assert students_t.quantile(level, freedom) == pytest.approx(t.ppf((1 + level) / 2, freedom))


@pytest.mark.lengthy
@pytest.mark.parametrize("n", range(s.FEWEST, s.FEWEST_BY_ORDER))
@pytest.mark.parametrize("noise", ["lognormal", "heavy tails"])
def test_intervals_of_few_rounds_cover_the_true_ratio(n: int, noise: str, seed: int) -> None:
    generator = np.random.default_rng([seed, n, list(NOISES).index(noise)])
    trials, true = 400, 0.7
    covered = 0
    for _ in range(trials):
        a, b = NOISES[noise](generator, (2, n))
        found = s.compare("m", "a", "b", list(true * a), list(b))
        assert found is not None
        covered += found.low <= true <= found.high
    assert covered >= fewest(trials, s.LEVEL)


def test_each_state_has_one_word() -> None:
    """`no difference` needs a narrow interval; few rounds, or scattered ones, settle nothing."""
    same, wide = [1.0 + 0.001 * (-1) ** i for i in range(11)], [1.0 + 0.1 * (-1) ** i for i in range(11)]
    for values, verdict in ((same, "no difference"), (wide, "not settled"), (same[:3], "not settled")):
        found = s.compare("m", "a", "b", values, [1.0] * len(values))
        assert found is not None and found.verdict == verdict


def test_rounds_without_a_positive_value_are_left_out() -> None:
    assert s.compare("m", "a", "b", [0.0], [1.0]) is None
    assert s.compare("m", "a", "b", [], []) is None


def test_no_difference_at_all_has_p_one() -> None:
    assert s.signed_rank_p([0.0, 0.0, 0.0]) == 1.0


@pytest.mark.lengthy
@given(st.lists(st.integers(-10_000, 10_000).filter(bool), min_size=1, max_size=20, unique_by=abs))
@settings(max_examples=50)
def test_the_signed_rank_test_matches_textbook_values(values: list[int]) -> None:
    for alternative in ("two-sided", "less"):
        expected = wilcoxon(values, alternative=alternative, method="exact").pvalue
        assert s.signed_rank_p(values, alternative=alternative) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[1, 1, 1, -1, 2, 2, -3, 4], [1, 1, 1, 1, 1, 1], [0, 2, -2, 3, 3, 0], [-1, 1]])
def test_ties_are_judged_by_all_choices_of_signs(values: list[int]) -> None:
    moved = [v for v in values if v]
    sizes = sorted(map(abs, moved))
    rank = {v: 1 + sizes.index(v) + (sizes.count(v) - 1) / 2 for v in sizes}
    seen = sum(rank[v] for v in moved if v > 0)
    sums = [
        sum(rank[abs(v)] for v, up in zip(moved, signs, strict=True) if up)
        for signs in itertools.product((False, True), repeat=len(moved))
    ]
    below, above = sum(x <= seen for x in sums), sum(x >= seen for x in sums)
    assert s.signed_rank_p(values) == pytest.approx(min(1.0, 2 * min(below, above) / len(sums)))
    assert s.signed_rank_p(values, alternative="less") == pytest.approx(below / len(sums))


def test_exact_and_approximate_p_values_agree(seed: int) -> None:
    values = list(np.random.default_rng(seed).normal(0.15, 1, s.EXACT_UP_TO + 1))
    assert s.signed_rank_p(values) == pytest.approx(wilcoxon(values, method="exact").pvalue, abs=0.01)


@pytest.mark.lengthy
@given(st.lists(p_value, max_size=30))
def test_adjusted_p_values_are_no_smaller_and_keep_the_order(values: list[float]) -> None:
    adjusted = s.adjust(values)
    assert all(p <= q * (1 + 1e-12) <= 1.0 + 1e-9 for p, q in zip(values, adjusted, strict=True))
    ranked = sorted(zip(values, adjusted, strict=True))
    assert all(x[1] <= y[1] for x, y in pairwise(ranked) if x[0] < y[0])


def test_adjusted_p_values_are_those_of_a_worked_example() -> None:
    assert s.adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])


@pytest.mark.lengthy
@pytest.mark.parametrize("real", [0, 5])
def test_false_discoveries_over_a_grid_are_held_at_the_stated_level(real: int, seed: int) -> None:
    generator = np.random.default_rng([seed, real])
    grids, size, false_share, missed = 60, 20, 0.0, 0
    for _ in range(grids):
        family = {}
        for number in range(size):
            a, b = generator.lognormal(0, 0.03, size=(2, 11))
            found = s.compare("m", "a", "b", list(a * (0.85 if number < real else 1.0)), list(b))
            assert found is not None
            family[number] = found
        called = [number for number, c in s.judge_family(family).items() if c.verdict in ("better", "worse")]
        false_share += sum(number >= real for number in called) / max(1, len(called))
        missed += sum(number not in called for number in range(real))
    # A share in [0, 1] varies no more than one that is 0 or 1, so the binomial bounds it.
    assert false_share <= most(grids, s.ALPHA)
    assert missed <= grids * real / 20
