# SPDX-License-Identifier: BSL-1.0
"""The allocators that an advised plan puts into the source: the place of each, its first bytes, its size classes.

A *home* is one route of the plan: a pool of the process, pools of instances, or an arena of a function's calls, of
threads or of a phase.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from millpond.advice.advice_data import Advice, Row
from millpond.advice.freeing_places import merged_places
from millpond.cells.plan_file import PlanRoute
from millpond.rounds.characterisation import (
    ALIVE_AT_END,
    NOT_DECIDED,
    NOT_DISPROVED,
    OUTERMOST,
    AllocationPlace,
    Container,
    FreeingPlace,
    ScopeLegality,
)
from millpond.system.wording import bytes_text, list_text

NAMESPACE = "millpond_advice"
C, CPP = "C", "C++"
PROCESS, FUNCTION, THREAD, PHASE, INSTANCE = "process", "function", "thread", "phase", "instance"
# The largest first chunk of a pool or an arena: later chunks double, so a larger one gains no more.
POOL_BYTES_MAX = 256 << 10
ARENA_BYTES_MAX = 1 << 20
# The share of bytes that classes of its own must save to be worth the loss of generality.
CLASSES_SAVE_MIN = 0.05
_NODES = ("std::list<", "std::forward_list<", "std::map<", "std::multimap<", "std::set<", "std::multiset<")


@dataclass(frozen=True)
class AdvisedAllocator:
    """One allocator of the advised plan (a *home*)."""

    name: str  # the name of its alias in the header
    subsystems: tuple[str, ...]
    kind: str
    function: str
    legality: str
    several_threads: bool
    first_bytes: int  # 0: the library's default
    first_reason: str
    classes: tuple[int, ...]
    classes_reason: str
    containers: tuple[Container, ...]
    function_place: tuple[str, int] = ("", 0)  # where an arena's function is declared
    language: str = CPP  # of the header: C if all of the code is C
    standards: tuple[tuple[str, str], ...] = ()  # files whose code changes, with the standard that each was compiled by
    freed_at: tuple[FreeingPlace, ...] = ()
    freed_elsewhere: int = 0
    frees: int = 0

    @property
    def space(self) -> str:
        """Returns the qualified name in the header; its containers and functions are its members."""
        return f"{NAMESPACE}::{self.name}"

    @property
    def owner(self) -> str:
        """Names the owner of the allocator, and why that is legal."""
        whose = list_text(list(self.subsystems))
        if self.kind == FUNCTION:
            known = {
                NOT_DISPROVED: "it was not observed whether objects outlive it",
                NOT_DECIDED: "the trace is not complete, so it is unknown whether objects outlive it",
                ALIVE_AT_END: "some of its objects are never freed: check that nothing uses them after its end",
                OUTERMOST: "legal for the outermost call: inner calls share its arena",
            }.get(self.legality, "no object outlived an observed call")
            return f"each call of {self.function} owns an arena for {whose} ({known})"
        if self.kind == THREAD:
            return f"each thread owns an arena for {whose} (no object outlived its thread)"
        if self.kind == INSTANCE:
            return f"each container of {whose} owns a pool (its blocks must not outlive it)"
        life = "it lives as long as the process, which is legal for every object"
        if self.kind == PHASE:
            return f"the process owns an arena for {whose}, reset whenever nothing in it is alive ({life})"
        return f"the process owns a pool for {whose} ({life})"


def homes(advice: Advice) -> list[AdvisedAllocator]:
    """Returns the allocators (homes) of the plan that is better than no change, in its order; empty without such a
    plan.

    Leaves out subsystems whose source only packages of the system have.
    """
    rows = {row.name: row for row in advice.subsystems}
    routes = advice.plan.routes if advice.plan else ()
    taken: set[str] = set()
    foreign = foreign_rows(advice)
    return [
        _home(route, rows, taken)
        for route in routes
        if route.subsystems and not route.of_rest and not all(name in foreign for name in route.subsystems)
    ]


def foreign_rows(advice: Advice) -> dict[str, str]:
    """Returns the subsystems of the plan whose source the user does not build, with the package of each."""
    routes = advice.plan.routes if advice.plan else ()
    planned = {name for route in routes for name in route.subsystems if not route.of_rest}
    return {row.name: row.package for row in advice.subsystems if row.package and row.name in planned}


def foreign_text(advice: Advice) -> str:
    """Names the packages whose maintainers could change the source, if the whole plan concerns them; else empty."""
    foreign = foreign_rows(advice)
    if not foreign or homes(advice):
        return ""
    return list_text(sorted(set(foreign.values())))


def identifier(name: str, taken: set[str]) -> str:
    """Returns a valid C++ name for an owner, different from all in `taken`, and adds it there."""
    words = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_")[:60].strip("_") or "unnamed"
    base = f"{'n' if words[0].isdigit() else ''}{words}_memory"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    taken.add(found)
    return found


def default_class(size: int) -> int:
    """Returns the block size of `four_an_octave<>` that serves a size."""
    if size <= 64:
        return max(8, -(-size // 8) * 8)
    step = 1 << ((size - 1).bit_length() - 3)
    return -(-size // step) * step


def _home(route: PlanRoute, rows: Mapping[str, Row], taken: set[str]) -> AdvisedAllocator:
    own = [rows[name] for name in route.subsystems if name in rows]
    kind = route.scope.kind if route.scope else INSTANCE if route.instances else PROCESS
    function = (route.scope.function or "") if route.scope else ""
    judged = _judged(own, kind, function)
    several = route.strategy.startswith("synchronized") or (
        kind == PHASE and any((r.W or 1) > 1 or r.freed_by_other_threads for r in own)
    )
    first, reason = _first_bytes(own, kind, judged)
    containers = _containers(own)
    classes, why = _classes(containers, kind)
    return AdvisedAllocator(
        name=identifier(route.pool or route.subsystems[0], taken), subsystems=route.subsystems, kind=kind,
        function=function, legality=(judged[0].legality or "") if judged else "", several_threads=several,
        first_bytes=first, first_reason=reason, classes=classes, classes_reason=why, containers=tuple(containers),
        function_place=(judged[0].file, judged[0].line) if judged else ("", 0),
        language=_language(containers), standards=_standards(own, containers),
        freed_at=merged_places(row.freed_at for row in own), freed_elsewhere=sum(row.freed_elsewhere for row in own),
        frees=sum(row.frees or 0 for row in own),
    )  # fmt: skip


def _language(containers: Sequence[Container]) -> str:
    places = [place for c in containers for place in c.places]
    is_c = any(place.language == C for place in places) and not any(c.type for c in containers)
    return C if is_c else CPP


def _standards(own: Sequence[Row], containers: Sequence[Container]) -> tuple[tuple[str, str], ...]:
    places: list[AllocationPlace | FreeingPlace] = [place for c in containers for place in c.places]
    places += [place for row in own for place in row.freed_at]
    return tuple(sorted({(place.file, place.standard) for place in places if place.file and place.standard}))


def _judged(own: Iterable[Row], kind: str, function: str) -> list[ScopeLegality]:
    """Returns the legality of the arena's scope, the weakest knowledge first."""
    found = [
        scope
        for row in own
        for scope in row.legality
        if scope.scope == kind and (kind != FUNCTION or scope.name == function)
    ]
    weakest = (NOT_DECIDED, NOT_DISPROVED, ALIVE_AT_END, OUTERMOST)
    return sorted(found, key=lambda s: weakest.index(s.legality) if s.legality in weakest else len(weakest))


