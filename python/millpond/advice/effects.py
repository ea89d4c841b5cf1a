# SPDX-License-Identifier: BSL-1.0
"""Compares the contenders of a run, pair by pair; `net` and `merged` combine three contenders.

    bare ──▶ malloc:NAME    effect of another malloc on the unchanged program
      │
      └────▶ looked_up ──▶ plan      effect of a plan's pools, with the same look-ups
               (a trial's    ▲
                own cost)    └── merged: the same routes and look-ups, all in one pool: placement

`net` estimates the effect of the change in the source: the plan against the unchanged program, minus two costs that
only a trial pays. These are the look-ups, and the extra cost of pools that stand behind malloc (POOL_COST: pairs of
calls times the extra cost of a pair on this machine); see cells/net_effect.py. `total` is the trial as it ran;
`look_up_extra` and `pool_extra` are the difference between the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from millpond.cells.cell import CONTROLS, Cell, ComputedContender, Control, Malloc, Outcome, Program
from millpond.cells.metrics import OF_A_LOAD, speed_of
from millpond.cells.net_effect import MODEL_ERROR, RoundsOf, look_up_rounds, net_rounds, pool_rounds, subtracted
from millpond.cells.plans import Plan, merged
from millpond.rounds.interleaved_rounds import by_round
from millpond.statistics.order_statistics import NOT_SETTLED, Comparison, compare, judge_family, widened

# Effect → the contender and its baseline. Roles: a variant; `malloc`, the best one; `huge`, the C library's
# on huge pages; `plan`, the chosen plan; `merged`, its one pool for all.
PAIRS = {
    "faster_malloc": ("malloc", "bare"),
    "huge_pages": ("huge", "bare"),
    "placement": ("plan", "merged"),
    "total": ("plan", "bare"),
    "shared_pool": ("shared", "empty"),
    "shared_pool_huge": ("shared_huge", "shared"),
}
# Costs of the trial itself. They are reported only, so they are not in the family that is judged together.
COSTS = {"interposer": ("empty", "bare"), "look_up": ("looked_up", "bare")}
# Computed as well: the unchanged program plus each cost that is subtracted from a plan: look-ups, and the extra cost of
# pools behind malloc.
LOOK_UP_EXTRA, POOL_EXTRA = "look_up_extra", "pool_extra"
REPORTED = (*COSTS, LOOK_UP_EXTRA, POOL_EXTRA)
NET = "net"
BEHIND_NET = ("plan", "looked_up", "bare")
METRICS_COMPARED = ("cpu_seconds", "wall_seconds", "peak_bytes", "page_faults", *OF_A_LOAD)

Effects = dict[str, dict[str, Comparison]]


def verdict_of(comparisons: Mapping[str, Comparison], metric: str) -> str:
    """Returns the verdict in one metric; empty if it was not measured."""
    found = comparisons.get(metric)
    return found.verdict if found else ""


def speed_verdict(comparisons: Mapping[str, Comparison]) -> str:
    """Returns the verdict on speed: on CPU, or on the throughput of a load; empty if it was not measured."""
    return verdict_of(comparisons, speed_of(comparisons))


def saves_time(comparisons: Mapping[str, Comparison]) -> bool:
    """True if faster beyond the noise."""
    return speed_verdict(comparisons) == "better"


def saves_memory(comparisons: Mapping[str, Comparison]) -> bool:
    """True if smaller beyond the noise, and not slower."""
    return verdict_of(comparisons, "peak_bytes") == "better" and speed_verdict(comparisons) != "worse"


def speed_in(comparisons: Mapping[str, Comparison]) -> Comparison | None:
    """Returns the comparison by which a verdict on speed goes; None if it was not measured."""
    return comparisons.get(speed_of(comparisons))


def control_cells(program: Sequence[str]) -> list[Cell]:
    """Returns the five controls of a program."""
    return [control_cell(program, name) for name in CONTROLS]


def control_cell(program: Sequence[str], name: str) -> Cell:
    """Returns one control of a program."""
    return Cell(Program(tuple(program)), Control(name))


def plan_cell(program: Sequence[str], plan: Plan) -> Cell:
    """Returns the contender that runs under a plan."""
    return Cell(Program(tuple(program)), plan)


def malloc_cell(program: Sequence[str], malloc: Malloc) -> Cell:
    """Returns the contender that runs on a malloc."""
    return Cell(Program(tuple(program)), malloc)


def net_of(plan: Plan) -> ComputedContender:
    """Returns the computed contender of a plan without a trial's own costs. It never runs."""
    return ComputedContender.without_look_up(plan.label)


