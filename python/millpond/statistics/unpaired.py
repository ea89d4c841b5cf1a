# SPDX-License-Identifier: BSL-1.0
"""Differences between two runs that were made at different times, so their rounds are not paired.

    A   1.00  1.02   .99  …     every value of B over every value of A: the median of those ratios (Hodges and
    B   1.10  1.12  1.08  …     Lehmann), the shifts that a Mann-Whitney test does not reject, and its p-value

The rounds of one run do not show how much whole runs of the same program differ: the machine changes from hour to
hour. So intervals of times are widened by the difference between runs. If each side is one run, this is `drift`, a
stated value; the more runs there are, the more weight their own differences get. Counts that never varied are compared
exactly. Verdicts need the same three things as those of paired rounds (see `order_statistics`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
from msgspec import field
from msgspec.structs import replace

from millpond.statistics import students_t
from millpond.statistics.order_statistics import (
    ALPHA,
    LEVEL,
    MINIMUM_EFFECT,
    NO_DIFFERENCE,
    NOT_SETTLED,
    Summary,
    adjust,
)
from millpond.system.records import NULL, Record

Key = TypeVar("Key")
Array = np.ndarray[Any, np.dtype[np.float64]]

METHOD = "Hodges-Lehmann"
EXACT = "exact"
# The assumed relative standard deviation of the times of whole runs, with the weight of this many runs.
DRIFT = 0.0125
_DRIFT_WEIGHT = 4
_EXACT_TEST_UP_TO = 60  # values per side; beyond, the normal approximation is as good and much quicker


@dataclass(frozen=True)
class Sample:
    """The values of one cell in one metric, a tuple for each run; `counted`: by the kernel or from a trace."""

    runs: tuple[tuple[float, ...], ...]
    counted: bool = False

    @property
    def values(self) -> list[float]:
        return [v for run in self.runs for v in run]

    @property
    def constant(self) -> bool:
        return len(set(self.values)) == 1


class SideMedian(Record, frozen=True):
    """The median of one side."""

    n: int
    median: float


class UnpairedChange(Record, frozen=True, kw_only=True):
    """The change from `a` to `b`: the ratio b / a (None if a value is zero or less), and the difference b - a.

    `verdict`: worse if b is larger, beyond the noise; better if it is smaller; else no difference or not settled, as
    for paired rounds.
    """

    a: SideMedian
    b: SideMedian
    ratio: Summary | None = field(default_factory=NULL)
    difference: Summary
    p: float
    p_adjusted: float
    exact: bool
    verdict: str = field(default_factory=str)


def change(a: Sample, b: Sample, *, level: float = LEVEL, drift: float = 0.0) -> UnpairedChange:
    """The change from a to b, judged by itself. O(n·m log(n·m)). ValueError if a side has no values.

    `drift`: how much runs of the same program differ, a relative standard deviation; 0 if rounds show all of it.
    """
    left, right = np.asarray(a.values, dtype=float), np.asarray(b.values, dtype=float)
    if not len(left) or not len(right):
        raise ValueError("a change needs values on both sides")
    before, after = SideMedian(len(left), float(np.median(left))), SideMedian(len(right), float(np.median(right)))
    positive = bool((left > 0).all() and (right > 0).all())
    if a.counted and b.counted and a.constant and b.constant:
        n, x, y = min(before.n, after.n), before.median, after.median
        ratio, difference, p = _exactly(y / x, n) if positive else None, _exactly(y - x, n), 1.0 if x == y else 0.0
        return judge(UnpairedChange(
            a=before, b=after, ratio=ratio, difference=difference, p=p, p_adjusted=p, exact=True,
        ))  # fmt: skip
    spread = _between_runs(a, b, drift, level) if drift > 0.0 else 0.0
    difference = _widened(_shift(left, right, level), spread * abs(before.median))
    logs = _widened(_shift(np.log(left), np.log(right), level), spread) if positive else None
    ratio = _exponential(logs) if logs else None
    p = mann_whitney_p(left, right)
    return judge(UnpairedChange(
        a=before, b=after, ratio=ratio, difference=difference, p=p, p_adjusted=p, exact=False,
    ))  # fmt: skip


def _exactly(value: float, n: int) -> Summary:
    return Summary(n, value, value, value, 1.0, EXACT)


def _between_runs(a: Sample, b: Sample, drift: float, level: float) -> float:
    """The relative difference of two sides that is expected only because they are different runs: a t-interval over
    runs' medians.

    Its variance is that of the runs, moderated by `drift`, as if `drift` had been observed in some runs before.
    """
    squares, freedom, each = _DRIFT_WEIGHT * drift**2, _DRIFT_WEIGHT, 0.0
    for side in (a, b):
        medians = [float(np.median(run)) for run in side.runs if len(run)]
        if min(medians) > 0.0:
            logs = np.log(medians)
            squares += float(np.sum((logs - logs.mean()) ** 2))
            freedom += len(medians) - 1
        each += 1.0 / len(medians)
    return students_t.quantile(level, freedom) * math.sqrt(squares / freedom * each)


def _widened(summary: Summary, by: float) -> Summary:
    return replace(summary, low=summary.low - by, high=summary.high + by)


def _exponential(logs: Summary) -> Summary:
    return replace(logs, median=math.exp(logs.median), low=math.exp(logs.low), high=math.exp(logs.high))


def _shift(left: Array, right: Array, level: float) -> Summary:
    """The shift of `right` against `left`: the median of all differences, and the shifts that a test accepts."""
    differences = np.sort(np.subtract.outer(right, left), axis=None)
    outside, attained = _left_out(len(left), len(right), level)
    low, high = differences[outside - 1], differences[len(differences) - outside]
    return Summary(min(len(left), len(right)), float(np.median(differences)), float(low), float(high), attained, METHOD)


@cache
def _left_out(n: int, m: int, level: float) -> tuple[int, float]:
    """The index, from either end, of the sorted difference that bounds the interval, and the level that it attains.

    The k-th smallest and k-th largest cover the shift with 1 - 2 P(U < k), U Mann and Whitney's statistic.
    """
    if max(n, m) > _EXACT_TEST_UP_TO:
        deviation = math.sqrt(n * m * (n + m + 1) / 12.0)
        k = max(1, math.floor(n * m / 2.0 - NormalDist().inv_cdf(0.5 + level / 2.0) * deviation))
        return k, level
    below = np.cumsum(_mann_whitney_counts(n, m)) / math.comb(n + m, n)
    k = max(1, int(np.searchsorted(below, (1.0 - level) / 2.0, side="right")))
    return k, float(1.0 - 2.0 * below[k - 1])


def _mann_whitney_counts(n: int, m: int) -> Array:
    """The number of orders of n and m values that give U = 0, 1, …, n·m: the Gaussian binomial's coefficients.

    For many values only the lower half is exact to the last digit, and tails are looked up there.
    """
    size = n * m + 1
    counts = np.zeros(size)
    counts[0] = 1.0
    for i in range(1, m + 1):
        above = n + i
        if above < size:
            counts[above:] -= counts[: size - above].copy()  # times 1 - q^(n + i)
        for start in range(i):  # divided by 1 - q^i
            counts[start::i] = np.cumsum(counts[start::i])
    return counts


def mann_whitney_p(left: Sequence[float] | Array, right: Sequence[float] | Array) -> float:
    """The two-sided p-value that neither side's values tend to be larger. O((n + m) log(n + m)).

    Exact for few values without ties; else the normal approximation, corrected for continuity and for ties.
    """
    a, b = np.sort(np.asarray(left, dtype=float)), np.sort(np.asarray(right, dtype=float))
    ties = np.unique(np.concatenate((a, b)), return_counts=True)[1]
    if len(ties) == 1:
        return 1.0
    n, m = len(a), len(b)
    wins = float(np.searchsorted(b, a, "left").sum() + np.searchsorted(b, a, "right").sum()) / 2.0
    fewer = min(wins, n * m - wins)
    if max(n, m) <= _EXACT_TEST_UP_TO and len(ties) == n + m:
        orders = float(np.sum(_mann_whitney_counts(n, m)[: round(fewer) + 1]))
        return min(1.0, 2.0 * orders / math.comb(n + m, n))
    correction = float(np.sum(ties.astype(float) ** 3 - ties)) / ((n + m) * (n + m - 1))
    deviation = math.sqrt(n * m / 12.0 * (n + m + 1 - correction))
    return min(1.0, math.erfc((n * m / 2.0 - fewer - 0.5) / deviation / math.sqrt(2.0)))


def judge(found: UnpairedChange) -> UnpairedChange:
    """The change with the verdict from its interval, its adjusted p-value and its size."""
    verdict = NOT_SETTLED
    if found.exact:
        before, after = found.a.median, found.b.median
        verdict = "worse" if after > before else "better" if after < before else NO_DIFFERENCE
    elif found.difference.level >= LEVEL:
        low, middle, high, least = _relative(found)
        if -least < low <= high < least:
            verdict = NO_DIFFERENCE
        if found.p_adjusted <= ALPHA and low > 0.0 and middle >= least:
            verdict = "worse"
        elif found.p_adjusted <= ALPHA and high < 0.0 and middle <= -least:
            verdict = "better"
    ratio = replace(found.ratio, verdict=verdict) if found.ratio else None
    return replace(found, ratio=ratio, difference=replace(found.difference, verdict=verdict), verdict=verdict)


def _relative(found: UnpairedChange) -> tuple[float, float, float, float]:
    """Low, middle and high of the change, with zero for no change, and the least change that counts, in the same
    measure.
    """
    if found.ratio is not None:
        return found.ratio.low - 1.0, found.ratio.median - 1.0, found.ratio.high - 1.0, MINIMUM_EFFECT
    d = found.difference
    return d.low, d.median, d.high, MINIMUM_EFFECT * abs(found.a.median)


def judge_family(family: Mapping[Key, UnpairedChange]) -> dict[Key, UnpairedChange]:
    """Judges changes that were looked at together: the false discovery rate is limited over all that have noise."""
    noisy = [key for key, found in family.items() if not found.exact]
    adjusted = dict(zip(noisy, adjust([family[key].p for key in noisy]), strict=True))
    return {
        key: judge(replace(found, p_adjusted=adjusted[key])) if key in adjusted else found
        for key, found in family.items()
    }
