# SPDX-License-Identifier: BSL-1.0
"""The advice ("millpond.advice/1"): everything that was found, as one document with a row for each subsystem.

A row says what its subsystem is, what is legal there, what was tried, what that saved, and the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict, replace

from millpond.advice.advice_data import (
    NOTHING,
    PREDICTED,
    Advice,
    Alternative,
    AnalysedProgram,
    Arena,
    CapturedReferences,
    Choices,
    Effect,
    Estimate,
    LayoutPrediction,
    Option,
    Replay,
    Row,
    RowReplay,
    Winking,
    change_of,
)
from millpond.advice.code_changes import with_code
from millpond.advice.container_words import mostly
from millpond.advice.decision import MALLOC, PLAN, Choice, Decision, decide, judged_choices
from millpond.advice.findings import Findings, Tried
from millpond.advice.lasting_arenas import lasts, why_not
from millpond.advice.layout_prediction import predicted_text
from millpond.advice.prediction import agree, disagreement
from millpond.advice.verdict import described, pooled, sentence
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
    SubsystemFacts,
)
from millpond.rounds.mallocs import words_of
from millpond.rounds.schedule import FEWEST_VERDICT_ROUNDS
from millpond.statistics.order_statistics import NO_DIFFERENCE, Comparison
from millpond.system.wording import bytes_text, count_text, interval_text, percent_text, plural, seconds_text

# What no trial can do, and why: part of every answer.
NOT_TRIED = (("an arena that is winked out", "an unmodified program destroys its objects one by one"),)


def document(found: Findings) -> Advice:
    """The advice; who made it and when is not in it yet."""
    decision = decide(found)
    advised = decision.source_change is not None
    candidates = {
        name for p in (*found.candidates, *found.dropped, *found.lasting) for name in (p.alone, *p.subsystems)
    }
    rows = [_row(found, s, large=s.name in candidates, advised=advised) for s in found.subsystems]
    error = found.replay.error
    plan = found.chosen.file if found.chosen else None
    return with_code(Advice(
        verdict=sentence(found, rows),
        choice=_option(found, decision.advised),
        choices=_choices(found, decision),
        alternatives=tuple(alternatives(found)),
        effects={name: _effect(found, name) for name in ("faster_malloc", "huge_pages", "placement")},
        sums={name: _effect(found, name) for name in ("net", "total", "look_up", "pool_extra")},
        rounds=found.rounds,
        noise=found.bare,
        plan=plan if advised else None,
        plan_tried=plan,
        program=AnalysedProgram(
            argv=found.program, exit=found.recording.exit_status, signal=found.recording.signal,
            processes=tuple(p.row for p in found.recording.processes), analysed=found.process.number,
        ),
        trace=(found.characterisation or found.process.summary).trace.summary,
        errors={"replay": error} if error else {},
        replay=found.replay,
        subsystems=tuple(rows),
        notes=tuple(found.notes),
        references=_with_tried(found),
    ))  # fmt: skip


def _choices(found: Findings, decision: Decision) -> Choices | None:
    """What can be chosen from; None where nothing was decided."""
    if found.why_no_trial or found.rounds < FEWEST_VERDICT_ROUNDS:
        return None

    def option(one: Choice | None) -> Option | None:
        return _option(found, one) if one else None

    return Choices(
        prefer=found.prefer, fastest=option(decision.fastest), leanest=option(decision.leanest),
        without_source_change=option(decision.without_source_change), source_change=option(decision.source_change),
    )  # fmt: skip


def _option(found: Findings, one: Choice) -> Option:
    return replace(one.option, what=described(found, one) if one.kind in (PLAN, MALLOC) else "")


def _with_tried(found: Findings) -> CapturedReferences | None:
    """What was captured; beside each predicted layout, what its trial showed."""
    captured = found.references
    if captured is None or captured.predicted is None:
        return captured
    mallocs = {**found.screened_mallocs, **found.judged_mallocs}

    def with_tried(one: LayoutPrediction) -> LayoutPrediction:
        own = mallocs.get(one.name, {}) if one.kind == MALLOC else _compared(found, one.name)
        cpu = own.get("cpu_seconds")
        return replace(one, tried=change_of(cpu)) if cpu else one

    layouts = tuple(with_tried(one) for one in captured.predicted.layouts)
    return replace(captured, predicted=replace(captured.predicted, layouts=layouts))


def _compared(found: Findings, plan: str) -> Mapping[str, Comparison]:
    tried = found.tried.get(plan)
    return tried.comparisons if tried else {}


def _predicted_note(found: Findings, subsystem: str, tried: Tried | None) -> str:
    """What references predicted of a subsystem's own pool, beside its trial; or why there was none."""
    predicted = found.references.predicted if found.references else None
    if predicted is None:
        return ""
    if tried is not None:
        own = predicted.of_plan(tried.plan.name)
        cpu = tried.comparisons.get("cpu_seconds")
        return f"; predicted {predicted_text(own)}, tried CPU {percent_text(cpu.median)}" if own and cpu else ""
    alone = [p for p in predicted.layouts if p.dropped and p.pool == subsystem]
    return f"; no trial: predicted {predicted_text(alone[0])}" if alone else ""


