# SPDX-License-Identifier: BSL-1.0
"""The net effect of a plan: what a change of the source would give, without the costs that only a trial has.

    plan  -  what its pools cost more than the library's  -  what its look-ups cost        each of one round

The control `looked_up` looks up owners and ignores the answer; the cost of look-ups is its difference from the bare
program. On a busy machine this difference is mostly noise, and would blur what was measured well. So it counts only if
the rounds show that it exceeds LOOK_UP_COST, the estimate for that many look-ups on this machine. (Look-ups cost more
if owners are further out on the stack, or if they crowd caches.) Otherwise the estimate is subtracted.

The interval of a net effect also covers the error of the model, MODEL_ERROR of what is subtracted (`widened`).
This is the only place that computes it: verdict, tables, the page's dots and exports all use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

from millpond.cells.metrics import (
    LOOK_UP_COST,
    LOOK_UP_COST_OF_UNIT,
    POOL_COST,
    POOL_COST_BYTES,
    POOL_COST_OF_UNIT,
    UNIT_SECONDS,
)
from millpond.statistics.order_statistics import compare

# The costs that only a trial's pools and look-ups have, by the metric that they are part of.
_POOL_COST_OF = {
    "cpu_seconds": POOL_COST, "wall_seconds": POOL_COST, "peak_bytes": POOL_COST_BYTES, UNIT_SECONDS: POOL_COST_OF_UNIT,
}  # fmt: skip
_LOOK_UP_COST_OF = {
    "cpu_seconds": LOOK_UP_COST, "wall_seconds": LOOK_UP_COST, UNIT_SECONDS: LOOK_UP_COST_OF_UNIT,
}  # fmt: skip
# If noise leaves less than nothing, a round counts as this share of the bare program.
_LEAST_SHARE = 1e-3
# The error of what is subtracted, relative to it: how much a pair costs depends on the program around it, and the
# costs are measured on another one. Where the change was made by hand, the error was 0.11 to 0.29 on five programs.
MODEL_ERROR = 0.3

Rounds = Mapping[int, float]
# Returns the rounds of a contender (plan, looked_up, bare) in a metric; empty if there are none.
RoundsOf = Callable[[str, str], Rounds]


def net_rounds(rounds_of: RoundsOf, metric: str) -> dict[int, float]:
    """The net value of each round that has all three contenders."""
    plan, bare = rounds_of("plan", metric), rounds_of("bare", metric)
    costs = _cost_rounds(rounds_of, metric)
    return {n: max(plan[n] - cost, _LEAST_SHARE * bare[n]) for n, cost in costs.items()}


def subtracted(rounds_of: RoundsOf, metric: str) -> float:
    """The median of all that is subtracted from a round of the plan; 0 without rounds."""
    return max(median(_cost_rounds(rounds_of, metric).values() or [0.0]), 0.0)


def _cost_rounds(rounds_of: RoundsOf, metric: str) -> dict[int, float]:
    """The cost of pools and look-ups that is subtracted from each round of the plan."""
    pools, look_ups = pool_rounds(rounds_of, metric), look_up_rounds(rounds_of, metric)
    rounds = sorted(rounds_of("plan", metric).keys() & look_ups.keys())
    return {n: pools.get(n, 0.0) + look_ups[n] for n in rounds}


def pool_rounds(rounds_of: RoundsOf, metric: str) -> Rounds:
    """The cost of a plan's pools beyond the library's, in each round that estimated it."""
    return rounds_of("plan", _POOL_COST_OF[metric]) if metric in _POOL_COST_OF else {}


def look_up_rounds(rounds_of: RoundsOf, metric: str) -> Rounds:
    """The cost of look-ups in each round of both controls: the estimate (0 in rounds without one), or the measured
    cost if that is larger beyond noise.
    """
    bare, looked_up = rounds_of("bare", metric), rounds_of("looked_up", metric)
    estimated = rounds_of("looked_up", _LOOK_UP_COST_OF[metric]) if metric in _LOOK_UP_COST_OF else {}
    cost = {n: estimated.get(n, 0.0) for n in sorted(looked_up.keys() & bare.keys())}
    found = compare(metric, "", "", [looked_up[n] - cost[n] for n in cost], [bare[n] for n in cost])
    is_more = found is not None and found.low > 1.0
    return {n: looked_up[n] - bare[n] for n in cost} if is_more else cost
