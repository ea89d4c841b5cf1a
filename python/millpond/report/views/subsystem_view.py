# SPDX-License-Identifier: BSL-1.0
"""The subsystems of a case: those that matter as a table, the rest as a sum."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from millpond.advice.advice_data import Row
from millpond.advice.row_reasons import legality_text
from millpond.cells.plans import ARENA
from millpond.report.cases import Case, ShownRow
from millpond.report.views.model import ReportSection, Table, TableCell, Words, section, table
from millpond.rounds.characterisation import (
    ALIVE_AT_END,
    NOT_DECIDED,
    NOT_DISPROVED,
    OUTERMOST,
    Dimension,
    RecordedTrace,
    ScopeLegality,
    SubsystemFacts,
)
from millpond.statistics.order_statistics import BEYOND_NOISE
from millpond.system.wording import (
    bytes_text,
    count_text,
    interval_text,
    list_text,
    percent_text,
    share_text,
)

_LETTERS = {
    "D": "D, density: the share of allocation operations in the work of its threads while its objects are live",
    "V": "V, variation of sizes: 0 for one size",
    "L": "L, locality: how long accesses stay within its objects",
    "U": "U, utilization: peak live bytes of all bytes allocated",
    "C": "C, contention: threads that wait for one another",
}
_MATTERS_SHARE = 0.05  # of the bytes or the events of the program
_SHORT_AT_MOST = 44
_MARKS = {"yes": "✓ ", "perhaps": "? ", "no": "✗ "}


def cpu_share(row: Row, trace: RecordedTrace) -> float | None:
    """Returns the estimated share of the CPU time in the subsystem's operations; None if unknown or impossible."""
    seconds = (row.dimension("D").absolute or {}).get("operation_seconds")
    share = seconds / trace.cpu_seconds if seconds is not None and trace.cpu_seconds else None
    return share if share is not None and share <= 1 else None  # an estimate above the whole CPU time is useless


def letters_text(subsystems: Sequence[SubsystemFacts]) -> str:
    """Explains the letters that have a value for some subsystem; empty without any."""
    return letters_words({letter for letter in _LETTERS for s in subsystems if s.dimension(letter).value is not None})


def letters_words(letters: Collection[str]) -> str:
    """Explains these letters of D, V, L, U and C; empty without any."""
    known = [words for letter, words in _LETTERS.items() if letter in letters]
    return f"From 0 to 1. {'; '.join(known)}." if known else ""


def density_text(d: Dimension) -> str:
    """Returns the origin of a value of D: the kind with the method, or the reason why it is unknown."""
    return d.why_null or (f"{d.kind}, from {d.method}" if d.method else d.kind or "unknown")


def density_note(subsystems: Sequence[SubsystemFacts]) -> str:
    """Returns the sources of D, and why it is unknown for some subsystems; empty without either."""
    every = [s.dimension("D") for s in subsystems]
    methods = dict.fromkeys(d.method for d in every if d.value is not None and d.method)
    unknown = [d for d in every if d.value is None]
    reasons = dict.fromkeys(d.why_null for d in unknown if d.why_null)
    said = [f"D is from {list_text(list(methods))}."] if methods else []
    said += [f"D is unknown for {len(unknown)} of {len(every)}: {'; '.join(reasons)}."] if reasons else []
    return " ".join(said)


def short_advice(row: Row) -> str:
    """Returns the advice on a subsystem in a few words; the row's `reason` has the rest."""
    if row.pays:
        own = "arena" if row.best == ARENA else "own pool"
        return f"{own} ({row.best}){', in some inputs only' if row.warning else ''}"
    if row.cpu_ratio and row.cpu_ratio.n:
        words = {"worse": "nothing: a pool costs time", "better": "nothing: gain not confirmed"}
        return words.get(row.cpu_ratio.verdict, f"nothing: {row.cpu_ratio.verdict}")
    text = row.reason.removeprefix("not tried: ").split(";")[0]
    text = text.replace("too small a part of the heap to matter", "too small to matter")
    return f"not tried: {text}" if len(text) <= _SHORT_AT_MOST else "not tried"


def short_legality(scopes: Sequence[ScopeLegality]) -> tuple[str, str]:
    """Returns whether some scope could own an arena (yes, perhaps, no, unknown), and which, in a few words.

    "perhaps": no object was seen to outlive the scope, but its activations were not observed.
    """
    for mark, found, words in (
        ("yes", [s for s in scopes if s.legal], ""),
        ("perhaps", [s for s in scopes if s.legality == OUTERMOST], " (outermost call)"),
        ("perhaps", [s for s in scopes if s.legality == NOT_DISPROVED], " (not observed)"),
        ("unknown", [s for s in scopes if s.legality == NOT_DECIDED], " (not decided)"),
        ("perhaps", [s for s in scopes if s.legality == ALIVE_AT_END], " (alive at the end)"),
    ):
        if found:
            return mark, f"{_scope(found[0])}{words}" + (f" +{len(found) - 1}" if len(found) > 1 else "")
    return ("no", "only the whole process") if scopes else ("unknown", "unknown")