def _row(found: Findings, subsystem: Subsystem, *, large: bool, advised: bool) -> Row:
    """The row of one subsystem, without its code.

    `large`: it was a candidate. `advised`: pools by subsystem pay at all (a plan that does not has no helpers).
    """
    name = subsystem.name
    tried = _tried_alone(found, name)
    # The plan that was judged has a pool for it, so it is advised unless its own fresh rounds say no.
    in_plan = name in pooled(found.chosen)
    pays = advised and tried is not None and (tried.pays() or (in_plan and not tried.judged))
    comparisons: Mapping[str, Comparison] = tried.comparisons if tried else {}
    replay = _replay(tried, found.replay)
    reason = (
        _reason(found, tried, large, advised, in_plan)
        + (_legal_note(subsystem.legality, pays, tried) if large else "")
        + (mostly(subsystem) if pays else "")
        + _arena_note(found, subsystem, tried)
        + _predicted_note(found, name, tried)
    )
    return Row(
        **{field: getattr(subsystem, field) for field in SubsystemFacts.__struct_fields__},
        best=_strategy(tried.plan, name) if tried and pays else NOTHING,
        tried=_own_allocator(tried.plan) if tried else None,
        plan=tried.plan.file if tried and pays else None,
        saves_cpu_seconds=saved_by(comparisons.get("cpu_seconds")),
        saves_bytes=saved_by(comparisons.get("peak_bytes")),
        cpu_ratio=change_of(comparisons["cpu_seconds"]) if "cpu_seconds" in comparisons else None,
        reason="; ".join([reason, *(replay.apart if replay else ())]),
        evidence=(*(tried.evidence if tried else ()), *found.counted.get(name, [])),
        arena=_arena(found, subsystem, tried),
        replay=replay,
    )


def _tried_alone(found: Findings, subsystem: str) -> Tried | None:
    """What was tried for a subsystem, a pool of its own or an arena: what the judged plan has, else what pays most."""
    in_plan = {(r.pool, r.strategy) for r in found.chosen.routes} if found.chosen else set()
    tried = [t for t in found.tried.values() if t.plan.alone and subsystem in (t.plan.alone, *t.plan.subsystems)]

    def rank(one: Tried) -> tuple[bool, bool, float]:
        judged = any((r.pool, r.strategy) in in_plan for r in one.plan.routes)
        cpu = one.comparisons.get("cpu_seconds")
        return judged, one.pays(), -cpu.median if cpu else -float("inf")

    return max(tried, key=rank, default=None)


def _replay(tried: Tried | None, replay: Replay) -> RowReplay | None:
    """What replay says of a subsystem beside the trial, and where their intervals lie apart."""
    own = replay.of_plan(tried.plan.name) if tried else None
    if tried is None or own is None:
        return None
    apart = []
    for metric in PREDICTED:
        measured, predicted = tried.comparisons.get(metric), own.saves(metric)
        if measured and predicted and not agree(measured.saved, predicted):
            apart.append(disagreement(metric, predicted))
    others = replay.strategies(tried.plan.name)
    return RowReplay(**asdict(own), agrees=not apart, apart=tuple(apart), strategies=others)


