# SPDX-License-Identifier: BSL-1.0
"""The advice: everything that was found, as one document ("millpond.advice/1"), and the sentence on top of it.

*Do nothing* wins whenever nothing beats it beyond the noise. Placement is advised only where it beats the shared pool
**and** the program would gain against what it is today; what an illegal scope would own is never advised at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millpond.advice.effects import Effects
from millpond.advice.prediction import PREDICTED, Predictions, agree, disagreement
from millpond.advice.rows import NOTHING, Tried, row
from millpond.cells.plans import REST, Plan
from millpond.execution.laboratory import describe
from millpond.execution.recording import Process, Recording
from millpond.system.wording import effect_text, list_text, percent_text, plural, seconds_text

SCHEMA = "millpond.advice/1"


@dataclass
class Findings:
    """What a run of `advise` found out, step by step; a step that was not reached leaves its default."""

    program: tuple[str, ...]
    recording: Recording
    process: Process
    characterisation: dict[str, Any] = field(default_factory=dict)
    contexts: dict[str, Any] = field(default_factory=dict)
    candidates: list[Plan] = field(default_factory=list)
    tried: dict[str, Tried] = field(default_factory=dict)
    chosen: Plan | None = None
    effects: Effects = field(default_factory=dict)
    evidence: dict[str, list[str]] = field(default_factory=dict)
    counted: dict[str, list[str]] = field(default_factory=dict)
    rounds: int = 0
    bare: dict[str, dict[str, float]] = field(default_factory=dict)  # metric → what the bare judging rounds are like
    whole: dict[str, float] = field(default_factory=dict)  # metric → what a bare judging round takes
    predictions: Predictions = field(default_factory=lambda: Predictions(why="nothing was tried"))
    why_no_trial: str = ""
    notes: list[str] = field(default_factory=list)

    def verdict(self, effect: str, metric: str = "cpu_seconds") -> str:
        """The verdict of one effect; empty where it was not measured."""
        found = self.effects.get(effect, {}).get(metric)
        return found.verdict if found else ""


def placement_pays(found: Findings) -> bool:
    """Whether pools by subsystem are worth having: beyond a shared pool, and beyond the program as it is."""
    faster = found.verdict("placement") == "better" and "better" in (found.verdict("total"), found.verdict("net"))
    smaller = (
        found.verdict("placement", "peak_bytes") == "better"
        and found.verdict("total", "peak_bytes") == "better"
        and "worse" not in (found.verdict("placement"), found.verdict("net"))
    )
    return faster or smaller


def document(found: Findings) -> dict[str, Any]:
    """The advice as plain data, by the shared schema."""
    advised = placement_pays(found)
    by_subsystem = {t.plan.alone: t for t in found.tried.values()}
    candidates = {p.alone for p in found.candidates}
    rows = []
    for subsystem in found.characterisation.get("subsystems", []):
        name = subsystem["name"]
        large = name in candidates
        why = found.why_no_trial or _why_untried(large)
        counted = found.counted.get(name, [])
        tried = by_subsystem.get(name)
        rows.append(
            row(subsystem, tried, why, counted, large=large, advised=advised, in_plan=name in _pooled(found.chosen))
        )
        _add_predictions(rows[-1], tried, found.predictions)
    trace = dict(found.process.summary.get("trace", {})) | dict(found.characterisation.get("trace", {}))
    return {
        "schema": SCHEMA,
        "verdict": sentence(found, rows),
        "effects": {name: _effect(found, name) for name in ("faster_malloc", "huge_pages", "placement")},
        "sums": {
            name: _effect(found, name) for name in ("net", "total", "malloc_and_huge_pages", "interposer", "look_up")
        },
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
    }


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


def _pooled(plan: Plan | None) -> list[str]:
    """The subsystems that a plan gives pools of their own."""
    return [name for r in plan.routes for name in r.subsystems if name != REST] if plan else []


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


def sentence(found: Findings, rows: list[dict[str, Any]]) -> str:
    """The verdict in words."""
    crash = ""
    if found.recording.signal:
        crash = f"The program {describe(found.recording.exit_status, found.recording.signal)}. "
    if not found.process.summary.get("trace", {}).get("events"):
        return f"{crash}Nothing to advise: the program has no heap events."
    if found.why_no_trial:
        return f"Do nothing: {found.why_no_trial.removeprefix('not tried: ')}."
    parts = [p for p in (_placement(found, rows), _malloc(found), _huge(found)) if p]
    measured = f"{plural(found.rounds, 'round')}, CPU time"
    if not parts:
        figures = "; ".join(f"{words} {_figure(found, name)}" for name, words in _WORDS.items())
        return f"Do nothing: nothing beats the program as it is beyond the noise ({figures}; {measured})."
    if "placement" in found.effects and not placement_pays(found):
        parts.append(f"pools by subsystem are not worth it (placement {_figure(found, 'placement')})")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]} ({measured})."


_WORDS = {"faster_malloc": "a faster malloc", "huge_pages": "huge pages", "placement": "placement"}


def _figure(found: Findings, name: str) -> str:
    cpu = found.effects.get(name, {}).get("cpu_seconds")
    return effect_text(cpu.to_json()) if cpu else "not measured"


def _change(found: Findings, name: str) -> str:
    return _figure(found, name).removesuffix(", better")


def _placement(found: Findings, rows: list[dict[str, Any]]) -> str:
    if not placement_pays(found) or found.chosen is None:
        return ""
    confirmed = {r["name"] for r in rows if r["best"] != NOTHING}
    pools = [name for name in _pooled(found.chosen) if name in confirmed]
    silent = [name for name in _pooled(found.chosen) if name not in confirmed]
    if not pools:  # only together do they show anything
        pools, silent = silent, []
    who = list_text(pools)
    cpu = found.effects["placement"]["cpu_seconds"]
    peak = found.effects["total"].get("peak_bytes")
    changed = peak is not None and peak.verdict != "inside noise"
    memory = f", peak resident bytes {percent_text(peak.ratio.median)}" if peak and changed else ""
    if cpu.verdict != "better":
        return f"give {who} pools of their own to save memory{memory}"
    each = "a pool of its own" if len(pools) == 1 else "a pool each"
    return (
        f"give {who} {each}: placement saves {seconds_text(cpu.saved.median)}, {_change(found, 'placement')}, "
        f"beyond what a faster malloc gives{memory}{_with_silent(silent)}{_alternatives([*pools, *silent], rows)}"
    )


def _with_silent(silent: list[str]) -> str:
    """Pools that the judged plan had and that alone showed nothing: the figures are of a plan that has them too."""
    if not silent:
        return ""
    show = "shows" if len(silent) == 1 else "show"
    return f" (measured with {list_text(silent)} in a pool too, which alone {show} nothing)"


def _alternatives(pools: list[str], rows: list[dict[str, Any]]) -> str:
    """Pools that pay alone but are no part of the plan: the figures of the plan are not theirs."""
    others = [r["name"] for r in rows if r["best"] != NOTHING and r["name"] not in pools]
    return f" (a pool for {' or for '.join(others)} pays alone too, but not added to these)" if others else ""


def _malloc(found: Findings) -> str:
    if found.verdict("faster_malloc") != "better":
        return ""
    return f"any faster malloc gives {_change(found, 'faster_malloc')}, without a change of the source"


def _huge(found: Findings) -> str:
    # A pool on huge pages that beats a slow pool is no gain: the two together must beat the program as it is.
    if found.verdict("huge_pages") != "better" or found.verdict("malloc_and_huge_pages") != "better":
        return ""
    return f"huge pages give {_change(found, 'huge_pages')} on this machine"
