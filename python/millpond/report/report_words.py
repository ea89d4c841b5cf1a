# SPDX-License-Identifier: BSL-1.0
"""What every form of the report says in words: the answer, the gain of each subsystem, what was not measured, how to
repeat it. The page, the terminal and the Markdown only lay it out.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.advice.rows import NOT_DISPROVED, NOTHING, OUTERMOST
from millpond.cells.plans import ARENA, REST, SUFFIX, has_arena
from millpond.report.cases import Case
from millpond.report.terminal import EFFECT_WORDS, trace_warnings
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.rounds.trial_rounds import describe
from millpond.system.wording import (
    bytes_text,
    count_text,
    list_text,
    percent_text,
    plural,
    seconds_text,
    verdict_text,
)

# How each figure was come by; the words of the observations' `kind`.
KINDS = {
    "measured": "a clock or the kernel said so, in fresh processes, contenders taking turns",
    "counted": "exact: every event of the trace was counted",
    "estimated": "from a sample of operations (1 in 64 is timed), or from shares taken as independent",
}
DVLUC_NAMES = {"D": "density", "V": "variation", "L": "locality", "U": "utilization", "C": "contention"}
_SHORT_AT_MOST = 44
_NAME_AT_MOST = 60
_POOLS_AT_MOST = 4
_MODULES_AT_MOST = 6


@dataclass(frozen=True)
class Effect:
    """One figure of the first screen. `change` is empty where nothing was measured."""

    label: str
    change: str
    interval: str
    verdict: str
    title: str


def answer(advice: dict[str, Any]) -> tuple[str, str]:
    """Which kind of answer it is (pays, other, nothing, unknown), and the answer in one line.

    The same rules as the advice's own sentence, which stands below it with the figures.
    """
    chosen = advice.get("choice") or {}
    if advice["plan"]:
        what = "an arena for a scope pays" if has_arena(advice["plan"]) else "local pools pay"
        return "pays", f"Yes: {what}, for {list_text(_pools(advice))}."
    if not advice["rounds"]:
        return "unknown", "Nothing was tried, so nothing is advised."
    if chosen.get("kind") == "malloc":
        return "other", f"Not a local allocator: another malloc helps, {chosen['command']}."
    if advice["rounds"] < VERDICT_ROUNDS:
        return "unknown", f"Not enough time: {plural(advice['rounds'], 'round')} cannot carry a verdict."
    return "nothing", "No: nothing beats the program as it is."


def _pools(advice: dict[str, Any]) -> list[str]:
    """The subsystems that the plan is advised for; those that showed nothing alone only where none did."""
    routes = [r for r in advice["plan"]["routes"] if REST not in r["subsystems"]]
    pools = [str(name) for r in routes for name in (r["subsystems"] if r.get("scope") else [r["pool"]])]
    confirmed = {row["name"] for row in advice["subsystems"] if row["best"] != NOTHING}
    chosen = [p for p in pools if p in confirmed] or pools
    names = [p if len(p) <= _NAME_AT_MOST else f"{p[:_NAME_AT_MOST]}…" for p in chosen[:_POOLS_AT_MOST]]
    more = len(chosen) - len(names)
    return [*names, f"{more} more"] if more else names


def effects(advice: dict[str, Any]) -> list[Effect]:
    """The figures of the first screen: CPU and peak resident bytes of the plan and of the best malloc; placement."""
    found = []
    every = {**advice["effects"], **advice["sums"]}
    for name, label in (("net", "the plan"), ("faster_malloc", "the best malloc")):
        summary = every.get(name)
        peak = ((summary or {}).get("other_metrics") or {}).get("peak_bytes")
        found.append(_effect(f"{label}, CPU", summary, EFFECT_WORDS[name]))
        found.append(_effect(f"{label}, peak memory", peak, EFFECT_WORDS[name]))
    return [*found, _effect("placement, CPU", every.get("placement"), EFFECT_WORDS["placement"])]


def _effect(label: str, summary: dict[str, Any] | None, title: str) -> Effect:
    if not summary or not summary.get("n"):
        return Effect(label, "", "", "not measured", title)
    n = plural(int(summary["n"]), "round")
    level = f"{100 * (summary.get('level') or 0):.0f} %"
    return Effect(
        label, percent_text(summary["median"]), interval_text(summary), verdict_text(summary),
        f"{title}; median of {n}, {level} interval ({summary.get('method')})",
    )  # fmt: skip


def events_text(number: float | None, word: str = "event") -> str:
    """`1 event`, `455 k events`."""
    return f"{count_text(number)} {word}{'' if number == 1 else 's'}"


def interval_text(summary: dict[str, Any]) -> str:
    """`-14.0 % to -11.2 %` of a summary of ratios."""
    return f"{percent_text(summary['low'])} to {percent_text(summary['high'])}"


def cpu_share(subsystem: dict[str, Any], trace: dict[str, Any]) -> float | None:
    """The estimated share of the CPU time in the subsystem's operations; None if unknown or impossible."""
    density = (subsystem.get("dvluc") or {}).get("D") or {}
    seconds = (density.get("absolute") or {}).get("operation_seconds")
    whole = trace.get("cpu_seconds")
    share = seconds / whole if isinstance(seconds, (int, float)) and whole else None
    return share if share is not None and share <= 1 else None  # an estimate beyond all CPU time is none


