# SPDX-License-Identifier: BSL-1.0
"""A whole case as a view: the answer, the choice, and sections in the order in which a reader needs them.

question ▸ answer ▸ choice ▸ changes ▸ what is not settled ▸ subsystems that matter ▸ reasons, each folded
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from millpond.report.cases import Case, ShownRow
from millpond.report.figures.address_maps import heap_over_time
from millpond.report.figures.icicle_figure import icicle
from millpond.report.views import case_words, effect_view
from millpond.report.views.change_view import change_section, unsettled
from millpond.report.views.choice_view import ChoiceRow, choice_rows
from millpond.report.views.model import Block, Bullets, Part, ReportSection, Words, name, section, table
from millpond.report.views.pattern_view import pattern_sections
from millpond.report.views.phase_view import phase_section
from millpond.report.views.reference_view import reference_section
from millpond.report.views.replay_view import replay_section
from millpond.report.views.subsystem_detail import one_section
from millpond.report.views.subsystem_view import density_note, subsystem_section
from millpond.report.views.symbols_view import symbols_section
from millpond.system.wording import bytes_text, count_text, plural, seconds_text

_PAIRS_AT_MOST = 12
_PATTERN_ROWS = 20
_UNSETTLED_AT_MOST = 5


@dataclass(frozen=True)
class Detail:
    """The amount of detail: rows of the table, subsystems with sections of their own, witnesses a scope, figures."""

    table_rows: int = 40
    subsystems: int = 12
    witnesses: int = 3
    figures: bool = True


TEXT = Detail(15, 0, 0, False)


@dataclass(frozen=True)
class CaseView:
    """One case. `kind` and `headline`: see `case_words.answer`. `facts`: the line on the recording and machine."""

    anchor: str
    command: str
    kind: str
    headline: str
    verdict: str
    warnings: tuple[str, ...]
    choices: tuple[ChoiceRow, ...]
    facts: str
    sections: tuple[ReportSection, ...]
    plan: str
    plan_file: str


def view_of(case: Case, anchor: str = "case", detail: Detail = TEXT) -> CaseView:
    """Makes the view, in time linear in the shown subsystems, plus one pass over the others."""
    kind, headline = case_words.answer(case.advice)
    found = case.advice.plan or case.advice.plan_tried
    plan = json.dumps(found.to_json(), indent=2, ensure_ascii=False) if found else ""
    machine = case.advice.machine or "an unknown machine"
    return CaseView(
        anchor, " ".join(case.argv), kind, headline, case.advice.verdict, tuple(case_words.notes(case)),
        tuple(choice_rows(case)), f"{' · '.join(case_words.facts(case))} · measured on {machine}",
        tuple(part for part in _sections(case, anchor, detail, plan) if part), plan, case_words.plan_name(case),
    )  # fmt: skip


def _sections(case: Case, anchor: str, detail: Detail, plan: str) -> list[ReportSection | None]:
    shown = case.subsystems[: detail.subsystems]
    density = [note] if (note := density_note(case.advice.subsystems)) else []
    anchors = [f"{anchor}-{i}" for i in range(1, len(shown) + 1)]
    return [
        effect_view.input_section(case),
        change_section(case),
        _unsettled(case),
        subsystem_section(case, detail.table_rows, anchors),
        effect_view.outcome_section(case),
        _reasons(case, detail.table_rows),
        phase_section(case.characterisation.phases if case.characterisation else None),
        effect_view.effect_section(case, detail.figures),
        effect_view.contender_section(case.advice),
        replay_section(case),
        _contexts(case) if detail.figures else None,
        _heap(case) if detail.figures else None,
        _patterns(case) if detail.figures else None,
        reference_section(case.advice, detail.figures),
        _each(case, shown, anchors, detail.witnesses),
        _repeat(case, plan),
        section("What was not measured", [Bullets((*case_words.not_measured(case), *density))], fold=True),
        symbols_section(case.advice.symbols),
        effect_view.process_section(case),
    ]


def _unsettled(case: Case) -> ReportSection | None:
    """Returns the first sentences, and the others folded."""
    said = tuple(unsettled(case))
    others = said[_UNSETTLED_AT_MOST:]
    more = section(f"{len(others)} more", [Bullets(others)], fold=True)
    return section("What is not settled", [Bullets(said[:_UNSETTLED_AT_MOST]), more])


def _reasons(case: Case, most: int) -> ReportSection | None:
    lines = [f"{s.row.label}: {s.row.reason}." for s in case.subsystems[: min(most, 15)] if s.row.reason]
    return section("Reasons", [Bullets(tuple(lines))], note=f"of {plural(len(lines), 'subsystem')}", fold=True)


def _each(case: Case, shown: list[ShownRow], anchors: list[str], witnesses: int) -> ReportSection | None:
    parts: list[Part | None] = [one_section(case, s, a, witnesses) for s, a in zip(shown, anchors, strict=True)]
    if shown and not case.characterisation and not case.inputs:
        words = (
            "The store keeps no characterisation of this run: no sizes, no live bytes over time, no map of the heap."
        )
        parts.insert(0, Words(words, "soft"))
    rest = len(case.subsystems) - len(shown)
    words = f"{plural(rest, 'smaller subsystem')} without a part of its own here; the JSON has all."
    note = f"{len(shown)} of {len(case.subsystems)}: allocations, sizes, lifetimes, legality, call stacks"
    return section("Each subsystem", [*parts, Words(words if shown and rest else "", "soft")],
                   note=note, fold=True, details=True)  # fmt: skip


def _heap(case: Case) -> ReportSection | None:
    """Returns the map of the heap over time, and the survivors that keep dead pages."""
    known = case.characterisation
    heat = heap_over_time(known.heat_map, case.names) if known and known.heat_map else None
    if heat is None:
        return None
    return section("The heap over time", [heat, _pins(case)], fold=True, details=True)


def _patterns(case: Case) -> ReportSection | None:
    """Returns what is alive at the end, temporaries and growth, by place in the source."""
    found = pattern_sections(case.characterisation, _PATTERN_ROWS) if case.characterisation else []
    words = "alive at the end, temporaries, growth step by step"
    return section("What a change of the source avoids", found, note=words, fold=True, details=True)


def _contexts(case: Case) -> ReportSection | None:
    """Returns the call tree of the allocations."""
    tree = icicle(case.contexts) if case.contexts else None
    return section("Allocations by call context", [tree], fold=True, details=True)


def _pins(case: Case) -> Part:
    pins = case.characterisation.pins if case.characterisation else None
    if pins is None or not pins.pairs:
        return Words("No dead bytes lie on pages that survivors keep.", "soft")
    first, rest = pins.pairs[:_PAIRS_AT_MOST], pins.pairs[_PAIRS_AT_MOST:]
    words = (
        f"Counted: of the bytes live at the peak ({seconds_text(pins.peak_seconds)}), {bytes_text(pins.dead_bytes)} "
        f"are dead at {seconds_text(pins.time_seconds)} and still occupy pages, because other objects on these pages "
        "are live. A page that several subsystems keep counts for each."
    )
    rows = [(name(p.by), name(p.of), bytes_text(p.bytes), count_text(p.pages)) for p in first]
    more = f"and {len(rest)} smaller pairs: {bytes_text(sum(p.bytes for p in rest))}" if rest else ""
    found = table(("survivors of", "keep dead objects of", ">bytes", ">pages"), rows, caption=more)
    return ReportSection("Dead pages and the survivors that keep them", (Words(words, "soft"), found))


def _repeat(case: Case, plan: str) -> ReportSection | None:
    steps = "\n".join(f"# {what}\n{command}" for what, command in case_words.commands(case))
    words = "The advised plan" if case.advice.plan else "The plan that was tried, and is not advised"
    file = case_words.plan_name(case)
    shown = ReportSection(file, (Block(plan, language="json"),), note=words, fold=True, details=True) if plan else None
    return section("Repeat it", [Block(steps, language="sh"), shown], note=f"run {case.run or 'unknown'}", fold=True)
