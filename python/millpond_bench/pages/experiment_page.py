# SPDX-License-Identifier: BSL-1.0
"""The page of experiments: each of a paper's tables next to ours, their ratio, then its statements, or our bars.

    question │ what the document found │ what was found here
    labels, axes and terms
    figure, published and here; below it: published │ here │ here / published │ peak resident      for each table
    statement with its rule │ the paper's figure │ ours with its interval │ verdict                one row for each;
                              two figures and verdicts if the paper's allocators were built otherwise than ours

A run of too few rounds has no verdicts: its statements have only the figures.

One offline file: no network, no script except the report's own, colours by class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from millpond.report.figures.figure_html import html_of
from millpond.report.figures.offline_page import load, ticked
from millpond.report.figures.specification import Figure
from millpond.statistics.order_statistics import Summary
from millpond.store.observations import heap_state
from millpond.system.machine import this_machine
from millpond.system.wording import plural
from millpond_bench.claims.claims import UNFOUNDED, Claim, Verdict, heading, number_text
from millpond_bench.claims.premises import NONE
from millpond_bench.experiments.experiment import ExperimentSpec, PublishedSpec
from millpond_bench.experiments.result_table import PublishedTable, ResultRow
from millpond_bench.experiments.suite_rounds import SuiteProgram
from millpond_bench.pages.charts import PUBLISHED, Chart, charts
from millpond_bench.pages.findings import finding
from millpond_bench.runs.experiment_run import ExperimentRun
from millpond_bench.runs.published_run import PublishedRun
from millpond_bench.tables.legend import AxisRow, ExperimentQuestion, LabelRow, question, terms
from millpond_bench.tables.legend import axes as axes_of
from millpond_bench.tables.legend import labels as labels_of
from millpond_bench.tables.quantities import quantity_of, short_text
from millpond_bench.tables.terminal_table import claims_line

_BESIDE_AT_MOST = 400
_BOTH = "A curve is dashed as published and solid as measured here. Two heat maps share one scale."
_OURS = "All figures are measured here: the document's own are lost, or it has none."
_ELSEWHERE = "All figures are measured here: the document's own are of other points, which larger scales measure."


@dataclass(frozen=True)
class ExperimentSection:
    """One experiment for the template."""

    anchor: str
    title: str
    source: str
    machine: str
    number: str
    measured: str
    asks: str
    found: str
    finding: str
    remarks: list[str]
    figures_only: Markup
    facts: list[str]
    warnings: list[str]
    notes: Sequence[str]
    labels: list[LabelRow]
    other_legends: Mapping[str, str]
    axes: list[AxisRow]
    terms: list[tuple[str, str]]
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
        sections=_once([_section(run) for run in runs]),
        html_of=html_of,
    )


def _once(sections: Sequence[ExperimentSection]) -> list[ExperimentSection]:
    """The sections, each label with the same words only in the first legend that has it."""
    first: dict[LabelRow, ExperimentSection] = {}
    found = []
    for section in sections:
        others = {first[row].anchor: first[row].title for row in section.labels if row in first}
        first |= {row: section for row in section.labels if row not in first}
        found.append(
            replace(section, labels=[row for row in section.labels if first[row] is section], other_legends=others)
        )
    return found


def _section(run: ExperimentRun) -> ExperimentSection:
    spec = run.spec
    states = dict.fromkeys(heap_state(cell) for cell in run.cells)
    rounds = max((o.round for o in run.outcomes), default=0)
    facts = [
        f"{plural(rounds, 'round')} of {plural(len(run.cells), 'cell')}", f"heap {', '.join(states)}",
        f"seed {run.request.seed}", *_programs(run.programs), f"run {run.journal.run}",
    ]  # fmt: skip
    drawn, headings, counted, reading = [], list[str](), list[tuple[str, list[str]]](), ""
    asks, labels, axes, found = ExperimentQuestion("", ""), list[LabelRow](), list[AxisRow](), ""
    remarks = list[str]()
    if isinstance(run, PublishedRun):
        asks, found, axes = question(spec.name), finding(run.results), axes_of(run.spec)
        labels = labels_of(run.spec, _strategies(run))
        remarks = run.spec.table.remark(run.results)
        drawn = [*run.spec.table.tabulate(run.results), *charts(run.results)]
        headings, counted = run.results.headings, _counted(run.results)
        reading = _BOTH if any(t.caption == PUBLISHED for chart in drawn for t in chart.tables) else _OURS
        if reading == _OURS and run.spec.published_values():
            reading = _ELSEWHERE
    beside = _beside(run) if isinstance(run, PublishedRun) else [_comparison(row) for row in run.rows]
    held = f"{sum(bar.holds is True for bar in run.bars)} of {plural(len(run.bars), 'bar')} hold"
    return ExperimentSection(
        spec.name, f"{spec.name}: {spec.title}", spec.source or "Millpond", spec.machine,
        spec.section, spec.measured, asks.asks, asks.found, found, remarks, ticked(run.figures_only), facts,
        [note for note in run.notes if note not in spec.notes and not (run.figures_only and "verdict" in note)],
        spec.notes, labels, {}, axes, terms(" ".join([spec.measured, asks.asks, asks.found, *spec.notes])),
        reading, drawn, run.spec.table.draw(run.results) if isinstance(run, PublishedRun) else [],
        heading(spec.claims) if spec.claims else "Bars",
        [*(_claim(one, spec) for one in run.claims), *map(_bar, run.bars)],
        not run.figures_only and any(judged.on_documents for judged in run.claims),
        "" if run.figures_only else claims_line(run.claims) if run.claims else held if run.bars else "",
        beside[:_BESIDE_AT_MOST],
        max(0, len(beside) - _BESIDE_AT_MOST), headings, counted[:_BESIDE_AT_MOST],
        max(0, len(counted) - _BESIDE_AT_MOST),
    )  # fmt: skip


def _strategies(run: PublishedRun) -> list[str]:
    """Every strategy that a table may show: those of the cells, and those that the document has figures of."""
    ours = [cell.contender.name for cell in run.cells]
    published = [name for _, name in run.spec.table.printed()]
    known = [*run.spec.data.measured_strategies, *run.spec.data.extra_strategies]
    return sorted({*ours, *published}, key=lambda name: (known.index(name) if name in known else len(known), name))


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
        "figure": f"{short_text(row.ours)} {row.unit}" if row.ours is not None else row.note or "not measured",
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


def _claim(judged: Verdict, spec: ExperimentSpec) -> dict[str, Any]:
    claim, unit = judged.claim, _unit_of(judged.claim, spec)
    published = _value_text(judged.published, unit) if judged.published is not None else "–"
    return {
        "id": claim.id,
        "section": claim.section,
        "statement": claim.statement,
        "rule": _rule_text(judged, unit),
        "published": published,
        "aside": _aside(judged),
        **_figure_and_verdict(judged, unit),
        "on_documents": _figure_and_verdict(judged.on_documents, unit) if judged.on_documents else None,
    }


def _unit_of(claim: Claim, spec: ExperimentSpec) -> str:
    """The unit of a statement's figure; "ratio" for quotients, shares, ranks and the like."""
    if claim.against or claim.kind != "ratio" or claim.over in ("share", "spread") or claim.other_metric:
        return "ratio"
    figure = spec.data.figure.unit if isinstance(spec, PublishedSpec) else "ratio"
    return spec.metrics.units.get(claim.metric, figure) if claim.metric else figure


