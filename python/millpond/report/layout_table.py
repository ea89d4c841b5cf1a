# SPDX-License-Identifier: BSL-1.0
"""Prints layouts of one recording: the misses of each cache as recorded, and on other allocators.

                       recorded    first_fit       jemalloc
64 KiB, direct-mapped    412 033    451 200 +9.5 %  398 001 -3.4 %
"""

from __future__ import annotations

import sys

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from millpond.report.figures.figure_html import size_text
from millpond.report.simulation_curves import DIRECT, MissCurve, fault_curve, miss_curves
from millpond.report.terminal import console
from millpond.rounds.characterisation import partial_reasons
from millpond.rounds.simulation_data import LayoutComparison, Simulation
from millpond.system.wording import count_text

# Sizes of memory, as shares of the memory that the recorded run touches.
_MEMORY_SHARES = (0.25, 0.5, 0.75)
_ORGANISATIONS = (DIRECT, "8 ways")
_SMALLEST, _LARGEST = 16 << 10, 4 << 20  # bytes of a cache
_ROWS_AT_MOST = 40
# The share of references without a place from which a warning is printed.
_UNPLACED_SHARE = 0.01


def print_layouts(comparison: LayoutComparison) -> None:
    """Prints a line for each cache and size of memory, a column for each layout."""
    table = Table(box=SIMPLE_HEAD, title="misses by layout", title_justify="left", title_style="bold")
    table.add_column("")
    for each in comparison.layouts:
        table.add_column(each.name, justify="right")
    rows = layout_rows([each.simulation for each in comparison.layouts])
    for name, values in rows[:_ROWS_AT_MOST]:
        table.add_row(name, *(_cell(value, values[0]) for value in values))
    shown_on = console(sys.stdout)
    shown_on.print(table)
    if len(rows) > _ROWS_AT_MOST:
        shown_on.print(Text(f"{len(rows) - _ROWS_AT_MOST} more rows: --json has them all"))
    recorded = comparison.layouts[0].simulation.input
    for why in partial_reasons(recorded.partial, recorded.damages):
        shown_on.print(Text(why))
    for each in comparison.layouts:
        moved = each.simulation.input.layout
        if moved is not None and moved.unplaced_references > _UNPLACED_SHARE * each.simulation.input.references:
            shown_on.print(
                Text(
                    f"{each.name}: {count_text(moved.unplaced_references)} references are to memory outside the "
                    "heap, modules and stacks; the layout gives it its own place"
                )
            )


def layout_rows(simulations: list[Simulation]) -> list[tuple[str, list[int | None]]]:
    """Returns instructions and references, misses of the most usual caches, and page faults by memory size."""
    rows: list[tuple[str, list[int | None]]] = [
        ("instructions", [one.input.instructions for one in simulations]),
        ("references", [one.input.references for one in simulations]),
    ]
    curves = [{(c.organisation, c.line_bytes): c for c in miss_curves(one)} for one in simulations]
    shown = [curve for curve in curves[0].values() if curve.organisation in _ORGANISATIONS] or list(curves[0].values())
    for curve in shown:
        for size, _ in curve.points:
            if size & (size - 1) or not _SMALLEST <= size <= _LARGEST:
                continue
            found = [of_one.get((curve.organisation, curve.line_bytes)) for of_one in curves]
            values = [None if one is None else one.at(size) for one in found]
            rows.append((f"{size_text(size)}, {curve.organisation}, lines of {curve.line_bytes}", values))
    recorded = fault_curve(simulations[0])
    if recorded is not None and recorded.points:
        page, most = recorded.line_bytes, recorded.points[-1][0]
        memories = [int(most * share) // page * page for share in _MEMORY_SHARES]
        faults = [fault_curve(one, memories) for one in simulations]
        for memory in memories:
            rows.append((f"page faults, memory of {size_text(memory)}", [_at(one, memory) for one in faults]))
    return rows


def _at(curve: MissCurve | None, memory: int) -> int | None:
    """Returns the faults at a named size of memory; a size beyond the largest counts as the largest."""
    if curve is None or not curve.points:
        return None
    return curve.at(min(memory, curve.points[-1][0]))


def _cell(value: int | None, recorded: int | None) -> str:
    if value is None:
        return "–"
    if value is recorded or not recorded:
        return count_text(value)
    return f"{count_text(value)} {100.0 * (value / recorded - 1):+.1f} %"
