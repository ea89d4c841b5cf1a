# SPDX-License-Identifier: BSL-1.0
"""The reasons for an advice on a subsystem, in sentences, and its legality in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice.advice_data import WinkOutEstimate
from millpond.advice.container_text import mostly
from millpond.advice.effects import speed_in
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.lasting_arenas import lasts, why_not
from millpond.advice.layout_prediction import predicted_text
from millpond.advice.metric_words import SHOWN
from millpond.advice.screened_program import TriedPlan
from millpond.cells.cell import PoolCounts
from millpond.cells.plan_file import OWN_POOL, PlanRoute
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import (
    ALIVE_AT_END,
    NOT_DECIDED,
    NOT_DISPROVED,
    OUTERMOST,
    ScopeLegality,
    Subsystem,
)
from millpond.statistics.order_statistics import NO_DIFFERENCE, Comparison
from millpond.system.wording import bytes_text, count_text, interval_text, percent_text, plural, seconds_text


def reason_of(
    judged: JudgedProgram, subsystem: Subsystem, tried: TriedPlan | None,
    *, large: bool, pays: bool, advised: bool, in_plan: bool,
) -> str:  # fmt: skip
    """Returns the reason of a row: the plan that was tried and its effect, legality, an arena's effect, the prediction.

    `large`: it was a candidate. `pays`: an allocator of its own is advised. `advised`: some plan is better than none.
    `in_plan`: the judged plan has a pool for it.
    """
    return (
        _reason(judged, tried, large, advised, in_plan)
        + (_legal_note(subsystem.legality, pays, tried) if large else "")
        + (mostly(subsystem) if pays else "")
        + _arena_note(judged, subsystem, tried)
        + _predicted_note(judged, subsystem.name, tried)
    )


def legality_text(scopes: Sequence[ScopeLegality]) -> str:
    """Names the scopes that could own an arena. Calls a scope legal only if it was observed."""
    if not scopes:
        return "unknown"
    if legal := [s for s in scopes if s.legal]:
        return "legal: " + ", ".join(s.words for s in legal[:2]) + (" …" if len(legal) > 2 else "")
    if outermost := [s for s in scopes if s.legality == OUTERMOST]:
        return f"{OUTERMOST}: {outermost[0].words}"
    if unknown := [s for s in scopes if s.legality == NOT_DISPROVED]:
        return f"not disproved, not observed: {unknown[0].words}"
    if undecided := [s for s in scopes if s.legality == NOT_DECIDED]:
        return f"{NOT_DECIDED}: {undecided[0].why_not_observed or 'the trace is not whole'}"
    if alive := [s for s in scopes if s.legality == ALIVE_AT_END]:
        return f"{alive_text(alive[0])}: {alive[0].words}"
    fewest = min(scopes, key=lambda s: s.outliving or 0)
    return f"illegal everywhere: ≥ {count_text(fewest.outliving)} outlive {fewest.words}"


def alive_text(scope: ScopeLegality) -> str:
    """Returns `alive at the end (12 objects)`: the number of objects never freed, which were alive when the scope
    ended.
    """
    return f"{ALIVE_AT_END} ({plural(scope.alive_at_end or 0, 'object')})"


def own_allocator(plan: Plan) -> str:
    """Names the allocator that a plan for one pool gives its subsystems."""
    return plan.special[0].own if plan.special else OWN_POOL


def _reason(judged: JudgedProgram, tried: TriedPlan | None, large: bool, advised: bool, in_plan: bool) -> str:
    speed = speed_in(tried.comparisons) if tried else None
    if tried is None or speed is None:
        if judged.why_no_trial:
            return judged.why_no_trial
        if large:
            return "not tried: the budget had no time for this candidate; give more with --budget"
        return "not tried: too small a part of the heap to matter"
    change = f"{_speed_change(speed)} ({interval_text(SHOWN[speed.metric].shown(speed))})"
    if (peak := tried.comparisons.get("peak_bytes")) is not None:
        change += f", {percent_text(peak.median)} peak memory"
    where = "" if tried.judged else " while choosing"
    own = own_allocator(tried.plan)
    if tried.pays() and advised:
        if speed.verdict != "better":
            return f"{own} makes the program smaller, and not slower: {change}"
        saved = "is faster" if SHOWN[speed.metric].is_inverse else f"saves {seconds_text(speed.saved.median)} of CPU"
        return f"{own} {saved}: {change}, {speed.n} fresh rounds"
    if advised and in_plan and not tried.judged:
        return f"part of the plan that fresh rounds judged; by itself it was measured while choosing: {change}"
    if tried.pays():
        return f"{own} gains ({change}), but no more than the advised plan"
    if speed.verdict == "worse":
        return f"{own} costs time{where}: {change}; it separates objects that are used together"
    if speed.verdict == "better":
        return f"{own} looked better{where} ({change}), but no fresh round has confirmed it"
    if speed.verdict == NO_DIFFERENCE:
        return f"{own} makes no difference{where}: {change}, {plural(speed.n, 'round')}"
    return f"not settled{where}: {own} gave {change} in {plural(speed.n, 'round')}"


def _speed_change(speed: Comparison) -> str:
    """Returns `-3.0 % CPU`, or `+3.1 % throughput`."""
    one = SHOWN[speed.metric]
    return f"{percent_text(one.shown(speed).median)} {one.name}"


def _legal_note(scopes: Sequence[ScopeLegality], pays: bool, tried: TriedPlan | None) -> str:
    """Returns a note on scopes that could own an arena, besides the pool that lives as long as the process."""
    is_arena = tried is not None and bool(tried.plan.arenas)
    if not scopes:
        return ""
    first = next((s for s in scopes if s.legal), None)
    if first is not None:
        return f"; an arena owned by {first.words} would be legal too" if pays and not is_arena else ""
    if any(s.legality in (NOT_DISPROVED, OUTERMOST) for s in scopes):
        return ""
    kept = "; only a pool that lives as long as the process is legal here" if pays else ""
    if any(s.legality == NOT_DECIDED for s in scopes):
        return "; the trace is not whole, so no scope is known to be legal for an arena"
    alive = next((s for s in scopes if s.legality == ALIVE_AT_END), None)
    if alive is not None:
        return (
            f"; an arena owned by {alive.words} needs a check: {plural(alive.alive_at_end or 0, 'object')} of it were "
            f"never freed, and must not be used after its end{kept}"
        )
    return f"; an allocator owned by any scope would be illegal: objects outlive every scope{kept}"


def _arena_note(judged: JudgedProgram, subsystem: Subsystem, tried: TriedPlan | None) -> str:
    """Returns a note on the tried arena, or on why an arena is not proposed."""
    text = _barred(judged, subsystem)
    route = arena_route(tried, subsystem)
    if route is None or route.scope is None:
        return text
    counts = judged.screened.arenas.get(route.pool) or PoolCounts(route.pool)
    if not counts.may_be_proposed:
        return text
    if counts.calls:
        text += f"; {plural(counts.calls, 'call')} observed, each with its own arena"
    elif route.scope.kind == "function":
        text += "; the trial could not observe its calls, so it reset the arena whenever nothing in it was alive"
    saved = winking(subsystem)
    if saved.free_calls:
        seconds = f" ({seconds_text(saved.free_seconds)} in this run)" if saved.free_seconds is not None else ""
        text += (
            f"; winking out is predicted to save {count_text(saved.free_calls)} frees{seconds} and their destructors"
        )
    return text


def arena_route(tried: TriedPlan | None, subsystem: Subsystem) -> PlanRoute | None:
    """Returns the arena's route in the plan that was tried for a subsystem."""
    routes = tried.plan.arenas if tried else ()
    return next((r for r in routes if subsystem.name in r.subsystems), None)


