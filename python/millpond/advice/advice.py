# SPDX-License-Identifier: BSL-1.0
"""The advice: everything that was found, as one document ("millpond.advice/1"), and the sentence on top of it.

*Do nothing* wins whenever nothing beats it beyond the noise. Every figure is against the program as it is. A plan,
which needs a change of the source, is advised only where it beats the best malloc of this machine, which needs none;
what an illegal scope would own is never advised at all. Too few rounds give no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millpond.advice.effects import NET, Effects
from millpond.advice.prediction import PREDICTED, Predictions, agree, disagreement
from millpond.advice.rows import NOTHING, Tried, row
from millpond.cells.plans import REST, Plan
from millpond.execution.laboratory import describe
from millpond.execution.mallocs import Malloc
from millpond.execution.recording import Process, Recording
from millpond.execution.schedule import VERDICT_ROUNDS
from millpond.statistics.order_statistics import Comparison
from millpond.system.wording import list_text, percent_text, plural, seconds_text

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
    mallocs: dict[str, Malloc] = field(default_factory=dict)  # those of this machine, by name
    absent_mallocs: dict[str, str] = field(default_factory=dict)  # name → how to get it
    screened_mallocs: dict[str, dict[str, Comparison]] = field(default_factory=dict)  # in the choosing rounds
    judged_mallocs: dict[str, dict[str, Comparison]] = field(default_factory=dict)
    best_malloc: str = ""
    plan_against_malloc: dict[str, Comparison] = field(default_factory=dict)  # net, against the best malloc
    verdict_seconds: float = 0.0  # what VERDICT_ROUNDS rounds of the judged contenders take
    predictions: Predictions = field(default_factory=lambda: Predictions(why="nothing was tried"))
    why_no_trial: str = ""
    notes: list[str] = field(default_factory=list)

    def verdict(self, effect: str, metric: str = "cpu_seconds") -> str:
        """The verdict of one effect; empty where it was not measured."""
        found = self.effects.get(effect, {}).get(metric)
        return found.verdict if found else ""


@dataclass(frozen=True)
class Choice:
    """What is advised, or could have been: a plan, another malloc, or to leave the program as it is.

    `comparisons`: against the program as it is, by metric. `purpose`: what it is chosen for, CPU or memory.
    """

    kind: str
    name: str
    comparisons: Mapping[str, Comparison]
    command: str = ""
    purpose: str = ""

    def verdict(self, metric: str) -> str:
        """The verdict in one metric; empty where it was not measured."""
        found = self.comparisons.get(metric)
        return found.verdict if found else ""

    def gain(self, metric: str) -> float:
        """The median ratio in one metric; 1 where it was not measured."""
        found = self.comparisons.get(metric)
        return found.ratio.median if found else 1.0

    @property
    def saves_time(self) -> bool:
        return self.verdict("cpu_seconds") == "better"

    @property
    def saves_memory(self) -> bool:
        return self.verdict("peak_bytes") == "better" and self.verdict("cpu_seconds") != "worse"

    def to_json(self) -> dict[str, Any]:
        """As plain data: both metrics as summaries of ratios."""
        found = {m: c.to_json() for m, c in self.comparisons.items() if m in ("cpu_seconds", "peak_bytes")}
        return {"kind": self.kind, "name": self.name, "command": self.command or None, "for": self.purpose or None,
                "cpu": found.get("cpu_seconds"), "peak": found.get("peak_bytes")}  # fmt: skip


PLAN, MALLOC, NONE, UNDECIDED = "plan", "malloc", "nothing", "undecided"


def judged_choices(found: Findings) -> list[Choice]:
    """What fresh rounds have judged: the plan and the mallocs, the one with the least CPU first."""
    result = [
        Choice(MALLOC, name, comparisons, found.mallocs[name].words)
        for name, comparisons in found.judged_mallocs.items()
    ]
    if found.chosen is not None and NET in found.effects:
        result.append(Choice(PLAN, found.chosen.name, found.effects[NET]))
    return sorted(result, key=lambda c: c.gain("cpu_seconds"))


def choice(found: Findings) -> Choice:
    """The best of what was judged. Time comes before memory; a plan has to beat the best malloc beyond the noise.

    A malloc needs no change of the source, so a plan that only equals it is not worth the work.
    """
    nothing = Choice(NONE, "", {})
    if found.why_no_trial or found.rounds < VERDICT_ROUNDS:
        return Choice(UNDECIDED, "", {})
    judged = judged_choices(found)
    for purpose, saves in (("CPU", "saves_time"), ("memory", "saves_memory")):
        metric = "cpu_seconds" if purpose == "CPU" else "peak_bytes"
        helping = sorted((c for c in judged if getattr(c, saves)), key=lambda c: c.gain(metric))
        plan = next((c for c in helping if c.kind == PLAN), None)
        malloc = next((c for c in helping if c.kind == MALLOC), None)
        if plan and malloc:
            beyond = found.plan_against_malloc.get(metric) if malloc.name == found.best_malloc else None
            better = beyond.verdict == "better" if beyond else plan.gain(metric) < malloc.gain(metric) - _CLEARLY
            return replace(plan if better else malloc, purpose=purpose)
        if helping:
            return replace(helping[0], purpose=purpose)
    return nothing


# Where two were not compared in one family: by so much one has to be below the other.
_CLEARLY = 0.02


def plan_pays(found: Findings) -> bool:
    """Whether the plan is what is advised."""
    return choice(found).kind == PLAN


def document(found: Findings) -> dict[str, Any]:
    """The advice as plain data, by the shared schema."""
    chosen = choice(found)
    advised = chosen.kind == PLAN
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
        return f"No verdict: {found.why_no_trial.removeprefix('not tried: ')}."
    if found.rounds < VERDICT_ROUNDS:
        return _not_enough(found)
    chosen = choice(found)
    measured = f"{plural(found.rounds, 'round')} against the program as it is"
    if chosen.kind == NONE:
        return f"Do nothing: {_nothing_helps(found)} ({measured}).{_distortion(found)}"
    text = _advised(found, chosen, rows)
    others = [c for c in judged_choices(found) if c.name != chosen.name or c.kind != chosen.kind]
    if others:
        text += "; of the others, " + "; ".join(f"{_described(found, c)}: {_both(c)}" for c in others)
    return f"{text} ({measured}).{_distortion(found)}"


def _advised(found: Findings, chosen: Choice, rows: list[dict[str, Any]]) -> str:
    why = "" if chosen.purpose == "CPU" else "To save memory: "
    if chosen.kind == MALLOC:
        return f"{why}{chosen.command}: {_both(chosen)}, without a change of the source"
    pools = _pooled(found.chosen)
    each = "a pool of its own" if len(pools) == 1 else "a pool each"
    confirmed = {r["name"] for r in rows if r["best"] != NOTHING}
    silent = [name for name in pools if confirmed and name not in confirmed]
    overlap = _overlap(found)
    return f"{why}Give {list_text(pools)} {each}: {_both(chosen)}{_with_silent(silent)}{overlap}"


def _described(found: Findings, other: Choice) -> str:
    if other.kind == MALLOC:
        return other.command
    pools = _pooled(found.chosen)
    return f"{'pools' if len(pools) > 1 else 'a pool'} for {list_text(pools)}"


def _both(one: Choice) -> str:
    """`CPU -32.0 % (-34.0 % to -30.0 %), peak memory +3.0 %`."""
    cpu, peak = one.comparisons.get("cpu_seconds"), one.comparisons.get("peak_bytes")
    parts = []
    if cpu is not None:
        low, high = percent_text(cpu.ratio.low), percent_text(cpu.ratio.high)
        parts.append(f"CPU {percent_text(cpu.ratio.median)} ({low} to {high})")
    if peak is not None:
        parts.append(f"peak memory {percent_text(peak.ratio.median)}")
    return ", ".join(parts) or "not measured"


def _nothing_helps(found: Findings) -> str:
    judged = judged_choices(found)
    figures = "; ".join(f"{_described(found, c)}: {_both(c)}" for c in judged)
    tried = plural(len(found.mallocs), "malloc")
    return f"no pool and none of {tried} of this machine beats the program as it is beyond the noise; {figures}"


def _not_enough(found: Findings) -> str:
    need = seconds_text(found.verdict_seconds)
    so_far = "; ".join(f"{_described(found, c)}: {_both(c)}" for c in judged_choices(found)) or "nothing was measured"
    return (
        f"Not enough time for a verdict: {VERDICT_ROUNDS} rounds would take {need}, and {found.rounds} "
        f"{'was' if found.rounds == 1 else 'were'} possible; so far {so_far}."
    )


def _distortion(found: Findings) -> str:
    """What is said where look-ups change the program so much that a trial's figures are doubtful."""
    cpu = found.effects.get("look_up", {}).get("cpu_seconds")
    peak = found.effects.get("look_up", {}).get("peak_bytes")
    parts = []
    if cpu is not None and cpu.ratio.median > DISTORTED:
        parts.append(f"takes {cpu.ratio.median:.1f} times the CPU")
    if peak is not None and peak.ratio.median > DISTORTED:
        parts.append(f"takes {peak.ratio.median:.1f} times the memory")
    if not parts:
        return ""
    return f" Pools were judged in a distorted program: with every call stack looked up it {' and '.join(parts)}."


