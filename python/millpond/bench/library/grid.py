# SPDX-License-Identifier: BSL-1.0
"""Which cells bench-library runs at which scale: points of workloads, their contenders, rounds and string seeds.

    Part     points that are measured alike: a workload, its sizes, so many rounds, so many seeds
    pass     all parts with the same number of rounds, in one run of the one runner: `interleaved_rounds.run_rounds`
    group    one point: all contenders of it take turns

Sizes are those of the published tables with one between them, and two string seeds, so that nothing is tuned
to a point.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from millpond.bench.library.library_contenders import Contender, Suite
from millpond.cells.cell import Cell, Strategy, Workload
from millpond.cells.metrics import Metrics
from millpond.system.errors import Failure, Status

EXPERIMENT = "library"
_WARM = {
    **dict.fromkeys(("warm_ns", "wall_ns", "before_ns", "after_ns", "step_ns", "pause_ns"), "ns"),
    **dict.fromkeys(
        ("resident_bytes", "peak_bytes", "end_bytes", "held_bytes", "touched_bytes", "left_bytes"), "bytes"
    ),
    "page_faults": "faults",
    "instructions": "instructions",
}
METRICS = Metrics({"warm_ns": "ns", "cold_ns": "ns", **_WARM}, is_open=True, warm=frozenset(_WARM))
SCALES = ("quick", "standard", "paper")
ROUNDS = {"quick": 3, "standard": 15, "paper": 15}
FEW = 5
BAR_ROUNDS = 15

# Bindings and disposals that no bar is about, and pools that lock for nothing where one thread runs: at paper scale.
ASIDE_AMONG_THREADS = ("*:base", "*:wink", "multipool(monotonic)")
ASIDE = (*ASIDE_AMONG_THREADS, "*synchronized*")
_KIB = 1024


@dataclass(frozen=True)
class Part:
    """Points that are measured alike. `seconds`: about what one process takes where this was laid out.

    `rounds`: at most so many (0: as many as the scale has). `only`: contenders by pattern; without, all but `aside`.
    `seeds`: so many, counted from the run's own; 0 where nothing is drawn.
    """

    workload: str
    sizes: tuple[int, ...] = (0,)
    seconds: float = 0.1
    seeds: int = 1
    rounds: int = 0
    units: int = 0
    factors: tuple[int, ...] = (0,)
    shuffles: int = 0
    threads: tuple[int, ...] = (0,)
    only: tuple[str, ...] = ()
    aside: tuple[str, ...] = ASIDE

    def rounds_at(self, rounds: int) -> int:
        return min(rounds, self.rounds) if self.rounds else rounds

    def takes(self, contender: Contender, every: bool) -> bool:
        """Whether the contender runs in this part; `every`: those that no bar is about, too."""
        if self.only:
            return any(fnmatchcase(contender.name, pattern) for pattern in self.only)
        return every or not any(fnmatchcase(contender.name, pattern) for pattern in self.aside)

    def points(self, seed: int) -> Iterable[tuple[tuple[str, str], ...]]:
        """The parameters of each point. Parameters that are 0 are left to the program."""
        for size in self.sizes:
            for factor in self.factors:
                for threads in self.threads:
                    for offset in range(max(1, self.seeds)):
                        drawn = seed + offset if self.seeds else 0
                        known = {"size": size, "af": factor, "sf": self.shuffles, "threads": threads, "seed": drawn,
                                 "units": self.units}  # fmt: skip
                        yield tuple((name, str(value)) for name, value in known.items() if value)


@dataclass(frozen=True)
class Pass:
    """Cells that get the same number of rounds."""

    rounds: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """All passes, and what one process of each cell is expected to take, in seconds."""

    passes: tuple[Pass, ...]
    seconds: dict[Cell, float]

    @property
    def cells(self) -> list[Cell]:
        return [cell for one in self.passes for cell in one.cells]

    def only(self, chosen: Sequence[Cell]) -> Grid:
        """The same without all other cells."""
        wanted = set(chosen)
        kept = (Pass(p.rounds, tuple(c for c in p.cells if c in wanted)) for p in self.passes)
        return Grid(tuple(p for p in kept if p.cells), self.seconds)


def powers(first: int, last: int, step: int = 1) -> tuple[int, ...]:
    """2^first, 2^(first + step), … up to 2^last."""
    return tuple(2**n for n in range(first, last + 1, step))


def threads_here() -> tuple[int, ...]:
    """2, and 16 where the machine has so many cores."""
    return (2, 16) if len(os.sched_getaffinity(0)) >= 16 else (2,)


_CHURNED = ("multipool", "glibc")
_LARGEST = (60_000, 256 * _KIB, 2048 * _KIB)
# Each once over its own source: what is kept above the heap is the same above every one.
_RESIDENT_ASIDE = ("*:base", "*:kept", "*:wink", "ideal_*", "multipool(*", "multipool:*", "synchronized(*")
# Mallocs are a hundred times slower after shuffling than any pool for each list, and take the time of all others.
_LISTED = ("multipool", "pmr_pool:kept", "boost_pool:kept", "ideal_free_list")
_LISTED_DEFAULT = ("pmr_pool", "boost_pool", "multipool_2015*")
_SWEPT = ("multipool", "ideal_free_list")
_TINY = ("multipool", "multipool:hardened", "monotonic", "glibc")
_COUNTED = ("multipool", "multipool:base", "monotonic", "monotonic:base")
_MILLION = 1_000_000
# A sweep over mallocs is what realloc is for: on it std::vector and std::deque would only be slower.
_GROWING = ("dyn_array", "reserved", "vector", "deque", "mremap", "realloc*")
_GROWING_HUGE = ("dyn_array", "reserved", "mremap", "huge:vector", "huge:deque", "huge:realloc*", "realloc@tcmalloc")
_PAUSING = ("dyn_array", "reserved", "vector")
_SMALL_SIZES = (100, 1000, 10_000, 100_000)
_SLOT_PEERS = ("compact_pool", "glibc", "jemalloc", "mimalloc", "tcmalloc", "tbb", "pool_alloc", "mt_alloc",
               "fast_pool", "fast_pool_no_mutex", "boost_*pool")  # fmt: skip
# libstdc++'s pools take more than two minutes for 50 M slots.
_SLOW_SLOT_PEERS = ("pmr_*pool",)
# A process takes twenty seconds: the leanest, the fastest to insert, those whose nodes lie closest after shrinking.
_SET_PEERS = ("glibc", "jemalloc", "mimalloc", "tbb", "fast_pool_no_mutex", "pmr_pool")
_LIVE = (1000, 100_000, 10 * _MILLION, 100 * _MILLION)
_SMALL = ("dyn_array*", "vector", "vector:cleared")


def _quick() -> list[Part]:
    """Every workload once, small: whether it all works, in a minute or two. Its figures are no evidence."""
    few = 2**16
    return [
        Part("vector_string", powers(8, 8), 0.02, units=few),
        Part("unordered_set_int", powers(8, 8), 0.02, units=few),
        Part("unordered_set_string", powers(8, 8), 0.02, units=few),
        Part("vector_vector_string", powers(4, 4), 0.02, units=few),
        Part("vector_unordered_set_int", powers(6, 6), 0.02, units=few),
        Part("vector_unordered_set_string", powers(4, 4), 0.02, units=few),
        Part("vector_int", powers(6, 6), 0.02, units=few),
        Part("unique_characters", (64,), 0.02, units=2**12),
        Part("free_allocate", (1 * _KIB,), 0.02, units=2**18),
        Part("size_sweep", seconds=0.05, units=2**20, only=_SWEPT),
        Part("threads_own", (256,), 0.05, units=2**17, threads=(2,), aside=ASIDE_AMONG_THREADS),
        Part("threads_handover", (256,), 0.05, units=2**17, threads=(2,), aside=ASIDE_AMONG_THREADS),
        Part("lists_shuffled", powers(12, 12), 0.1, units=2**17, factors=(16,), only=(*_LISTED, *_LISTED_DEFAULT)),
        Part("churn_fifo", (_MILLION // 10,), 0.05, units=2**17, only=_CHURNED),
        Part("churn_random", (_MILLION // 10,), 0.05, units=2**17, only=_CHURNED),
        Part("random_sizes", _LARGEST, 0.1, units=2**11, aside=_RESIDENT_ASIDE),
        Part("vector_int_64", (64,), 0.02, only=_TINY),
        *_arrays(_MILLION, _MILLION, 0.02),
        *_slots(_MILLION, _MILLION // 10, 0.05),
        *_instructions(),
    ]


def _arrays(elements: int, pauses: int, seconds: float) -> list[Part]:
    """Arrays that grow: so many elements, and small ones."""
    return [
        Part("push_back", (elements,), seconds, seeds=0, only=_GROWING),
        Part("push_back_huge", (elements,), seconds, seeds=0, only=_GROWING_HUGE),
        Part("push_back_pauses", (pauses,), seconds, seeds=0, only=_PAUSING),
        Part("commit_steps", (min(elements, 2**24),), seconds=3 * seconds, seeds=0, rounds=FEW, only=("dyn_array",)),
        Part("small_array_int", _SMALL_SIZES, 0.05, seeds=0, only=_SMALL),
        Part("small_array_unique", _SMALL_SIZES, 0.08, seeds=0, only=_SMALL),
    ]


def _slots(
    slots: int, elements: int, seconds: float, live: tuple[int, ...] = (1000, _MILLION),
    peers: tuple[str, ...] = (*_SLOT_PEERS, *_SLOW_SLOT_PEERS), set_peers: tuple[str, ...] = (),
) -> list[Part]:  # fmt: skip
    """Very many blocks of one size, and a set of numbers: so many slots, elements and live slots. A process takes many
    seconds, so the rounds are few."""
    return [
        Part("slots", (slots,), 4 * seconds, seeds=0, rounds=FEW, only=peers),
        Part("slots_sparse", (slots,), 4 * seconds, rounds=FEW, only=_SLOT_PEERS[:1]),
        Part("slots_pairs", live[:1], 0.2, only=_SLOT_PEERS[:1]),
        Part("slots_pairs", live[1:], seconds, rounds=FEW, only=_SLOT_PEERS[:1]),
        Part("set_of_numbers", (elements,), 10 * seconds, rounds=FEW, only=("suballocator", *(set_peers or peers))),
        Part("instructions_slots", (live[0], live[-1]), 20 * seconds, seeds=0, rounds=1, only=_SLOT_PEERS[:1]),
    ]


def _instructions() -> list[Part]:
    """Counted, not timed: once is enough."""
    return [
        Part("instructions_pair", seeds=0, rounds=1, seconds=2.0, only=_COUNTED[:2]),
        Part("instructions_construct", seeds=0, rounds=1, seconds=2.0, only=(_COUNTED[0], _COUNTED[2])),
    ]


def _standard() -> list[Part]:
    """What the bars are about, within half an hour on two cores. Processes take a tenth of a second where they can."""
    half, quarter = 2**19, 2**18
    return [
        Part("vector_string", powers(12, 14, 2), 0.04, seeds=2, units=quarter),
        Part("vector_string", powers(16, 16), 0.1, units=quarter),
        Part("unordered_set_int", powers(12, 14, 2), 0.03, units=half),
        Part("unordered_set_string", powers(12, 14, 2), 0.06, seeds=2, units=quarter // 2),
        Part("unordered_set_string", powers(16, 16), 0.1, units=quarter // 4),
        Part("vector_vector_string", powers(7, 8), 0.04, seeds=2, units=quarter // 2),
        Part("vector_unordered_set_int", powers(10, 12, 2), 0.07, units=quarter),
        Part("vector_unordered_set_string", powers(7, 8), 0.05, seeds=2, units=quarter // 4),
        Part("vector_int", powers(6, 6), 0.01),
        Part("unique_characters", (16, 64, 256), 0.04),
        Part("free_allocate", tuple(_KIB << n for n in (0, 1, 2, 3, 4, 5)), 0.05, units=2**20),
        Part("size_sweep", seconds=0.1, only=_SWEPT),
        Part("threads_own", (256,), 0.1, units=2**19, threads=threads_here(), aside=ASIDE_AMONG_THREADS),
        # Some peers take microseconds a block there.
        Part("threads_handover", (256,), 0.1, units=2**17, threads=threads_here(), aside=ASIDE_AMONG_THREADS),
        # A hundred thousand pools take seconds to shuffle: these lists are shuffled once rather than five times over.
        Part("lists_shuffled", powers(4, 8, 4), 1.2, shuffles=1, factors=(1, 16), only=_LISTED),
        Part("lists_shuffled", powers(12, 20, 4), 0.5, factors=(1,), only=(*_LISTED, *_LISTED_DEFAULT)),
        Part("lists_shuffled", powers(12, 20, 4), 0.5, factors=(16,), only=_LISTED),
        Part("lists_shuffled", powers(12, 16, 4), 0.6, factors=(256,), only=_LISTED, rounds=FEW),
        Part("churn_fifo", (_MILLION, 10 * _MILLION), 0.6, units=2**20, only=_CHURNED),
        Part("churn_random", (_MILLION, 10 * _MILLION), 1.0, units=2**20, only=_CHURNED),
        Part("random_sizes", _LARGEST, 0.5, rounds=FEW, aside=_RESIDENT_ASIDE),
        Part("vector_int_64", (64,), 0.02, only=_TINY),
        *_arrays(100 * _MILLION, 100 * _MILLION, 0.5),
        *_slots(50 * _MILLION, 3 * _MILLION, 1.5, _LIVE, _SLOT_PEERS, _SET_PEERS),
        *_instructions(),
    ]


def _paper() -> list[Part]:
    """The whole grids of the published tables, every contender; hours, best in shards."""
    nested, flat = powers(4, 12, 2), powers(6, 16, 2)
    return [
        Part("vector_string", flat, 0.3, seeds=2),
        Part("unordered_set_int", flat, 0.3),
        Part("unordered_set_string", flat, 0.3, seeds=2),
        Part("vector_vector_string", nested, 1.0, seeds=2),
        Part("vector_unordered_set_int", nested, 1.0),
        Part("vector_unordered_set_string", nested, 1.0, seeds=2),
        Part("vector_int", powers(6, 16, 2)),
        Part("unique_characters", (16, 32, 64, 128, 256)),
        Part("free_allocate", powers(4, 20)),
        Part("size_sweep", seconds=0.3),
        Part("threads_own", (64, 256, 1024), threads=threads_here()),
        Part("threads_handover", (64, 256, 1024), threads=threads_here()),
        Part("lists_shuffled", powers(0, 21), factors=powers(0, 6), seconds=2.0),
        Part("lists_shuffled", powers(0, 21), factors=powers(7, 8), seconds=10.0, rounds=FEW),
        Part("churn_fifo", (_MILLION, 10 * _MILLION), seconds=2.0),
        Part("churn_random", (_MILLION, 10 * _MILLION), seconds=3.0),
        Part("random_sizes", _LARGEST, 2.0, seeds=2, units=2**16, aside=_RESIDENT_ASIDE),
        Part("vector_int_64", (64,), only=_TINY),
        *_arrays(100 * _MILLION, 100 * _MILLION, 0.5),
        *_slots(50 * _MILLION, 30 * _MILLION, 10.0, _LIVE),
        *_instructions(),
    ]


_PARTS = {"quick": _quick, "standard": _standard, "paper": _paper}


Sizes = Mapping[str, tuple[int, ...]]


def sizes_given(texts: Sequence[str]) -> Sizes:
    """`vector_string=2^13,5000`: these sizes of that workload. Failure (status 2) for what is not so given."""
    known = {part.workload for part in _standard()}
    result: dict[str, tuple[int, ...]] = {}
    for text in texts:
        workload, _, numbers = text.partition("=")
        found = [re.fullmatch(r"(2\^)?([0-9]{1,10})", n) for n in numbers.split(",")]
        sizes = [0 if f is None else 2 ** min(int(f[2]), 40) if f[1] else int(f[2]) for f in found]
        if workload not in known or 0 in sizes:
            raise Failure(
                Status.USAGE,
                f"--sizes {text!r}: it is given as WORKLOAD=SIZE,SIZE, a size as 5000 or 2^13; the workloads are "
                f"{', '.join(dict.fromkeys(part.workload for part in _standard()))}",
            )
        result[workload] = tuple(sizes)
    return result


def grid_of(scale: str, suite: Suite, *, rounds: int | None = None, seed: int = 1, sizes: Sizes | None = None) -> Grid:
    """The grid of a scale: every point with every contender that can run it. `rounds` in the place of the scale's own.

    The string seeds are `seed` and the ones that follow; `sizes` replace those of some workloads. Failure (status 4)
    where the program lacks a workload.
    """
    every = scale == "paper"
    asked = rounds or ROUNDS[scale]
    passes: dict[int, dict[Cell, None]] = {}
    seconds: dict[Cell, float] = {}
    for one in _PARTS[scale]():
        part = replace(one, sizes=(sizes or {}).get(one.workload, one.sizes))
        able = [c for c in suite.of(part.workload) if part.takes(c, every)]
        for point in part.points(seed):
            for contender in able:
                cell = Cell(Workload(part.workload), Strategy(contender.name), point)
                passes.setdefault(part.rounds_at(asked), {})[cell] = None
                seconds[cell] = part.seconds
    return Grid(tuple(Pass(n, tuple(found)) for n, found in sorted(passes.items(), reverse=True)), seconds)
