# SPDX-License-Identifier: BSL-1.0
"""The tables of Grunwald, Zorn and Henderson (1993) as points: the printed values, and what follows from them.

    tables 4, 5   total and miss seconds of each program on each allocator, caches of 16 and 64 KB
                  ─▶ base = total - miss, and with it any penalty P: base + miss · P / 25
                  ─▶ misses per thousand instructions: 1000 · miss / (25 · base)
    table 2       instructions, data references, heap and objects under FIRSTFIT
                  ─▶ miss rate ≈ miss seconds / (25 · 62.5 ns) / references: "other allocators have a similar number"
    table 6       miss rates and penalties of GNU LOCAL with and without tags, 64 KB

The tables imply 62.5 ns for each instruction: this is base seconds under FIRSTFIT / instructions for every program.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from io import StringIO

from millpond_bench.experiments.paper_tables import PublishedFigure

CYCLE_SECONDS = 62.5e-9
PENALTY_CYCLES = 25
PENALTIES = (10, 25, 50, 100, 200)
# The paper's names of the allocators.
ALIASES: Mapping[str, str] = {
    "FIRSTFIT": "first_fit", "QUICKFIT": "quick_fit", "GNU G++": "gnu_gxx", "BSD": "bsd", "GNU LOCAL": "gnu_local",
}  # fmt: skip
_BASELINE = "first_fit"
_OF_MACHINE_KB = 64  # the cache of the machine on which table 2 was measured
_LARGEST_INPUT = {"GS-Large": "GS"}  # the input of the other tables
Figures = dict[str, list[PublishedFigure]]


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("millpond_bench.suites") / "paper" / f"grunwald1993_{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(StringIO(text)))


def _number(value: float) -> str:
    return f"{value:.6g}"


@cache
def times() -> Mapping[tuple[str, str, int], tuple[float, float]]:
    """For each program, allocator and KB of cache: base seconds, and seconds of misses at 25 cycles each."""
    return {
        (row["program"], ALIASES[row["allocator"]], int(row["cache_kbytes"])): (
            float(row["total_seconds"]) - float(row["miss_seconds"]), float(row["miss_seconds"])
        )
        for row in _rows("tables4_5_time")
    }  # fmt: skip


@cache
def references() -> Mapping[str, float]:
    """Data references of each program and input under FIRSTFIT."""
    rows = [*_rows("table2_programs"), *_rows("table3_gs_inputs")]
    return {row.get("program") or row["input"]: 1e6 * float(row["data_refs_1e6"]) for row in rows}


def of_times() -> Figures:
    """Points of program and cache; the figure is the total time."""
    found: Figures = {}
    for (program, strategy, cache_kb), (base, misses) in times().items():
        point = (("program", program), ("cache", cache_kb))
        values = {
            "": base + misses, "base_seconds": base, "miss_seconds": misses, "miss_share": misses / (base + misses),
            "misses_a_thousand": 1000 * misses / PENALTY_CYCLES / base,
            **{f"seconds_at_{penalty}": base + misses * penalty / PENALTY_CYCLES for penalty in PENALTIES},
        }  # fmt: skip
        for metric, value in values.items():
            found.setdefault(metric, []).append(PublishedFigure(point, strategy, _number(value), "seconds", metric))
    return found


def of_caches() -> Figures:
    """Points of program, line and cache; the figure is the share of references that miss, in percent."""
    return {
        "": [
            PublishedFigure((("program", program), ("line", 32), ("cache", cache_kb)), strategy,
                      _number(100 * misses / (PENALTY_CYCLES * CYCLE_SECONDS) / references()[program]), "%")
            for (program, strategy, cache_kb), (_, misses) in times().items()
        ]
    }  # fmt: skip


def of_programs() -> Figures:
    """Points of program, only under FIRSTFIT; the figure is data references in millions."""
    metrics = {
        "": ("data_refs_1e6", 1.0), "instructions_executed": ("instructions_1e6", 1e6),
        "heap_bytes": ("max_heap_kbytes", 1024.0),
        "objects_allocated": ("objects_allocated_1000s", 1000.0),
        "objects_freed": ("objects_freed_1000s", 1000.0),
    }  # fmt: skip
    found = {metric: list(_column(metric, *column)) for metric, column in metrics.items()}
    freed = {one.point: one.value or 0.0 for one in found["objects_freed"]}
    found["freed_share"] = [
        PublishedFigure(one.point, one.strategy, _number(freed[one.point] / (one.value or 1.0)), "share", "freed_share")
        for one in found["objects_allocated"]
    ]
    return found


def _column(metric: str, column: str, unit: float) -> Iterator[PublishedFigure]:
    rows = [*_rows("table2_programs"), *_rows("table3_gs_inputs")]
    for row in rows:
        program = row.get("program") or row["input"]
        if program not in _LARGEST_INPUT:
            yield PublishedFigure((("program", program),), _BASELINE, _number(unit * float(row[column])), "", metric)


def of_model() -> Figures:
    """Points of program, only under FIRSTFIT: the time that table 5 estimates, divided by the time in table 2."""
    measured = {row["program"]: float(row["exec_seconds"]) for row in _rows("table2_programs")}
    return {
        "": [
            PublishedFigure((("program", program),), _BASELINE,
                      _number(sum(times()[program, _BASELINE, _OF_MACHINE_KB]) / seconds), "ratio")
            for program, seconds in measured.items()
        ]
    }  # fmt: skip


def of_tags() -> Figures:
    """Points of program; strategies gnu_local without and gnu_local_padded with tags.

    The figure is the miss rate in percent. `miss_penalty` and `tag_penalty` are percentages of the time without tags;
    the second is the time that the tags add.
    """
    rows = {row["metric"]: row for row in _rows("table6_boundary_tags")}
    metrics = {
        "": {"gnu_local": "miss_rate_percent_no_tags", "gnu_local_padded": "miss_rate_percent_with_tags"},
        "miss_penalty": {"gnu_local": "miss_penalty_percent_no_tags",
                         "gnu_local_padded": "miss_penalty_percent_with_tags"},
        "tag_penalty": {"gnu_local_padded": "penalty_percent_due_to_tags"},
    }  # fmt: skip
    found = {
        metric: [
            PublishedFigure((("program", program),), strategy, value, "%", metric)
            for strategy, name in columns.items()
            for program, value in rows[name].items()
            if program != "metric"
        ]
        for metric, columns in metrics.items()
    }
    # The value if the penalty is K times as high: K · added / (1 + (K - 1) · waiting without tags).
    times = PENALTIES[-1] / PENALTY_CYCLES
    waiting = rows["miss_penalty_percent_no_tags"]
    found["tag_growth"] = [
        PublishedFigure((("program", program),), "gnu_local_padded",
                  _number(times / (1 + (times - 1) * float(waiting[program]) / 100)), "ratio", "tag_growth")
        for program in waiting if program != "metric"
    ]  # fmt: skip
    return found
