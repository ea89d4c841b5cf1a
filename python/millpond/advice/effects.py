# SPDX-License-Identifier: BSL-1.0
"""What the contenders of a run say: figures of one pair each, and two that are put together from three contenders.

    bare ──▶ malloc:NAME    what another malloc gives: the program as it is, on that malloc
      │
      └────▶ looked_up ──▶ plan      what a plan's pools give: the same look-ups, everything else with malloc
               (a trial's    ▲
                own cost)    └── merged: the same routes, strategies and look-ups, all in one pool: placement

`net` is what the change in the source would give: the plan against the program as it is, without the look-ups that only
a trial of an unmodified program pays, and without what its pools cost beyond the library's, because they stand behind
malloc (POOL_COST: pairs of calls times what one of them costs more on this machine); see cells/net_effect.py. `total`
is the trial as it ran, and `look_up_extra` and `pool_extra` are what lies between the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.cells.cell import CONTROLS, Cell, ComputedContender, Control, Malloc, Outcome, Program
from millpond.cells.net_effect import RoundsOf, look_up_rounds, net_rounds, pool_rounds
from millpond.cells.plans import Plan, merged
from millpond.rounds.interleaved_rounds import by_round
from millpond.statistics.order_statistics import NOT_SETTLED, Comparison, compare, judge_family

# Effect → the contender and what it is compared with. Roles: a variant; `malloc`, the best one; `huge`, the C library's
# on huge pages; `plan`, the chosen plan; `merged`, its one pool for all.
PAIRS = {
    "faster_malloc": ("malloc", "bare"),
    "huge_pages": ("huge", "bare"),
    "placement": ("plan", "merged"),
    "total": ("plan", "bare"),
    "shared_pool": ("shared", "empty"),
    "shared_pool_huge": ("shared_huge", "shared"),
}
# What a trial itself costs: reported, advised by nobody, and so no part of the family that is judged together.
COSTS = {"interposer": ("empty", "bare"), "look_up": ("looked_up", "bare")}
# Computed, too: the program as it is with what is taken off a plan, for look-ups, and for what its pools cost more
# behind malloc than in the source.
LOOK_UP_EXTRA, POOL_EXTRA = "look_up_extra", "pool_extra"
REPORTED = (*COSTS, LOOK_UP_EXTRA, POOL_EXTRA)
NET = "net"
BEHIND_NET = ("plan", "looked_up", "bare")
METRICS_COMPARED = ("cpu_seconds", "wall_seconds", "peak_bytes", "page_faults")

Effects = dict[str, dict[str, Comparison]]


def verdict_of(comparisons: Mapping[str, Comparison], metric: str) -> str:
    """The verdict in one metric; empty where it was not measured."""
    found = comparisons.get(metric)
    return found.verdict if found else ""


def saves_time(comparisons: Mapping[str, Comparison]) -> bool:
    """Faster beyond the noise."""
    return verdict_of(comparisons, "cpu_seconds") == "better"


def saves_memory(comparisons: Mapping[str, Comparison]) -> bool:
    """Smaller beyond the noise, and not slower."""
    return verdict_of(comparisons, "peak_bytes") == "better" and verdict_of(comparisons, "cpu_seconds") != "worse"


def control_cells(program: Sequence[str]) -> list[Cell]:
    """The five controls of a program."""
    return [control_cell(program, name) for name in CONTROLS]


def control_cell(program: Sequence[str], name: str) -> Cell:
    """One control of a program."""
    return Cell(Program(tuple(program)), Control(name))


def plan_cell(program: Sequence[str], plan: Plan) -> Cell:
    """The contender that runs under a plan."""
    return Cell(Program(tuple(program)), plan)


def malloc_cell(program: Sequence[str], malloc: Malloc) -> Cell:
    """The contender that runs on a malloc."""
    return Cell(Program(tuple(program)), malloc)


def net_of(plan: Plan) -> ComputedContender:
    """The contender that a plan is without what only a trial costs. It never runs."""
    return ComputedContender.without_look_up(plan.label)


def roles(program: Sequence[str], plan: Plan | None) -> dict[str, Cell]:
    """The cells that effects are about, by role; a plan of several pools has the role `merged` too."""
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
    """Paired within rounds; None where no round has both."""
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
    """The plan, without what only a trial costs, against `against` (the bare program), in rounds that have both."""
    other = against or control_cell(program, "bare")
    net = net_rounds(_rounds_of(outcomes, program, plan), metric)
    right = by_round(outcomes, other, metric)
    rounds = sorted(net.keys() & right.keys())
    return compare(
        metric, net_of(plan).label, other.name, [net[i] for i in rounds], [right[i] for i in rounds], looks
    )  # fmt: skip


def _rounds_of(outcomes: Sequence[Outcome], program: Sequence[str], plan: Plan) -> RoundsOf:
    cells = roles(program, plan)
    return lambda role, metric: by_round(outcomes, cells[role], metric)


def _taken_off(
    outcomes: Sequence[Outcome], program: Sequence[str], plan: Plan, metric: str, looks: float
) -> dict[str, Comparison]:  # fmt: skip
    """What is taken off a plan, each as a change of the program as it is; nothing where nothing is known."""
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
    """The effects by effect and metric; and by name what plans of `alone` give net, and each malloc, by metric.

    `mallocs`: role → name of those that were judged (`malloc`: the best, `huge`, any other). All comparisons of one
    metric were made together, so false discoveries are held over all of them, and over the looks that there may be.
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
                family["alone", Malloc(name).label] = found
        if plan is not None and mallocs and "malloc" in mallocs:
            found = compare_net(outcomes, program, plan, metric, cells["malloc"], looks)
            if found is not None:
                family["alone", AGAINST_MALLOC] = found
        for candidate in alone:
            found = compare_net(outcomes, program, candidate, metric, looks=looks)
            if found is not None:
                family["alone", candidate.name] = found
        for (kind, name), comparison in judge_family(family).items():
            (effects if kind == "effect" else single).setdefault(name, {})[metric] = comparison
    return effects, single


