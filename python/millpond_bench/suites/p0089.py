# SPDX-License-Identifier: BSL-1.0
"""The four experiments of P0089R0 (Lakos, Mendelsohn, Meredith, Myers, 2015), as data.

p0089.1   section 7    structures    twelve containers built and dropped under fourteen strategies
p0089.2   section 8    locality      lists whose links are shuffled among them, one allocator or one for each
p0089.3   section 9    utilization   blocks freed and allocated again until a total is reached
p0089.4   section 10   contention    threads that allocate and free one block
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product

from millpond_bench.experiments.experiment import ROUNDS, PublishedSpec, suite_metrics, surrounded
from millpond_bench.experiments.experiment_data import ExperimentData, Figure, Parameters, Part, Point, crossed, points
from millpond_bench.experiments.paper_tables import PaperTables, PublishedFigure, Tables
from millpond_bench.experiments.quotients import Quotient, itself, to_baseline
from millpond_bench.experiments.run_rules import RunRules
from millpond_bench.pages.winner_map import winner_maps, winner_sentences
from millpond_bench.suites import p0089_needs as needs
from millpond_bench.suites import p0089_usage as usage
from millpond_bench.suites.p0089_notation import notation
from millpond_bench.suites.p0089_strategies import (
    ALIASES,
    ALL_ALIASES,
    DOCUMENTS_LOCKED,
    DOCUMENTS_UNLOCKED,
    LOCKED,
    OF_2015,
)

SUITE, CLAIMS = "millpond-p0089-suite", "p0089.toml"
METRICS = suite_metrics(
    shuffle_seconds="seconds", access_seconds="seconds", blocks_each="blocks", lives="lives",
    cold_cpu_seconds="seconds",
)  # fmt: skip
SOURCE = "P0089R0"
MACHINE = "dual Intel Xeon E5-2620v2, 12 cores at 2.1 GHz, 16 GB, gcc 5.1, Linux 3.18 (2015), one run of each"
LEAVES = 2**27
_FIRST_NESTED, _LOG2_INNER = 5, 7  # containers of containers, of 2^7 elements each
SHUFFLES, TRAVERSALS = 5, 2560
GAIN = "gain"  # the gain of local allocators: the paper's tables 20 and 21
# The paper first held af × rf at 256 (section 8), and then at ten times that, "at the cost of literally weeks".
FIRST_TRAVERSALS = 256
COLUMNS = range(9)  # of Benchmark II: the access factor is 2^8 … 2^0
_DESTROYED = tuple(name for name in ALIASES.values() if name.endswith(":destroy"))
# The global allocator, and every allocator that a subsystem can have for itself.
_LOCAL = (ALIASES["AS1"], *_DESTROYED[2:])
STRUCTURES = (
    "vector<int>", "vector<string>", "unordered_set<int>", "unordered_set<string>",
    *(f"{outer}<{inner}>" for outer in ("vector", "unordered_set")
      for inner in ("vector<int>", "vector<string>", "unordered_set<int>", "unordered_set<string>")),
)  # fmt: skip
# The paper tried other compilers and other global allocators, and reports the result without figures: few points.
AROUND = {
    "toolchain": ("release", "gcc", "clang", "clang-libc++"),
    "malloc": ("glibc", "tcmalloc", "jemalloc", "mimalloc"),
}
COMPILERS, MALLOCS = AROUND["toolchain"][1:3], AROUND["malloc"][1:3]
_GLOBAL_AND_LOCAL = (ALIASES["AS1"], ALIASES["AS3"], ALIASES["AS7"])
EXTRA_METRICS = ("cpu_seconds", "peak_bytes", "held_bytes", "page_faults")


def point(**axes: object) -> Point:
    return tuple((name, int(str(value))) for name, value in axes.items())


def _structures(row: Mapping[str, str]) -> PublishedFigure:
    at = point(ds=row["data_structure"].removeprefix("DS"), log2_size=row["log2_size"])
    return PublishedFigure(at, ALIASES[row["strategy"]], row["seconds"], "seconds")


def structures_at(
    structures: Iterable[int], sizes: Iterable[int], leaves: int, **more: Iterable[int | str]
) -> tuple[Parameters, ...]:
    """Points of Benchmark I with 2^`leaves` leaves, or more if these would be fewer than two lives."""
    return tuple(
        made
        for ds, size in product(structures, sizes)
        for made in points(ds=[ds], log2_size=[size], log2_leaves=[max(leaves, _log2_leaves_of_two_lives(ds, size))],
                           text_most=[1000], **more)
    )  # fmt: skip


def _log2_leaves_of_two_lives(ds: int, log2_size: int) -> int:
    """The paper's 2^27 leaves are 16 lives of its largest structures (section 7), in one process. Below paper scale
    every round is a process with lives of its own.
    """
    return log2_size + (_LOG2_INNER if ds >= _FIRST_NESTED else 0) + 1


def _structures_parts(leaves: int, flat: Iterable[int], nested: Iterable[int]) -> tuple[Part, ...]:
    """Each structure at these sizes. Below the paper's number of leaves, structures that take a few ns have more of
    them.
    """
    more = {1: 4, 2: 0, 3: 1, 0: 0} if 2**leaves < LEAVES else {}
    return tuple(
        Part(structures_at((ds,), nested if ds >= _FIRST_NESTED else flat,
                           leaves + more.get(1 if ds in (5, 9) else ds % 4, 0)))
        for ds in range(1, 13)
    )  # fmt: skip


def _counted_structures() -> tuple[Part, ...]:
    """Flat and nested structures, with few repetitions: counts have no noise."""
    flat = points(ds=[2, 3, 4], log2_size=[7], log2_leaves=[14], text_most=[1000])
    nested = points(ds=[6, 7], log2_size=[6], log2_leaves=[16], text_most=[1000])
    return (Part((*flat, *nested), (ALIASES["AS1"], ALIASES["AS7"])),)


def _power(_name: str, value: int | str) -> str:
    return f"2^{value}"


EXPERIMENT = partial(PublishedSpec, source=SOURCE, machine=MACHINE, suite=SUITE, metrics=METRICS, claims=CLAIMS)
DATA = partial(ExperimentData, aliases=ALL_ALIASES)

# The points at standard scale that only single sentences of section 7 are about.
_SENTENCES_OF_7 = (
    # The larger ones take long, so only the strategies that the sentences name are measured.
    Part(structures_at((5, 9), (12,), 19)),
    Part(structures_at((6, 7), (12,), 19), (ALIASES["AS1"], ALIASES["AS2"])),
    *_structures_parts(17, (), (7,))[5:12:2],  # the jump of texts from 2^7 to 2^8
    Part(structures_at((11,), (9, 11), 19), (ALIASES["AS1"], ALIASES["AS2"])),
    Part(structures_at((11,), (11, 13), 19), tuple(ALIASES[name] for name in ("AS1", "AS3", "AS7", "AS11"))),
    Part(structures_at((5,), (14, 16), 23), tuple(ALIASES[name] for name in ("AS1", "AS3", "AS7", "AS11"))),
)

BENCHMARK_1 = surrounded(EXPERIMENT(
    name="p0089.1", title="Benchmark I: isolated data structures", section="7",
    measured="CPU seconds to build, write once and drop a structure again and again, for 2^27 leaf elements in all",
    data=DATA(
        workload="structures",
        figure=Figure("leaves_cpu_seconds", "seconds for 2^27 leaves", "cpu_seconds", per_units=LEAVES),
        extra_metrics=("lives", "cold_cpu_seconds", *EXTRA_METRICS), axes=("ds", "log2_size"),
        free=("log2_leaves", "lives", "text_most"), strategies=tuple(ALIASES.values()),
        parts={
            "quick": _structures_parts(16, (8, 11), (6, 8)),
            "standard": (
                *_structures_parts(17, (6, 8, 10, 12, 14, 16), (6, 8, 10)),
                *_SENTENCES_OF_7,
                # The cost of the lock, at a few points.
                *(replace(part, strategies=(*LOCKED.values(), *OF_2015.values()))
                  for part in _structures_parts(17, (10,), (10,))[1:7:5]),
                *crossed(_structures_parts(17, (8,), (8,)), _GLOBAL_AND_LOCAL, malloc=MALLOCS),
                *crossed(_structures_parts(17, (8,), (8,)), _DESTROYED, toolchain=COMPILERS),
            ),
            "paper": (
                *_structures_parts(27, range(6, 17), range(6, 17)),
                *crossed(_structures_parts(27, (8,), (8,)), _GLOBAL_AND_LOCAL, malloc=AROUND["malloc"][1:]),
                *crossed(_structures_parts(24, (8,), (8,)), _DESTROYED, toolchain=AROUND["toolchain"][1:]),
            ),
        },
        counted={"quick": _counted_structures()}, documents_own=DOCUMENTS_LOCKED,
        extra_strategies=(*LOCKED.values(), *OF_2015.values()),
    ),
    table=PaperTables(
        file="p0089_benchmark1.csv", read=_structures,
        tabulate=winner_maps, remark=partial(winner_sentences, usage.structures),
        layout=Tables(("ds",), ("log2_size",), "strategy", "elements", labels=_power,
                      titles=lambda at: f"DS{at['ds']}, {STRUCTURES[int(at['ds']) - 1]}"),
    ),
    rules=RunRules(needs=needs.structures),
    notes=("AS7 to AS14 are our multipools, without a lock; AS7s to AS14s are ours with one. The document's took a "
           "lock in this benchmark: AS7s-2015 to AS14s-2015 are built like those, with headers, powers of two and a "
           "limit of 2^12 bytes.",
           "At every point a structure has two lives or more in a process, and 16 at paper scale, as in the document; "
           "a first one, which touches each page for the first time, is timed apart and is not among them.",
           "Texts have 33 to 1000 characters. The document says so of DS2 and DS4, and 33 to 100 of all at first."),
), **AROUND)  # fmt: skip


def _locality(row: Mapping[str, str]) -> PublishedFigure:
    strategy = {"without": "AS1", "with": "AS7", "ratio": "AS7"}[row["local_allocators"]]
    factor = 2 ** (8 + int(row["column_exponent"]))
    at = point(log2_g=row["log2_G"], log2_s=row["log2_S"], af=factor, sf=SHUFFLES)
    # Tables 20 and 21 have the quotients of the others.
    metric = GAIN if row["local_allocators"] == "ratio" else ""
    return PublishedFigure(at, ALIASES[strategy], row["value"], "ratio", metric)


def lists(log2_g: int, sizes: tuple[int, ...], columns: tuple[int, ...], product: int) -> tuple[Parameters, ...]:
    """Points of Benchmark II and their twins. `product`: traversals of a link in all; 2560 in the paper.

    It is the same in all rows and columns of a table (section 8), so that its columns differ only in locality.
    ValueError for an access factor that does not divide it.
    """
    if any(product % 2 ** (8 - c) for c in columns):
        raise ValueError(f"{product} traversals are not af × rf for columns {columns}")
    return tuple(
        made
        for log2_s in sizes
        for c in columns
        for made in points(log2_g=[log2_g], log2_s=[log2_s], af=[2 ** (8 - c)], sf=[SHUFFLES, -SHUFFLES],
                           rf=[product >> (8 - c)])
    )  # fmt: skip


def _elsewhere(log2_g: int, log2_s: int, mallocs: tuple[str, ...], compilers: tuple[str, ...]) -> tuple[Part, ...]:
    """Large and small lists on other mallocs and with other compilers."""
    some = (Part(lists(log2_g, (log2_s,), (5,), 8)), Part(lists(16, (10,), (8,), 256)))
    strategies = (ALIASES["AS1"], ALIASES["AS7"])
    return (*crossed(some, strategies, malloc=mallocs), *crossed(some, strategies, toolchain=compilers))


def _shuffles(log2_g: int, *sizes: int) -> Part:
    """The speed at which shuffling takes effect: the paper's Table 15, of which only the sentences are left."""
    return Part(points(log2_g=[log2_g], log2_s=sizes, af=[8], sf=[1, -1, 5, -5, 8, -8], rf=[1]), (ALIASES["AS1"],))


