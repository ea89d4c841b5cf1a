# SPDX-License-Identifier: BSL-1.0
"""The parts of the gain, the other contenders, the processes and inputs of a case, and a prediction's outcome."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from millpond.advice.advice_data import Advice, Alternative
from millpond.report.cases import Case
from millpond.report.figures.specification import Axis, IntervalRow, Intervals
from millpond.report.paired_rounds import Ratio
from millpond.report.views.case_words import EFFECT_WORDS, option_command, option_name, taken_off
from millpond.report.views.choice_view import judging
from millpond.report.views.model import Bullets, Cell, Part, Section, Table, Words, name, section, table
from millpond.statistics.order_statistics import BEYOND_NOISE, Summary
from millpond.system.wording import (
    bytes_text,
    change_text,
    count_text,
    effect_text,
    percent_text,
    plural,
    saved_text,
    yes_or_no_text,
)

_PROCESSES_AT_MOST = 30


def effect_section(case: Case, figures: bool) -> Section | None:
    """Returns the effects of the plan, the best malloc and placement, with every round as a dot."""
    advice = case.advice
    if not advice.rounds and not advice.every_effect:
        return None
    bare = advice.noise.get("cpu_seconds")
    spread = f"; half of the bare program's rounds are within {100 * bare.spread:.1f} %" if bare else ""
    parts: list[Part | None] = [_effects(advice), _intervals(case) if figures else None]
    if case.inputs:
        parts.append(Words("Intervals cover all inputs; the rounds are in the reports of the inputs.", "soft"))
    elif not case.rounds:
        parts.append(Words("The store does not keep the rounds of this run: only their intervals are shown.", "soft"))
    note = f"{plural(advice.rounds, 'round')}{spread}" if advice.rounds else ""
    return section("Parts of the gain", parts, note=note, fold=True)


def _effects(advice: Advice) -> Table:
    found = [(words, advice.every_effect.get(key)) for key, words in EFFECT_WORDS.items()]
    rows = [
        (words, effect_text(effect), saved_text(effect.saved, "seconds"), effect_text(effect.peak))
        for words, effect in found
        if effect and effect.n
    ]
    rows += [(words, change_text(cost), "–", change_text(cost.peak)) for words, cost in taken_off(advice)]
    return table(("what", ">CPU", ">saves", ">peak memory"), rows)


def _intervals(case: Case) -> Intervals | None:
    effects = case.advice.every_effect
    rows = [
        interval_row(words, known, judging(case, e.of_, e.against))
        for key, words in EFFECT_WORDS.items()
        if (e := effects.get(key)) and (known := e.known) is not None
    ]
    caption = (
        "A dot is one round, its contenders run one after the other, each in a fresh process. Line: median; band: "
        "interval."
    )
    axis = Axis(name="change of CPU time", unit="change", log=True)
    return Intervals(title="Rounds", caption=caption, axis=axis, rows=rows) if rows else None


def interval_row(label: str, summary: Summary, ratios: Iterable[Ratio]) -> IntervalRow:
    """Returns the interval of a comparison with its rounds."""
    dots = [(r.value, f"{r.stage}, round {r.round}: {percent_text(r.value)}") for r in ratios]
    verdict = summary.verdict if summary.verdict in BEYOND_NOISE else ""
    return IntervalRow(
        name=label, median=summary.median, low=summary.low, high=summary.high, dots=dots, verdict=verdict,
        text=effect_text(summary),
    )  # fmt: skip


def contender_section(advice: Advice) -> Section | None:
    """Returns every contender that was considered."""
    rows = [
        (
            Cell(option_name(a), note=option_command(a)), a.kind, effect_text(a.cpu) if a.cpu else "–",
            effect_text(a.peak) if a.peak else "–", a.why_null or ("judged" if a.judged else "while choosing"),
        )
        for a in advice.alternatives
    ]  # fmt: skip
    note = _counts(advice.alternatives)
    return section("Other contenders", [table(("what", "kind", ">CPU", ">peak memory", "rounds"), rows)],
                   note=note, fold=True)  # fmt: skip


def _counts(alternatives: tuple[Alternative, ...]) -> str:
    judged = sum(a.judged for a in alternatives)
    return f"{judged} judged, {sum(bool(a.cpu) and not a.judged for a in alternatives)} measured while choosing"


def input_section(case: Case) -> Section | None:
    """Returns the result for each of several inputs."""
    rows = [
        (str(i.number), name(shlex.join(i.arguments)), effect_text(i.effects.get("faster_malloc")),
         effect_text(i.effects.get("placement")), i.verdict)
        for i in case.inputs
    ]  # fmt: skip
    warnings = tuple(f"{row.name}: {row.warning}" for row in case.advice.subsystems if row.warning)
    headings = ("input", "arguments", "a faster malloc", "placement", "by itself")
    return section("Each input", [table(headings, rows), Bullets(warnings)])


def process_section(case: Case) -> Section | None:
    """Returns the processes of a program with several, the analysed one first."""
    program = case.advice.program
    if len(program.processes) < 2:
        return None
    ranked = sorted(program.processes, key=lambda p: p.number != program.analysed)
    rows = [
        (f"{'→ ' if p.number == program.analysed else ''}{p.number}", name(p.words[:200]), count_text(p.events),
         bytes_text(p.bytes))
        for p in ranked[:_PROCESSES_AT_MOST]
    ]  # fmt: skip
    note = f"{len(program.processes)}; the one marked was analysed, --process N analyses another"
    return section("Processes", [table(("N", "program", ">events", ">bytes"), rows)], note=note, fold=True)


def outcome_section(case: Case) -> Section | None:
    """Returns the prediction of an earlier run next to its outcome."""
    found = case.came_out
    if found is None:
        return None
    rows = [(line.words, line.predicted_text, line.measured_text, yes_or_no_text(line.meets)) for line in found.lines]
    headings = ("what", ">predicted", ">came out", "intervals meet")
    return section("Prediction and outcome", [Words(found.heading, "soft"), table(headings, rows)])
