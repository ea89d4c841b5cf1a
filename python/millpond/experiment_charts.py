# SPDX-License-Identifier: BSL-1.0
"""The document's tables and ours as heat tables: published, ours, ours / published, bytes, each with its numbers.

All tables of a chart have one colour scale for the document's figures and ours together; ratios have one of their own.
Where a table's columns are shares of the baseline, the baseline's column has the figures and no colour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from millpond import published
from millpond.cells import Cell
from millpond.experiment_figures import Results
from millpond.experiments import Experiment, Point
from millpond.heat_tables import Heat, HeatTable, Scale, heat_table, legend
from millpond.statistics import summarise
from millpond.surfaces import Axes, surface
from millpond.wording import bytes_text, plural

_STRATEGY = "strategy"
_BYTES, _MB = "peak_bytes", 1e6
Key = tuple[Point, str]
Draw = Callable[[Key], Heat | None]


@dataclass(frozen=True)
class Chart:
    """One table of the document with what belongs to it."""

    title: str
    tables: list[HeatTable]
    legend: list[tuple[str, str]]
    ratio_legend: list[tuple[str, str]]
    surfaces: list[tuple[str, Markup]]


@dataclass(frozen=True)
class _Layout:
    """Which figure stands where: rows and columns of one table."""

    title: str
    headings: list[tuple[str, str]]
    rows: list[tuple[str, list[Key]]]


def charts(results: Results) -> list[Chart]:
    """A chart for each table of the document of which anything was measured. O(figures)."""
    look = _Look(results)
    layouts = [
        layout for layout in _layouts(results, look) if any(k in look.ours for _, row in layout.rows for k in row)
    ]
    ratios = Scale.over(level for layout in layouts for _, row in layout.rows for level in map(look.to_published, row))
    return [_chart(layout, look, ratios) for layout in layouts]


def _chart(layout: _Layout, look: _Look, ratios: Scale) -> Chart:
    keys = [key for _, row in layout.rows for key in row]
    scale = Scale.over([*map(look.published_level, keys), *map(look.our_level, keys)])

    def drawn(caption: str, draw: Draw, on: Scale | None, every_row: bool = True) -> HeatTable:
        rows = [(label, [draw(k) for k in row]) for label, row in layout.rows]
        return heat_table(
            caption, look.experiment.tables.corner, layout.headings, [r for r in rows if every_row or any(r[1])], on
        )

    tables = [
        drawn("published", look.published, scale), drawn("here", look.here, scale),
        drawn("here / published", look.quotient, ratios, False),
        drawn("here, peak resident MB", look.held, None, False),
    ]  # fmt: skip
    return Chart(
        layout.title, [t for t in tables if not t.empty],
        legend(scale, percent_of if look.experiment.tables.relative else text_of), legend(ratios, text_of),
        _surfaces(layout, look, scale),
    )  # fmt: skip


def _surfaces(layout: _Layout, look: _Look, scale: Scale) -> list[tuple[str, Markup]]:
    """The same over two axes of numbers; nothing where the columns are strategies."""
    if look.experiment.tables.columns == _STRATEGY:
        return []
    drawn = []
    for what, level in (("published", look.published_level), ("here", look.our_level)):
        rows = [(label, [level(k) for k in row]) for label, row in layout.rows]
        kept = [(label, row) for label, row in rows if any(v is not None for v in row)]
        known = [n for n in range(len(layout.headings)) if any(row[n] is not None for _, row in kept)]
        grid = [[row[n] for n in known] for _, row in kept]
        axes = Axes([label for label, _ in kept], [layout.headings[n][0] for n in known])
        picture = surface(grid, axes, scale, f"{layout.title}, {what}, as a surface")
        drawn += [(what, picture)] if picture else []
    return drawn


def text_of(value: float) -> str:
    """Three digits or so, and no exponent."""
    for least, form in ((99.95, ".0f"), (9.995, ".1f"), (0.0995, ".2f")):
        if abs(value) >= least:
            return format(value, form)
    return f"{value:.2g}"


def percent_of(share: float) -> str:
    """A share as the document prints it, with the sign that it leaves out."""
    return f"{100 * share:.0f} %"


class _Look:
    """What is known of each place in the tables, and how it is written."""

    def __init__(self, results: Results) -> None:
        self.experiment = results.experiment
        self._printed = published.printed(results.experiment)
        self._values = published.values(results.experiment)
        self._results = results
        self.cells: dict[Key, Cell] = {}
        for cell in results.cells:
            at = results.experiment.point_of(cell)
            if at is not None and results.has_figure(cell):
                self.cells.setdefault((at, cell.variant), cell)
        self.ours = {key: found for key, cell in self.cells.items() if (found := results.figure(cell))}
        self._medians = {key: summarise(list(found.values())).median for key, found in self.ours.items()}

    def _is_share(self, key: Key) -> bool:
        return self.experiment.tables.relative and key[1] != self.experiment.baseline

    def _level(self, values: Mapping[Key, float], key: Key) -> float | None:
        """What is coloured: the figure, or its share of the baseline's."""
        value = values.get(key)
        if not self.experiment.tables.relative or value is None:
            return value
        base = values.get((key[0], self.experiment.baseline))
        return value / base if base and self._is_share(key) else None

    def published_level(self, key: Key) -> float | None:
        return self._level(self._values, key)

    def our_level(self, key: Key) -> float | None:
        return self._level(self._medians, key)

    def to_published(self, key: Key) -> float | None:
        """Ours / the document's, of what the tables show: figures, or shares."""
        shares = self.our_level(key), self.published_level(key)
        ours, theirs = shares if self._is_share(key) else (self._medians.get(key), self._values.get(key))
        return ours / theirs if ours is not None and theirs else None

    def published(self, key: Key) -> Heat | None:
        one = self._printed.get(key)
        return None if one is None else Heat(self.published_level(key), one.printed, one.unit)

    def here(self, key: Key) -> Heat | None:
        cell = self.cells.get(key)
        if cell is None:
            return None
        if key not in self.ours:
            why = self._results.rounds.failed.get(cell, "not run")
            status = next((o.status for o in self._results.outcomes if o.cell == cell and o.status != "ok"), "")
            return Heat(None, status.replace("_", " "), why)
        found = summarise(list(self.ours[key].values()))
        level, unit = self.our_level(key), self.experiment.figure.unit
        interval = f"{text_of(found.low)} to {text_of(found.high)}"
        title = f"{text_of(found.median)} {unit} ({interval}), {plural(found.n, 'round')}"
        return Heat(level, f"{100 * (level or 0.0):.0f}" if self._is_share(key) else text_of(found.median), title)

    def quotient(self, key: Key) -> Heat | None:
        value = self.to_published(key)
        return None if value is None else Heat(value, text_of(value), "of shares" if self._is_share(key) else "")

    def held(self, key: Key) -> Heat | None:
        cell = self.cells.get(key)
        values = list(self._results.rounds.by_round(cell, _BYTES).values()) if cell else []
        if not values:
            return None
        found = summarise(values)
        return Heat(1.0, text_of(found.median / _MB), f"{bytes_text(found.low)} to {bytes_text(found.high)}")


