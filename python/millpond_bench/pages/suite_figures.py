# SPDX-License-Identifier: BSL-1.0
"""Figures of experiments on suites' programs: curves of quotients over an axis, and the littered heap.

unique_chars   a curve for each contender over the length of a string: relative to std::set, littered / fresh
               64 KiB of the littered heap: a row is a page of 64 lines, dark where blocks are held
"""

from __future__ import annotations

from markupsafe import Markup

from millpond.cells.cell import LITTER, Cell
from millpond.cells.metrics import HEAP_TAKEN
from millpond.report.figures import flat_figures
from millpond.report.figures.log_plot import Curve, log_plot
from millpond.statistics.order_statistics import summarise
from millpond_bench.experiments.quotients import Quotient
from millpond_bench.experiments.result_table import PublishedTable
from millpond_bench.pages.grunwald1993_figures import COLOURS, DASHES, CaptionedFigure
from millpond_bench.tables.heat_tables import STEPS
from millpond_bench.tables.table_model import QuotientTableModel

_A_BILLION = 10**9
_LINE_BYTES, _LINES_OF_A_ROW, _ROW_PIXELS = 64, 64, 12.0


def unique_characters(results: PublishedTable) -> list[CaptionedFigure]:
    """The talk's charts, and its picture of a fragmented heap."""
    quotients = results.experiment.table.layout.quotients
    return [*(one for quotient in quotients for one in _curves(results, quotient)), *heap_pictures(results)]


def _curves(results: PublishedTable, quotient: Quotient) -> list[CaptionedFigure]:
    """A figure for each state of the heap that has such quotients at two lengths or more."""
    look, found = QuotientTableModel(results, quotient), []
    strategies = [name for name in results.experiment.data.strategies if any(name == own for _, own in look.ours)]
    for litter in sorted({int(dict(at)[LITTER]) for at, _ in look.ours}):
        curves, legend = [], []
        for number, name in enumerate(strategies):
            points = sorted(
                (int(dict(at)["length"]), round(_A_BILLION * level))
                for at, own in look.ours
                if own == name and dict(at)[LITTER] == litter and (level := look.our_level((at, own))) is not None
            )
            colour, dash = f"k{number % COLOURS}", DASHES[number // COLOURS % len(DASHES)]
            alias = results.experiment.data.alias(name)
            label = f"{alias} {name}" if alias else name
            if len(points) > 1:
                curves.append(Curve(label, number, 0, colour, dash, points, _A_BILLION))
                legend.append((colour, dash, label))
        heap = results.experiment.table.layout.titles({LITTER: litter})
        caption = f"{heap}: {quotient.title}, in percent, by the length of a string"
        found += [CaptionedFigure(caption, log_plot(curves, caption, shares=True), legend)] if curves else []
    return found


def heap_pictures(results: PublishedTable) -> list[CaptionedFigure]:
    """A piece of each state of the heap, line by line, from the first recorded point of each state.

    O(lines).
    """
    found: dict[str, CaptionedFigure] = {}
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
            found[state] = CaptionedFigure(caption, _grid(lines), [])
    return list(found.values())


def _lines(results: PublishedTable, cell: Cell) -> dict[int, float]:
    """The share of each line that is held, by its number."""
    names = [name for name in results.values.get(cell, {}) if name.startswith(f"{HEAP_TAKEN}:")]
    return {
        int(name.partition(":")[2]) // _LINE_BYTES: summarise(list(results.by_round(cell, name).values())).median
        for name in names
    }


def _grid(lines: dict[int, float]) -> Markup:
    marks = []
    for number, share in sorted(lines.items()):
        row, column = divmod(number, _LINES_OF_A_ROW)
        step = min(STEPS - 1, round(share * (STEPS - 1)))
        title = f"+{number * _LINE_BYTES} bytes: {share:.0%} held"
        marks.append(
            flat_figures.rectangle(f"s{step}", column / _LINES_OF_A_ROW, row * _ROW_PIXELS,
                                   0.94 / _LINES_OF_A_ROW, _ROW_PIXELS - 1, title)
        )  # fmt: skip
    tall = (max(lines) // _LINES_OF_A_ROW + 1) * _ROW_PIXELS
    return flat_figures.figure(int(tall), flat_figures.joined(marks), "a littered heap, line by line")
