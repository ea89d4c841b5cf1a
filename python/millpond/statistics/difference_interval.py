# SPDX-License-Identifier: BSL-1.0
"""The interval of a difference or a sum of two estimates, from the interval of each."""

from __future__ import annotations

from math import hypot, inf

Ends = tuple[float, float | None]  # of an interval; None: the sample does not bound it


def difference_interval(a: float, a_ends: Ends, b: float, b_ends: Ends) -> tuple[float, float]:
    """The ends of the interval of b - a, at the level of both intervals, for independent estimates.

    The distances from the estimates to the ends are joined as standard errors are, each side for itself, so intervals
    that are not symmetric keep their coverage (Zou and Donner 2008, "Construction of confidence limits about effect
    measures"). An exact value has both ends equal to it. O(1).
    """
    (a_low, a_high), (b_low, b_high) = ((low, inf if high is None else high) for low, high in (a_ends, b_ends))
    return b - a - hypot(b - b_low, a_high - a), b - a + hypot(b_high - b, a - a_low)


def sum_interval(a: float, a_ends: Ends, b: float, b_ends: Ends) -> tuple[float, float]:
    """The ends of the interval of a + b, as difference_interval() has those of b - a. O(1)."""
    low, high = a_ends
    return difference_interval(-a, (-inf if high is None else -high, -low), b, b_ends)
