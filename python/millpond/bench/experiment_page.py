# SPDX-License-Identifier: BSL-1.0
"""The page of published experiments: each of the document's tables beside ours, their ratio, then its statements.

    table of the document │ the same of ours │ ours / the document's │ peak resident bytes      one row for each table
    statement │ rule │ the document's figure │ ours with its interval │ verdict                 one row for each claim

One offline file: no network, no script but the report's own, colours by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millpond.bench import counter_table
from millpond.bench.charts import PUBLISHED, Chart, charts
from millpond.bench.claim_rules import FAILS, HOLDS, Claim, Verdict, heading
from millpond.bench.experiment_rounds import SuiteProgram
from millpond.bench.experiment_run import Found
from millpond.bench.library.library_table import number_text
from millpond.bench.terminal_table import claims_line
from millpond.report.figures.offline_page import load
from millpond.store.observations import heap_state
from millpond.system.machine import this_machine
from millpond.system.wording import plural

_BESIDE_AT_MOST = 400
_BOTH = (
    "Published on the left, ours beside it with the same colours, pale for little and dark for much; then ours / "
    "published, and the bytes that were resident at most."
)
_OURS = "Ours, pale for little and dark for much, and the bytes resident at most. There are no published figures."


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
    claims_heading: str
    claims: list[dict[str, str]]
    claims_line: str
    beside: list[dict[str, str]]
    omitted: int
    counters: list[str]
    counted: list[tuple[str, list[str]]]
    uncounted: int


def render(found: Sequence[Found]) -> str:
    """The page for these experiments, in their order."""
    page = load("report.js", "report.css", "experiment.css")
    names = ", ".join(one.run.experiment.name for one in found)
    return page.render(
        "experiment.html.j2",
        title=f"Millpond: {names} beside the published figures",
        machine=str(this_machine()),
        sections=[_section(one) for one in found],
    )


def _section(found: Found) -> Section:
    experiment, results = found.run.experiment, found.results
    states = dict.fromkeys(heap_state(cell) for cell in found.run.cells)
    rounds = max((o.round for o in found.outcomes), default=0)
    facts = [
        f"{plural(rounds, 'round')} of {plural(len(found.run.cells), 'cell')}",
        f"heap {', '.join(states)}", f"seed {found.asked.seed}", *_programs(found.run.programs),
        f"run {found.run.journal.run}",
    ]  # fmt: skip
    beside = _beside(found)
    drawn = charts(results)
    published = any(table.caption == PUBLISHED for chart in drawn for table in chart.tables)
    counted = counter_table.by_cell(results)
    return Section(
        experiment.name, f"{experiment.name}: {experiment.title}", experiment.source, experiment.machine,
        experiment.section, experiment.measured, facts,
        found.notes, _BOTH if published else _OURS, drawn,
        heading(experiment.claims), [_claim(c) for c in found.claims],
        claims_line(found.claims) if found.claims else "", beside[:_BESIDE_AT_MOST],
        max(0, len(beside) - _BESIDE_AT_MOST), counter_table.headings(results), counted[:_BESIDE_AT_MOST],
        max(0, len(counted) - _BESIDE_AT_MOST),
    )  # fmt: skip


def _programs(programs: Sequence[SuiteProgram]) -> list[str]:
    """Who built the programs, and what they ran on: `clang, tcmalloc: clang++ 19.1.7, libstdc++ 12, …/libtcmalloc…`."""
    facts = []
    for one in programs:
        around = str(one.around)
        known = [one.built_by, *([one.malloc] if one.around.malloc else [])]
        facts.append(f"{around}: {', '.join(filter(None, known)) or 'unknown'}" if around else one.built_by)
    return [fact for fact in facts if fact]


def _claim(judged: Verdict) -> dict[str, str]:
    claim, ours = judged.claim, judged.ours
    low_high = f"{number_text(ours.low)} – {number_text(ours.high)}" if ours else ""
    published = number_text(judged.published) if judged.published is not None else "–"
    return {
        "id": claim.id,
        "section": claim.section,
        "statement": claim.statement,
        "rule": _rule_text(judged),
        "published": published,
        "aside": _aside(claim),
        "ours": number_text(ours.median) if ours else "–",
        "interval": low_high,
        "title": f"{plural(ours.n, 'round')}, level {ours.level:.2f}, {judged.points} figures" if ours else "",
        "verdict": judged.verdict,
        "missing": claim.missing,
        "class": {HOLDS: "verdict-holds", FAILS: "verdict-fails"}.get(judged.verdict, "verdict-open"),
    }


def _aside(claim: Claim) -> str:
    """What the document has against its own statement, or why it has no figures for it."""
    if claim.paper_disagrees:
        return f"The document itself: {claim.paper_disagrees}."
    return f"No published figures: {claim.published_lost}." if claim.published_lost else ""


_KINDS = {
    "ratio": "mean of", "largest": "largest", "smallest": "smallest", "best_of": "share of points won by",
    "growth": "growth of", "fails": "share of points at which memory ends for",
}  # fmt: skip


def _rule_text(judged: Verdict) -> str:
    """What is put against the bound, in a few words."""
    claim = judged.claim
    if claim.kind == "untestable":
        return ""
    of = ", ".join(dict.fromkeys(claim.of))
    quotient = f"{of} / {', '.join(dict.fromkeys(claim.against))}" if claim.against else of
    quotient = f"{quotient} ({claim.metric})" if claim.metric else quotient
    if claim.kind == "share":
        each = f"≥ {claim.at_least:g}" if claim.at_most == float("inf") else f"≤ {claim.at_most:g}"
        what = f"share of {quotient} {each}"
    else:
        what = f"{_KINDS[claim.kind]} {quotient}"
    where = ", ".join(f"{k} {_where(v)}" for k, v in claim.where.items())
    rows = f" from {claim.axis} {claim.first} to {claim.last}" if claim.axis else ""
    return f"{what}{rows}{f', at {where}' if where else ''}: {claim.bound_text()}"


def _where(wanted: Any) -> str:
    if isinstance(wanted, dict):
        words = {"from": "≥ {}", "to": "≤ {}", "below": "< {}", "is": "= {}"}
        return " and ".join(words[key].format(value) for key, value in wanted.items())
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else f"= {wanted}"


def _beside(found: Found) -> list[dict[str, str]]:
    """Figures that lie beside the document's tables: other orders, other shuffles, shared allocators."""
    figure = found.run.experiment.figure
    if found.run.experiment.tables.own_rows:
        return []
    rows = [
        row for row in found.results.summary()
        if row["metric"] == figure.name and row["published_unit"] is None and not found.results.has_published_row(row)
    ]  # fmt: skip
    return [
        {
            "cell": row["cell"],
            "figure": number_text(row["median"]) if row["n"] else row["why_null"] or row["status"],
            "interval": f"{number_text(row['low'])} – {number_text(row['high'])}" if row["n"] else "",
            "ratio": number_text(row["ratio_to_baseline"]) if row["ratio_to_baseline"] is not None else "–",
        }
        for row in rows
    ]
