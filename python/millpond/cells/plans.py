# SPDX-License-Identifier: BSL-1.0
"""Plans: which strategy each subsystem of a program gets (`*.plan.json`, "millpond.plan/1").

Only native code checks plan files: `millpond-trial --check-plan FILE` rejects an invalid plan and prints a valid one
in its canonical form. Here a plan is data that can be combined and written. The build is checked where the program is
known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from millpond.cells.plan_file import OWN_POOL, REST, PlanFile, PlanProgram, PlanRoute
from millpond.system import native
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.json_seal import sealed

READER = "millpond-trial"
# The strategy for a scope.
ARENA = "monotonic"
SUFFIX = ".plan.json"
# Prefix of the files of candidate pools for each instance, and of candidate arenas.
_INSTANCES = "instances-"
_ARENA = "arena-"
# Prefix of the files of candidates that follow from references.
_AFFINITY = "affinity"


@dataclass(frozen=True)
class Plan:
    """Routes for one build of one program. A plan without routes is the empty plan. `name` is for tables only, never
    compared.
    """

    name: str
    path: str
    build_id: str
    routes: tuple[PlanRoute, ...]
    libraries: tuple[PlanProgram, ...] = ()
    kind: ClassVar[str] = "plan"

    @property
    def label(self) -> str:
        """The name of its contender in tables."""
        return f"plan:{self.name}"

    @property
    def subsystems(self) -> tuple[str, ...]:
        """The subsystems that are named, in order; the rest ("*") is not one of them."""
        return tuple(s for route in self.routes for s in route.subsystems if s != REST)

    @property
    def alone(self) -> str | None:
        """The name of the pool if the plan has one pool besides that of the rest; None for any other plan.

        A candidate's pool has the name of the subsystem that it serves, whose owners the route names.
        """
        pools = {r.pool for r in self.routes if REST not in r.subsystems}
        return pools.pop() if len(pools) == 1 else None

    @property
    def special(self) -> tuple[PlanRoute, ...]:
        """The routes that are more than a pool for subsystems: arenas, and pools for each instance."""
        return tuple(r for r in self.routes if r.own != OWN_POOL)

    @property
    def sharing(self) -> tuple[tuple[str, ...], ...]:
        """The subsystems of each pool that several share, without arenas."""
        return tuple(r.subsystems for r in self.routes if r not in self.special and len(r.subsystems) > 1)

    @property
    def arenas(self) -> tuple[PlanRoute, ...]:
        """The routes that are arenas for a scope."""
        return tuple(r for r in self.routes if r.scope)

    @property
    def file(self) -> PlanFile:
        """The plan as a record of the file format."""
        return PlanFile(program=PlanProgram(self.path, self.build_id), libraries=self.libraries, routes=self.routes)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return self.file.to_json()

    def text(self) -> str:
        """The plan as one canonical line: equal plans have equal texts."""
        return json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True)

    def write(self, path: Path) -> None:
        """Writes the plan file with its checksum. Failure (status 4) if that is impossible."""
        try:
            path.write_text(json.dumps(sealed(self.to_json()), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise cannot_write(path, error) from error


def read(path: Path) -> Plan:
    """Reads a plan file through millpond-trial, the only judge of what a plan is.

    Failure: 3 if it is missing or invalid, 2 for an unknown strategy; the message names the place in the file.
    """
    return from_json(json.loads(native.answer(READER, [f"--check-plan={path}"])), path.name.removesuffix(SUFFIX))


def from_json(data: object, name: str) -> Plan:
    """The plan from data that `to_json` or the reader gave. Do not use it for other data: files go through `read`."""
    return of_file(PlanFile.from_json(data), name)


def of_file(file: PlanFile, name: str) -> Plan:
    """The plan in a file, with a name for tables."""
    return Plan(name, file.program.path, file.program.build_id, file.routes, file.libraries)


def read_all(paths: Iterable[Path]) -> list[Plan]:
    """Reads plans that are to be compared. Failure: 3 as `read`; 2 if two have the same name, because tables use
    names.
    """
    plans = [read(path) for path in paths]
    names = [p.name for p in plans]
    for name in names:
        if names.count(name) > 1:
            raise Failure(Status.USAGE, f"two plans have the name {name!r}; rename one of their files")
    return plans


def read_folder(folder: Path) -> list[Plan]:
    """Reads the candidate plans of a folder, without `all.plan.json`, in the order of their numbers. Arenas and pools
    for each instance lie between the pools, so that the first few plans are the most important of all.
    """
    files = sorted(p for p in folder.glob(f"*{SUFFIX}") if p.name != f"all{SUFFIX}")
    arenas = [p for p in files if p.name.startswith(_ARENA)]
    instances = [p for p in files if p.name.startswith(_INSTANCES)]
    pools = [p for p in files if p not in arenas and p not in instances]
    return [read(p) for p in chain.from_iterable(zip_longest(pools, arenas, instances)) if p]


def read_affinity(folder: Path) -> list[Plan]:
    """Reads the candidate plans of a folder that give one pool to subsystems which are accessed together."""
    return [read(path) for path in sorted(folder.glob(f"{_AFFINITY}*{SUFFIX}"))]


def merged(plan: Plan) -> Plan | None:
    """The plan with one pool for each kind of its pools: only the places of objects change.

    A kind is a strategy with its scope, on huge pages or not; so locks and sources stay as they are. Instances share
    their pool. None if nothing would merge.
    """
    kinds = dict.fromkeys((r.strategy, r.huge_pages, r.scope) for r in plan.routes)
    pools = {(r.pool, r.strategy, r.huge_pages, r.scope) for r in plan.routes}
    if len(pools) == len(kinds) and not any(r.instances for r in plan.routes):
        return None
    numbers = {kind: f"all {number}" for number, kind in enumerate(kinds, 1)}
    routes = tuple(replace(r, pool=numbers[r.strategy, r.huge_pages, r.scope], instances=()) for r in plan.routes)
    return Plan(f"{plan.name} in one pool", plan.path, plan.build_id, routes, plan.libraries)


def has_arena(data: dict[str, Any] | None) -> bool:
    """True if a plan as plain data has an arena for a scope; False for None."""
    return data is not None and any(route.get("scope") for route in data["routes"])


def without_repeats(plans: Iterable[Plan]) -> list[Plan]:
    """Drops plans whose subsystems earlier plans already route."""
    seen: set[str] = set()
    kept = []
    for plan in plans:
        if not seen.issuperset(plan.subsystems):
            kept.append(plan)
            seen.update(plan.subsystems)
    return kept


def combine(plans: Iterable[Plan], name: str) -> Plan:
    """One plan with the routes of all, pools kept apart; a subsystem that two plans name keeps its first route.

    A route for the rest ("*") is kept once, at the end. Raises ValueError for plans of different builds, and for no
    plans.
    """
    chosen = list(plans)
    if not chosen or any((p.path, p.build_id) != (chosen[0].path, chosen[0].build_id) for p in chosen):
        raise ValueError("only plans of one build of one program can be combined")
    seen: set[str] = set()
    routes: list[PlanRoute] = []
    rest: PlanRoute | None = None
    for route in (r for p in chosen for r in p.routes):
        if REST in route.subsystems:
            rest = rest or route
            continue
        fresh = tuple(s for s in route.subsystems if s not in seen)
        seen.update(fresh)
        if fresh:
            routes.append(replace(route, subsystems=fresh))
    libraries = tuple(dict.fromkeys(library for p in chosen for library in p.libraries))
    return Plan(name, chosen[0].path, chosen[0].build_id, (*routes, *((rest,) if rest else ())), libraries)
