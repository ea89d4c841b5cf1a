# SPDX-License-Identifier: BSL-1.0
"""One advice from several: of one program on several inputs. Pure: documents go in, a document comes out.

    subsystem   input 1   input 2   input 3
    book        helps     helps     helps       advised
    prices      helps     nothing   not tried   advised with a warning that says where it holds
    printer     helps     hurts     nothing     not advised: it would make one input worse

Effects become the envelope of what the inputs showed: an interval that holds whichever input comes next of these.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millpond.advice.code_note import with_code
from millpond.advice.rows import NOTHING
from millpond.cells.plans import ARENA, OWN_POOL, REST
from millpond.system.wording import list_text, percent_text, plural

HOLDS, HURTS, CHANGES_NOTHING, UNTRIED, ABSENT = "holds", "hurts", "nothing", "untried", "absent"
_WORDS = {
    HURTS: "costs time or memory in",
    CHANGES_NOTHING: "changes nothing beyond the noise in",
    UNTRIED: "was not tried in",
    ABSENT: "does not occur in",
}
_NO_VERDICT = "inside noise"

Advice = Mapping[str, Any]


def merge(
    program: Sequence[str], inputs: Sequence[tuple[int, Sequence[str]]], advices: Sequence[Advice]
) -> dict[str, Any]:
    """The advice on all inputs together ("millpond.advice/1" with `inputs`). `inputs`: line and arguments of each.

    What is not merged here is that of the first input.
    """
    if len(advices) == 1:
        return {**advices[0], "inputs": _inputs(inputs, advices)}
    rows = [_row(name, advices) for name in _names(advices)]
    effects = {name: envelope([a["effects"][name] for a in advices]) for name in advices[0]["effects"]}
    return with_code({
        **advices[0],
        "verdict": _verdict(rows, effects, len(advices)),
        "effects": effects,
        "sums": {name: envelope([a["sums"][name] for a in advices]) for name in advices[0].get("sums", {})},
        "rounds": min(int(a["rounds"]) for a in advices),
        "plan": _plan(rows),
        "plan_tried": None,
        "program": _program(program, advices),
        "trace": _trace([a["trace"] for a in advices]),
        "subsystems": rows,
        "notes": _notes(advices),
        "inputs": _inputs(inputs, advices),
    })  # fmt: skip


def _inputs(inputs: Sequence[tuple[int, Sequence[str]]], advices: Sequence[Advice]) -> list[dict[str, Any]]:
    return [
        {
            "number": number,
            "line": line,
            "arguments": list(arguments),
            "verdict": advice["verdict"],
            "effects": advice["effects"],
            "run": advice.get("run"),
            "plan": advice["plan"],
        }
        for number, ((line, arguments), advice) in enumerate(zip(inputs, advices, strict=True), 1)
    ]


def _names(advices: Sequence[Advice]) -> list[str]:
    """All subsystems; those with the most bytes in any input first, as each document has them."""
    largest: dict[str, float] = {}
    for advice in advices:
        for row in advice["subsystems"]:
            largest[row["name"]] = max(largest.get(row["name"], 0.0), float(row.get("bytes") or 0))
    return sorted(largest, key=lambda name: -largest[name])


def status_of(row: Mapping[str, Any] | None) -> str:
    """What a pool of its own does for a subsystem in one input."""
    if row is None:
        return ABSENT
    if row["best"] != NOTHING:
        return HOLDS
    if not row["saves_cpu_seconds"].get("n"):
        return UNTRIED
    worse = "worse" in (row["saves_cpu_seconds"].get("verdict"), row["saves_bytes"].get("verdict"))
    return HURTS if worse else CHANGES_NOTHING


def open_questions(advices: Sequence[Advice]) -> dict[int, dict[str, tuple[int, Mapping[str, Any]]]]:
    """What pays on one input and is not settled on another: index of the other → subsystem → where it pays, its row.

    Settled is what does not occur in an input, what pays there, and what its fresh rounds have found to hurt.
    """
    questions: dict[int, dict[str, tuple[int, Mapping[str, Any]]]] = {}
    for name in _names(advices):
        rows = [next((r for r in a["subsystems"] if r["name"] == name), None) for a in advices]
        paying = [(i, r) for i, r in enumerate(rows) if r is not None and status_of(r) == HOLDS and r["plan"]]
        if not paying or any(status_of(r) == HURTS for r in rows):
            continue
        for index, row in enumerate(rows):
            if status_of(row) in (CHANGES_NOTHING, UNTRIED):
                questions.setdefault(index, {})[name] = paying[0]
    return questions


def _row(name: str, advices: Sequence[Advice]) -> dict[str, Any]:
    """The row of one subsystem: its facts from the input where it allocates most, its advice from all of them."""
    by_input = [next((r for r in a["subsystems"] if r["name"] == name), None) for a in advices]
    statuses = [status_of(row) for row in by_input]
    present = [row for row in by_input if row is not None]
    largest = max(present, key=lambda r: float(r.get("bytes") or 0))
    where = {s: [i for i, t in enumerate(statuses, 1) if t == s] for s in (HOLDS, *_WORDS)}
    helping = [row for row, status in zip(by_input, statuses, strict=True) if row is not None and status == HOLDS]
    strategies = {row["best"] for row in helping}
    advised = bool(helping) and not where[HURTS] and len(strategies) == 1
    everywhere = advised and len(helping) == len(advices)
    holds = (helping or [largest])[0]
    exceptions = "; ".join(f"{words} {_in_inputs(where[s])}" for s, words in _WORDS.items() if where[s])
    if not helping:
        reason = f"in none of {plural(len(advices), 'input')}: {largest['reason']}"
    elif everywhere:
        reason = f"holds in all {len(advices)} inputs; in the first: {helping[0]['reason']}"
    elif len(strategies) > 1:
        reason = f"inputs ask for different pools: {list_text(sorted(strategies))}"
    else:
        reason = f"holds in {_in_inputs(where[HOLDS])}; {exceptions}"
    return {
        **largest,
        "best": holds["best"] if advised else NOTHING,
        "plan": holds["plan"] if advised else None,
        "saves_cpu_seconds": envelope([r["saves_cpu_seconds"] for r in present]),
        "saves_bytes": envelope([r["saves_bytes"] for r in present]),
        "reason": reason,
        "warning": reason if advised and not everywhere else None,
        "in_inputs": [{"input": i, "status": s} for i, s in enumerate(statuses, 1)],
        "evidence": [e for r in present for e in r.get("evidence", [])],
    }


def _in_inputs(numbers: Sequence[int]) -> str:
    return ("input " if len(numbers) == 1 else "inputs ") + list_text([str(n) for n in numbers])


def envelope(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One summary that holds in every input that was measured: from the lowest end of an interval to the highest.

    better (or worse) only where all are; `inputs` of the advice has the verdict of each.
    """
    measured = [s for s in summaries if s.get("n")]
    if not measured:
        return dict(summaries[0]) if summaries else {}
    verdicts = [s.get("verdict") or _NO_VERDICT for s in summaries]
    verdict = verdicts[0] if len(set(verdicts)) == 1 else _NO_VERDICT
    result = {
        **measured[0],
        "n": sum(int(s["n"]) for s in measured),
        "median": statistics.median(s["median"] for s in measured),
        "low": min(s["low"] for s in measured),
        "high": max(s["high"] for s in measured),
        "level": min(s["level"] for s in measured),
        "method": f"envelope of {plural(len(measured), 'input')}",
        "verdict": verdict,
    }
    for key, join in (("p", max), ("p_adjusted", max)):
        if all(key in s for s in measured):
            result[key] = join(s[key] for s in measured)
    if all("saved" in s for s in measured):
        result["saved"] = envelope([s["saved"] for s in measured])
    if all("other_metrics" in s for s in measured):
        common = set.intersection(*(set(s["other_metrics"]) for s in measured))
        result["other_metrics"] = {m: envelope([s["other_metrics"][m] for s in measured]) for m in sorted(common)}
    if "evidence" in measured[0]:
        result["evidence"] = [e for s in measured for e in s.get("evidence", [])]
    return result


