# SPDX-License-Identifier: BSL-1.0
"""A merged characterisation as sections: for each build its subsystems, and the processes that lie far outside.

Fleet ──fleet_section──▶ ReportSection at a level of detail ──▶ page, Markdown
      └─answer_section─▶ the most detailed one that fits into the lines of a terminal
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from millpond.report.figures.specification import Axis, IntervalRow, Intervals
from millpond.report.views.model import Bullets, Part, ReportSection, Row, Table, TableCell, Words, name, section, table
from millpond.report.views.short_text import short_path
from millpond.report.views.subsystem_view import letters_words
from millpond.rounds.fleet_data import Fleet, FleetBuild, FleetUse, Outlier
from millpond.rounds.fleet_use import LETTERS
from millpond.statistics.distribution import Distribution
from millpond.system.wording import bytes_text, count_text, list_text, plural, seconds_text, share_text

_FIGURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "allocations": ("allocations", count_text), "bytes": ("bytes", bytes_text),
    "peak_live_bytes": ("peak live", bytes_text), "end_live_bytes": ("live at the end", bytes_text),
}  # fmt: skip
_DIGITS_OF_ID = 12
_TRACE_WIDTH = 40
_PATHS_AT_MOST = 3
_FIGURE_ROWS = 25


@dataclass(frozen=True)
class FleetDetail:
    """The most that a section shows: builds, and of each its subsystems, outliers and processes; warnings of a kind.

    `is_wide`: with quartiles, all letters and their meaning.
    """

    builds: int
    subsystems: int
    outliers: int
    processes: int = 0
    warnings: int = 3
    is_wide: bool = False


# Levels for a terminal and for a page, the most detailed first.
ANSWER = tuple(FleetDetail(*each) for each in (
    (4, 12, 12), (4, 10, 6), (4, 8, 4), (3, 8, 3), (3, 6, 2), (2, 6, 3), (2, 4, 2, 0, 2), (2, 3, 1, 0, 2), (1, 6, 2),
    (1, 3, 1, 0, 1), (1, 1, 0, 0, 1),
))  # fmt: skip
PAGE = tuple(FleetDetail(*each, is_wide=True) for each in (
    (10, 100, 50, 500, 50), (8, 50, 30, 200, 20), (5, 30, 20, 50, 10), (5, 15, 10, 0, 5),
))  # fmt: skip
MARKDOWN = FleetDetail(5, 20, 10, warnings=10, is_wide=True)


def fleet_section(fleet: Fleet, detail: FleetDetail = PAGE[0], *, figures: bool = True) -> ReportSection:
    """Returns the whole fleet at this level of detail. `figures`: with a figure of the largest subsystems."""
    builds = fleet.builds[: detail.builds]
    left_out = len(fleet.builds) - len(builds)
    rest = sum(len(build.processes) for build in fleet.builds[detail.builds :])
    parts: list[Part] = [
        Bullets(tuple(_warnings(fleet, detail.warnings))),
        *(_build_section(build, detail, figures) for build in builds),
    ]
    if left_out:
        parts.append(Words(
            f"and {plural(left_out, 'other build')} of {plural(rest, 'process')}; the JSON has all", "soft"
        ))  # fmt: skip
    found = section(f"{plural(fleet.process_count, 'process')} of {plural(len(fleet.builds), 'build')}", parts)
    return found or ReportSection("no process", ())


def _warnings(fleet: Fleet, at_most: int) -> Iterator[str]:
    """Yields a sentence for each trace that is left out or does not describe the whole run, at most so many of each."""
    yield from _first([f"left out: {one.why}" for one in fleet.unusable], at_most, "files are left out")
    limited = [
        f"{short_path(process.trace, _TRACE_WIDTH)}: {why}"
        for build in fleet.builds for process in build.processes for why in _limits(process.lost, process.limits)
    ]  # fmt: skip
    yield from _first(limited, at_most, "limits of traces; the JSON has all")


def _limits(lost: int, limits: Sequence[str]) -> list[str]:
    return [*([f"{count_text(lost)} events are lost"] if lost else []), *limits]


def _first(lines: Sequence[str], at_most: int, more: str) -> Iterator[str]:
    yield from islice(lines, at_most)
    if len(lines) > at_most:
        yield f"and {len(lines) - at_most} more {more}"


def _build_section(build: FleetBuild, detail: FleetDetail, figures: bool) -> ReportSection:
    letters = letters_words(_known_letters(build)) if detail.is_wide else ""
    parts: list[Part | None] = [
        Words(_facts(build)), _subsystems(build, detail), Words(letters, "soft"), _outliers(build, detail.outliers),
        _figure(build) if figures else None, _processes(build, detail.processes),
    ]  # fmt: skip
    return section(build.name, parts, note=_identity(build)) or ReportSection(build.name, ())


def _identity(build: FleetBuild) -> str:
    paths = len(build.executables)
    where = f", at {paths} paths" if paths > 1 else ""
    known = f"build-id {build.build_id[:_DIGITS_OF_ID]}" if build.build_id else "no build-id: matched by its path"
    return f"{plural(len(build.processes), 'process')}, {known}{where}"


def _facts(build: FleetBuild) -> str:
    whole = build.whole
    named = build.named_share
    cpu = [process.cpu_seconds for process in build.processes if process.cpu_seconds is not None]
    said = [
        f"{count_text(whole.events)} heap events", f"{bytes_text(whole.bytes)} allocated",
        f"{seconds_text(sum(cpu))} of CPU" if cpu else "",
        "" if named is None else f"{100 * named:.0f} % of the events are from functions with a name",
        f"a process has {_distribution_text(whole, 'peak_live_bytes')} live at its peak",
    ]  # fmt: skip
    return ", ".join(filter(None, said))


def _distribution_text(use: FleetUse, figure: str) -> str:
    """Returns `1.20 MB (1.10 MB to 2.30 MB)`: the median and the range; one value for equal ones."""
    distribution, show = use.distributions[figure], _FIGURES[figure][1]
    if distribution.lowest == distribution.highest:
        return show(distribution.median)
    return f"{show(distribution.median)} ({show(distribution.lowest)} to {show(distribution.highest)})"


def _known_letters(build: FleetBuild) -> set[str]:
    return {letter for s in build.subsystems for letter in LETTERS if letter in s.distributions}


def _subsystems(build: FleetBuild, detail: FleetDetail) -> Table:
    shown, rest = build.subsystems[: detail.subsystems], build.subsystems[detail.subsystems :]
    ranks = ("median", "lowest", *(("lower_quartile", "upper_quartile") if detail.is_wide else ()), "highest")
    letters = [letter for letter in (LETTERS if detail.is_wide else "VU") if letter in _known_letters(build)]
    every = len(build.processes)
    rows: list[Row] = [
        (
            name(s.label), TableCell(f"{100 * s.share:.0f} %", value=s.share),
            "all" if s.processes == every else str(s.processes), TableCell(bytes_text(s.bytes), value=s.bytes),
            *(_rank_cell(s, rank) for rank in ranks), *(_letter_text(s, letter) for letter in letters),
        )
        for s in shown
    ]  # fmt: skip
    caption = (
        f"and {plural(len(rest), 'smaller subsystem')}: {bytes_text(sum(s.bytes for s in rest))}, "
        f"{count_text(sum(s.events for s in rest))} events"
        if rest
        else ""
    )
    peaks = (f">{'peak: ' if rank == 'median' else ''}{rank.replace('_', ' ')}" for rank in ranks)
    headings = ("subsystem", ">share", ">in", ">bytes, sum", *peaks, *(f">{letter}" for letter in letters))
    return table(headings, rows, caption=caption)


def _rank_cell(use: FleetUse, rank: str) -> TableCell:
    """Returns one of the five numbers of the processes' peaks."""
    value = getattr(use.distributions["peak_live_bytes"], rank)
    return TableCell(bytes_text(value), value=value)


