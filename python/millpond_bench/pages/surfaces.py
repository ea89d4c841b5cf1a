# SPDX-License-Identifier: BSL-1.0
"""A table over two axes as a surface in isometric view, without a library: tiles of SVG, painted from back to front.

      ◇            position of a tile: its row and column; height and colour: the mean of its four corners
   ◇  ◇  ◇         heights and colours are logarithms, on the scale of the flat table next to it
◇  ◇  ◇  ◇  ◇      a tile with an unmeasured corner is left out
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from millpond_bench.tables.heat_tables import ColourScale

_WIDTH, _RISE, _TALL = 640.0, 150.0, 130.0
_MARGIN, _LABELS = 12.0, 52.0
Grid = Sequence[Sequence[float | None]]
Place = tuple[float, float]


@dataclass(frozen=True)
class Axes:
    """The labels of rows (back to front) and columns (left to right)."""

    rows: Sequence[str]
    columns: Sequence[str]


def surface(grid: Grid, axes: Axes, scale: ColourScale, label: str) -> Markup:
    """The picture, its first row at the back; empty where no tile has all four corners. O(cells)."""
    tiles = [
        tile
        for row in range(len(grid) - 1)
        for column in range(len(grid[row]) - 1)
        if (tile := _tile(grid, axes, scale, row, column)) is not None
    ]
    if not tiles:
        return Markup("")
    return Markup(
        '<svg class="figure surface" viewBox="0 0 {:.0f} {:.0f}" width="100%" role="img" aria-label="{}">{}{}</svg>'
    ).format(_WIDTH, _TALL + 2 * _RISE + 2 * _MARGIN + 12, label, Markup("").join(tiles), _names(grid, axes))


def _tile(grid: Grid, axes: Axes, scale: ColourScale, row: int, column: int) -> Markup | None:
    corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
    levels = [grid[r][c] for r, c in corners]
    known = [level for level in levels if level is not None and level > 0.0]
    if len(known) < len(levels):
        return None
    places = [_place(grid, r, c, _height(level, scale)) for (r, c), level in zip(corners, known, strict=True)]
    mean = math.exp(sum(map(math.log, known)) / len(known))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    title = (
        f"{axes.rows[row]} to {axes.rows[row + 1]}, {axes.columns[column]} to {axes.columns[column + 1]}: {mean:.2f}"
    )
    return Markup('<polygon class="s{}" points="{}"><title>{}</title></polygon>').format(
        scale.step(mean), points, title
    )


def _height(level: float, scale: ColourScale) -> float:
    share = math.log(max(level, scale.low) / scale.low) / math.log(scale.high / scale.low)
    return _TALL * min(1.0, share)


def _place(grid: Grid, row: float, column: float, height: float) -> Place:
    """Rows run from the back to the lower left, columns from the back to the lower right."""
    down, across = row / max(1, len(grid) - 1), column / max(1, len(grid[0]) - 1)
    half = _WIDTH / 2 - _MARGIN - _LABELS
    return _WIDTH / 2 + (across - down) * half, _MARGIN + _TALL + (across + down) * _RISE - height


def _names(grid: Grid, axes: Axes) -> Markup:
    """The labels of the first, a middle and the last row and column, along the two front edges."""
    last_row, last_column = len(grid) - 1, len(grid[0]) - 1
    marks = []
    for row in sorted({0, last_row // 2, last_row}):
        x, y = _place(grid, row, last_column, 0.0)
        marks.append(_text(x + 8, y + 8, axes.rows[row], "start"))
    for column in sorted({0, last_column // 2, last_column}):
        x, y = _place(grid, last_row, column, 0.0)
        marks.append(_text(x - 8, y + 8, axes.columns[column], "end"))
    return Markup("").join(marks)


def _text(x: float, y: float, words: str, anchor: str) -> Markup:
    return Markup('<text x="{:.0f}" y="{:.0f}" text-anchor="{}">{}</text>').format(x, y, anchor, words)