def _effect(found: Findings, name: str) -> Effect:
    metrics = {metric: change_of(comparison) for metric, comparison in found.effects.get(name, {}).items()}
    cpu, evidence = metrics.pop("cpu_seconds", None), tuple(found.evidence.get(name, ()))
    if cpu is not None:
        return Effect(**asdict(cpu), other_metrics=metrics, evidence=evidence)
    why = found.why_no_trial or "not measured: no plan was tried"
    return Effect(verdict="not measured", why_null=why, other_metrics=metrics, evidence=evidence)


def alternatives(found: Findings) -> list[Alternative]:
    """What else there was: judged on fresh rounds, seen while choosing, absent from this machine, not possible yet."""
    judged = judged_choices(found)
    names = {c.name for c in judged}
    result = [Alternative(**asdict(c.option), judged=True) for c in judged]
    seen = [
        Choice(MALLOC, n, c, words_of(found.mallocs[n])) for n, c in found.screened_mallocs.items() if n not in names
    ]
    seen += [
        Choice(PLAN, t.plan.name, t.comparisons)
        for t in found.tried.values()
        if found.chosen is None or t.plan.name != found.chosen.name
    ]
    for one in sorted(seen, key=lambda c: c.gain("cpu_seconds")):
        judged_alone = one.kind == PLAN and found.tried[one.name].judged
        result.append(Alternative(**asdict(one.option), judged=judged_alone))
    absent = [(MALLOC, name, f"not on this machine; {how}") for name, how in found.absent_mallocs.items()]
    absent += [("not tried", name, why) for name, why in NOT_TRIED]
    return result + [Alternative(kind=kind, name=name, why_null=why) for kind, name, why in absent]


def saved_by(comparison: Comparison | None) -> Estimate:
    """What a comparison saves; n = 0 where nothing was measured."""
    return Estimate.of(comparison.saved if comparison else None)


def legality_text(scopes: Sequence[ScopeLegality]) -> str:
    """Where an arena could be owned, in a few words. Only what was observed is called legal."""
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
    """`alive at the end (12 objects)`: what nobody freed after the scope had ended."""
    return f"{ALIVE_AT_END} ({plural(scope.alive_at_end or 0, 'object')})"


def _strategy(plan: Plan, subsystem: str) -> str:
    """By the route that names the subsystem."""
    return next((r.strategy for r in plan.routes if subsystem in r.subsystems), plan.routes[0].strategy)


def _own_allocator(plan: Plan) -> str:
    """What a plan for one pool gives its subsystems, in words."""
    return plan.special[0].own if plan.special else OWN_POOL


def _reason(found: Findings, tried: Tried | None, large: bool, advised: bool, in_plan: bool) -> str:
    cpu = tried.comparisons.get("cpu_seconds") if tried else None
    if tried is None or cpu is None:
        if found.why_no_trial:
            return found.why_no_trial
        if large:
            return "not tried: the budget had no room for this candidate; --budget gives more"
        return "not tried: too small a part of the heap to matter"
    change = f"{percent_text(cpu.median)} CPU ({interval_text(cpu)})"
    if (peak := tried.comparisons.get("peak_bytes")) is not None:
        change += f", {percent_text(peak.median)} peak memory"
    where = "" if tried.judged else " while choosing"
    own = _own_allocator(tried.plan)
    if tried.pays() and advised:
        saved = cpu.saved
        if cpu.verdict != "better":
            return f"{own} makes the program smaller, and not slower: {change}"
        return f"{own} saves {seconds_text(saved.median)} of CPU: {change}, {cpu.n} fresh rounds"
    if advised and in_plan and not tried.judged:
        return f"part of the plan that fresh rounds have judged; alone it was measured while choosing: {change}"
    if tried.pays():
        return f"{own} gains ({change}), but no more than what is advised"
    if cpu.verdict == "worse":
        return f"{own} costs time{where}: {change}; objects that are used together are pulled apart"
    if cpu.verdict == "better":
        return f"{own} looked better{where} ({change}), but no fresh round has confirmed it"
    if cpu.verdict == NO_DIFFERENCE:
        return f"{own} makes no difference{where}: {change}, {plural(cpu.n, 'round')}"
    return f"not settled{where}: {own} gave {change} in {plural(cpu.n, 'round')}"