def _locality_title(at: Mapping[str, int | str]) -> str:
    multipool = "a multipool of 2015" if at["strategy"] == DOCUMENTS_LOCKED["AS7"] else "a multipool"
    local = at["strategy"] != ALIASES["AS1"]
    return f"|G| = 2^{at['log2_g']}, {f'with {multipool} for each subsystem' if local else 'without local allocators'}"


BENCHMARK_2 = surrounded(EXPERIMENT(
    name="p0089.2", title="Benchmark II: locality in a long run", section="8",
    measured="Time to traverse the lists after shuffling / before it, five shuffles; columns: traversals of a "
             "subsystem before the next one, the total held constant",
    data=DATA(
        workload="locality", figure=Figure("slowdown", "ratio", "access_seconds", twin="sf"),
        extra_metrics=("access_seconds", "shuffle_seconds", *EXTRA_METRICS), axes=("log2_g", "log2_s", "af", "sf"),
        free=("rf",), strategies=(ALIASES["AS1"], ALIASES["AS7"]),
        parts={
            "quick": (Part(lists(20, (18, 6), (6, 8), 4)),),
            "standard": (
                # The document's size where a statement names it, and half of it for all other rows.
                Part(lists(21, (21, 18, 9), (8,), 16)),
                Part(lists(21, (20, 18, 15), (4,), 16), (ALIASES["AS1"],)),
                Part(lists(20, (18, 12, 6), (6, 8), 8)),
                # The highest temporal locality, and the lowest, on a smaller system.
                Part(lists(19, (6,), (0, 8), FIRST_TRAVERSALS)),
                # As many visits of links for each size of the system.
                *(Part(lists(g, tuple(s for s in (14, 10, 6) if s < g), (0, 8), 2 ** (24 - g))) for g in (10, 13, 16)),
                Part(lists(20, (17, 6), (5,), 8), _LOCAL),
                _shuffles(20, 18, 12, 8),
                *_elsewhere(20, 16, MALLOCS, COMPILERS),
            ),
            "shape": (
                Part(lists(21, tuple(range(21, -1, -1)), tuple(COLUMNS), FIRST_TRAVERSALS)),
                # If subsystems are smaller still, their pools need more memory than most machines have.
                Part(lists(25, (25, 24, 21, 18, 14, 10, 6), (0, 4, 8), FIRST_TRAVERSALS)),
                *(Part(lists(g, tuple(range(g, 5, -2)), (0, 4, 8), FIRST_TRAVERSALS)) for g in range(10, 19, 2)),
                _shuffles(23, 23, *range(22, 0, -2)),
            ),
            "paper": (
                Part(lists(21, tuple(range(21, -1, -1)), tuple(COLUMNS), TRAVERSALS)),
                Part(lists(25, tuple(range(25, -1, -1)), tuple(COLUMNS), TRAVERSALS)),
                *(Part(lists(g, tuple(range(g, 5, -2)), (0, 4, 8), TRAVERSALS)) for g in range(10, 19, 2)),
                Part(lists(21, (21, 18, 12, 6), (0, 4, 8), TRAVERSALS), _LOCAL),
                _shuffles(23, 23, *range(22, 0, -2)),
                *_elsewhere(20, 16, AROUND["malloc"][1:], AROUND["toolchain"][1:]),
            ),
        },
        # 2^13 links fill no second-level cache of today, and no first-level one holds them.
        counted={"quick": (Part(lists(13, (9,), (5,), 64)),)},
        documents_own={"AS7": DOCUMENTS_LOCKED["AS7"]}, extra_strategies=(LOCKED["AS7s"], OF_2015["AS7-2015"]),
    ),
    table=PaperTables(
        file="p0089_benchmark2.csv", read=_locality,
        tabulate=winner_maps, remark=partial(winner_sentences, usage.locality),
        layout=Tables(("log2_g", "strategy"), ("log2_s",), "af", "|S|", titles=_locality_title,
                      labels=lambda name, value: f"2^{value}" if name == "log2_s" else f"{value} ×",
                      quotients=(Quotient("AS1 / this", to_baseline, itself, printed=GAIN),)),
        notation=notation,
    ),
    rules=RunRules(needs=needs.locality),
    rounds={**ROUNDS, "shape": 1},
    notes=("AS7 is our multipool, without a lock. The document's took one in this benchmark: AS7s-2015 is built like "
           "that, with headers and powers of two.",
           "Below paper scale links are traversed fewer times than the document's 2560, as often in all rows and "
           "columns of a table: a slowdown is a quotient. Scale shape has the 256 times that the document first chose.",
           "Traversals are timed apart from shuffling; the document subtracted a run without traversals."),
), **AROUND)  # fmt: skip


