# SPDX-License-Identifier: BSL-1.0
"""The format of a plan file (`*.plan.json`, "millpond.plan/1"); `plans` explains what a plan means."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from millpond.system.records import Record

Schema = Literal["millpond.plan/1"]
SCHEMA: Schema = "millpond.plan/1"
REST = "*"
OWN_POOL = "a pool of its own"


class PlanProgram(Record, frozen=True):
    """The one build of the program that a plan is for."""

    path: str
    build_id: str


class PlanScope(Record, frozen=True):
    """The lifetime of an arena: a call of `function`, a `thread`, or a `phase`."""

    function: str | None = None
    thread: bool | None = None
    phase: bool | None = None
    outermost: bool = False  # nested calls of the function share the arena of the outermost call
    observed: bool = True  # a trial observes when calls begin and end

    @property
    def kind(self) -> str:
        return "function" if self.function is not None else "thread" if self.thread else "phase"

    @property
    def arena(self) -> str:
        """A phrase for the arena that it gets."""
        return {
            "function": f"an arena for each {'outermost ' if self.outermost else ''}call of {self.function}",
            "thread": "an arena for each thread",
            "phase": "an arena that is reset whenever nothing in it is alive",
        }[self.kind]


class PlanInstance(Record, frozen=True):
    """A call site at which the object that owns the allocated memory is known."""

    module: str
    address: str
    word: str


class PlanRoute(Record, frozen=True):
    """Subsystems that share one pool of one strategy.

    `scope`: the scope of a monotonic pool, which is an arena. `instances`: the call sites of a multipool with a pool
    for each owner.
    """

    subsystems: tuple[str, ...]
    pool: str
    strategy: str
    huge_pages: bool = field(default_factory=bool)
    scope: PlanScope | None = None
    instances: tuple[PlanInstance, ...] = ()

    @property
    def own(self) -> str:
        """A phrase for the pool that its subsystems get."""
        return self.scope.arena if self.scope else "a pool for each instance" if self.instances else OWN_POOL

    @property
    def needs_x86(self) -> bool:
        """True if a trial can take it on x86-64 only: it observes calls, or reads a register at an allocation."""
        return bool(self.instances or (self.scope and self.scope.function is not None and self.scope.observed))

    @property
    def of_rest(self) -> bool:
        """True if it serves all subsystems that no other route names."""
        return REST in self.subsystems


class PlanFile(Record, frozen=True, kw_only=True):
    """A plan as its file holds it."""

    schema: Schema = field(default_factory=lambda: SCHEMA)
    program: PlanProgram
    libraries: tuple[PlanProgram, ...] = ()  # that the program may open while it runs
    routes: tuple[PlanRoute, ...]

    @property
    def has_arena(self) -> bool:
        """True if it has an arena for a scope."""
        return any(route.scope for route in self.routes)
