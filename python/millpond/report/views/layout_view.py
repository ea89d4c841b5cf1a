# SPDX-License-Identifier: BSL-1.0
"""Compares layouts of one recording: the misses of each cache as recorded, and on other allocators.

                                   recorded    first_fit       jemalloc
48 KiB, 12 ways, lines of 64         412 033    451 200 +9.5 %  398 001 -3.4 %
"""

from __future__ import annotations

from millpond.report.cache_counts import cache_counts
from millpond.report.figures.figure_html import size_text
from millpond.report.simulation_curves import MissCurve, fault_curve
from millpond.report.views.model import ReportSection, Words, several, table
from millpond.rounds.characterisation import partial_reasons
from millpond.rounds.simulation_data import LayoutComparison, Simulation
from millpond.system.wording import count_text

# Sizes of memory, as shares of the memory that the recorded run touches.
_MEMORY_SHARES = (0.25, 0.5, 0.75)
_ROWS_AT_MOST = 40
# The share of references without a place from which a warning is printed.
_UNPLACED_SHARE = 0.01


def layout_section(comparison: LayoutComparison) -> ReportSection:
    """Returns a row for each cache and size of memory, a column for each layout."""
    rows = layout_rows([each.simulation for each in comparison.layouts])
    found = table(
        ("", *(f">{each.name}" for each in comparison.layouts)),
        [(name, *(_cell(value, values[0]) for value in values)) for name, values in rows[:_ROWS_AT_MOST]],
        caption=several(rows, _ROWS_AT_MOST, "rows"),
    )
    whole = comparison.layouts[0].simulation
    recorded = whole.input
    said = [f"simulated: {'; '.join(one.description for one in whole.simulators)}"]
    said += [*partial_reasons(recorded.partial, recorded.damages)]
    for each in comparison.layouts:
        moved = each.simulation.input.layout
        if moved is not None and moved.unplaced_references > _UNPLACED_SHARE * each.simulation.input.references:
            said.append(
                f"{each.name}: {count_text(moved.unplaced_references)} references are to memory outside the heap, "
                "modules and stacks; the layout gives it its own place"
            )
    return ReportSection("misses by layout", (found, *map(Words, said)))


def layout_rows(simulations: list[Simulation]) -> list[tuple[str, list[int | None]]]:
    """Returns instructions and references, the misses of the simulated caches, and page faults by memory size."""
    rows: list[tuple[str, list[int | None]]] = [
        ("instructions", [one.input.instructions for one in simulations]),
        ("references", [one.input.references for one in simulations]),
    ]
    counts = [cache_counts(one) for one in simulations]
    rows += [(name, [of_one.get(name) for of_one in counts]) for name in counts[0]]
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
