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

from millpond.cells.cell import CONTROLS, Cell, Computed, Control, Malloc, Outcome, Program
from millpond.cells.net_effect import COST_OF, LOOK_UP_COST_OF, look_up_rounds, net_rounds
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


def net_of(plan: Plan) -> Computed:
    """The contender that a plan is without what only a trial costs. It never runs."""
    return Computed.without_look_up(plan.label)


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
    bare, looked_up = control_cell(program, "bare"), control_cell(program, "looked_up")
    under_plan, other = plan_cell(program, plan), against or bare
    net = net_rounds(
        by_round(outcomes, under_plan, metric), by_round(outcomes, bare, metric),
        _estimated(outcomes, under_plan, COST_OF, metric), look_up_cost(outcomes, looked_up, bare, metric),
    )  # fmt: skip
    right = by_round(outcomes, other, metric)
    rounds = sorted(net.keys() & right.keys())
    return compare(
        metric, net_of(plan).label, other.name, [net[i] for i in rounds], [right[i] for i in rounds], looks
    )  # fmt: skip


def _estimated(outcomes: Sequence[Outcome], of: Cell, cost_of: Mapping[str, str], metric: str) -> dict[int, float]:
    """What is estimated of a contender's rounds in that metric; empty where nothing is."""
    return by_round(outcomes, of, cost_of[metric]) if metric in cost_of else {}


def look_up_cost(outcomes: Sequence[Outcome], looked_up: Cell, bare: Cell, metric: str) -> dict[int, float]:
    """What is taken off every plan of these rounds for its look-ups."""
    return look_up_rounds(
        by_round(outcomes, looked_up, metric), by_round(outcomes, bare, metric),
        _estimated(outcomes, looked_up, LOOK_UP_COST_OF, metric),
    )  # fmt: skip


def _taken_off(
    outcomes: Sequence[Outcome], cells: Mapping[str, Cell], metric: str, looks: float
) -> dict[str, Comparison]:  # fmt: skip
    """What is taken off a plan, each as a change of the program as it is; nothing where nothing is known."""
    costs: dict[str, dict[int, float]] = {POOL_EXTRA: _estimated(outcomes, cells["plan"], COST_OF, metric)}
    if "looked_up" in cells:
        costs[LOOK_UP_EXTRA] = look_up_cost(outcomes, cells["looked_up"], cells["bare"], metric)
    right = by_round(outcomes, cells["bare"], metric)
    found = {}
    for name, cost in costs.items():
        rounds = sorted(cost.keys() & right.keys())
        left = [right[n] + cost[n] for n in rounds]
        label = f"bare with a trial's {'pools' if name == POOL_EXTRA else 'look-ups'}"
        one = compare(metric, label, cells["bare"].name, left, [right[n] for n in rounds], looks)
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
            for name, extra in _taken_off(outcomes, cells, metric, looks).items():
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


def screen(
    outcomes: Sequence[Outcome], program: Sequence[str], candidates: Sequence[Plan], mallocs: Sequence[str] = ()
) -> tuple[dict[str, dict[str, Comparison]], dict[str, dict[str, Comparison]]]:
    """What each candidate gives net, and each malloc, against the program as it is in the choosing rounds.

    Both by name and metric; judged together.
    """
    bare = control_cell(program, "bare")
    plans: dict[str, dict[str, Comparison]] = {}
    others: dict[str, dict[str, Comparison]] = {}
    for metric in METRICS_COMPARED:
        family: dict[tuple[str, str], Comparison] = {}
        for plan in candidates:
            found = compare_net(outcomes, program, plan, metric)
            if found is not None:
                family["plan", plan.name] = found
        for name in mallocs:
            found = compare_cells(outcomes, malloc_cell(program, Malloc(name)), bare, metric)
            if found is not None:
                family["malloc", name] = found
        for (kind, name), comparison in judge_family(family).items():
            (plans if kind == "plan" else others).setdefault(name, {})[metric] = comparison
    return plans, others


def helpful(screened: dict[str, dict[str, Comparison]]) -> list[str]:
    """The contenders that looked better while choosing, the most helpful first.

    This promises nothing: it only decides what fresh rounds will judge, so it asks for less than a verdict does. One
    that saves memory counts where it does not look slower.
    """
    chosen: list[tuple[float, str]] = []
    for name, by_metric in screened.items():
        cpu, peak = by_metric.get("cpu_seconds"), by_metric.get("peak_bytes")
        if cpu is None:
            continue
        faster = cpu.median <= 0.99 and _not_by_chance(cpu)
        smaller = peak is not None and peak.median <= 0.98 and _not_by_chance(peak) and cpu.median <= 1.01
        if faster or smaller:
            chosen.append((cpu.median, name))
    return [name for _, name in sorted(chosen)]


def best_mallocs(
    screened: dict[str, dict[str, Comparison]], always: Sequence[str] = (), count: int = 2
) -> list[str]:  # fmt: skip
    """The mallocs to judge: those with the least CPU while choosing, helpful or not, the best first; then `always`.

    The last place of `count` goes to the one with the least memory, if none of the others saves any and it does not
    look slower. `always`, where measured, is judged whatever it looked like, and comes before the second best.
    """
    ranked = sorted(
        (n for n, m in screened.items() if "cpu_seconds" in m), key=lambda n: screened[n]["cpu_seconds"].median
    )
    best = ranked[:count]

    def peak(name: str) -> float:
        found = screened[name].get("peak_bytes")
        return found.median if found else 1.0

    lean = [n for n in ranked if peak(n) <= 0.98 and screened[n]["cpu_seconds"].median <= 1.01]
    if lean and not set(lean) & set(best):
        best[-1] = min(lean, key=peak)
    return list(dict.fromkeys([*best[:1], *(name for name in always if name in ranked), *best[1:]]))


def substantial(screened: dict[str, dict[str, Comparison]], helpers: Sequence[str]) -> list[str]:
    """Those of the helpers that gain at least a quarter of what the best of them does, in CPU or in bytes.

    A plan is to be the smallest that gives the gain: a pool whose small help may be luck would ride along in it unseen.
    """

    def gain(name: str) -> float:
        ratios = (screened[name][m].median for m in ("cpu_seconds", "peak_bytes") if m in screened[name])
        return 1 - min(ratios, default=1.0)

    best = max((gain(name) for name in helpers), default=0.0)
    return [name for name in helpers if gain(name) >= best / 4]


def _not_by_chance(comparison: Comparison) -> bool:
    """Loosely: of fewer than five rounds no p-value can be small, so a large effect in most of them is believed."""
    if comparison.n < 5:
        return comparison.median <= 0.95 or comparison.high < 1.0
    return comparison.p <= 0.15


def most_promising(screened: dict[str, dict[str, Comparison]]) -> str | None:
    """The plan with the least CPU while choosing, helpful or not; None where none was measured."""
    cpu = {name: m["cpu_seconds"].median for name, m in screened.items() if "cpu_seconds" in m}
    return min(cpu, key=lambda name: cpu[name]) if cpu else None
