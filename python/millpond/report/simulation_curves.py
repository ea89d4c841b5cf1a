# SPDX-License-Identifier: BSL-1.0
"""Turns simulations into curves: misses by cache size and organisation, page faults by memory size; and observations.

Simulation ──▶ Organisation (direct-mapped, N ways, fully associative) ──▶ points (bytes, misses) ──▶ figure, tables
          └──▶ pages of LRU distances ──▶ points (bytes of memory, faults)

A point is exact: a simulator's count, or the sum of a curve of LRU distances beyond a size. A curve with too many
points is drawn with those nearest to even steps of the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millpond.report.figures.figure_html import share_text, size_text
from millpond.rounds.simulation_data import Simulation, Simulator

FULLY = "fully associative"
DIRECT = "direct-mapped"
_LARGEST_LINE_BYTES = 1024  # larger blocks are pages of a memory
_POINTS_AT_MOST = 256
Point = tuple[int, int]


@dataclass(frozen=True)
class MissCurve:
    """The misses of one organisation of caches by size; `of` references. O(sizes)."""

    organisation: str
    line_bytes: int
    points: list[Point]
    of: int

    @property
    def rank(self) -> tuple[int, int, str]:
        """Returns the order: direct-mapped first, then by ways, fully associative last."""
        words = self.organisation.split()
        ways = int(words[0]) if words[0].isdigit() else 0
        place = 0 if self.organisation == DIRECT else 2 if self.organisation == FULLY else 1
        return place, ways, self.organisation

    def at(self, size_bytes: int) -> int | None:
        """Returns the misses at a simulated size; None at others."""
        return dict(self.points).get(size_bytes)


def miss_curves(simulation: Simulation) -> list[MissCurve]:
    """Returns one curve for each organisation and line size, in the order of a legend."""
    found: dict[tuple[str, int], tuple[list[Point], int]] = {}
    sizes = {row.cache_bytes for one in simulation.simulators for row in one.metrics if row.cache_bytes}
    for simulator in simulation.simulators:
        of = simulator.count("references")
        if simulator.kind == "distances" and not is_of_pages(simulator):
            found[FULLY, block_bytes(simulator)] = (distance_points(simulator, sizes), of)
        if simulator.kind not in ("direct", "lru", "fifo", "random"):
            continue
        for row in simulator.metrics:
            if row.metric != "misses" or not row.cache_bytes or row.ways is None or row.line_bytes is None:
                continue
            name = organisation(simulator.kind, row.ways)
            found.setdefault((name, row.line_bytes), ([], of))[0].append((row.cache_bytes, row.value))
    curves = [MissCurve(name, line, sorted(dict(points).items()), of) for (name, line), (points, of) in found.items()]
    return sorted(curves, key=lambda curve: (curve.rank, curve.line_bytes))


def organisation(kind: str, ways: int) -> str:
    """Returns the name of caches with this number of ways, with the policy if it is not LRU."""
    if ways == 1:
        return DIRECT
    return f"{ways} ways" + ("" if kind == "lru" else f", {kind}")


def fault_curve(simulation: Simulation, sizes_bytes: Iterable[int] = ()) -> MissCurve | None:
    """Returns page faults by the bytes of memory, including the named sizes and first touches; None if no pages were
    simulated.
    """
    for simulator in simulation.simulators:
        if simulator.kind == "distances" and is_of_pages(simulator):
            points = distance_points(simulator, sizes_bytes)
            return MissCurve(FULLY, block_bytes(simulator), points, simulator.count("references"))
    return None


def distance_points(simulator: Simulator, sizes_bytes: Iterable[int] = ()) -> list[Point]:
    """Returns (bytes, misses) of LRU memories of 1, 2, 4, … blocks, of sizes between, and of the named sizes. The
    largest misses no block twice.

    Exact: a memory of N blocks misses references with a distance of N or more, and those without one. O(curve).
    """
    block, references = block_bytes(simulator), simulator.count("references")
    last = max(1, simulator.curve[-1][0] + 1 if simulator.curve else 1)
    steps = {round(last ** (i / _POINTS_AT_MOST)) for i in range(_POINTS_AT_MOST + 1)}
    named = {size // block for size in sizes_bytes if size % block == 0 and block <= size <= last * block}
    sizes = sorted({2**i for i in range(last.bit_length())} | {size for size in steps if size >= 1} | {last} | named)
    points: list[Point] = []
    hits, at = 0, 0
    for size in sizes:
        while at < len(simulator.curve) and simulator.curve[at][0] < size:
            hits += simulator.curve[at][1]
            at += 1
        points.append((size * block, references - hits))
    return points


def is_of_pages(simulator: Simulator) -> bool:
    """True for distances of a memory's pages, False for those of a cache's lines."""
    return block_bytes(simulator) >= _LARGEST_LINE_BYTES


def block_bytes(simulator: Simulator) -> int:
    """Returns the bytes of the simulator's lines or pages; 0 if it names none."""
    return next((row.line_bytes for row in simulator.metrics if row.line_bytes), 0)


