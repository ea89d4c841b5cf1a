# SPDX-License-Identifier: BSL-1.0
"""Shows views on a terminal: the answer in 40 lines, or every section with its tables."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from rich.console import Console
from rich.text import Text

from millpond.report.answer_text import LINES_AT_MOST, ResultFiles, answer_lines, other_lines
from millpond.report.cases import Case
from millpond.report.text_table import Line, table_lines
from millpond.report.views import case_view
from millpond.report.views.case_view import CaseView
from millpond.report.views.model import Block, Bullets, Part, ReportSection, Table, Words
from millpond.report.views.short_text import wrapped
from millpond.system.any_bytes import shown

_OTHERS_AT_MOST = 6
_STYLES = {"soft": "dim", "warn": "yellow", "strong": "bold", "": ""}
_NOWHERE = ResultFiles()


def console(file: IO[str] | None = None) -> Console:
    """Returns a console on standard output, or on `file`; as wide as the terminal or $COLUMNS, 80 without either."""
    stream = file or sys.stdout
    width = None if stream.isatty() else shutil.get_terminal_size((80, 50)).columns
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def print_lines(lines: Iterable[Line], out: Console) -> None:
    """Prints lines that are laid out already, each with its style."""
    for line, style in lines:
        out.print(Text(shown(line)), style=style or None, soft_wrap=True)


def print_warnings(warnings: Sequence[str], out: Console) -> None:
    """Prints a line for each warning, with a mark."""
    for warning in warnings:
        out.print(Text(shown(f"! {warning}")), style="yellow")


def print_section(section: ReportSection, out: Console) -> None:
    """Prints a section with all of its parts."""
    print_lines(_section(section, out.width), out)


def print_fitting(sections: Iterable[ReportSection], out: Console) -> None:
    """Prints the first of these sections that fits into the lines of an answer; the last one if none does."""
    lines: list[Line] = []
    for section in sections:
        lines = list(_section(section, out.width))
        if len(lines) <= LINES_AT_MOST:
            break
    print_lines(lines, out)


def print_answer(
    cases: Sequence[Case], out: Console, places: ResultFiles = _NOWHERE,
    damaged: Sequence[str] = (), missing: Sequence[str] = (),
) -> None:  # fmt: skip
    """Prints the answer of the first case in at most 40 lines, with a line for each further one."""
    warned = [line for line, _ in zip(_not_read(damaged, missing, out.width), range(4), strict=False)]
    others = other_lines(cases[1:], out.width, _OTHERS_AT_MOST)
    room = LINES_AT_MOST - len(warned) - len(others)
    print_lines([*warned, *answer_lines(cases[0], places, out.width, room), *others], out)


def print_cases(cases: Sequence[Case], out: Console, damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> None:
    """Prints every section of these cases."""
    print_lines(_not_read(damaged, missing, out.width), out)
    for number, case in enumerate(cases):
        if number:
            out.rule()
        print_lines(_case(case_view.view_of(case), out.width), out)


def render(cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """Returns the whole text of these cases, without colours, as wide as the terminal or $COLUMNS."""
    file = io.StringIO()
    print_cases(cases, console(file), damaged, missing)
    return file.getvalue()


def _not_read(damaged: Sequence[str], missing: Sequence[str], width: int) -> Iterator[Line]:
    for words in (*(f"! not read: {line}" for line in damaged), *(f"! missing: {line}" for line in missing)):
        yield from ((line, "yellow") for line in wrapped(words, width))


def _case(view: CaseView, width: int) -> Iterator[Line]:
    yield from ((line, "bold") for line in wrapped(view.headline, width))
    yield from ((line, "") for words in (view.command, view.verdict) for line in wrapped(words, width))
    for row in view.choices:
        said = "; ".join([row.what, *([row.command] if row.command else []), *(gain.words for gain in row.gains)])
        yield from ((f"  {line}", "") for line in wrapped(f"{row.label}: {said}", width - 2))
    for words in view.warnings:
        yield from ((line, "yellow") for line in wrapped(f"! {words}", width))
    yield from ((line, "dim") for line in wrapped(view.facts, width))
    for section in view.sections:
        if not section.details:
            yield "", ""
            yield from _section(section, width)


def _section(section: ReportSection, width: int) -> Iterator[Line]:
    title = f"{section.title} ({section.note})" if section.note and section.title else section.title or section.note
    yield from ((line, "bold") for line in wrapped(title, width))
    for part in section.parts:
        yield from _part(part, width)


def _part(part: Part, width: int) -> Iterator[Line]:
    match part:
        case Words(text, tone):
            yield from ((line, _STYLES[tone]) for line in wrapped(text, width))
        case Bullets(lines):
            for text in lines:
                for number, line in enumerate(wrapped(text, width - 2)):
                    yield f"{'  ' if number else '- '}{line}", ""
        case Table():
            yield from table_lines(part, width)
        case Block(text):  # commands keep one line even if they are long, so that they can be copied
            yield from ((line, "dim" if line.startswith("#") else "") for line in text.split("\n"))
        case ReportSection(details=True):
            yield from ((line, "dim") for line in wrapped(part.title, width))
        case ReportSection():
            yield from _section(part, width)
        case _:  # figures and details are for the page
            return
