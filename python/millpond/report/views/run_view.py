# SPDX-License-Identifier: BSL-1.0
"""The results of `millpond trace show` and `millpond try` as sections."""

from __future__ import annotations

from millpond.advice.missing_symbols import missing_symbols
from millpond.advice.row_reasons import legality_text
from millpond.report.views.case_words import EFFECT_WORDS, trace_warnings, window_text
from millpond.report.views.model import Bullets, Part, ReportSection, Row, Table, Words, name, several, table
from millpond.report.views.pattern_view import pattern_sections
from millpond.report.views.phase_view import phase_section
from millpond.report.views.sample_view import estimated_subsystems, sample_note, sample_warnings
from millpond.report.views.subsystem_view import density_note, letters_text
from millpond.report.views.symbols_view import symbols_section
from millpond.rounds.characterisation import Characterisation, ReferenceFacts, SubsystemFacts
from millpond.rounds.trial_data import TrialResult
from millpond.system.wording import (
    bytes_text,
    count_text,
    effect_text,
    percent_text,
    plural,
    seconds_text,
    share_text,
)

# Levels for a terminal, the most detailed first, and for a page: the most rows of subsystems, and of each pattern.
ANSWER = ((15, 5), (12, 4), (10, 3), (8, 3), (6, 3), (5, 3), (4, 3), (4, 2), (3, 2), (2, 1))
PAGE = (100, 50)
MARKDOWN = (20, 10)
_TRIAL_EFFECTS = (*EFFECT_WORDS, "shared_pool", "shared_pool_huge", "interposer", "look_up")


def characterisation_section(data: Characterisation, rows: tuple[int, int] = ANSWER[0]) -> ReportSection:
    """Returns the facts of a trace, each subsystem's memory use, what is left, temporaries and growth. `rows`: the most
    of subsystems, and of each pattern.
    """
    trace = data.trace
    named = trace.named_share
    said = [
        f"{count_text(trace.events)} heap events", f"{bytes_text(trace.bytes)} allocated",
        f"{bytes_text(trace.peak_live_bytes)} live at the peak", plural(trace.threads or 1, "thread"),
        "names unknown" if named is None else f"{100 * named:.0f} % of events are from functions with a name",
    ]  # fmt: skip
    below = [
        letters_text(data.subsystems), window_text(data.window) if data.window else "", density_note(data.subsystems),
        _references_text(data.references) if data.references else "",
    ]  # fmt: skip
    symbols = symbols_section(missing_symbols(trace))
    phases = phase_section(data.phases)
    if trace.intervals:
        subsystems = estimated_subsystems(data.subsystems, rows[0])
        below = [sample_note(trace)]
    else:
        subsystems = _subsystems(data.subsystems, rows[0])
    parts: list[Part] = [
        Words(", ".join(said)), Bullets((*sample_warnings(trace), *trace_warnings(trace))), subsystems,
        *map(Words, filter(None, below)), *filter(None, [phases, *pattern_sections(data, rows[1]), symbols]),
    ]  # fmt: skip
    return ReportSection(data.process.words, tuple(parts))


def _subsystems(subsystems: tuple[SubsystemFacts, ...], most: int) -> Table:
    rows: list[Row] = [
        (
            name(s.label), s.kind or "", count_text(s.events), bytes_text(s.bytes), bytes_text(s.peak_live_bytes),
            *[share_text(s.dimension(letter).value) for letter in "DVLUC"], legality_text(s.legality),
        )
        for s in subsystems[:most]
    ]  # fmt: skip
    headings = ("subsystem", "kind", ">events", ">bytes", ">peak live", *(f">{letter}" for letter in "DVLUC"))
    caption = several(subsystems, most, "subsystems, all smaller")
    return table((*headings, "legality"), rows, caption=caption, title="Subsystems")


def _references_text(counted: ReferenceFacts) -> str:
    """Returns one line on the references of a trace as a whole."""
    misses = counted.misses
    return (
        f"D, L and C are counted from {count_text(counted.references)} references. L = I/(I + M·T): I references to a "
        f"subsystem's objects, M the most cache lines that hold them, T transitions to other subsystems. The "
        f"allocator executes {share_text(counted.instruction_share)} of the instructions; in a cache of "
        f"{bytes_text(counted.cache.bytes)} the program misses {count_text(misses.get('program'))} times, "
        f"{count_text(misses.get('indirect'))} of them on lines that the allocator evicted."
    )


def trial_section(trial: TrialResult) -> ReportSection:
    """Returns each contender of a trial, then each plan's effects."""
    metrics = (("cpu_seconds", seconds_text), ("wall_seconds", seconds_text), ("peak_bytes", bytes_text),
               ("page_faults", count_text))  # fmt: skip
    rows: list[Row] = [
        (name(c.name), *(show(c.metrics[m].median) if m in c.metrics else "–" for m, show in metrics))
        for c in trial.contenders
    ]
    effects = []
    for plan in trial.plans:
        for key, found in plan.effects.items():
            if key in _TRIAL_EFFECTS:
                peak = found.get("peak_bytes")
                label = key if len(trial.plans) == 1 else f"{plan.name}: {key}"
                memory = f"{percent_text(peak.median)}, {peak.verdict}" if peak else "–"
                effects.append((label, effect_text(found.get("cpu_seconds")), memory))
    title = f"{plural(trial.rounds, 'round')} of each"
    return ReportSection("", (
        table(("contender", ">CPU", ">wall", ">peak resident", ">faults"), rows, title=title),
        table(("what", ">CPU", ">peak resident"), effects, title="Effects"), Bullets(tuple(trial.notes)),
    ))  # fmt: skip
