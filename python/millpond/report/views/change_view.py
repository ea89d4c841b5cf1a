# SPDX-License-Identifier: BSL-1.0
"""The changes that an advice proposes, each with its place in the source; and what its rounds did not settle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millpond.advice import fewer_blocks
from millpond.advice.advice_data import Advice, Alternative, Row, SourceChange
from millpond.advice.container_text import editor_link, place_text
from millpond.advice.metric_words import change_words
from millpond.cells.metrics import speed_of
from millpond.report.cases import Case
from millpond.report.views import case_words
from millpond.report.views.model import Part, ReportSection, Table, TableCell, Words, section, table
from millpond.report.views.short_text import short_name
from millpond.system.wording import list_text, plural

_NAME_AT_MOST = 60
_NOT_TRIED = "not tried"
_UNSETTLED = "not settled"


@dataclass(frozen=True)
class ChangeLine:
    """One change. `place`: `book.hpp:12`, empty if unknown. `before`, `after`: the line of the source."""

    subsystem: str
    file: str
    line: int
    place: str
    link: str
    what: str
    before: str = ""
    after: str = ""

    @property
    def words(self) -> str:
        """Returns the change in one line."""
        if self.before and self.after:
            return f"{self.before}  →  {self.after}"
        return f"add {self.after} {self.what}" if self.after else self.what


def changes(advice: Advice) -> list[ChangeLine]:
    """Returns the changes of the advised subsystems, then the blocks that can be avoided without an allocator."""
    found = [line for row in advice.subsystems if row.pays and row.code for line in _of_row(row)]
    return found + [line for row in advice.subsystems for line in _fewer(row)]


def _of_row(row: Row) -> Iterator[ChangeLine]:
    if row.code is None:
        return
    if row.code.needs:
        yield ChangeLine(row.name, "", 0, "the build", "", row.code.needs)
    for change in row.code.changes:
        yield _line(row, change)


def _line(row: Row, change: SourceChange) -> ChangeLine:
    what = change.what.replace("`", "")
    place, link = place_text(change), editor_link(change)
    return ChangeLine(row.name, change.file, change.line, place, link, what, change.before, change.after)


def _fewer(row: Row) -> Iterator[ChangeLine]:
    for one in row.fewer_blocks:
        words = fewer_blocks.words(one)
        yield ChangeLine(row.name, one.file, one.line, place_text(one), editor_link(one), words)


def change_section(case: Case) -> ReportSection | None:
    """Returns the changes as a table; without any, why there is nothing to change."""
    advice = case.advice
    lines = changes(advice)
    owners = [Words(f"{row.label}: {row.code.owner}.") for row in advice.subsystems if row.pays and row.code]
    parts: list[Part | None] = [*owners, _table(lines)]
    if others := without_places(advice):
        parts.append(Words(others_text(others)))
    if owners:
        parts.append(Words("`millpond advise --write DIR` writes the header, a note and a test.", "soft"))
    return section("What to change", parts)


def without_places(advice: Advice) -> list[Row]:
    """Returns the advised subsystems without a line to change."""
    return [row for row in advice.subsystems if row.pays and not (row.code and row.code.changes)]


def others_text(rows: list[Row]) -> str:
    """Returns why advised subsystems have no change of the source: they are in other people's code, or unknown."""
    packages = sorted({row.package for row in rows if row.package})
    names = list_text(
        [short_name(row.label, _NAME_AT_MOST) for row in rows[:4]]
        + ([f"{len(rows) - 4} more"] if len(rows) > 4 else [])
    )
    if packages:
        return (
            f"{names}: the source belongs to {list_text(packages)}. The plan gives them their pools without a change."
        )
    return f"{names}: the place in the source is not known. The plan gives them their pools without a change."


def _table(lines: list[ChangeLine]) -> Table:
    rows = [(TableCell(one.place, link=one.link, title=one.file), *_before_and_after(one))
            for one in lines]  # fmt: skip
    return table(("place", "now", "change to"), rows)


def _before_and_after(one: ChangeLine) -> tuple[TableCell, TableCell]:
    if one.before or one.after:
        return TableCell(one.before, name=True), TableCell(one.after, note="" if one.before else one.what, name=True)
    return TableCell(one.what), TableCell("")


def unsettled(case: Case) -> list[str]:
    """Returns what a reader must know before trusting the choice: warnings, contenders without a verdict, and what was
    not tried.
    """
    advice = case.advice
    end = case_words.end_text(advice.program)
    said = [*case_words.trace_warnings(case.trace), *([end] if end else []), *case_words.notes(case)]
    said += [f"{row.name}: {row.warning}" for row in advice.subsystems if row.warning]
    said += [f"{case_words.option_name(a)}: {_so_far(a)}" for a in advice.alternatives if a.judged and _open(a)]
    said += _only_screened(advice)
    untried = [a for a in advice.alternatives if a.kind == _NOT_TRIED and advice.rounds]
    said += [f"{_NOT_TRIED}: {a.name}, because {a.why_null}" for a in untried]
    unnamed = advice.symbols.sentence if advice.symbols else case_words.unnamed_text(case)
    return [*said, *([unnamed] if unnamed else [])]


def _open(a: Alternative) -> bool:
    return bool(a.speed and a.speed.n and a.speed.verdict == _UNSETTLED)


def _so_far(a: Alternative) -> str:
    known = a.speed.known if a.speed else None
    if known is None:
        return "not measured"
    return f"{change_words(speed_of(a.changes), known)}, not settled in {plural(known.n, 'round')}"


def _only_screened(advice: Advice) -> list[str]:
    """Returns the contenders that were measured while choosing only, with the best of those without a verdict."""
    screened = [a for a in advice.alternatives if not a.judged and _open(a)]
    if not screened:
        return []
    best = min(screened, key=lambda a: a.speed.median if a.speed and a.speed.median is not None else 1.0)
    known = best.speed.known if best.speed else None
    change = change_words(speed_of(best.changes), known) if known else ""
    figure = f"; the best, {case_words.option_name(best)}: {change}" if known else ""
    others = "contender was" if len(screened) == 1 else "contenders were"
    return [f"{len(screened)} {others} measured while choosing, and not settled{figure}"]