def _plan(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The pools of all subsystems that are advised without a warning, in one plan; the rest goes where it went."""
    plans = [row["plan"] for row in rows if row["best"] != NOTHING and not row["warning"] and row["plan"]]
    if not plans or any(plan["program"] != plans[0]["program"] for plan in plans):
        return None
    routes: dict[str, dict[str, Any]] = {}
    for route in (r for plan in plans for r in plan["routes"]):
        routes.setdefault("\n".join(route["subsystems"]), route)
    named = [r for r in routes.values() if REST not in r["subsystems"]]
    return {**plans[0], "routes": [*named, *(r for r in routes.values() if REST in r["subsystems"])]}


def _verdict(rows: Sequence[Mapping[str, Any]], effects: Mapping[str, Any], number: int) -> str:
    firm = [r["name"] for r in rows if r["best"] != NOTHING and not r["warning"]]
    special = any(r["best"] == ARENA or r.get("tried") not in (None, OWN_POOL) for r in rows if r["name"] in firm)
    loose = [r for r in rows if r["best"] != NOTHING and r["warning"]]
    parts = []
    if firm:
        pools = "a pool of its own" if len(firm) == 1 else "a pool each"
        pools = "what its row says" if special and len(firm) == 1 else "what their rows say" if special else pools
        parts.append(f"give {list_text(firm)} {pools} (placement {_range(effects.get('placement'))})")
    if (effects.get("faster_malloc") or {}).get("verdict") == "better":
        parts.append(f"any faster malloc gives {_range(effects['faster_malloc'])}, without a change of the source")
    text = (
        f"In all {number} inputs: {'; '.join(parts)}."
        if parts
        else (f"Do nothing: no advice holds in all {number} inputs.")
    )
    if loose:
        where: dict[str, list[str]] = {}
        for row in loose:
            where.setdefault(row["warning"], []).append(row["name"])
        said = [f"for {list_text(names)}, a pool {warning}" for warning, names in where.items()]
        text += f" In some only: {'. '.join(said)}."
    return text


def _range(effect: Mapping[str, Any] | None) -> str:
    if not effect or not effect.get("n"):
        return "not measured"
    return f"{percent_text(effect['median'])}, {percent_text(effect['low'])} to {percent_text(effect['high'])}"


def _program(program: Sequence[str], advices: Sequence[Advice]) -> dict[str, Any]:
    """The command line with its place for arguments; how it ended where it ended worst."""
    ends = [a["program"] for a in advices]
    worst = max(ends, key=lambda p: (bool(p["signal"]), bool(p["exit"])))
    return {**ends[0], "argv": list(program), "exit": worst["exit"], "signal": worst["signal"]}


def _trace(traces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of all recordings together: sums of what was seen and lost, the worst of what tells how far to trust it."""

    def over(key: str, join: Callable[[list[Any]], Any]) -> Any:
        found = [t[key] for t in traces if t.get(key) is not None]
        return join(found) if found else None

    worst_aliasing = max((t["aliasing"] for t in traces if t.get("aliasing")), key=lambda a: a.get("share") or 0,
                         default=None)  # fmt: skip
    return {
        **traces[0],
        **{k: over(k, sum) for k in ("events", "bytes", "lost", "stopped_early", "duration_seconds", "cpu_seconds")},
        **{k: over(k, max) for k in ("contexts", "threads", "peak_live_bytes", "end_live_bytes")},
        "named_share": over("named_share", min),
        "clean": over("clean", all),
        "damages": [d for t in traces for d in t.get("damages") or []],
        "aliasing": worst_aliasing,
    }


def _notes(advices: Sequence[Advice]) -> list[str]:
    """Notes that all inputs share once, others with their input."""
    shared = [n for n in advices[0]["notes"] if all(n in a["notes"] for a in advices)]
    own = [f"input {i}: {n}" for i, a in enumerate(advices, 1) for n in a["notes"] if n not in shared]
    return [*shared, *own]
