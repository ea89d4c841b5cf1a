# SPDX-License-Identifier: BSL-1.0
"""The distribution of one figure between processes: five numbers, and the values that lie far outside.

    lowest ├──────┤ quarter │ median │ quarter ├──────┤ highest        •  far outside

Quartiles are interpolated between ranks, as `quantile_cont` of SQL does. Far outside is beyond three times the distance
of the quartiles (Tukey's outer fences).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millpond.system.records import Record

Values = npt.NDArray[np.float64]
# With fewer values, quartiles say nothing about the others.
FEWEST_FOR_FENCES = 5
_FENCE = 3.0
# A value within the fences' reach is still usual if it is less than this factor from the median.
_FACTOR = 2.0


class Distribution(Record, frozen=True, kw_only=True):
    """The distribution of `n` values, in their unit."""

    n: int
    lowest: float
    lower_quartile: float
    median: float
    upper_quartile: float
    highest: float

    @classmethod
    def of(cls, values: Values) -> Distribution | None:
        """Returns the distribution; None without values. O(n log n)."""
        if not values.size:
            return None
        ordered = np.sort(values)  # np.quantile takes ten times as long for a few hundred values
        five = [_at(ordered, share) for share in (0, 0.25, 0.5, 0.75, 1)]
        return cls(
            n=int(values.size), lowest=five[0], lower_quartile=five[1], median=five[2], upper_quartile=five[3],
            highest=five[4],
        )  # fmt: skip

    def far_outside(self, values: Values, least: float) -> npt.NDArray[np.intp]:
        """Returns the places of the values far outside this distribution, the farthest first.

        Such a value is beyond a fence, at least twice or at most half the median, and at least `least` from it. None
        is if there are fewer than FEWEST_FOR_FENCES values. O(n log n).
        """
        if self.n < FEWEST_FOR_FENCES:
            return np.empty(0, dtype=np.intp)
        reach = _FENCE * (self.upper_quartile - self.lower_quartile)
        distances = np.abs(values - self.median)
        above = (values > self.upper_quartile + reach) & (values >= _FACTOR * self.median)
        below = (values < self.lower_quartile - reach) & (values <= self.median / _FACTOR)
        places = np.flatnonzero((above | below) & (distances >= least))
        return places[np.argsort(-distances[places], kind="stable")]


def _at(ordered: Values, share: float) -> float:
    """Returns the value at this share of the ranks, interpolated between two."""
    rank = share * (ordered.size - 1)
    below = int(rank)
    value = float(ordered[below])
    return value if rank == below else value + (rank - below) * (float(ordered[below + 1]) - value)
