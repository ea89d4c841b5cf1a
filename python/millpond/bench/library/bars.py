# SPDX-License-Identifier: BSL-1.0
"""The bars of bench-library: what each is about, its limit, and whether it holds.

    bar ── its lines (workload × comparison) ── a figure each ── figure of the bar: its worst line's
                                                             └── holds: every line does

A figure is the median over the rounds; the interval stands beside it. A bar whose lines were not asked for is left out;
a line that was asked for and could not be measured does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.bench.library.arrays import PAUSE, PEAK
from millpond.bench.library.comparisons import COUNT, GROWTH, OTHERS, SMALL_ARRAYS, STRUCTURES, hardened_pairs
from millpond.bench.library.lines import Line, Rounds, geometric_mean
from millpond.bench.library.random_sizes import HELD
from millpond.bench.library.slots import (
    ALLOCATE,
    ELEMENT,
    FREED,
    FREES,
    FULL,
    INSERTS,
    KEPT,
    PAIR,
    RETURNED,
    SPARSE,
    TRAVERSAL,
    growth_of_instructions,
    is_of,
)
from millpond.bench.results import Row
from millpond.cells.cell import Cell
from millpond.statistics.order_statistics import Summary, summarise

BETTER, AT_IDEAL = 0.95, 1.05
# The kernel counts resident pages in batches of so many for each processor: less than that is not seen.
RESOLUTION_BYTES = 64 * 4096
_MISSED_SHOWN = 6
_FEW_LIVE = 1000

Figure = Callable[[Line], Summary | None]
Test = Callable[[Line, Summary, float], bool]


@dataclass(frozen=True)
class Rule:
    """A bar: the lines that it is about, the figure of each, its limit and how it is kept."""

    name: str
    limit: float
    about: Callable[[Line], bool]
    figure: Figure
    keeps: Test
    unit: str = "×"
    also: str = ""


@dataclass(frozen=True)
class Judged:
    """One line under a bar."""

    line: Line
    figure: Summary | None
    holds: bool

    def text(self) -> str:
        """The line in a few words, with why it has no figure where it has none."""
        what = f"{self.figure.median:.3g}" if self.figure else self.line.note or "not measured"
        return f"{self.line.workload} {self.line.comparison.partition('_')[0]} {what}"

    def to_json(self) -> dict[str, Any]:
        line = self.line
        return {
            "workload": line.workload, "comparison": line.comparison, "ours_name": line.ours_name,
            "best_peer_name": line.best_peer_name or None,
            "figure": self.figure.to_json() if self.figure else None,
            "ratio_to_ideal": line.to_ideal.median if line.to_ideal else None, "holds": self.holds, "note": line.note,
        }  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """A bar with its lines. `figure` is the worst line's: one that does not hold before all that do."""

    name: str
    limit: float
    unit: str
    figure: Summary | None
    holds: bool
    lines: tuple[Judged, ...] = ()
    also: str = ""
    worst: str = ""

    def to_json(self) -> dict[str, Any]:
        """As the benchmark's document has it: name, limit, figure, holds; and every line."""
        return {
            "name": self.name, "limit": self.limit, "unit": self.unit, "also": self.also,
            "figure": self.figure.to_json() if self.figure else None, "holds": self.holds, "worst": self.worst,
            "lines_that_hold": sum(j.holds for j in self.lines), "lines": [j.to_json() for j in self.lines],
        }  # fmt: skip

    def row(self) -> Row:
        """The bar as a line of the table that all benchmarks print."""
        notes = [self.worst]
        if len(self.lines) > 1:
            missed = [j for j in self.lines if not j.holds]
            more = f" and {len(missed) - _MISSED_SHOWN} more" if len(missed) > _MISSED_SHOWN else ""
            notes = [f"worst: {self.worst}", f"{len(self.lines) - len(missed)} of {len(self.lines)} hold"]
            notes += [f"missed: {', '.join(j.text() for j in missed[:_MISSED_SHOWN])}{more}"] if missed else []
        text = "; ".join(filter(None, notes))
        return Row(self.name, self.worst, self.unit, self.figure, self.limit, note=text, kept=self.holds)


def _to_peer(line: Line) -> Summary | None:
    return line.to_peer


def _to_ideal(line: Line) -> Summary | None:
    return line.to_ideal


def _at_most(_: Line, figure: Summary, limit: float) -> bool:
    return figure.median <= limit


def _better_or_ideal(line: Line, figure: Summary, limit: float) -> bool:
    return figure.median <= limit or (line.to_ideal is not None and line.to_ideal.median <= AT_IDEAL)


def _lean(line: Line, figure: Summary, limit: float) -> bool:
    within = line.ours is not None and line.best_peer is not None and line.ours - line.best_peer <= RESOLUTION_BYTES
    return figure.median <= limit or within


