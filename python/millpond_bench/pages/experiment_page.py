# SPDX-License-Identifier: BSL-1.0
"""The page of experiments: each of a paper's tables next to ours, their ratio, then its statements, or our bars.

    table of the paper │ the same of ours │ ours / the paper's │ peak resident bytes      one row for each table
    statement │ rule │ the paper's figure │ ours with its interval │ verdict             one row for each;
                              two figures and verdicts if the paper's allocators were built otherwise than ours

One offline file: no network, no script except the report's own, colours by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millpond.report.figures.figure_html import html_of
from millpond.report.figures.offline_page import load
from millpond.report.figures.specification import Figure
from millpond.statistics.order_statistics import Summary
from millpond.store.observations import heap_state
from millpond.system.machine import this_machine
from millpond.system.wording import plural
from millpond_bench.claims.claims import Claim, Verdict, heading, number_text
from millpond_bench.experiments.result_table import PublishedTable, ResultRow
from millpond_bench.experiments.suite_rounds import SuiteProgram
from millpond_bench.pages.charts import PUBLISHED, Chart, charts
from millpond_bench.runs.experiment_run import ExperimentRun
from millpond_bench.runs.published_run import PublishedRun
from millpond_bench.tables.quantities import text_of
from millpond_bench.tables.terminal_table import claims_line

_BESIDE_AT_MOST = 400
_BOTH = (
    "Each table as published, then here, here / published, and the peak resident bytes. Figures show both: a curve is "
    "dashed as published and whole as measured here; two heat maps have one scale."
)
_OURS = "Ours, and the peak resident bytes. There are no published figures."


@dataclass(frozen=True)
class Section:
    """One experiment for the template."""

    anchor: str
    title: str
    source: str
    machine: str
    number: str
    measured: str
    facts: list[str]
    notes: list[str]
    reading: str
    charts: list[Chart]
    figures: list[Figure]
    claims_heading: str
    claims: list[dict[str, Any]]
    is_judged_twice: bool
    claims_line: str
    beside: list[dict[str, str]]
    omitted: int
    counters: list[str]
    counted: list[tuple[str, list[str]]]
    uncounted: int


def render(runs: Sequence[ExperimentRun]) -> str:
    """The page for these experiments, in their order."""
    page = load("report.js", "report.css", "experiment.css")
    names = ", ".join(run.spec.name for run in runs)
    beside = " with the published figures" if any(isinstance(run, PublishedRun) for run in runs) else ""
    return page.render(
        "experiment.html.j2",
        title=f"Millpond: {names}{beside}",
        heading="Published experiments, run here" if beside else "Benchmarks",
        machine=str(this_machine()),
        sections=[_section(run) for run in runs],
        html_of=html_of,
    )


def _section(run: ExperimentRun) -> Section:
    spec = run.spec
    states = dict.fromkeys(heap_state(cell) for cell in run.cells)
    rounds = max((o.round for o in run.outcomes), default=0)
    facts = [
        f"{plural(rounds, 'round')} of {plural(len(run.cells), 'cell')}", f"heap {', '.join(states)}",
        f"seed {run.request.seed}", *_programs(run.programs), f"run {run.journal.run}",
    ]  # fmt: skip
    drawn, headings, counted, reading = [], list[str](), list[tuple[str, list[str]]](), ""
    if isinstance(run, PublishedRun):
        drawn = [*run.spec.table.tabulate(run.results), *charts(run.results)]
        headings, counted = run.results.headings, _counted(run.results)
        reading = _BOTH if any(t.caption == PUBLISHED for chart in drawn for t in chart.tables) else _OURS
    beside = _beside(run) if isinstance(run, PublishedRun) else [_comparison(row) for row in run.rows]
    held = f"{sum(bar.holds is True for bar in run.bars)} of {plural(len(run.bars), 'bar')} hold"
    return Section(
        spec.name, f"{spec.name}: {spec.title}", spec.source or "Millpond", spec.machine,
        spec.section, spec.measured, facts,
        run.notes, reading, drawn, run.spec.table.draw(run.results) if isinstance(run, PublishedRun) else [],
        heading(spec.claims) if spec.claims else "Bars", [*map(_claim, run.claims), *map(_bar, run.bars)],
        any(judged.on_documents for judged in run.claims),
        claims_line(run.claims) if run.claims else held if run.bars else "", beside[:_BESIDE_AT_MOST],
        max(0, len(beside) - _BESIDE_AT_MOST), headings, counted[:_BESIDE_AT_MOST],
        max(0, len(counted) - _BESIDE_AT_MOST),
    )  # fmt: skip


def _bar(bar: Verdict) -> dict[str, Any]:
    figure, interval = bar.figure_text()
    return {
        "id": "", "section": "", "statement": bar.name,
        "rule": " ".join(filter(None, (bar.limit_text(), bar.claim.also_text()))),
        "published": "–", "aside": bar.note_text(), "ours": figure or "–", "interval": interval,
        "title": plural(bar.ours.n, "round") if bar.ours else "", "verdict": bar.verdict, "missing": "",
        "class": _class(bar), "on_documents": None,
    }  # fmt: skip


def _comparison(row: ResultRow) -> dict[str, str]:
    against = f" against {row.best_peer_name or row.ideal_name}" if row.best_peer_name or row.ideal_name else ""
    ratio = row.to_peer or row.to_ideal
    return {
        "cell": f"{row.workload}, {row.comparison}: {row.ours_name}{against}",
        "figure": f"{number_text(row.ours)} {row.unit}" if row.ours is not None else row.note or "not measured",
        "interval": f"{number_text(ratio.low)} – {number_text(ratio.high)}" if ratio else "",
        "ratio": number_text(ratio.median) if ratio else "–",
    }


def _programs(programs: Sequence[SuiteProgram]) -> list[str]:
    """The builder and malloc of each program: `clang, tcmalloc: clang++ 19.1.7, libstdc++ 12, …/libtcmalloc…`."""
    facts = []
    for one in programs:
        around = str(one.around)
        known = [one.built_by, *([one.malloc] if one.around.malloc else [])]
        facts.append(f"{around}: {', '.join(filter(None, known)) or 'unknown'}" if around else one.built_by)
    return [fact for fact in facts if fact]


def _claim(judged: Verdict) -> dict[str, Any]:
    claim = judged.claim
    published = number_text(judged.published) if judged.published is not None else "–"
    return {
        "id": claim.id,
        "section": claim.section,
        "statement": claim.statement,
        "rule": _rule_text(judged),
        "published": published,
        "aside": _aside(claim),
        **_figure_and_verdict(judged),
        "on_documents": _figure_and_verdict(judged.on_documents) if judged.on_documents else None,
    }


def _figure_and_verdict(judged: Verdict) -> dict[str, str]:
    ours, missing = judged.ours, judged.claim.missing
    return {
        "ours": number_text(ours.median) if ours else "–",
        "interval": f"{number_text(ours.low)} – {number_text(ours.high)}" if ours else "",
        "title": _title(judged, ours) if ours else "",
        "verdict": judged.verdict,
        "missing": f"missing: {missing}" if missing else judged.remark,
        "class": _class(judged),
    }


def _title(judged: Verdict, ours: Summary) -> str:
    chance = "" if judged.p_adjusted is None else f", by chance {judged.p_adjusted:.2g}"
    return f"{plural(ours.n, 'round')}, level {ours.level:.2f}, {judged.points} figures{chance}"


def _class(judged: Verdict) -> str:
    return {True: "verdict-holds", False: "verdict-fails", None: "verdict-open"}[judged.holds]


def _aside(claim: Claim) -> str:
    """A remark if the paper contradicts its own statement, or has no figures for it."""
    if claim.paper_disagrees:
        return f"The document itself: {claim.paper_disagrees}."
    return f"No published figures: {claim.published_lost}." if claim.published_lost else ""


_OVER = {
    "mean": "mean", "every": "every", "largest": "largest", "smallest": "smallest", "share": "share",
    "spread": "largest / smallest",
}  # fmt: skip
_KINDS = {
    "ratio": "{}", "growth": "growth of {}", "step": "greatest step of {}", "lead": "{} / the best of the others",
    "rank": "rank correlation over {}", "fails": "points at which memory ends for {}",
}  # fmt: skip


def _rule_text(judged: Verdict) -> str:
    """A short text for the value that is compared with the bound."""
    claim = judged.claim
    if claim.kind == "untestable":
        return ""
    of = ", ".join(dict.fromkeys(claim.of))
    quotient = f"{of} / {', '.join(dict.fromkeys(claim.against))}" if claim.against else of
    metrics = f"{claim.metric} with {claim.other_metric}" if claim.other_metric else claim.metric
    quotient = f"{quotient} ({metrics})" if metrics else quotient
    what = f"{_OVER[claim.over]} {_KINDS[claim.kind].format(quotient)}"
    if claim.over == "share":
        what += f" ≥ {claim.at_least:g}" if claim.at_least is not None else ""
        what += f" ≤ {claim.at_most:g}" if claim.at_most is not None else ""
    where = ", ".join(f"{k} {_where(v)}" for k, v in claim.where.items())
    along = f" along {claim.axis}" if claim.kind == "step" else f" from {claim.axis} {claim.first} to {claim.last}"
    rows = along if claim.axis else ""
    return f"{what}{rows}{f', at {where}' if where else ''}: {claim.bound_text()}"


def _where(wanted: Any) -> str:
    if isinstance(wanted, dict):
        words = {"from": "≥ {}", "to": "≤ {}", "below": "< {}", "is": "= {}"}
        return " and ".join(words[key].format(value) for key, value in wanted.items())
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else f"= {wanted}"


def _beside(run: PublishedRun) -> list[dict[str, str]]:
    """Figures that are not in the paper's tables: other orders, other shuffles, shared allocators."""
    figure = run.spec.data.figure
    if run.spec.table.layout.own_rows:
        return []
    rows = [
        row for row in run.results.summary()
        if row.metric == figure.name and row.published_unit is None and not run.results.has_published_row(row)
    ]  # fmt: skip
    return [
        {
            "cell": row.cell,
            "figure": row.why_null or row.status if row.median is None else number_text(row.median),
            "interval": " – ".join(number_text(end) for end in (row.low, row.high) if end is not None),
            "ratio": number_text(row.ratio_to_baseline) if row.ratio_to_baseline is not None else "–",
        }
        for row in rows
    ]


def _counted(results: PublishedTable) -> list[tuple[str, list[str]]]:
    """A cell's name, and its counters in the order of the headings."""
    names, rows = results.headings, []
    for cell in results.cells:
        counted = results.counted(cell)
        found = [counted[name] for name in names]
        if any(value is not None for value in found):
            rows.append((cell.name, ["–" if value is None else text_of(value) for value in found]))
    return rows
