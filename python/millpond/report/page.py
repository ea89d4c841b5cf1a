# SPDX-License-Identifier: BSL-1.0
"""The report as one offline page: cases in, HTML out; no network, a few lines of script, under 3 MB.

Names of functions stay text: Jinja escapes them, and so does every figure. The page has a content security policy with
the hashes of its own style and script, so nothing else can run in it.

    each case at full detail ──▶ too large for what is left? ──▶ at less detail ──▶ at least: verdict and plan
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup

from millpond.advice import choice_text, container_text
from millpond.advice.advice_data import Advice, Row
from millpond.report import page_subsystem, reference_text, replay_text, report_text, symbols_table
from millpond.report.cases import Case, ShownRow, case_of
from millpond.report.figures import heap_figures, reference_map, round_figures
from millpond.report.figures.offline_page import load
from millpond.report.figures.round_figures import JUDGING
from millpond.report.page_subsystem import SubsystemView
from millpond.report.report_text import EFFECT_WORDS
from millpond.rounds.characterisation import Pins
from millpond.rounds.recording import ProcessRow
from millpond.statistics.order_statistics import BEYOND_NOISE
from millpond.store.store import Store
from millpond.system import output
from millpond.system.wording import bytes_text, interval_text, percent_text, plural

BUDGET_BYTES = 2_900_000
_CONTENTS_LETTERS = 48
_CONTENTS_AT_MOST = 200
_LABELS = {
    "net": "the plan",
    "faster_malloc": "the best malloc",
    "huge_pages": "glibc on huge pages",
    "placement": "placement",
    "total": "the plan with look-ups",
}
_PROCESSES_AT_MOST = 30


@dataclass(frozen=True)
class Detail:
    """The amount of detail for a case: rows of the table, subsystems with their own part, witnesses a scope."""

    table_rows: int
    subsystems: int
    witnesses: int
    figures: bool


DETAILS = (
    Detail(table_rows=40, subsystems=12, witnesses=3, figures=True),
    Detail(table_rows=20, subsystems=3, witnesses=1, figures=True),
    Detail(table_rows=10, subsystems=0, witnesses=0, figures=False),
)


def render(cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """Returns the page for these cases, in their order. `damaged`, `missing`: unreadable and missing files of the
    store. Raises KeyError, TypeError, ValueError and the like if a case does not have its form.
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
            contents.append((f"case-{number}" if html else "", _short(case), report_text.answer(case.advice)[1]))
    omitted = len(cases) - len(sections)
    return page.render(
        "report.html.j2",
        title=_title(cases),
        damaged=damaged,
        missing=missing,
        contents=contents,
        sections=sections,
        omitted=f"{omitted} older workloads do not fit on this page; --run shows them." if omitted else "",
        kinds=report_text.KINDS,
    )


def _section(template: Template, case: Case, anchor: str, left: int) -> str | None:
    """Returns the case with as much detail as fits; None if nothing fits."""
    for detail in DETAILS:
        html = template.render(
            v=CaseView.of(case, anchor, detail), words=report_text, choice_lines=choice_text.lines,
            replay_text=replay_text, gains=gains, parts=page_subsystem, sources=container_text,
            reference_text=reference_text, symbols_table=symbols_table,
        )  # fmt: skip
        if len(html.encode()) <= left:
            return html
    return None


def _short(case: Case) -> str:
    """Returns the program and the start of its arguments, without the program's folder."""
    words = " ".join([case.name, *case.argv[1:]])
    return words if len(words) <= _CONTENTS_LETTERS else f"{words[:_CONTENTS_LETTERS]}…"


def _title(cases: Sequence[Case]) -> str:
    if len(cases) == 1:
        return f"Millpond: {cases[0].name}: {report_text.answer(cases[0].advice)[1]}"
    return "Millpond: would a local allocator pay?"


def write_report(path: Path, advices: Sequence[Advice], store: Store | None = None) -> None:
    """Writes the page of these advices, with the data that `store` has of their runs. Failure (4) if that is
    impossible.
    """
    cases = [case_of(store.load(a.run), a) if store and a.run and not a.inputs else Case(a) for a in advices]
    output.write_text(path, render(cases))


@dataclass(frozen=True)
class GainView:
    """The gain of a subsystem's allocator in one metric. `kind`: better, worse, or empty."""

    kind: str
    text: str
    interval: str = ""


