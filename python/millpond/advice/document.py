# SPDX-License-Identifier: BSL-1.0
"""Makes the advice ("millpond.advice/1") from the verdict: one document with a row for each subsystem.

A row has the subsystem's facts, its legality, the plan that was tried, the savings, and the reason for the advice.
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
    LoadOfServer,
    Option,
    Replay,
    Row,
    RowReplay,
    change_of,
)
from millpond.advice.code_changes import with_code
from millpond.advice.effects import speed_in
from millpond.advice.fewer_blocks import fewer_blocks, words
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.missing_symbols import missing_symbols
from millpond.advice.prediction import agree, disagreement
from millpond.advice.row_reasons import arena_route, own_allocator, reason_of, winking
from millpond.advice.screened_program import TriedPlan
from millpond.advice.verdict import MALLOC, PLAN, Choice, ProgramVerdict
from millpond.advice.verdict_text import described, pooled, sentence
from millpond.cells.cell import PoolCounts
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import (
    Subsystem,
    SubsystemFacts,
)
from millpond.rounds.mallocs import setting_text
from millpond.statistics.order_statistics import Comparison
from millpond.system.packages import packages_of

# Strategies that no trial can run, and why: part of every answer.
NOT_TRIED = (("an arena that is winked out", "an unmodified program destroys its objects one by one"),)


def document(verdict: ProgramVerdict, replay: Replay, counted: Mapping[str, Sequence[str]]) -> Advice:
    """Returns the advice, without author and time. `counted`: the observations of each subsystem's counts."""
    judged, recorded = verdict.judged, verdict.judged.recorded
    advised = verdict.source_change is not None
    plans = (*recorded.candidates, *recorded.dropped, *recorded.lasting)
    candidates = {name for p in plans for name in (p.alone, *p.subsystems)}
    rows = [_row(judged, s, replay, counted, large=s.name in candidates, advised=advised) for s in recorded.subsystems]
    plan = judged.chosen.file if judged.chosen else None
    return with_code(Advice(
        verdict=sentence(verdict, rows),
        choice=_option(verdict.advised, judged.chosen),
        choices=_choices(verdict),
        alternatives=tuple(alternatives(verdict)),
        effects={name: _effect(judged, name) for name in ("faster_malloc", "huge_pages", "placement")},
        sums={name: _effect(judged, name) for name in ("net", "total", "look_up_extra", "pool_extra")},
        rounds=judged.rounds,
        noise=dict(judged.bare),
        plan=plan if advised else None,
        plan_tried=plan,
        program=AnalysedProgram(
            argv=recorded.program, exit=recorded.recording.exit_status, signal=recorded.recording.signal,
            processes=tuple(p.row for p in recorded.recording.processes), analysed=recorded.process.number,
        ),
        trace=(recorded.characterisation or recorded.process.summary).trace.summary,
        errors={"replay": replay.error} if replay.error else {},
        replay=replay,
        subsystems=tuple(rows),
        notes=judged.all_notes,
        references=_with_tried(judged),
        load=LoadOfServer(command=recorded.load.command, rate=recorded.load.rate) if recorded.load else None,
        symbols=missing_symbols((recorded.characterisation or recorded.process.summary).trace.summary),
    ))  # fmt: skip


def _choices(verdict: ProgramVerdict) -> Choices | None:
    """Returns the choices; None if nothing was decided."""
    if not verdict.is_reached:
        return None

    def option(one: Choice | None) -> Option | None:
        return _option(one, verdict.judged.chosen) if one else None

    return Choices(
        prefer=verdict.judged.recorded.prefer, fastest=option(verdict.fastest), leanest=option(verdict.leanest),
        without_source_change=option(verdict.without_source_change), source_change=option(verdict.source_change),
    )  # fmt: skip


def _option(one: Choice, plan: Plan | None) -> Option:
    return replace(one.option, what=described(one, plan) if one.kind in (PLAN, MALLOC) else "")


def _with_tried(judged: JudgedProgram) -> CapturedReferences | None:
    """Returns the captured references, with the result of its trial for each predicted layout."""
    captured = judged.recorded.references
    if captured is None or captured.predicted is None:
        return captured
    mallocs = {**judged.screened.screened_mallocs, **judged.judged_mallocs}

    def with_tried(one: LayoutPrediction) -> LayoutPrediction:
        own = mallocs.get(one.name, {}) if one.kind == MALLOC else _compared(judged, one.name)
        cpu = own.get("cpu_seconds")
        return replace(one, tried=change_of(cpu)) if cpu else one

    layouts = tuple(with_tried(one) for one in captured.predicted.layouts)
    return replace(captured, predicted=replace(captured.predicted, layouts=layouts))


def _compared(judged: JudgedProgram, plan: str) -> Mapping[str, Comparison]:
    tried = judged.tried.get(plan)
    return tried.comparisons if tried else {}


