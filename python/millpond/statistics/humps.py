# SPDX-License-Identifier: BSL-1.0
"""Effects that come and go: rounds whose ratios form two groups, far from each other.

Rounds by their ratio:

·: :·                    ·::·.      a single figure between the two would be true of no round
-54 %                    -2 %
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from millpond.system.records import Record

# With fewer rounds, or fewer in a group, two groups look like a few disturbed rounds.
FEWEST_ROUNDS = 8
_FEWEST_OF_A_GROUP, _SMALLEST_SHARE = 2, 0.2
# Groups closer than this are one effect with its noise.
_FAR = math.log(1.1)
# The gap must be at least this many times as wide as the wider group.
_WIDER = 2.0


class Hump(Record, frozen=True):
    """One of the groups: its rounds, and the median of their ratios."""

    rounds: int
    median: float


def humps_of(ratios: Sequence[float]) -> tuple[Hump, ...]:
    """Returns the two groups, the lower first, or nothing if there are not two.

    There are two if the gap between them is twice as wide as either of them and at least a tenth, and each has a fifth
    of the rounds. Of 10 000 draws of 11 values, the first rule by itself splits 0.05 % of a normal and 0.4 % of an
    exponential distribution (of 8 values, 0.7 and 3.4 %). O(n log n).
    """
    if len(ratios) < FEWEST_ROUNDS or min(ratios) <= 0.0:
        return ()
    logs = sorted(math.log(r) for r in ratios)
    fewest = max(_FEWEST_OF_A_GROUP, math.ceil(_SMALLEST_SHARE * len(logs)))
    splits = range(fewest, len(logs) - fewest + 1)
    at = max(splits, key=lambda i: logs[i] - logs[i - 1])
    gap = logs[at] - logs[at - 1]
    if gap < _FAR or gap <= _WIDER * max(logs[at - 1] - logs[0], logs[-1] - logs[at]):
        return ()
    return _hump(logs[:at]), _hump(logs[at:])


def _hump(logs: Sequence[float]) -> Hump:
    n = len(logs)
    return Hump(n, math.exp((logs[(n - 1) // 2] + logs[n // 2]) / 2))
