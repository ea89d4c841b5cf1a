# SPDX-License-Identifier: BSL-1.0
"""What the controls split the difference into: three figures that are never mixed, and two sums of them.

    bare ──▶ empty ──▶ shared ──▶ looked_up ──▶ plan
             │  the     │ faster    │ look-up      │ placement
             │  layer   │ malloc    │ (a trial's   │
             │          │           │  own cost)   │
             │          └▶ shared_huge: huge pages

`net` is what the change in the source would give: placement and the faster malloc, without the look-up that only a
trial of an unmodified program pays. `total` is the trial as it ran, against the program as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.cells.cell import CONTROLS, Cell, Outcome
from millpond.cells.plans import Plan
from millpond.execution.rounds import by_round
from millpond.statistics.order_statistics import Comparison, compare, judge_family

# Effect → the contender and what it is compared with; `plan` is the chosen plan.
PAIRS = {
    "faster_malloc": ("shared", "empty"),
    "huge_pages": ("shared_huge", "shared"),
    "placement": ("plan", "looked_up"),
    "total": ("plan", "bare"),
    "malloc_and_huge_pages": ("shared_huge", "empty"),
}
# What a trial itself costs: reported, advised by nobody, and so no part of the family that is judged together.
COSTS = {"interposer": ("empty", "bare"), "look_up": ("looked_up", "shared")}
NET = "net"
METRICS_COMPARED = ("cpu_seconds", "wall_seconds", "peak_bytes", "page_faults")

Effects = dict[str, dict[str, Comparison]]


def control_cells(program: Sequence[str]) -> list[Cell]:
    """The five controls of a program."""
    return [Cell(tuple(program), variant) for variant in CONTROLS]


def plan_cell(program: Sequence[str], plan: Plan) -> Cell:
    """The contender that runs under a plan."""
    return Cell(tuple(program), "plan", plan)


def compare_cells(outcomes: Sequence[Outcome], of: Cell, against: Cell, metric: str) -> Comparison | None:
    """Paired within rounds; None where no round has both."""
    left, right = by_round(outcomes, of, metric), by_round(outcomes, against, metric)
    both = sorted(left.keys() & right.keys())
    return compare(metric, of.name, against.name, [left[i] for i in both], [right[i] for i in both])


def _net(outcomes: Sequence[Outcome], cells: dict[str, Cell], metric: str) -> Comparison | None:
    """Plan less look-up against the empty plan, in rounds that have all four."""
    values = {v: by_round(outcomes, cells[v], metric) for v in ("plan", "looked_up", "shared", "empty")}
    rounds = sorted(set.intersection(*(set(v) for v in values.values())))
    of = [values["plan"][i] - values["looked_up"][i] + values["shared"][i] for i in rounds]
    against = [values["empty"][i] for i in rounds]
    return compare(metric, f"{cells['plan'].name} without look-up", "empty", of, against)


def split(
    outcomes: Sequence[Outcome], program: Sequence[str], plan: Plan | None, alone: Sequence[Plan]
) -> tuple[Effects, dict[str, dict[str, Comparison]]]:
    """The effects of the judging rounds by effect and metric, and each plan of `alone` against `looked_up` likewise.

    All comparisons of one metric were made together, so false discoveries are held over all of them.
    """
    cells = {c.variant: c for c in control_cells(program)}
    if plan is not None:
        cells["plan"] = plan_cell(program, plan)
    effects: Effects = {}
    single: dict[str, dict[str, Comparison]] = {}
    for metric in METRICS_COMPARED:
        family: dict[tuple[str, str], Comparison] = {}
        for name, (of, against) in (PAIRS | COSTS).items():
            found = compare_cells(outcomes, cells[of], cells[against], metric) if of in cells else None
            if found is not None and name in COSTS:
                effects.setdefault(name, {})[metric] = found
            elif found is not None:
                family["effect", name] = found
        net = _net(outcomes, cells, metric) if "plan" in cells else None
        if net is not None:
            family["effect", NET] = net
        for candidate in alone:
            cell = plan_cell(program, candidate)
            found = compare_cells(outcomes, cell, cells["looked_up"], metric)
            if found is not None:
                family["alone", candidate.name] = found
        for (kind, name), comparison in judge_family(family).items():
            (effects if kind == "effect" else single).setdefault(name, {})[metric] = comparison
    return effects, single


def split_all(outcomes: Sequence[Outcome], program: Sequence[str], plans: Sequence[Plan]) -> dict[str, Effects]:
    """The effects of several plans that were tried together, by plan: false discoveries are held over all of them."""
    found = {plan.name: split(outcomes, program, plan, [])[0] for plan in plans}
    for metric in METRICS_COMPARED:
        # What only the controls decide is the same for every plan, and is one comparison.
        family = {
            (plan if "plan" in PAIRS.get(name, ("plan",)) else "", name): metrics[metric]
            for plan, effects in found.items()
            for name, metrics in effects.items()
            if name not in COSTS and metric in metrics
        }
        judged = judge_family(family)
        for plan, effects in found.items():
            for name, metrics in effects.items():
                one = judged.get((plan, name)) or judged.get(("", name))
                if one is not None and metric in metrics:
                    metrics[metric] = one
    return found


def screen(
    outcomes: Sequence[Outcome], program: Sequence[str], candidates: Sequence[Plan]
) -> dict[str, dict[str, Comparison]]:
    """Each candidate against `looked_up` in the choosing rounds, by plan and metric, judged together."""
    against = Cell(tuple(program), "looked_up")
    result: dict[str, dict[str, Comparison]] = {}
    for metric in METRICS_COMPARED:
        family: dict[str, Comparison] = {}
        for plan in candidates:
            found = compare_cells(outcomes, plan_cell(program, plan), against, metric)
            if found is not None:
                family[plan.name] = found
        for name, comparison in judge_family(family).items():
            result.setdefault(name, {})[metric] = comparison
    return result


def helpful(screened: dict[str, dict[str, Comparison]]) -> list[str]:
    """The plans that looked better while choosing, the most helpful first.

    This promises nothing: it only decides what fresh rounds will judge, so it asks for less than a verdict does. A plan
    that saves memory counts where it does not look slower.
    """
    chosen: list[tuple[float, str]] = []
    for name, by_metric in screened.items():
        cpu, peak = by_metric.get("cpu_seconds"), by_metric.get("peak_bytes")
        if cpu is None:
            continue
        faster = cpu.ratio.median <= 0.99 and _not_by_chance(cpu)
        smaller = peak is not None and peak.ratio.median <= 0.98 and _not_by_chance(peak) and cpu.ratio.median <= 1.01
        if faster or smaller:
            chosen.append((cpu.ratio.median, name))
    return [name for _, name in sorted(chosen)]


def substantial(screened: dict[str, dict[str, Comparison]], helpers: Sequence[str]) -> list[str]:
    """Those of the helpers that gain at least a quarter of what the best of them does, in CPU or in bytes.

    A plan is to be the smallest that gives the gain: a pool whose small help may be luck would ride along in it unseen.
    """

    def gain(name: str) -> float:
        ratios = (screened[name][m].ratio.median for m in ("cpu_seconds", "peak_bytes") if m in screened[name])
        return 1 - min(ratios, default=1.0)

    best = max((gain(name) for name in helpers), default=0.0)
    return [name for name in helpers if gain(name) >= best / 4]


def _not_by_chance(comparison: Comparison) -> bool:
    """Loosely: of fewer than five rounds no p-value can be small, so a large effect in most of them is believed."""
    if comparison.ratio.n < 5:
        return comparison.ratio.median <= 0.95 or comparison.ratio.high < 1.0
    return comparison.p <= 0.15


def most_promising(screened: dict[str, dict[str, Comparison]]) -> str | None:
    """The plan with the least CPU while choosing, helpful or not; None where none was measured."""
    cpu = {name: m["cpu_seconds"].ratio.median for name, m in screened.items() if "cpu_seconds" in m}
    return min(cpu, key=lambda name: cpu[name]) if cpu else None