def _count(line: Line) -> Summary | None:
    return summarise([line.ours]) if line.ours is not None else None


def _is(*comparisons: str, benchmarks: Sequence[str] = ()) -> Callable[[Line], bool]:
    return lambda line: line.comparison in comparisons and (not benchmarks or line.benchmark in benchmarks)


def _long_lists(line: Line) -> bool:
    shuffled = line.comparison == "after_against_before"
    return shuffled and int(line.parameters.get("size", 0)) >= 2**12 and int(line.parameters.get("af", 0)) >= 16


def _counted(benchmark: str, ours: str) -> Callable[[Line], bool]:
    return _is(f"{COUNT}_{ours}", benchmarks=(benchmark,))


def _at_most_or_noise(_: Line, figure: Summary, limit: float) -> bool:
    return figure.low <= limit


def _lean_or_small(line: Line, figure: Summary, limit: float) -> bool:
    return figure.median <= limit or (line.ours is not None and line.ours <= RESOLUTION_BYTES)


def _few_live(line: Line) -> bool:
    return line.comparison == PAIR and int(line.parameters.get("size", 0)) <= _FEW_LIVE


_ROWS = (*STRUCTURES, *OTHERS)
_OR_IDEAL = f"or ≤ {AT_IDEAL} × the ideal"
RULES: tuple[Rule, ...] = (
    Rule("multipool against the best pool peer over kept chunks", BETTER,
         _is("kept_multipool", benchmarks=_ROWS), _to_peer, _better_or_ideal, also=_OR_IDEAL),
    Rule("monotonic against the best monotonic peer over kept chunks", BETTER,
         _is("kept_monotonic", benchmarks=_ROWS), _to_peer, _better_or_ideal, also=_OR_IDEAL),
    Rule("the better of both against the best of all, at their defaults", BETTER,
         _is("default", benchmarks=_ROWS), _to_peer, _better_or_ideal, also=_OR_IDEAL),
    Rule("resident bytes, against the leanest peer within 10 % of our time", 1.10,
         _is("held", "held_multipool", "held_monotonic", benchmarks=_ROWS), _to_peer, _lean,
         also=f"or ≤ {RESOLUTION_BYTES // 1024} KiB more"),
    Rule("free + allocate of one size, against the ideal free list", 1.15,
         _is("against_free_list"), _to_ideal, _at_most),
    Rule("free + allocate: from one size to the next", 2.0, _is("step"), _to_peer, _at_most),
    Rule("instructions of free + allocate, type binding", 30.0,
         _counted("instructions_pair", "multipool"), _count, _at_most, "instructions"),
    Rule("instructions of free + allocate, base binding", 45.0,
         _counted("instructions_pair", "multipool:base"), _count, _at_most, "instructions"),
    Rule("instructions to construct and destroy an empty multipool", 60.0,
         _counted("instructions_construct", "multipool"), _count, _at_most, "instructions"),
    Rule("instructions to construct and destroy an empty monotonic", 25.0,
         _counted("instructions_construct", "monotonic"), _count, _at_most, "instructions"),
    Rule("a vector of 64 int with a fresh multipool, against std::allocator", 1.25,
         _is("multipool_against_glibc", benchmarks=("vector_int_64",)), _to_peer, _at_most),
    Rule("a vector of 64 int with a fresh monotonic, against std::allocator", 1.10,
         _is("monotonic_against_glibc", benchmarks=("vector_int_64",)), _to_peer, _at_most),
    Rule("lists after shuffling, against the best pool peer", 1.0, _is("after_shuffling"), _to_peer, _at_most),
    Rule("lists of 2^12 and more, af 16 and more: after against before shuffling", 1.10,
         _long_lists, _to_peer, _at_most),
    Rule("synchronized_multipool, own thread, against glibc", 0.5,
         _is("synchronized_multipool_against_glibc", benchmarks=("threads_own",)), _to_peer, _at_most),
    Rule("synchronized_multipool, freed by another thread, against glibc", 1.0,
         _is("synchronized_multipool_against_glibc", benchmarks=("threads_handover",)), _to_peer, _at_most),
    Rule("churn of 1 M and 10 M live blocks, against glibc", 1.0,
         _is("multipool_against_glibc", benchmarks=("churn_fifo", "churn_random")), _to_peer, _at_most),
    Rule("resident bytes of blocks of random sizes, against the bytes that are live", 1.35,
         lambda line: line.comparison.startswith(HELD), _to_peer, _at_most),
    Rule("push_back to dyn_array, pages of 4 KB, against the best array", 0.95,
         _is("growth", benchmarks=GROWTH[:1]), _to_peer, _at_most),
    Rule("push_back to dyn_array, huge pages allowed, against the best array", 1.0,
         _is("growth", benchmarks=GROWTH[1:]), _to_peer, _at_most),
    Rule("peak resident bytes of push_back to dyn_array, against its elements", 1.01,
         _is(PEAK, benchmarks=GROWTH), _to_peer, _lean, also=f"or ≤ {RESOLUTION_BYTES // 1024} KiB more"),
    Rule("longest pause of push_back to dyn_array, against std::vector's", 1 / 20,
         _is(PAUSE), _to_peer, _at_most, also="that of a control subtracted from both"),
    Rule("small dyn_arrays, without their reservation, against std::vector", 1.10,
         _is("fresh", "cleared", benchmarks=SMALL_ARRAYS), _to_peer, _at_most),
    Rule("compact_pool: allocate, against the best peer", 1.10, is_of(ALLOCATE), _to_peer, _at_most),
    Rule("compact_pool: free in any order, against the best peer that returns memory", 0.5,
         is_of(*(RETURNED + name for name in FREES.values())), _to_peer, _at_most),
    Rule("compact_pool: free from the last to the first, against the best peer that keeps memory", 5.0,
         is_of(KEPT + "last_first"), _to_peer, _at_most),
    Rule("compact_pool: free from the first to the last, against the best peer that keeps memory", 3.0,
         is_of(KEPT + "first_last"), _to_peer, _at_most),
    Rule("compact_pool: resident bytes when full, against the payload", 1.03, is_of(FULL), _to_peer, _at_most),
    Rule("compact_pool: resident bytes, 999 of 1000 freed at random, against the pages that live slots touch", 1.2,
         is_of(SPARSE), _to_peer, _at_most),
    Rule("compact_pool: resident bytes when all is freed, against the payload", 0.015,
         is_of(FREED), _to_peer, _lean_or_small, also=f"or ≤ {RESOLUTION_BYTES // 1024} KiB"),
    Rule("compact_pool: free and allocate at random, 1000 live, against multipool", 1.5,
         _few_live, _to_peer, _at_most),
    Rule("suballocator: random inserts into a set, against the best peer", 1.0,
         is_of(INSERTS), _to_peer, _at_most_or_noise, also="or inside the noise"),
    Rule("suballocator: resident bytes of a set's element", 41.0, is_of(ELEMENT), _to_peer, _at_most, "bytes"),
    Rule("suballocator: traversal of a set that has shrunk and changed, against the best peer", 0.9,
         is_of(TRAVERSAL), _to_peer, _at_most),
)  # fmt: skip
PAIR_GROWTH_LIMIT = 2.0
HARDENED_LIMIT = 1.05


