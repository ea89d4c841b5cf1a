# SPDX-License-Identifier: BSL-1.0
"""The rounds of bench-library as a table of numbers, and a line of its summary.

outcomes ──▶ Rounds: (cell, metric) → {round: value} ──▶ medians, the least of several, ratios paired within a round
                                                     └─▶ Line: ours, the best peer, the ideal, and both ratios
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millpond.cells.cell import Cell, Outcome
from millpond.statistics.order_statistics import Summary, summarise


@dataclass(frozen=True)
class Line:
    """The answer for one workload. Values are medians in `unit`, None where not measured; `note` says why."""

    workload: str
    benchmark: str
    parameters: Mapping[str, str]
    comparison: str
    unit: str
    ours_name: str = ""
    ours: float | None = None
    best_peer_name: str = ""
    best_peer: float | None = None
    ideal_name: str = ""
    ideal: float | None = None
    to_peer: Summary | None = None
    to_ideal: Summary | None = None
    peer_to_ideal: Summary | None = None
    cold: Summary | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """A row of `summary`: plain numbers, intervals beside them; what there is not is null."""
        return {
            "workload": self.workload,
            "comparison": self.comparison,
            "ours": self.ours,
            "ours_name": self.ours_name or None,
            "best_peer": self.best_peer,
            "best_peer_name": self.best_peer_name or None,
            "ideal": self.ideal,
            "ideal_name": self.ideal_name or None,
            "unit": self.unit,
            **_flat("ratio_to_best_peer", self.to_peer),
            **_flat("ratio_to_ideal", self.to_ideal),
            **_flat("best_peer_ratio_to_ideal", self.peer_to_ideal),
            **_flat("cold_ratio_to_best_peer", self.cold),
            "rounds": max((s.n for s in (self.to_peer, self.to_ideal) if s), default=0),
            "level": next((s.level for s in (self.to_peer, self.to_ideal) if s), None),
            "benchmark": self.benchmark,
            "parameters": dict(self.parameters),
            "note": self.note,
        }


def _flat(name: str, summary: Summary | None) -> dict[str, float | None]:
    return {
        name: summary.median if summary else None,
        f"{name}_low": summary.low if summary else None,
        f"{name}_high": summary.high if summary else None,
    }


@dataclass
class Rounds:
    """The measured values of all cells, by cell, metric and round. Building it is linear in the outcomes."""

    values: dict[Cell, dict[str, dict[int, float]]] = field(default_factory=dict)
    failed: dict[Cell, str] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Rounds:
        result = cls()
        for outcome in outcomes:
            if outcome.status != "ok":
                result.failed.setdefault(outcome.cell, outcome.why or outcome.status)
            elif outcome.round > 0:
                for metric, value in outcome.values.items():
                    result.values.setdefault(outcome.cell, {}).setdefault(metric, {})[outcome.round] = value
        return result

    def by_round(self, cell: Cell, metric: str) -> dict[int, float]:
        """Empty where the cell ever failed: what fails in one round is no contender in the others."""
        return {} if cell in self.failed else self.values.get(cell, {}).get(metric, {})

    def median(self, cell: Cell, metric: str) -> float | None:
        values = self.by_round(cell, metric)
        return statistics.median(values.values()) if values else None

    def least(self, cells: Iterable[Cell], metric: str) -> Cell | None:
        """The cell with the smallest median; None where no cell has the metric."""
        found = [(m, c) for c in cells if (m := self.median(c, metric)) is not None]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def ratio(self, of: Cell | None, against: Cell | None, metric: str, other: str | None = None) -> Summary | None:
        """Paired within rounds; None where they have no round in common. `other`: the metric of the second."""
        pairs = self.pairs(of, against, metric, other)
        return summarise(list(pairs.values())) if pairs else None

    def pairs(self, of: Cell | None, against: Cell | None, metric: str, other: str | None = None) -> dict[int, float]:
        if of is None or against is None:
            return {}
        left, right = self.by_round(of, metric), self.by_round(against, other or metric)
        return {n: left[n] / right[n] for n in sorted(left.keys() & right.keys()) if right[n] > 0.0}


def geometric_mean(groups: Iterable[Mapping[int, float]]) -> Summary | None:
    """Of ratios by round: the geometric mean over the groups within each round, summarised over the rounds of all."""
    found = [group for group in groups if group]
    if not found:
        return None
    common = set[int](found[0]).intersection(*found[1:])
    if not common:
        return None
    return summarise([math.exp(statistics.fmean(math.log(group[n]) for group in found)) for n in sorted(common)])


def size_text(size: int) -> str:
    """`2^12` for a power of two from 1024 on, else the number."""
    return f"2^{size.bit_length() - 1}" if size >= 1024 and size & (size - 1) == 0 else str(size)


def label(benchmark: str, parameters: Mapping[str, str]) -> str:
    """A workload with its point, as a reader calls it: `vector_string 2^12, seed 1`."""
    words = [f"{benchmark} {size_text(int(parameters['size']))}" if "size" in parameters else benchmark]
    # Where no strings are drawn, there is one seed, and it decides little.
    named = ("af", "seed") if "string" in benchmark else ("af",)
    words += [f"{name} {parameters[name]}" for name in named if name in parameters]
    words += [f"{parameters['threads']} threads"] if "threads" in parameters else []
    return ", ".join(words)