def _letter_text(use: FleetUse, letter: str) -> str:
    """Returns the median of a letter; empty if it is unknown in every process."""
    distribution = use.distributions.get(letter)
    return "" if distribution is None else share_text(distribution.median)


def outliers_of(build: FleetBuild) -> list[tuple[str, FleetUse, Outlier]]:
    """Returns the outliers of a build with the subsystem's label (empty: the whole process), those farthest from the
    median of a whole process first, and each trace once for one subsystem.
    """
    uses = [("", build.whole), *((s.label, s) for s in build.subsystems)]
    found = [(label, use, one) for label, use in uses for one in use.outliers]
    usual = {figure: build.whole.distributions[figure].median for figure in _FIGURES}
    found.sort(
        key=lambda each: -_distance(each[1].distributions[each[2].figure], each[2]) / max(1.0, usual[each[2].figure])
    )
    once: dict[tuple[str, str], tuple[str, FleetUse, Outlier]] = {}
    for each in found:
        once.setdefault((each[0], each[2].trace), each)
    return list(once.values())


def _distance(distribution: Distribution, one: Outlier) -> float:
    return abs(one.value - distribution.median)


def _outliers(build: FleetBuild, at_most: int) -> Table | None:
    found = outliers_of(build)
    rows: list[Row] = []
    for label, use, one in found[:at_most]:
        words, show = _FIGURES[one.figure]
        times = f"{one.times:.3g} ×" if one.times else ""
        rows.append((
            name(label or "the whole process"), words, TableCell(show(one.value), value=one.value), times,
            show(use.distributions[one.figure].median), TableCell(short_path(one.trace, _TRACE_WIDTH), title=one.trace),
        ))  # fmt: skip
    more = len(found) - len(rows)
    caption = f"and {more} more; the JSON has all" if more > 0 and rows else ""
    headings = ("far from the others", "figure", ">value", ">of the median", ">median", "trace")
    return table(headings, rows, caption=caption) if rows else None


