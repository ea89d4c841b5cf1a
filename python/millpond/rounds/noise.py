# SPDX-License-Identifier: BSL-1.0
"""The noise of this machine: two equal contenders, measured like any two contenders.

round   1 2 3 …      the ratios b / a should all be 1; effects smaller than the reach of their interval
a       A A A        are lost in the noise, with this many rounds of runs of this length
b       A A A
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median, quantiles

from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.rounds.interleaved_rounds import by_round
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system.records import Record

COMPARED = ("cpu_seconds", "wall_seconds", "peak_bytes")


class Noise(Record, frozen=True):
    """The noise in one metric: `ratio`, b / a within a round; `round`, the median value; `spread`, of a whole round.

    `spread` is the distance of the quartiles of all rounds, relative to their median. `floor` is the largest relative
    change between the equal contenders.
    """

    metric: str
    ratio: Summary
    round: float
    spread: float
    floor: float


def twins(program: Sequence[str]) -> tuple[Cell, Cell]:
    """The two equal contenders."""
    bare = Cell(Program(tuple(program)), Control("bare"))
    return replace(bare, parameters=(("twin", "a"),)), replace(bare, parameters=(("twin", "b"),))


def noise_of(outcomes: Sequence[Outcome], cells: tuple[Cell, Cell]) -> list[Noise]:
    """The noise in each metric that both twins have; a metric without rounds is left out."""
    result = []
    for metric in COMPARED:
        a, b = (by_round(outcomes, cell, metric) for cell in cells)
        ratios = [b[i] / a[i] for i in sorted(a.keys() & b.keys()) if a[i] > 0]
        if not ratios:
            continue
        values = [*a.values(), *b.values()]
        ratio = summarise(ratios)
        floor = max(abs(ratio.high - 1.0), abs(ratio.low - 1.0))
        result.append(Noise(metric, ratio, median(values), spread_of(values), floor))
    return result


def spread_of(values: Sequence[float]) -> float:
    """The distance of the quartiles, relative to the median; 0 for fewer than two values, and if the median is zero."""
    middle = median(values) if values else 0.0
    if len(values) < 2 or middle <= 0.0:
        return 0.0
    low, _, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


class Spread(Record, frozen=True):
    """The rounds of one contender in one metric: their number, median and spread."""

    n: int
    median: float
    spread: float

    @classmethod
    def each(cls, values: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
        """The spread of each metric; a metric without values is left out."""
        return {m: cls(len(v), median(v), spread_of(v)) for m, v in values.items() if v}
