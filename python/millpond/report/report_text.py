# SPDX-License-Identifier: BSL-1.0
"""The texts of every form of the report: the answer, the gain of each subsystem, the limits, and how to repeat it.

The page, the terminal and the Markdown only lay them out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.advice.advice_data import Advice, AnalysedProgram, Change, Effect, Row
from millpond.cells.plan_file import PlanFile
from millpond.cells.plans import ARENA, SUFFIX
from millpond.report.cases import Case, ShownRow
from millpond.rounds.characterisation import (
    ALIVE_AT_END,
    NOT_DECIDED,
    NOT_DISPROVED,
    OUTERMOST,
    Dimension,
    RecordedTrace,
    ScopeLegality,
    SubsystemFacts,
    TraceSummary,
    Window,
)
from millpond.rounds.fresh_process import describe
from millpond.rounds.schedule import FEWEST_VERDICT_ROUNDS
from millpond.system.wording import (
    bytes_text,
    count_text,
    interval_text,
    list_text,
    percent_text,
    plural,
    seconds_text,
)

# The origin of a figure, by the observations' `kind`.
KINDS = {
    "measured": "by a clock or the kernel, in fresh processes, with contenders taking turns",
    "counted": "exactly, from every event of the trace",
    "estimated": "from a sample of operations (1 in 64 is timed), or from shares that are assumed to be independent",
}
EFFECT_WORDS = {
    "net": "the plan, without a trial's own cost",
    "faster_malloc": "the best malloc of this machine",
    "huge_pages": "the C library's malloc on huge pages",
    "placement": "placement (the plan against all its objects in one pool)",
    "total": "the plan as it was tried, with look-ups",
}
# Costs of the trial that a change of the source does not have; subtracted in `net`.
COST_WORDS = {
    "look_up_extra": "looking up the allocating code, in a trial only",
    "pool_extra": "the extra cost of an allocation with its free in a trial",
}
DVLUC_NAMES = {"D": "density", "V": "variation", "L": "locality", "U": "utilization", "C": "contention"}
_SHORT_AT_MOST = 44
_NAME_AT_MOST = 60
_POOLS_AT_MOST = 4
_MODULES_AT_MOST = 6


@dataclass(frozen=True)
class EffectWords:
    """One figure of the first screen. `change` is empty if nothing was measured."""

    label: str
    change: str
    interval: str
    verdict: str
    title: str


def answer(advice: Advice) -> tuple[str, str]:
    """Returns the kind of answer (pays, other, nothing, unknown), and the answer in one line.

    Follows the same rules as the advice's own sentence, which stands below it with the figures.
    """
    kind = advice.choice.kind if advice.choice else ""
    pools = ""
    if advice.plan:
        what = "an arena for a scope pays" if advice.plan.has_arena else "local pools pay"
        pools = f"{what}, for {list_text(_pools(advice.plan, advice.confirmed))}"
        if kind == "plan" or advice.inputs:
            return "pays", f"Yes: {pools}."
    if not advice.rounds and kind == "nothing":
        return "nothing", "No: the program allocates too little for an allocator to matter."
    if not advice.rounds:
        return "unknown", "Nothing was tried, so nothing is advised."
    if advice.choice and kind == "malloc":
        malloc = f"another malloc helps, {advice.choice.command}"
        return "other", f"Better still, {malloc}; {pools}, too." if pools else f"Not a local allocator: {malloc}."
    if advice.rounds < FEWEST_VERDICT_ROUNDS:
        return "unknown", f"Not enough time: {plural(advice.rounds, 'round')} cannot give a verdict."
    if kind == "trade":
        return "other", "A trade: a contender saves CPU but costs memory, or the other way round."
    if kind == "undecided":
        return "unknown", "Not settled: a contender looks better, and more rounds must confirm it."
    return "nothing", "No: nothing beats the unchanged program."


def _pools(plan: PlanFile, confirmed: set[str]) -> list[str]:
    """Returns the subsystems for which the plan is advised; without any, those of the whole plan."""
    routes = [r for r in plan.routes if not r.of_rest]
    pools = [name for r in routes for name in (r.subsystems if r.scope else [r.pool])]
    chosen = [p for p in pools if p in confirmed] or pools
    names = [p if len(p) <= _NAME_AT_MOST else f"{p[:_NAME_AT_MOST]}…" for p in chosen[:_POOLS_AT_MOST]]
    more = len(chosen) - len(names)
    return [*names, f"{more} more"] if more else names


def taken_off(advice: Advice) -> list[tuple[str, Effect]]:
    """Returns the measured costs between the plan as it was tried and the plan net."""
    found = ((words, advice.sums.get(name)) for name, words in COST_WORDS.items())
    return [(words, effect) for words, effect in found if effect and effect.n]


def effects(advice: Advice) -> list[EffectWords]:
    """Returns the figures of the first screen: CPU and peak memory of the plan and of the best malloc; placement."""
    found = []
    every = advice.every_effect
    for name, label in (("net", "the plan"), ("faster_malloc", "the best malloc")):
        summary = every.get(name)
        peak = summary.peak if summary else None
        found.append(_effect(f"{label}, CPU", summary, EFFECT_WORDS[name]))
        found.append(_effect(f"{label}, peak memory", peak, EFFECT_WORDS[name]))
    return [*found, _effect("placement, CPU", every.get("placement"), EFFECT_WORDS["placement"])]


def _effect(label: str, change: Change | None, title: str) -> EffectWords:
    known = change.known if change else None
    if known is None:
        return EffectWords(label, "", "", "not measured", title)
    return EffectWords(
        label, percent_text(known.median), interval_text(known), known.verdict,
        f"{title}; median of {plural(known.n, 'round')}, {100 * known.level:.0f} % interval ({known.method})",
    )  # fmt: skip


def events_text(number: float | None, word: str = "event") -> str:
    """Returns `1 event`, `455 k events`."""
    return f"{count_text(number)} {word}{'' if number == 1 else 's'}"


def cpu_share(row: Row, trace: RecordedTrace) -> float | None:
    """Returns the estimated share of the CPU time in the subsystem's operations; None if unknown or impossible."""
    seconds = (row.dimension("D").absolute or {}).get("operation_seconds")
    share = seconds / trace.cpu_seconds if seconds is not None and trace.cpu_seconds else None
    return share if share is not None and share <= 1 else None  # an estimate above the whole CPU time is useless


