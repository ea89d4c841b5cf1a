# SPDX-License-Identifier: BSL-1.0
"""The points, strategies and cells of a published experiment.

A **point** is a place in the paper's tables: a value on each of the experiment's axes. A cell lies on a point if its
only other parameters are those that the paper leaves open (`free`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from millpond.cells.cell import LITTER, SURROUNDINGS, Cell, Strategy, Workload
from millpond_bench.experiments import quotients

Parameters = tuple[tuple[str, str], ...]
Point = quotients.Point
Place = quotients.Place
# A fresh heap, as a parameter: no litter.
FRESH = (LITTER, "0")


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
class Part:
    """Points that are measured in the same way: `points` have the parameters of the workload, in the order of a cell's
    name.

    `strategies`: by default the experiment's own. Allocators that are built as the paper's run next to ours.
    """

    points: tuple[Parameters, ...]
    strategies: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentData:
    """The things that an experiment measures. Its readers choose cells, and look up values at points.

    `strategies` are canonical names, the baseline first; `aliases` are the paper's names. `documents_own`: by label,
    the strategies whose allocators are built as the paper's were, where `strategies` and `aliases` have ours; each
    runs wherever ours of its label does. `extra_strategies`: strategies that the paper does not have, run at paper
    scale. The axis `litter` is the share of the heap, in percent, that is littered first. `under`: axes of ours for
    the program's environment, which the paper does not have (`surrounded` adds them), each with its values, the usual
    one first. `parts`: the points of each scale. `counted`: by the least scale at which they run, points that every
    run of the whole experiment simulates once (callgrind) and never times: small ones, for statements about
    instructions and misses.
    """

    workload: str
    figure: Figure
    extra_metrics: tuple[str, ...]
    axes: tuple[str, ...]
    strategies: tuple[str, ...]
    aliases: Mapping[str, str]
    parts: Mapping[str, tuple[Part, ...]]
    free: tuple[str, ...] = ()
    documents_own: Mapping[str, str] = field(default_factory=dict)
    extra_strategies: tuple[str, ...] = ()
    under: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counted: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)

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
