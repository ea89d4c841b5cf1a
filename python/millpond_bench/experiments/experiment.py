# SPDX-License-Identifier: BSL-1.0
"""Experiments as data. The code that runs, judges or draws them does not depend on any particular one.

    ExperimentSpec ── name, suite, metrics, claims              what all have
    PublishedSpec  ── axes, strategies, figure ──▶ the cells of a scale       ── rounds ──▶ our figures
                   ── columns of its CSV       ──▶ the paper's own figures ───────────────▶ next to ours at each point

A **point** is a place in the paper's tables: a value on each of the experiment's axes. A cell lies on a point if its
only other parameters are those that the paper leaves open (`free`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from io import StringIO
from itertools import product
from typing import Any, TypeVar

from millpond.cells.cell import LAST_LEVEL, LITTER, MALLOC, SURROUNDINGS, TOOLCHAIN, Cell, Strategy, Workload
from millpond.cells.metrics import COUNTERS, HEAP_TAKEN, Metrics
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond_bench.experiments import quotients
from millpond_bench.experiments.quotients import Quotient

# `shape`: a paper's whole grid with less work at each point, for papers whose own work takes weeks.
SCALES = ("quick", "standard", "shape", "paper")
STANDARD = "standard"
ROUNDS = {"quick": 3, STANDARD: VERDICT_ROUNDS, "paper": 3}

# The values that every suite's program prints for a round, in any workload.
_OF_A_ROUND = {
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "end_bytes": "bytes",
    "held_bytes": "bytes",
    "page_faults": "faults",
    "units": "units",
    HEAP_TAKEN: "share",
    **COUNTERS,
}

Parameters = tuple[tuple[str, str], ...]
Point = quotients.Point
Place = quotients.Place
PERCENT = "percent_of_AS1"
# A fresh heap, as a parameter: no litter.
FRESH = (LITTER, "0")
FOLDER = "paper"
Value = TypeVar("Value")
# Makes figures and heat tables of a page from an experiment's results; their types are defined above this layer.
Draw = Callable[[Any], list[Any]]


def at_scale(values: Mapping[str, Value], scale: str) -> Value:
    """The value for a scale; for `shape` without a value of its own, that of standard."""
    return values[scale] if scale in values or scale not in SCALES else values[STANDARD]


def suite_metrics(**more: str) -> Metrics:
    """The metrics of a suite: those of every round, and its own by name and unit."""
    return Metrics({**_OF_A_ROUND, **more}, is_open=True)


@dataclass(frozen=True)
class Figure:
    """The figure of the paper's tables, made from a `metric` of the suite's program.

    `per_units`: for this many units of work, because cells may do less than the paper did. `twin`: divided by the same
    metric of the cell in which that parameter has the other sign.
    """

    name: str
    unit: str
    metric: str
    per_units: int = 0
    twin: str = ""


@dataclass(frozen=True)
class PublishedFigure:
    """One cell of the paper's tables: as printed (`fail` has no value), and in the figure's unit if possible.

    `metric`: the metric of the suite's program, if it is not the experiment's figure.
    """

    point: Point
    strategy: str
    printed: str
    unit: str
    metric: str = ""

    @property
    def value(self) -> float | None:
        """The printed number; None if the paper has a word in its place."""
        try:
            return float(self.printed)
        except ValueError:
            return None


@dataclass(frozen=True)
class Part:
    """Points that are measured in the same way: `points` have the parameters of the workload, in the order of a cell's
    name.

    `strategies`: by default the experiment's own. Allocators that are built as the paper's run next to ours.
    """

    points: tuple[Parameters, ...]
    strategies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tables:
    """The layout of the paper's figures: a table for each value of `split`, rows of `rows`, columns of `columns`.

    `strategy` among these names means the strategy. `corner`: the kind of the rows. `relative`: all columns except the
    baseline's are shares of it. `own_rows`: points of ours without figures in the paper have rows, too. `quotients`:
    more tables, after these.
    """

    split: tuple[str, ...]
    rows: tuple[str, ...]
    columns: str
    corner: str
    relative: bool = False
    titles: Callable[[Mapping[str, int | str]], str] = lambda at: ", ".join(f"{k} {v}" for k, v in at.items())
    labels: Callable[[str, int | str], str] = lambda _name, value: str(value)
    own_rows: bool = False
    quotients: tuple[Quotient, ...] = ()


@dataclass(frozen=True)
class Needs:
    """The approximate cost of one process of a cell on the reference machine."""

    seconds: float
    bytes: int


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentSpec:
    """The data that every experiment has.

    `claims`: its statements in `claims/`, or its bars; empty if it has none there. `suite`: the program that runs its
    cells. `rounds`: the number for each cell, by scale. `fewest_rounds`: the least for a verdict. `source` and
    `machine`: a paper's title, and the machine that it used. `notes`: caveats for the reader.
    """

    name: str
    title: str
    measured: str
    metrics: Metrics
    section: str = ""
    suite: str = ""
    claims: str = ""
    source: str = ""
    machine: str = ""
    rounds: Mapping[str, int] = field(default_factory=lambda: ROUNDS)
    fewest_rounds: int = VERDICT_ROUNDS
    notes: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The paper's name: `p0089` of `p0089.1`."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedSpec(ExperimentSpec):
    """A published experiment. `strategies` are canonical names, the baseline first; `aliases` are the paper's names.

    `table` is the paper's own in `paper/`, empty if none of its figures is left. `documents_own`: by label, the
    strategies whose allocators are built as the paper's were, where `strategies` and `aliases` have ours; each runs
    wherever ours of its label does. `extra_strategies`: strategies that the paper does not have, run at paper scale.
    `optional`: strategies that a program may have been built without; it then runs without them. The axis `litter` is
    the share of the heap, in percent, that is littered first. `under`: axes of ours for the program's environment,
    which the paper does not have (`surrounded` adds them), each with its values, the usual one first. `memory_bytes`:
    the address space that each process may have; 0 for no limit. `counted`: by the least scale at which they run,
    points that every run of the whole experiment simulates once (callgrind) and never times: small ones, for
    statements about instructions and misses. `extra_runs`: one more run of some cells, for other values. `draw` and
    `tabulate`: make figures, and tables before those of `tables`, from ours.
    """

    workload: str
    figure: Figure
    extra_metrics: tuple[str, ...]
    axes: tuple[str, ...]
    strategies: tuple[str, ...]
    aliases: Mapping[str, str]
    tables: Tables
    parts: Mapping[str, tuple[Part, ...]]
    needs: Callable[[Mapping[str, str], str], Needs]
    free: tuple[str, ...] = ()
    table: str = ""
    published: Callable[[Mapping[str, str]], PublishedFigure | None] = field(default=lambda _row: None)
    documents_own: Mapping[str, str] = field(default_factory=dict)
    extra_strategies: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    under: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counted: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    notation: Callable[[str], Parameters | None] = field(default=lambda _text: None)
    memory_bytes: int = 0
    extra_runs: tuple[Any, ...] = ()  # extra_runs.ExtraRun
    draw: Draw = field(default=lambda _results: [])
    tabulate: Draw = field(default=lambda _results: [])

    @property
    def measured_strategies(self) -> tuple[str, ...]:
        """Our strategy for every label of the paper, then those that are built as its own."""
        return (*self.strategies, *self.documents_own.values())

    @property
    def baseline(self) -> str:
        return self.strategies[0]

    def alias(self, strategy: str) -> str | None:
        """The paper's name for a strategy."""
        return next((alias for alias, name in self.aliases.items() if name == strategy), None)

    def canonical(self, strategy: str) -> str:
        """The strategy's name for an alias; any other name is returned unchanged."""
        return self.aliases.get(strategy, strategy)

    def printed_as(self, strategy: str) -> str:
        """The strategy under which the paper's tables have the figures of this one: ours of the same label."""
        return next((self.aliases[label] for label, own in self.documents_own.items() if own == strategy), strategy)

    def original_allocator(self, strategy: str) -> str:
        """The paper's own allocator for a label, or for our strategy of that label."""
        name = self.canonical(strategy)
        return next((own for label, own in self.documents_own.items() if self.aliases[label] == name), name)

    @cache  # noqa: B019 (an experiment lives as long as the program)
    def printed(self, metric: str = "") -> dict[Place, PublishedFigure]:
        """Every figure of the paper's tables as printed; or every value of a metric."""
        if not self.table:
            return {}
        text = (files("millpond_bench.suites") / FOLDER / self.table).read_text(encoding="utf-8")
        read = (self.published(row) for row in csv.DictReader(StringIO(text)))
        return {(one.point, one.strategy): one for one in read if one is not None and one.metric == metric}

    @cache  # noqa: B019
    def published_values(self, metric: str = "") -> dict[Place, float]:
        """The figures that are numbers, in our units; shares of the baseline are converted to absolute values."""
        found = self.printed(metric)
        result = {}
        for place, one in found.items():
            base = found.get((one.point, self.baseline))
            if one.value is None:
                continue
            if one.unit != PERCENT:
                result[place] = one.value
            elif base is not None and base.value is not None:
                result[place] = one.value / 100.0 * base.value
        return result

    def point_of(self, cell: Cell) -> Point | None:
        """The place of a cell in the paper's tables; None if it has none."""
        given = {**SURROUNDINGS, **dict(cell.parameters)}
        if not {*self.axes} - {LITTER} <= given.keys():
            return None
        if dict(cell.parameters).keys() - {*self.axes, *self.free, LITTER}:
            return None
        return tuple((name, _on_axis(name, given)) for name in self.axes)

    def published_point(self, point: Point) -> Point:
        """The place of one of our points in the paper's tables, without the program's environment."""
        return tuple(pair for pair in point if pair[0] not in self.under)

    def around(self, point: Point) -> Point:
        """The rest of a point: the program's environment."""
        return tuple(pair for pair in point if pair[0] in self.under)

    @property
    def usual(self) -> Point:
        """The usual environment of the program."""
        return tuple((name, _on_axis(name, {name: values[0]})) for name, values in self.under.items())

    def cells(self, part: Part, given: Parameters = (), every: bool = False) -> Iterable[Cell]:
        """The cells of a part, point by point. `every`: also of strategies that the paper does not have.

        `given` replaces a point's parameters of the same names; a heap without litter is a fresh heap.
        """
        kept = tuple(pair for pair in given if pair != FRESH)
        asked = part.strategies or self.strategies
        original_allocator = (own for label, own in self.documents_own.items() if self.aliases[label] in asked)
        strategies = (*asked, *original_allocator, *(self.extra_strategies if every and not part.strategies else ()))
        for point in part.points:
            own = tuple(pair for pair in point if pair[0] not in dict(given))
            for strategy in strategies:
                yield Cell(Workload(self.workload), Strategy(strategy), (*own, *kept))

    def twin_of(self, cell: Cell) -> Cell | None:
        """The cell that this one's figure is divided by; None if this is such a cell itself, or if none is needed."""
        given = dict(cell.parameters)
        value = given.get(self.figure.twin)
        if value is None or value.startswith("-"):
            return None
        parameters = tuple((k, f"-{v}" if k == self.figure.twin else v) for k, v in cell.parameters)
        return replace(cell, parameters=parameters)