def density_text(d: Dimension) -> str:
    """Returns the origin of a value of D: the kind with the method, or the reason why it is unknown."""
    return d.why_null or (f"{d.kind}, from {d.method}" if d.method else d.kind or "unknown")


def density_note(subsystems: Sequence[SubsystemFacts]) -> str:
    """Returns the sources of D, and why it is unknown for some subsystems; empty without either."""
    every = [s.dimension("D") for s in subsystems]
    methods = dict.fromkeys(d.method for d in every if d.value is not None and d.method)
    unknown = [d for d in every if d.value is None]
    reasons = dict.fromkeys(d.why_null for d in unknown if d.why_null)
    said = [f"D is from {list_text(list(methods))}."] if methods else []
    said += [f"D is unknown for {len(unknown)} of {len(every)}: {'; '.join(reasons)}."] if reasons else []
    return " ".join(said)


def window_text(window: Window) -> str:
    """Returns the part of the trace that the dimensions cover."""
    return (
        f"D, V, U and C cover the window {window.text}: events {window.first_event} to {window.last_event}, "
        f"{seconds_text(window.from_seconds)} to {seconds_text(window.to_seconds)} after the start."
    )


def short_advice(row: Row) -> str:
    """Returns the advice on a subsystem in a few words; the row's `reason` has the rest."""
    if row.pays:
        own = "arena" if row.best == ARENA else "own pool"
        return f"{own} ({row.best}){', in some inputs only' if row.warning else ''}"
    if row.cpu_ratio and row.cpu_ratio.n:
        words = {"worse": "nothing: a pool costs time", "better": "nothing: gain not confirmed"}
        return words.get(row.cpu_ratio.verdict, f"nothing: {row.cpu_ratio.verdict}")
    text = row.reason.removeprefix("not tried: ").split(";")[0]
    text = text.replace("too small a part of the heap to matter", "too small to matter")
    return f"not tried: {text}" if len(text) <= _SHORT_AT_MOST else "not tried"


