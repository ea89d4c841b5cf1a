# SPDX-License-Identifier: BSL-1.0
"""What the page shows of one case, as plain data for its template: numbers as texts, figures as markup."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from millpond.advice.advice_data import AnalysedProgram, Row
from millpond.advice.prediction_outcome import WORDS
from millpond.report import replay_words, report_words
from millpond.report.cases import Case, ShownRow
from millpond.report.figures import flat_figures, heap_figures, round_figures
from millpond.report.figures.round_figures import JUDGING
from millpond.report.page_subsystem import subsystem_view
from millpond.report.terminal import EFFECT_WORDS
from millpond.system.wording import (
    bytes_text,
    count_text,
    effect_text,
    interval_text,
    percent_text,
    plural,
    saved_text,
    seconds_text,
    share_text,
)

_LABELS = {
    "net": "the plan",
    "faster_malloc": "the best malloc",
    "huge_pages": "glibc on huge pages",
    "placement": "placement",
    "total": "the plan with look-ups",
}
_PINS_AT_MOST = 12
_PROCESSES_AT_MOST = 30
_REPLAY_AT_MOST = 40
_WORDS_AT_MOST = 200


@dataclass(frozen=True)
class Detail:
    """How much of a case is shown: rows of the table, subsystems with a part of their own, witnesses a scope."""

    table_rows: int
    subsystems: int
    witnesses: int
    figures: bool


def case_view(case: Case, anchor: str, detail: Detail) -> dict[str, Any]:
    """Everything that report_case.html.j2 names. Linear in what is shown, once in the subsystems that are not."""
    advice = case.advice
    kind, headline = report_words.answer(advice)
    shown = _shown(case.subsystems, detail.table_rows)
    parts = shown[: detail.subsystems]
    heat = case.characterisation.heat_map if case.characterisation and detail.figures else None
    return {
        "anchor": anchor,
        "run": case.run,
        "argv": " ".join(case.argv),
        "kind": kind,
        "headline": headline,
        "verdict": advice.verdict,
        "notes": report_words.notes(case),
        "effects": report_words.effects(advice) if advice.rounds else [],
        "letters": report_words.DVLUC_NAMES,
        "rows": [_row(s.row, case, f"{anchor}-{i}" if i <= len(parts) else "") for i, s in enumerate(shown, 1)],
        "rest": rest_text(case.subsystems[len(shown) :]),
        "facts": report_words.facts(case),
        "machine": advice.machine or "an unknown machine",
        "strips": _strips(case) if detail.figures else None,
        "replay": replay_words.lines(case)[:_REPLAY_AT_MOST],
        "replay_words": replay_words.sentence(case),
        "inputs": [{"number": i.number, "words": " ".join(i.arguments), "verdict": i.verdict} for i in case.inputs],
        "came_out": _came_out(case),
        "heat": heap_figures.heat_map(heat, case.names) if heat else None,
        "pins": _pins(case) if detail.figures else None,
        "details": [subsystem_view(s, case, f"{anchor}-{i}", detail.witnesses) for i, s in enumerate(parts, 1)],
        "details_rest": _untold(len(case.subsystems) - len(parts)),
        "uncharacterised": "" if case.characterisation or case.inputs else (
            "The store keeps no characterisation of this run: no sizes, no live bytes over time, no map of the heap."
        ),
        "plan": _plan(case),
        "commands": report_words.commands(case),
        "not_measured": report_words.not_measured(case),
        "processes": _processes(advice.program),
    }  # fmt: skip


def _shown(subsystems: list[ShownRow], rows: int) -> list[ShownRow]:
    advised = sum(s.row.pays for s in subsystems)
    return subsystems[: max(rows, min(advised, 2 * rows))]


def rest_text(rest: list[ShownRow]) -> str:
    """What is not shown, summed: nothing is left out silently."""
    if not rest:
        return ""
    rows = [shown.row for shown in rest]
    tried = sum(bool(row.cpu_ratio and row.cpu_ratio.n) for row in rows)
    return (
        f"and {len(rest)} smaller ones: {bytes_text(sum(row.bytes or 0 for row in rows))}, "
        f"{count_text(sum(row.events or 0 for row in rows))} events; {tried or 'none'} of them tried; "
        "JSON and CSV have all"
    )


def _untold(number: int) -> str:
    return f"{plural(number, 'smaller subsystem')} without a part of its own here; JSON has all." if number > 0 else ""


def _row(row: Row, case: Case, anchor: str) -> dict[str, Any]:
    share = report_words.cpu_share(row, case.trace)
    legal, words = report_words.short_legality(row.legality)
    mark = {"yes": "✓ ", "perhaps": "? ", "no": "✗ "}.get(legal, "")
    ratio = row.cpu_ratio.known if row.cpu_ratio else None
    return {
        "anchor": anchor,
        "name": row.name,
        "kind": row.kind or "",
        "pays": row.pays,
        "bytes": row.bytes or 0,
        "bytes_text": bytes_text(row.bytes),
        "events": row.events or 0,
        "events_text": count_text(row.events),
        "cpu": share or 0,
        "cpu_text": "–" if share is None else f"{100 * share:.1f} %",
        "dvluc": [_letter(letter, row) for letter in report_words.DVLUC_NAMES],
        "advice": report_words.short_advice(row),
        "reason": row.reason,
        "gain_sort": 1 - ratio.median if ratio else -9,
        "gains": _gains(row),
        "legal": mark + words,
    }


def _letter(letter: str, row: Row) -> dict[str, Any]:
    found = row.dimension(letter)
    value, why = found.value, found.why_null or found.kind or "unknown"
    return {
        "letter": letter,
        "value": -1 if value is None else value,
        "text": share_text(value),
        "title": f"{report_words.DVLUC_NAMES[letter]}: {why}",
        "meter": flat_figures.meter(value),
    }


def _gains(row: Row) -> list[dict[str, str]]:
    """CPU time, then resident bytes where they changed; each with its interval."""
    ratio, saved = row.cpu_ratio.known if row.cpu_ratio else None, row.saves_bytes.known
    if ratio is None:
        return [{"kind": "", "text": "–", "interval": ""}]
    words = percent_text(ratio.median) if ratio.verdict != "inside noise" else "inside noise"
    kind = ratio.verdict if ratio.verdict in ("better", "worse") else ""
    found = [{"kind": kind, "text": f"{words} CPU" if kind else words, "interval": interval_text(ratio)}]
    if saved and saved.verdict in ("better", "worse"):
        sign = "saves" if saved.median > 0 else "costs"
        ends = sorted((abs(saved.low), abs(saved.high)))
        found.append({
            "kind": saved.verdict,
            "text": f"{sign} {bytes_text(abs(saved.median))}",
            "interval": f"{bytes_text(ends[0])} to {bytes_text(ends[1])} at the peak",
        })  # fmt: skip
    return found


def _strips(case: Case) -> dict[str, Any] | None:
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
        {
            "label": _LABELS[name],
            "what": EFFECT_WORDS[name],
            "figure": round_figures.strip(axis, known, rounds[name]),
            "text": effect_text(known),
            "saved": saved_text(effect.saved, "seconds") if known.verdict != "inside noise" else "",
        }
        for name, (effect, known) in measured.items()
    ]
    missing = "" if case.rounds else "The store does not keep the rounds of this run: only their intervals are shown."
    if case.inputs:
        missing = "Intervals over all inputs; the rounds are in the reports of the inputs."
    return {"rows": rows, "scale": round_figures.scale(axis), "no_rounds": missing}


def _came_out(case: Case) -> dict[str, Any] | None:
    found = case.came_out
    if found is None:
        return None
    return {
        "heading": found.heading,
        "rows": [
            {"what": WORDS[line.metric], "predicted": line.predicted_text, "measured": line.measured_text,
             "meets": "–" if line.meets is None else "yes" if line.meets else "no"}
            for line in found.lines
        ],
    }  # fmt: skip


def _pins(case: Case) -> dict[str, Any] | None:
    pins = case.characterisation.pins if case.characterisation else None
    if pins is None or not pins.pairs:
        return None
    rest = pins.pairs[_PINS_AT_MOST:]
    return {
        "sentence": (
            f"Counted: of what was live at the peak ({seconds_text(pins.peak_seconds)}), "
            f"{bytes_text(pins.dead_bytes)} are dead at {seconds_text(pins.time_seconds)} and still "
            "occupy pages, because something else on these pages lives. A page that several keep counts for each."
        ),
        "pairs": [
            {"by": p.by, "of": p.of, "bytes": bytes_text(p.bytes), "pages": count_text(p.pages)}
            for p in pins.pairs[:_PINS_AT_MOST]
        ],
        "rest": f"and {len(rest)} smaller pairs: {bytes_text(sum(p.bytes for p in rest))}" if rest else "",
    }


def _plan(case: Case) -> dict[str, Any] | None:
    plan = case.advice.plan or case.advice.plan_tried
    if plan is None:
        return None
    text = json.dumps(plan.to_json(), indent=2, ensure_ascii=False)
    data = base64.b64encode((text + "\n").encode()).decode()
    return {
        "words": "The plan that is advised:" if case.advice.plan else "The plan that was tried, and is not advised:",
        "file": report_words.plan_name(case),
        "data": f"data:application/json;base64,{data}",
        "text": text,
    }


def _processes(program: AnalysedProgram) -> list[dict[str, Any]]:
    if len(program.processes) < 2:
        return []
    largest = sorted(program.processes, key=lambda p: p.number != program.analysed)[:_PROCESSES_AT_MOST]
    return [
        {
            "mark": "→ " if p.number == program.analysed else "",
            "number": p.number,
            "words": p.words[:_WORDS_AT_MOST],
            "events": count_text(p.events),
            "bytes": bytes_text(p.bytes),
        }
        for p in largest
    ]