def judge(rule: Rule, lines: Sequence[Line]) -> Bar | None:
    """The bar over its lines; None where there is no line that it is about."""
    judged = []
    for line in filter(rule.about, lines):
        figure = rule.figure(line)
        # Without a peer to be held against there is nothing to keep; a contender of ours that failed is another matter.
        free = rule.figure is _to_peer and line.ours is not None and not line.best_peer_name
        judged.append(Judged(line, figure, free if figure is None else rule.keeps(line, figure, rule.limit)))
    if not judged:
        return None
    worst = max(judged, key=lambda j: (not j.holds, j.figure.median if j.figure else -1.0 if j.holds else float("inf")))
    where = f"{worst.line.workload}, {worst.line.ours_name}" + (
        f" against {worst.line.best_peer_name}" if worst.line.best_peer_name else ""
    )
    holds = all(j.holds for j in judged)
    return Bar(rule.name, rule.limit, rule.unit, worst.figure, holds, tuple(judged), rule.also, where)


def bars_of(lines: Sequence[Line], cells: Sequence[Cell], rounds: Rounds) -> list[Bar]:
    """Every bar that the lines are about, in the order of RULES; behind them hardened against release."""
    bars = [bar for rule in RULES if (bar := judge(rule, lines)) is not None]
    groups = hardened_pairs(cells, rounds)
    if groups:
        figure = geometric_mean(groups)
        holds = figure is not None and all(groups) and figure.median <= HARDENED_LIMIT
        what = f"the geometric mean of {len(groups)} rows" + ("" if all(groups) else "; some could not be measured")
        bars.append(Bar("hardened against release", HARDENED_LIMIT, "×", figure, holds, worst=what))
    growth = growth_of_instructions(cells, rounds)
    if growth is not None:
        name = "compact_pool: instructions of a free and an allocation, of the most live slots against the fewest"
        bars.append(Bar(name, PAIR_GROWTH_LIMIT, "×", growth, growth.median <= PAIR_GROWTH_LIMIT))
    return bars
