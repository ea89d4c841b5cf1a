# SPDX-License-Identifier: BSL-1.0
"""Our figures of a published experiment beside the document's: by point, strategy and round.

outcomes ──▶ Rounds: (cell, metric) → {round: value} ──▶ the experiment's figure of each cell, round by round
                                                    ├──▶ rows of the summary: median, interval, ratio to baseline
                                                    └──▶ Figures: (point, strategy) → {round: value}, as claims ask
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millpond.bench import published
from millpond.bench.experiment import Experiment, Point, place_of
from millpond.bench.library.lines import Rounds
from millpond.cells.cell import LITTER, MALLOC, SURROUNDINGS, TOOLCHAIN, Cell, Outcome, Strategy
from millpond.statistics.order_statistics import Summary, summarise
from millpond.store.observations import heap_state
from millpond.system.machine import this_machine


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


def published_figures(experiment: Experiment) -> Figures:
    """What the document printed, where the program's surroundings are the usual ones."""

    def at(key: tuple[Point, str]) -> tuple[Point, str]:
        return (*key[0], *experiment.usual), key[1]

    def values(metric: str = "") -> dict[tuple[Point, str], dict[int, float]]:
        return {at(key): {0: value} for key, value in published.values(experiment, metric).items()}

    metrics = {metric: Figures(values(metric)) for metric in experiment.beside_metrics}
    words = {at(k): one.printed for k, one in published.printed(experiment).items() if one.value is None}
    return Figures(values(), words, metrics=metrics)


class Results:
    """The rounds of one experiment, asked by cell. Building it is linear in the outcomes."""

    def __init__(
        self, experiment: Experiment, cells: Sequence[Cell], outcomes: Sequence[Outcome],
        built_by: Callable[[Cell], str | None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.experiment = experiment
        self.cells = list(cells)
        self.rounds = Rounds.of(outcomes)
        self.outcomes = outcomes
        self._built_by = built_by
        self._known = set(cells)
        self._points = {cell.name: experiment.point_of(cell) for cell in cells}
        self._statuses = {o.cell: o.status for o in outcomes if o.status != "ok"}

    @cached_property
    def counters(self) -> list[str]:
        """The counters of windows that any outcome has a value or a reason for."""
        return self.experiment.metrics.counted_in(self.outcomes)

    def figure(self, cell: Cell) -> dict[int, float]:
        """The experiment's figure of a cell in each round that has one."""
        figure = self.experiment.figure
        values = self.rounds.by_round(cell, figure.metric)
        if figure.twin:
            twin = self.experiment.twin_of(cell)
            return self.rounds.pairs(cell, twin, figure.metric) if twin else {}
        if figure.per_units:
            units = self.rounds.by_round(cell, "units")
            return {n: v * figure.per_units / units[n] for n, v in values.items() if units.get(n, 0.0) > 0.0}
        return dict(values)

    def has_figure(self, cell: Cell) -> bool:
        """Whether a cell should have one: a twin has none of its own."""
        twin = self.experiment.twin_of(cell)
        return not self.experiment.figure.twin or (twin is not None and twin in self._known)

    def values(self, cell: Cell, name: str) -> dict[int, float]:
        """The figure, or a metric, by round."""
        return self.figure(cell) if name == self.experiment.figure.name else self.rounds.by_round(cell, name)

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
            found = self.values(cell, name)
            if found:
                values[key] = found
            elif cell in self.rounds.failed:
                failed[key] = self.rounds.failed[cell]
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
        units = self.rounds.by_round(cell, "units")
        each = summarise(list(units.values())).median if units else 1.0
        found: dict[str, float | None] = {}
        for name in self.counters:
            values = list(self.rounds.by_round(cell, name).values())
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
        values = self.values(cell, name)
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
            "status": self._statuses.get(cell, "ok" if values else "not run"),
            "why_null": None if values else self.rounds.failed.get(cell, "not run"),
            **self._published(cell, name),
            **_ratio("ratio_to_baseline", self._ratio(cell, name)),
            "cell": cell.name,
        }

    def _ratio(self, cell: Cell, name: str) -> Summary | None:
        base = self.baseline_of(cell)
        if base is None:
            return None
        ours, theirs = self.values(cell, name), self.values(base, name)
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
