# SPDX-License-Identifier: BSL-1.0
"""Makes the advice ("millpond.advice/1") from the findings: one document with a row for each subsystem.

A row has the subsystem's facts, its legality, the plan that was tried, the savings, and the reason for the advice.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    change_of,
)
from millpond.advice.code_changes import with_code
from millpond.advice.decision import MALLOC, PLAN, Choice, Decision, decide, judged_choices
from millpond.advice.fewer_blocks import fewer_blocks, words
from millpond.advice.findings import Findings, TriedPlan
from millpond.advice.missing_symbols import missing_symbols
from millpond.advice.prediction import agree, disagreement
from millpond.advice.row_reasons import arena_route, own_allocator, reason_of, winking
from millpond.advice.verdict import described, pooled, sentence
from millpond.cells.cell import PoolCounts
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import (
    Subsystem,
    SubsystemFacts,
)
from millpond.rounds.mallocs import setting_text
from millpond.rounds.schedule import FEWEST_VERDICT_ROUNDS
from millpond.statistics.order_statistics import Comparison
from millpond.system.packages import packages_of

# Strategies that no trial can run, and why: part of every answer.
NOT_TRIED = (("an arena that is winked out", "an unmodified program destroys its objects one by one"),)


def document(found: Findings) -> Advice:
    """Returns the advice, without author and time."""
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
        sums={name: _effect(found, name) for name in ("net", "total", "look_up_extra", "pool_extra")},
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
        symbols=missing_symbols((found.characterisation or found.process.summary).trace.summary),
    ))  # fmt: skip


def _choices(found: Findings, decision: Decision) -> Choices | None:
    """Returns the choices; None if nothing was decided."""
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
    """Returns the captured references, with the result of its trial for each predicted layout."""
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


def _row(found: Findings, subsystem: Subsystem, *, large: bool, advised: bool) -> Row:
    """Returns the row of one subsystem, without its code.

    `large`: it was a candidate. `advised`: pools by subsystem pay at all (a plan that does not pay has no helpers).
    """
    name = subsystem.name
    tried = _tried_alone(found, name)
    # The judged plan has a pool for it, so it is advised unless its own fresh rounds contradict that.
    in_plan = name in pooled(found.chosen)
    pays = advised and tried is not None and (tried.pays() or (in_plan and not tried.judged))
    comparisons: Mapping[str, Comparison] = tried.comparisons if tried else {}
    replay = _replay(tried, found.replay)
    reason = reason_of(found, subsystem, tried, large=large, pays=pays, advised=advised, in_plan=in_plan)
    package = packages_of(subsystem.modules) if large or in_plan else None
    whose = [f"its source belongs to {package}, which others build"] if package and pays else []
    fewer = fewer_blocks(subsystem, sum(s.allocations or 0 for s in found.subsystems))
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
        evidence=(*(tried.evidence if tried else ()), *found.counted.get(name, [])),
        arena=_arena(found, subsystem, tried),
        replay=replay,
        fewer_blocks=fewer,
    )


def _tried_alone(found: Findings, subsystem: str) -> TriedPlan | None:
    """Returns the plan tried for a single subsystem, a pool or an arena: the judged plan's strategy, else the best."""
    in_plan = {(r.pool, r.strategy) for r in found.chosen.routes} if found.chosen else set()
    tried = [t for t in found.tried.values() if t.plan.alone and subsystem in (t.plan.alone, *t.plan.subsystems)]

    def rank(one: TriedPlan) -> tuple[bool, bool, float]:
        judged = any((r.pool, r.strategy) in in_plan for r in one.plan.routes)
        cpu = one.comparisons.get("cpu_seconds")
        return judged, one.pays(), -cpu.median if cpu else -float("inf")

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


def _effect(found: Findings, name: str) -> Effect:
    metrics = {metric: change_of(comparison) for metric, comparison in found.effects.get(name, {}).items()}
    cpu, evidence = metrics.pop("cpu_seconds", None), tuple(found.evidence.get(name, ()))
    if cpu is not None:
        return Effect(**asdict(cpu), other_metrics=metrics, evidence=evidence)
    why = found.why_no_trial or "not measured: no plan was tried"
    return Effect(verdict="not measured", why_null=why, other_metrics=metrics, evidence=evidence)


def alternatives(found: Findings) -> list[Alternative]:
    """Returns the other contenders: judged in fresh rounds, seen while choosing, absent from this machine, or not
    possible yet.
    """
    judged = judged_choices(found)
    names = {c.name for c in judged}
    result = [Alternative(**asdict(c.option), judged=True) for c in judged]
    seen = [
        Choice(MALLOC, n, c, setting_text(found.mallocs[n]))
        for n, c in found.screened_mallocs.items()
        if n not in names
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
    """Returns the saving of a comparison; n = 0 if nothing was measured."""
    return Estimate.of(comparison.saved if comparison else None)


def _strategy(plan: Plan, subsystem: str) -> str:
    """Returns the strategy of the route that names the subsystem."""
    return next((r.strategy for r in plan.routes if subsystem in r.subsystems), plan.routes[0].strategy)


def _arena(found: Findings, subsystem: Subsystem, tried: TriedPlan | None) -> Arena | None:
    """Returns the counts of one run for the subsystem's arena; None if a pool or nothing was tried."""
    route = arena_route(tried, subsystem)
    if route is None:
        return None
    counts = found.arenas.get(route.pool) or PoolCounts(route.pool)
    return Arena(
        scope=route.scope, observed=counts.calls > 0, calls=counts.calls,
        outlived_calls=counts.outlived_calls, resets=counts.resets, winking=winking(subsystem),
    )  # fmt: skip
