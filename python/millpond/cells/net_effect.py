# SPDX-License-Identifier: BSL-1.0
"""What a change of the source would take, round by round: a plan without what only its trial costs.

    plan  -  what its pools cost more than the library's  -  looked_up  +  bare        each of one round

The one place where this is computed: verdict, tables, the page's dots and exports all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond.cells.metrics import POOL_COST, POOL_COST_BYTES

# What only a trial's pools cost, by the metric that it is part of.
COST_OF = {"cpu_seconds": POOL_COST, "wall_seconds": POOL_COST, "peak_bytes": POOL_COST_BYTES}


def net_rounds(
    plan: Mapping[int, float], looked_up: Mapping[int, float], bare: Mapping[int, float], cost: Mapping[int, float]
) -> dict[int, float]:
    """The net value of each round that has all three contenders; `cost` is 0 in rounds that did not count it."""
    both = sorted(plan.keys() & looked_up.keys() & bare.keys())
    return {n: plan[n] - cost.get(n, 0.0) - looked_up[n] + bare[n] for n in both}
