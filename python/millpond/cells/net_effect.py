# SPDX-License-Identifier: BSL-1.0
"""What a change of the source would take, round by round: a plan without what only its trial costs.

    plan  -  what its pools cost more than the library's  -  what its look-ups cost        each of one round

Look-ups are measured by the program that looks up owners and does nothing with the answer, against the program as it
is. On a busy machine the difference of two such runs says more of the noise than of look-ups, and would blur what was
measured well. So it counts only where the rounds show that it is more than what that many look-ups cost on this machine
(which LOOK_UP_COST estimates: owners further out, or caches that they crowd, cost more); else that is taken off.

The one place where this is computed: verdict, tables, the page's dots and exports all ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from millpond.cells.metrics import LOOK_UP_COST, POOL_COST, POOL_COST_BYTES
from millpond.statistics.order_statistics import compare

# What only a trial's pools cost, and its look-ups, by the metric that it is part of.
_POOL_COST_OF = {"cpu_seconds": POOL_COST, "wall_seconds": POOL_COST, "peak_bytes": POOL_COST_BYTES}
_LOOK_UP_COST_OF = {"cpu_seconds": LOOK_UP_COST, "wall_seconds": LOOK_UP_COST}
# A round in which noise leaves less than nothing counts as one with this share of the program as it is.
_LEAST_SHARE = 1e-3

Rounds = Mapping[int, float]
# The rounds of a contender (plan, looked_up, bare) in a metric; empty where there are none.
RoundsOf = Callable[[str, str], Rounds]


def net_rounds(rounds_of: RoundsOf, metric: str) -> dict[int, float]:
    """The net value of each round that has all three contenders."""
    plan, bare = rounds_of("plan", metric), rounds_of("bare", metric)
    pools, look_ups = pool_rounds(rounds_of, metric), look_up_rounds(rounds_of, metric)
    net = {n: plan[n] - pools.get(n, 0.0) - look_ups[n] for n in sorted(plan.keys() & look_ups.keys())}
    return {n: max(value, _LEAST_SHARE * bare[n]) for n, value in net.items()}


def pool_rounds(rounds_of: RoundsOf, metric: str) -> Rounds:
    """What a plan's pools cost more than the library's, in each round that estimated it."""
    return rounds_of("plan", _POOL_COST_OF[metric]) if metric in _POOL_COST_OF else {}


def look_up_rounds(rounds_of: RoundsOf, metric: str) -> Rounds:
    """What look-ups cost in each round of both controls: as estimated, 0 in rounds that did not estimate it; or as
    measured, where that is more beyond noise.
    """
    bare, looked_up = rounds_of("bare", metric), rounds_of("looked_up", metric)
    estimated = rounds_of("looked_up", _LOOK_UP_COST_OF[metric]) if metric in _LOOK_UP_COST_OF else {}
    cost = {n: estimated.get(n, 0.0) for n in sorted(looked_up.keys() & bare.keys())}
    found = compare(metric, "", "", [looked_up[n] - cost[n] for n in cost], [bare[n] for n in cost])
    is_more = found is not None and found.low > 1.0
    return {n: looked_up[n] - bare[n] for n in cost} if is_more else cost
