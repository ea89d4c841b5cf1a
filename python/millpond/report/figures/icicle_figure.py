# SPDX-License-Identifier: BSL-1.0
"""The icicle of a run: its call contexts, callers above, by the bytes and the events of their allocations.

main ───────────────────────┐   a node has what it and everything that it calls allocates
read ──────────┬ sort ──────┤   bytes, events, bytes live at the program's peak and at the end, and churn: bytes that
grow ──────────┘                were freed again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from millpond.report.comparison.trace_changes import ContextChange
from millpond.report.figures.specification import Axis, Icicle, Node
from millpond.store.call_tree import CallTree

NODES_AT_MOST = 2500
_LETTERS = 160
_MEASURES = (
    Axis(name="bytes", unit="bytes"), Axis(name="events", unit="count"),
    Axis(name="peak", unit="bytes"), Axis(name="alive at the end", unit="bytes"), Axis(name="churn", unit="bytes"),
)  # fmt: skip


_DIFFERENCES = (
    Axis(name="more in B", unit="bytes"), Axis(name="fewer in B", unit="bytes"), Axis(name="A", unit="bytes"),
    Axis(name="B", unit="bytes"),
)  # fmt: skip


@dataclass
class _Place:
    """A context: its caller's place, its function, and the values of each measure with those that it calls."""

    parent: int
    function: int
    values: list[int] = field(default_factory=lambda: [0] * len(_MEASURES))


def icicle(tree: CallTree) -> Icicle | None:
    """The contexts with the most of any measure, at most NODES_AT_MOST; None if nothing allocates or a node comes
    before its parent. O(nodes log nodes).
    """
    return _drawn(_places(tree), tree.functions, _MEASURES, "Allocations by call context")


def difference(contexts: Sequence[ContextChange]) -> Icicle | None:
    """The contexts of two traces by the bytes that B allocates more, or fewer, than A; None if nothing changed."""
    functions: dict[str, int] = {}
    places: list[_Place] = []
    known: dict[tuple[int, int], int] = {}
    for one in contexts:
        more = one.more_bytes
        values = (max(0, more), max(0, -more), one.a.bytes if one.a else 0, one.b.bytes if one.b else 0)
        parent = -1
        for name in one.stack:
            key = (parent, functions.setdefault(name, len(functions)))
            if key not in known:
                known[key] = len(places)
                places.append(_Place(*key, [0] * len(_DIFFERENCES)))
            parent = known[key]
            for n, value in enumerate(values):
                places[parent].values[n] += value
    if not any(any(one.values[:2]) for one in places):
        return None
    return _drawn(places, tuple(functions), _DIFFERENCES, "Change of allocations by call context")


def _drawn(places: Sequence[_Place], functions: Sequence[str], measures: Sequence[Axis], title: str) -> Icicle | None:
    wholes = [sum(one.values[n] for one in places if one.parent < 0) for n in range(len(measures))]
    if not any(wholes):
        return None
    weights = [max(v / whole for v, whole in zip(one.values, wholes, strict=True) if whole) for one in places]
    # A caller has at least what its callees have. The sort is stable, so it also stands before them.
    ranked = sorted(range(len(places)), key=lambda number: -weights[number])[:NODES_AT_MOST]
    kept = sorted(number for number in ranked if weights[number] > 0)
    at = {number: place for place, number in enumerate(kept)}
    shown = list(dict.fromkeys(places[number].function for number in kept))
    name_at = {function: place for place, function in enumerate(shown)}
    nodes = [
        Node(at[one.parent] if one.parent >= 0 else -1, name_at[one.function], one.values)
        for one in (places[number] for number in kept)
    ]
    kinds = [n for n, whole in enumerate(wholes) if whole]
    left_out = len(places) - len(kept)
    small = f" The {left_out} smallest contexts are left out; the exports have all." if left_out else ""
    return Icicle(
        title=title, measures=[measures[n] for n in kinds],
        caption=f"Counted: callers above, what they call below. A click or Enter enlarges a context.{small}",
        names=[_short(functions[function]) for function in shown],
        nodes=[Node(node.parent, node.name, [node.values[n] for n in kinds]) for node in nodes],
    )  # fmt: skip


def _places(tree: CallTree) -> list[_Place]:
    """Contexts of one caller and function as one, with the values of all below them."""
    found: list[_Place] = []
    known: dict[tuple[int, int], int] = {}
    number_of: list[int] = []
    for number, (parent, function, _, *counts) in enumerate(tree.nodes):
        if not 0 <= parent <= number or not 0 <= function < len(tree.functions):
            return []
        key = (number_of[parent - 1] if parent else -1, function)
        if key not in known:
            known[key] = len(found)
            found.append(_Place(*key))
        number_of.append(known[key])
        objects, allocated, _, alive = counts
        at_peak = tree.peak_bytes[number] if number < len(tree.peak_bytes) else 0
        own: Sequence[int] = (allocated, objects, at_peak, alive, max(0, allocated - alive))
        values = found[known[key]].values
        for n, value in enumerate(own):
            values[n] += value
    for one in reversed(found):
        if one.parent >= 0:
            above = found[one.parent].values
            for n, value in enumerate(one.values):
                above[n] += value
    return found


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[:_LETTERS]}…"