def roles(program: Sequence[str], plan: Plan | None) -> dict[str, Cell]:
    """Returns the cells of the effects, by role; a plan of several pools has the role `merged` too."""
    cells = {c.contender.name: c for c in control_cells(program)}
    if plan is not None:
        cells["plan"] = plan_cell(program, plan)
        one_pool = merged(plan)
        if one_pool is not None:
            cells["merged"] = plan_cell(program, one_pool)
    return cells


def compare_cells(
    outcomes: Sequence[Outcome], of: Cell, against: Cell, metric: str, looks: float = 1
) -> Comparison | None:
    """Compares two cells, paired within rounds; None if no round has both."""
    left, right = by_round(outcomes, of, metric), by_round(outcomes, against, metric)
    both = sorted(left.keys() & right.keys())
    return compare(metric, of.name, against.name, [left[i] for i in both], [right[i] for i in both], looks)


def compare_net(
    outcomes: Sequence[Outcome],
    program: Sequence[str],
    plan: Plan,
    metric: str,
    against: Cell | None = None,
    looks: float = 1,
) -> Comparison | None:
    """Compares the plan, without a trial's own costs, with `against` (default: the bare program) in rounds that have
    both.
    """
    other = against or control_cell(program, "bare")
    rounds_of = _rounds_of(outcomes, program, plan)
    net = net_rounds(rounds_of, metric)
    right = by_round(outcomes, other, metric)
    rounds = sorted(net.keys() & right.keys())
    found = compare(
        metric, net_of(plan).label, other.name, [net[i] for i in rounds], [right[i] for i in rounds], looks
    )  # fmt: skip
    error = MODEL_ERROR * subtracted(rounds_of, metric)
    return widened(found, error, median([right[i] for i in rounds])) if found and error > 0.0 else found


def _rounds_of(outcomes: Sequence[Outcome], program: Sequence[str], plan: Plan) -> RoundsOf:
    cells = roles(program, plan)
    return lambda role, metric: by_round(outcomes, cells[role], metric)


def _taken_off(
    outcomes: Sequence[Outcome], program: Sequence[str], plan: Plan, metric: str, looks: float
) -> dict[str, Comparison]:  # fmt: skip
    """Returns the costs subtracted from a plan, each as a change of the unchanged program; empty if unknown."""
    rounds_of = _rounds_of(outcomes, program, plan)
    bare = rounds_of("bare", metric)
    found = {}
    for name, what, cost in (
        (LOOK_UP_EXTRA, "look-ups", look_up_rounds(rounds_of, metric)),
        (POOL_EXTRA, "pools", pool_rounds(rounds_of, metric)),
    ):
        rounds = sorted(cost.keys() & bare.keys())
        with_cost = [bare[n] + cost[n] for n in rounds]
        one = compare(metric, f"bare with a trial's {what}", "bare", with_cost, [bare[n] for n in rounds], looks)
        if one is not None:
            found[name] = one
    return found


