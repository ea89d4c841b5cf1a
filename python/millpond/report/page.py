# SPDX-License-Identifier: BSL-1.0
"""The report as one offline page: cases in, HTML out; no network, a few lines of script, under 3 MB.

Whatever a program calls its functions stays text: Jinja escapes, and so does every figure. The page carries a content
security policy that names its own style and script by their hashes, so that nothing else could ever run in it.

    each case at full detail ──▶ too large for what is left? ──▶ at less detail ──▶ at least: verdict and plan
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from millpond.report import report_words
from millpond.report.cases import Case
from millpond.report.figures.offline_page import load
from millpond.report.page_case import Detail, case_view

BUDGET_BYTES = 2_900_000
_CONTENTS_LETTERS = 48
_CONTENTS_AT_MOST = 200
DETAILS = (
    Detail(table_rows=40, subsystems=12, witnesses=3, figures=True),
    Detail(table_rows=20, subsystems=3, witnesses=1, figures=True),
    Detail(table_rows=10, subsystems=0, witnesses=0, figures=False),
)


def render(cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """The page for these cases, in their order. `damaged`, `missing`: files of the store that could not be
    read, and that are gone. KeyError, TypeError, ValueError and the like where a case does not have its form.
    """
    from jinja2 import UndefinedError

    try:
        return _render(cases, damaged, missing)
    except UndefinedError as error:
        raise ValueError(str(error)) from error


def _render(cases: Sequence[Case], damaged: Sequence[str], missing: Sequence[str]) -> str:
    page = load("report.js", "report.css")
    template = page.environment.get_template("report_case.html.j2")
    lines = 200 * min(len(cases), _CONTENTS_AT_MOST) + 2 * sum(map(len, [*damaged, *missing]))
    left = BUDGET_BYTES - len(page.style) - len(page.script) - 8000 - lines
    sections: list[Markup] = []
    contents: list[tuple[str, str, str]] = []
    for number, case in enumerate(cases, 1):
        html = _section(template, case, f"case-{number}", left) if len(sections) == number - 1 else None
        if html is not None:
            left -= len(html.encode())
            sections.append(Markup(html))
        if number <= _CONTENTS_AT_MOST:
            contents.append((f"case-{number}" if html else "", _short(case), report_words.answer(case.advice)[1]))
    omitted = len(cases) - len(sections)
    return page.render(
        "report.html.j2",
        title=_title(cases),
        damaged=damaged,
        missing=missing,
        contents=contents,
        sections=sections,
        omitted=f"{omitted} older workloads have no room on this page; --run shows them." if omitted else "",
        kinds=report_words.KINDS,
    )


def _section(template: Any, case: Case, anchor: str, left: int) -> str | None:
    """The case with as much detail as there is room for; None where there is room for nothing."""
    for detail in DETAILS:
        html = str(template.render(**case_view(case, anchor, detail)))
        if len(html.encode()) <= left:
            return html
    return None


def _short(case: Case) -> str:
    """The program and the beginning of its arguments, without the folder that it lies in."""
    words = " ".join([case.name, *case.argv[1:]])
    return words if len(words) <= _CONTENTS_LETTERS else f"{words[:_CONTENTS_LETTERS]}…"


def _title(cases: Sequence[Case]) -> str:
    if len(cases) == 1:
        return f"Millpond: {cases[0].name}: {report_words.answer(cases[0].advice)[1]}"
    return "Millpond: would a local allocator pay?"