def winking(subsystem: Subsystem) -> WinkOutEstimate:
    return WinkOutEstimate(free_calls=subsystem.frees or 0, free_seconds=subsystem.free_seconds)


def _barred(judged: JudgedProgram, subsystem: Subsystem) -> str:
    """Returns why an arena, or a pool for each instance, is not proposed: it would have held too much, or calls ended
    too early.
    """
    for route in (r for plan in judged.recorded.lasting for r in plan.arenas):
        if lasts(route) and subsystem.name in route.subsystems:
            return f"; {why_not(route, subsystem)}"
    for route in (r for plan in judged.recorded.candidates for r in plan.special):
        counts = judged.screened.arenas.get(route.pool) or PoolCounts(route.pool)
        if counts.may_be_proposed or subsystem.name not in route.subsystems:
            continue
        why = (
            f"it would have held {bytes_text(held)} for {bytes_text(counts.capped_live_bytes)} alive in it"
            if (held := counts.capped_bytes)
            else f"{count_text(counts.outlived_calls)} of {plural(counts.calls, 'call')} ended before all their objects"
        )
        kept = _kept_by(subsystem) if route.scope else ""
        return f"; {route.own} is not proposed: {why}{kept}"
    return ""


def _kept_by(subsystem: Subsystem) -> str:
    """Names the objects that keep an arena from being reset: those that outlive the scope with the fewest of them."""
    scopes = [(s.outliving, s) for s in subsystem.legality if s.outliving and s.witnesses]
    if not scopes:
        return ""
    outliving, scope = min(scopes, key=lambda pair: pair[0])
    witness = scope.witnesses[0]
    return (
        f", because of {plural(outliving, 'object')} that outlive {scope.words}, such as "
        f"{bytes_text(witness.bytes)} from {' ← '.join(witness.stack[:3])}"
    )


def _predicted_note(judged: JudgedProgram, subsystem: str, tried: TriedPlan | None) -> str:
    """Returns the prediction from references for a subsystem's own pool with the trial's result; or why it was not
    tried.
    """
    predicted = judged.recorded.references.predicted if judged.recorded.references else None
    if predicted is None:
        return ""
    if tried is not None:
        own = predicted.of_plan(tried.plan.name)
        cpu = tried.comparisons.get("cpu_seconds")
        return f"; predicted {predicted_text(own)}, tried CPU {percent_text(cpu.median)}" if own and cpu else ""
    alone = [p for p in predicted.layouts if p.dropped and p.pool == subsystem]
    return f"; no trial: predicted {predicted_text(alone[0])}" if alone else ""