def _row(
    judged: JudgedProgram, subsystem: Subsystem, replayed: Replay, counted: Mapping[str, Sequence[str]],
    *, large: bool, advised: bool,
) -> Row:  # fmt: skip
    """Returns the row of one subsystem, without its code.

    `large`: it was a candidate. `advised`: pools by subsystem pay at all (a plan that does not pay has no helpers).
    """
    name = subsystem.name
    tried = _tried_alone(judged, name)
    # The judged plan has a pool for it, so it is advised unless its own fresh rounds contradict that.
    in_plan = name in pooled(judged.chosen)
    pays = advised and tried is not None and (tried.pays() or (in_plan and not tried.judged))
    comparisons: Mapping[str, Comparison] = tried.comparisons if tried else {}
    replay = _replay(tried, replayed)
    reason = reason_of(judged, subsystem, tried, large=large, pays=pays, advised=advised, in_plan=in_plan)
    package = packages_of(subsystem.modules) if large or in_plan else None
    whose = [f"its source belongs to {package}, which others build"] if package and pays else []
    fewer = fewer_blocks(subsystem, sum(s.allocations or 0 for s in judged.recorded.subsystems))
    return Row(
        **{field: getattr(subsystem, field) for field in SubsystemFacts.__struct_fields__},
        best=_strategy(tried.plan, name) if tried and pays else NOTHING,
        package=package,
        tried=own_allocator(tried.plan) if tried else None,
        plan=tried.plan.file if tried and pays else None,
        saves_cpu_seconds=saved_by(comparisons.get("cpu_seconds")),
        saves_bytes=saved_by(comparisons.get("peak_bytes")),
        cpu_ratio=change_of(comparisons["cpu_seconds"]) if "cpu_seconds" in comparisons else None,
        reason="; ".join([reason, *whose, *(replay.apart if replay else ()), *map(words, fewer)]),
        evidence=(*(tried.evidence if tried else ()), *counted.get(name, ())),
        arena=_arena(judged, subsystem, tried),
        replay=replay,
        fewer_blocks=fewer,
        fleet_share=None if judged.recorded.fleet is None else judged.recorded.fleet.shares.get(name, 0.0),
    )


def _tried_alone(judged: JudgedProgram, subsystem: str) -> TriedPlan | None:
    """Returns the plan tried for a single subsystem, a pool or an arena: the judged plan's strategy, else the best."""
    in_plan = {(r.pool, r.strategy) for r in judged.chosen.routes} if judged.chosen else set()
    tried = [t for t in judged.tried.values() if t.plan.alone and subsystem in (t.plan.alone, *t.plan.subsystems)]

    def rank(one: TriedPlan) -> tuple[bool, bool, float]:
        judged = any((r.pool, r.strategy) in in_plan for r in one.plan.routes)
        speed = speed_in(one.comparisons)
        return judged, one.pays(), -speed.median if speed else -float("inf")

    return max(tried, key=rank, default=None)


def _replay(tried: TriedPlan | None, replay: Replay) -> RowReplay | None:
    """Returns replay's prediction for a subsystem, and a note if its interval does not meet the trial's."""
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


def _effect(judged: JudgedProgram, name: str) -> Effect:
    metrics = {metric: change_of(comparison) for metric, comparison in judged.effects.get(name, {}).items()}
    cpu, evidence = metrics.pop("cpu_seconds", None), tuple(judged.evidence.get(name, ()))
    if cpu is not None:
        return Effect(**asdict(cpu), other_metrics=metrics, evidence=evidence)
    why = judged.why_no_trial or "not measured: no plan was tried"
    return Effect(verdict="not measured", why_null=why, other_metrics=metrics, evidence=evidence)


def alternatives(verdict: ProgramVerdict) -> list[Alternative]:
    """Returns the other contenders: judged in fresh rounds, seen while choosing, absent from this machine, or not
    possible yet.
    """
    judged, screened = verdict.judged, verdict.judged.screened
    names = {c.name for c in verdict.contenders}
    result = [Alternative(**asdict(c.option), judged=True) for c in verdict.contenders]
    seen = [
        Choice(MALLOC, n, c, setting_text(screened.mallocs[n]))
        for n, c in screened.screened_mallocs.items()
        if n not in names
    ]
    tried = judged.tried
    seen += [
        Choice(PLAN, t.plan.name, t.comparisons)
        for t in tried.values()
        if judged.chosen is None or t.plan.name != judged.chosen.name
    ]
    for one in sorted(seen, key=lambda c: c.slowness):
        judged_alone = one.kind == PLAN and tried[one.name].judged
        result.append(Alternative(**asdict(one.option), judged=judged_alone))
    absent = [(MALLOC, name, f"not on this machine; {how}") for name, how in screened.absent_mallocs.items()]
    absent += [("not tried", name, why) for name, why in NOT_TRIED]
    return result + [Alternative(kind=kind, name=name, why_null=why) for kind, name, why in absent]


def saved_by(comparison: Comparison | None) -> Estimate:
    """Returns the saving of a comparison; n = 0 if nothing was measured."""
    return Estimate.of(comparison.saved if comparison else None)


def _strategy(plan: Plan, subsystem: str) -> str:
    """Returns the strategy of the route that names the subsystem."""
    return next((r.strategy for r in plan.routes if subsystem in r.subsystems), plan.routes[0].strategy)


def _arena(judged: JudgedProgram, subsystem: Subsystem, tried: TriedPlan | None) -> Arena | None:
    """Returns the counts of one run for the subsystem's arena; None if a pool or nothing was tried."""
    route = arena_route(tried, subsystem)
    if route is None:
        return None
    counts = judged.screened.arenas.get(route.pool) or PoolCounts(route.pool)
    return Arena(
        scope=route.scope, observed=counts.calls > 0, calls=counts.calls,
        outlived_calls=counts.outlived_calls, resets=counts.resets, winking=winking(subsystem),
    )  # fmt: skip
