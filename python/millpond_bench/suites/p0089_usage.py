# SPDX-License-Identifier: BSL-1.0
"""Section 5 of P0089R0 as rules of thumb: what it would take for each workload of the four benchmarks.

The document says what each workload's dimensions are where it describes it (sections 7 to 10), and which allocators
they suggest (section 5):

    U high   "often good candidates for monotonic allocators"                      AS3 to AS6
    U low    "almost always much more suited to a multipool allocator, or perhaps
             a multipool allocator backed by a monotonic one"                      AS7 to AS14
    C high   global allocators degrade "compared to the use of local allocators"   AS3 to AS14
    L low    locality dominates "even when the allocation density is negligible":
             an allocator of a subsystem's own keeps it together                   AS3 to AS14
    V low    "might (in theory) tend to suggest a pool-based allocator"            AS7 to AS14
    V high   "again in theory" favours "a coalescing allocator"                    AS1, AS2

D decides how much the choice matters, not which. The rules by V come last: the document doubts them itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond_bench.pages.winner_map import ThumbRule


def _labels(first: int, last: int) -> tuple[str, ...]:
    return tuple(f"AS{n}" for n in range(first, last + 1))


_GLOBAL, _MONOTONIC, _POOLS, _LOCAL = _labels(1, 2), _labels(3, 6), _labels(7, 14), _labels(3, 14)
_U_HIGH, _U_LOW = ("by U (high)", _MONOTONIC), ("by U (low)", _POOLS)
_C_HIGH, _L_LOW = ("by C (high)", _LOCAL), ("by L (low)", _LOCAL)
_V_LOW, _V_HIGH = ("by V (low) in theory", _POOLS), ("by V (high) in theory", _GLOBAL)
_LOG2_MOST_IN_USE = 20  # bytes in use in Benchmark III
# D and V of the structures as sections 7.1 to 7.12 name them; U is "extremely high" in all (section 7).
_STRUCTURES = {
    1: ("vanishingly small", "nil"), 2: ("extremely high", "quite high"), 3: ("high", "nil"),
    4: ("high", "moderately high"), 5: ("low", "nil"), 6: ("high", "high"), 7: ("fairly high", "nil"),
    8: ("high", "moderately high"), 9: ("high", "nil"), 10: ("high", "moderately high"), 11: ("high", "fairly low"),
    12: ("very high", "moderately low"),
}  # fmt: skip


def structures(at: Mapping[str, int | str]) -> ThumbRule:
    """Benchmark I: each structure is built and dropped."""
    ds = int(at["ds"])
    density, variation = _STRUCTURES[ds]
    by_variation = _V_HIGH if variation.endswith("high") else _V_LOW
    return ThumbRule(f"DS{ds}", f"D {density}, V {variation}, U extremely high", (_U_HIGH, by_variation))


def locality(at: Mapping[str, int | str]) -> ThumbRule:
    """Benchmark II: lists of a long-running system."""
    return ThumbRule(f"|G| = 2^{at['log2_g']}", "D zero, V nil, L low after shuffling", (_L_LOW, _V_LOW))


def utilization(at: Mapping[str, int | str]) -> ThumbRule:
    """Benchmark III: of T bytes in all, 2^20 are in use at most."""
    total = int(at["log2_t"])
    dimensions = f"D extremely high, V nil, U at most 2^{_LOG2_MOST_IN_USE - total}"
    return ThumbRule(f"T = 2^{total}", dimensions, (_U_LOW, _V_LOW))


def contention(at: Mapping[str, int | str]) -> ThumbRule:
    """Benchmark IV: threads that allocate and free one block; with one thread C is 0."""
    threads = int(at["threads"])
    rules = (_U_LOW, _V_LOW) if threads == 1 else (_U_LOW, _C_HIGH, _V_LOW)
    return ThumbRule(f"W = {threads}", "D extremely high, V nil, U low" + (", C high" if threads > 1 else ", C zero"),
                     rules)  # fmt: skip
