# SPDX-License-Identifier: BSL-1.0
"""The sentences on a whole case: the answer, the facts of the recording, the limits, and how to repeat it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from millpond.advice.advice_data import Advice, AnalysedProgram, Effect, Option
from millpond.cells.plan_file import PlanFile
from millpond.cells.plans import SUFFIX
from millpond.report.cases import Case
from millpond.report.views.short_text import one_line, short_name
from millpond.rounds.characterisation import TraceSummary, Window
from millpond.rounds.fresh_process import describe
from millpond.rounds.schedule import FEWEST_VERDICT_ROUNDS
from millpond.system.wording import bytes_text, count_text, list_text, plural, seconds_text

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
_OWN_MALLOC = "millpond"  # the name of the multipool that replaces malloc
_NAME_AT_MOST = 60
_POOLS_AT_MOST = 4
_MODULES_AT_MOST = 6
_LOAD_AT_MOST = 60


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
        malloc = option_name(advice.choice)
        if pools:
            return "other", f"Another malloc is worth most, {malloc}; {pools}, too."
        return "other", f"Not a local allocator: another malloc helps, {malloc}."
    if advice.rounds < FEWEST_VERDICT_ROUNDS:
        return "unknown", f"Not enough time: {plural(advice.rounds, 'round')} cannot give a verdict."
    if kind == "trade":
        return "other", "A trade: a contender saves time but costs memory, or the other way round."
    if kind == "undecided":
        return "unknown", "Not settled: a contender looks better, and more rounds must confirm it."
    return "nothing", "No: nothing beats the unchanged program."


def _pools(plan: PlanFile, confirmed: set[str]) -> list[str]:
    """Returns the subsystems for which the plan is advised; without any, those of the whole plan."""
    routes = [r for r in plan.routes if not r.of_rest]
    pools = [name for r in routes for name in (r.subsystems if r.scope else [r.pool])]
    chosen = [p for p in pools if p in confirmed] or pools
    names = [short_name(p, _NAME_AT_MOST) for p in chosen[:_POOLS_AT_MOST]]
    more = len(chosen) - len(names)
    return [*names, f"{more} more"] if more else names


def option_name(option: Option) -> str:
    """Returns a contender in a few words: a malloc library by its name, a plan by its pools."""
    if option.kind == "malloc":
        return "Millpond's multipool" if option.name == _OWN_MALLOC else option.name or option.command or ""
    return option.what or option.name


def option_command(option: Option) -> str:
    """Returns the setting that runs a malloc, `LD_PRELOAD=libjemalloc.so.2`; empty for a plan."""
    return option.command or "" if option.kind == "malloc" else ""


def taken_off(advice: Advice) -> list[tuple[str, Effect]]:
    """Returns the measured costs between the plan as it was tried and the plan net."""
    found = ((words, advice.sums.get(name)) for name, words in COST_WORDS.items())
    return [(words, effect) for words, effect in found if effect and effect.n]


def window_text(window: Window) -> str:
    """Returns the part of the trace that the dimensions cover."""
    return (
        f"D, V, U and C cover the window {window.text}: events {window.first_event} to {window.last_event}, "
        f"{seconds_text(window.from_seconds)} to {seconds_text(window.to_seconds)} after the start."
    )


def notes(case: Case) -> list[str]:
    """Returns the notes of advise, without those that the report writes in its own words."""
    return [note for note in dict.fromkeys(case.advice.notes) if not note.startswith("replay: ")]


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


def end_text(program: AnalysedProgram) -> str:
    """Returns how the program ended when it was recorded; empty if it succeeded."""
    if not program.signal and not program.exit:
        return ""
    return f"the program {describe(program.exit or 0, program.signal or 0)} when it was recorded"


def unnamed_text(case: Case) -> str:
    """Returns the share of events from functions without symbols; empty without any."""
    named = case.trace.named_share
    if named is None or named >= 0.9995:
        return ""
    return f"{100 * (1 - named):.1f} % of the events are from functions without symbols"


def not_measured(case: Case) -> list[str]:
    """Returns the limits of the figures, one sentence each."""
    trace, program = case.trace, case.advice.program
    said = [*trace_warnings(trace), *filter(None, [end_text(program), unnamed_text(case)])]
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
    load = f" {shlex.join(case.advice.load.options)}" if case.advice.load else ""
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
        ("the whole advice again", f"millpond advise{load}{seed} -- {program}"),
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
    if case.advice.load:
        found.append(f"driven by `{one_line(case.advice.load.command, _LOAD_AT_MOST)}`")
    if case.advice.rounds:
        found.append(f"{plural(case.advice.rounds, 'judging round')} of each contender")
    return found


def events_text(number: float | None, word: str = "event") -> str:
    """Returns `1 event`, `455 k events`."""
    return f"{count_text(number)} {word}{'' if number == 1 else 's'}"


def replayed(case: Case) -> bool:
    """True if the run has figures of a replay."""
    return bool(case.replay and case.replay.rounds and case.replay.predictions)
