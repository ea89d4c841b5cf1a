# SPDX-License-Identifier: BSL-1.0
"""The decision in words: the advice and its caveats, and a short name for each contender."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from millpond.advice.advice_data import Row
from millpond.advice.advise_options import Preference
from millpond.advice.container_text import named_with_container
from millpond.advice.effects import NET, saves_memory, speed_in
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.metric_words import change_words, speed_words
from millpond.advice.verdict import MALLOC, NONE, PLAN, TRADE, UNDECIDED, Choice, ProgramVerdict
from millpond.cells.plan_file import REST, PlanRoute
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import ALIVE_AT_END, NOT_DECIDED, NOT_DISPROVED, OUTERMOST
from millpond.rounds.fresh_process import describe
from millpond.rounds.schedule import FEWEST_VERDICT_ROUNDS
from millpond.statistics.order_statistics import Comparison
from millpond.system.wording import list_text, percent_text, plural, seconds_text

_NAMES_AT_MOST = 3
# Above this multiple of the bare program's CPU or memory, a trial's look-ups distort the measurement.
DISTORTED = 1.3


def sentence(verdict: ProgramVerdict, rows: Sequence[Row]) -> str:
    """Returns the verdict in words."""
    judged, recorded = verdict.judged, verdict.judged.recorded
    crash = ""
    if recorded.recording.signal:
        crash = f"The program {describe(recorded.recording.exit_status, recorded.recording.signal)}. "
    if not recorded.process.summary.trace.events:
        return f"{crash}Nothing to advise: the program has no heap events."
    if recorded.bound and not judged.rounds:
        return f"Do nothing: {recorded.bound.words}."
    if judged.why_no_trial:
        return f"No verdict: {judged.why_no_trial.removeprefix('not tried: ')}."
    if not verdict.is_reached:
        return _not_enough(verdict)
    said = {UNDECIDED: _not_settled, NONE: _nothing_helps, TRADE: _trade}.get(verdict.advised.kind)
    measured = f"{plural(judged.rounds, 'round')} against the unchanged program"
    doubts = f"{_distortion(judged)}{_unjudged(judged)}{_untried(judged)}"
    return f"{said(verdict) if said else _advised(verdict, rows)} ({measured}).{doubts}"


def _trade(verdict: ProgramVerdict) -> str:
    """Describes contenders that are better in one dimension, and cost more in the other than the preference accepts."""
    better = (verdict.fastest, verdict.leanest, verdict.without_source_change, verdict.source_change)
    named = dict.fromkeys(_with_figures(verdict, c) for c in better if c)
    others = list_text([f"--prefer {name}" for name in Preference if name is not verdict.judged.recorded.prefer])
    return f"A trade between CPU and memory ({others} weigh them differently): {'; '.join(named)}"


def _with_figures(verdict: ProgramVerdict, choice: Choice) -> str:
    return f"{described(choice, verdict.judged.chosen)}: {_both(choice.comparisons)}"


def _advised(verdict: ProgramVerdict, rows: Sequence[Row]) -> str:
    chosen, judged = verdict.advised, verdict.judged
    why = "To save memory: " if chosen.purpose == "memory" else ""
    if chosen.kind == MALLOC:
        return f"{why}{chosen.command}: {_both(chosen.comparisons)}, without a change of the source"
    pools = pooled(judged.chosen)
    confirmed = {r.name for r in rows if r.pays}
    silent = [name for name in pools if confirmed and name not in confirmed]
    return f"{why}Give {_given(judged)}: {_both(chosen.comparisons)}{_with_silent(silent)}{_overlap(judged)}"


def described(choice: Choice, plan: Plan | None) -> str:
    """Returns a contender in a few words: the command of a malloc, the pools and arenas of the judged plan."""
    if choice.kind == MALLOC:
        return choice.command
    special = [r.own for r in plan.special] if plan else []
    pools = _in_pools(plan)
    own = [f"{'pools' if len(pools) > 1 else 'a pool'} for {_few(pools)}"] if pools else []
    own += [f"one pool for {_few(names)}" for names in (plan.sharing if plan else ())]
    return list_text([*own, *special])


def _few(names: Sequence[str]) -> str:
    """Returns the first names, and the number of further ones."""
    more = len(names) - _NAMES_AT_MOST
    return list_text([*names[:_NAMES_AT_MOST], *([f"{more} more"] if more > 0 else [])])


def _in_pools(plan: Plan | None) -> list[str]:
    """Returns the subsystems for which a plan has pools of their own that live as long as the process."""
    own = [r for r in plan.routes if r not in plan.special and len(r.subsystems) == 1] if plan else []
    return [name for r in own for name in r.subsystems if name != REST]


def _named(judged: JudgedProgram, subsystem: str) -> str:
    """Returns a subsystem with the container that has most of its bytes."""
    return named_with_container(subsystem, judged.recorded.subsystems)


def _given(judged: JudgedProgram) -> str:
    """Lists the allocators of the advised plan with their subsystems."""
    pools = [_named(judged, name) for name in _in_pools(judged.chosen)]
    parts = [f"{list_text(pools)} {'a pool of its own' if len(pools) == 1 else 'a pool each'}"] if pools else []
    for shared in judged.chosen.sharing if judged.chosen else ():
        parts.append(f"{list_text([_named(judged, name) for name in shared])} one pool together")
    for route in judged.chosen.special if judged.chosen else ():
        names = list_text([_named(judged, name) for name in route.subsystems])
        parts.append(f"{names} {route.own}{_legality(judged, route) if route.scope else ''}")
    return list_text(parts)


def _legality(judged: JudgedProgram, route: PlanRoute) -> str:
    """Returns how certain it is that no object outlives an arena's scope; without a scope, how often the arena was
    reset.
    """
    if route.scope and route.scope.kind == "phase":
        times = judged.screened.arenas[route.pool].resets if route.pool in judged.screened.arenas else 0
        return f" ({plural(times, 'reset')} in one run)" if times else ""
    function = route.scope.function if route.scope else ""
    known = {
        scope.legality
        for subsystem in judged.recorded.subsystems
        if subsystem.name in route.subsystems
        for scope in subsystem.legality
        if scope.scope == "function" and scope.name == function
    }
    if ALIVE_AT_END in known:
        return " (some of its objects are never freed: check that nothing uses them after its end)"
    if NOT_DECIDED in known or NOT_DISPROVED in known:
        return " (it was not observed whether objects outlive it)"
    return f" ({OUTERMOST})" if OUTERMOST in known else " (no object outlived it)"


def _both(comparisons: Mapping[str, Comparison]) -> str:
    """Returns `CPU -32.0 % (-34.0 % to -30.0 %), peak memory +3.0 %`; of a server, the throughput comes first."""
    peak = comparisons.get("peak_bytes")
    parts = speed_words(comparisons)
    if peak is not None:
        parts.append(f"peak memory {percent_text(peak.median)}")
    return ", ".join(parts) or "not measured"


def _nothing_helps(verdict: ProgramVerdict) -> str:
    judged = verdict.judged
    figures = "; ".join(_with_figures(verdict, c) for c in verdict.contenders)
    if judged.recorded.bound:
        return f"Do nothing: {judged.recorded.bound.words}; {figures}"
    tried = f"none of {plural(len(judged.screened.mallocs), 'malloc')} of this machine"
    tried = tried if judged.screened.unjudged else f"no pool and {tried}"
    little = any(c.kind == PLAN and saves_memory(c.comparisons) for c in verdict.contenders)
    enough = " by enough to change a source" if little else ""
    return f"Do nothing: {tried} beats the unchanged program beyond the noise{enough}; {figures}"


def _not_settled(verdict: ProgramVerdict) -> str:
    """Names the contenders that look better in the rounds so far, and need more rounds for a verdict."""
    rest = [c for c in verdict.contenders if c not in verdict.unsettled]
    named = "; ".join(_with_figures(verdict, c) for c in verdict.unsettled)
    others = "".join(f"; {_with_figures(verdict, c)}" for c in rest)
    return f"Not settled; a larger --budget may settle it: {named}{others}"


def _not_enough(verdict: ProgramVerdict) -> str:
    judged = verdict.judged
    so_far = "; ".join(_with_figures(verdict, c) for c in verdict.contenders) or "nothing was measured"
    return (
        f"Not enough time for a verdict: {FEWEST_VERDICT_ROUNDS} rounds would take "
        f"{seconds_text(judged.verdict_seconds)}, and only {judged.rounds} "
        f"{'was' if judged.rounds == 1 else 'were'} possible; so far {so_far}.{_enough(judged)}{_unjudged(judged)}"
    )


def _enough(judged: JudgedProgram) -> str:
    """Returns a budget with enough time: a tenth more than computed, because machines are sometimes busier."""
    seconds = 1.1 * (judged.recorded.budget_seconds + max(judged.verdict_lacks_seconds, 0.0))
    return f" --budget {10 * math.ceil(seconds / 10)} should be enough." if judged.recorded.budget_seconds else ""


def _unjudged(judged: JudgedProgram) -> str:
    """Describes the plan that was left out so that the mallocs could be judged."""
    if not judged.screened.unjudged:
        return ""
    tried = judged.tried[judged.screened.unjudged]
    return (
        f" No pool looked better while choosing (the best, for {list_text(pooled(tried.plan))}: "
        f"{_both(tried.comparisons)}), so the time went to the mallocs; with a larger --budget one is judged too."
    )


def _distortion(judged: JudgedProgram) -> str:
    """Returns a warning if look-ups change the program so much that a trial's figures are doubtful."""
    cpu = judged.effects.get("look_up", {}).get("cpu_seconds")
    peak = judged.effects.get("look_up", {}).get("peak_bytes")
    parts = []
    if cpu is not None and cpu.median > DISTORTED:
        parts.append(f"takes {cpu.median:.1f} times the CPU")
    if peak is not None and peak.median > DISTORTED:
        parts.append(f"takes {peak.median:.1f} times the memory")
    if not parts:
        return ""
    more = " and ".join(parts)
    return f" The trial of the pools is distorted: looking up every call stack {more} of the bare program."