def _printed(**columns: str) -> Callable[[Mapping[str, str]], PublishedFigure]:
    """Reads a row with a strategy, a value and its unit. `columns`: of the table, by the axis that they hold."""

    def read(row: Mapping[str, str]) -> PublishedFigure:
        at = point(**{axis: row[column] for axis, column in columns.items()})
        return PublishedFigure(at, ALIASES[row["strategy"]], row["value"], row["unit"])

    return read


def _totals(*totals: int, live: tuple[int, ...] = tuple(range(15, 21))) -> Part:
    """The paper's rows: first more live memory at blocks of 2^10 bytes, then larger blocks at 2^20 live."""
    return Part(tuple(
        made
        for total in totals
        for made in (*points(log2_t=[total], log2_a=live, log2_s=[10]),
                     *points(log2_t=[total], log2_a=[20], log2_s=range(11, 16)))
    ))  # fmt: skip


def _on_mallocs(some: tuple[Parameters, ...], mallocs: tuple[str, ...]) -> tuple[Part, ...]:
    return crossed([Part(some)], (ALIASES["AS1"], ALIASES["AS7"]), malloc=mallocs)


def _by_compilers(some: tuple[Parameters, ...]) -> tuple[Part, ...]:
    return crossed([Part(some)], (ALIASES["AS1"], ALIASES["AS7"]), toolchain=COMPILERS)