def short_advice(row: dict[str, Any]) -> str:
    """The advice on a subsystem in a few words; the row's `reason` has the rest."""
    if row["best"] != NOTHING:
        own = "arena" if row["best"] == ARENA else "own pool"
        if row.get("warning"):
            return f"{own} ({row['best']}), in some inputs only"
        return f"{own} ({row['best']})"
    reason = str(row.get("reason") or "")
    if (row.get("cpu_ratio") or {}).get("n"):
        words = {"worse": "nothing: a pool costs time", "better": "nothing: gain not confirmed"}
        return words.get(row["cpu_ratio"]["verdict"], "nothing: inside the noise")
    text = reason.removeprefix("not tried: ").split(";")[0]
    text = text.replace("too small a part of the heap to matter", "too small to matter")
    return f"not tried: {text}" if len(text) <= _SHORT_AT_MOST else "not tried"


def short_legality(row: dict[str, Any]) -> tuple[str, str]:
    """Whether some scope could own an arena (yes, perhaps, no, unknown), and which, in a few words.

    "perhaps": no object was seen to outlive the scope, but its activations were not observed.
    """
    scopes = row.get("legality") or []
    for mark, found, words in (
        ("yes", [s for s in scopes if s.get("legal")], ""),
        ("perhaps", [s for s in scopes if s.get("legality") == OUTERMOST], " (outermost call)"),
        ("perhaps", [s for s in scopes if s.get("legality") == NOT_DISPROVED], " (not observed)"),
    ):
        if found:
            return mark, f"{_scope(found[0])}{words}" + (f" +{len(found) - 1}" if len(found) > 1 else "")
    return ("no", "only the whole process") if scopes else ("unknown", "unknown")


def _scope(scope: dict[str, Any]) -> str:
    return "one thread" if scope["scope"] == "thread" else str(scope["name"])


def notes(case: Case) -> list[str]:
    """What advise noted, without what the report says in words of its own."""
    return [str(note) for note in dict.fromkeys(case.advice["notes"]) if not str(note).startswith("replay: ")]


