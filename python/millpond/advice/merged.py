# SPDX-License-Identifier: BSL-1.0
"""Merges the advice on several inputs of one program into one advice. Has no side effects.

    subsystem   input 1   input 2   input 3
    book        helps     helps     helps       advised
    prices      helps     nothing   not tried   advised with a warning that says where it holds
    printer     helps     hurts     nothing     not advised: it would make one input worse

Each effect becomes an envelope of all inputs: an interval that holds for whichever of them comes next.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import asdict, replace

from millpond.advice.advice_data import (
    NOTHING,
    Advice,
    AnalysedProgram,
    Change,
    Effect,
    Estimate,
    InputAdvice,
    InputStatus,
    Row,
)
from millpond.advice.code_changes import with_code
from millpond.advice.missing_symbols import hidden_in_all, missing_symbols
from millpond.cells.plan_file import OWN_POOL, PlanFile, PlanRoute
from millpond.cells.plans import ARENA
from millpond.rounds.characterisation import TraceSummary
from millpond.statistics.order_statistics import NOT_SETTLED, Summary
from millpond.system.wording import interval_text, list_text, percent_text, plural

HOLDS, HURTS, CHANGES_NOTHING, UNTRIED, ABSENT = "holds", "hurts", "nothing", "untried", "absent"
_WORDS = {
    HURTS: "costs time or memory in",
    CHANGES_NOTHING: "changes nothing beyond the noise in",
    UNTRIED: "was not tried in",
    ABSENT: "does not occur in",
}
_NO_VERDICT = NOT_SETTLED

Measured = TypeVar("Measured", bound=Estimate)


def merge(program: Sequence[str], inputs: Sequence[tuple[int, Sequence[str]]], advices: Sequence[Advice]) -> Advice:
    """Returns the advice on all inputs together ("millpond.advice/1" with `inputs`). `inputs`: line and arguments of
    each.

    Fields that are not merged here come from the first input.
    """
    if len(advices) == 1:
        return replace(advices[0], inputs=_inputs(inputs, advices))
    rows = tuple(_row(name, advices) for name in _names(advices))
    effects = {name: envelope([a.effects[name] for a in advices]) for name in advices[0].effects}
    trace = _trace([a.trace for a in advices])
    return with_code(replace(
        advices[0],
        verdict=_verdict(rows, effects, len(advices)),
        choices=None,
        effects=effects,
        sums={name: envelope([a.sums[name] for a in advices]) for name in advices[0].sums},
        rounds=min(a.rounds for a in advices),
        plan=_plan(rows),
        plan_tried=None,
        program=_program(program, advices),
        trace=trace,
        symbols=missing_symbols(trace),
        subsystems=rows,
        notes=_notes(advices),
        inputs=_inputs(inputs, advices),
    ))  # fmt: skip


def _inputs(inputs: Sequence[tuple[int, Sequence[str]]], advices: Sequence[Advice]) -> tuple[InputAdvice, ...]:
    return tuple(
        InputAdvice(
            number=number, line=line, arguments=tuple(arguments), verdict=advice.verdict, effects=advice.effects,
            run=advice.run, plan=advice.plan,
        )
        for number, ((line, arguments), advice) in enumerate(zip(inputs, advices, strict=True), 1)
    )  # fmt: skip


def _names(advices: Sequence[Advice]) -> list[str]:
    """Returns all subsystems, those with the most bytes in any input first, the same order as in each document."""
    largest: dict[str, float] = {}
    for advice in advices:
        for row in advice.subsystems:
            largest[row.name] = max(largest.get(row.name, 0.0), row.bytes or 0)
    return sorted(largest, key=lambda name: -largest[name])


def status_of(row: Row | None) -> str:
    """Returns the effect of a subsystem's own pool in one input."""
    if row is None:
        return ABSENT
    if row.pays:
        return HOLDS
    if not row.saves_cpu_seconds.n:
        return UNTRIED
    worse = "worse" in (row.saves_cpu_seconds.verdict, row.saves_bytes.verdict)
    return HURTS if worse else CHANGES_NOTHING