def observations(simulation: Simulation) -> list[str]:
    """Returns conclusions from one simulation, in sentences."""
    curves = miss_curves(simulation)
    return [*_of_sizes(curves), *_of_associativity(curves), *_of_pages(fault_curve(simulation))]


def _of_sizes(curves: Sequence[MissCurve]) -> Iterable[str]:
    full = next((curve for curve in curves if curve.organisation == FULLY and curve.of), None)
    if full is None:
        return
    size, misses = full.points[-1]
    yield (
        f"A fully associative cache of {size_text(size)} keeps every line: its {_number(misses)} misses, "
        f"{share_text(misses / full.of)}, are first uses, or follow a flush."
    )
    for share in (0.1, 0.01):
        enough = next((size for size, misses in full.points if misses <= share * full.of), None)
        if enough is not None and enough > full.points[0][0]:
            yield f"From {size_text(enough)} on, at most {share_text(share)} of the references miss."


def _of_associativity(curves: Sequence[MissCurve]) -> Iterable[str]:
    direct = next((curve for curve in curves if curve.organisation == DIRECT and curve.of), None)
    if direct is None:
        return
    best: tuple[float, str] | None = None
    for other in curves:
        if other.line_bytes != direct.line_bytes or other.organisation == DIRECT:
            continue
        for size, misses in other.points:
            mapped = direct.at(size)
            if mapped and mapped > misses and (best is None or (mapped - misses) / direct.of > best[0]):
                sentence = (
                    f"At {size_text(size)}, {share_text(mapped / direct.of)} of the references miss in a direct-mapped "
                    f"cache, and {share_text(misses / other.of)} in one that is {_as_adjective(other.organisation)}: "
                    "this is the largest difference of all sizes."
                )
                best = ((mapped - misses) / direct.of, sentence)
    if best is not None:
        yield best[1]


def _of_pages(pages: MissCurve | None) -> Iterable[str]:
    if pages is None or not pages.points:
        return
    size, faults = pages.points[-1]
    yield f"A memory of {size_text(size)} holds every page: only {_number(faults)} faults remain, the first touches."
    tenfold = next((size for size, count in pages.points if count <= 10 * faults), size)
    if tenfold < size:
        yield f"Below {size_text(tenfold)} of memory there are more than ten times as many faults."


def _as_adjective(organisation: str) -> str:
    return organisation if organisation == FULLY else organisation.replace(" ways", "-way set-associative")


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def table_sizes(curves: Iterable[MissCurve]) -> list[int]:
    """Returns the sizes of a table's rows, ascending: all simulated sizes, and powers of two of exact curves."""
    return sorted({
        size for curve in curves for size, _ in curve.points
        if curve.organisation != FULLY or math.log2(size).is_integer()
    })  # fmt: skip
