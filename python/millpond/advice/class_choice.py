# SPDX-License-Identifier: BSL-1.0
"""Size classes chosen exactly for what programs asked for, and three sources of classes to compare them with.

A class that serves several sizes needs as many blocks as these have live at the same time, which is less than the sum
of their peaks: merged sizes reuse one another's free blocks, and share partly filled pages. But every block is as large
as the largest of them. The trade of Grunwald, Zorn and Henderson (1993, section 4.4), of one class in one trace:

    cost = free + weight × lost          free = held - mean blocks × class size    free blocks, rest of pages
                                         lost = mean blocks × class size - mean requested bytes

`held` are the pages that `size_map` gives the class at its peak. With weight 1 the cost is `held` without a constant:
the least memory; of divisions that need equally much, the one that loses less is taken. A larger weight avoids
internal fragmentation, which lies in the cache next to what is used; a smaller one favours reuse.

Sizes above the last class go to the general allocator, which joins free neighbours: it holds the peak of their bytes
and tags, and nothing for each size apart. But it searches and cuts, for several times the instructions:

    cost = free + weight × lost + price × share of all requests         lost = mean blocks × tags

The price is in peaks of live bytes, of a MiB at least: 0.5, so that one request in a hundred is worth half a hundredth
of the peak.

Costs of several traces are added, each divided by its own peak of live bytes, so that a long run counts no more than a
short one. Costs of classes add up, so that dynamic programming over the sorted sizes finds the best of all divisions
into at most so many classes: n²·(moments + classes) steps for n sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.advice.code_homes import default_class
from millpond.advice.size_tables import Series, SizeTable
from millpond.system.errors import Failure, Status

PAGE_BYTES = 4096
# Each block of the general allocator has so many bytes of tags.
TAG_BYTES = 16
CLASSES_AT_MOST = 32
WEIGHT = 1.0
# Added to the weight: between equal costs, what is lost decides.
TIE_WEIGHT = 1e-6
# What it would be worth, in peaks of live bytes, that the general allocator serves no request.
GENERAL_PRICE = 0.5
# A smaller peak than this counts as this: a page more or less is not worth the searches.
PRICED_PEAK_BYTES = 1 << 20
# Two divisions whose costs differ by less are equal: the one with fewer classes is chosen.
_EQUAL = 1e-12
# Time and memory grow with the square of their number.
_SIZES_AT_MOST = 2048
POWERS, WORDS, BOUNDED, MEASURED = "powers of two", "multiples of a word", "bounded waste, 25 %", "measured"

Costs = npt.NDArray[np.float64]


def run_bytes(size: int) -> int:
    """Pages that size_map gives a class at a time: the fewest of which blocks lose at most an eighth."""
    pages = -(-size // PAGE_BYTES)
    while pages * PAGE_BYTES % size > pages * PAGE_BYTES // 8:
        pages += 1
    return pages * PAGE_BYTES


def held_bytes(size: int, blocks: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Bytes of the pages that hold so many blocks."""
    run = run_bytes(size)
    held: npt.NDArray[np.int64] = -(-np.asarray(blocks, dtype=np.int64) // (run // size)) * run
    return held


def choose(tables: Sequence[SizeTable], most: int = CLASSES_AT_MOST, weight: float = WEIGHT) -> tuple[int, ...]:
    """The classes of the least cost, at most `most` and at least one: sizes that the traces ask for."""
    sizes = sorted({row.bytes for table in tables for row in table.rows if row.bytes})
    if not sizes:
        return ()
    if len(sizes) > _SIZES_AT_MOST:
        raise Failure(
            Status.USAGE, f"the traces ask for {len(sizes)} sizes, and at most {_SIZES_AT_MOST} can be divided: lower "
            "--largest, or take --granule 16",
        )  # fmt: skip
    cost, general = np.zeros((len(sizes), len(sizes))), np.zeros(len(sizes) + 1)
    for table in tables:
        if table.rows:
            of_classes, of_general = _costs(table, sizes, weight)
            cost += of_classes
            general += of_general
    ends = _divide(cost, general, most)
    return tuple(sizes[end] for end in ends)


def _costs(table: SizeTable, sizes: Sequence[int], weight: float) -> tuple[Costs, Costs]:
    """[i, j]: the cost in this trace of one class for the sizes i to j; [i]: that of i and all larger without one."""
    n = len(sizes)
    position = {size: at for at, size in enumerate(sizes)}
    own = [position[row.bytes] for row in table.rows]
    live = np.zeros((n, table.moments), dtype=np.int64)
    live[own] = table.live
    blocks, requested = np.zeros(n + 1), np.zeros(n + 1)
    blocks[np.array(own) + 1] = [row.mean_blocks for row in table.rows]
    requested[np.array(own) + 1] = [row.mean_bytes for row in table.rows]
    blocks, requested = np.cumsum(blocks), np.cumsum(requested)
    in_bytes = live * np.array(sizes)[:, None]
    unit = float(in_bytes.sum(axis=0).max())
    cost = np.full((n, n), np.inf)
    joined = np.zeros_like(live)
    for last in range(n):
        # Rows up to `last` become the sums of their sizes from there to `last`.
        joined[: last + 1] += live[last]
        held = held_bytes(sizes[last], joined[: last + 1].max(axis=1))
        in_blocks = (blocks[last + 1] - blocks[: last + 1]) * sizes[last]
        lost = in_blocks - (requested[last + 1] - requested[: last + 1])
        cost[: last + 1, last] = (held - in_blocks + (weight + TIE_WEIGHT) * lost) / unit
    return cost, _general_costs(table, own, in_bytes + TAG_BYTES * live, weight, unit)


def _general_costs(table: SizeTable, own: list[int], tagged: Series, weight: float, unit: float) -> Costs:
    """[i]: the cost of the sizes from i on without a class. `tagged`: bytes with tags, by size and moment."""
    n = len(tagged)
    requests, mean, tags = np.zeros(n), np.zeros(n), np.zeros(n)
    requests[own] = [row.requests for row in table.rows]
    tags[own] = [row.mean_blocks * TAG_BYTES for row in table.rows]
    mean[own] = [row.mean_blocks * row.bytes for row in table.rows]

    def from_each(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([np.cumsum(values[::-1], axis=0)[::-1], np.zeros((1, *values.shape[1:]))])

    held = from_each(tagged).max(axis=1)
    free = held - from_each(mean + tags)
    share = from_each(requests) / max(1, table.census.requests)
    price = GENERAL_PRICE * max(unit, PRICED_PEAK_BYTES) * share
    found: Costs = (free + (weight + TIE_WEIGHT) * from_each(tags) + price) / unit
    return found


def _divide(cost: Costs, general: Costs, most: int) -> list[int]:
    """The last sizes of the classes in the cheapest division into at most `most` of them, and the general allocator."""
    n = len(cost)
    best = [cost[0].copy()]  # [k][j]: sizes 0 to j in k + 1 classes
    starts: list[npt.NDArray[np.int64]] = [np.zeros(n, dtype=np.int64)]
    for _ in range(1, min(most, n)):
        # [i, j]: the last class begins with size i.
        total = np.full((n, n), np.inf)
        total[1:] = best[-1][:-1, None] + cost[1:]
        starts.append(total.argmin(axis=0))
        best.append(total.min(axis=0))
    totals = np.array([row + general[1:] for row in best])
    least = totals.min()
    equal = totals <= least + _EQUAL * max(1.0, abs(least))
    classes = int(np.argmax(equal.any(axis=1)))
    ends, last = [], n - 1 - int(np.argmax(equal[classes][::-1]))
    for k in range(classes, -1, -1):
        ends.append(last)
        last = int(starts[k][last]) - 1
    return ends[::-1]


def powers_of_two(granule: int, largest: int) -> tuple[int, ...]:
    """As BSD rounds: experience, for what is easy to compute."""
    return tuple(1 << power for power in range(granule.bit_length() - 1, largest.bit_length()) if 1 << power <= largest)


def four_an_octave(granule: int, largest: int) -> tuple[int, ...]:
    """As core/four_an_octave.hpp: a bounded share of each block is lost."""
    sizes = {default_class(8 * i) // 8 * granule for i in range(1, largest // granule + 1)}
    return tuple(size for size in sorted(sizes) if size <= largest)


def sources(measured: tuple[int, ...], granule: int, largest: int) -> dict[str, tuple[int, ...]]:
    """The document's sources of classes, by their names."""
    return {
        POWERS: powers_of_two(granule, largest),
        WORDS: tuple(range(granule, largest + 1, granule)),
        BOUNDED: four_an_octave(granule, largest),
        MEASURED: measured,
    }


@dataclass(frozen=True)
class ClassCount:
    """What one class serves in one trace. `bytes` is None for what no class serves: the general allocator does."""

    bytes: int | None
    requests: int
    requested_bytes: int
    block_bytes: int  # of all requests
    mean_block_bytes: float
    mean_requested_bytes: float
    peak_blocks: int
    held_bytes: int


def count_classes(table: SizeTable, classes: Sequence[int]) -> list[ClassCount]:
    """What each class serves in a trace, then what no class serves."""
    counts, below = [], 0
    for size in classes:
        at = [i for i, row in enumerate(table.rows) if below < row.bytes <= size]
        rows = [table.rows[i] for i in at]
        peak = int(table.live[at].sum(axis=0).max()) if at else 0
        requests, blocks = sum(r.requests for r in rows), sum(r.mean_blocks for r in rows)
        counts.append(ClassCount(
            size, requests, sum(r.requested_bytes for r in rows), requests * size, blocks * size,
            sum(r.mean_bytes for r in rows), peak, int(held_bytes(size, peak)),
        ))  # fmt: skip
        below = size
    rest, larger = [row for row in table.rows if row.bytes > below], table.larger
    requested = sum(r.requested_bytes for r in rest) + larger.requested_bytes
    at = [i for i, row in enumerate(table.rows) if row.bytes > below]
    tagged = table.live[at] * (np.array([row.bytes for row in rest], dtype=np.int64)[:, None] + TAG_BYTES)
    peak = (int(table.live[at].sum(axis=0).max()) if at else 0) + larger.peak_blocks
    held = (int(tagged.sum(axis=0).max()) if at else 0) + larger.peak_bytes + larger.peak_blocks * TAG_BYTES
    counts.append(
        ClassCount(None, sum(r.requests for r in rest) + larger.requests, requested, requested, 0, 0, peak, held)
    )
    return counts
