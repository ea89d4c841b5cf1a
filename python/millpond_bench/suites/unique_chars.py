# SPDX-License-Identifier: BSL-1.0
"""The case studies of "Understanding Allocator Impact on Runtime Performance" (Amini, 2022), as data.

    unique_chars   unique_characters   a fresh set for each string counts its different characters, on a fresh heap
                                       (Case Study 1) or a littered one (Case Study 2)

The talk's figures were charts, and are lost; its contenders and its statements are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millpond.cells.cell import LITTER
from millpond_bench.experiments.experiment import PublishedSpec, suite_metrics
from millpond_bench.experiments.experiment_data import ExperimentData, Figure, Parameters, Part
from millpond_bench.experiments.paper_tables import PaperTables, Tables
from millpond_bench.experiments.quotients import Quotient, itself, on_fresh_heap, to_baseline
from millpond_bench.experiments.run_rules import Needs, RunRules
from millpond_bench.pages import suite_figures
from millpond_bench.runs.extra_runs import HEAP_PICTURE

SUITE = "millpond-unique_chars-suite"
METRICS = suite_metrics()
SOURCE = "Understanding Allocator Impact on Runtime Performance"
MACHINE = "Xeon Silver 4210 (Cascade Lake), Core i7-980 (Gulftown) and Xeon E5-2450 (Sandy Bridge EN), glibc (2022)"
ALIASES: Mapping[str, str] = {
    "1.1": "set:new_delete:type:destroy",
    "1.2": "set:pmr_monotonic:base:destroy",
    "1.3": "set:pmr_monotonic(buffer):base:destroy",
    "2.1": "unordered_set:new_delete:type:destroy",
    "2.2": "unordered_set:pmr_monotonic:base:destroy",
    "4": "bitset",
    "4A": "array",
}
# Our contenders in the place of the talk's.
OURS = (
    "set:monotonic:type:destroy", "set:monotonic(buffer):type:destroy", "set:monotonic(buffer):type:wink",
    "set:multipool:type:destroy", "unordered_set:monotonic:type:destroy", "unordered_set:multipool:type:destroy",
)  # fmt: skip
_OTHER_WAYS = (
    "set:monotonic:type:wink", "set:monotonic:base:destroy", "set:monotonic(buffer):base:destroy",
    "set:multipool:type:wink", "set:multipool:base:destroy", "unordered_set:monotonic:type:wink",
    "unordered_set:monotonic:base:destroy", "unordered_set:multipool:type:wink", "unordered_set:multipool:base:destroy",
)  # fmt: skip
_COUNTED = ("1.1", "1.2", "1.3", "2.1", "2.2")
_LITTERED = "0.5"
_FEWEST_CALLS, _LITTER_CALLS = 64, 4096


def _strings(characters: int, *lengths: int) -> tuple[Part, ...]:
    """Strings of each length, about that many characters in all; on a fresh heap and on a littered one."""
    points: list[Parameters] = []
    for length in lengths:
        made = (("length", str(length)), ("calls", str(max(_FEWEST_CALLS, characters // length))))
        points += [made, (*made, (LITTER, _LITTERED))]
    return (Part(tuple(points)),)


def _needs(at: Mapping[str, str], strategy: str) -> Needs:
    """Twenty nanoseconds per character, twice that if each is a node of its own."""
    length = int(at["length"])
    each = length * (1e-9 if strategy in ("bitset", "array") else 20e-9) + min(length, 256) * 40e-9
    own = Needs(0.01 + int(at["calls"]) * each, 16 * 2**20 + 2 * length)
    if LITTER not in at:
        return own
    # A heap is littered by the nodes and tables of as many sets, each of 256 characters at most.
    sets = int(at.get("litter_calls", _LITTER_CALLS))
    return Needs(own.seconds + sets * length * 20e-9, own.bytes + sets * 2**14)


def _title(at: Mapping[str, int | str]) -> str:
    return f"heap littered, {at[LITTER]} % of it freed" if at[LITTER] else "fresh heap"


# The talk's charts, as far as they can be counted.
RELATIVE = Quotient("run time relative to std::set (1.1)", itself, to_baseline)
LITTERED = Quotient("run time, littered / fresh", itself, on_fresh_heap)
QUOTIENTS = (
    RELATIVE,
    LITTERED,
    Quotient("loads relative to std::set", itself, to_baseline, "l1d_loads"),
    Quotient("share of loads that miss L1, relative to std::set", itself, to_baseline, "l1d_misses", "l1d_loads"),
    Quotient("stalled cycles, littered / fresh", itself, on_fresh_heap, "stalled_cycles"),
)


COUNTING = PublishedSpec(
    name="unique_chars", title="Unique characters: allocator impact, and littering", section="Case Study 1",
    source=SOURCE, machine=MACHINE,
    measured="CPU time to count the different characters of a string by a container of its own, a string after the "
             "other",
    suite=SUITE, metrics=METRICS,
    data=ExperimentData(
        workload="unique_characters", figure=Figure("string_ns", "ns a string", "cpu_seconds", per_units=10**9),
        extra_metrics=("cpu_seconds", "peak_bytes", "held_bytes", "page_faults"), axes=("length", LITTER),
        free=("calls", "litter_calls", LITTER), strategies=(*ALIASES.values(), *OURS), aliases=ALIASES,
        parts={
            "quick": _strings(2**18, 16, 256, 4096),
            "standard": _strings(2**21, 4, 16, 64, 256, 1024, 4096, 16384),
            "paper": _strings(2**24, *(2**n for n in range(17))),
        },
        # Strings whose sets have more nodes than fit into a few lines.
        counted={"quick": (replace(*_strings(2**14, 256), strategies=tuple(ALIASES[name] for name in _COUNTED)),)},
        extra_strategies=_OTHER_WAYS,
    ),
    table=PaperTables(
        layout=Tables((LITTER,), ("length",), "strategy", "strings of", titles=_title, own_rows=True,
                      labels=lambda _name, value: f"{value} characters", quotients=QUOTIENTS),
        draw=suite_figures.unique_characters,
    ),
    rules=RunRules(needs=_needs, extra_runs=(HEAP_PICTURE,)),
    claims="unique_chars.toml",
    notes=("The talk's charts are lost: there are only our figures, and the lengths are our own.",
           "Littered: 4096 strings were counted by the talk's sets first, their blocks held, half of them freed at "
           "random."),
)  # fmt: skip

EXPERIMENTS = (COUNTING,)
