# SPDX-License-Identifier: BSL-1.0
"""The values of an experiment by place, metric and round, and the results computed from them.

outcomes ──▶ ResultTable by cell ──▶ medians, the least of several, ratios paired within rounds
                 └─ PublishedTable: the experiment's figure of each cell ─┬─▶ rows: median, interval, ratio
                                                                          └─▶ PlaceTable ──▶ claims
the paper's own tables ──▶ PlaceTable: a value is its only round ────────────────────────────────┘
             ResultRow: ours, the best peer, the ideal of a comparison at one point
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from millpond.cells.cell import LITTER, MALLOC, SURROUNDINGS, TOOLCHAIN, Cell, Outcome, Strategy
from millpond.cells.metrics import WORKING_SETS
from millpond.statistics.order_statistics import Summary, summarise
from millpond.store.observations import heap_state
from millpond.system.machine import this_machine
from millpond_bench.experiments.bench_document import ComparisonRow, JudgedRow, PublishedRow
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import Place, place_of

Key = TypeVar("Key")
# The name of the experiment's own figure among the metrics of a table by place.
FIGURE = ""


class ResultTable(Generic[Key]):
    """Values by metric and round for each key: a cell, or a place in a paper's tables.

    `failed`: the status of a key that failed in any round; `why`: the reason. `names`: readable names of keys.
    Immutable.
    """

    def __init__(
        self, values: Mapping[Key, Mapping[str, Mapping[int, float]]], failed: Mapping[Key, str] | None = None,
        why: Mapping[Key, str] | None = None, names: Mapping[Key, str] | None = None,
    ) -> None:  # fmt: skip
        self.values = values
        self.failed = failed or {}
        self.why = why or {}
        self.names = names or {}
        self._keys: dict[str, tuple[Key, ...]] = {}

    def why_failed(self, key: Key) -> str:
        """The status and the reason of a failed key."""
        return f"{self.failed[key]}, {self.why[key]}"

    def by_round(self, key: Key, metric: str) -> Mapping[int, float]:
        """The values by round; empty if the key failed in any round, because it is then no contender in the others."""
        return {} if key in self.failed else self.values.get(key, {}).get(metric, {})

    def keys(self, metric: str) -> tuple[Key, ...]:
        """The keys with a value of the metric. O(1) except for the first call, because some hundred statements call
        it.
        """
        if metric not in self._keys:
            self._keys[metric] = tuple(key for key in self.values if self.by_round(key, metric))
        return self._keys[metric]

    def median(self, key: Key | None, metric: str) -> float | None:
        """The median; None if the key or its values do not exist."""
        values = self.by_round(key, metric) if key is not None else {}
        return statistics.median(values.values()) if values else None

    def least(self, keys: Iterable[Key], metric: str) -> Key | None:
        """The key with the smallest median; None if none has the metric."""
        found = [(m, key) for key in keys if (m := self.median(key, metric)) is not None]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def ratio(self, of: Key | None, against: Key | None, metric: str, other: str | None = None) -> Summary | None:
        """The ratio, paired within rounds; None without a common round. `other`: the metric of the second."""
        pairs = self.pairs(of, against, metric, other)
        return summarise(list(pairs.values())) if pairs else None

    def pairs(self, of: Key | None, against: Key | None, metric: str, other: str | None = None) -> dict[int, float]:
        """The quotients of the rounds that both have."""
        if of is None or against is None:
            return {}
        return quotients(self.by_round(of, metric), self.by_round(against, other or metric))


# The figures of a paper's tables, or ours at the same places.
PlaceTable = ResultTable[Place]


def quotients(above: Mapping[int, float], below: Mapping[int, float]) -> dict[int, float]:
    """One divided by the other in each round that both have."""
    return {n: above[n] / below[n] for n in sorted(above.keys() & below.keys()) if below[n] > 0.0}


def table_of(outcomes: Iterable[Outcome]) -> ResultTable[Cell]:
    """The measured values of all cells. Linear in the outcomes."""
    values: dict[Cell, dict[str, dict[int, float]]] = {}
    failed: dict[Cell, str] = {}
    why: dict[Cell, str] = {}
    for outcome in outcomes:
        if outcome.status != "ok":
            why.setdefault(outcome.cell, outcome.why or outcome.status)
            failed[outcome.cell] = outcome.status
        elif outcome.round > 0:
            for metric, value in outcome.values.items():
                values.setdefault(outcome.cell, {}).setdefault(metric, {})[outcome.round] = value
    return ResultTable(values, failed, why, {cell: cell.name for cell in values | failed})


@dataclass(frozen=True)
class ResultRow:
    """A comparison at one point. Values are medians in `unit`, None if not measured; `note` tells why.

    `pairs`: the ratio to the best peer by round, if it is paired. Under a bar, `figure` is the value that must keep
    the limit, and `holds` tells if it does.
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
    figure: Summary | None = None
    holds: bool | None = None

    def record(self) -> ComparisonRow:
        """A row of `summary`: plain numbers and their intervals; missing values are null."""
        main = self.to_peer or self.to_ideal
        return ComparisonRow(
            workload=self.workload, comparison=self.comparison, ours=self.ours, ours_name=self.ours_name or None,
            best_peer=self.best_peer, best_peer_name=self.best_peer_name or None,
            ideal=self.ideal, ideal_name=self.ideal_name or None, unit=self.unit,
            **_ratio("ratio_to_best_peer", self.to_peer),
            **_ratio("ratio_to_ideal", self.to_ideal),
            **_ratio("best_peer_ratio_to_ideal", self.peer_to_ideal),
            **_ratio("cold_ratio_to_best_peer", self.cold),
            rounds=max((s.n for s in (self.to_peer, self.to_ideal) if s), default=0),
            level=main.level if main else None,
            benchmark=self.benchmark, parameters=dict(self.parameters), note=self.note,
        )  # fmt: skip

    def judged_text(self) -> str:
        """A short text for the row under a bar, with the reason if it has no figure."""
        what = f"{self.figure.median:.3g}" if self.figure else self.note or "not measured"
        return f"{self.workload} {self.comparison.partition('_')[0]} {what}"

    def judged_record(self) -> JudgedRow:
        """A row of `lines` of a bar."""
        return JudgedRow(
            workload=self.workload, comparison=self.comparison, ours_name=self.ours_name,
            best_peer_name=self.best_peer_name or None, figure=self.figure,
            ratio_to_ideal=self.to_ideal.median if self.to_ideal else None, holds=self.holds, note=self.note,
        )  # fmt: skip


