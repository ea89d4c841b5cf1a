# SPDX-License-Identifier: BSL-1.0
"""Intervals cover what they claim, tests reject as often as they may, and verdicts need all of their conditions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond import statistics as s

positive = st.floats(min_value=1e-6, max_value=1e6)
p_value = st.floats(min_value=0.0, max_value=1.0)


@given(st.lists(positive, min_size=1, max_size=40))
def test_summary_lies_inside_its_values(values: list[float]) -> None:
    found = s.summarise(values)
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
    assert found.n == len(values)
    assert found.method == ("order statistics" if len(values) < s.BOOTSTRAP_FROM else "bootstrap")


@pytest.mark.parametrize(("n", "level"), [(1, 0.0), (2, 0.5), (5, 0.9375), (6, 0.96875), (11, 1 - 2 * 12 / 2**11)])
def test_order_statistics_state_the_level_that_they_attain(n: int, level: float) -> None:
    found = s.summarise([float(i) for i in range(n)])
    assert found.level == pytest.approx(level)
    assert found.level >= s.LEVEL or (found.low, found.high) == (0.0, n - 1.0)


def test_bootstrap_is_decided_by_its_seed() -> None:
    values = list(np.random.default_rng(3).normal(size=25))
    assert s.summarise(values, seed=1) == s.summarise(values, seed=1)


def test_summary_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        s.summarise([])


@pytest.mark.parametrize("n", [6, 11, 19, 20, 31])
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_intervals_cover_the_true_median_as_often_as_they_claim(n: int, shape: str, seed: int) -> None:
    generator = np.random.default_rng([seed, n, len(shape)])
    trials = 200
    true = 0.0 if shape == "normal" else math.log(2.0)
    covered = 0
    for trial in range(trials):
        values = generator.normal(size=n) if shape == "normal" else generator.exponential(size=n)
        found = s.summarise(list(values), seed=trial)
        covered += found.low <= true <= found.high
    # Four standard errors below the claim, and one hundredth for the bootstrap, which is right only for many values.
    slack = 4 * math.sqrt(s.LEVEL * (1 - s.LEVEL) / trials) + 0.01
    assert covered / trials >= s.LEVEL - slack


def test_equal_contenders_are_called_better_or_worse_no_more_often_than_allowed(seed: int) -> None:
    generator = np.random.default_rng(seed)
    trials, wrong = 400, 0
    for trial in range(trials):
        a, b = generator.lognormal(0, 0.05, size=(2, 11))
        found = s.compare("cpu_seconds", "a", "b", list(a), list(b), seed=trial)
        assert found is not None
        wrong += found.verdict != "inside noise"
    assert wrong / trials <= s.ALPHA + 4 * math.sqrt(s.ALPHA * (1 - s.ALPHA) / trials)


def test_an_effect_well_above_the_noise_is_found_in_eleven_rounds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    weather = generator.lognormal(0, 0.3, size=11)  # what hits both contenders of a round alike
    a, b = 0.9 * weather * generator.lognormal(0, 0.01, 11), weather * generator.lognormal(0, 0.01, 11)
    found = s.compare("cpu_seconds", "a", "b", list(a), list(b))
    assert found is not None
    assert found.verdict == "better"
    assert found.ratio.low < 0.9 * 1.02
    assert found.saved.low > 0


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=30))
@settings(max_examples=30)
def test_swapping_the_contenders_swaps_the_verdict(pairs: list[tuple[float, float]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    one, other = s.compare("m", "a", "b", left, right), s.compare("m", "b", "a", right, left)
    assert one is not None and other is not None
    assert one.p == pytest.approx(other.p)
    assert {one.verdict, other.verdict} in ({"inside noise"}, {"better", "worse"}, {"inside noise", "worse"})


def test_an_effect_below_one_per_cent_is_noise_however_certain() -> None:
    found = s.compare("m", "a", "b", [0.995 - i * 1e-6 for i in range(19)], [1.0] * 19)
    assert found is not None
    assert found.p < 0.001
    assert found.ratio.high < 1.0
    assert found.verdict == "inside noise"


def test_five_rounds_are_too_few_for_a_verdict() -> None:
    found = s.compare("m", "a", "b", [0.5] * 5, [1.0] * 5)
    assert found is not None
    assert found.verdict == "inside noise"


def test_rounds_without_a_positive_value_are_left_out() -> None:
    assert s.compare("m", "a", "b", [0.0], [1.0]) is None
    assert s.compare("m", "a", "b", [], []) is None


def test_no_difference_at_all_has_p_one() -> None:
    assert s.signed_rank_p([0.0, 0.0, 0.0]) == 1.0


@given(st.lists(p_value, max_size=30))
def test_adjusted_p_values_are_no_smaller_and_keep_the_order(values: list[float]) -> None:
    adjusted = s.adjust(values)
    assert all(p <= q * (1 + 1e-12) <= 1.0 + 1e-9 for p, q in zip(values, adjusted, strict=True))
    ranked = sorted(zip(values, adjusted, strict=True))
    assert all(x[1] <= y[1] for x, y in pairwise(ranked) if x[0] < y[0])


def test_adjusted_p_values_are_those_of_a_worked_example() -> None:
    assert s.adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])


def test_many_equal_contenders_yield_few_false_discoveries(seed: int) -> None:
    generator = np.random.default_rng(seed)
    families, wrong = 100, 0
    for _ in range(families):
        family = {}
        for number in range(10):
            a, b = generator.lognormal(0, 0.05, size=(2, 11))
            family[number] = s.compare("m", "a", "b", list(a), list(b))
        judged = s.judge_family({k: c for k, c in family.items() if c is not None})
        wrong += any(c.verdict != "inside noise" for c in judged.values())
    assert wrong / families <= s.ALPHA + 4 * math.sqrt(s.ALPHA * (1 - s.ALPHA) / families)