def _value_text(value: float, unit: str) -> str:
    """A value with its unit; ratios have none."""
    if unit in ("ratio", "share"):
        return short_text(value)
    quantity = quantity_of(unit, [value])
    return f"{quantity.text(value)} {quantity.unit}"


def _figure_and_verdict(judged: Verdict, unit: str) -> dict[str, str]:
    ours, missing = judged.ours, judged.claim.missing
    return {
        "ours": _value_text(ours.median, unit) if ours else "–",
        "interval": f"{_value_text(ours.low, unit)} – {_value_text(ours.high, unit)}" if ours else "",
        "title": _title(judged, ours) if ours else "",
        "verdict": judged.verdict,
        "missing": missing if judged.verdict == UNFOUNDED else f"missing: {missing}" if missing else judged.remark,
        "class": _class(judged),
    }


def _title(judged: Verdict, ours: Summary) -> str:
    chance = "" if judged.p_adjusted is None else f", by chance {judged.p_adjusted:.2g}"
    return f"{plural(ours.n, 'round')}, level {ours.level:.2f}, {judged.points} figures{chance}"


def _class(judged: Verdict) -> str:
    return {True: "verdict-holds", False: "verdict-fails", None: "verdict-open"}[judged.holds]


def _aside(judged: Verdict) -> str:
    """Remarks: what the statement supposes, and whether the paper contradicts it or has no figures for it."""
    claim = judged.claim
    lost = f"No published figures: {claim.published_lost}." if claim.published_lost else ""
    itself = f"The document itself: {claim.paper_disagrees}." if claim.paper_disagrees else lost
    supposed = f"Premise: {judged.premise}." if judged.premise not in ("", NONE) else ""
    return " ".join(filter(None, (itself, supposed)))


_OVER = {
    "mean": "mean", "every": "every", "largest": "largest", "smallest": "smallest", "share": "share",
    "spread": "largest / smallest",
}  # fmt: skip
_KINDS = {
    "ratio": "{}", "growth": "growth of {}", "step": "greatest step of {}", "lead": "{} / the best of the others",
    "rank": "rank correlation over {}", "fails": "points at which memory ends for {}",
}  # fmt: skip


def _rule_text(judged: Verdict, unit: str) -> str:
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
    return f"{what}{rows}{f', at {where}' if where else ''}: {claim.bound_text(lambda end: _value_text(end, unit))}"


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
    quantity = quantity_of(figure.unit, [row.median for row in rows if row.median])
    unit = f" {quantity.unit}" if quantity.factor else ""

    def text(value: float) -> str:
        return f"{quantity.text(value)}{unit}"

    return [
        {
            "cell": row.cell,
            "figure": row.why_null or row.status if row.median is None else text(row.median),
            "interval": " – ".join(text(end) for end in (row.low, row.high) if end is not None),
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
            rows.append((cell.name, ["–" if value is None else short_text(value) for value in found]))
    return rows