def _figure(build: FleetBuild) -> Intervals | None:
    """Returns the peaks of the largest subsystems: the median, the middle half, and the outliers."""
    rows = []
    for s in build.subsystems[:_FIGURE_ROWS]:
        distribution = s.distributions["peak_live_bytes"]
        if distribution.lower_quartile <= 0:  # the axis is logarithmic
            continue
        dots = [(one.value, one.trace) for one in s.outliers if one.figure == "peak_live_bytes"]
        middle = f"{bytes_text(distribution.lower_quartile)} to {bytes_text(distribution.upper_quartile)}"
        rows.append(IntervalRow(
            name=s.label, median=distribution.median, low=distribution.lower_quartile,
            high=distribution.upper_quartile, dots=dots, text=f"{bytes_text(distribution.median)} ({middle})",
        ))  # fmt: skip
    if len(build.processes) < 2 or not rows:
        return None
    return Intervals(
        title="Peak live bytes of a process, by subsystem",
        caption="The median, and the middle half of the processes; a dot is a process far from the others.",
        axis=Axis(name="peak live bytes", unit="bytes", log=True), rows=rows, dots="far from the others",
    )  # fmt: skip


def _processes(build: FleetBuild, at_most: int) -> ReportSection | None:
    if not at_most:
        return None
    rows: list[Row] = [
        (
            TableCell(short_path(p.trace, _TRACE_WIDTH), title=p.trace), str(p.pid or ""),
            TableCell(count_text(p.events), value=p.events), TableCell(bytes_text(p.bytes), value=p.bytes),
            TableCell(bytes_text(p.peak_live_bytes), value=p.peak_live_bytes),
            TableCell(bytes_text(p.end_live_bytes), value=p.end_live_bytes),
            "" if p.cpu_seconds is None else TableCell(seconds_text(p.cpu_seconds), value=p.cpu_seconds),
        )
        for p in build.processes[:at_most]
    ]  # fmt: skip
    more = len(build.processes) - at_most
    caption = f"and {more} more; the JSON has all" if more > 0 else ""
    headings = ("trace", ">pid", ">events", ">bytes", ">peak live", ">live at the end", ">CPU")
    found = table(headings, rows, caption=caption)
    paths = [Words(f"The program is {list_text(list(build.executables[:_PATHS_AT_MOST]))}.", "soft")]
    return section("Processes", [*paths, found], note=plural(len(build.processes), "process"), fold=True)
