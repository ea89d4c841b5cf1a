# SPDX-License-Identifier: BSL-1.0
"""How noisy this machine is: two contenders that are one and the same, measured as any two contenders are.

round   1 2 3 …      the ratios b / a should all be 1; how far their interval reaches is what no effect
a       A A A        below it can be told from, with this many rounds of runs of this length
b       A A A
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millpond.cells import Cell, Outcome
from millpond.execution import by_round
from millpond.statistics import Summary, summarise

COMPARED = ("cpu_seconds", "wall_seconds", "peak_bytes")


@dataclass(frozen=True)
class Noise:
    """In one metric: `ratio`, b / a within a round; `round`, the median of one; `spread`, of a whole round.

    `spread` is the distance of the quartiles of all rounds, relative to their median.
    """

    metric: str
    ratio: Summary
    round: float
    spread: float

    @property
    def floor(self) -> float:
        """The largest change, relative, that was seen where there is none."""
        return max(abs(self.ratio.high - 1.0), abs(self.ratio.low - 1.0))

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "ratio": self.ratio.to_json(),
            "round": self.round,
            "spread": self.spread,
            "floor": self.floor,
        }


def twins(program: Sequence[str]) -> tuple[Cell, Cell]:
    """The two contenders that are the same."""
    return Cell(tuple(program), "bare", None, (("twin", "a"),)), Cell(tuple(program), "bare", None, (("twin", "b"),))


def noise_of(outcomes: Sequence[Outcome], cells: tuple[Cell, Cell], seed: int = 0) -> list[Noise]:
    """The noise in each metric that both twins have; a metric without rounds is left out."""
    result = []
    for metric in COMPARED:
        a, b = (by_round(outcomes, cell, metric) for cell in cells)
        ratios = [b[i] / a[i] for i in sorted(a.keys() & b.keys()) if a[i] > 0]
        if not ratios:
            continue
        values = sorted([*a.values(), *b.values()])
        middle = values[len(values) // 2]
        spread = (values[3 * len(values) // 4] - values[len(values) // 4]) / middle if middle else 0.0
        result.append(Noise(metric, summarise(ratios, seed=seed), middle, spread))
    return result