def _scope(scope: ScopeLegality) -> str:
    return "one thread" if scope.scope == "thread" else scope.name


def matters(row: Row, trace: RecordedTrace) -> bool:
    """True for a subsystem that is advised, that was tried, or that has 5 % of the bytes or of the events."""
    large = [(row.bytes or 0, trace.bytes), (row.events or 0, trace.events)]
    return row.pays or bool(row.tried) or any(whole and part >= _MATTERS_SHARE * whole for part, whole in large)


def rest_text(rest: Sequence[ShownRow]) -> str:
    """Returns the sums of the rows that are not shown."""
    if not rest:
        return ""
    rows = [shown.row for shown in rest]
    tried = sum(bool(row.cpu_ratio and row.cpu_ratio.n) for row in rows)
    return (
        f"and {len(rest)} smaller ones: {bytes_text(sum(row.bytes or 0 for row in rows))}, "
        f"{count_text(sum(row.events or 0 for row in rows))} events; {tried or 'none'} of them tried; "
        "the JSON and CSV have all"
    )


def subsystem_section(case: Case, most: int, anchors: Sequence[str]) -> ReportSection | None:
    """Returns a row for each subsystem that matters; the next ones folded, and the rest as a sum. `anchors`: where
    the first ones have sections of their own.
    """
    ranked = case.subsystems
    first = [s for s in ranked if matters(s.row, case.trace)][:most]
    shown = {id(s) for s in first}
    others = [s for s in ranked if id(s) not in shown]
    next_ones = others[: max(0, most - len(first))]
    places = {id(s): anchor for s, anchor in zip(ranked, anchors, strict=False)}
    rest = rest_text(others[len(next_ones) :]) if next_ones else ""
    main = _table(case, first, places)
    below = section(rest_text(others), [_table(case, next_ones, places), Words(rest, "soft")], fold=True, details=True)
    words = letters_text([s.row for s in first])
    title = "Subsystems that matter" if first else "Subsystems"
    return section(title, [main, Words(words, "soft"), below])


def _table(case: Case, rows: Sequence[ShownRow], places: dict[int, str]) -> Table:
    headings = ("subsystem", "advice", ">saves CPU", ">saves memory", ">bytes", ">events", ">CPU", ">in the fleet", *(
        f">{letter}" for letter in "DVLUC"), "an arena could live in")  # fmt: skip
    return table(
        headings,
        [_cells(case, s.row, places.get(id(s), "")) for s in rows],
        marked=[i for i, s in enumerate(rows) if s.row.pays],
    )


def _cells(case: Case, row: Row, anchor: str) -> list[TableCell | str]:
    share, (mark, scopes) = cpu_share(row, case.trace), short_legality(row.legality)
    dimensions = [row.dimension(letter) for letter in "DVLUC"]
    return [
        TableCell(row.label, title=row.kind or "", link=f"#{anchor}" if anchor else "", name=True),
        TableCell(short_advice(row), title=row.reason, tone="better" if row.pays else ""),
        _saved(row), _saved_bytes(row),
        TableCell(bytes_text(row.bytes), value=row.bytes or 0),
        TableCell(count_text(row.events), value=row.events or 0),
        TableCell("–" if share is None else f"{100 * share:.1f} %", value=share or 0),
        _fleet_cell(row),
        *[TableCell(share_text(d.value), title=density_text(d), value=-1 if d.value is None else d.value)
          for d in dimensions],
        TableCell(f"{_MARKS.get(mark, '')}{scopes}", title=legality_text(row.legality)),
    ]  # fmt: skip


def _fleet_cell(row: Row) -> TableCell:
    """Returns its share in the fleet; empty without a fleet."""
    share = row.fleet_share
    return TableCell("") if share is None else TableCell(f"{100 * share:.0f} %", value=share)


def _saved(row: Row) -> TableCell:
    """Returns the change of CPU time with its interval."""
    ratio = row.cpu_ratio.known if row.cpu_ratio else None
    if ratio is None:
        return TableCell("–", value=-9)
    tone = ratio.verdict if ratio.verdict in BEYOND_NOISE else ""
    words = percent_text(ratio.median) if tone else ratio.verdict
    return TableCell(words, interval_text(ratio), tone, value=1 - ratio.median)


def _saved_bytes(row: Row) -> TableCell:
    """Returns the change of peak resident bytes with its interval, beyond the noise."""
    saved = row.saves_bytes.known
    if saved is None or saved.verdict not in BEYOND_NOISE:
        return TableCell("–", value=0)
    low, high = sorted((abs(saved.low), abs(saved.high)))
    text = f"{'saves' if saved.median > 0 else 'costs'} {bytes_text(abs(saved.median))}"
    return TableCell(text, f"{bytes_text(low)} to {bytes_text(high)}", saved.verdict, value=saved.median)
