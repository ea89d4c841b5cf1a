# SPDX-License-Identifier: BSL-1.0
"""The page of `millpond trace simulate -o FILE.html`: curves of misses and page faults, tables, times.

    traces ──▶ one figure of miss rates, one of page faults      every trace in both; the legend hides some
           └─▶ for each trace: observations, exact misses by size and organisation, faults, times

One offline file: no network, no script but its own, colours by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.report.cache_counts import asked_organisations
from millpond.report.figures.figure_html import html_of, share_text, size_text
from millpond.report.figures.offline_page import load
from millpond.report.figures.specification import INK, Axis, Curves, Series
from millpond.report.simulation_curves import (
    DIRECT,
    FULLY,
    MissCurve,
    fault_curve,
    miss_curves,
    observations,
    organisation,
    table_sizes,
)
from millpond.rounds.characterisation import partial_reasons
from millpond.rounds.simulation_data import Count, LevelTime, Simulation, Simulator
from millpond.system.machine import this_machine
from millpond.system.wording import count_text

_HEIGHT = 380  # pixels of a figure
_DASHES = {DIRECT: 0, "2 ways": 1, FULLY: 2, "8 ways": 3}
# The curves that are visible at first, with those that were asked for: more would hide one another.
_AT_FIRST = {DIRECT, "2 ways", "8 ways", FULLY}
_NO_CURVES = ("levels", "tlb", "attributed", "contents", "sampled")
_ROWS_AT_MOST = 80


@dataclass(frozen=True)
class ExactTable:
    """Rows of (heading, cells); a cell is (value, small print)."""

    heading: str
    columns: list[str]
    rows: list[tuple[str, list[tuple[str, str]]]]


@dataclass(frozen=True)
class TraceSection:
    """The part of one trace in the template."""

    anchor: str
    name: str
    facts: str
    observations: list[str]
    tables: list[ExactTable]
    times: list[LevelTime]


def render(traces: Sequence[tuple[str, Simulation]]) -> str:
    """Returns the page of these traces, by name."""
    page = load("report.js", "report.css", "simulation.css")
    return page.render(
        "simulation.html.j2",
        title=f"Millpond: misses of {', '.join(name for name, _ in traces)}",
        machine=str(this_machine()),
        # The exact tables of each trace follow.
        figures=[html_of(figure, table=False) for figure in (_misses(traces), _faults(traces)) if figure],
        sections=[_section(number, name, one) for number, (name, one) in enumerate(traces)],
        size_text=size_text,
    )


def names_of(paths: Sequence[str]) -> list[str]:
    """Returns the names of traces: a file's name, with as much of its path as distinguishes it; numbered if equal."""
    names = [Path(path).name or path for path in paths]
    if len(set(names)) < len(names):
        names = list(paths)
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def _misses(traces: Sequence[tuple[str, Simulation]]) -> Curves | None:
    """Returns the figure of misses: a colour for each organisation, or for each trace if there are several."""
    found = [(group, name, curve) for group, (name, one) in enumerate(traces) for curve in miss_curves(one) if curve.of]
    lines = {curve.line_bytes for _, _, curve in found}
    kinds = [label for _, label in sorted({(curve.rank, _label(curve, lines)) for _, _, curve in found})]
    alone = len(traces) == 1
    visible = _AT_FIRST.union(*(asked_organisations(one) for _, one in traces))
    series = []
    for group, name, curve in found:
        label = _label(curve, lines)
        kind = kinds.index(label)
        whole = curve.organisation == FULLY
        series.append(
            Series(
                name=label if alone else f"{name}, {label}", points=curve.points, of=curve.of,
                group="" if alone else name, kind="" if alone else label,
                colour=INK if alone and whole else kind if alone else group,
                dash=0 if alone else _DASHES.get(curve.organisation, 4 + kind % 2),
                has_dots=not whole, shown=curve.organisation in visible,
            )
        )  # fmt: skip
    if not series:
        return None
    return Curves(
        title="Misses by cache size, of all references", x=Axis(name="cache size", unit="size", log=True),
        y=Axis(name="misses", unit="share", log=True), series=series, of_what="references", height=_HEIGHT,
    )  # fmt: skip


def _faults(traces: Sequence[tuple[str, Simulation]]) -> Curves | None:
    curves = [(group, name, fault_curve(one)) for group, (name, one) in enumerate(traces)]
    series = [
        Series(name=name, points=curve.points, colour=group) for group, name, curve in curves if curve and curve.points
    ]
    if not series:
        return None
    return Curves(
        title="Page faults by memory size, including first touches", x=Axis(name="memory size", unit="size", log=True),
        y=Axis(name="page faults", unit="count", log=True), series=series, height=_HEIGHT,
    )  # fmt: skip


def _label(curve: MissCurve, lines: set[int]) -> str:
    return curve.organisation + (f", lines of {curve.line_bytes} B" if len(lines) > 1 else "")


