# SPDX-License-Identifier: BSL-1.0
"""The form of a plan file (`*.plan.json`, "millpond.plan/1"); `plans` has what a plan means."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from millpond.system.records import Record

Schema = Literal["millpond.plan/1"]
SCHEMA: Schema = "millpond.plan/1"
REST = "*"


class PlanProgram(Record, frozen=True):
    """The one build of the program that a plan is for."""

    path: str
    build_id: str


class PlanScope(Record, frozen=True):
    """What an arena's life is tied to: one of the first three."""

    function: str | None = None
    thread: bool | None = None
    phase: bool | None = None
    outermost: bool = False
    observed: bool = True

    @property
    def kind(self) -> str:
        return "function" if self.function is not None else "thread" if self.thread else "phase"


class PlanInstance(Record, frozen=True):
    """A call site where the owner of what it allocates is known."""

    module: str
    address: str
    word: str


class PlanRoute(Record, frozen=True):
    """Subsystems that share one pool of one strategy."""

    subsystems: tuple[str, ...]
    pool: str
    strategy: str
    huge_pages: bool = field(default_factory=bool)
    scope: PlanScope | None = None
    instances: tuple[PlanInstance, ...] = ()

    @property
    def of_rest(self) -> bool:
        """Whether it serves what no other route names."""
        return REST in self.subsystems


class PlanFile(Record, frozen=True, kw_only=True):
    """A plan as its file has it."""

    schema: Schema = field(default_factory=lambda: SCHEMA)
    program: PlanProgram
    routes: tuple[PlanRoute, ...]

    @property
    def has_arena(self) -> bool:
        """Whether it has an arena for a scope."""
        return any(route.scope for route in self.routes)
