# SPDX-License-Identifier: BSL-1.0
"""The values of an experiment by cell, metric and round, and what is made of them.

outcomes ──▶ ResultTable: (cell, metric) → {round: value} ──▶ medians, the least of several, ratios paired within rounds
             PublishedTable: the experiment's figure of each cell ─┬─▶ rows: median, interval, ratio to the baseline
                                                                   └─▶ Figures: (point, contender) → {round: value}
             ResultRow: ours, the best peer, the ideal of a comparison at one point
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millpond.bench import published
from millpond.bench.experiment import Point, PublishedSpec, place_of
from millpond.cells.cell import LITTER, MALLOC, SURROUNDINGS, TOOLCHAIN, Cell, Outcome, Strategy
from millpond.statistics.order_statistics import Summary, summarise
from millpond.store.observations import heap_state
from millpond.system.machine import this_machine


class ResultTable:
    """The measured values of all cells. Building it is linear in the outcomes."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.outcomes = list(outcomes)
        self.values: dict[Cell, dict[str, dict[int, float]]] = {}
        self.failed: dict[Cell, str] = {}
        self.statuses: dict[Cell, str] = {}
        for outcome in self.outcomes:
            if outcome.status != "ok":
                self.failed.setdefault(outcome.cell, outcome.why or outcome.status)
                self.statuses[outcome.cell] = outcome.status
            elif outcome.round > 0:
                for metric, value in outcome.values.items():
                    self.values.setdefault(outcome.cell, {}).setdefault(metric, {})[outcome.round] = value

    def why_failed(self, cell: Cell) -> str:
        """The status of a cell that failed, and the reason."""
        return f"{self.statuses[cell]}, {self.failed[cell]}"

    def by_round(self, cell: Cell, metric: str) -> dict[int, float]:
        """Empty where the cell ever failed: what fails in one round is no contender in the others."""
        return {} if cell in self.failed else self.values.get(cell, {}).get(metric, {})

    def median(self, cell: Cell | None, metric: str) -> float | None:
        """None where there is no cell, or no value."""
        values = self.by_round(cell, metric) if cell is not None else {}
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


@dataclass(frozen=True)
class ResultRow:
    """A comparison at one point. Values are medians in `unit`, None where not measured; `note` says why.

    `pairs`: the ratio to the best peer by round, where it is paired.
    """

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
    pairs: Mapping[int, float] = field(default_factory=dict, repr=False)

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
            **_ratio("ratio_to_best_peer", self.to_peer),
            **_ratio("ratio_to_ideal", self.to_ideal),
            **_ratio("best_peer_ratio_to_ideal", self.peer_to_ideal),
            **_ratio("cold_ratio_to_best_peer", self.cold),
            "rounds": max((s.n for s in (self.to_peer, self.to_ideal) if s), default=0),
            "level": next((s.level for s in (self.to_peer, self.to_ideal) if s), None),
            "benchmark": self.benchmark,
            "parameters": dict(self.parameters),
            "note": self.note,
        }


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


@dataclass(frozen=True)
class Figures:
    """Figures by point and strategy, a value for each round; of what the document published, one round.

    `failed`: which of them came to no figure, and why. `metrics`: the same of metrics other than the figure.
    """

    values: Mapping[tuple[Point, str], Mapping[int, float]]
    failed: Mapping[tuple[Point, str], str] = field(default_factory=dict)
    names: Mapping[tuple[Point, str], str] = field(default_factory=dict)
    metrics: Mapping[str, Figures] = field(default_factory=dict)

    def of(self, metric: str) -> Figures:
        """The figures themselves, or the values of a metric; none where nobody has them."""
        return self.metrics.get(metric, Figures({})) if metric else self


def published_figures(experiment: PublishedSpec) -> Figures:
    """What the document printed, where the program's surroundings are the usual ones."""

    def at(key: tuple[Point, str]) -> tuple[Point, str]:
        return (*key[0], *experiment.usual), key[1]

    def values(metric: str = "") -> dict[tuple[Point, str], dict[int, float]]:
        return {at(key): {0: value} for key, value in published.values(experiment, metric).items()}

    metrics = {metric: Figures(values(metric)) for metric in experiment.beside_metrics}
    words = {at(k): one.printed for k, one in published.printed(experiment).items() if one.value is None}
    return Figures(values(), words, metrics=metrics)