def _section(number: int, name: str, one: Simulation) -> TraceSection:
    given, rules = one.input, one.rules
    facts = [
        f"simulated: {'; '.join(simulator.description for simulator in one.simulators)}",
        f"{_number(given.references)} references ({_number(given.loads)} loads, {_number(given.stores)} stores, "
        f"{_number(given.modifications)} modifications)",
        f"{_number(given.instructions)} instructions" if given.instructions else "no instructions in the input",
        f"an access to two lines counts {rules.straddling_access}, a modification {rules.modification}",
    ]
    if rules.flush_references or rules.flush_instructions:
        facts.append("with flushes")
    if given.bursts is not None:
        left_out = _number(given.instructions_not_captured or 0)
        facts.append(f"a sample of {_number(given.bursts)} bursts; {left_out} instructions were not captured")
    facts += partial_reasons(given.partial, given.damages)
    found = (
        _miss_table(one),
        _whole_table(one),
        _fault_table(one),
        _time_table(one),
        *map(_counts_table, one.simulators),
    )
    tables = [table for table in found if table]
    return TraceSection(f"trace-{number}", name, " · ".join(facts), observations(one), tables, list(one.level_times))


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _miss_table(one: Simulation) -> ExactTable | None:
    curves = [curve for curve in miss_curves(one) if curve.of]
    if not curves:
        return None
    lines = {curve.line_bytes for curve in curves}
    rows = []
    for size in table_sizes(curves)[:_ROWS_AT_MOST]:
        cells = []
        for curve in curves:
            misses = curve.at(size)
            cells.append(("–", "") if misses is None else (_number(misses), share_text(misses / curve.of)))
        rows.append((size_text(size), cells))
    return ExactTable("Misses", ["cache", *(_label(curve, lines) for curve in curves)], rows)


def _whole_table(one: Simulation) -> ExactTable | None:
    """Returns the misses of the whole run, estimated from a sample. All other figures count only the bursts."""
    found = [(simulator.kind, row, row.whole) for simulator in one.simulators for row in simulator.metrics
             if row.whole is not None]  # fmt: skip
    if not found:
        return None
    rows = []
    for kind, row, whole in found[:_ROWS_AT_MOST]:
        name = ", ".join(filter(None, (_about(row), "" if row.ways is None else organisation(kind, row.ways))))
        interval = f"{_number(whole.low)} to {_number(whole.high)} ({whole.level:.0%})"
        cells = [(_number(row.value), ""), (_number(whole.value), interval), (_number(whole.with_empty_caches), "")]
        rows.append((name, cells))
    columns = ["cache", "in the bursts", "in the whole run", "with empty caches at each burst"]
    return ExactTable("Misses of the whole run, estimated from the bursts", columns, rows)


def _fault_table(one: Simulation) -> ExactTable | None:
    curve = fault_curve(one)
    if curve is None:
        return None
    sizes = sorted({*table_sizes([curve]), curve.points[-1][0]})[:_ROWS_AT_MOST]
    cells = [(size_text(size), [(_number(curve.at(size) or 0), "")]) for size in sizes]
    return ExactTable("Page faults", ["memory", f"faults, pages of {size_text(curve.line_bytes)}"], cells)


def _counts_table(simulator: Simulator) -> ExactTable | None:
    """Returns all counts of a simulator without a curve: levels, translation buffers, misses by origin and subject."""
    if simulator.kind not in _NO_CURVES:
        return None
    rows = [(f"{row.metric} {_about(row)}", [(_number(row.value), row.unit)]) for row in simulator.metrics]
    return ExactTable(simulator.description, ["what", "count"], rows[:_ROWS_AT_MOST])


def _about(row: Count) -> str:
    """Returns the subject of a count, in words."""
    words = [] if row.level is None else [f"of level {row.level}"]
    words += [f"of {size_text(row.cache_bytes)}"] if row.cache_bytes else []
    words += [f"by the {row.origin}"] if row.origin else []
    words += [f"subject {row.subject}"] if row.subject is not None else []
    return ", ".join(words)


def _time_table(one: Simulation) -> ExactTable | None:
    """Returns the cycles of each single cache by penalty."""
    asked = asked_organisations(one) | {DIRECT}
    times = [time for simulator in one.simulators for time in simulator.time
             if simulator.kind in ("direct", "lru") and time.cache_bytes
             and organisation("lru", time.ways or 1) in asked]  # fmt: skip
    penalties = sorted({time.miss_penalty_cycles for time in times})
    caches = sorted({(time.ways or 0, time.cache_bytes or 0) for time in times})
    if not caches:
        return None
    at = {(t.ways, t.cache_bytes, t.miss_penalty_cycles): t.value for t in times}
    rows = []
    for ways, size in caches:
        cells = []
        for penalty in penalties:
            cycles = at.get((ways, size, penalty))
            each = "" if cycles is None else f"{cycles / one.input.instructions:.3f} an instruction"
            cells.append(("–" if cycles is None else count_text(cycles), each))
        rows.append((f"{size_text(size)}, {organisation('lru', ways)}", cells))
    heading = "Cycles, I + (M × P) × D, if a miss costs P and nothing overlaps"
    return ExactTable(heading, ["cache", *(f"P = {penalty:g}" for penalty in penalties)], rows[:_ROWS_AT_MOST])