def clearly_best(chosen: Plan | None, others: Sequence[Plan], effects: Effects, alone: Effects) -> Plan | None:
    """The judged plan to advise: `chosen`, unless another takes less CPU, their intervals apart.

    `effects`, `alone`: as `split` has them for `chosen`. Where intervals meet, what was chosen stays: it was chosen for
    more than one figure.
    """
    least = effects.get(NET, {}).get("cpu_seconds")
    best = chosen
    for plan in others:
        cpu = alone.get(plan.name, {}).get("cpu_seconds")
        if least and cpu and cpu.verdict == "better" and cpu.high < least.low:
            best, least = plan, cpu
    return best


def is_decided(effects: Effects, alone: Effects) -> bool:
    """Whether more rounds would change no choice among what was judged: `split`'s effects, and what others give alone.

    In CPU and in peak memory each contender is better or worse than the program as it is, or is no different from it,
    or is certainly not the best of them; and so is the plan against the best malloc.
    """
    against = alone.get(AGAINST_MALLOC, {})
    contenders = [found for name, found in alone.items() if name != AGAINST_MALLOC]
    contenders += [effects[NET]] if NET in effects else []
    for metric in ("cpu_seconds", "peak_bytes"):
        judged = [found[metric] for found in contenders if metric in found]
        best = min((c.high for c in judged), default=1.0)
        if not all(c.verdict != NOT_SETTLED or c.low > best for c in judged):
            return False
    time = against.get("cpu_seconds")
    return bool(contenders) and (time is None or time.verdict != NOT_SETTLED or not saves_time(effects.get(NET, {})))


# Not an effect of its own: the plan, net, against the best malloc.
AGAINST_MALLOC = "plan against malloc"


def split_all(outcomes: Sequence[Outcome], program: Sequence[str], plans: Sequence[Plan]) -> dict[str, Effects]:
    """The effects of several plans that were tried together, by plan: false discoveries are held over all of them."""
    found = {plan.name: split(outcomes, program, plan, [])[0] for plan in plans}
    for metric in METRICS_COMPARED:
        # What only the controls decide is the same for every plan, and is one comparison.
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