def split(
    outcomes: Sequence[Outcome],
    program: Sequence[str],
    plan: Plan | None,
    alone: Sequence[Plan],
    mallocs: Mapping[str, str] | None = None,
    looks: float = 1,
) -> tuple[Effects, dict[str, dict[str, Comparison]]]:
    """Returns the effects by effect and metric; and by name the net effect of each plan of `alone` and each malloc.

    `mallocs`: role → name of those that were judged (`malloc`: the best, `huge`, any other). All comparisons of one
    metric form one family, so false discoveries are limited over all of them, and over all possible looks.
    """
    cells = roles(program, plan)
    cells |= {role: malloc_cell(program, Malloc(name)) for role, name in (mallocs or {}).items()}
    effects: Effects = {}
    single: dict[str, dict[str, Comparison]] = {}
    for metric in METRICS_COMPARED:
        family: dict[tuple[str, str], Comparison] = {}
        for name, (of, against) in (PAIRS | COSTS).items():
            has_both = of in cells and against in cells
            found = compare_cells(outcomes, cells[of], cells[against], metric, looks) if has_both else None
            if found is not None and name in COSTS:
                effects.setdefault(name, {})[metric] = found
            elif found is not None:
                family["effect", name] = found
        if plan is not None:
            for name, extra in _taken_off(outcomes, program, plan, metric, looks).items():
                effects.setdefault(name, {})[metric] = extra
        net = compare_net(outcomes, program, plan, metric, looks=looks) if plan is not None else None
        if net is not None:
            family["effect", NET] = net
        for name in (mallocs or {}).values():
            found = compare_cells(outcomes, malloc_cell(program, Malloc(name)), cells["bare"], metric, looks)
            if found is not None:
                family["single", Malloc(name).label] = found
        if plan is not None and mallocs and "malloc" in mallocs:
            found = compare_net(outcomes, program, plan, metric, cells["malloc"], looks)
            if found is not None:
                family["single", AGAINST_MALLOC] = found
        for candidate in alone:
            found = compare_net(outcomes, program, candidate, metric, looks=looks)
            if found is not None:
                family["single", candidate.name] = found
        for (kind, name), comparison in judge_family(family).items():
            (effects if kind == "effect" else single).setdefault(name, {})[metric] = comparison
    return effects, single


def clearly_best(chosen: Plan | None, others: Sequence[Plan], effects: Effects, alone: Effects) -> Plan | None:
    """Returns the judged plan to advise: `chosen`, unless another is faster with an interval that lies apart.

    `effects`, `alone`: the results of `split` for `chosen`. If the intervals meet, `chosen` stays: it was chosen by
    more than one figure.
    """
    least = speed_in(effects.get(NET, {}))
    best = chosen
    for plan in others:
        speed = speed_in(alone.get(plan.name, {}))
        if least and speed and speed.verdict == "better" and speed.high < least.low:
            best, least = plan, speed
    return best


def is_decided(effects: Effects, alone: Effects) -> bool:
    """Returns whether further rounds could not change any choice. Takes `split`'s effects, and those of single plans.

    It is decided if each contender, in speed and in peak memory, is better or worse than the unchanged program, or no
    different from it, or certainly not the best; and if the same holds for the plan against the best malloc.
    """
    against = alone.get(AGAINST_MALLOC, {})
    contenders = [found for name, found in alone.items() if name != AGAINST_MALLOC]
    contenders += [effects[NET]] if NET in effects else []
    for judged in (
        [found for one in contenders if (found := speed_in(one))],
        [one["peak_bytes"] for one in contenders if "peak_bytes" in one],
    ):
        best = min((c.high for c in judged), default=1.0)
        if not all(c.verdict != NOT_SETTLED or c.low > best for c in judged):
            return False
    time = speed_in(against)
    return bool(contenders) and (time is None or time.verdict != NOT_SETTLED or not saves_time(effects.get(NET, {})))


# The plan, net, against the best malloc; not reported as an effect.
AGAINST_MALLOC = "plan against malloc"


def split_all(outcomes: Sequence[Outcome], program: Sequence[str], plans: Sequence[Plan]) -> dict[str, Effects]:
    """Returns the effects of plans that were tried together, by plan; false discoveries are limited over all."""
    found = {plan.name: split(outcomes, program, plan, [])[0] for plan in plans}
    for metric in METRICS_COMPARED:
        # A comparison of two controls is the same for every plan, so it counts once.
        family = {
            (plan if "plan" in PAIRS.get(name, ("plan",)) else "", name): metrics[metric]
            for plan, effects in found.items()
            for name, metrics in effects.items()
            if name not in REPORTED and metric in metrics
        }
        judged = judge_family(family)
        for plan, effects in found.items():
            for name, metrics in effects.items():
                one = judged.get((plan, name)) or judged.get(("", name))
                if one is not None and metric in metrics:
                    metrics[metric] = one
    return found
