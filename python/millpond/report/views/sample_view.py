# SPDX-License-Identifier: BSL-1.0
"""The figures of a sampled trace: each estimate with its 95 % interval."""

from __future__ import annotations

from collections.abc import Callable

from millpond.report.views.model import Row, Table, TableCell, name, several, table
from millpond.rounds.characterisation import RecordedTrace, SampledIntervals, Subsystem
from millpond.statistics.difference_interval import Ends
from millpond.system.wording import bytes_text, count_text, plural, seconds_text, within_text

_FIGURES: tuple[tuple[str, Callable[[float | None], str]], ...] = (
    ("events", count_text), ("bytes", bytes_text), ("peak_live_bytes", bytes_text), ("end_live_bytes", bytes_text),
)  # fmt: skip


def sample_warnings(trace: RecordedTrace) -> tuple[str, ...]:
    """Says that a trace is a sample, and how good its totals are; nothing for a trace with every event."""
    found = trace.intervals
    if found is None or trace.sample_bytes is None:
        return ()
    return (
        f"a sample: one byte in {trace.sample_bytes} was chosen, and {plural(trace.sampled_objects or 0, 'block')} "
        f"recorded; all figures are estimates, with 95 % intervals: {within_text(found.events, count_text)} events, "
        f"{within_text(found.bytes, bytes_text)} allocated, {within_text(found.peak_live_bytes, bytes_text)} live at "
        "the peak",
    )


def sample_note(trace: RecordedTrace) -> str:
    """Returns the limits of the estimates of a sampled trace."""
    return (
        "A peak is the highest estimate of live bytes, and tends to be too high. Subsystems that allocate less than "
        f"{bytes_text(3.7 * (trace.sample_bytes or 0))} may be missing. D, V, L, U, C, legality, pages, phases and "
        "plans need every event: record without --sample."
    )


def estimated_subsystems(subsystems: tuple[Subsystem, ...], most: int) -> Table:
    """Returns the subsystems of a sampled trace; the second line of a cell is the interval."""
    rows: list[Row] = [(name(s.label), *_cells(s)) for s in subsystems[:most]]
    caption = several(subsystems, most, "subsystems, all smaller")
    headings = ("subsystem", ">events", ">bytes", ">peak live", ">live at the end", ">median lifetime", ">sampled")
    return table(headings, rows, caption=caption, title="Subsystems, estimated")


def _cells(s: Subsystem) -> list[TableCell]:
    ends = s.intervals or SampledIntervals()
    cells = [_cell(getattr(s, figure), getattr(ends, figure), show) for figure, show in _FIGURES]
    lifetimes = s.lifetimes
    median = lifetimes.intervals.p50 if lifetimes and lifetimes.intervals else None
    cells.append(_cell(lifetimes.p50 if lifetimes else None, median, seconds_text))
    return [*cells, TableCell(count_text(s.sampled_objects), value=s.sampled_objects)]


def _cell(value: float | None, ends: Ends | None, show: Callable[[float | None], str]) -> TableCell:
    return TableCell(show(value), note=within_text(ends, show), value=value)
