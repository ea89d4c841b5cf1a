# SPDX-License-Identifier: BSL-1.0
"""Blocks alive at the end, temporaries and growth as sections: a row for each place, with what to do about it. Growth
over time has a row for each subsystem.

LeftBlocks, Temporaries, Growth, Trend ──pattern_sections──▶ a ReportSection for each that has rows
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millpond.report.views.model import ReportSection, Row, TableCell, Words, name, section, table
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.pattern_data import GrowthRow, LeftRow, PatternPlace, TemporaryRow, TrendRate
from millpond.system.wording import bytes_text, count_text, plural

_STACK_BYTES = 256  # the largest temporary for which a buffer on the stack is proposed
_REUSED = ("std::vector", "std::string", "std::basic_string", "std::deque")
_RESERVING = ("std::vector", "std::string", "std::basic_string", "std::unordered_")
_STEADY_SHARE = 0.1  # of the left blocks, at least, in each quarter


def pattern_sections(data: Characterisation, most: int) -> list[ReportSection]:
    """Returns a section for each view that has rows, with at most so many of them."""
    views = (_left(data, most), _temporaries(data, most), _growth(data, most), _trend(data, most))
    return [one for one in views if one is not None]


def _left(data: Characterisation, most: int) -> ReportSection | None:
    found = data.left
    if found is None or not found.rows:
        return None
    is_scanned = found.lost_bytes is not None
    rows: list[Row] = [
        (*_place(one.place), _bytes(one.bytes), _share(one.bytes, found.bytes),
         *([_bytes(one.lost_bytes or 0)] if is_scanned else []),
         TableCell(f"{count_text(one.objects)} of {count_text(one.place.allocations)}", value=one.objects), _kept(one))
        for one in sorted(found.rows, key=lambda one: (-(one.lost_bytes or 0), not _is_steady(one)))[:most]
    ]  # fmt: skip
    note = f"{bytes_text(found.bytes)} in {_blocks(found.objects)}"
    if found.lost_bytes is not None:
        note += f": {bytes_text(found.bytes - found.lost_bytes)} reachable, {bytes_text(found.lost_bytes)} lost"
    headings = ("code", "at", ">bytes", ">share", *([">lost"] if is_scanned else []), ">blocks", "begun in")
    return _section("Alive at the end", note, headings, rows, found.rows, most)


def _temporaries(data: Characterisation, most: int) -> ReportSection | None:
    found = data.temporaries
    if found is None or not found.rows:
        return None
    allocations = (data.trace.allocations or 0) + (data.trace.reallocations or 0)
    rows: list[Row] = [
        (*_place(one.place), TableCell(count_text(one.objects), value=one.objects), _share(one.objects, allocations),
         _bytes(one.bytes), _reuse(one))
        for one in found.rows[:most]
    ]  # fmt: skip
    next_one = f", {count_text(found.freed_next)} by the next event" if found.freed_next else ""
    note = f"{_blocks(found.objects)}, freed within {found.events} events of their thread{next_one}"
    return _section("Temporaries", note, ("code", "at", ">blocks", ">of all", ">bytes", "instead"), rows,
                    found.rows, most)  # fmt: skip


def _growth(data: Characterisation, most: int) -> ReportSection | None:
    found = data.growth
    if found is None or not found.rows:
        return None
    rows: list[Row] = [
        (*_place(one.place), _bytes(one.bytes), _share(one.bytes, data.trace.bytes or 0),
         TableCell(count_text(2 * one.steps), value=one.steps), _reserve(one))
        for one in found.rows[:most]
    ]  # fmt: skip
    note = f"the right size at first saves {bytes_text(found.bytes)}, {count_text(2 * found.steps)} events"
    return _section("Growth step by step", note, ("code", "at", ">bytes", ">of all", ">events", "instead"), rows,
                    found.rows, most)  # fmt: skip


def _trend(data: Characterisation, most: int) -> ReportSection | None:
    found = data.trend
    if found is None or not (found.rows or found.why_null):
        return None
    if found.why_null:
        return section("Growth over time", [Words(f"Not known: {found.why_null}.")])
    rows: list[Row] = [(name(one.subsystem), TableCell(trend_text(one), value=one.bytes_per_minute))
                       for one in found.rows[:most]]  # fmt: skip
    shown = plural(len(rows), "subsystem") if len(rows) == len(found.rows) else f"{len(rows)} of {len(found.rows)}"
    note = f"live bytes over {found.minutes:.3g} min: memory {trend_text(found)}; 95 % intervals; {shown}"
    return section("Growth over time", [table(("subsystem", "live bytes"), rows)], note=note)


def trend_text(one: TrendRate) -> str:
    """Returns the trend as a clause: "grows by 1.2 MB/min (1.1 to 1.3)"; without a sign, "does not tell"."""
    low, high = one.interval
    if low > 0 or high < 0:
        ends = sorted((abs(low), abs(high)))
        verb, rate = "grows" if low > 0 else "shrinks", abs(one.bytes_per_minute)
        return f"{verb} by {_rate(rate, ends)}"
    return f"neither grows nor shrinks for certain ({_signed(low)} to {_signed(high)} per min)"


def _rate(rate: float, ends: Sequence[float]) -> str:
    low, high = (bytes_text(round(end)) for end in ends)
    unit = bytes_text(round(rate)).rpartition(" ")[2]
    if low.endswith(f" {unit}") and high.endswith(f" {unit}"):
        low, high = low.rpartition(" ")[0], high.rpartition(" ")[0]
    return f"{bytes_text(round(rate))}/min ({low} to {high})"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else ''}{bytes_text(round(abs(value)))}"


def _section(
    title: str, note: str, headings: Sequence[str], rows: Sequence[Row], all_rows: Sequence[object], most: int
) -> ReportSection | None:
    places = plural(len(all_rows), "place") if len(all_rows) <= most else f"{most} of {len(all_rows)} places"
    return section(title, [table(headings, rows)], note=f"{note}; {places}")


def _place(one: PatternPlace) -> tuple[TableCell, TableCell]:
    words = f"{one.function}, {one.container}" if one.container else one.function
    at = f"{Path(one.file).name}:{one.line}" if one.file and one.line else ""
    return name(one.function, note=one.container or "", title="\n".join((words, *one.stack))), TableCell(
        at, title=f"{one.file}:{one.line}" if at else ""
    )


def _bytes(value: int) -> TableCell:
    return TableCell(bytes_text(value), value=value)


def _share(part: int, whole: int) -> TableCell:
    return TableCell(f"{100 * part / whole:.0f} %", value=part / whole) if whole else TableCell("–", value=0)


def _blocks(number: int) -> str:
    return plural(number, "block") if number == 1 else f"{count_text(number)} blocks"


def _is_steady(one: LeftRow) -> bool:
    """True for a place that adds to its blocks in every quarter: the first suspect of a leak."""
    return min(one.quarters) >= _STEADY_SHARE * one.objects


def _kept(one: LeftRow) -> str:
    quarters = [number for number, objects in enumerate(one.quarters, 1) if objects]
    if _is_steady(one):
        return "every quarter: it grows"
    if quarters == [1]:
        return "first quarter: kept from the start"
    if quarters == [4]:
        return "last quarter: perhaps in use"
    return f"{'quarter' if len(quarters) == 1 else 'quarters'} {', '.join(map(str, quarters))} of 4"


def _reuse(one: TemporaryRow) -> str:
    size = f"{bytes_text(one.largest_bytes)} at most"
    if (one.place.container or "").startswith(_REUSED):
        return f"{size}: keep the container, clear() it"
    if one.largest_bytes <= _STACK_BYTES:
        return f"{size}: a buffer on the stack"
    return f"{size}: one block kept for all calls"


def _reserve(one: GrowthRow) -> str:
    is_reserving = (one.place.container or "").startswith(_RESERVING)
    verb = "reserve()" if is_reserving and not one.resizes else "allocate"
    final = bytes_text(one.final_bytes_max)
    size = final if one.final_bytes_min == one.final_bytes_max else f"{bytes_text(one.final_bytes_min)} to {final}"
    steps, copied = one.steps / one.chains, one.copied_bytes / one.chains
    work = f"{steps:.3g} {'resizes' if one.resizes == one.steps else 'allocations'}"
    copies = f", {bytes_text(copied)} of copies" if one.copied_bytes else ""
    times = f"; {count_text(one.chains)} times" if one.chains > 1 else ""
    return f"{verb} {size} at once: saves {work}{copies}{times}"