@dataclass(frozen=True)
class CaseView:
    """The data of one case for report_case.html.j2. `strips`: a row for each effect, and their scale."""

    case: Case
    anchor: str
    detail: Detail
    rows: list[Row]
    strips: tuple[list[round_figures.StripRow], Markup] | None
    heat: heap_figures.HeatMap | None
    pins: Pins | None
    touched: reference_map.DrawnMap | None
    details: list[SubsystemView]

    @classmethod
    def of(cls, case: Case, anchor: str, detail: Detail) -> CaseView:
        """Makes the view, in time linear in the shown subsystems, plus one pass over the others."""
        shown = _shown(case.subsystems, detail.table_rows)
        known = case.characterisation if detail.figures else None
        return cls(
            case, anchor, detail,
            rows=[s.row for s in shown],
            strips=_strips(case) if detail.figures else None,
            heat=heap_figures.heat_map(known.heat_map, case.names) if known and known.heat_map else None,
            pins=known.pins if known and known.pins and known.pins.pairs else None,
            touched=_touched(case) if detail.figures else None,
            details=[SubsystemView.of(s, case, f"{anchor}-{i}") for i, s in enumerate(shown[: detail.subsystems], 1)],
        )  # fmt: skip

    @property
    def details_rest(self) -> str:
        """Returns a note with the number of subsystems without their own part."""
        number = len(self.case.subsystems) - len(self.details)
        words = f"{plural(number, 'smaller subsystem')} without a part of its own here; the JSON has all."
        return words if number > 0 else ""

    @property
    def plan_text(self) -> str:
        """Returns the plan that was tried, in its file's form; empty without one."""
        plan = self.case.advice.plan or self.case.advice.plan_tried
        return json.dumps(plan.to_json(), indent=2, ensure_ascii=False) if plan else ""

    @property
    def plan_address(self) -> str:
        """Returns the plan as the address of a download."""
        data = base64.b64encode(f"{self.plan_text}\n".encode()).decode()
        return f"data:application/json;base64,{data}"

    @property
    def processes(self) -> list[ProcessRow]:
        """Returns the processes of a program with several, the analysed one first."""
        program = self.case.advice.program
        ranked = sorted(program.processes, key=lambda p: p.number != program.analysed)
        return ranked[:_PROCESSES_AT_MOST] if len(ranked) > 1 else []


def _shown(subsystems: list[ShownRow], rows: int) -> list[ShownRow]:
    advised = sum(s.row.pays for s in subsystems)
    return subsystems[: max(rows, min(advised, 2 * rows))]


def gains(row: Row) -> list[GainView]:
    """Returns CPU time, then resident bytes if they changed; each with its interval."""
    ratio, saved = row.cpu_ratio.known if row.cpu_ratio else None, row.saves_bytes.known
    if ratio is None:
        return [GainView("", "–")]
    kind = ratio.verdict if ratio.verdict in BEYOND_NOISE else ""
    words = percent_text(ratio.median) if kind else ratio.verdict
    found = [GainView(kind, f"{words} CPU" if kind else words, interval_text(ratio))]
    if saved and saved.verdict in ("better", "worse"):
        text = f"{'saves' if saved.median > 0 else 'costs'} {bytes_text(abs(saved.median))}"
        low, high = sorted((abs(saved.low), abs(saved.high)))
        found.append(GainView(saved.verdict, text, f"{bytes_text(low)} to {bytes_text(high)} at the peak"))
    return found


def _touched(case: Case) -> reference_map.DrawnMap | None:
    """Returns addresses over time with their misses, if a run was captured."""
    facts = case.advice.references.facts if case.advice.references else None
    return reference_map.reference_map(facts.map) if facts and facts.map else None


def _strips(case: Case) -> tuple[list[round_figures.StripRow], Markup] | None:
    effects = case.advice.every_effect
    found = {name: (e, e.known) for name in EFFECT_WORDS if (e := effects.get(name))}
    measured = {name: (e, known) for name, (e, known) in found.items() if known is not None}
    if not measured:
        return None
    rounds = {
        name: [r for r in case.rounds.ratios(e.of_ or "", e.against or "") if r.stage == JUDGING]
        for name, (e, _) in measured.items()
    }
    axis = round_figures.axis_of([s for _, s in measured.values()], [r for ratios in rounds.values() for r in ratios])
    rows = [
        round_figures.StripRow.of(_LABELS[name], EFFECT_WORDS[name], axis, known, rounds[name], effect.saved)
        for name, (effect, known) in measured.items()
    ]
    return rows, round_figures.scale(axis)
