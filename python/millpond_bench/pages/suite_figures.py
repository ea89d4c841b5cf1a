# SPDX-License-Identifier: BSL-1.0
"""Figures of experiments on suites' programs: curves of quotients over an axis, and the littered heap.

suballocator   a curve for each allocator over the number of elements, published and here, for each operation
unique_chars   a curve for each contender over the length of a string: relative to std::set, littered / fresh
               64 KiB of the littered heap: a row is a page of 64 lines, dark where blocks are held
"""

from __future__ import annotations

from collections.abc import Iterator

from millpond.cells.cell import LITTER, Cell
from millpond.cells.metrics import HEAP_TAKEN
from millpond.report.figures.specification import COLOURS, Axis, Curves, Figure, HeatCell, HeatMap, Series
from millpond.statistics.order_statistics import summarise
from millpond_bench.experiments.quotients import Quotient
from millpond_bench.experiments.result_table import PlaceTable, PublishedTable, published_table
from millpond_bench.pages.charts import DASH_OF, HERE, PUBLISHED
from millpond_bench.pages.suite_charts import OPERATIONS
from millpond_bench.tables.table_model import QuotientTableModel

_LINE_BYTES, _LINES_OF_A_ROW, _ROW_PIXELS, _MARGIN_PIXELS = 64, 64, 12, 60


def unique_characters(results: PublishedTable) -> list[Figure]:
    """The talk's charts, and its picture of a fragmented heap."""
    quotients = results.experiment.table.layout.quotients
    return [*(one for quotient in quotients for one in _curves(results, quotient)), *heap_pictures(results)]


def _curves(results: PublishedTable, quotient: Quotient) -> list[Figure]:
    """A figure for each state of the heap that has such quotients at two lengths or more."""
    look, found = QuotientTableModel(results, quotient), list[Figure]()
    strategies = [name for name in results.experiment.data.strategies if any(name == own for _, own in look.ours)]
    for litter in sorted({int(dict(at)[LITTER]) for at, _ in look.ours}):
        series = []
        for number, name in enumerate(strategies):
            points = sorted(
                (int(dict(at)["length"]), level)
                for at, own in look.ours
                if own == name and dict(at)[LITTER] == litter and (level := look.our_level((at, own))) is not None
            )
            label = results.experiment.data.alias(name) or name
            if len(points) > 1:
                dash = number // COLOURS % 3
                series.append(Series(name=label, points=points, colour=number % COLOURS, dash=dash, has_dots=True))
        heap = results.experiment.table.layout.titles({LITTER: litter})
        if series:
            title = f"{heap}: {quotient.title}, by the length of a string"
            x, y = Axis(name="length", log=True), Axis(name=quotient.title, unit="share", log=True)
            found.append(Curves(title=title, x=x, y=y, series=series))
    return found


def operations_over_count(results: PublishedTable) -> list[Figure]:
    """The document's graphs of the five operations: the time of one number over their count."""
    found = list[Figure]()
    for heading, metric in OPERATIONS:
        series = []
        for kind, of in ((PUBLISHED, published_table(results.experiment)), (HERE, results.by_place())):
            for number, name in enumerate(results.experiment.data.strategies):
                points = sorted(_times(results, of, name, metric))
                label = results.experiment.data.alias(name) or name
                if points:
                    series.append(
                        Series(name=f"{label}, {kind}", group=label, kind=kind, points=points, has_dots=True,
                               colour=number % COLOURS, dash=DASH_OF[kind] + 2 * (number // COLOURS))
                    )  # fmt: skip
        if len({x for one in series for x, _ in one.points}) > 1 and any(one.kind == HERE for one in series):
            x, y = Axis(name="numbers N", unit="count", log=True), Axis(name="CPU time each", unit="seconds", log=True)
            found.append(Curves(title=f"{heading.capitalize()}, by N", x=x, y=y, series=series))
    return found


def _times(results: PublishedTable, of: PlaceTable, name: str, metric: str) -> Iterator[tuple[float, float]]:
    """The count of each point, and the seconds of one number."""
    for point, strategy in of.values:
        values = list(of.by_round((point, strategy), metric or results.experiment.data.figure.name).values())
        if strategy == name and values:
            count = float(dict(point)["count"])
            yield count, summarise(values).median * (1 / count if metric else 1e-9)


def heap_pictures(results: PublishedTable) -> list[Figure]:
    """A piece of each state of the heap, line by line, from the first recorded point of each state.

    O(lines).
    """
    found: dict[str, Figure] = {}
    for cell in results.cells:
        state = dict(cell.parameters).get(LITTER, "")
        lines = _lines(results, cell)
        if state and lines and state not in found:
            share = sum(lines.values()) / len(lines)
            caption = (
                f"{len(lines) * _LINE_BYTES // 1024} KiB in the middle of the littered heap, {float(state):.0%} of its "
                f"blocks freed at random, before {cell.name}: a box is a line of {_LINE_BYTES} bytes, a row 4 KiB; "
                f"dark is held, {share:.0%} of all bytes"
            )
            found[state] = _grid(lines, caption)
    return list(found.values())


def _lines(results: PublishedTable, cell: Cell) -> dict[int, float]:
    """The share of each line that is held, by its number."""
    names = [name for name in results.values.get(cell, {}) if name.startswith(f"{HEAP_TAKEN}:")]
    return {
        int(name.partition(":")[2]) // _LINE_BYTES: summarise(list(results.by_round(cell, name).values())).median
        for name in names
    }


def _grid(lines: dict[int, float], caption: str) -> HeatMap:
    """A row for each page, the lowest address above."""
    rows = max(lines) // _LINES_OF_A_ROW + 1
    cells = []
    for number, share in sorted(lines.items()):
        row, column = divmod(number, _LINES_OF_A_ROW)
        cells.append(HeatCell(column, rows - 1 - row, share))
    return HeatMap(
        title="A littered heap, line by line", caption=caption, cells=cells, low=0.0, high=1.0,
        x=Axis(name="byte of the page", names=[f"+{_LINE_BYTES * n} B" for n in range(_LINES_OF_A_ROW)]),
        y=Axis(name="page", names=[f"+{4 * row} KiB" for row in reversed(range(rows))]),
        value=Axis(name="held", unit="share"), height=_ROW_PIXELS * rows + _MARGIN_PIXELS,
    )  # fmt: skip