def _legal_note(scopes: Sequence[ScopeLegality], pays: bool, tried: Tried | None) -> str:
    """What the source could do beyond a pool that lives as long as the process."""
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
        return "; the trace is not whole, so that no scope is known to be able to own an arena"
    alive = next((s for s in scopes if s.legality == ALIVE_AT_END), None)
    if alive is not None:
        return (
            f"; an arena owned by {alive.words} needs a check: {plural(alive.alive_at_end or 0, 'object')} of it were "
            f"never freed, and must not be used after its end{kept}"
        )
    return f"; an allocator owned by any scope would be illegal: objects outlive every one of them{kept}"


def _arena(found: Findings, subsystem: Subsystem, tried: Tried | None) -> Arena | None:
    """What one run counted of the arena that was tried for the subsystem; None where a pool was tried, or nothing."""
    route = _arena_route(tried, subsystem)
    if route is None:
        return None
    counts = found.arenas.get(route.pool) or PoolCounts(route.pool)
    return Arena(
        scope=route.scope, observed=counts.calls > 0, calls=counts.calls,
        outlived_calls=counts.outlived_calls, resets=counts.resets, winking=_winking(subsystem),
    )  # fmt: skip


def _arena_note(found: Findings, subsystem: Subsystem, tried: Tried | None) -> str:
    """What `_arena` says, as the end of a row's reason; or why an arena is not proposed."""
    text = _barred(found, subsystem)
    route = _arena_route(tried, subsystem)
    if route is None or route.scope is None:
        return text
    counts = found.arenas.get(route.pool) or PoolCounts(route.pool)
    if not counts.may_be_proposed:
        return text
    if counts.calls:
        text += f"; {plural(counts.calls, 'call')} observed, each with its own arena"
    elif route.scope.kind == "function":
        text += "; its calls were not observed in the trial, so the arena was reset whenever nothing in it was alive"
    saved = _winking(subsystem)
    if saved.free_calls:
        seconds = f" ({seconds_text(saved.free_seconds)} in this run)" if saved.free_seconds is not None else ""
        text += (
            f"; winking out is predicted to save {count_text(saved.free_calls)} frees{seconds} and their destructors"
        )
    return text


def _arena_route(tried: Tried | None, subsystem: Subsystem) -> PlanRoute | None:
    """The arena of the plan that was tried for a subsystem."""
    routes = tried.plan.arenas if tried else ()
    return next((r for r in routes if subsystem.name in r.subsystems), None)


def _winking(subsystem: Subsystem) -> Winking:
    return Winking(free_calls=subsystem.frees or 0, free_seconds=subsystem.free_seconds)


def _barred(found: Findings, subsystem: Subsystem) -> str:
    """Why an arena, or a pool for each instance, is not proposed: what it would have held, or calls ended too early."""
    for route in (r for plan in found.lasting for r in plan.arenas):
        if lasts(route) and subsystem.name in route.subsystems:
            return f"; {why_not(route, subsystem)}"
    for route in (r for plan in found.candidates for r in plan.special):
        counts = found.arenas.get(route.pool) or PoolCounts(route.pool)
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
    """The objects that keep an arena from being reset: those that outlive the scope that most others do not."""
    scopes = [(s.outliving, s) for s in subsystem.legality if s.outliving and s.witnesses]
    if not scopes:
        return ""
    outliving, scope = min(scopes, key=lambda pair: pair[0])
    witness = scope.witnesses[0]
    return (
        f", kept by {plural(outliving, 'object')} that outlive {scope.words}, such as {bytes_text(witness.bytes)} from "
        f"{' ← '.join(witness.stack[:3])}"
    )
