# SPDX-License-Identifier: BSL-1.0
"""Student's t: the test that a mean is zero, and the quantile of its interval. Exact for every number of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np


def p_value(values: Sequence[float]) -> float:
    """Student's two-sided p-value that values have the mean zero. 1 below two values and where all are zero."""
    if len(values) < 2:
        return 1.0
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return 1.0 - _within(abs(mean) / spread * math.sqrt(len(values)), len(values) - 1)


def _within(t: float, freedom: int) -> float:
    """P(|T| <= t) of Student's distribution: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    term, total = 1.0, 0.0
    for k in range(freedom // 2):
        total += term * sine
        term *= (
            cosine * cosine * (2 * k + 2) / (2 * k + 3) if freedom % 2 else cosine * cosine * (2 * k + 1) / (2 * k + 2)
        )
    return 2 / math.pi * (angle + total * cosine) if freedom % 2 else total


@cache
def quantile(level: float, freedom: int) -> float:
    """The t for which P(|T| <= t) = level, by bisection."""
    low, high = 0.0, 1.0
    while _within(high, freedom) < level:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < level else (low, middle)
    return high