def short_legality(scopes: Sequence[ScopeLegality]) -> tuple[str, str]:
    """Returns whether some scope could own an arena (yes, perhaps, no, unknown), and which, in a few words.

    "perhaps": no object was seen to outlive the scope, but its activations were not observed.
    """
    for mark, found, words in (
        ("yes", [s for s in scopes if s.legal], ""),
        ("perhaps", [s for s in scopes if s.legality == OUTERMOST], " (outermost call)"),
        ("perhaps", [s for s in scopes if s.legality == NOT_DISPROVED], " (not observed)"),
        ("unknown", [s for s in scopes if s.legality == NOT_DECIDED], " (not decided)"),
        ("perhaps", [s for s in scopes if s.legality == ALIVE_AT_END], " (alive at the end)"),
    ):
        if found:
            return mark, f"{_scope(found[0])}{words}" + (f" +{len(found) - 1}" if len(found) > 1 else "")
    return ("no", "only the whole process") if scopes else ("unknown", "unknown")


def _scope(scope: ScopeLegality) -> str:
    return "one thread" if scope.scope == "thread" else scope.name


def notes(case: Case) -> list[str]:
    """Returns the notes of advise, without those that the report writes in its own words."""
    return [note for note in dict.fromkeys(case.advice.notes) if not note.startswith("replay: ")]


def rest_text(rest: list[ShownRow]) -> str:
    """Returns the sums of the rows that are not shown."""
    if not rest:
        return ""
    rows = [shown.row for shown in rest]
    tried = sum(bool(row.cpu_ratio and row.cpu_ratio.n) for row in rows)
    return (
        f"and {len(rest)} smaller ones: {bytes_text(sum(row.bytes or 0 for row in rows))}, "
        f"{count_text(sum(row.events or 0 for row in rows))} events; {tried or 'none'} of them tried; "
        "the JSON and CSV have all"
    )


def trace_warnings(trace: TraceSummary) -> list[str]:
    """Returns warnings about a trace that limit the trust in its figures."""
    warnings = []
    if trace.lost:
        warnings.append(f"{count_text(trace.lost)} events are lost")
    if trace.damages:
        first = trace.damages[0]
        warnings.append(f"{plural(len(trace.damages), 'damage')}, the first at offset {first.offset}: {first.what}")
    if trace.clean is False:
        warnings.append("the program did not end normally; its trace was salvaged")
    if trace.partial:
        warnings.append(f"partial: {trace.partial}")
    elif trace.stopped_early:
        warnings.append("recording stopped before the program did")
    return warnings


