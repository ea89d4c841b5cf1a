# SPDX-License-Identifier: BSL-1.0
"""Finds avoidable blocks: two that could be one, one that grows step by step, one that each call allocates again.

    shared_ptr's counts, then its object  ──▶ make_shared        │ counts │ │ object │  ─▶ │ counts, object │
    16, 32, 64, 128 … equally often       ──▶ reserve            │▁│▂│▄│█│             ─▶ │█│
    one block for each call of a function ──▶ keep it            │█│ │█│ │█│           ─▶ │█│

The recording shows the number of blocks that this would save. No trial can measure it, so there is no percentage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millpond.advice.advice_data import FewerBlocks
from millpond.rounds.characterisation import Container, Size, Subsystem
from millpond.system.wording import count_text

MAKE_SHARED, RESERVE, KEEP = "make_shared", "reserve", "keep"
# The smallest share of the program's allocations that justifies changing a line.
_WORTH_A_CHANGE = 0.02
# Counts and a pointer: a control block without its object is no larger; one with its object is hardly smaller.
_CONTROL_BLOCK_BYTES = 24
_AS_MANY = 0.05  # two counts that differ by at most this share are equal
_STEPS_FEWEST = 4
_STEP = 1.9, 2.1
_GROWING = ("std::vector<", "std::basic_string<", "std::string", "std::wstring", "std::pmr::vector<")


def fewer_blocks(subsystem: Subsystem, allocations_of_program: int) -> tuple[FewerBlocks, ...]:
    """Returns the avoidable blocks of a subsystem, most first, from 2 % of the program's allocations on.
    O(containers²), of which a subsystem has few.
    """
    found = [*_fused(subsystem.containers or ()), *_reserved(subsystem), *_kept(subsystem)]
    worth = [one for one in found if one.saves_allocations >= _WORTH_A_CHANGE * allocations_of_program]
    return tuple(sorted(worth, key=lambda one: -one.saves_allocations))


def words(one: FewerBlocks) -> str:
    """Returns `std::make_shared in place of std::shared_ptr<node> over new, make (book.cpp:6): 400 k blocks fewer`."""
    place = f"{one.file.rsplit('/', 1)[-1]}:{one.line}" if one.file else ""
    where = f", {one.function}" if one.function else ""
    where += f" ({place})" if place else ""
    return f"{one.what}{where}: {count_text(one.saves_allocations)} blocks fewer"


def _fused(containers: Sequence[Container]) -> Iterator[FewerBlocks]:
    for counts in containers:
        is_apart = counts.bytes <= _CONTROL_BLOCK_BYTES * counts.allocations
        if not (counts.type or "").startswith("std::shared_ptr<") or not is_apart:
            continue
        if any(_is_object_of(counts, other) for other in containers):
            what = f"std::make_shared in place of {counts.type} over new"
            yield _at(counts, MAKE_SHARED, what, counts.allocations)


def _is_object_of(counts: Container, other: Container) -> bool:
    """True if another allocation of the same function is as frequent, and is not a container's."""
    functions = {place.function for place in counts.places} & {place.function for place in other.places}
    return other.type is None and bool(functions - {None, ""}) and _as_many(other.allocations, counts.allocations)


def _reserved(subsystem: Subsystem) -> Iterator[FewerBlocks]:
    steps = _doubling(subsystem.sizes)
    made = sum(size.count for size in steps)
    for container in subsystem.containers or ():
        if steps and (container.type or "").startswith(_GROWING) and container.allocations >= made * (1 - _AS_MANY):
            what = f"reserve the final size of a {container.type}: it grows in {len(steps)} steps"
            yield _at(container, RESERVE, what, made - steps[0].count)
            return
    times = (subsystem.reallocations or 0) / max(subsystem.allocations or 0, 1)
    if times >= _STEPS_FEWEST and (one := next(iter(subsystem.containers or ()), None)):
        what = f"allocate the final size at once: each block is resized {times:.0f} times"
        yield _at(one, RESERVE, what, subsystem.reallocations or 0)


def _doubling(sizes: Sequence[Size]) -> list[Size]:
    """Returns the longest run of sizes, each twice the last and as frequent; empty below four."""
    by_bytes = sorted(sizes, key=lambda size: size.bytes)
    longest: list[Size] = []
    for first in by_bytes:
        run = [first]
        for size in by_bytes:
            is_next = _STEP[0] * run[-1].bytes <= size.bytes <= _STEP[1] * run[-1].bytes
            if is_next and _as_many(size.count, first.count):
                run.append(size)
        longest = max(longest, run, key=len)
    return longest if len(longest) >= _STEPS_FEWEST else []


def _kept(subsystem: Subsystem) -> Iterator[FewerBlocks]:
    for scope in subsystem.legality:
        is_own = scope.scope == "function" and scope.name == subsystem.name and scope.legal
        if not is_own or not scope.calls:
            continue
        for container in subsystem.containers or ():
            if (container.type or "").startswith(_GROWING) and _as_many(container.allocations, scope.calls):
                what = f"keep one {container.type} and clear it: each call makes a new one"
                yield _at(container, KEEP, what, container.allocations - 1)


def _as_many(a: int, b: int) -> bool:
    return abs(a - b) <= _AS_MANY * max(a, b)


def _at(container: Container, kind: str, what: str, saves: int) -> FewerBlocks:
    place = next(iter(container.places), None)
    return FewerBlocks(
        kind=kind, what=what, saves_allocations=saves, function=place.function or "" if place else "",
        file=place.file if place else "", line=place.line if place else 0,
    )  # fmt: skip
