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

from collections.abc import Mapping

from millpond.cells.metrics import LOOK_UP_COST, POOL_COST, POOL_COST_BYTES
from millpond.statistics.order_statistics import compare

# What only a trial's pools cost, and its look-ups, by the metric that it is part of.
COST_OF = {"cpu_seconds": POOL_COST, "wall_seconds": POOL_COST, "peak_bytes": POOL_COST_BYTES}
LOOK_UP_COST_OF = {"cpu_seconds": LOOK_UP_COST, "wall_seconds": LOOK_UP_COST}
# A round in which noise leaves less than nothing counts as one with this share of the program as it is.
_LEAST_SHARE = 1e-3

Rounds = Mapping[int, float]


def net_rounds(plan: Rounds, bare: Rounds, pool_cost: Rounds, look_up_cost: Rounds) -> dict[int, float]:
    """The net value of each round that has the plan, the program as it is and what look-ups cost.

    `pool_cost` is 0 in rounds that did not count it; `look_up_cost` is `look_up_rounds`.
    """
    both = sorted(plan.keys() & look_up_cost.keys() & bare.keys())
    net = {n: plan[n] - pool_cost.get(n, 0.0) - look_up_cost[n] for n in both}
    return {n: max(value, _LEAST_SHARE * bare[n]) for n, value in net.items()}


def look_up_rounds(looked_up: Rounds, bare: Rounds, expected: Rounds) -> dict[int, float]:
    """What look-ups cost in each round: as measured where that is more than `expected` beyond noise, else `expected`.

    `expected` is 0 in rounds that did not estimate it.
    """
    both = sorted(looked_up.keys() & bare.keys())
    beyond = {n: looked_up[n] - expected.get(n, 0.0) for n in both}
    found = compare("", "", "", list(beyond.values()), [bare[n] for n in both])
    if found is not None and found.low > 1.0:
        return {n: looked_up[n] - bare[n] for n in both}
    return {n: expected.get(n, 0.0) for n in both}
