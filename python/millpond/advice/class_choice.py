# SPDX-License-Identifier: BSL-1.0
"""Chooses size classes exactly for what programs requested, and makes three other sets of classes for comparison.

A class that serves several sizes needs as many blocks as these sizes have live at the same time. That is less than the
sum of their peaks, because the sizes reuse one another's free blocks and share partly filled pages. But every block is
as large as the largest size. Grunwald, Zorn and Henderson (1993, section 4.4) weigh the two, here for one class in one
trace:

    cost = free + weight × lost          free = held - mean blocks × class size    free blocks, rest of pages
                                         lost = mean blocks × class size - mean requested bytes

`held` are the pages that `size_map` gives the class at its peak. With weight 1 the cost is `held` minus a constant, so
the result needs the least memory; of equal divisions, the one that loses less wins. A larger weight avoids internal
fragmentation, which takes room in cache lines next to used bytes. A smaller one favours reuse.

Sizes above the last class go to the general allocator, which joins free neighbours. It holds the peak of all of their
bytes and tags together, not a peak for each size. But it searches and cuts, for several times the instructions:

    cost = free + weight × lost + price × share of all requests         lost = mean blocks × tags

The price is 0.5 peaks of live bytes (a peak counts as 1 MiB at least): saving 1 % of the requests is worth 0.5 % of the
peak.

The costs of several traces are added, each divided by its own peak of live bytes, so a long run counts no more than a
short one. The costs of classes add up, so dynamic programming over the sorted sizes finds the best division into at
most the given number of classes, in n²·(moments + classes) steps for n sizes.
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
from millpond.system.model_page import MODEL_PAGE_BYTES

# Bytes of tags in each block of the general allocator.
TAG_BYTES = 16
CLASSES_AT_MOST = 32
WEIGHT = 1.0
# Added to the weight: between equal costs, the division that loses less wins.
TIE_WEIGHT = 1e-6
# The value of serving no request by the general allocator, in peaks of live bytes.
GENERAL_PRICE = 0.5
# A smaller peak counts as this many bytes: a page more or less is not worth the searches.
PRICED_PEAK_BYTES = 1 << 20
# Two divisions whose costs differ by less count as equal: the one with fewer classes is chosen.
_EQUAL = 1e-12
# Time and memory grow with the square of the number of sizes.
_SIZES_AT_MOST = 2048
POWERS, WORDS, BOUNDED, MEASURED = "powers of two", "multiples of a word", "bounded waste, 25 %", "measured"

Costs = npt.NDArray[np.float64]


def run_bytes(size: int) -> int:
    """Returns the bytes of pages that size_map takes for a class: the fewest whose blocks lose at most an eighth."""
    pages = -(-size // MODEL_PAGE_BYTES)
    while pages * MODEL_PAGE_BYTES % size > pages * MODEL_PAGE_BYTES // 8:
        pages += 1
    return pages * MODEL_PAGE_BYTES


def held_bytes(size: int, blocks: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Returns the bytes of the pages that hold this many blocks."""
    run = run_bytes(size)
    held: npt.NDArray[np.int64] = -(-np.asarray(blocks, dtype=np.int64) // (run // size)) * run
    return held


def choose(tables: Sequence[SizeTable], most: int = CLASSES_AT_MOST, weight: float = WEIGHT) -> tuple[int, ...]:
    """Returns the classes of least cost, at least one and at most `most`; each is a size that the traces request."""
    sizes = sorted({row.bytes for table in tables for row in table.rows if row.bytes})
    if not sizes:
        return ()
    if len(sizes) > _SIZES_AT_MOST:
        raise Failure(
            Status.USAGE, f"the traces request {len(sizes)} sizes, and at most {_SIZES_AT_MOST} can be divided: lower "
            "largest (--set), or use granule 16",
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
    """Returns [i, j]: the cost in this trace of one class for the sizes i to j; and [i]: that of i and all larger
    without one.
    """
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
        # Row i, up to `last`, becomes the sum over the sizes from i to `last`.
        joined[: last + 1] += live[last]
        held = held_bytes(sizes[last], joined[: last + 1].max(axis=1))
        in_blocks = (blocks[last + 1] - blocks[: last + 1]) * sizes[last]
        lost = in_blocks - (requested[last + 1] - requested[: last + 1])
        cost[: last + 1, last] = (held - in_blocks + (weight + TIE_WEIGHT) * lost) / unit
    return cost, _general_costs(table, own, in_bytes + TAG_BYTES * live, weight, unit)


def _general_costs(table: SizeTable, own: list[int], tagged: Series, weight: float, unit: float) -> Costs:
    """Returns [i]: the cost of the sizes from i on without a class. `tagged`: bytes with tags, by size and moment."""
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
    """Returns the last size of each class in the cheapest division into at most `most` classes and the general
    allocator.
    """
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
    """Returns powers of two, the classes of the BSD malloc: chosen by experience, because they are easy to compute."""
    return tuple(1 << power for power in range(granule.bit_length() - 1, largest.bit_length()) if 1 << power <= largest)


def four_an_octave(granule: int, largest: int) -> tuple[int, ...]:
    """Returns the classes of core/four_an_octave.hpp: each block loses a bounded share."""
    sizes = {default_class(8 * i) // 8 * granule for i in range(1, largest // granule + 1)}
    return tuple(size for size in sorted(sizes) if size <= largest)


def sources(measured: tuple[int, ...], granule: int, largest: int) -> dict[str, tuple[int, ...]]:
    """Returns the paper's sets of classes, by name."""
    return {
        POWERS: powers_of_two(granule, largest),
        WORDS: tuple(range(granule, largest + 1, granule)),
        BOUNDED: four_an_octave(granule, largest),
        MEASURED: measured,
    }


@dataclass(frozen=True)
class ClassCount:
    """The requests of one trace that one class serves. `bytes` is None for those of the general allocator."""

    bytes: int | None
    requests: int
    requested_bytes: int
    block_bytes: int  # of all requests
    mean_block_bytes: float
    mean_requested_bytes: float
    peak_blocks: int
    held_bytes: int


def count_classes(table: SizeTable, classes: Sequence[int]) -> list[ClassCount]:
    """Returns the count of each class in a trace, then that of the general allocator."""
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