def not_measured(case: Case) -> list[str]:
    """Returns the limits of the figures, one sentence each."""
    trace, program = case.trace, case.advice.program
    said = list(trace_warnings(trace))
    if program.signal or program.exit:
        said.append(f"the program {describe(program.exit or 0, program.signal or 0)} when it was recorded")
    named = trace.named_share
    if named is not None and named < 0.9995:
        said.append(f"{100 * (1 - named):.1f} % of the events are from functions without symbols")
    nameless = [Path(module.path).name for module in trace.modules_without_names or ()]
    if nameless:
        more = len(nameless) - _MODULES_AT_MOST
        shown = [*nameless[:_MODULES_AT_MOST], *([f"{more} more"] if more > 0 else [])]
        said.append(f"modules without symbols: {list_text(shown)}")
    if trace.aliasing and trace.aliasing.share:
        said.append(f"{100 * trace.aliasing.share:.2f} % of the sampled contexts were attributed to a wrong stack")
    provider = case.characterisation.process.malloc_provider if case.characterisation else None
    if provider and provider != "libc":
        said.append(f"the program has its own malloc ({provider}); it was recorded, and replaced in the rounds")
    for count, words in (
        (trace.unmatched_frees, "frees of objects whose allocation was not recorded"),
        (trace.frees_not_seen, "objects whose free was not recorded"),
        (trace.failed, "allocations that failed"),
    ):
        if count:
            said.append(f"{count_text(count)} {words}")
    said += _skipped_processes(program)
    peak = case.rounds.median("bare", "peak_bytes")
    live = trace.peak_live_bytes
    if peak and live is not None:
        said.append(
            f"memory outside malloc: of {bytes_text(peak)} peak resident, {bytes_text(live)} were live heap objects; "
            "the rest is code, stacks, mappings and memory held by the allocator"
        )
    if all(row.dimension("L").value is None for row in case.advice.subsystems):
        said.append("locality (L): no data references were captured")
    said.append(
        "winking out: impossible in an unmodified program"
        + ("; replay predicts some of it" if replayed(case) else "; not replayed")
    )
    return said


def _skipped_processes(program: AnalysedProgram) -> list[str]:
    others = [p for p in program.processes if p.number != program.analysed]
    if not others:
        return []
    amount = bytes_text(sum(p.bytes or 0 for p in others))
    return [f"{plural(len(others), 'other process')} of the program, {amount} allocated (--process N analyses one)"]


def plan_name(case: Case) -> str:
    """Returns the file name of the plan, for the commands and the download."""
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', case.name).strip('-') or 'program'}{SUFFIX}"


def commands(case: Case) -> list[tuple[str, str]]:
    """Returns the commands that repeat the results, in order: (description, the command quoted for a shell)."""
    program = shlex.join(case.argv)
    if case.inputs:
        lines = " ".join(shlex.quote(shlex.join(i.arguments)) for i in case.inputs)
        return [
            ("the inputs, one on each line", f"printf '%s\\n' {lines} > inputs.txt"),
            ("the whole advice again", f"millpond advise --inputs inputs.txt -- {program}"),
        ]
    stem = plan_name(case).removesuffix(SUFFIX)
    plan, trace = shlex.quote(plan_name(case)), shlex.quote(f"{stem}.mpt")
    seed = f" --seed {case.advice.seed}" if case.advice.seed is not None else ""
    steps = [
        ("the whole advice again", f"millpond advise{seed} -- {program}"),
        ("record every heap event", f"millpond trace record -o {trace} -- {program}"),
        ("subsystems, legality, candidate plans", f"millpond trace show {trace} -o plans/"),
    ]
    if case.advice.plan_tried:
        steps.append(("the plan against every control", f"millpond try --plan {plan} -- {program}"))
        if not case.advice.plan_tried.has_arena:  # a replay resets no arena
            steps.append(("the same plan on the recorded trace", f"millpond trace replay --plan {plan} {trace}"))
    if case.advice.plan:
        steps.append(("after the change: compare with the prediction", f"millpond compare --after NEW -- {program}"))
    return steps


def facts(case: Case) -> list[str]:
    """Returns the facts on the recording and the machine: the line under the verdict."""
    trace = case.trace
    found = [
        events_text(trace.events, "heap event"),
        f"{bytes_text(trace.bytes)} allocated",
        f"{bytes_text(trace.peak_live_bytes)} live at the peak",
        plural(trace.threads or 1, "thread"),
    ]
    if trace.cpu_seconds is not None:
        found.append(f"{seconds_text(trace.cpu_seconds)} CPU under the recorder")
    if case.advice.rounds:
        found.append(f"{plural(case.advice.rounds, 'judging round')} of each contender")
    return found


def replayed(case: Case) -> bool:
    """True if the run has figures of a replay."""
    return bool(case.replay and case.replay.rounds and case.replay.predictions)