# Above so many times the bare program's CPU or memory, a trial's look-ups distort what they measure.
DISTORTED = 1.3


def _overlap(found: Findings) -> str:
    """Said where what single pools save adds up to more than the plan saves."""
    total = found.effects.get(NET, {}).get("cpu_seconds")
    pools = set(_pooled(found.chosen))
    singles = [t.comparisons["cpu_seconds"] for t in found.tried.values()
               if t.plan.alone in pools and "cpu_seconds" in t.comparisons]  # fmt: skip
    if total is None or len(singles) < 2 or any(c.verdict != "better" for c in singles):
        return ""
    alone = sum(c.saved.median for c in singles)
    if alone <= 1.1 * total.saved.median:
        return ""
    sums = f"alone they save {seconds_text(alone)} in sum, together {seconds_text(total.saved.median)}"
    return f" ({sums}: these overlap)"


def _with_silent(silent: list[str]) -> str:
    """Pools that the judged plan had and that alone showed nothing: the figures are of a plan that has them too."""
    if not silent:
        return ""
    show = "shows" if len(silent) == 1 else "show"
    return f" (measured with {list_text(silent)} in a pool too, which alone {show} nothing)"


# What no trial can do yet, and why: part of every answer.
NOT_TRIED = (
    ("an arena for a scope", "objects are freed one by one in an unmodified program"),
    ("a pool for each instance of a type", "call stacks do not tell instances apart"),
)


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


def quick_estimate(
    plans: Mapping[str, Mapping[str, Comparison]], others: Mapping[str, Mapping[str, Comparison]]
) -> str:
    """What the choosing rounds make probable, in one line; empty where they measured nothing."""
    best = []
    for kind, screened in (("malloc", others), ("pool", plans)):
        cpu = {name: m["cpu_seconds"].ratio for name, m in screened.items() if "cpu_seconds" in m}
        if cpu:
            name = min(cpu, key=lambda n: cpu[n].median)
            low, high = percent_text(cpu[name].low), percent_text(cpu[name].high)
            best.append(f"best {kind} {name} {percent_text(cpu[name].median)} CPU ({low} to {high})")
    return "; ".join(best)
