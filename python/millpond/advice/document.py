# SPDX-License-Identifier: BSL-1.0
"""The advice: everything that was found, as one document ("millpond.advice/1")."""

from __future__ import annotations

from typing import Any

from millpond.advice.arenas import arena_json, arena_text
from millpond.advice.choice import MALLOC, PLAN, Choice, choice, judged_choices
from millpond.advice.code_note import with_code
from millpond.advice.findings import Findings
from millpond.advice.prediction import PREDICTED, Predictions, agree, disagreement
from millpond.advice.rows import Tried, row
from millpond.advice.verdict import pooled, sentence

SCHEMA = "millpond.advice/1"
# What no trial can do, and why: part of every answer.
NOT_TRIED = (("an arena that is winked out", "an unmodified program destroys its objects one by one"),)


def document(found: Findings) -> dict[str, Any]:
    """The advice as plain data, by the shared schema."""
    chosen = choice(found)
    advised = chosen.kind == PLAN
    candidates = {name for p in found.candidates for name in (p.alone, *p.subsystems)}
    rows = []
    for subsystem in found.characterisation.get("subsystems", []):
        name = subsystem["name"]
        large = name in candidates
        why = found.why_no_trial or _why_untried(large)
        counted = found.counted.get(name, [])
        tried = _tried_alone(found, name)
        rows.append(
            row(subsystem, tried, why, counted, large=large, advised=advised, in_plan=name in pooled(found.chosen))
        )
        rows[-1]["arena"] = arena_json(found, subsystem, tried)
        rows[-1]["reason"] += arena_text(found, subsystem, tried)
        _add_predictions(rows[-1], tried, found.predictions)
    trace = dict(found.process.summary.get("trace", {})) | dict(found.characterisation.get("trace", {}))
    return with_code({
        "schema": SCHEMA,
        "verdict": sentence(found, rows),
        "choice": chosen.to_json(),
        "alternatives": alternatives(found),
        "effects": {name: _effect(found, name) for name in ("faster_malloc", "huge_pages", "placement")},
        "sums": {name: _effect(found, name) for name in ("net", "total", "look_up")},
        "rounds": found.rounds,
        "noise": found.bare,
        "plan": found.chosen.to_json() if found.chosen and advised else None,
        "plan_tried": found.chosen.to_json() if found.chosen else None,
        "program": {
            "argv": list(found.program),
            "exit": found.recording.exit_status,
            "signal": found.recording.signal,
            "processes": [p.to_json() for p in found.recording.processes],
            "analysed": found.process.number,
        },
        "trace": _trace(trace),
        "errors": {"replay": found.predictions.error.to_json()} if found.predictions.error else {},
        "replay": found.predictions.to_json(),
        "subsystems": rows,
        "notes": found.notes,
    })  # fmt: skip


def _tried_alone(found: Findings, subsystem: str) -> Tried | None:
    """What was tried for a subsystem, a pool of its own or an arena: what the judged plan has, else what pays most."""
    in_plan = {(r.pool, r.strategy) for r in found.chosen.routes} if found.chosen else set()
    tried = [t for t in found.tried.values() if t.plan.alone and subsystem in (t.plan.alone, *t.plan.subsystems)]

    def rank(one: Tried) -> tuple[bool, bool, float]:
        judged = any((r.pool, r.strategy) in in_plan for r in one.plan.routes)
        cpu = one.comparisons.get("cpu_seconds")
        return judged, one.pays(), -cpu.ratio.median if cpu else -float("inf")

    return max(tried, key=rank, default=None)


def _add_predictions(row: dict[str, Any], tried: Tried | None, predictions: Predictions) -> None:
    """What replay says of the subsystem, beside the trial; where their intervals lie apart, the reason says so."""
    own = predictions.of_plan(tried.plan.name) if tried else None
    row["replay"] = None
    if tried is None or own is None:
        return
    apart = []
    for metric in PREDICTED:
        measured = tried.comparisons.get(metric)
        if measured and metric in own.saves and not agree(measured.saved, own.saves[metric]):
            apart.append(disagreement(metric, own.saves[metric]))
    others = [p.to_json() for p in predictions.strategies(tried.plan.name)]
    row["replay"] = {**own.to_json(), "agrees": not apart, "apart": apart, "strategies": others}
    if apart:
        row["reason"] += "; " + "; ".join(apart)


def _why_untried(candidate: bool) -> str:
    if candidate:
        return "not tried: the budget had no room for this candidate; --budget gives more"
    return "not tried: too small a part of the heap to matter"


def _effect(found: Findings, name: str) -> dict[str, Any]:
    metrics = found.effects.get(name, {})
    cpu = metrics.get("cpu_seconds")
    empty: dict[str, Any] = {
        "n": 0, "median": None, "low": None, "high": None, "level": None, "method": "none", "verdict": "inside noise",
        "why_null": found.why_no_trial or "not measured: no plan was tried",
    }  # fmt: skip
    return {
        **(cpu.to_json() if cpu else empty),
        "other_metrics": {m: c.to_json() for m, c in metrics.items() if m != "cpu_seconds"},
        "evidence": found.evidence.get(name, []),
    }


def _trace(trace: dict[str, Any]) -> dict[str, Any]:
    keys = ("events", "bytes", "lost", "aliasing", "named_share", "contexts", "damages", "clean", "stopped_early",
            "duration_seconds", "cpu_seconds", "threads", "peak_live_bytes", "end_live_bytes")  # fmt: skip
    return {key: trace.get(key) for key in keys}


def alternatives(found: Findings) -> list[dict[str, Any]]:
    """What else there was: judged on fresh rounds, seen while choosing, absent from this machine, not possible yet."""
    judged = judged_choices(found)
    names = {c.name for c in judged}
    result = [{**c.to_json(), "judged": True, "why_null": None} for c in judged]
    seen = [Choice(MALLOC, n, c, found.mallocs[n].words) for n, c in found.screened_mallocs.items() if n not in names]
    seen += [
        Choice(PLAN, t.plan.name, t.comparisons)
        for t in found.tried.values()
        if found.chosen is None or t.plan.name != found.chosen.name
    ]
    for one in sorted(seen, key=lambda c: c.gain("cpu_seconds")):
        judged_alone = one.kind == PLAN and found.tried[one.name].judged
        result.append({**one.to_json(), "judged": judged_alone, "why_null": None})
    nothing = {"command": None, "for": None, "cpu": None, "peak": None, "judged": False}
    result += [{"kind": MALLOC, "name": name, **nothing, "why_null": f"not on this machine; {how}"}
               for name, how in found.absent_mallocs.items()]  # fmt: skip
    return result + [{"kind": "not tried", "name": name, **nothing, "why_null": why} for name, why in NOT_TRIED]