def _untried(judged: JudgedProgram) -> str:
    """Names the strategy that no trial can run, though it may be better. Part of every verdict on a program with
    subsystems.
    """
    if not judged.recorded.candidates:
        return ""
    return (
        " Not tried, because no trial can: an arena that is winked out, without destructors and frees; the rows "
        "have the predicted saving."
    )


def _overlap(judged: JudgedProgram) -> str:
    """Returns a note if single pools save more in sum than the plan saves."""
    total = judged.effects.get(NET, {}).get("cpu_seconds")
    pools = set(pooled(judged.chosen))
    singles = [t.comparisons["cpu_seconds"] for t in judged.tried.values()
               if t.plan.alone in pools and "cpu_seconds" in t.comparisons]  # fmt: skip
    if total is None or len(singles) < 2 or any(c.verdict != "better" for c in singles):
        return ""
    alone = sum(c.saved.median for c in singles)
    if alone <= 1.1 * total.saved.median:
        return ""
    sums = f"one by one they save {seconds_text(alone)} in sum, together {seconds_text(total.saved.median)}"
    return f" ({sums}: their savings overlap)"


def _with_silent(silent: list[str]) -> str:
    """Returns a note on pools of the judged plan that showed nothing by themselves: the figures include them."""
    if not silent:
        return ""
    show = "that pool by itself shows" if len(silent) == 1 else "those pools by themselves show"
    return f" (measured with {list_text(silent)} in a pool too; {show} nothing)"


def pooled(plan: Plan | None) -> list[str]:
    """Returns the subsystems for which a plan has pools of their own."""
    return [name for r in plan.routes for name in r.subsystems if name != REST] if plan else []


def quick_estimate(
    plans: Mapping[str, Mapping[str, Comparison]], others: Mapping[str, Mapping[str, Comparison]]
) -> str:
    """Returns the probable result of the choosing rounds, in one line; empty if they measured nothing."""
    best = []
    for kind, screened in (("malloc", others), ("pool", plans)):
        speeds = {name: found for name, m in screened.items() if (found := speed_in(m))}
        if speeds:
            name = min(speeds, key=lambda n: speeds[n].median)
            best.append(f"best {kind} {name}: {change_words(speeds[name].metric, speeds[name])}")
    return "; ".join(best)
