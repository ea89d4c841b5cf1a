# SPDX-License-Identifier: BSL-1.0
"""The tables of a paper and ours as heat tables: published, ours, ours / published, and bytes.

All tables of a chart share one colour scale for the paper's figures and ours; ratios have one of their own. If a
table's columns are shares of the baseline, the baseline's column has the figures and no colour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from millpond_bench.experiments.experiment_data import ExperimentData, Place
from millpond_bench.experiments.paper_tables import Tables
from millpond_bench.experiments.result_table import PublishedTable
from millpond_bench.pages.surfaces import Axes, surface
from millpond_bench.tables.heat_tables import ColourScale, Heat, HeatTable, heat_table, legend
from millpond_bench.tables.table_model import NOWHERE, QuotientTableModel, TableModel, percent_of, text_of

PUBLISHED = "published"
_STRATEGY = "strategy"
Draw = Callable[[Place], Heat | None]


@dataclass(frozen=True)
class Chart:
    """One table of the paper, with the tables of ours. `ratio_legend`: empty if no figure has a published one."""

    title: str
    tables: list[HeatTable]
    legend: list[tuple[str, str]]
    ratio_legend: list[tuple[str, str]]
    surfaces: list[tuple[str, Markup]]


@dataclass(frozen=True)
class _Layout:
    """The rows and columns of one table, with the place of each figure."""

    title: str
    headings: list[tuple[str, str]]
    rows: list[tuple[str, list[Place]]]


def charts(results: PublishedTable) -> list[Chart]:
    """A chart for each table of the paper that has any measured figure. O(figures).

    They are followed by the quotients that the experiment defines.
    """
    look = TableModel(results)
    layouts = _layouts(results, look)
    found = _drawn(layouts, look)
    for quotient in results.experiment.table.layout.quotients:
        titled = [replace(one, title=f"{one.title}: {quotient.title}") for one in layouts]
        found += _drawn(titled, QuotientTableModel(results, quotient))
    return found


def _drawn(layouts: Sequence[_Layout], look: TableModel) -> list[Chart]:
    """Charts of the layouts that have any measured figure; their ratios to the paper share one scale."""
    kept = [one for one in layouts if any(key in look.ours for _, row in one.rows for key in row)]
    known = [level for one in kept for _, row in one.rows for level in map(look.to_published, row) if level is not None]
    ratios = ColourScale.over(known)
    ratio_legend = legend(ratios, text_of) if known else []
    return [_chart(one, look, ratios, ratio_legend) for one in kept]


def _chart(layout: _Layout, look: TableModel, ratios: ColourScale, ratio_legend: list[tuple[str, str]]) -> Chart:
    keys = [key for _, row in layout.rows for key in row]
    scale = ColourScale.over([*map(look.published_level, keys), *map(look.our_level, keys)])

    def drawn(caption: str, draw: Draw, on: ColourScale | None, every_row: bool = True) -> HeatTable:
        rows = [(label, [draw(k) for k in row]) for label, row in layout.rows]
        kept = [row for row in rows if every_row or any(row[1])]
        return heat_table(caption, look.layout.corner, layout.headings, kept, on)

    tables = [
        drawn(PUBLISHED, look.published, scale), drawn("here", look.here, scale),
        drawn("here / published", look.quotient, ratios, False),
        drawn("here, peak resident MB", look.held, None, False),
    ]  # fmt: skip
    return Chart(
        layout.title, [t for t in tables if not t.empty],
        legend(scale, percent_of if look.layout.relative else text_of), ratio_legend,
        _surfaces(layout, look, scale),
    )  # fmt: skip


def _surfaces(layout: _Layout, look: TableModel, scale: ColourScale) -> list[tuple[str, Markup]]:
    """Surfaces over two axes of numbers; nothing if the columns are strategies."""
    if look.layout.columns == _STRATEGY:
        return []
    drawn = []
    for what, level in ((PUBLISHED, look.published_level), ("here", look.our_level)):
        rows = [(label, [level(k) for k in row]) for label, row in layout.rows]
        kept = [(label, row) for label, row in rows if any(v is not None for v in row)]
        known = [n for n in range(len(layout.headings)) if any(row[n] is not None for _, row in kept)]
        grid = [[row[n] for n in known] for _, row in kept]
        axes = Axes([label for label, _ in kept], [layout.headings[n][0] for n in known])
        picture = surface(grid, axes, scale, f"{layout.title}, {what}, as a surface")
        drawn += [(what, picture)] if picture else []
    return drawn


def _layouts(results: PublishedTable, look: TableModel) -> list[_Layout]:
    """The tables with the paper's layout, with our rows and strategies added."""
    data, tables = results.experiment.data, look.layout
    sortable = _sortable(data, -1 if _STRATEGY in tables.split else 1)
    known = look.printed
    more = {key for key in look.cells if _has_row(data, tables, key, set(known))}
    keys = {*known, *more}
    found = []
    for split in sorted({_values(key, tables.split) for key in keys}, key=sortable):
        inside = [key for key in keys if _values(key, tables.split) == split]
        columns = sorted({_values(k, (tables.columns,)) for k in inside}, key=sortable)
        rows = sorted({_values(k, tables.rows) for k in inside}, reverse=_STRATEGY in tables.split)
        at = {(_values(k, tables.rows), _values(k, (tables.columns,))): k for k in inside}
        found.append(
            _Layout(
                tables.titles(dict(zip(tables.split, split, strict=True))),
                [_heading(data, tables, column[0]) for column in columns],
                [(_label(tables, row), [at.get((row, column), NOWHERE) for column in columns]) for row in rows],
            )
        )
    return found


def _has_row(data: ExperimentData, tables: Tables, key: Place, known: set[Place]) -> bool:
    """True if a figure of ours belongs into the paper's tables: the same table, if need be in a new row or column."""
    if not known:
        return True  # nothing was published: the tables have only our figures
    point, strategy = key
    if _STRATEGY in tables.split:
        at, theirs = dict(point), dict(next(iter(known))[0])
        unseen = {*data.axes} - {*tables.split, *tables.rows, tables.columns}  # one value for all tables
        return strategy in data.measured_strategies and all(at[name] == theirs[name] for name in unseen)
    return tables.own_rows or (point, data.baseline) in known


def _values(key: Place, names: Sequence[str]) -> tuple[int | str, ...]:
    at = dict(key[0])
    return tuple(key[1] if name == _STRATEGY else at[name] for name in names)


def _sortable(data: ExperimentData, direction: int) -> Callable[[tuple[int | str, ...]], tuple[tuple[int, str], ...]]:
    """The sort order: numbers rise, strategies in the paper's order, then others; the usual values come first.

    `direction`: -1 if single numbers fall instead.
    """
    order = {name: place for place, name in enumerate(data.measured_strategies)}
    order |= {name: place for values in data.under.values() for place, name in enumerate(values)}

    def key(values: tuple[int | str, ...]) -> tuple[tuple[int, str], ...]:
        single = len(values) == 1
        return tuple(
            (order.get(v, len(order)), v) if isinstance(v, str) else (v * (direction if single else 1), "")
            for v in values
        )

    return key


def _heading(data: ExperimentData, tables: Tables, value: int | str) -> tuple[str, str]:
    if isinstance(value, str):
        return data.alias(value) or value, value
    return tables.labels(tables.columns, value), ""


def _label(tables: Tables, row: Sequence[int | str]) -> str:
    return ", ".join(tables.labels(name, v) for name, v in zip(tables.rows, row, strict=True))
