# SPDX-License-Identifier: BSL-1.0
"""Tables of numbers coloured by size: one scale for all tables of a chart, with even steps of the logarithm.

      AS1    AS7          a cell has its number, a class of the scale (h0 … h8), and a title with details
2^6  [1.18] [0.27]        an unmeasured cell is empty, a failed one shows its status
2^7  [0.92] [0.25]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

STEPS = 9


@dataclass(frozen=True)
class Heat:
    """One cell of a table. `level` decides the colour; without one the cell has none. `word` replaces the number."""

    level: float | None = None
    text: str = ""
    title: str = ""


@dataclass(frozen=True)
class ColourScale:
    """The range from the smallest to the largest level of a chart. It spans at least a factor of two, so that noise
    does not get the full range of colours.
    """

    low: float
    high: float

    @classmethod
    def over(cls, levels: Iterable[float | None]) -> ColourScale:
        """The scale that covers all these levels; levels without a logarithm are left out."""
        known = [level for level in levels if level is not None and level > 0.0 and math.isfinite(level)]
        low = min(known, default=1.0)
        return cls(low, max(max(known, default=low), 2.0 * low))

    def step(self, level: float) -> int:
        """The class of a level: 0 for the smallest, STEPS - 1 for the largest."""
        if level <= self.low:
            return 0
        share = math.log(level / self.low) / math.log(self.high / self.low)
        return min(STEPS - 1, int(share * STEPS))

    def edges(self) -> list[float]:
        """The lower limit of each class."""
        return [self.low * (self.high / self.low) ** (n / STEPS) for n in range(STEPS)]


@dataclass(frozen=True)
class HeatTable:
    """A table for the template: headings with titles, rows with a label and (class, text, title) for each cell.

    `corner`: the kind of the rows' labels.
    """

    caption: str
    corner: str
    headings: list[tuple[str, str]]
    rows: list[tuple[str, list[tuple[str, str, str]]]]

    @property
    def empty(self) -> bool:
        """True if it has no text."""
        return not any(words for _, cells in self.rows for _, words, _ in cells)


def heat_table(
    caption: str,
    corner: str,
    headings: Sequence[tuple[str, str]],
    rows: Sequence[tuple[str, Sequence[Heat | None]]],
    scale: ColourScale | None,
) -> HeatTable:
    """The table with the colours of the scale; without a scale all cells are plain. O(cells)."""
    return HeatTable(
        caption, corner, list(headings), [(label, [_cell(c, scale) for c in cells]) for label, cells in rows]
    )


def _cell(cell: Heat | None, scale: ColourScale | None) -> tuple[str, str, str]:
    if cell is None:
        return "none", "", ""
    if cell.level is None or cell.level <= 0.0:
        return "none", cell.text, cell.title
    return f"h{scale.step(cell.level)}" if scale else "plain", cell.text, cell.title


def legend(scale: ColourScale, show: Callable[[float], str]) -> list[tuple[str, str]]:
    """The classes in their order, each with its lower limit."""
    return [(f"h{n}", show(edge)) for n, edge in enumerate(scale.edges())]