def _layouts(results: Results, look: _Look) -> list[_Layout]:
    """The tables as the document has them, with our rows and strategies among its own."""
    experiment = results.experiment
    tables = experiment.tables
    known = published.printed(experiment)
    more = {key for key in look.cells if _has_row(experiment, key, set(known))}
    keys = {*known, *more}
    found = []
    for split in sorted({_values(key, tables.split) for key in keys}, key=_sortable(experiment)):
        inside = [key for key in keys if _values(key, tables.split) == split]
        columns = sorted({_values(k, (tables.columns,)) for k in inside}, key=_sortable(experiment))
        rows = sorted({_values(k, tables.rows) for k in inside}, reverse=_STRATEGY in tables.split)
        at = {(_values(k, tables.rows), _values(k, (tables.columns,))): k for k in inside}
        blank: Key = ((), "")
        found.append(
            _Layout(
                tables.titles(dict(zip(tables.split, split, strict=True))),
                [_heading(experiment, column[0]) for column in columns],
                [(_label(experiment, row), [at.get((row, column), blank) for column in columns]) for row in rows],
            )
        )
    return found


def _has_row(experiment: Experiment, key: Key, known: set[Key]) -> bool:
    """Whether a figure of ours stands in the document's tables: the same table, be it in a row or column of its own."""
    point, strategy = key
    if _STRATEGY in experiment.tables.split:
        return strategy in experiment.strategies and dict(point).get("sf") == dict(next(iter(known))[0]).get("sf")
    return (point, experiment.baseline) in known


def _values(key: Key, names: Sequence[str]) -> tuple[int | str, ...]:
    at = dict(key[0])
    return tuple(key[1] if name == _STRATEGY else at[name] for name in names)


def _sortable(experiment: Experiment) -> Callable[[tuple[int | str, ...]], tuple[tuple[int, str], ...]]:
    """Numbers rise, strategies stand in the document's order, others behind them."""
    order = {name: place for place, name in enumerate(experiment.strategies)}
    reverse = -1 if _STRATEGY in experiment.tables.split else 1

    def key(values: tuple[int | str, ...]) -> tuple[tuple[int, str], ...]:
        single = len(values) == 1
        return tuple(
            (order.get(v, len(order)), v) if isinstance(v, str) else (v * (reverse if single else 1), "")
            for v in values
        )

    return key


def _heading(experiment: Experiment, value: int | str) -> tuple[str, str]:
    if isinstance(value, str):
        return experiment.alias(value) or value, value
    return experiment.tables.labels(experiment.tables.columns, value), ""


def _label(experiment: Experiment, row: Sequence[int | str]) -> str:
    return ", ".join(experiment.tables.labels(name, v) for name, v in zip(experiment.tables.rows, row, strict=True))