def open_questions(advices: Sequence[Advice]) -> dict[int, dict[str, tuple[int, Row]]]:
    """Returns plans that pay on one input and are not settled on another: other input → subsystem → paying input, row.

    A plan is settled on an input if its subsystem does not occur there, or if it pays, or if fresh rounds show a loss.
    """
    questions: dict[int, dict[str, tuple[int, Row]]] = {}
    for name in _names(advices):
        rows = [next((r for r in a.subsystems if r.name == name), None) for a in advices]
        paying = [(i, r) for i, r in enumerate(rows) if r is not None and status_of(r) == HOLDS and r.plan]
        if not paying or any(status_of(r) == HURTS for r in rows):
            continue
        for index, row in enumerate(rows):
            if status_of(row) in (CHANGES_NOTHING, UNTRIED):
                questions.setdefault(index, {})[name] = paying[0]
    return questions


def _row(name: str, advices: Sequence[Advice]) -> Row:
    """Returns the row of one subsystem: facts from the input where it allocates most, advice from all of them."""
    by_input = [next((r for r in a.subsystems if r.name == name), None) for a in advices]
    statuses = [status_of(row) for row in by_input]
    present = [row for row in by_input if row is not None]
    largest = max(present, key=lambda r: r.bytes or 0)
    where = {s: [i for i, t in enumerate(statuses, 1) if t == s] for s in (HOLDS, *_WORDS)}
    helping = [row for row, status in zip(by_input, statuses, strict=True) if row is not None and status == HOLDS]
    strategies = {row.best for row in helping}
    advised = bool(helping) and not where[HURTS] and len(strategies) == 1
    everywhere = advised and len(helping) == len(advices)
    holds = (helping or [largest])[0]
    exceptions = "; ".join(f"{words} {_in_inputs(where[s])}" for s, words in _WORDS.items() if where[s])
    if not helping:
        reason = f"pays in none of {plural(len(advices), 'input')}: {largest.reason}"
    elif everywhere:
        reason = f"holds in all {len(advices)} inputs; in the first: {helping[0].reason}"
    elif len(strategies) > 1:
        reason = f"the inputs need different pools: {list_text(sorted(strategies))}"
    else:
        reason = f"holds in {_in_inputs(where[HOLDS])}; {exceptions}"
    return replace(
        largest,
        best=holds.best if advised else NOTHING,
        plan=holds.plan if advised else None,
        saves_cpu_seconds=envelope([r.saves_cpu_seconds for r in present]),
        saves_bytes=envelope([r.saves_bytes for r in present]),
        reason=reason,
        stated_warning=reason if advised and not everywhere else None,
        in_inputs=tuple(InputStatus(i, s) for i, s in enumerate(statuses, 1)),
        evidence=tuple(e for r in present for e in r.evidence),
    )


def _in_inputs(numbers: Sequence[int]) -> str:
    return ("input " if len(numbers) == 1 else "inputs ") + list_text([str(n) for n in numbers])


def envelope(found: Sequence[Measured]) -> Measured:
    """Returns one estimate that holds in every measured input: from the lowest end of an interval to the highest.

    It is better (or worse) only if all inputs are; `inputs` of the advice has the verdict of each.
    """
    known = [(one, summary) for one in found if (summary := one.known) is not None]
    if not known:
        return found[0]
    verdicts = {one.verdict or _NO_VERDICT for one in found}
    first, measured = known[0][0], [one for one, _ in known]
    changes: dict[str, object] = asdict(_joined([summary for _, summary in known]))
    changes["verdict"] = verdicts.pop() if len(verdicts) == 1 else _NO_VERDICT
    ratios = [one for one in measured if isinstance(one, Change)]
    if len(ratios) == len(measured):
        for key, values in (("p", [r.p for r in ratios]), ("p_adjusted", [r.p_adjusted for r in ratios])):
            if all(value is not None for value in values):
                changes[key] = max(value for value in values if value is not None)
        saved = [r.saved for r in ratios if r.saved is not None]
        if len(saved) == len(ratios):
            changes["saved"] = envelope(saved)
    effects = [one for one in measured if isinstance(one, Effect)]
    if effects:
        common = sorted(set.intersection(*(set(e.other_metrics) for e in effects)))
        changes["other_metrics"] = {m: envelope([e.other_metrics[m] for e in effects]) for m in common}
        changes["evidence"] = tuple(e for one in effects for e in one.evidence)
    return replace(first, **changes)