def _first_bytes(own: Sequence[Row], kind: str, judged: Sequence[ScopeLegality]) -> tuple[int, str]:
    if kind in (FUNCTION, THREAD):
        known = [s.instance_bytes.p95 for s in judged if s.instance_bytes and s.instance_bytes.p95]
        if not known:
            return 0, "the library's first chunk: the bytes of one activation were not observed"
        wanted = int(sum(known))
        what = f"95 % of the activations allocate at most {bytes_text(wanted)}"
        limit = ARENA_BYTES_MAX
    elif kind == INSTANCE:
        return 0, "the library's first chunk of 1 KiB, so that small instances stay small"
    else:
        wanted = sum(r.peak_live_bytes or 0 for r in own)
        what, limit = f"at most {bytes_text(wanted)} were live at a time", POOL_BYTES_MAX
    if wanted == 0:
        return 0, "the library's first chunk: the bytes that it holds are unknown"
    first = min(max(-(-wanted // 1024) * 1024, 1024), limit)
    return first, what + (f"; later chunks follow the first {bytes_text(first)}" if first < wanted else "")


def _containers(own: Iterable[Row]) -> list[Container]:
    return sorted((c for row in own for c in row.containers or ()), key=lambda c: -c.bytes)


def _classes(containers: Sequence[Container], kind: str) -> tuple[tuple[int, ...], str]:
    """Returns size classes of its own if all objects are nodes of known sizes that the default classes waste."""
    default = "the library's"
    if kind != PROCESS or not containers:
        if kind == INSTANCE:
            return (), f"{default}: made at their first use, so that small instances stay small"
        return (), f"{default}: an arena has none" if kind != PROCESS else f"{default}: the sizes are not known exactly"
    total = sum(c.bytes for c in containers)
    sizes: dict[int, int] = {}
    for c in containers:
        allocations, bytes_ = c.allocations, c.bytes
        is_node = (c.type or "").replace("std::pmr::", "std::").startswith(_NODES)
        if not is_node or allocations == 0 or bytes_ % allocations or (bytes_ // allocations) % 8:
            return (), f"{default}: not all objects are nodes of known sizes"
        sizes[bytes_ // allocations] = sizes.get(bytes_ // allocations, 0) + bytes_
    waste = sum(bytes_ * (default_class(size) / size - 1) for size, bytes_ in sizes.items()) / max(total, 1)
    if waste < CLASSES_SAVE_MIN:
        return (), f"{default}: they waste {100 * waste:.1f} % of the bytes, so classes of its own would not pay"
    exact = tuple(sorted(sizes))
    return exact, f"the nodes are {list_text([str(s) for s in exact])} bytes; {default} would waste {100 * waste:.0f} %"
