# SPDX-License-Identifier: BSL-1.0
"""What a change of the source would take, round by round: a plan without what only its trial costs.

    plan  -  what its pools cost more than the library's  -  (looked_up - bare)        each of one round
                                                             only where the rounds show that look-ups cost anything

Look-ups cost a few per cent where little is done between allocations, and next to nothing elsewhere. Where their
interval contains "nothing", the difference of two noisy runs says more of the noise than of them: it would blur what was
measured well, so the plan stands as it was tried, and a change of the source gives that at least.

The one place where this is computed: verdict, tables, the page's dots and exports all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond.cells.metrics import POOL_COST, POOL_COST_BYTES
from millpond.statistics.order_statistics import compare

# What only a trial's pools cost, by the metric that it is part of.
COST_OF = {"cpu_seconds": POOL_COST, "wall_seconds": POOL_COST, "peak_bytes": POOL_COST_BYTES}
# A round in which noise leaves less than nothing counts as one with this share of the program as it is.
_LEAST_SHARE = 1e-3


def net_rounds(
    plan: Mapping[int, float], looked_up: Mapping[int, float], bare: Mapping[int, float], cost: Mapping[int, float]
) -> dict[int, float]:
    """The net value of each round that has all three contenders; `cost` is 0 in rounds that did not count it."""
    all_three = sorted(plan.keys() & looked_up.keys() & bare.keys())
    look_up_cost = dict.fromkeys(all_three, 0.0)
    if look_ups_show(looked_up, bare):
        look_up_cost = {n: looked_up[n] - bare[n] for n in all_three}
    return {n: max(plan[n] - cost.get(n, 0.0) - look_up_cost[n], _LEAST_SHARE * bare[n]) for n in all_three}


def look_ups_show(looked_up: Mapping[int, float], bare: Mapping[int, float]) -> bool:
    """Whether the rounds show that look-ups cost anything: the interval of looked_up / bare lies above 1."""
    both = sorted(looked_up.keys() & bare.keys())
    found = compare("", "", "", [looked_up[n] for n in both], [bare[n] for n in both])
    return found is not None and found.low > 1.0
