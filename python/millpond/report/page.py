# SPDX-License-Identifier: BSL-1.0
"""The report as one offline page: views in, HTML out; no network, and under 3 MB.

Names of functions stay text: Jinja escapes them, and so does every figure. The page has a content security policy with
the hashes of its own style and script, so nothing else can run in it.

    each case at full detail ──▶ too large for what is left? ──▶ at less detail ──▶ at least: verdict and plan
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jinja2 import Template
from markupsafe import Markup

from millpond.report.cases import Case
from millpond.report.figures import round_figures
from millpond.report.figures.figure_html import html_of
from millpond.report.figures.offline_page import load
from millpond.report.views import case_words
from millpond.report.views.case_view import CaseView, Detail, view_of
from millpond.report.views.choice_view import Gain
from millpond.report.views.model import ReportSection
from millpond.report.views.short_text import one_line
from millpond.system.any_bytes import shown

BUDGET_BYTES = 2_900_000
_CONTENTS_LETTERS = 48
_CONTENTS_AT_MOST = 200
DETAILS = (Detail(), Detail(20, 3, 1), Detail(10, 0, 0, figures=False))


def render(cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """Returns the page for these cases, in their order. `damaged`, `missing`: unreadable and missing files of the
    store. Raises KeyError, TypeError, ValueError and the like if a case does not have its form.
    """
    from jinja2 import UndefinedError

    try:
        return _render(cases, damaged, missing)
    except UndefinedError as error:
        raise ValueError(str(error)) from error


def render_fitting(sections: Iterable[ReportSection], heading: str) -> str:
    """Returns the page of the first of these sections with which it is small enough; of the last one if none is."""
    html, page = "", load("report.js", "report.css")
    for section in sections:
        html = shown(
            page.render(
                "sections.html.j2", title=f"Millpond: {heading}", heading=heading, sections=[section], html_of=html_of
            )
        )
        if len(html.encode()) <= BUDGET_BYTES:
            break
    return html


def _render(cases: Sequence[Case], damaged: Sequence[str], missing: Sequence[str]) -> str:
    page = load("report.js", "report.css")
    template = page.environment.get_template("report_case.html.j2", globals={"html_of": html_of})
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
            words = one_line(" ".join([case.name, *case.argv[1:]]), _CONTENTS_LETTERS)
            contents.append((f"case-{number}" if html else "", words, case_words.answer(case.advice)[1]))
    omitted = len(cases) - len(sections)
    return page.render(
        "report.html.j2",
        title=_title(cases),
        damaged=damaged,
        missing=missing,
        contents=contents,
        sections=sections,
        omitted=f"{omitted} older workloads do not fit on this page; --run shows them." if omitted else "",
        kinds=case_words.KINDS,
    )


def _section(template: Template, case: Case, anchor: str, left: int) -> str | None:
    """Returns the case with as much detail as fits; None if nothing fits."""
    for detail in DETAILS:
        view = view_of(case, anchor, detail)
        plan = base64.b64encode(shown(f"{view.plan}\n").encode()).decode()
        html = shown(template.render(v=view, strips=strips(view), plan_address=f"data:application/json;base64,{plan}"))
        if len(html.encode()) <= left:
            return html
    return None


def _title(cases: Sequence[Case]) -> str:
    if len(cases) == 1:
        return f"Millpond: {cases[0].name}: {case_words.answer(cases[0].advice)[1]}"
    return "Millpond: would a local allocator pay?"


@dataclass(frozen=True)
class StripAxis:
    """The axis that all strips of one metric share."""

    axis: round_figures.RatioAxis

    def strip(self, gain: Gain) -> Markup:
        """Returns the rounds, the interval and the median of a contender."""
        return round_figures.strip(self.axis, gain.summary, gain.ratios)

    @property
    def scale(self) -> Markup:
        """Returns the axis with its numbers."""
        return round_figures.scale(self.axis)


def strips(view: CaseView) -> dict[str, StripAxis]:
    """Returns the axis of each metric of the choice."""
    gains = [gain for row in view.choices for gain in row.gains]
    return {
        metric: StripAxis(round_figures.axis_of(
            [g.summary for g in gains if g.metric == metric], [r for g in gains if g.metric == metric for r in g.ratios]
        ))
        for metric in dict.fromkeys(gain.metric for gain in gains)
    }  # fmt: skip