def size_text(size: int) -> str:
    """`2^12` for a power of two from 1024 on, else the number."""
    return f"2^{size.bit_length() - 1}" if size >= 1024 and size & (size - 1) == 0 else str(size)


def label(benchmark: str, parameters: Mapping[str, str]) -> str:
    """A readable name for a workload at a point: `vector_string 2^12, seed 1`."""
    words = [f"{benchmark} {size_text(int(parameters['size']))}" if "size" in parameters else benchmark]
    # Without random strings there is one seed, and it decides little.
    named = ("af", "seed") if "string" in benchmark else ("af",)
    words += [f"{name} {parameters[name]}" for name in named if name in parameters]
    words += [f"{parameters['threads']} threads"] if "threads" in parameters else []
    return ", ".join(words)


def published_table(experiment: PublishedSpec) -> PlaceTable:
    """The printed values of the paper, in the usual environment; a word becomes a failure."""
    values: dict[Place, dict[str, dict[int, float]]] = {}
    for metric in (FIGURE, *experiment.data.extra_metrics):
        for (at, name), value in experiment.published_values(metric).items():
            own = values.setdefault(((*at, *experiment.data.usual), name), {})
            own[metric] = own[metric or experiment.data.figure.name] = {0: value}
    words = {((*at, *experiment.data.usual), name): one.printed
             for (at, name), one in experiment.table.printed().items() if one.value is None}  # fmt: skip
    return ResultTable(values, words)


