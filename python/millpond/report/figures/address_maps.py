# SPDX-License-Identifier: BSL-1.0
"""Maps of addresses over time: the places of each subsystem's objects; and references with their misses.

high ┌──────────────────────┐   a cell is a range of addresses at a moment; its colour is the subsystem with most of
     │ ▓▓▓▓▓▓▓▓▓░░░░░░░░░░░ │   the touched pages there, or the kind of place; its strength is that subsystem's share,
low  │ ████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ │   or the number of misses
     └──────────────────────┘
     start               end    neighbours in time that have the same values are one cell
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from millpond.report.figures.specification import COLOURS, REST, Axis, Cell, HeatMap
from millpond.rounds.characterisation import AddressMap, ReferenceMap
from millpond.system.wording import bytes_text, count_text, seconds_text

_PLACE_COLOURS = {"heap": 0, "stack": 2, "global": 1, "allocator": 5, "system": 6}
_ROW_PIXELS, _PIXELS_AT_MOST, _MARGIN_PIXELS = 9, 360, 44
_STEPS = 50  # of a share: 2 %, which no eye tells apart


def heap_over_time(data: AddressMap, names: Sequence[str]) -> HeatMap | None:
    """The places of each subsystem's objects; None without cells. O(cells)."""
    best: dict[tuple[int, int], tuple[int, float, float]] = {}
    for row, column, subsystem, share, fill in data.cells:
        old = best.get((row, column))
        if old is None or share > old[1]:
            best[row, column] = (subsystem, share, fill)
    if not best or not data.rows or not data.columns:
        return None
    area = Counter(subsystem for subsystem, _, _ in best.values())
    ranked = [subsystem for subsystem, _ in area.most_common(COLOURS)]
    kind_of = {subsystem: number for number, subsystem in enumerate(ranked)}
    kinds = [(_name(names, subsystem), number) for number, subsystem in enumerate(ranked)]
    if len(area) > len(ranked):
        kinds.append((f"{len(area) - len(ranked)} others", REST))
    cells = (
        Cell(column, row, _rounded(share), kind_of.get(subsystem, COLOURS), 1, _rounded(fill))
        for (row, column), (subsystem, share, fill) in sorted(best.items())
    )
    gaps = [row for row, one in enumerate(data.rows) if one.gap_bytes]
    return HeatMap(
        title="The heap over time", height=_height(len(data.rows)), gaps=gaps, kinds=kinds, cells=_joined(cells),
        caption="Counted: addresses against time. A cell has the colour of the subsystem with most of its touched "
        f"pages; a paler one shares more of them with others.{_gap_words(len(gaps))}",
        x=Axis(name="time", names=[seconds_text(moment.time_seconds) for moment in data.columns]),
        y=Axis(name="offset", names=[f"+{bytes_text(row.offset_bytes)}" for row in data.rows]),
        value=Axis(name="share of the touched pages", unit="share"), more=Axis(name="touched", unit="share"),
    )  # fmt: skip


def references_over_time(data: ReferenceMap, place_name: Callable[[str], str] = str) -> HeatMap | None:
    """References by address and time, with their misses; None if nothing was referenced. O(cells)."""
    if not data.rows or not data.cells or not data.columns:
        return None
    places = list(dict.fromkeys(row.place for row in reversed(data.rows)))
    cells = (
        Cell(column, row, misses, places.index(data.rows[row].place), 1, references)
        for row, column, references, misses in sorted(data.cells)
    )
    gaps = [row for row, one in enumerate(data.rows) if one.gap_bytes]
    moments = [count_text(column * data.column_instructions) for column in range(data.columns)]
    return HeatMap(
        title="Addresses over time, and their misses", height=_height(len(data.rows)), gaps=gaps, cells=list(cells),
        caption="Counted: addresses against instructions. A stronger colour means more misses; the palest cells were "
        f"accessed without any.{_gap_words(len(gaps))}",
        kinds=[(place_name(place), _PLACE_COLOURS.get(place, REST)) for place in places],
        x=Axis(name="instructions", names=moments),
        y=Axis(name="from", names=[f"{row.first:#x}" for row in data.rows]),
        value=Axis(name="misses", unit="count"), more=Axis(name="references", unit="count"),
    )  # fmt: skip


def _name(names: Sequence[str], subsystem: int) -> str:
    return names[subsystem] if 0 <= subsystem < len(names) else f"subsystem {subsystem}"


def _rounded(share: float) -> float:
    return round(share * _STEPS) / _STEPS


def _height(rows: int) -> int:
    return min(_PIXELS_AT_MOST, max(_ROW_PIXELS * rows, 60)) + _MARGIN_PIXELS


def _gap_words(gaps: int) -> str:
    words = "range is" if gaps == 1 else "ranges are"
    return f" White lines: {gaps} unused {words} left out." if gaps else ""


def _joined(cells: Iterable[Cell]) -> list[Cell]:
    """Returns the cells, those of a row in order, with neighbours of equal values as one."""
    found: list[Cell] = []
    for cell in cells:
        old = found[-1] if found else None
        if old and (old.y, old.x + old.columns) == (cell.y, cell.x) and _look(old) == _look(cell):
            found[-1] = Cell(old.x, old.y, old.value, old.kind, old.columns + 1, old.more)
        else:
            found.append(cell)
    return found


def _look(cell: Cell) -> tuple[float, int, float | None]:
    return cell.value, cell.kind, cell.more
