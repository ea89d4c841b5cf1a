# SPDX-License-Identifier: BSL-1.0
"""The approximate needs of a process of each experiment of P0089R0: for forecasts, time limits, and refusals in time.

Seconds are for one core of 2020 or so; the paper's were half as fast. Bytes err upwards: a cell that is refused
without need costs a figure, but one that needs more than there is takes the machine down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from math import log2

from millpond.cells.cell import LITTER
from millpond.system.model_page import MODEL_PAGE_BYTES
from millpond_bench.experiments.run_rules import Needs

_START_SECONDS = 0.01
_MIB = 2**20
_FAULT_SECONDS = 5e-7  # for each KiB that a monotonic allocator touches for the first time
# ns per leaf of each structure with the global allocator, and bytes of a leaf, its node and its share of the table.
_LEAF_NS = (3.0, 350.0, 150.0, 700.0, 5.0, 450.0, 220.0, 800.0, 7.0, 450.0, 220.0, 800.0)
_INT_BYTES, _NODE_BYTES, _TEXT_BYTES = 8, 40, 620
# A list's node with its header, the same in a multipool of 2015, and the bytes that a pool needs for itself.
_LINK_BYTES, _OLD_LINK_BYTES, _POOL_BYTES = 32, 48, 1300
# A multipool over a monotonic allocator never reuses larger blocks than these: ours, and that of 2015.
_LARGEST_BYTES = {"multipool(monotonic)": 2**20, "multipool_2015(monotonic)": 2**12}
# Seconds of an access, of a pop and a push, and of making and freeing a link that was shuffled among all others.
_HIT, _MISS, _NEAR_MISS, _PAIR, _APART = 1.5e-9, 120e-9, 20e-9, 120e-9, 500e-9
_CACHED_LINKS = 2**17

Estimate = Callable[[Mapping[str, str], str], Needs]


def _power(exponent: str, less: int = 0) -> int:
    """2 to this power. A user may set a value out of all range; it is rejected later, and not computed here."""
    return int(2 ** min(int(exponent) - less, 63))


_NEVER_FREES = "monotonic:type:destroy"


def _is_never_reused(strategy: str, block_bytes: int) -> bool:
    """True if a freed block of this size is never reused."""
    pool = strategy.partition(":")[0].removeprefix("synchronized(")
    over = next((most for name, most in _LARGEST_BYTES.items() if pool.startswith(name)), None)
    return pool == "monotonic" or (over is not None and block_bytes > over)


def _littered_first(of: Estimate) -> Estimate:
    """A heap is littered with all blocks that the workload ever has: as many as one that never frees would keep."""

    @wraps(of)
    def estimate(at: Mapping[str, str], strategy: str) -> Needs:
        own = of(at, strategy)
        if LITTER not in at:
            return own
        litter = of(at, _NEVER_FREES)
        return Needs(own.seconds + 2 * litter.seconds, own.bytes + litter.bytes)

    return estimate


@_littered_first
def structures(at: Mapping[str, str], strategy: str) -> Needs:
    """Benchmark I. A structure above the fifth has 2^7 leaves in each element."""
    ds = int(at["ds"])
    in_one = 2 ** (int(at["log2_size"]) + (7 if ds > 4 else 0))
    leaves = in_one * int(at.get("lives", "0")) or max(in_one, _power(at["log2_leaves"]))
    text, hashed = ds % 2 == 0, ds in (3, 4, 7, 8, 11, 12)
    each = _INT_BYTES + (_NODE_BYTES if hashed else 0) + (_TEXT_BYTES if text else 0)
    # A vector that copies its containers when it grows builds all of them twice, and holds both for a while.
    builds = 2 if ":base_" in strategy and at.get("short_by") == "1" else 1
    counted = in_one if at.get("counted") == "1" else 0
    # The first life is timed apart. A monotonic allocator grows by doubling: half of what it holds may be unused.
    return Needs(
        _START_SECONDS + (builds * (leaves + in_one) + counted) * _LEAF_NS[ds - 1] * 1e-9,
        8 * _MIB + 2 * builds * each * in_one,
    )


@_littered_first
def locality(at: Mapping[str, str], strategy: str) -> Needs:
    """Benchmark II. Links that do not fit into a cache cost most if they lie apart."""
    links = int(at["links"]) if "links" in at else _power(at["log2_g"])
    links_each = int(at["links_each"]) if "links_each" in at else _power(at["log2_s"])
    subsystems = max(1, links // links_each)
    shared = strategy.startswith("new_delete")
    traversals, shuffles = int(at["af"]), max(0, int(at["sf"]))
    missed = 0.0
    if shared and shuffles and subsystems > 1:
        # The first traversal of a list misses the caches, and the later ones too if the list does not fit into them.
        missed = (_MISS if links > _CACHED_LINKS else _NEAR_MISS) * min(
            1.0, 1.0 / max(1, traversals) + max(0.0, (log2(links_each) - 11) / 5)
        )
    seconds = links * traversals * int(at["rf"]) * (_HIT + missed) + links * shuffles * _PAIR
    seconds += links * (_APART if shared and shuffles else _PAIR)
    each = _OLD_LINK_BYTES if "_2015" in strategy else _LINK_BYTES
    return Needs(_START_SECONDS + seconds, 8 * _MIB + links * each + subsystems * (0 if shared else _POOL_BYTES))


@_littered_first
def utilization(at: Mapping[str, str], strategy: str) -> Needs:
    """Benchmark III. A monotonic allocator needs all T bytes, and doubling may need as many again."""
    total, live = 2 ** int(at["log2_t"]), 2 ** int(at["log2_a"])
    blocks = total >> int(at["log2_s"])
    never_freed = _is_never_reused(strategy, 2 ** int(at["log2_s"]))
    touched = min(total, MODEL_PAGE_BYTES * blocks) if never_freed else 0
    seconds = _START_SECONDS + blocks * 60e-9 + touched / 1024 * _FAULT_SECONDS
    return Needs(seconds, 8 * _MIB + (touched if never_freed else 4 * live))


@_littered_first
def contention(at: Mapping[str, str], strategy: str) -> Needs:
    """Benchmark IV, on two cores."""
    threads, times = int(at["threads"]), 2 ** int(at["log2_n"])
    total = threads * times << int(at["log2_s"])
    never_freed = _is_never_reused(strategy, 2 ** int(at["log2_s"]))
    seconds = _START_SECONDS + threads * times * 40e-9 + (total / 1024 * _FAULT_SECONDS if never_freed else 0.0)
    return Needs(seconds, 8 * _MIB * threads + (2 * total if never_freed else 0))


@_littered_first
def dials(at: Mapping[str, str], strategy: str) -> Needs:
    """The dials. Sizes are four per octave from 80 bytes on, equally frequent, as many as the variation says."""
    blocks = _power(at["log2_operations"], 1)
    sizes = max(1.0, 1.0 / (1.0 - int(at["variation"]) / 1000))
    mean = 80.0 * (2.0 ** (sizes / 4) - 1.0) / (sizes * (2.0**0.25 - 1.0))
    never_freed = strategy.startswith("monotonic")
    held = blocks * mean * (1.0 if never_freed else int(at["utilization"]) / 1000)
    seconds = blocks * 60e-9 / (int(at["density"]) / 1000) + held / 1024 * _FAULT_SECONDS
    return Needs(_START_SECONDS + seconds, 8 * _MIB * int(at["threads"]) + int(2 * held))