class PublishedTable(ResultTable[Cell]):
    """The result table of a published experiment: its figure, and its rows next to the paper's."""

    def __init__(
        self, experiment: PublishedSpec, cells: Sequence[Cell], outcomes: Sequence[Outcome],
        built_by: Callable[[Cell], str | None] = lambda _: None, only_counted: Sequence[Cell] = (),
    ) -> None:  # fmt: skip
        table = table_of(outcomes)
        super().__init__(table.values, table.failed, table.why, table.names)
        self.outcomes = outcomes
        self.experiment = experiment
        self.cells = list(cells)
        self.only_counted = list(only_counted)
        self._built_by = built_by
        self._known = set(cells)
        self._points = {cell.name: experiment.data.point_of(cell) for cell in cells}

    @cached_property
    def counters(self) -> list[str]:
        """The counters of windows for which any outcome has a value or a reason."""
        return self.experiment.metrics.counted_in(self.outcomes)

    @property
    def headings(self) -> list[str]:
        """The counters of timed cells that have any value, by name. The notes tell why others have none."""
        timed = [outcome for outcome in self.outcomes if outcome.cell in self._known]
        return [name for name in self.counters if any(name in outcome.values for outcome in timed)]

    def figure(self, cell: Cell) -> dict[int, float]:
        """The experiment's figure of a cell in each round that has one."""
        figure = self.experiment.data.figure
        values = self.by_round(cell, figure.metric)
        if figure.twin:
            twin = self.experiment.data.twin_of(cell)
            return self.pairs(cell, twin, figure.metric) if twin else {}
        if figure.per_units:
            units = self.by_round(cell, "units")
            return {n: v * figure.per_units / units[n] for n, v in values.items() if units.get(n, 0.0) > 0.0}
        return dict(values)

    def has_figure(self, cell: Cell) -> bool:
        """True if a cell should have a figure; a twin has none of its own."""
        twin = self.experiment.data.twin_of(cell)
        return not self.experiment.data.figure.twin or (twin is not None and twin in self._known)

    def values_of(self, cell: Cell, name: str) -> Mapping[int, float]:
        """The figure, or a metric, by round."""
        return self.figure(cell) if name == self.experiment.data.figure.name else self.by_round(cell, name)

    def baseline_of(self, cell: Cell) -> Cell | None:
        """The baseline strategy at the same parameters, if it is among the cells."""
        found = replace(cell, contender=Strategy(self.experiment.data.baseline))
        return found if found in self._known else None

    @cached_property
    def cells_at(self) -> dict[Place, Cell]:
        """The cell at each place of the paper's tables: the first one that should have a figure."""
        found: dict[Place, Cell] = {}
        for cell in self.cells:
            at = self.experiment.data.point_of(cell)
            if at is not None:
                before = found.setdefault((at, cell.contender.name), cell)
                if self.has_figure(cell) and not self.has_figure(before):
                    found[at, cell.contender.name] = cell
        return found

    def by_place(self) -> PlaceTable:
        """The figure, metrics and counters at the places of the paper's tables. A twin has no figure, nor has a cell
        that was only counted.
        """
        metrics = (*self.experiment.data.extra_metrics, *self.counters)
        name_of_figure = self.experiment.data.figure.name
        values = {
            place: {
                FIGURE: self.figure(cell),
                **{name: self.values_of(cell, name) for name in (name_of_figure, *metrics)},
            }
            for place, cell in self.cells_at.items()
        }
        failed = {place: self.failed[cell] for place, cell in self.cells_at.items() if cell in self.failed}
        names = {place: cell.name for place, cell in self.cells_at.items()}
        for cell in self.only_counted:
            if (at := self.experiment.data.point_of(cell)) is not None:
                own = values.setdefault((at, cell.contender.name), {})
                own |= {name: own.get(name) or self.by_round(cell, name) for name in self.counters}
                names.setdefault((at, cell.contender.name), cell.name)
        return ResultTable(values, failed, names=names)

    def summary(self) -> list[PublishedRow]:
        """A row for each cell and metric, the experiment's own figure first."""
        figure = self.experiment.data.figure
        rows = []
        for cell in self.cells:
            names = [figure.name] if self.has_figure(cell) else []
            for name in dict.fromkeys([*names, *self.experiment.data.extra_metrics, *self.counters]):
                unit = figure.unit if name == figure.name else self.experiment.metrics.unit(name)
                row = self._row(cell, name, unit)
                if row.n or name == figure.name:
                    rows.append(row)
        counted = (self._row(cell, name, self.experiment.metrics.unit(name))
                   for cell in self.only_counted for name in self.counters)  # fmt: skip
        return [*rows, *(row for row in counted if row.n)]

    def counted(self, cell: Cell) -> dict[str, float | None]:
        """The medians of a cell's window counters, divided by its units of work if the program counts them. Working
        sets are not divided, because they are of the whole window.

        None if a counter has no value. Empty if nothing was counted.
        """
        units = self.by_round(cell, "units")
        each = summarise(list(units.values())).median if units else 1.0
        found: dict[str, float | None] = {}
        for name in self.counters:
            values = list(self.by_round(cell, name).values())
            divisor = 1.0 if name in WORKING_SETS else each
            found[name] = summarise(values).median / divisor if values and divisor > 0.0 else None
        return found

    def has_published_row(self, row: PublishedRow) -> bool:
        """True if a row of the summary lies in the tables, even if the paper has only the baseline there."""
        at = self._points.get(row.cell)
        if not self.experiment.table.file or at is None:
            return at is not None
        here = self.experiment.data.published_point(at)
        return (here, self.experiment.data.baseline) in self.experiment.table.printed()

    def _row(self, cell: Cell, name: str, unit: str) -> PublishedRow:
        experiment, parameters = self.experiment, dict(cell.parameters)
        values = self.values_of(cell, name)
        found = summarise(list(values.values())) if values else None
        return PublishedRow(
            experiment=experiment.name, workload=cell.subject.argv[0],
            parameters={k: place_of(v) for k, v in cell.parameters if k != LITTER},
            strategy=cell.contender.name, alias=experiment.data.alias(cell.contender.name), heap_state=heap_state(cell),
            toolchain=parameters.get(TOOLCHAIN, SURROUNDINGS[TOOLCHAIN]),
            malloc=parameters.get(MALLOC, SURROUNDINGS[MALLOC]),
            compiler=self._built_by(cell), page_policy=this_machine().page_policy, metric=name, unit=unit,
            n=found.n if found else 0, median=found.median if found else None, low=found.low if found else None,
            high=found.high if found else None, level=found.level if found else None,
            status=self.failed.get(cell, "ok" if values else "not run"),
            why_null=None if values else self.why.get(cell, "not run"),
            **self._published(cell, name), **_ratio("ratio_to_baseline", self._ratio(cell, name)), cell=cell.name,
        )  # fmt: skip

    def _ratio(self, cell: Cell, name: str) -> Summary | None:
        base = self.baseline_of(cell)
        if base is None:
            return None
        pairs = quotients(self.values_of(cell, name), self.values_of(base, name))
        return summarise(list(pairs.values())) if pairs else None

    def _published(self, cell: Cell, name: str) -> dict[str, Any]:
        """The paper's value at the same point for the same label, and its ratio to the paper's baseline there."""
        experiment = self.experiment
        at = experiment.data.point_of(cell) if name == experiment.data.figure.name else None
        here = experiment.data.published_point(at) if at is not None else ()
        strategy = experiment.data.printed_as(cell.contender.name)
        one = experiment.table.printed().get((here, strategy)) if at is not None else None
        found = experiment.published_values()
        value, base = found.get((here, strategy)), found.get((here, experiment.data.baseline))
        return {
            "published": None if one is None else one.printed if one.value is None else one.value,
            "published_unit": one.unit if one else None,
            "published_value": value if one else None,
            "published_ratio": value / base if one and value is not None and base else None,
        }


def _ratio(name: str, summary: Summary | None) -> dict[str, Any]:
    return {
        name: summary.median if summary else None,
        f"{name}_low": summary.low if summary else None,
        f"{name}_high": summary.high if summary else None,
    }