class PublishedTable(ResultTable):
    """The same of a published experiment: its figure, and its rows beside the document's."""

    def __init__(
        self, experiment: PublishedSpec, cells: Sequence[Cell], outcomes: Sequence[Outcome],
        built_by: Callable[[Cell], str | None] = lambda _: None,
    ) -> None:  # fmt: skip
        super().__init__(outcomes)
        self.experiment = experiment
        self.cells = list(cells)
        self._built_by = built_by
        self._known = set(cells)
        self._points = {cell.name: experiment.point_of(cell) for cell in cells}

    @cached_property
    def counters(self) -> list[str]:
        """The counters of windows that any outcome has a value or a reason for."""
        return self.experiment.metrics.counted_in(self.outcomes)

    def figure(self, cell: Cell) -> dict[int, float]:
        """The experiment's figure of a cell in each round that has one."""
        figure = self.experiment.figure
        values = self.by_round(cell, figure.metric)
        if figure.twin:
            twin = self.experiment.twin_of(cell)
            return self.pairs(cell, twin, figure.metric) if twin else {}
        if figure.per_units:
            units = self.by_round(cell, "units")
            return {n: v * figure.per_units / units[n] for n, v in values.items() if units.get(n, 0.0) > 0.0}
        return dict(values)

    def has_figure(self, cell: Cell) -> bool:
        """Whether a cell should have one: a twin has none of its own."""
        twin = self.experiment.twin_of(cell)
        return not self.experiment.figure.twin or (twin is not None and twin in self._known)

    def values_of(self, cell: Cell, name: str) -> dict[int, float]:
        """The figure, or a metric, by round."""
        return self.figure(cell) if name == self.experiment.figure.name else self.by_round(cell, name)

    def baseline_of(self, cell: Cell) -> Cell | None:
        """The baseline strategy at the same parameters, if it was asked for."""
        found = replace(cell, contender=Strategy(self.experiment.baseline))
        return found if found in self._known else None

    def figures(self) -> Figures:
        """By point and strategy, without what lies beside the document's tables. The first of a point counts.

        Metrics are those of twins, too, which have no figure of their own, and of counters.
        """
        metrics = {name: self._figures(name) for name in (*self.experiment.beside_metrics, *self.counters)}
        return replace(self._figures(self.experiment.figure.name), metrics=metrics)

    def _figures(self, name: str) -> Figures:
        values: dict[tuple[Point, str], Mapping[int, float]] = {}
        failed: dict[tuple[Point, str], str] = {}
        names: dict[tuple[Point, str], str] = {}
        for cell in self.cells:
            at = self.experiment.point_of(cell)
            has_none = name == self.experiment.figure.name and not self.has_figure(cell)
            if at is None or has_none or (at, cell.contender.name) in names:
                continue
            key = (at, cell.contender.name)
            names[key] = cell.name
            found = self.values_of(cell, name)
            if found:
                values[key] = found
            elif cell in self.failed:
                failed[key] = self.failed[cell]
        return Figures(values, failed, names)

    def summary(self) -> list[dict[str, Any]]:
        """A row for each cell and metric, the experiment's own figure first."""
        figure = self.experiment.figure
        rows = []
        for cell in self.cells:
            names = [figure.name] if self.has_figure(cell) else []
            for name in dict.fromkeys([*names, *self.experiment.beside_metrics, *self.counters]):
                unit = figure.unit if name == figure.name else self.experiment.metrics.unit(name)
                row = self._row(cell, name, unit)
                if row["n"] or name == figure.name:
                    rows.append(row)
        return rows

    def counted(self, cell: Cell) -> dict[str, float | None]:
        """The counters of a cell's window, by the median: for each unit of work where the program says how many it did.

        None where there is no value. Empty where nothing was counted.
        """
        units = self.by_round(cell, "units")
        each = summarise(list(units.values())).median if units else 1.0
        found: dict[str, float | None] = {}
        for name in self.counters:
            values = list(self.by_round(cell, name).values())
            found[name] = summarise(values).median / each if values and each > 0.0 else None
        return found

    def has_published_row(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of the summary lies in the tables, if of the baseline alone where the document has any."""
        at = self._points.get(str(row["cell"]))
        if not self.experiment.table or at is None:
            return at is not None
        here = self.experiment.published_point(at)
        return (here, self.experiment.baseline) in published.printed(self.experiment)

    def _row(self, cell: Cell, name: str, unit: str) -> dict[str, Any]:
        experiment = self.experiment
        values = self.values_of(cell, name)
        summary = summarise(list(values.values())) if values else None
        return {
            "experiment": experiment.name,
            "workload": cell.subject.words[0],
            "parameters": {k: place_of(v) for k, v in cell.parameters if k != LITTER},
            "strategy": cell.contender.name,
            "alias": experiment.alias(cell.contender.name),
            "heap_state": heap_state(cell),
            **{name: dict(cell.parameters).get(name, SURROUNDINGS[name]) for name in (TOOLCHAIN, MALLOC)},
            "compiler": self._built_by(cell),
            "page_policy": this_machine().page_policy,
            "metric": name,
            "unit": unit,
            **_summary(summary),
            "status": self.statuses.get(cell, "ok" if values else "not run"),
            "why_null": None if values else self.failed.get(cell, "not run"),
            **self._published(cell, name),
            **_ratio("ratio_to_baseline", self._ratio(cell, name)),
            "cell": cell.name,
        }

    def _ratio(self, cell: Cell, name: str) -> Summary | None:
        base = self.baseline_of(cell)
        if base is None:
            return None
        ours, theirs = self.values_of(cell, name), self.values_of(base, name)
        pairs = [ours[n] / theirs[n] for n in sorted(ours.keys() & theirs.keys()) if theirs[n] > 0.0]
        return summarise(pairs) if pairs else None

    def _published(self, cell: Cell, name: str) -> dict[str, Any]:
        """What the document printed at the same point, and its ratio to the document's baseline there."""
        experiment = self.experiment
        at = experiment.point_of(cell) if name == experiment.figure.name else None
        here = experiment.published_point(at) if at is not None else ()
        one = published.printed(experiment).get((here, cell.contender.name)) if at is not None else None
        if one is None:
            return {"published": None, "published_unit": None, "published_value": None, "published_ratio": None}
        found = published.values(experiment)
        value, base = found.get((here, cell.contender.name)), found.get((here, experiment.baseline))
        return {
            "published": one.printed if one.value is None else one.value,
            "published_unit": one.unit,
            "published_value": value,
            "published_ratio": value / base if value is not None and base else None,
        }


def _summary(summary: Summary | None) -> dict[str, Any]:
    known = ("n", "median", "low", "high", "level")
    return {k: getattr(summary, k) for k in known} if summary else {**dict.fromkeys(known), "n": 0}


def _ratio(name: str, summary: Summary | None) -> dict[str, float | None]:
    return {
        name: summary.median if summary else None,
        f"{name}_low": summary.low if summary else None,
        f"{name}_high": summary.high if summary else None,
    }