def crossed(parts: Iterable[Part], strategies: tuple[str, ...], **values: tuple[str, ...]) -> tuple[Part, ...]:
    """The points of these parts, extended by every combination of these values, under these strategies."""
    more = points(**values)
    return tuple(Part(tuple((*point, *each) for point in part.points for each in more), strategies) for part in parts)


def surrounded(experiment: PublishedSpec, **under: tuple[str, ...]) -> PublishedSpec:
    """The experiment with these axes for its program's environment, and a table for each of their values.

    An axis that it has already gets these values. The paper's figures are next to ours under all of them.
    """
    new = tuple(name for name in under if name not in experiment.axes)
    tables = experiment.tables

    def titles(at: Mapping[str, int | str]) -> str:
        around = [word for name in new if name in at and (word := _around(name, at[name]))]
        return ", ".join([tables.titles(at), *around])

    split = replace(tables, split=(*tables.split, *new), titles=titles)
    return replace(experiment, axes=(*experiment.axes, *new), tables=split, under={**experiment.under, **under})


def _around(name: str, value: int | str) -> str:
    """The environment for the title of a table; empty for the usual one."""
    words = {TOOLCHAIN: "by {}", MALLOC: "on {}", LAST_LEVEL: "last level of {}"}
    return words.get(name, f"{name} {{}}").format(value) if value != SURROUNDINGS.get(name) else ""


def percent(given: Mapping[str, str]) -> int:
    """The share of the heap that is littered before a cell."""
    return round(100 * float(given.get(LITTER, "0")))


def _on_axis(name: str, given: Mapping[str, str]) -> int | str:
    """The value of a parameter in the form that a point has."""
    return percent(given) if name == LITTER else place_of(given[name])


def place_of(text: str) -> int | str:
    """A value on an axis: a number if it is one, else a word."""
    return int(text) if text.lstrip("-").isdecimal() else text


def thousands(_name: str, value: int | str) -> str:
    """A label: `10 000 000` for a number."""
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else value


def points(**axes: Iterable[object]) -> tuple[Parameters, ...]:
    """Every combination of these values; the last name varies fastest."""
    return tuple(
        tuple((name, str(value)) for name, value in zip(axes, values, strict=True))
        for values in product(*axes.values())
    )