def not_measured(case: Case) -> list[str]:
    """What the figures leave out, one sentence each: a reader decides whether it matters."""
    trace, process, program = case.trace, case.process, case.advice["program"]
    said = list(trace_warnings(trace))
    if program.get("signal") or program.get("exit"):
        said.append(f"the program {describe(program['exit'] or 0, program['signal'] or 0)} when it was recorded")
    named = trace.get("named_share")
    if named is not None and named < 0.9995:
        said.append(f"{100 * (1 - named):.1f} % of the events are owned by functions without a name (no symbols)")
    nameless = [Path(str(m)).name for m in trace.get("modules_without_names") or []]
    if nameless:
        more = len(nameless) - _MODULES_AT_MOST
        shown = [*nameless[:_MODULES_AT_MOST], *([f"{more} more"] if more > 0 else [])]
        said.append(f"modules without symbols: {list_text(shown)}")
    aliasing = trace.get("aliasing") or {}
    if aliasing.get("share"):
        said.append(f"{100 * aliasing['share']:.2f} % of the sampled contexts were attributed to a wrong stack")
    provider = str(process.get("malloc_provider") or "")
    if provider and provider != "libc":
        said.append(f"the program brings its own malloc ({provider}); it was recorded, and replaced in the rounds")
    for key, words in (
        ("unmatched_frees", "frees of objects whose allocation was not seen"),
        ("frees_not_seen", "objects whose free was not seen"),
        ("failed", "allocations that failed"),
    ):
        if trace.get(key):
            said.append(f"{count_text(trace[key])} {words}")
    said += _skipped_processes(program)
    peak = case.rounds.median("bare", "peak_bytes")
    live = trace.get("peak_live_bytes")
    if peak and live is not None:
        said.append(
            f"memory outside malloc: of {bytes_text(peak)} peak resident, {bytes_text(live)} were live heap objects; "
            "the rest is code, stacks, mappings and what the allocator holds"
        )
    if all(((s.get("dvluc") or {}).get("L") or {}).get("value") is None for s in case.advice["subsystems"]):
        said.append("locality (L): no data references were captured")
    said.append(
        "winking out: an unmodified program cannot show it"
        + ("; replay predicts some of it" if replayed(case) else "; not replayed")
    )
    return said


def _skipped_processes(program: dict[str, Any]) -> list[str]:
    others = [p for p in program.get("processes") or [] if p.get("number") != program.get("analysed")]
    if not others:
        return []
    amount = bytes_text(sum(p.get("bytes") or 0 for p in others))
    return [f"{plural(len(others), 'other process')} of the program, {amount} allocated (--process N analyses one)"]


def plan_name(case: Case) -> str:
    """The name of the plan's file in the commands and under the download."""
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', case.name).strip('-') or 'program'}{SUFFIX}"


def commands(case: Case) -> list[tuple[str, str]]:
    """What to type to see it again, in order: (what it does, the command, quoted for a shell)."""
    program = shlex.join(case.argv)
    if case.inputs:
        lines = " ".join(shlex.quote(shlex.join(map(str, i["arguments"]))) for i in case.inputs)
        return [
            ("the inputs, one a line", f"printf '%s\\n' {lines} > inputs.txt"),
            ("the whole advice again", f"millpond advise --inputs inputs.txt -- {program}"),
        ]
    stem = plan_name(case).removesuffix(SUFFIX)
    plan, trace = shlex.quote(plan_name(case)), shlex.quote(f"{stem}.mpt")
    seed = f" --seed {case.advice['seed']}" if case.advice.get("seed") is not None else ""
    steps = [
        ("the whole advice again", f"millpond advise{seed} -- {program}"),
        ("record every heap event", f"millpond record -o {trace} -- {program}"),
        ("subsystems, legality, candidate plans", f"millpond characterise --plan-out plans {trace}"),
    ]
    if case.advice["plan_tried"]:
        steps.append(("the plan against every control", f"millpond trial --plan {plan} -- {program}"))
        if not has_arena(case.advice["plan_tried"]):  # no replay resets one
            steps.append(("the same plan on the recorded trace", f"millpond replay --plan {plan} {trace}"))
    if case.advice["plan"]:
        steps.append(("after the change: did it come out as predicted?", f"millpond compare --after NEW -- {program}"))
    return steps


def facts(case: Case) -> list[str]:
    """What was recorded, and on what machine: the line under the verdict."""
    trace = case.trace
    found = [
        events_text(trace.get("events"), "heap event"),
        f"{bytes_text(trace.get('bytes'))} allocated",
        f"{bytes_text(trace.get('peak_live_bytes'))} live at the peak",
        plural(int(trace.get("threads") or 1), "thread"),
    ]
    if trace.get("cpu_seconds") is not None:
        found.append(f"{seconds_text(trace['cpu_seconds'])} CPU under the recorder")
    if case.advice["rounds"]:
        found.append(f"{plural(case.advice['rounds'], 'judging round')} of each contender")
    return found


def replayed(case: Case) -> bool:
    """Whether the run has figures of a replay."""
    return bool(case.replay and case.replay.get("rounds") and case.replay.get("predictions"))


def came_out(case: Case) -> list[str]:
    """How the prediction came out, a sentence each; empty where no changed build was compared with this one."""
    found = case.came_out
    return [line.sentence for line in found.lines] if found else []
