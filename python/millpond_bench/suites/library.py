# SPDX-License-Identifier: BSL-1.0
"""The library's benchmark, as data: our allocators and containers compared with every peer. Bars: claims/library.toml.

    question   default          the better of multipool and monotonic    best of all peers and mallocs, nothing tuned
               kept_multipool   multipool                                best pool peer over kept chunks
               kept_monotonic   monotonic                                best monotonic peer over kept chunks
               held…            the bytes of the contenders above        leanest peer within 10 % of our time
               …                those of the workloads with a bar of their own

Sizes are those of the published tables with one between them, and there are two string seeds, so that nothing is tuned
to a point. Warm passes are compared, and the cold ratio is shown next to them. Each row is explained in
docs/results/measured/library.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from millpond.cells.metrics import Metrics
from millpond_bench.experiments.comparisons import (
    COLD,
    RESIDENT,
    WARM,
    ComparisonSpec,
    Question,
    Special,
    WorkloadPart,
    commit_steps,
    construction,
    keeping,
    longest_pause,
    returning,
    sweep,
)
from millpond_bench.experiments.contenders import HARDENED, IDEAL, MONOTONIC, OURS, POOL, Contender, Takes
from millpond_bench.suites.library_pooled import POOLED_QUESTIONS, pooled_containers
from millpond_bench.suites.library_trees import TREE_QUESTIONS, trees

_WARM = {
    **dict.fromkeys(("warm_ns", "wall_ns", "before_ns", "after_ns", "step_ns", "pause_ns"), "ns"),
    **{f"{m}_bytes": "bytes" for m in ("resident", "peak", "end", "held", "touched", "left")},
    "page_faults": "faults",
    "instructions": "instructions",
}
METRICS = Metrics({"warm_ns": "ns", "cold_ns": "ns", **_WARM}, is_open=True, warm=frozenset(_WARM))
FEW = 5
BAR_ROUNDS = 15

# Only at paper scale: bindings and disposals without a bar, and pools whose lock is useless with one thread.
ASIDE_AMONG_THREADS = ("*:base", "*:wink", "multipool(monotonic)")
ASIDE = (*ASIDE_AMONG_THREADS, "*synchronized*")
_KIB = 1024


def powers(first: int, last: int, step: int = 1) -> tuple[int, ...]:
    """2^first, 2^(first + step), … up to 2^last."""
    return tuple(2**n for n in range(first, last + 1, step))


def threads_here() -> tuple[int, ...]:
    """2, and 16 if the machine has that many cores."""
    return (2, 16) if len(os.sched_getaffinity(0)) >= 16 else (2,)


_CHURNED = ("multipool", "glibc")
_LARGEST = (60_000, 256 * _KIB, 2048 * _KIB)
# Each runs once over its own source: the memory kept above the heap is the same above every source.
_RESIDENT_ASIDE = ("*:base", "*:kept", "*:wink", "ideal_*", "multipool(*", "multipool:*", "synchronized(*")
# After shuffling, mallocs are a hundred times slower than any pool for each list, and would take most of the time.
_LISTED = ("multipool", "pmr_pool:kept", "boost_pool:kept", "ideal_free_list")
_LISTED_DEFAULT = ("pmr_pool", "boost_pool", "multipool_2015*")
_SWEPT = ("multipool", "ideal_free_list")
_TINY = ("multipool", "multipool:hardened", "monotonic", "glibc")
_COUNTED = ("multipool", "multipool:base", "monotonic", "monotonic:base")
_MILLION = 1_000_000
# Only realloc profits from a sweep over mallocs: std::vector and std::deque would only be slower.
_GROWING = ("dyn_array", "reserved", "vector", "deque", "mremap", "realloc*")
_GROWING_HUGE = ("dyn_array", "reserved", "mremap", "huge:vector", "huge:deque", "huge:realloc*", "realloc@tcmalloc")
_PAUSING = ("dyn_array", "reserved", "vector")
_SMALL_SIZES = (100, 1000, 10_000, 100_000)
_SLOT_PEERS = ("compact_pool", "glibc", "jemalloc", "mimalloc", "tcmalloc", "tbb", "pool_alloc", "mt_alloc",
               "fast_pool", "fast_pool_no_mutex", "boost_*pool")  # fmt: skip
# libstdc++'s pools take more than two minutes for 50 M slots.
_SLOW_SLOT_PEERS = ("pmr_*pool",)
# A process takes twenty seconds: the leanest, the fastest to insert, and those with the closest nodes after shrinking.
_SET_PEERS = ("glibc", "jemalloc", "mimalloc", "tbb", "fast_pool_no_mutex", "pmr_pool")
_SET = ("suballocator", "pooled_set")
# std::set over each allocator of ours, compared with the set with a pool inside.
_OTHER_SETS = ("suballocator", "compact_pool", "multipool", "monotonic")
_LIVE = (1000, 100_000, 10 * _MILLION, 100 * _MILLION)
_SMALL = ("dyn_array*", "vector", "vector:cleared")


def _quick() -> list[WorkloadPart]:
    """Every workload once, small: checks in a minute or two that everything works. Its figures are no evidence."""
    few = 2**16
    return [
        WorkloadPart("vector_string", powers(8, 8), 0.02, units=few),
        WorkloadPart("unordered_set_int", powers(8, 8), 0.02, units=few),
        WorkloadPart("unordered_set_string", powers(8, 8), 0.02, units=few),
        WorkloadPart("vector_vector_string", powers(4, 4), 0.02, units=few),
        WorkloadPart("vector_unordered_set_int", powers(6, 6), 0.02, units=few),
        WorkloadPart("vector_unordered_set_string", powers(4, 4), 0.02, units=few),
        WorkloadPart("vector_int", powers(6, 6), 0.02, units=few),
        WorkloadPart("unique_characters", (64,), 0.02, units=2**12),
        WorkloadPart("free_allocate", (1 * _KIB,), 0.02, units=2**18),
        WorkloadPart("size_sweep", seconds=0.05, units=2**20, only=_SWEPT),
        WorkloadPart("threads_own", (256,), 0.05, units=2**17, threads=(2,), aside=ASIDE_AMONG_THREADS),
        WorkloadPart("threads_handover", (256,), 0.05, units=2**17, threads=(2,), aside=ASIDE_AMONG_THREADS),
        WorkloadPart("lists_shuffled", powers(12, 12), 0.1, units=2**17, factors=(16,), only=_LISTED + _LISTED_DEFAULT),
        WorkloadPart("churn_fifo", (_MILLION // 10,), 0.05, units=2**17, only=_CHURNED),
        WorkloadPart("churn_random", (_MILLION // 10,), 0.05, units=2**17, only=_CHURNED),
        WorkloadPart("random_sizes", _LARGEST, 0.1, units=2**11, aside=_RESIDENT_ASIDE),
        WorkloadPart("vector_int_64", (64,), 0.02, only=_TINY),
        *_arrays(_MILLION, _MILLION, 0.02),
        *_slots(_MILLION, _MILLION // 10, 0.05),
        *trees(_MILLION // 10, 0.1, (256,)),
        *pooled_containers(_MILLION // 10, 0.1),
        *_instructions(),
    ]


def _arrays(elements: int, pauses: int, seconds: float) -> list[WorkloadPart]:
    """Growing arrays with that many elements, and small ones."""
    return [
        WorkloadPart("push_back", (elements,), seconds, seeds=0, only=_GROWING),
        WorkloadPart("push_back_huge", (elements,), seconds, seeds=0, only=_GROWING_HUGE),
        WorkloadPart("push_back_pauses", (pauses,), seconds, seeds=0, only=_PAUSING),
        WorkloadPart("commit_steps", (min(elements, 2**24),), 3 * seconds, seeds=0, rounds=FEW, only=_GROWING[:1]),
        WorkloadPart("small_array_int", _SMALL_SIZES, 0.05, seeds=0, only=_SMALL),
        WorkloadPart("small_array_unique", _SMALL_SIZES, 0.08, seeds=0, only=_SMALL),
    ]


def _slots(
    slots: int, elements: int, seconds: float, live: tuple[int, ...] = (1000, _MILLION),
    peers: tuple[str, ...] = (*_SLOT_PEERS, *_SLOW_SLOT_PEERS), set_peers: tuple[str, ...] = (),
) -> list[WorkloadPart]:  # fmt: skip
    """Very many blocks of one size, and a set of numbers: the numbers of slots, elements and live slots. A process
    takes many seconds, so there are few rounds.
    """
    return [
        WorkloadPart("slots", (slots,), 4 * seconds, seeds=0, rounds=FEW, only=peers),
        WorkloadPart("slots_sparse", (slots,), 4 * seconds, rounds=FEW, only=_SLOT_PEERS[:1]),
        WorkloadPart("slots_pairs", live[:1], 0.2, only=_SLOT_PEERS[:1]),
        WorkloadPart("slots_pairs", live[1:], seconds, rounds=FEW, only=_SLOT_PEERS[:1]),
        WorkloadPart("set_of_numbers", (elements,), 10 * seconds, rounds=FEW, only=_SET + (set_peers or peers)),
        WorkloadPart(
            "set_life",
            (min(elements, _MILLION),),
            3 * seconds,
            rounds=FEW,
            only=("pooled_set", *_OTHER_SETS, "boost_set", *(set_peers or peers)),
        ),
        WorkloadPart("instructions_slots", (live[0], live[-1]), 20 * seconds, seeds=0, rounds=1, only=_SLOT_PEERS[:1]),
    ]


def _instructions() -> list[WorkloadPart]:
    """Counted, not timed: once is enough."""
    return [
        WorkloadPart("instructions_pair", seeds=0, rounds=1, seconds=2.0, only=_COUNTED[:2]),
        WorkloadPart("instructions_construct", seeds=0, rounds=1, seconds=2.0, only=(_COUNTED[0], _COUNTED[2])),
    ]


def _standard() -> list[WorkloadPart]:
    """All workloads with bars, within half an hour on two cores. Processes take a tenth of a second if they can."""
    half, quarter = 2**19, 2**18
    return [
        WorkloadPart("vector_string", powers(12, 14, 2), 0.04, seeds=2, units=quarter),
        WorkloadPart("vector_string", powers(16, 16), 0.1, units=quarter),
        WorkloadPart("unordered_set_int", powers(12, 14, 2), 0.03, units=half),
        WorkloadPart("unordered_set_string", powers(12, 14, 2), 0.06, seeds=2, units=quarter // 2),
        WorkloadPart("unordered_set_string", powers(16, 16), 0.1, units=quarter // 4),
        WorkloadPart("vector_vector_string", powers(7, 8), 0.04, seeds=2, units=quarter // 2),
        WorkloadPart("vector_unordered_set_int", powers(10, 12, 2), 0.07, units=quarter),
        WorkloadPart("vector_unordered_set_string", powers(7, 8), 0.05, seeds=2, units=quarter // 4),
        WorkloadPart("vector_int", powers(6, 6), 0.01),
        WorkloadPart("unique_characters", (16, 64, 256), 0.04),
        WorkloadPart("free_allocate", tuple(_KIB << n for n in (0, 1, 2, 3, 4, 5)), 0.05, units=2**20),
        WorkloadPart("size_sweep", seconds=0.1, only=_SWEPT),
        WorkloadPart("threads_own", (256,), 0.1, units=2**19, threads=threads_here(), aside=ASIDE_AMONG_THREADS),
        # Some peers take microseconds per block there.
        WorkloadPart("threads_handover", (256,), 0.1, units=2**17, threads=threads_here(), aside=ASIDE_AMONG_THREADS),
        # A hundred thousand pools take seconds to shuffle, so these lists are shuffled once instead of five times.
        WorkloadPart("lists_shuffled", powers(4, 8, 4), 1.2, shuffles=1, factors=(1, 16), only=_LISTED),
        WorkloadPart("lists_shuffled", powers(12, 20, 4), 0.5, factors=(1,), only=(*_LISTED, *_LISTED_DEFAULT)),
        WorkloadPart("lists_shuffled", powers(12, 20, 4), 0.5, factors=(16,), only=_LISTED),
        WorkloadPart("lists_shuffled", powers(12, 16, 4), 0.6, factors=(256,), only=_LISTED, rounds=FEW),
        WorkloadPart("churn_fifo", (_MILLION, 10 * _MILLION), 0.6, units=2**20, only=_CHURNED),
        WorkloadPart("churn_random", (_MILLION, 10 * _MILLION), 1.0, units=2**20, only=_CHURNED),
        WorkloadPart("random_sizes", _LARGEST, 0.5, rounds=FEW, aside=_RESIDENT_ASIDE),
        WorkloadPart("vector_int_64", (64,), 0.02, only=_TINY),
        *_arrays(100 * _MILLION, 100 * _MILLION, 0.5),
        *_slots(50 * _MILLION, 3 * _MILLION, 1.5, _LIVE, _SLOT_PEERS, _SET_PEERS),
        *trees(_MILLION, 0.6),
        *pooled_containers(_MILLION, 0.6),
        *_instructions(),
    ]


def _paper() -> list[WorkloadPart]:
    """The whole grids of the published tables, every contender: takes hours, best in shards."""
    nested, flat = powers(4, 12, 2), powers(6, 16, 2)
    return [
        WorkloadPart("vector_string", flat, 0.3, seeds=2),
        WorkloadPart("unordered_set_int", flat, 0.3),
        WorkloadPart("unordered_set_string", flat, 0.3, seeds=2),
        WorkloadPart("vector_vector_string", nested, 1.0, seeds=2),
        WorkloadPart("vector_unordered_set_int", nested, 1.0),
        WorkloadPart("vector_unordered_set_string", nested, 1.0, seeds=2),
        WorkloadPart("vector_int", powers(6, 16, 2)),
        WorkloadPart("unique_characters", (16, 32, 64, 128, 256)),
        WorkloadPart("free_allocate", powers(4, 20)),
        WorkloadPart("size_sweep", seconds=0.3),
        WorkloadPart("threads_own", (64, 256, 1024), threads=threads_here()),
        WorkloadPart("threads_handover", (64, 256, 1024), threads=threads_here()),
        WorkloadPart("lists_shuffled", powers(0, 21), factors=powers(0, 6), seconds=2.0),
        WorkloadPart("lists_shuffled", powers(0, 21), factors=powers(7, 8), seconds=10.0, rounds=FEW),
        WorkloadPart("churn_fifo", (_MILLION, 10 * _MILLION), seconds=2.0),
        WorkloadPart("churn_random", (_MILLION, 10 * _MILLION), seconds=3.0),
        WorkloadPart("random_sizes", _LARGEST, 2.0, seeds=2, units=2**16, aside=_RESIDENT_ASIDE),
        WorkloadPart("vector_int_64", (64,), only=_TINY),
        *_arrays(100 * _MILLION, 100 * _MILLION, 0.5),
        *_slots(50 * _MILLION, 30 * _MILLION, 10.0, _LIVE),
        *trees(10 * _MILLION, 10.0),
        *pooled_containers(10 * _MILLION, 6.0),
        *_instructions(),
    ]


WALL, AFTER, BEFORE, LEFT, TOUCHED = "wall_ns", "after_ns", "before_ns", "left_bytes", "touched_bytes"
STRUCTURES = (
    "vector_string", "unordered_set_int", "unordered_set_string", "vector_vector_string", "vector_unordered_set_int",
    "vector_unordered_set_string",
)  # fmt: skip
_BOTH = ("multipool", "monotonic")
# Workloads whose instructions are counted, by those of the program.
_INSTRUCTIONS = {"instructions_pair": "free_allocate", "instructions_construct": "construct_empty",
            "instructions_slots": "slots_pairs"}  # fmt: skip


def _ideal(c: Contender) -> bool:
    return c.kind == IDEAL


def _ours(c: Contender) -> bool:
    return c.kind == OURS


def _peer(c: Contender) -> bool:
    return c.is_peer and not c.kept


def _named(name: str) -> Takes:
    return lambda c: c.name == name


def _kept(kind: str) -> Takes:
    return lambda c: c.kind == kind and c.kept


def _against_glibc(ours: str, metric: str = WARM) -> Question:
    return Question(f"{ours}_against_glibc", (ours,), _named("glibc"), metric, _ideal)


def _three(metric: str, *ours: str) -> list[Question]:
    """The three comparisons of `ours` (both without it): at defaults, over kept chunks, and the bytes
    held meanwhile.
    """
    asked = [
        Question("default", ours or _BOTH, _peer, metric, _ideal),
        Question("kept_multipool", ("multipool",), _kept(POOL), metric, _ideal),
        Question("kept_monotonic", ("monotonic",), _kept(MONOTONIC), metric, _ideal),
    ]
    asked = [q for q in asked if not ours or set(q.ours) <= set(ours)]
    held = [Question(q.comparison.replace("default", "held").replace("kept_", "held_"), q.ours, q.peers, metric, _ideal,
                     held=True) for q in asked]  # fmt: skip
    return [*asked, *held]


def _hardened(metric: str) -> Question:
    return Question("hardened", (HARDENED,), _named("multipool"), metric)


def _growing() -> list[Question]:
    """Compares with the best array, and resident bytes with those of the elements, four bytes each."""
    return [
        Question("growth", ("dyn_array",), lambda c: c.is_peer, COLD, _ideal),
        Question("peak", ("dyn_array",), metric=RESIDENT, unit="bytes", payload=4),
    ]


def _small_arrays() -> list[Question | Special]:
    """A fresh array without its reservation, and one that is kept: each compared with a vector used in the same way."""
    pairs = {"fresh": "", "cleared": ":cleared"}
    return [
        *(Question(n, (f"dyn_array{how}",), _named(f"vector{how}"), ideals=_ideal) for n, how in pairs.items()),
        construction,
    ]


def _slots_freed(order: str, metric: str, *, kept: bool = True) -> list[Question]:
    """Frees compared with the best peer that returns memory, and with the best that keeps it."""
    against = {"returned": returning, "kept": keeping} if kept else {"returned": returning}
    return [Question(f"slots_{how}_{order}", ("compact_pool",), _peer, metric, unit="ns a slot", narrow=narrow)
            for how, narrow in against.items()]  # fmt: skip


def _slots_held(comparison: str, metric: str) -> Question:
    return Question(comparison, ("compact_pool",), metric=metric, unit="bytes", payload=8)


def _alone(comparison: str, ours: str, metric: str, unit: str, other: str, name: str) -> Question:
    """A metric of ours compared with another one of the same process."""
    return Question(comparison, (ours,), metric=metric, unit=unit, itself=(other, name))


_FREE_LIST = Question("against_free_list", ("multipool",), ideals=_named("ideal_free_list"))
QUESTIONS: Mapping[str, Sequence[Question | Special]] = {
    **{name: [*_three(WARM), _hardened(WARM)] for name in STRUCTURES},
    "unique_characters": [*_three(WARM), _hardened(WARM)],
    "free_allocate": [*_three(WARM, "multipool"), _FREE_LIST, _hardened(WARM)],
    "size_sweep": [sweep],
    "threads_own": [*_three(WALL, "multipool"), _hardened(WALL), _against_glibc("synchronized_multipool", WALL)],
    "threads_handover": [_against_glibc("synchronized_multipool", WALL)],
    "vector_int": [*_three(WARM), _hardened(WARM), *(_against_glibc(name) for name in _BOTH)],
    "vector_int_64": [_hardened(WARM), *(_against_glibc(name) for name in _BOTH)],
    "lists_shuffled": [
        *_three(AFTER, "multipool"),
        Question("after_shuffling", ("multipool",), lambda c: c.kind == POOL, AFTER, _ideal),
        Question("after_against_before", ("multipool",), metric=AFTER, itself=(BEFORE, "multipool before")),
    ],
    "churn_fifo": [_against_glibc("multipool")],
    "churn_random": [_against_glibc("multipool")],
    **{name: _growing() for name in ("push_back", "push_back_huge")},
    "push_back_pauses": [longest_pause],
    "commit_steps": [commit_steps],
    **{name: _small_arrays() for name in ("small_array_int", "small_array_unique")},
    "slots": [
        Question("slots_allocate", ("compact_pool",), _peer, COLD, unit="ns a slot"),
        *_slots_freed("last_first", BEFORE), *_slots_freed("first_last", AFTER),
        *_slots_freed("odd_and_back", WARM, kept=False),
        _slots_held("slots_full", RESIDENT), _slots_held("slots_freed", LEFT),
    ],
    "slots_sparse": [_alone("slots_sparse", "compact_pool", LEFT, "bytes", TOUCHED, "pages of live slots")],
    "slots_pairs": [_alone("slots_pair", "compact_pool", AFTER, "ns a pair", BEFORE, "multipool, 1000 live")],
    "set_of_numbers": [
        Question("set_inserts", _SET, _peer, COLD, unit="ns an element"),
        Question("set_traversal", _SET, _peer, AFTER, unit="ns an element"),
        Question("set_element_bytes", _SET, metric=RESIDENT, unit="bytes an element", payload=1, payload_name=""),
    ],
    "set_life": [
        *(Question(f"pooled_set_{step}", ("pooled_set",), lambda c: _peer(c) or c.name in _OTHER_SETS, metric,
                   unit="ns an element")
          for step, metric in (("inserts", COLD), ("finds", BEFORE), ("traversal", AFTER), ("erases", WARM))),
        Question("pooled_set_element_bytes", ("pooled_set",), metric=RESIDENT, unit="bytes an element", payload=1,
                 payload_name=""),
        _alone("pooled_set_left", "pooled_set", LEFT, "bytes", RESIDENT, "bytes of the full set"),
    ],
    "random_sizes": [
        Question("held_by_", metric=LEFT, unit="bytes", itself=(TOUCHED, "live bytes"), each=_ours),
        Question("peer_", metric=LEFT, unit="bytes", itself=(TOUCHED, "live bytes"), each=_peer),
    ],
    **{name: [Question("instructions_", metric="instructions", unit="instructions", each=lambda _: True)]
       for name in _INSTRUCTIONS},
    **TREE_QUESTIONS,
    **POOLED_QUESTIONS,
}  # fmt: skip

LIBRARY = ComparisonSpec(
    name="library", title="The library against every peer", suite="millpond-library-suite", metrics=METRICS,
    measured="Time and resident bytes of our allocators and containers, at defaults and over kept chunks, against the "
             "best peer and the ideal",
    rounds={"quick": 3, "standard": BAR_ROUNDS, "paper": BAR_ROUNDS}, fewest_rounds=BAR_ROUNDS, claims="library.toml",
    parts={"quick": _quick, "standard": _standard, "paper": _paper}, aside=ASIDE, counted=_INSTRUCTIONS,
    questions=QUESTIONS,
)  # fmt: skip
