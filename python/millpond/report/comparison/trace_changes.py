# SPDX-License-Identifier: BSL-1.0
"""Compares two traces: what each subsystem and each call context allocates in A and in B.

    A ─ Characterisation, CallTree ─┐ subsystems by name, contexts by the names of their functions
    B ─ Characterisation, CallTree ─┘ ─▶ new, gone, grown, shrunk, same ─▶ conditions ─▶ breaches

Whole traces have counts, so there is no noise to judge. Sampled ones have estimates: what the interval of a change does
not decide is unclear, and breaches no condition. A context that allocates as much as before, but leaves more of it
alive at the end, has grown as well. Two builds of a program are matched by names: a function that moved to another
address is the same, one that was renamed is a new one. A function without a name is known by its module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import field
from msgspec.structs import replace

from millpond import __version__
from millpond.rounds.characterisation import Characterisation, SampledIntervals, Subsystem, partial_reasons
from millpond.statistics.conditions import Condition, value_text
from millpond.statistics.difference_interval import Ends, difference_interval, sum_interval
from millpond.store.call_tree import CallTree
from millpond.system.errors import Failure, Status
from millpond.system.records import NONE, NULL, Record
from millpond.system.wording import count_text, list_text, percent_text

Schema = Literal["millpond.trace_comparison/1"]
SCHEMA: Schema = "millpond.trace_comparison/1"
State = Literal["new", "gone", "grown", "shrunk", "same", "unclear"]
Stack = tuple[str, ...]
Key = TypeVar("Key")
NEW_CONTEXT, NEW_SUBSYSTEM = "new context", "new subsystem"
# What a condition may limit, and its unit; each holds for the whole program and for every subsystem.
UNITS = {"bytes": "bytes", "events": "count", "allocations": "count", "peak_live_bytes": "bytes",
         "end_live_bytes": "bytes"}  # fmt: skip
_WITHOUT_NAME = re.compile(r"!f[0-9]+(@[0-9a-f]+)?$")  # the place of a function without a name, in one build


class Amounts(Record, frozen=True, kw_only=True):
    """Allocations and their bytes; None is not known of contexts. `peak_live_bytes` of a context: its part of the
    program's peak. `intervals`: of a sampled trace.
    """

    allocations: int
    bytes: int
    end_live_bytes: int
    end_live_objects: int
    peak_live_bytes: int
    events: int | None = None
    p50_lifetime_seconds: float | None = None
    intervals: SampledIntervals | None = field(default_factory=NULL)

    def ends(self, amount: str) -> tuple[float, Ends]:
        """An amount by its name, and its interval; of a counted one both ends are equal to it."""
        value = getattr(self, amount) or 0
        found: Ends | None = getattr(self.intervals, amount) if self.intervals else None
        return value, found or (value, value)

    @property
    def churn(self) -> float | None:
        """The bytes that were allocated for each byte that was live at the peak; None without a peak."""
        return self.bytes / self.peak_live_bytes if self.peak_live_bytes else None


class TraceSide(Record, frozen=True, kw_only=True):
    """One of the two traces: its program, and the amounts of the whole."""

    path: str
    executable: str
    build_id: str
    argv: tuple[str, ...]
    whole: Amounts
    sample_bytes: int | None = field(default_factory=NULL)
    warnings: tuple[str, ...] = field(default_factory=NONE)


class SubsystemChange(Record, frozen=True, kw_only=True):
    """A subsystem in both traces; None where it allocated nothing that was recorded. `more_bytes_interval`: the 95 %
    interval of the bytes that B allocates more, if one of the traces is sampled.
    """

    name: str
    state: State
    a: Amounts | None = field(default_factory=NULL)
    b: Amounts | None = field(default_factory=NULL)
    more_bytes_interval: tuple[float, float] | None = field(default_factory=NULL)

    @property
    def label(self) -> str:
        """The words for it in a sentence."""
        return self.name

    @property
    def more_bytes(self) -> int:
        return (self.b.bytes if self.b else 0) - (self.a.bytes if self.a else 0)


class ContextChange(SubsystemChange, frozen=True, kw_only=True):
    """A call context in both traces: `stack` has its functions, the outermost first; `name` is its subsystem."""

    stack: Stack

    @property
    def label(self) -> str:
        return " < ".join(self.stack[:-4:-1])


class TraceBreach(Record, frozen=True):
    """A condition that something breached, and a sentence about it."""

    condition: str
    sentence: str


class TraceComparison(Record, frozen=True, kw_only=True):
    """All subsystems and contexts, those first whose allocated bytes changed most."""

    schema: Schema = field(default_factory=lambda: SCHEMA)
    version: str = field(default_factory=lambda: __version__)
    a: TraceSide
    b: TraceSide
    subsystems: tuple[SubsystemChange, ...] = field(default_factory=NONE)
    contexts: tuple[ContextChange, ...] = field(default_factory=NONE)
    notes: tuple[str, ...] = field(default_factory=NONE)
    conditions: tuple[str, ...] = field(default_factory=NONE)
    breaches: tuple[TraceBreach, ...] = field(default_factory=NONE)


def compare_traces(
    a: tuple[Characterisation, CallTree], b: tuple[Characterisation, CallTree], conditions: Sequence[Condition] = ()
) -> TraceComparison:
    """Compares two traces and checks the conditions. O(contexts · depth). Failure (2) for an unknown condition."""
    require_known(conditions)
    sides, nothing = (_side(a[0]), _side(b[0])), (_nothing(a[1]), _nothing(b[1]))
    subsystems = [
        SubsystemChange(name=name, state=state, a=before, b=after, more_bytes_interval=more)
        for name, state, before, after, more in _changes(nothing, *(_subsystems(one) for one, _ in (a, b)))
    ]
    contexts = [
        ContextChange(name=name, stack=stack, state=state, a=before, b=after, more_bytes_interval=more)
        for (name, stack), state, before, after, more in _changes(nothing, *(_contexts(tree) for _, tree in (a, b)))
    ]
    for rows in (subsystems, contexts):
        rows.sort(key=lambda one: -abs(one.more_bytes))
    return TraceComparison(
        a=sides[0], b=sides[1], subsystems=tuple(subsystems), contexts=tuple(contexts), notes=tuple(_notes(*sides)),
        conditions=tuple(one.text for one in conditions),
        breaches=tuple(breach for one in conditions for breach in _breaches(one, sides, nothing, subsystems, contexts)),
    )  # fmt: skip


def require_known(conditions: Sequence[Condition]) -> None:
    """Failure (2) for a condition that traces do not have, or whose limit has another unit."""
    for one in conditions:
        if one.metric in (NEW_CONTEXT, NEW_SUBSYSTEM):
            one.limit_in("bytes")
            if one.unit == "%" or not one.increase:
                raise Failure(Status.USAGE, f"--fail-if {one.text!r}: write {one.metric} > 1MB, with a limit in bytes")
        elif one.metric in UNITS:
            one.limit_in(UNITS[one.metric])
        else:
            known = list_text([*UNITS, NEW_CONTEXT, NEW_SUBSYSTEM])
            raise Failure(Status.USAGE, f"--fail-if {one.text!r}: traces have {known}")


def change_interval(amount: str, a: Amounts, b: Amounts, share: float = 0.0) -> tuple[float, float]:
    """The ends of the interval of what B has more of an amount than A and this share of it; equal if both are
    counted.
    """
    (before, (low, high)), (after, after_ends) = a.ends(amount), b.ends(amount)
    by = 1 + share
    return difference_interval(by * before, (by * low, None if high is None else by * high), after, after_ends)


def _side(found: Characterisation) -> TraceSide:
    trace, process = found.trace, found.process
    lost = [f"{count_text(trace.lost)} events are lost"] if trace.lost else []
    whole = Amounts(
        allocations=trace.allocations or 0, bytes=trace.bytes or 0, end_live_bytes=trace.end_live_bytes or 0,
        end_live_objects=trace.end_live_objects or 0, peak_live_bytes=trace.peak_live_bytes or 0, events=trace.events,
        intervals=trace.intervals,
    )  # fmt: skip
    return TraceSide(
        path=trace.path or "", executable=process.executable or "", build_id=process.build_id or "",
        argv=process.argv or (), whole=whole, sample_bytes=trace.sample_bytes,
        warnings=(*lost, *partial_reasons(trace.partial, trace.damages)),
    )  # fmt: skip


def _nothing(tree: CallTree) -> Amounts:
    """The amounts, with their intervals, of something that a trace has no event of."""
    zero = Amounts(allocations=0, bytes=0, end_live_bytes=0, end_live_objects=0, peak_live_bytes=0, events=0)
    if tree.unseen is None:
        return zero
    objects, size = ((0, end) for end in tree.unseen)
    return replace(zero, intervals=SampledIntervals(
        allocations=objects, bytes=size, end_live_bytes=size, end_live_objects=objects, peak_live_bytes=size,
        events=(0, 2 * objects[1]),
    ))  # fmt: skip


def _subsystems(found: Characterisation) -> dict[str, Amounts]:
    return {_lasting(one.name): _of_subsystem(one) for one in found.subsystems}


def _of_subsystem(one: Subsystem) -> Amounts:
    return Amounts(
        allocations=one.allocations or 0, bytes=one.bytes or 0, end_live_bytes=one.end_live_bytes or 0,
        end_live_objects=one.end_live_objects or 0, peak_live_bytes=one.peak_live_bytes or 0, events=one.events,
        p50_lifetime_seconds=one.lifetimes.p50 if one.lifetimes else None, intervals=one.intervals,
    )  # fmt: skip


def _contexts(tree: CallTree) -> dict[tuple[str, Stack], Amounts]:
    """The contexts that allocated, by subsystem and functions; places that differ only in a line are one."""
    found: dict[tuple[str, Stack], Amounts] = {}
    names = [_lasting(one) for one in tree.functions]
    for number in tree.allocating():
        key = (_lasting(tree.subsystem(number)), tuple(names[function] for function in tree.stack(number)))
        own = Amounts(
            allocations=tree.count(number, "objects"), bytes=tree.count(number, "bytes"),
            end_live_bytes=tree.count(number, "live_bytes"), end_live_objects=tree.count(number, "live_objects"),
            peak_live_bytes=tree.peak_bytes[number - 1] if tree.peak_bytes else 0,
            intervals=_intervals_of(tree, number),
        )  # fmt: skip
        found[key] = _sum(found[key], own) if key in found else own
    return found


def _intervals_of(tree: CallTree, number: int) -> SampledIntervals | None:
    if not tree.intervals:
        return None
    low, high, live_low, live_high = tree.intervals[number - 1]
    return SampledIntervals(bytes=(low, high), end_live_bytes=(live_low, live_high))


def _sum(one: Amounts, other: Amounts) -> Amounts:
    both = {amount: _sum_interval(amount, one, other) for amount in ("bytes", "end_live_bytes")}
    return Amounts(
        allocations=one.allocations + other.allocations, bytes=one.bytes + other.bytes,
        end_live_bytes=one.end_live_bytes + other.end_live_bytes,
        end_live_objects=one.end_live_objects + other.end_live_objects,
        peak_live_bytes=one.peak_live_bytes + other.peak_live_bytes,
        intervals=SampledIntervals(**both) if one.intervals else None,
    )  # fmt: skip


def _sum_interval(amount: str, one: Amounts, other: Amounts) -> tuple[float, float]:
    (value, ends), (other_value, other_ends) = one.ends(amount), other.ends(amount)
    return sum_interval(value, ends, other_value, other_ends)


def _lasting(name: str) -> str:
    """The part of a name that another build has as well."""
    return _WITHOUT_NAME.sub("", name)


def _changes(
    nothing: tuple[Amounts, Amounts], a: Mapping[Key, Amounts], b: Mapping[Key, Amounts]
) -> Iterator[tuple[Key, State, Amounts | None, Amounts | None, tuple[float, float] | None]]:
    """Each key with its state, what A and B have of it, and the interval of the bytes that B has more."""
    for key in dict.fromkeys((*a, *b)):
        before, after = a.get(key, nothing[0]), b.get(key, nothing[1])
        sampled = before.intervals is not None or after.intervals is not None
        found = change_interval("bytes", before, after) if sampled else None
        yield key, _state(before, after, key in a, key in b), a.get(key), b.get(key), found


def _state(a: Amounts, b: Amounts, in_a: bool, in_b: bool) -> State:
    changes = [change_interval(amount, a, b) for amount in ("bytes", "end_live_bytes")]
    for low, high in changes:
        if low > 0:
            return "grown" if in_a else "new"
        if high < 0:
            return "shrunk" if in_b else "gone"
    if any(low < high for low, high in changes):
        return "unclear"
    return "same" if in_a and in_b else "new" if in_b else "gone"


def _notes(a: TraceSide, b: TraceSide) -> Iterator[str]:
    if a.build_id != b.build_id:
        yield "two builds: contexts are matched by the names of their functions"
    if a.argv[1:] != b.argv[1:]:
        yield "the programs had other arguments: a change may come from their input"
    for name, side in (("A", a), ("B", b)):
        if side.sample_bytes:
            yield f"{name} is a sample, one byte in {side.sample_bytes}: its figures are estimates"
    if a.sample_bytes or b.sample_bytes:
        yield (
            "a change counts if its 95 % interval excludes zero: one in 20 of those that did not change may seem to; "
            "the others are unclear"
        )
    for name, side in (("A", a), ("B", b)):
        yield from (f"{name}: {warning}" for warning in side.warnings)


def _breaches(
    condition: Condition, sides: tuple[TraceSide, TraceSide], nothing: tuple[Amounts, Amounts],
    subsystems: Sequence[SubsystemChange], contexts: Sequence[ContextChange],
) -> Iterator[TraceBreach]:  # fmt: skip
    if condition.metric in (NEW_CONTEXT, NEW_SUBSYSTEM):
        limit = condition.limit_in("bytes")
        for one in contexts if condition.metric == NEW_CONTEXT else subsystems:
            if one.b is not None and one.state == "new" and change_interval("bytes", nothing[0], one.b)[0] > limit:
                yield TraceBreach(condition.text, f"{one.label} is new: {value_text(one.b.bytes, 'bytes')} allocated")
        return
    unit = UNITS[condition.metric]
    pairs = [("the program", sides[0].whole, sides[1].whole), *((one.name, one.a, one.b) for one in subsystems)]
    for name, a, b in ((name, a or nothing[0], b or nothing[1]) for name, a, b in pairs):
        before, after = (int(one.ends(condition.metric)[0]) for one in (a, b))
        limit, share = condition.limit_in(unit), 0.0
        if condition.unit == "%":
            if not before:  # a share of nothing; `new subsystem` limits it
                continue
            limit, share = 0.0, limit
        low, high = change_interval(condition.metric, a, b, share)
        if low > limit if condition.increase else high < limit:
            by = f", {percent_text(after / before)}" if before else ""
            values = f"{value_text(before, unit)} → {value_text(after, unit)}{by}"
            yield TraceBreach(condition.text, f"{name}: {condition.metric} {values}")
