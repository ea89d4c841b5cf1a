# SPDX-License-Identifier: BSL-1.0
"""The report for a terminal: the tables of `advise`, then what was not measured and how to repeat it."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from millpond.report import replay_words, report_words, terminal
from millpond.report.cases import Case


def render(cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """The text of these cases, without colours, as wide as the terminal or $COLUMNS say."""
    file = io.StringIO()
    print_cases(cases, terminal.console(file), damaged, missing)
    return file.getvalue()


def print_cases(cases: Sequence[Case], out: Console, damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> None:
    """Prints these cases to a console."""
    for line in damaged:
        out.print(Text(f"! not read: {line}"), style="yellow")
    for line in missing:
        out.print(Text(f"! missing: {line}"), style="yellow")
    for number, case in enumerate(cases):
        if number:
            out.rule()
        _print(case, out)


def _print(case: Case, out: Console) -> None:
    _, headline = report_words.answer(case.advice)
    out.print(Text(headline), style="bold")
    terminal.print_advice(case.advice, out)
    out.print(Text(f"{', '.join(report_words.facts(case))}. {case.advice.machine or ''}"))
    for i in case.inputs:
        out.print(Text(f"Input {i.number} ({' '.join(i.arguments)}): {i.verdict}"))
    _print_replay(case, out)
    if case.came_out:
        out.print(Text(case.came_out.heading), style="bold")
        for line in report_words.came_out(case):
            out.print(Text(f"- {line}"))
    out.print(Text("Not measured"), style="bold")
    for line in report_words.not_measured(case):
        out.print(Text(f"- {line}"))
    out.print(Text(f"Do it again (run {case.run or 'unknown'})"), style="bold")
    for what, command in report_words.commands(case):
        # One line however long, so that it can be copied.
        out.print(Text(f"# {what}"), style="dim")
        out.print(Text(command), soft_wrap=True)


def _print_replay(case: Case, out: Console) -> None:
    out.print(Text(replay_words.sentence(case)))
    for line in replay_words.lines(case):
        if line.kind == "trial":
            out.print(Text(f"  {line.subject}"))
        out.print(Text(f"    {line.what}: saves CPU {line.cpu}, peak resident bytes {line.peak}"))
