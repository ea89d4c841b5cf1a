# SPDX-License-Identifier: BSL-1.0
"""Differences between two contenders on a noisy machine, and whether they are more than noise.

Rounds are interleaved, so round i of both contenders met the same weather: ratios and differences are paired.

    round      1     2     3   …        median, an interval that contains it with a stated level,
    of        .80   .84   .79           a signed-rank test of "no difference", and a verdict
    against  1.00  1.05   .98           (smaller is better for everything measured here)

A verdict needs three things at once: an interval without "no difference", a p-value that is small after the number of
comparisons made is accounted for (Benjamini-Hochberg), and an effect of at least MINIMUM_EFFECT. Otherwise: noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

Key = TypeVar("Key")
Verdict = Literal["better", "worse", "inside noise"]

LEVEL = 0.95
ALPHA = 0.05
MINIMUM_EFFECT = 0.01
BOOTSTRAP_FROM = 20
RESAMPLES = 2000


@dataclass(frozen=True)
class Summary:
    """A median with its interval. `level` is what the interval attains: below 6 values 0.95 is out of reach.

    `verdict` is empty for a summary that compares nothing.
    """

    n: int
    median: float
    low: float
    high: float
    level: float
    method: str
    verdict: str = ""

    def to_json(self) -> dict[str, Any]:
        """The shared schema of summaries."""
        return asdict(self)


@dataclass(frozen=True)
class Comparison:
    """`of` against `against` in one metric: ratios (of / against), and what is saved (against - of, in its unit)."""

    metric: str
    of: str
    against: str
    ratio: Summary
    saved: Summary
    p: float
    p_adjusted: float

    @property
    def verdict(self) -> str:
        return self.ratio.verdict

    def to_json(self) -> dict[str, Any]:
        """The summary of the ratios, with what was compared and what it saves beside it."""
        return {
            **self.ratio.to_json(),
            "metric": self.metric,
            "of": self.of,
            "against": self.against,
            "unit": "ratio",
            "saved": self.saved.to_json(),
            "p": self.p,
            "p_adjusted": self.p_adjusted,
        }


def summarise(values: Sequence[float], *, seed: int = 0, level: float = LEVEL) -> Summary:
    """The median and its interval: order statistics below 20 values, seeded percentile bootstrap from there on.

    Raises ValueError without values.
    """
    if not values:
        raise ValueError("a summary needs at least one value")
    ordered = np.sort(np.asarray(values, dtype=float))
    if len(ordered) < BOOTSTRAP_FROM:
        low, high, attained = _order_statistics(ordered, level)
        return Summary(len(ordered), float(np.median(ordered)), low, high, attained, "order statistics")
    low, high = _bootstrap(ordered, level, seed)
    return Summary(len(ordered), float(np.median(ordered)), low, high, level, "bootstrap")


def _order_statistics(ordered: np.ndarray[Any, np.dtype[np.float64]], level: float) -> tuple[float, float, float]:
    """The narrowest pair of order statistics, the same number from each end, that covers the median with `level`.

    With k values left out at each end the coverage is 1 - 2 P(Binomial(n, 1/2) <= k), whatever the distribution.
    """
    n = len(ordered)
    outside, tail = 0, 1.0 / 2.0**n
    while outside + 1 < (n + 1) // 2:
        wider = tail + math.comb(n, outside + 1) / 2.0**n
        if 1.0 - 2.0 * wider < level:
            break
        outside, tail = outside + 1, wider
    return float(ordered[outside]), float(ordered[n - 1 - outside]), 1.0 - 2.0 * tail


def _bootstrap(ordered: np.ndarray[Any, np.dtype[np.float64]], level: float, seed: int) -> tuple[float, float]:
    generator = np.random.default_rng(seed)
    n = len(ordered)
    medians = np.median(ordered[generator.integers(0, n, size=(RESAMPLES, n))], axis=1)
    low, high = np.quantile(medians, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def signed_rank_p(differences: Sequence[float], *, alternative: Literal["two-sided", "less"] = "two-sided") -> float:
    """Wilcoxon's signed-rank p-value that differences lie around zero ("less": not below it). 1 if all are zero."""
    from scipy.stats import wilcoxon

    moved = [d for d in differences if d != 0.0]
    if not moved:
        return 1.0
    return float(wilcoxon(moved, alternative=alternative).pvalue)


def compare(
    metric: str, of: str, against: str, of_values: Sequence[float], against_values: Sequence[float], *, seed: int = 0
) -> Comparison | None:
    """The paired comparison of two contenders, judged on its own; None where no round has values above zero of both."""
    pairs = [(a, b) for a, b in zip(of_values, against_values, strict=True) if a > 0.0 and b > 0.0]
    if not pairs:
        return None
    ratio = summarise([a / b for a, b in pairs], seed=seed)
    saved = summarise([b - a for a, b in pairs], seed=seed)
    p = signed_rank_p([math.log(a / b) for a, b in pairs])
    return judge(Comparison(metric, of, against, ratio, saved, p, p))


def judge(comparison: Comparison) -> Comparison:
    """The comparison with the verdict that its interval, its adjusted p-value and its size allow."""
    ratio = comparison.ratio
    verdict: Verdict = "inside noise"
    if ratio.level >= LEVEL and comparison.p_adjusted <= ALPHA:
        if ratio.high < 1.0 and ratio.median <= 1.0 - MINIMUM_EFFECT:
            verdict = "better"
        elif ratio.low > 1.0 and ratio.median >= 1.0 + MINIMUM_EFFECT:
            verdict = "worse"
    return replace(comparison, ratio=replace(ratio, verdict=verdict), saved=replace(comparison.saved, verdict=verdict))


def adjust(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, in the order given: those <= q hold the false discoveries at q."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i], reverse=True)
    adjusted = [1.0] * len(p_values)
    smallest = 1.0
    for place, index in enumerate(order):
        smallest = min(smallest, p_values[index] * len(p_values) / (len(p_values) - place))
        adjusted[index] = smallest
    return adjusted


def judge_family(family: dict[Key, Comparison]) -> dict[Key, Comparison]:
    """Judges comparisons that were made together: the false discoveries are held over all of them."""
    adjusted = adjust([c.p for c in family.values()])
    return {k: judge(replace(c, p_adjusted=p)) for (k, c), p in zip(family.items(), adjusted, strict=True)}
