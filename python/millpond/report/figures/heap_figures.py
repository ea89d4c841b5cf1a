# SPDX-License-Identifier: BSL-1.0
"""Draws the heap over time: the places of each subsystem's objects, and the survivors that keep dead pages.

high ┌──────────────────────┐   a cell is a range of addresses at a moment; its colour is the subsystem with most
     │ ▓▓▓▓▓▓▓▓▓░░░░░░░░░░░ │   of the touched pages there, its strength the share that only it uses
low  │ ████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ │   neighbours in time that look the same are one box
     └──────────────────────┘
     start               end
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from millpond.report.figures import flat_figures
from millpond.rounds.characterisation import AddressMap, AddressRow, Moment
from millpond.system.wording import bytes_text, seconds_text

COLOURS = 8
LETTERS = "ABCDEFGH"
_REST = "·"
_ROW_PIXELS_AT_MOST = 8.0
_MAP_PIXELS = 320.0
_GAP_PIXELS = 2.0
_TWIN_MOMENTS = 6
_STRENGTHS = (0.4, 0.6, 0.85)
Cell = tuple[int, float, float]  # subsystem, share, fill


@dataclass(frozen=True)
class HeatMap:
    """The figure, its legend [(letter, class, name, share of the cells)], and the same data as a table."""

    svg: Markup
    legend: list[tuple[str, str, str, float]]
    moments: list[str]
    rows: list[tuple[str, str, list[str]]]
    gaps: int


def heat_map(data: AddressMap, names: Sequence[str]) -> HeatMap | None:
    """Draws a characterisation's heat map; None without cells. O(cells)."""
    rows, columns = data.rows, data.columns
    grid: dict[tuple[int, int], Cell] = {}
    for row, column, subsystem, share, fill in data.cells:
        old = grid.get((row, column))
        if old is None or share > old[1]:
            grid[row, column] = (subsystem, share, fill)
    if not grid or not rows or not columns:
        return None
    area = Counter(subsystem for subsystem, _, _ in grid.values())
    ranked = [s for s, _ in area.most_common(COLOURS)]
    colour = {subsystem: place for place, subsystem in enumerate(ranked)}
    whole = sum(area.values()) or 1
    legend = [(LETTERS[i], f"c{i}", _name(names, s), area[s] / whole) for i, s in enumerate(ranked)]
    if len(area) > len(ranked):
        others = f"{len(area) - len(ranked)} others"
        legend.append((_REST, "rest", others, sum(area[s] for s in area if s not in colour) / whole))
    moments = sorted({round(i * (len(columns) - 1) / (_TWIN_MOMENTS - 1)) for i in range(_TWIN_MOMENTS)})
    twin = [
        (f"+{bytes_text(row.offset_bytes)}", bytes_text(row.bytes),
         [_twin_cell(grid.get((i, m)), colour) for m in moments])
        for i, row in reversed(list(enumerate(rows)))
    ]  # fmt: skip
    return HeatMap(
        _draw(rows, columns, grid, colour, names), legend,
        [seconds_text(columns[m].time_seconds) for m in moments], twin, sum(bool(r.gap_bytes) for r in rows),
    )  # fmt: skip


def _name(names: Sequence[str], subsystem: int) -> str:
    return names[subsystem] if 0 <= subsystem < len(names) else f"subsystem {subsystem}"


def _twin_cell(cell: Cell | None, colour: dict[int, int]) -> str:
    if cell is None:
        return ""
    letter = LETTERS[colour[cell[0]]] if cell[0] in colour else _REST
    return f"{letter} {100 * cell[1]:.0f}"


def _draw(
    rows: Sequence[AddressRow],
    columns: Sequence[Moment],
    grid: dict[tuple[int, int], Cell],
    colour: dict[int, int],
    names: Sequence[str],
) -> Markup:
    tall = min(_ROW_PIXELS_AT_MOST, _MAP_PIXELS / len(rows))
    marks = []
    y = 4.0
    for i in range(len(rows) - 1, -1, -1):
        for begin, end, level in _runs(i, len(columns), grid):
            cells = [grid[i, c] for c in range(begin, end)]
            subsystem = cells[0][0]
            kind = f"c{colour[subsystem]}" if subsystem in colour else "rest"
            marks.append(
                flat_figures.rectangle(
                    f"{kind} f{level}", begin / len(columns), y, (end - begin) / len(columns), tall,
                    _title(rows[i], columns[begin : end], cells, _name(names, subsystem)),
                )
            )  # fmt: skip
        y += tall
        if rows[i].gap_bytes:
            marks.append(flat_figures.across_line(y + _GAP_PIXELS / 2, "gap"))
            y += _GAP_PIXELS
    marks.append(flat_figures.across_line(y + 1, "axis"))
    times = [columns[0].time_seconds, columns[-1].time_seconds]
    labels = [seconds_text(times[0]), seconds_text((times[0] + times[1]) / 2), seconds_text(times[1])]
    marks += flat_figures.edge_labels(labels, y + 16)
    return flat_figures.figure(int(y + 20), flat_figures.joined(marks), "places of each subsystem's objects over time")


def _runs(row: int, columns: int, grid: dict[tuple[int, int], Cell]) -> list[tuple[int, int, int]]:
    """Returns neighbours in time with one subsystem and strength: (first column, column after the last,
    strength 1-4).
    """
    found: list[tuple[int, int, int]] = []
    key: tuple[int, int] | None = None
    for column in range(columns):
        cell = grid.get((row, column))
        here = (cell[0], _strength(cell[1])) if cell else None
        if here is not None and here == key:
            found[-1] = (found[-1][0], column + 1, here[1])
        elif here is not None:
            found.append((column, column + 1, here[1]))
        key = here
    return found


def _strength(share: float) -> int:
    """Returns 1 (many subsystems share the pages) to 4 (one subsystem has nearly all)."""
    return 1 + sum(share >= limit for limit in _STRENGTHS)


def _title(row: AddressRow, columns: Sequence[Moment], cells: list[Cell], name: str) -> str:
    first, last = columns[0].time_seconds, columns[-1].time_seconds
    when = seconds_text(first) + (f" to {seconds_text(last)}" if len(columns) > 1 else "")
    where = f"{bytes_text(row.bytes)} at +{bytes_text(row.offset_bytes)}"
    return f"{when}, {where}: {name}, {_range([c[1] for c in cells])} of the touched pages, " + (
        f"{_range([c[2] for c in cells])} of the pages touched"
    )


def _range(values: list[float]) -> str:
    low, high = f"{100 * min(values):.0f}", f"{100 * max(values):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"
