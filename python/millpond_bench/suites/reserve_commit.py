# SPDX-License-Identifier: BSL-1.0
"""The measurements of "Reserve and commit" (2023), as data.

    reserve_commit.1   memory        growth        peak resident bytes while an array grows
    reserve_commit.2   throughput    growth        the time of all appends, at three levels of optimisation
    reserve_commit.3   latency       latency       the time of each append, and which appends made the memory grow
    reserve_commit.4   commit step   commit_step   memory in steps of one page up to 16 MiB
    reserve_commit.5   giving back   give_back     MADV_FREE and MADV_DONTNEED

The paper's tables were pictures, and their numbers are lost, so only its sentences are judged. Histograms of DTrace
are left as text (`dtrace`); their sums give the lengths.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib.resources import files
from io import StringIO

from millpond.cells.metrics import MetricKind
from millpond_bench.experiments.experiment import PublishedSpec, suite_metrics
from millpond_bench.experiments.experiment_data import ExperimentData, Figure, Part, points, thousands
from millpond_bench.experiments.paper_tables import PaperTables, Tables
from millpond_bench.experiments.run_rules import RunRules
from millpond_bench.pages import suite_charts
from millpond_bench.suites import reserve_commit_needs as needs

SUITE, CLAIMS = "millpond-reserve_commit-suite", "reserve_commit.toml"
METRICS = suite_metrics(
    dict.fromkeys(("slow_step_share", "mode_ratio", "slow"), MetricKind.TIME),
    **{f"{m}_seconds": "seconds" for m in ("destroy", "touch", "give", "again", "both", "step", "commit")},
    **{f"{m}_bytes": "bytes" for m in ("capacity", "committed", "touched", "given")},
    **{f"{m}_ns": "ns" for m in ("clock", "shortest", "p50", "p90", "p99", "p99_9", "p99_99", "longest")},
    **{f"{m}_ns": "ns" for m in ("step_p50", "step_longest", "plain_p50", "plain_longest")},
    **dict.fromkeys(("used_share", "slow_step_share", "given_share"), "share"),
    **dict.fromkeys(("peak_to_end", "mode_ratio", "moves_an_element"), "ratio"),
    address_changes="changes",
    stopped_reads="share",
    **{name: name for name in ("slow", "steps", "commits", "populates")},
    appends="appends",
    stepped="appends",
)
SOURCE = "Reserve and commit"
MACHINE = "AMD Ryzen 7 2700X, 16 GB: Windows 10, FreeBSD 13.1, Debian 11 with gcc 10.2; Mac Mini M1, 16 GB (2023)"
ALIASES: Mapping[str, str] = {
    "std::vector": "vector", "DynArray": "dyn_array_2023", "MADV_FREE": "madv_free", "MADV_DONTNEED": "madv_dontneed",
}  # fmt: skip
# For any element; arrays that move bytes take only ints.
_ANY = ("vector", "dyn_array_2023", "dyn_array", "deque", "chunked")
_INT = (*_ANY, "realloc", "mremap")
_STEPPED = ("dyn_array_2023", "dyn_array")
_WAYS = ("madv_dontneed", "madv_free", "decommit", "keep")
LEVELS = (0, 1, 2)
MILLION = 10**6
LENGTHS = (10**3, MILLION, 10**9, 10**10)
# Where the buffer of a vector has just doubled: one element beyond a power of two.
JUST_DOUBLED = 2**23 + 1
STEPS = range(12, 25)
TEN = 10  # ints, which fit into a small part of a page
# Memory for half as many ints again as there are: a std::vector that doubles needs up to three times as many.
_SHORT_LENGTH, _SHORT_BYTES = 10**7, 60 * MILLION

_LOST = "The document's tables were pictures, and their numbers are lost: its sentences are what is judged."
_FROM_DTRACE = (
    "The lengths are those that the document's DTrace histograms add up to: appends of 10^3, 10^6 and 10^9 unique_ptrs "
    "and of up to 10^10 ints, and a commit for each 4096 bytes of them."
)
_PUBLISHED_TWIN = (
    "DynArray is the document's array as it describes it: a system call and a page fault for each page. dyn_array is "
    "this library's."
)


@cache
def dtrace() -> tuple[tuple[str, int, int], ...]:
    """The histograms that the paper prints as text: probe, the least microseconds of a bucket, its count."""
    text = (files("millpond_bench.suites") / "paper" / "reserve_commit_dtrace.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(StringIO(text))
    return tuple((row["probe"], int(row["at_least_us"]), int(row["count"])) for row in rows)


def _label(name: str, value: int | str) -> str:
    return f"2^{value}" if name.startswith("log2_") else thousands(name, value)


def _one_table(title: str, corner: str, *rows: str, split: tuple[str, ...] = ()) -> Tables:
    def titled(at: Mapping[str, int | str]) -> str:
        words = {"optimisation": "-O{}", "pages": "{} pages"}
        return ", ".join([title, *(words[name].format(at[name]) for name in split)])

    return Tables(split, rows, "strategy", corner, titles=titled, labels=_label, own_rows=True)


def _by_element(
    lengths: Iterable[int], levels: tuple[int, ...] = LEVELS, elements: tuple[str, ...] = ("int", "unique_ptr")
) -> tuple[Part, ...]:
    """Every length and level: ints under all strategies, others under strategies that accept them."""
    made = list(lengths)
    return tuple(
        Part(points(length=made, element=[element], optimisation=levels), _INT if element == "int" else _ANY)
        for element in elements
    )


def _counted(*lengths: int, levels: tuple[int, ...] = LEVELS) -> tuple[Part, ...]:
    return _by_element(lengths, levels, ("counted",))


def _pages(axis: str, small: Iterable[int], *huge: int) -> tuple[Part, ...]:
    return (
        Part(points(**{"pages": ["small"], axis: small})),
        Part(points(**{"pages": ["huge"], axis: huge})),
    )


_experiment = partial(PublishedSpec, source=SOURCE, machine=MACHINE, suite=SUITE, metrics=METRICS, claims=CLAIMS)
_data = partial(ExperimentData, aliases=ALIASES)
# A program for each level that is not the suite's own.
_BUILDS = {"optimisation": {"0": "O0", "1": "O1"}}

MEMORY = _experiment(
    name="reserve_commit.1", title="Memory", section="Memory",
    measured="Resident bytes at most while so many ints are appended to an array that does not know how many will come",
    data=_data(
        workload="growth", figure=Figure("peak_bytes", "bytes", "peak_bytes"),
        extra_metrics=("end_bytes", "peak_to_end", "capacity_bytes", "used_share", "committed_bytes", "cpu_seconds",
                        "page_faults", "stopped_reads"),
        axes=("pages", "length"), strategies=_INT,
        parts={
            "quick": _pages("length", [TEN, 10**3, MILLION, 10**7, JUST_DOUBLED], 10**7),
            "standard": _pages("length", [TEN, 10**3, MILLION, 10**7, JUST_DOUBLED, 10**8], 10**7, 10**8),
            "paper": _pages("length", [TEN, *LENGTHS, 10**7, JUST_DOUBLED], 10**9),
        },
    ),
    table=PaperTables(layout=_one_table("Peak resident bytes", "ints", "length", split=("pages",))),
    rules=RunRules(needs=needs.growth),
    notes=(_LOST, _FROM_DTRACE, _PUBLISHED_TWIN,
           "Below 100 000 elements the program itself is most of what is resident."),
)  # fmt: skip

SHORT = _experiment(
    name="reserve_commit.short", title="Memory for little more than the elements", section="Memory",
    measured="Whether so many ints can be appended with memory for half as many again",
    data=_data(
        workload="growth", figure=Figure("peak_bytes", "bytes", "peak_bytes"),
        extra_metrics=("end_bytes", "cpu_seconds"), axes=("length",), strategies=_INT,
        parts=dict.fromkeys(("quick", "standard", "paper"), (Part(points(length=[_SHORT_LENGTH])),)),
    ),
    table=PaperTables(layout=_one_table("Peak resident bytes", "ints", "length")),
    rules=RunRules(writable_bytes=_SHORT_BYTES, needs=needs.growth),
    rounds={"quick": 1, "standard": 1, "paper": 1}, fewest_rounds=1,
    notes=("The document has 10^10 ints on 16 GB, and what Windows adds by its page file. Here a process may write to "
           "60 MB, and 10^7 ints take 40: address space that is only reserved does not count.",),
)  # fmt: skip

THROUGHPUT = _experiment(
    name="reserve_commit.2", title="Throughput", section="Throughput",
    measured="CPU nanoseconds an element to construct the whole array, at each level of optimisation",
    data=_data(
        workload="growth", figure=Figure("element_cpu_ns", "ns", "cpu_seconds", per_units=10**9),
        extra_metrics=("cpu_seconds", "destroy_seconds", "peak_bytes", "page_faults", "commits", "populates",
                        "moves_an_element", "address_changes"),
        axes=("length", "element", "optimisation"), strategies=_INT,
        parts={
            "quick": (*_by_element((MILLION, 10**7), (0, 2)), *_counted(MILLION, levels=(0, 2))),
            "standard": (*_by_element((10**3, MILLION, 10**7)), *_by_element((10**8,), LEVELS[-1:]),
                         *_counted(MILLION, 10**7)),
            "paper": (*_by_element((*LENGTHS, 10**7, 10**8)), *_counted(MILLION, 10**7)),
        },
    ),
    table=PaperTables(
        layout=_one_table("ns an element", "element, length", "element", "length", split=("optimisation",)),
    ),
    rules=RunRules(needs=needs.growth, builds=_BUILDS),
    notes=(_LOST, _FROM_DTRACE, _PUBLISHED_TWIN, "unique_ptrs own nothing; `counted` is an int that counts its moves."),
)  # fmt: skip

LATENCY = _experiment(
    name="reserve_commit.3", title="Latency", section="Latency",
    measured="Wall nanoseconds of the longest append of all; also of the others, and of the steps of memory",
    data=_data(
        workload="latency", figure=Figure("longest_ns", "ns", "longest_ns"),
        extra_metrics=("clock_ns", "shortest_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "slow",
                        "slow_step_share",
                        "steps", "step_seconds", "step_p50_ns", "step_longest_ns", "plain_p50_ns", "plain_longest_ns",
                        "mode_ratio", "commits", "populates", "commit_seconds", "cpu_seconds", "peak_bytes"),
        axes=("length", "element", "optimisation"), strategies=_INT,
        parts={
            "quick": _by_element((MILLION,), (0, 2)),
            "standard": (*_by_element((10**3, MILLION)), *_by_element((10**7,), LEVELS[-1:])),
            "paper": _by_element((*LENGTHS, 10**7)),
        },
    ),
    table=PaperTables(
        layout=_one_table("ns of the longest append", "element, length", "element", "length", split=("optimisation",)),
        tabulate=lambda results: suite_charts.latencies(results, dtrace()),
    ),
    rules=RunRules(needs=needs.latency, builds=_BUILDS),
    notes=(_LOST, _FROM_DTRACE, _PUBLISHED_TWIN,
           "Every append is timed by itself, and the clock's own time is in it (clock_ns). A virtual machine takes the "
           "processor away now and then: the longest of a length is as much the machine's as the array's."),
)  # fmt: skip

COMMIT_STEP = _experiment(
    name="reserve_commit.4", title="Commit step", section="The code",
    measured="CPU nanoseconds an int to grow an array whose memory comes in steps of so many bytes",
    data=_data(
        workload="commit_step", figure=Figure("element_cpu_ns", "ns", "cpu_seconds", per_units=10**9),
        extra_metrics=("cpu_seconds", "commits", "populates", "committed_bytes", "peak_bytes", "page_faults"),
        axes=("length", "log2_step"), strategies=_STEPPED,
        parts={
            "quick": (Part(points(length=[4 * MILLION], log2_step=range(12, 25, 2))),),
            "standard": (Part(points(length=[MILLION, 16 * MILLION], log2_step=STEPS)),),
            "paper": (Part(points(length=[MILLION, 16 * MILLION, 10**9], log2_step=STEPS)),),
        },
    ),
    table=PaperTables(layout=_one_table("ns an element", "ints, bytes of a step", "length", "log2_step")),
    rules=RunRules(needs=needs.growth),
    notes=(_LOST, _PUBLISHED_TWIN),
)  # fmt: skip

GIVE_BACK = _experiment(
    name="reserve_commit.5", title="Giving memory back", section="What about shrinking?",
    measured="CPU seconds to give a touched range back and to touch it again",
    data=_data(
        workload="give_back", figure=Figure("both_seconds", "seconds", "both_seconds"),
        extra_metrics=("touch_seconds", "give_seconds", "again_seconds", "touched_bytes", "given_bytes", "given_share",
                        "end_bytes", "page_faults"),
        axes=("pages", "log2_bytes"), strategies=_WAYS,
        parts={
            "quick": _pages("log2_bytes", [24, 26], 26),
            "standard": _pages("log2_bytes", [20, 24, 26, 28, 30], 26, 28),
            "paper": _pages("log2_bytes", range(20, 33), 26, 28, 30),
        },
    ),
    table=PaperTables(
        layout=_one_table("seconds to give back and touch again", "bytes", "log2_bytes", split=("pages",)),
    ),
    rules=RunRules(needs=needs.give_back),
    notes=("The document names both ways and measures neither.",
           "decommit is what dyn_array does: a new mapping without access, so that the charge goes back, too."),
)  # fmt: skip

EXPERIMENTS = (MEMORY, THROUGHPUT, LATENCY, COMMIT_STEP, GIVE_BACK, SHORT)
