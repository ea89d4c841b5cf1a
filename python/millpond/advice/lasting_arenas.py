# SPDX-License-Identifier: BSL-1.0
"""Arenas that would last as long as `main` or a thread: proposed only for objects that are never freed before.

Such an arena returns nothing until its end. On an input that frees and allocates more it grows, where a pool reuses
memory. A pool for each subsystem is as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import Subsystem
from millpond.system.wording import count_text


def lasts(route: PlanRoute) -> bool:
    """True for an arena that lives as long as `main` or a thread."""
    return route.scope is not None and (route.scope.function == "main" or route.scope.kind == "thread")


def split_lasting(candidates: Sequence[Plan], subsystems: Sequence[Subsystem]) -> tuple[list[Plan], list[Plan]]:
    """Returns the candidates to keep, and those with a lasting arena for objects that are freed before its end."""
    frees = {subsystem.name: subsystem.frees or 0 for subsystem in subsystems}

    def grows(plan: Plan) -> bool:
        return any(lasts(route) and any(frees.get(name, 0) for name in route.subsystems) for route in plan.routes)

    return [p for p in candidates if not grows(p)], [p for p in candidates if grows(p)]


def why_not(route: PlanRoute, subsystem: Subsystem) -> str:
    """Returns why a lasting arena is not proposed for a subsystem."""
    return (
        f"{route.own} is not proposed: it would keep the memory of {count_text(subsystem.frees)} objects freed "
        "before its end, and a pool reuses that"
    )
