# SPDX-License-Identifier: BSL-1.0
"""The advice: everything that was found, as one document ("millpond.advice/1")."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from millpond.advice.advice_data import (
    Advice,
    Alternative,
    AnalysedProgram,
    Effect,
    RowReplay,
    Spread,
    change_of,
)
from millpond.advice.arenas import arena_of, arena_text
from millpond.advice.choice import MALLOC, PLAN, Choice, choice, judged_choices
from millpond.advice.code_note import with_code
from millpond.advice.findings import Findings
from millpond.advice.prediction import PREDICTED, Predictions, agree, disagreement
from millpond.advice.rows import Tried, row
from millpond.advice.verdict import pooled, sentence
from millpond.rounds.mallocs import words_of
from millpond.system.records import decode

# What no trial can do, and why: part of every answer.
NOT_TRIED = (("an arena that is winked out", "an unmodified program destroys its objects one by one"),)


def document(found: Findings) -> Advice:
    """The advice; who made it and when is not in it yet."""
    chosen = choice(found)
    advised = chosen.kind == PLAN
    candidates = {name for p in found.candidates for name in (p.alone, *p.subsystems)}
    rows = []
    for subsystem in found.subsystems:
        name = subsystem.name
        large = name in candidates
        why = found.why_no_trial or _why_untried(large)
        counted = found.counted.get(name, [])
        tried = _tried_alone(found, name)
        one = row(subsystem, tried, why, counted, large=large, advised=advised, in_plan=name in pooled(found.chosen))
        replay = _replay(tried, found.predictions)
        said = [one.reason + arena_text(found, subsystem, tried), *(replay.apart if replay else ())]
        rows.append(replace(one, arena=arena_of(found, subsystem, tried), reason="; ".join(said), replay=replay))
    error = found.predictions.error
    plan = found.chosen.file if found.chosen else None
    return with_code(Advice(
        verdict=sentence(found, rows),
        choice=chosen.option,
        alternatives=tuple(alternatives(found)),
        effects={name: _effect(found, name) for name in ("faster_malloc", "huge_pages", "placement")},
        sums={name: _effect(found, name) for name in ("net", "total", "look_up")},
        rounds=found.rounds,
        noise=decode(dict[str, Spread], found.bare),
        plan=plan if advised else None,
        plan_tried=plan,
        program=AnalysedProgram(
            argv=found.program, exit=found.recording.exit_status, signal=found.recording.signal,
            processes=tuple(p.row for p in found.recording.processes), analysed=found.process.number,
        ),
        trace=(found.characterisation or found.process.summary).trace.summary,
        errors={"replay": error.note} if error else {},
        replay=found.predictions.record,
        subsystems=tuple(rows),
        notes=tuple(found.notes),
    ))  # fmt: skip


def _tried_alone(found: Findings, subsystem: str) -> Tried | None:
    """What was tried for a subsystem, a pool of its own or an arena: what the judged plan has, else what pays most."""
    in_plan = {(r.pool, r.strategy) for r in found.chosen.routes} if found.chosen else set()
    tried = [t for t in found.tried.values() if t.plan.alone and subsystem in (t.plan.alone, *t.plan.subsystems)]

    def rank(one: Tried) -> tuple[bool, bool, float]:
        judged = any((r.pool, r.strategy) in in_plan for r in one.plan.routes)
        cpu = one.comparisons.get("cpu_seconds")
        return judged, one.pays(), -cpu.ratio.median if cpu else -float("inf")

    return max(tried, key=rank, default=None)


def _replay(tried: Tried | None, predictions: Predictions) -> RowReplay | None:
    """What replay says of a subsystem beside the trial, and where their intervals lie apart."""
    own = predictions.of_plan(tried.plan.name) if tried else None
    if tried is None or own is None:
        return None
    apart = []
    for metric in PREDICTED:
        measured = tried.comparisons.get(metric)
        if measured and metric in own.saves and not agree(measured.saved, own.saves[metric]):
            apart.append(disagreement(metric, own.saves[metric]))
    others = tuple(p.record for p in predictions.strategies(tried.plan.name))
    return RowReplay(**asdict(own.record), agrees=not apart, apart=tuple(apart), strategies=others)


def _why_untried(candidate: bool) -> str:
    if candidate:
        return "not tried: the budget had no room for this candidate; --budget gives more"
    return "not tried: too small a part of the heap to matter"


def _effect(found: Findings, name: str) -> Effect:
    metrics = {metric: change_of(comparison) for metric, comparison in found.effects.get(name, {}).items()}
    cpu, evidence = metrics.pop("cpu_seconds", None), tuple(found.evidence.get(name, ()))
    if cpu is not None:
        return Effect(**asdict(cpu), other_metrics=metrics, evidence=evidence)
    why = found.why_no_trial or "not measured: no plan was tried"
    return Effect(verdict="inside noise", why_null=why, other_metrics=metrics, evidence=evidence)


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
