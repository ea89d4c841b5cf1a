# SPDX-License-Identifier: BSL-1.0
"""The answer of an advice in at most 40 lines: question, choice, changes, what is not settled, places, next command.

Each block of lines has a size that it keeps, and lines that it gives up, the last ones first, until all fit.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.report.cases import Case
from millpond.report.text_table import Line
from millpond.report.views import case_words
from millpond.report.views.change_view import ChangeLine, changes, others_text, unsettled, without_places
from millpond.report.views.choice_view import ChoiceRow, Gain, choice_rows
from millpond.report.views.reference_view import sentences
from millpond.report.views.short_text import command_lines, one_line, short_path, wrapped
from millpond.system.debug_files import setting_words
from millpond.system.wording import plural

LINES_AT_MOST = 40
_CHANGES_AT_MOST = 6
_WHOLE_CHANGES_AT_MOST = 2
_RATIO = 32  # columns of `-18.7 % (-19.4 % to -15.9 %)`
_PLACE_AT_MOST = 34
_NOT_LISTED = "in the page and with --verbose"
_CONTINUED = "    "  # how a further line of an item begins


@dataclass(frozen=True)
class ResultFiles:
    """The files that a verb has written; empty where it wrote none. `store`: where the run is kept."""

    page: str = ""
    plan: str = ""
    json: str = ""
    store: str = ""


@dataclass(frozen=True)
class TextBlock:
    """Lines, each with its style. `least`: lines that are always shown; `what` names those that are given up."""

    lines: tuple[Line, ...]
    least: int
    what: str = "lines"

    def cut(self, number: int) -> tuple[Line, ...]:
        """Returns the block with at most `number` lines, without half an item; the last one counts those that are given
        up.
        """
        if number >= len(self.lines):
            return self.lines
        kept = number - 1
        while kept > 1 and self.lines[kept][0].startswith(_CONTINUED):
            kept -= 1
        return (*self.lines[:kept], (f"  {len(self.lines) - kept} more {self.what}: {_NOT_LISTED}", "dim"))


def _block(title: str, lines: Sequence[str], least: int, what: str = "lines", style: str = "") -> TextBlock:
    """Makes a block with a bold title; empty without lines."""
    found = [(line, style) for line in lines]
    head = [(title, "bold")] if title else []
    return TextBlock((*head, *found) if lines else (), least, what)


def _hanging(text: str, width: int, most: int, mark: str = "- ", margin: str = "  ") -> list[str]:
    """Returns a sentence as one item of a list."""
    lines = wrapped(text, width - len(margin) - len(mark), most)
    return [f"{margin}{' ' * len(mark) if i else mark}{line}" for i, line in enumerate(lines)]


def answer_lines(case: Case, places: ResultFiles, width: int, most: int = LINES_AT_MOST) -> list[Line]:
    """Returns at most `most` lines of `width` columns, each with a style."""
    kind, headline = case_words.answer(case.advice)
    style = "bold green" if kind in ("pays", "other") else "bold"
    rows = choice_rows(case)
    blocks = [
        _question(case, width),
        _block("", wrapped(headline, width, 3), 3, style=style),
        _block("", [] if rows else wrapped(case.advice.verdict, width, 8), 4),
        _inputs(case, width),
        _choice(rows, width),
        _changes(case, width),
        _references(case, width),
        _unsettled(case, width),
        _places(case, places, width),
    ]
    shown = [block for block in blocks if block.lines]
    sizes = [len(block.lines) for block in shown]
    room = most - (len(shown) - 1)
    while sum(sizes) > room:
        spare = [i for i, block in enumerate(shown) if sizes[i] > block.least]
        if not spare:
            break
        sizes[max(spare, key=lambda i: sizes[i] - shown[i].least)] -= 1
    lines: list[Line] = []
    for block, size in zip(shown, sizes, strict=True):
        lines += [*([("", "")] if lines else []), *block.cut(size)]
    return lines[:most]


def _question(case: Case, width: int) -> TextBlock:
    question = f"Would a local allocator make {one_line(case.name, width - 50)} faster or smaller?"
    program = shlex.join([short_path(case.argv[0], width - 4), *case.argv[1:]]) if case.argv else ""
    facts = f"{', '.join(case_words.facts(case))}."
    lines = [*_hanging(program, width, 2, ""), *_hanging(facts, width, 3, "")]
    return _block(question, lines, 3, style="dim")


def _choice(rows: Sequence[ChoiceRow], width: int) -> TextBlock:
    """Returns the choices: the questions with their contender, and below it how to run it and its figures."""
    lines: list[Line] = []
    for row in rows:
        first = wrapped(f"{row.label}: {row.what}", width, 3)
        lines += [(line, "bold") for line in first]
        if row.command and row.command != row.what:
            lines.append((f"    {one_line(row.command, width - 4)}", ""))
        lines += [(line, "") for gain in row.gains for line in _gain(gain, width)]
    return TextBlock(tuple(lines), len(lines))


def _gain(gain: Gain, width: int) -> list[str]:
    """Returns the figures of one metric in columns, or as a sentence if there is no room."""
    line = f"    {gain.metric:<12} {gain.ratio:<{_RATIO}} {gain.amount}"
    return [line] if len(line) <= width else [f"    {piece}" for piece in wrapped(gain.words, width - 4, 2)]


def _inputs(case: Case, width: int) -> TextBlock:
    lines = [
        line for i in case.inputs
        for line in wrapped(f"Input {i.number} ({shlex.join(i.arguments)}): {i.verdict}", width, 2)
    ]  # fmt: skip
    return _block("", lines, 4, "lines on inputs")


def _changes(case: Case, width: int) -> TextBlock:
    found = changes(case.advice)
    whole = len(found) <= _WHOLE_CHANGES_AT_MOST
    lines = [line for one in found[:_CHANGES_AT_MOST] for line in _change(one, width, whole)]
    if not whole:
        lines.append(f"  what these lines become: {_NOT_LISTED}")
    if len(found) > _CHANGES_AT_MOST:
        lines.append(f"  {plural(len(found) - _CHANGES_AT_MOST, 'more change')}: {_NOT_LISTED}")
    if others := without_places(case.advice):
        lines += _hanging(others_text(others), width, 3, "")
    return _block("What to change", lines, 4, "lines on changes")


def _change(one: ChangeLine, width: int, whole: bool) -> list[str]:
    """Returns the place with the line as it is now; `whole`: and below it what it becomes."""
    place = f"{short_path(one.file, _PLACE_AT_MOST)}:{one.line}" if one.file and one.line else one.place
    first = one.before or ("" if one.after else one.what)
    lines = _hanging(f"{place} {first or one.what}", width, 2 if whole else 1, "")
    return lines + (_hanging(one.after, width, 2, "→ ", "    ") if whole and one.after else [])


def _references(case: Case, width: int) -> TextBlock:
    """Returns what a captured run found; empty if no capture was requested."""
    lines = [line for text in sentences(case.advice)[:2] for line in _hanging(text, width, 3)]
    return _block("Where references miss", lines, 3)


def _unsettled(case: Case, width: int) -> TextBlock:
    lines = [line for text in unsettled(case) for line in _hanging(text, width, 2)]
    return _block("What is not settled", lines, 3)


def _places(case: Case, places: ResultFiles, width: int) -> TextBlock:
    """Returns where the results lie, and the command to run next."""
    report = f"millpond report{f' {shlex.quote(places.store)}' if places.store else ''}"
    run = f" --run {case.run}" if case.run else ""
    known = {
        "page": places.page or f"`{report}{run} -o report.html` writes it",
        "plan": places.plan or ("in the page" if case.advice.plan else ""),
        "JSON": places.json or f"`{report}{run} -o report.json` writes it",
    }
    lines = [f"{label}: {one_line(text, width - 6)}" for label, text in known.items() if text]
    follow = _next(case, places, width)
    lines += ["next:", *[f"  {line}" for line in follow]] if follow else []
    return _block("", lines, len(lines))


def _next(case: Case, places: ResultFiles, width: int) -> list[str]:
    """Returns the command that uses the choice, or that settles it."""
    choice, advice = case.advice.choice, case.advice
    kind = choice.kind if choice else ""
    again = [f"{setting_words()}millpond", "advise", "--continue"]
    again += map(shlex.quote, advice.load.options if advice.load else [])
    again += ["--store", shlex.quote(places.store)] if places.store else []
    has_code = any(row.pays and row.code and row.code.changes for row in advice.subsystems)
    if choice and kind == "malloc" and choice.command:
        words = [choice.command]
    elif kind == "plan" and has_code and not case.inputs:
        words = [*again, "--write", "change"]
    elif kind == "plan" and advice.plan and places.plan:
        words = [f"{setting_words()}millpond", "run", "--plan", shlex.quote(places.plan)]
    elif advice.rounds and kind in ("undecided", "") and not case.inputs:
        words = again
    else:
        return []
    return command_lines(words, case.argv, width - 2)


def other_lines(cases: Sequence[Case], width: int, most: int) -> list[Line]:
    """Returns a line for each further workload, and how to see it."""
    if not cases:
        return []
    shown = [
        f"  --run {case.run}  {one_line(f'{Path(case.name).name}: {case_words.answer(case.advice)[1]}', width - 34)}"
        for case in cases
    ]
    more = len(shown) - (most - 2)
    if more > 0:
        shown = [*shown[: most - 3], f"  and {more + 1} older ones"]
    head = f"{plural(len(cases), 'other workload')} of this store:"
    return [("", ""), (head, "bold"), *((line, "") for line in shown)]
