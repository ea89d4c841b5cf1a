# SPDX-License-Identifier: BSL-1.0
"""The decision in words: the advice and its caveats, and a short name for each contender."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from millpond.advice.advice_data import Row
from millpond.advice.container_text import named_with_container
from millpond.advice.decision import (
    MALLOC,
    NONE,
    PLAN,
    TRADE,
    UNDECIDED,
    Choice,
    Decision,
    decide,
    judged_choices,
    unsettled,
)
from millpond.advice.effects import NET, saves_memory
from millpond.advice.findings import Findings, Preference
from millpond.cells.plan_file import REST, PlanRoute
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import ALIVE_AT_END, NOT_DECIDED, NOT_DISPROVED, OUTERMOST
from millpond.rounds.fresh_process import describe
from millpond.rounds.schedule import FEWEST_VERDICT_ROUNDS
from millpond.statistics.order_statistics import Comparison
from millpond.system.wording import change_text, interval_text, list_text, percent_text, plural, seconds_text

_NAMES_AT_MOST = 3
# Above this multiple of the bare program's CPU or memory, a trial's look-ups distort the measurement.
DISTORTED = 1.3


def sentence(found: Findings, rows: Sequence[Row]) -> str:
    """Returns the verdict in words."""
    crash = ""
    if found.recording.signal:
        crash = f"The program {describe(found.recording.exit_status, found.recording.signal)}. "
    if not found.process.summary.trace.events:
        return f"{crash}Nothing to advise: the program has no heap events."
    if found.bound and not found.rounds:
        return f"Do nothing: {found.bound.words}."
    if found.why_no_trial:
        return f"No verdict: {found.why_no_trial.removeprefix('not tried: ')}."
    if found.rounds < FEWEST_VERDICT_ROUNDS:
        return _not_enough(found)
    decision = decide(found)
    chosen = decision.advised
    measured = f"{plural(found.rounds, 'round')} against the unchanged program"
    if chosen.kind == UNDECIDED:
        return f"{_not_settled(found)} ({measured}).{_doubts(found)}"
    if chosen.kind == NONE:
        return f"Do nothing: {_nothing_helps(found)} ({measured}).{_doubts(found)}"
    if chosen.kind == TRADE:
        return f"{_trade(found, decision)} ({measured}).{_doubts(found)}"
    return f"{_advised(found, chosen, rows)} ({measured}).{_doubts(found)}"


def _doubts(found: Findings) -> str:
    """Returns the caveats of a verdict, as sentences after it."""
    return f"{_distortion(found)}{_unjudged(found)}{_untried(found)}"


def _trade(found: Findings, decision: Decision) -> str:
    """Describes contenders that are better in one dimension, and cost more in the other than the preference accepts."""
    better = (decision.fastest, decision.leanest, decision.without_source_change, decision.source_change)
    named = dict.fromkeys(f"{described(found, c)}: {_both(c.comparisons)}" for c in better if c)
    others = list_text([f"--prefer {name}" for name in Preference if name is not found.prefer])
    return f"A trade between CPU and memory ({others} weigh them differently): {'; '.join(named)}"


def _advised(found: Findings, chosen: Choice, rows: Sequence[Row]) -> str:
    why = "" if chosen.purpose == "CPU" else "To save memory: "
    if chosen.kind == MALLOC:
        return f"{why}{chosen.command}: {_both(chosen.comparisons)}, without a change of the source"
    pools = pooled(found.chosen)
    confirmed = {r.name for r in rows if r.pays}
    silent = [name for name in pools if confirmed and name not in confirmed]
    overlap = _overlap(found)
    return f"{why}Give {_given(found)}: {_both(chosen.comparisons)}{_with_silent(silent)}{overlap}"


def described(found: Findings, other: Choice) -> str:
    """Returns a contender in a few words: the command of a malloc, the pools and arenas of a plan."""
    if other.kind == MALLOC:
        return other.command
    special = [r.own for r in found.chosen.special] if found.chosen else []
    pools = _in_pools(found.chosen)
    own = [f"{'pools' if len(pools) > 1 else 'a pool'} for {_few(pools)}"] if pools else []
    own += [f"one pool for {_few(names)}" for names in (found.chosen.sharing if found.chosen else ())]
    return list_text([*own, *special])


def _few(names: Sequence[str]) -> str:
    """Returns the first names, and the number of further ones."""
    more = len(names) - _NAMES_AT_MOST
    return list_text([*names[:_NAMES_AT_MOST], *([f"{more} more"] if more > 0 else [])])


def _in_pools(plan: Plan | None) -> list[str]:
    """Returns the subsystems for which a plan has pools of their own that live as long as the process."""
    own = [r for r in plan.routes if r not in plan.special and len(r.subsystems) == 1] if plan else []
    return [name for r in own for name in r.subsystems if name != REST]


def _named(found: Findings, subsystem: str) -> str:
    """Returns a subsystem with the container that has most of its bytes."""
    return named_with_container(subsystem, found.subsystems)


def _given(found: Findings) -> str:
    """Lists the allocators of the advised plan with their subsystems."""
    pools = [_named(found, name) for name in _in_pools(found.chosen)]
    parts = [f"{list_text(pools)} {'a pool of its own' if len(pools) == 1 else 'a pool each'}"] if pools else []
    for shared in found.chosen.sharing if found.chosen else ():
        parts.append(f"{list_text([_named(found, name) for name in shared])} one pool together")
    for route in found.chosen.special if found.chosen else ():
        names = list_text([_named(found, name) for name in route.subsystems])
        parts.append(f"{names} {route.own}{_legality(found, route) if route.scope else ''}")
    return list_text(parts)


def _legality(found: Findings, route: PlanRoute) -> str:
    """Returns how certain it is that no object outlives an arena's scope; without a scope, how often the arena was
    reset.
    """
    if route.scope and route.scope.kind == "phase":
        times = found.arenas[route.pool].resets if route.pool in found.arenas else 0
        return f" ({plural(times, 'reset')} in one run)" if times else ""
    function = route.scope.function if route.scope else ""
    known = {
        scope.legality
        for subsystem in found.subsystems
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
    """Returns `CPU -32.0 % (-34.0 % to -30.0 %), peak memory +3.0 %`."""
    cpu, peak = comparisons.get("cpu_seconds"), comparisons.get("peak_bytes")
    parts = []
    if cpu is not None:
        parts.append(f"CPU {change_text(cpu)}")
    if peak is not None:
        parts.append(f"peak memory {percent_text(peak.median)}")
    return ", ".join(parts) or "not measured"


def _nothing_helps(found: Findings) -> str:
    judged = judged_choices(found)
    figures = "; ".join(f"{described(found, c)}: {_both(c.comparisons)}" for c in judged)
    if found.bound:
        return f"{found.bound.words}; {figures}"
    tried = f"none of {plural(len(found.mallocs), 'malloc')} of this machine"
    tried = tried if found.unjudged else f"no pool and {tried}"
    little = any(c.kind == PLAN and saves_memory(c.comparisons) for c in judged)
    enough = " by enough to change a source" if little else ""
    return f"{tried} beats the unchanged program beyond the noise{enough}; {figures}"


def _not_settled(found: Findings) -> str:
    """Names the contenders that look better in the rounds so far, and need more rounds for a verdict."""
    looks_better = unsettled(found)
    rest = [c for c in judged_choices(found) if c not in looks_better]
    named = "; ".join(f"{described(found, c)}: {_both(c.comparisons)}" for c in looks_better)
    others = "".join(f"; {described(found, c)}: {_both(c.comparisons)}" for c in rest)
    return f"Not settled; a larger --budget may settle it: {named}{others}"


def _not_enough(found: Findings) -> str:
    need = seconds_text(found.verdict_seconds)
    so_far = (
        "; ".join(f"{described(found, c)}: {_both(c.comparisons)}" for c in judged_choices(found))
        or "nothing was measured"
    )
    return (
        f"Not enough time for a verdict: {FEWEST_VERDICT_ROUNDS} rounds would take {need}, and only {found.rounds} "
        f"{'was' if found.rounds == 1 else 'were'} possible; so far {so_far}.{_enough(found)}{_unjudged(found)}"
    )


def _enough(found: Findings) -> str:
    """Returns a budget with enough time: a tenth more than computed, because machines are sometimes busier."""
    seconds = 1.1 * (found.budget_seconds + max(found.verdict_lacks_seconds, 0.0))
    return f" --budget {10 * math.ceil(seconds / 10)} should be enough." if found.budget_seconds else ""


def _unjudged(found: Findings) -> str:
    """Describes the plan that was left out so that the mallocs could be judged."""
    if not found.unjudged:
        return ""
    tried = found.tried[found.unjudged]
    return (
        f" No pool looked better while choosing (the best, for {list_text(pooled(tried.plan))}: "
        f"{_both(tried.comparisons)}), so the time went to the mallocs; with a larger --budget one is judged too."
    )


def _distortion(found: Findings) -> str:
    """Returns a warning if look-ups change the program so much that a trial's figures are doubtful."""
    cpu = found.effects.get("look_up", {}).get("cpu_seconds")
    peak = found.effects.get("look_up", {}).get("peak_bytes")
    parts = []
    if cpu is not None and cpu.median > DISTORTED:
        parts.append(f"takes {cpu.median:.1f} times the CPU")
    if peak is not None and peak.median > DISTORTED:
        parts.append(f"takes {peak.median:.1f} times the memory")
    if not parts:
        return ""
    more = " and ".join(parts)
    return f" The trial of the pools is distorted: looking up every call stack {more} of the bare program."


def _untried(found: Findings) -> str:
    """Names the strategy that no trial can run, though it may be better. Part of every verdict on a program with
    subsystems.
    """
    if not found.candidates:
        return ""
    return (
        " Not tried, because no trial can: an arena that is winked out, without destructors and frees; the rows "
        "have the predicted saving."
    )


def _overlap(found: Findings) -> str:
    """Returns a note if single pools save more in sum than the plan saves."""
    total = found.effects.get(NET, {}).get("cpu_seconds")
    pools = set(pooled(found.chosen))
    singles = [t.comparisons["cpu_seconds"] for t in found.tried.values()
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
        cpu = {name: m["cpu_seconds"] for name, m in screened.items() if "cpu_seconds" in m}
        if cpu:
            name = min(cpu, key=lambda n: cpu[n].median)
            best.append(f"best {kind} {name} {percent_text(cpu[name].median)} CPU ({interval_text(cpu[name])})")
    return "; ".join(best)