def _orders(orders: list[str], sizes: str) -> tuple[Parameters, ...]:
    """The few totals with other orders of frees, and other sizes of blocks."""
    return points(log2_t=[30], log2_a=[15, 20], log2_s=[10], order=orders, sizes=[sizes])


_FEW_TOTALS = points(log2_t=[30], log2_a=[15, 20], log2_s=[10])

BENCHMARK_3 = surrounded(EXPERIMENT(
    name="p0089.3", title="Benchmark III: utilization", section="9",
    measured="CPU seconds to allocate T bytes in blocks of S with A bytes alive, the oldest block freed first",
    data=DATA(
        workload="utilization", figure=Figure("cpu_seconds", "seconds", "cpu_seconds"), extra_metrics=EXTRA_METRICS[1:],
        axes=("log2_t", "log2_a", "log2_s"), strategies=_DESTROYED,
        parts={
            "quick": (_totals(30, live=(15, 20)),),
            # Four times the total, at the blocks whose statement compares totals.
            "standard": (_totals(30), Part(points(log2_t=[32], log2_a=[20], log2_s=[11, 12])),
                         *_on_mallocs(_FEW_TOTALS, MALLOCS), *_by_compilers(_FEW_TOTALS)),
            "paper": (_totals(*range(30, 36)), *_on_mallocs(_FEW_TOTALS, AROUND["malloc"][1:]),
                      Part(_orders(["lifo", "random"], "fixed")), Part(_orders(["fifo"], "mixed"))),
        },
        documents_own=DOCUMENTS_UNLOCKED,
    ),
    table=PaperTables(
        file="p0089_benchmark3.csv", read=_printed(log2_t="log2_T", log2_a="log2_A", log2_s="log2_S"),
        tabulate=winner_maps, remark=partial(winner_sentences, usage.utilization),
        layout=Tables(("log2_t",), ("log2_a", "log2_s"), "strategy", "A, S", True, labels=_power,
                      titles=lambda at: f"T = 2^{at['log2_t']} bytes in all"),
    ),
    rules=RunRules(needs=needs.utilization),
    notes=("AS7 to AS13 are our multipools. The document's took no lock in this benchmark: AS7-2015 to AS13-2015 are "
           "built like those, with headers, powers of two and a limit of 2^12 bytes.",
           "A strategy that would need more memory than there is does not run: it is refused, where the document "
           "prints `fail`.",),
), **AROUND)  # fmt: skip


