# SPDX-License-Identifier: BSL-1.0
"""The contenders of a judgement, and the roles of mallocs in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.advice import effects
from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import speed_of
from millpond.cells.plans import Plan
from millpond.rounds import mallocs


def most_important_first(
    program: Sequence[str], by_role: Mapping[str, Cell], plans: Sequence[Plan], best: Sequence[Cell]
) -> list[Cell]:
    """Returns the contenders of a judgement, the most important first: the last are dropped if time is short.

    `plans`: the plan to advise, then the single plans in it. `best`: the mallocs, the best first.
    """
    under_plan = [by_role[role] for role in ("looked_up", "plan") if "plan" in by_role]
    cells = [by_role["bare"], *best[:1], *under_plan, *best[1:]]
    cells += [by_role["merged"]] if "merged" in by_role else []
    return cells + [effects.plan_cell(program, plan) for plan in plans[1:]]


def roles_of_mallocs(outcomes: Sequence[Outcome], bare: Cell, by_name: Mapping[str, Cell]) -> dict[str, str]:
    """Returns role → malloc: the fastest one in the judged rounds is the best; huge pages have one too."""
    metric = speed_of({metric for outcome in outcomes for metric in outcome.values})
    ratios = {
        name: found.median
        for name, cell in by_name.items()
        if (found := effects.compare_cells(outcomes, cell, bare, metric))
    }
    ranked = sorted(ratios, key=lambda name: ratios[name])
    by_role = {"malloc": ranked[0]} if ranked else {}
    by_role |= {f"malloc {n}": name for n, name in enumerate(ranked[1:], 2)}
    if mallocs.HUGE in ranked:
        by_role["huge"] = mallocs.HUGE
    return by_role
