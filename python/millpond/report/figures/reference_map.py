# SPDX-License-Identifier: BSL-1.0
"""Draws references by address and time, with their misses.

high ┌──────────────────────┐   a cell is a range of addresses during a stretch of instructions; its colour is the kind
     │ ▓▓  ▒▒▒▒   ░░        │   of place with most references of the row, its strength the number of misses
low  │ ████████████▒▒▒▒▒▒▒▒ │   neighbours in time that look the same are one box; unused ranges are left out
     └──────────────────────┘
     start               end
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from millpond.report.figures import flat_figures
from millpond.rounds.characterisation import ReferenceMap, ReferenceRow
from millpond.system.wording import bytes_text, count_text

_COLOURS = {"heap": "c0", "stack": "c2", "global": "c1", "allocator": "c5", "system": "c6"}
_ROW_PIXELS_AT_MOST, _ROW_PIXELS_MIN = 10.0, 4.0
_MAP_PIXELS = 320.0
_GAP_PIXELS = 2.0
_LEVELS = 4
Counts = tuple[int, int]  # references, misses


@dataclass(frozen=True)
class DrawnMap:
    """The figure, its legend (class, place), and each row as numbers: address, bytes, place, references, misses."""

    svg: Markup
    legend: list[tuple[str, str]]
    rows: list[tuple[str, str, str, str, str]]
    gaps: int


def reference_map(data: ReferenceMap) -> DrawnMap | None:
    """Draws the map; None if nothing was referenced. O(cells)."""
    if not data.rows or not data.cells or not data.columns:
        return None
    grid: dict[int, dict[int, Counts]] = {}
    for place, column, references, misses in data.cells:
        grid.setdefault(place, {})[column] = (references, misses)
    most = max((misses for *_, misses in data.cells), default=0)
    tall = min(_ROW_PIXELS_AT_MOST, max(_ROW_PIXELS_MIN, _MAP_PIXELS / len(data.rows)))
    marks: list[Markup] = []
    y = 4.0
    for number in range(len(data.rows) - 1, -1, -1):
        row = data.rows[number]
        for begin, end, level in _runs(grid.get(number, {}), data.columns, most):
            cells = [grid[number][column] for column in range(begin, end)]
            kind = f"{_colour(row)} f{level}" if level < _LEVELS else _colour(row)
            marks.append(
                flat_figures.rectangle(
                    kind, begin / data.columns, y, (end - begin) / data.columns, tall,
                    _title(row, begin, end, cells, data.column_instructions),
                )
            )  # fmt: skip
        y += tall
        if row.gap_bytes:
            marks.append(flat_figures.across_line(y + _GAP_PIXELS / 2, "gap"))
            y += _GAP_PIXELS
    marks.append(flat_figures.across_line(y + 1, "axis"))
    whole = data.columns * data.column_instructions
    words = [f"{count_text(part)} instructions" if part else "start" for part in (0, whole / 2, whole)]
    marks += flat_figures.edge_labels(words, y + 16)
    svg = flat_figures.figure(int(y + 20), flat_figures.joined(marks), "references and misses by address and time")
    places = dict.fromkeys(row.place for row in reversed(data.rows))
    return DrawnMap(
        svg, [(_COLOURS.get(place, "rest"), place) for place in places],
        [_numbers(row, grid.get(n, {})) for n, row in reversed(list(enumerate(data.rows)))],
        sum(bool(row.gap_bytes) for row in data.rows),
    )  # fmt: skip


def _colour(row: ReferenceRow) -> str:
    return _COLOURS.get(row.place, "rest")


def _level(misses: int, most: int) -> int:
    """Returns 0 (no misses) to 4, on a logarithmic scale, because misses of cells differ by decades."""
    return 0 if not misses else max(1, math.ceil(_LEVELS * math.log(1 + misses) / math.log(1 + most)))


def _runs(row: dict[int, Counts], columns: int, most: int) -> list[tuple[int, int, int]]:
    """Returns neighbours in time with one strength: (first column, column after the last, strength)."""
    found: list[tuple[int, int, int]] = []
    for column in range(columns):
        if column not in row:
            continue
        level = _level(row[column][1], most)
        if found and found[-1][1:] == (column, level):
            found[-1] = (found[-1][0], column + 1, level)
        else:
            found.append((column, column + 1, level))
    return found


def _title(row: ReferenceRow, begin: int, end: int, cells: list[Counts], column_instructions: int) -> str:
    references, misses = (sum(cell[i] for cell in cells) for i in (0, 1))
    when = f"{count_text(begin * column_instructions)} to {count_text(end * column_instructions)} instructions"
    return (
        f"{when}, {bytes_text(row.bytes)} at {row.first:#x} ({row.place}): {count_text(references)} references, "
        f"{count_text(misses)} misses"
    )


def _numbers(row: ReferenceRow, cells: dict[int, Counts]) -> tuple[str, str, str, str, str]:
    references, misses = (sum(cell[i] for cell in cells.values()) for i in (0, 1))
    return f"{row.first:#x}", bytes_text(row.bytes), row.place, count_text(references), count_text(misses)
