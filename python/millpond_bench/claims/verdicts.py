# SPDX-License-Identifier: BSL-1.0
"""Verdicts: where the figure of a statement lies, and the probability that only chance put it there.

    no effect        near end of the bound        far end
        ┆   weaker            ┆       holds          ┆   stronger          a statement of an effect: its bound lies on
    ────┼─────────────────────┼──────────────────────┼─────────────▶       one side of no effect, or reaches it
        ┆ opposite: left of no effect      absent: around no effect, not half way to the bound

           opposite           ┆       holds          ┆   opposite          a denial: "no difference", "not by a factor
    ──────────────────────────┼──────────┼───────────┼─────────────▶       of three": no effect lies inside the bound
                                     no effect

- *holds*: the whole interval lies within the bound.
- *stronger*: the whole interval lies beyond the far end. The effect is there, larger than stated.
- *weaker*: it lies between no effect and the bound. The effect is there, smaller than stated.
- *opposite*: it lies on the other side of no effect. Of a denial: outside of the bound. What is denied is there.
- *absent*: it contains no effect and does not reach half way to the bound (or 1 %, where the bound begins there).
- *undecided*: it crosses one of these borders, there are fewer than six rounds, or chance is not excluded.
- *not measured*, *cannot be tested here*: there is no figure; the latter where the machine or a tool lacks something.

Half way is on a logarithmic scale where all numbers are quotients. No effect is 1 of a quotient and 0 of a share and
of a correlation; `no_effect` says it of anything else. Of counts that never vary the interval is all rounds, even one.

**Chance.** The p-value of a verdict is that of a t-test over the rounds' logarithms (or values) against each border of
its region, one-sided, the larger one; doubled, since a figure may err to both sides. A rank test would need no shape of
the noise, but at six rounds none can be below 1/64, and of a hundred statements at once nothing could be told. So a
verdict asks for both: every border outside the interval by order statistics, which needs no shape, and the p-value.
Over the statements of a document the p-values are adjusted by Benjamini and Yekutieli's rule, which holds the expected
share of false verdicts at `RATE` however the statements depend on one another: they share cells, in the numerator of
one and in the denominator of the next.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from millpond.statistics import students_t
from millpond.statistics.order_statistics import MINIMUM_EFFECT, adjust
from millpond_bench.claims.claims import (
    ABSENT,
    HOLDS,
    OPPOSITE,
    STRONGER,
    UNDECIDED,
    WEAKER,
    Claim,
    Verdict,
)

FEWEST_ROUNDS = 6
# The expected share of false verdicts among those on a paper.
RATE = 0.05
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Region:
    """A part of the number line, and the verdict on an interval that lies in it."""

    verdict: str
    low: float
    high: float

    def contains(self, low: float, high: float) -> bool:
        """True if a whole interval lies inside; ends belong to the bound, not to its neighbours."""
        if self.verdict == HOLDS:
            return self.low - _ROUNDING <= low and high <= self.high + _ROUNDING
        return self.low + _ROUNDING < low and high < self.high - _ROUNDING


def regions(claim: Claim) -> Iterator[Region]:
    """The regions of a statement, in order of priority. `absent` overlaps its neighbours."""
    low, high, none = float(claim.low), float(claim.high), claim.nothing
    yield Region(HOLDS, low, high)
    if low < none < high or low == none == high:
        yield from (Region(OPPOSITE, -math.inf, low), Region(OPPOSITE, high, math.inf))
        return
    if low >= none:
        yield from (Region(STRONGER, high, math.inf), Region(WEAKER, none, low), Region(OPPOSITE, -math.inf, none))
    else:
        yield from (Region(STRONGER, -math.inf, low), Region(WEAKER, high, none), Region(OPPOSITE, none, math.inf))
    yield _absent(none, low if low >= none else high)


def _absent(none: float, near: float) -> Region:
    """The region around no effect, up to half way to the near end of the bound."""
    if none > 0.0 and near > 0.0:
        half = max(abs(math.log(near / none)) / 2.0, math.log1p(MINIMUM_EFFECT))
        return Region(ABSENT, none * math.exp(-half), none * math.exp(half))
    half = max(abs(near - none) / 2.0, MINIMUM_EFFECT)
    return Region(ABSENT, none - half, none + half)


def region_of(claim: Claim, low: float, high: float) -> Region | None:
    """The first region that the whole interval lies in; None across a border."""
    return next((region for region in regions(claim) if region.contains(low, high)), None)


def chance_of(values: Sequence[float], region: Region) -> float:
    """The one-sided p-value that the true value lies outside of a region, at its nearer border.

    Student's t, on logarithms if all values are positive. StatisticsError without two values. O(n).
    """
    borders = [border for border in (region.low, region.high) if math.isfinite(border)]
    scale = math.log if min(*values, *borders) > 0.0 else float
    own = [scale(value) for value in values]
    found, error = statistics.fmean(own), statistics.stdev(own) / math.sqrt(len(own))
    inside = [found - scale(region.low)] if math.isfinite(region.low) else []
    inside += [scale(region.high) - found] if math.isfinite(region.high) else []
    return max((_tail(distance, error, len(own), region.verdict == HOLDS) for distance in inside), default=0.0)


def _tail(distance: float, error: float, n: int, closed: bool) -> float:
    """Student's tail beyond a distance. Without scatter, the value is exact, and an end of a bound is inside it."""
    if error <= _ROUNDING:
        return 0.0 if distance > _ROUNDING or (closed and distance >= -_ROUNDING) else 1.0
    return students_t.tail(distance / error, n - 1)


def controlled(judged: Sequence[Verdict], rate: float = RATE) -> list[Verdict]:
    """The same statements, judged together: those that chance could have decided become undecided.

    Statements without a p-value (exact, or not measured) stay as they are. O(n log n).
    """
    p_values = [one.p for one in judged if one.p is not None]
    several = sum(1.0 / k for k in range(1, len(p_values) + 1))
    adjusted = iter([min(1.0, p * several) for p in adjust(p_values)])
    return [one if one.p is None else _settled(one, next(adjusted), len(p_values), rate) for one in judged]


def _settled(one: Verdict, p_adjusted: float, family: int, rate: float) -> Verdict:
    clear = bool(one.region) and p_adjusted <= rate
    doubt = f"among {family} statements, chance may make it {one.region}" if one.region and not clear else ""
    return replace(one, verdict=one.region if clear else UNDECIDED, p_adjusted=p_adjusted, doubt=doubt)
