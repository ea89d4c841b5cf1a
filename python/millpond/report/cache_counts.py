# SPDX-License-Identifier: BSL-1.0
"""The counts of the caches that a user asked for, each by a name with its whole geometry.

    lru:line=64,sets=64,ways=12      48 KiB, 12 ways, lines of 64
    levels:size=32K/1M,ways=8/16     level 1, 32 KiB, 8 ways, lines of 64 · level 2, 1 MiB, 16 ways, lines of 64
    tlb:entries=64,ways=4            translation level 1, 64 entries, 4 ways, pages of 4 KiB
    attributed:size=32K,ways=8       cold · capacity · conflict, 32 KiB, 8 ways, lines of 64
    contents:size=32K,ways=8         bytes fetched · bytes held by the program, 32 KiB, 8 ways, lines of 64
    distances:line=64                32 KiB, fully associative, lines of 64

An lru simulator counts every number of ways up to the one that was asked for; only that one is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from millpond.report.figures.figure_html import size_text
from millpond.report.simulation_curves import FULLY, block_bytes, distance_points, is_of_pages, organisation
from millpond.rounds.simulation_data import Count, Simulation, Simulator

# The sizes at which caches of all sizes are shown.
_SIZES = tuple(1 << power for power in range(14, 23))  # 16 KiB to 4 MiB
_COUNTS = {"misses": "", "misses_estimated": "estimated, ", "cold": "cold, ", "flushed": "flushed, ",
           "capacity": "capacity, ", "conflict": "conflict, ", "replacement": "replacement, ",
           "fetched": "bytes fetched, ",
           "held": "bytes held by the {}, "}  # fmt: skip
_SINGLE = ("direct", "lru", "fifo", "random")  # simulators of caches without further levels
_LISTED = (*_SINGLE, "levels", "tlb", "attributed", "contents", "sampled")


def cache_counts(simulation: Simulation) -> dict[str, int]:
    """Returns the misses of each cache, or the bytes in it, by name, in the order of the simulators. O(counts)."""
    found: dict[str, int] = {}
    for simulator in simulation.simulators:
        found |= dict(_counts(simulator))
    return found


def asked_organisations(simulation: Simulation) -> set[str]:
    """Returns the organisations of the curves whose ways were asked for; of an lru simulator that with the most."""
    return {
        organisation(simulator.kind, row.ways)
        for simulator in simulation.simulators
        if simulator.kind in _SINGLE
        for row in simulator.metrics
        if row.ways and _was_asked(simulator, row)
    }


def _counts(simulator: Simulator) -> Iterator[tuple[str, int]]:
    if simulator.kind == "distances" and not is_of_pages(simulator):
        points = distance_points(simulator, _SIZES)
        misses, (largest, first_uses) = dict(points), points[-1]
        for size in _SIZES:
            name = f"{size_text(size)}, {FULLY}, lines of {block_bytes(simulator)}"
            yield name, misses[size] if size < largest else first_uses
    if simulator.kind not in _LISTED:
        return
    summed: dict[str, int] = {}  # the program's and the allocator's misses are counts of their own
    for row in simulator.metrics:
        if row.metric in _COUNTS and row.subject is None and row.cache_bytes and _was_asked(simulator, row):
            name = _COUNTS[row.metric].format(row.origin) + _name(simulator, row)
            summed[name] = summed.get(name, 0) + row.value
    yield from summed.items()


def _was_asked(simulator: Simulator, row: Count) -> bool:
    if simulator.kind == "sampled":
        return row.cache_bytes in _SIZES
    return simulator.kind != "lru" or row.ways == max(other.ways or 0 for other in simulator.metrics)


def _name(simulator: Simulator, row: Count) -> str:
    line, size = row.line_bytes or 1, row.cache_bytes or 0
    if simulator.kind == "tlb":
        return f"translation level {row.level}, {size // line} entries, {row.ways} ways, pages of {size_text(line)}"
    level = "" if row.level is None else f"level {row.level}, "
    policy = simulator.kind if simulator.kind in _SINGLE else "lru"
    ways = FULLY if row.ways is None else organisation(policy, row.ways)
    return f"{level}{size_text(size)}, {ways}, lines of {line}"