def _threads(pairs: tuple[tuple[int, int], ...], threads: tuple[int, ...], sharing: str = "") -> tuple[Parameters, ...]:
    how = {"sharing": [sharing]} if sharing else {}
    return tuple(p for n, s in pairs for p in points(log2_n=[n], log2_s=[s], threads=threads, **how))


_FEW_THREADS = _threads(((15, 6), (19, 8)), (1, 2, 4))
_ITERATIONS = ((15, 6), (15, 7), (15, 8), (16, 8), (17, 8), (18, 8), (19, 8))
_SHARED = (ALIASES["AS1"], ALIASES["AS2"], "synchronized_multipool:type:destroy", LOCKED["AS7s"])


BENCHMARK_4 = surrounded(EXPERIMENT(
    name="p0089.4", title="Benchmark IV: contention", section="10",
    measured="Wall seconds until every thread has allocated and freed its block 2^N times; rows: threads",
    data=DATA(
        workload="contention", figure=Figure("wall_seconds", "seconds", "wall_seconds"), extra_metrics=EXTRA_METRICS,
        axes=("log2_n", "log2_s", "threads"), strategies=_DESTROYED,
        parts={
            "quick": (Part(_FEW_THREADS),),
            "standard": (Part(_threads(_ITERATIONS, (1, 2, 4, 8))),
                         Part(_threads(((18, 8),), (1, 2, 4), "shared"), _SHARED), *_on_mallocs(_FEW_THREADS, MALLOCS),
                         *_by_compilers(_FEW_THREADS)),
            "paper": (Part(_threads(_ITERATIONS, tuple(range(1, 9)))),
                      Part(_threads(((18, 8),), tuple(range(1, 9)), "shared"), _SHARED),
                      Part(_threads(((18, 8),), tuple(range(1, 9)), "handover"), _SHARED),
                      *_on_mallocs(_FEW_THREADS, AROUND["malloc"][1:])),
        },
        documents_own=DOCUMENTS_UNLOCKED,
    ),
    table=PaperTables(
        file="p0089_benchmark4.csv", read=_printed(log2_n="log2_N", log2_s="log2_S", threads="threads"),
        tabulate=winner_maps, remark=partial(winner_sentences, usage.contention),
        layout=Tables(("log2_n", "log2_s"), ("threads",), "strategy", "threads", True,
                      titles=lambda at: f"2^{at['log2_n']} iterations, blocks of 2^{at['log2_s']} bytes"),
    ),
    rules=RunRules(needs=needs.contention),
    notes=("AS7 to AS13 are our multipools. The document's took no lock in this benchmark: AS7-2015 to AS13-2015 are "
           "built like those, with headers, powers of two and a limit of 2^12 bytes.",
           "The document's machine had 12 cores. Where there are fewer cores than threads, threads take turns.",),
), **AROUND)  # fmt: skip


def _open(one: PublishedSpec) -> PublishedSpec:
    """The experiment as the base of those on open questions, without environments and extra strategies."""
    return replace(
        one,
        claims="p0089_anomalies.toml",
        data=replace(one.data, aliases=ALIASES, under={}, documents_own={}, extra_strategies=(), counted={}),
        table=replace(one.table, notation=lambda _text: None, tabulate=lambda _results: [], remark=lambda _results: []),
    )


OPEN_1, OPEN_2 = _open(BENCHMARK_1), _open(BENCHMARK_2)
EXPERIMENTS = (BENCHMARK_1, BENCHMARK_2, BENCHMARK_3, BENCHMARK_4)
