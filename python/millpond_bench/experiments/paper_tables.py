# SPDX-License-Identifier: BSL-1.0
"""The tables of a paper: its figures as printed, their layout, and its notation for a point."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any

from millpond_bench.experiments.experiment_data import Parameters, Place, Point
from millpond_bench.experiments.quotients import Quotient

PERCENT = "percent_of_AS1"
FOLDER = "paper"
# Makes figures and heat tables of a page from an experiment's results; their types are defined above this layer.
Draw = Callable[[Any], list[Any]]


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


@dataclass(frozen=True, eq=False, kw_only=True)
class PaperTables:
    """The tables of one experiment. Its readers show our values next to the paper's.

    `file`: the paper's own table in `paper/`; empty if it has none there. `read`: the figure of one of its rows, None
    if that is another experiment's. `figures`: the paper's figures by metric, where there is no `file`; "" is the
    experiment's figure. `notation`: the point of a filter in the paper's notation. `draw` and `tabulate`: make
    figures, and tables before those of `layout`, from ours; `remark`: sentences on all of them.
    """

    layout: Tables
    file: str = ""
    read: Callable[[Mapping[str, str]], PublishedFigure | None] = field(default=lambda _row: None)
    figures: Callable[[], Mapping[str, Iterable[PublishedFigure]]] = field(default=dict)
    notation: Callable[[str], Parameters | None] = field(default=lambda _text: None)
    draw: Draw = field(default=lambda _results: [])
    tabulate: Draw = field(default=lambda _results: [])
    remark: Callable[[Any], list[str]] = field(default=lambda _results: [])

    @cache  # noqa: B019 (an experiment lives as long as the program)
    def printed(self, metric: str = "") -> dict[Place, PublishedFigure]:
        """Every figure of the paper's tables as printed; or every value of a metric."""
        if not self.file:
            return {(one.point, one.strategy): one for one in self.figures().get(metric, ())}
        text = (files("millpond_bench.suites") / FOLDER / self.file).read_text(encoding="utf-8")
        read = (self.read(row) for row in csv.DictReader(StringIO(text)))
        return {(one.point, one.strategy): one for one in read if one is not None and one.metric == metric}

    @cache  # noqa: B019
    def published_values(self, baseline: str, metric: str = "") -> dict[Place, float]:
        """The figures that are numbers, in our units; shares of the baseline are converted to absolute values."""
        found = self.printed(metric)
        result = {}
        for place, one in found.items():
            base = found.get((one.point, baseline))
            if one.value is None:
                continue
            if one.unit != PERCENT:
                result[place] = one.value
            elif base is not None and base.value is not None:
                result[place] = one.value / 100.0 * base.value
        return result