def _joined(found: Sequence[Summary]) -> Summary:
    return Summary(
        sum(s.n for s in found),
        statistics.median(s.median for s in found),
        min(s.low for s in found),
        max(s.high for s in found),
        min(s.level for s in found),
        f"envelope of {plural(len(found), 'input')}",
    )


def _plan(rows: Sequence[Row]) -> PlanFile | None:
    """Returns one plan with the pools of all subsystems that are advised without a warning."""
    plans = [row.plan for row in rows if row.pays and not row.warning and row.plan]
    if not plans or any(plan.program != plans[0].program for plan in plans):
        return None
    routes: dict[tuple[str, ...], PlanRoute] = {}
    for route in (r for plan in plans for r in plan.routes):
        routes.setdefault(route.subsystems, route)
    return replace(plans[0], routes=tuple(sorted(routes.values(), key=lambda route: route.of_rest)))


def _verdict(rows: Sequence[Row], effects: Mapping[str, Effect], number: int) -> str:
    firm = [r.name for r in rows if r.pays and not r.warning]
    special = any(r.best == ARENA or r.tried not in (None, OWN_POOL) for r in rows if r.name in firm)
    parts = []
    if firm:
        pools = "a pool of its own" if len(firm) == 1 else "a pool each"
        if special:
            pools = "the allocator in its row" if len(firm) == 1 else "the allocators in their rows"
        parts.append(f"give {list_text(firm)} {pools} (placement {_range(effects.get('placement'))})")
    faster = effects.get("faster_malloc")
    if faster is not None and faster.verdict == "better":
        parts.append(f"a faster malloc changes the CPU by {_range(faster)}, without a change of the source")
    text = (
        f"In all {number} inputs: {'; '.join(parts)}."
        if parts
        else (f"Do nothing: no advice holds in all {number} inputs.")
    )
    where: dict[str, list[str]] = {}
    for row in rows:
        if row.pays and row.warning:
            where.setdefault(row.warning, []).append(row.name)
    if where:
        said = [f"for {list_text(names)}, a pool {warning}" for warning, names in where.items()]
        text += f" In some only: {'. '.join(said)}."
    return text


def _range(effect: Effect | None) -> str:
    known = effect.known if effect else None
    return f"{percent_text(known.median)}, {interval_text(known)}" if known else "not measured"


def _program(program: Sequence[str], advices: Sequence[Advice]) -> AnalysedProgram:
    """Returns the command line with its place for arguments, and the worst of all ends."""
    ends = [a.program for a in advices]
    worst = max(ends, key=lambda p: (bool(p.signal), bool(p.exit)))
    return replace(ends[0], argv=tuple(program), exit=worst.exit, signal=worst.signal)


def _trace(traces: Sequence[TraceSummary]) -> TraceSummary:
    """Returns the summary of all recordings: sums of events and losses, and the worst values that limit trust."""

    def over(key: str, join: Callable[[list[Any]], Any]) -> Any:
        found = [value for t in traces if (value := getattr(t, key)) is not None]
        return join(found) if found else None

    aliasing = [t.aliasing for t in traces if t.aliasing]
    return TraceSummary(
        **{k: over(k, sum) for k in ("events", "bytes", "lost", "stopped_early", "duration_seconds", "cpu_seconds")},
        **{k: over(k, max) for k in ("contexts", "threads", "peak_live_bytes", "end_live_bytes")},
        named_share=over("named_share", min),
        near_share=over("near_share", max),
        modules_without_symbols=hidden_in_all(traces),
        clean=over("clean", all),
        damages=tuple(d for t in traces for d in t.damages),
        partial=next((t.partial for t in traces if t.partial), None),
        aliasing=max(aliasing, key=lambda a: a.share or 0, default=None),
    )


def _notes(advices: Sequence[Advice]) -> tuple[str, ...]:
    """Returns notes that all inputs share once, and other notes with their input."""
    shared = [n for n in advices[0].notes if all(n in a.notes for a in advices)]
    own = [f"input {i}: {n}" for i, a in enumerate(advices, 1) for n in a.notes if n not in shared]
    return (*shared, *own)
