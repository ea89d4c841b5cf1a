# SPDX-License-Identifier: BSL-1.0
"""The tables of a paper and ours: published, ours, ours / published, and bytes; and the figures of both.

columns are strategies   curves over the rows, a colour for each strategy, dashed as published
columns are numbers      two heat maps with one scale: the surface that the document draws, as published and here

If a table's columns are shares of the baseline, figures show the shares, and the baseline is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from millpond.report.figures.specification import COLOURS, Axis, Curves, Figure, HeatCell, HeatMap, Series
from millpond_bench.experiments.experiment_data import ExperimentData, Place
from millpond_bench.experiments.paper_tables import Tables
from millpond_bench.experiments.result_table import PublishedTable
from millpond_bench.tables.page_tables import Entry, PageTable, page_table
from millpond_bench.tables.quantities import kind_of
from millpond_bench.tables.table_model import NOWHERE, QuotientTableModel, TableModel

PUBLISHED, HERE = "published", "here"
DASH_OF = {PUBLISHED: 1, HERE: 0}
_STRATEGY = "strategy"
_ROW_PIXELS, _MARGIN_PIXELS = 22, 70
Draw = Callable[[Place], Entry | None]
Level = Callable[[Place], float | None]


@dataclass(frozen=True)
class Chart:
    """One table of the paper, with the tables of ours, and the figures of both."""

    title: str
    tables: list[PageTable]
    figures: list[Figure]


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
    """Charts of the layouts that have any measured figure; of all if none of these has a published one."""
    measured = [one for one in layouts if any(key in look.ours for _, row in one.rows for key in row)]
    both = any(key in look.printed for one in measured for _, row in one.rows for key in row)
    return [_chart(one, look) for one in (measured if both or not measured else layouts)]


def _chart(layout: _Layout, look: TableModel) -> Chart:
    def drawn(caption: str, draw: Draw, units: Sequence[str], every_row: bool = True) -> PageTable:
        rows = [(label, [draw(k) for k in row]) for label, row in layout.rows]
        kept = [row for row in rows if every_row or any(row[1])]
        return page_table(caption, look.layout.corner, layout.headings, kept, units)

    units = [_unit_of(look, [row[n] for _, row in layout.rows]) for n in range(len(layout.headings))]
    tables = [
        drawn(PUBLISHED, look.published, units), drawn(HERE, look.here, units, False),
        drawn("here / published", look.quotient, ["ratio"], False),
        drawn("here, peak resident memory", look.held, [look.peak_quantity.unit], False),
    ]  # fmt: skip
    _, factor = kind_of(look.unit)
    scale = 1.0 if look.layout.relative else factor
    levels: list[tuple[str, Level]] = [
        (PUBLISHED, _scaled(look.published_level, scale)), (HERE, _scaled(look.our_level, scale)),
    ]  # fmt: skip
    figures = _curves if look.layout.columns == _STRATEGY else _surfaces
    found = figures(layout, look, levels) or _dots(layout, look, levels, scale)
    return Chart(layout.title, [t for t in tables if not t.empty], found)


def _scaled(level: Level, factor: float) -> Level:
    def scaled(place: Place) -> float | None:
        value = level(place)
        return None if value is None else float(f"{value * factor:.4g}")  # more digits make the page larger

    return scaled


def _unit_of(look: TableModel, places: Sequence[Place]) -> str:
    """The unit of a column: that of its entries."""
    return look.unit_of(next((place for place in places if place != NOWHERE), NOWHERE))


def _value(look: TableModel) -> Axis:
    """The axis of the figures of a table."""
    if look.layout.relative:
        data = look.experiment.data
        return Axis(name=f"of {data.alias(data.baseline) or 'the baseline'}", unit="share", log=True)
    kind, _ = kind_of(look.unit)
    name = look.experiment.data.figure.name if look.unit in ("ns", "seconds", "bytes") else look.unit
    return Axis(name=name.removesuffix("_ns").replace("_", " "), unit=kind, log=True)


def _curves(layout: _Layout, look: TableModel, levels: Sequence[tuple[str, Level]]) -> list[Figure]:
    """Curves over the rows, if these are two or more."""
    series = []
    for kind, level in levels:
        for number, (label, _) in enumerate(layout.headings):
            found = [(at, level(row[number])) for at, (_, row) in enumerate(layout.rows)]
            points = [(at, value) for at, value in found if value is not None and value > 0]
            if points:
                series.append(
                    Series(name=f"{label}, {kind}", group=label, kind=kind, points=points, colour=number % COLOURS,
                           dash=DASH_OF[kind], has_dots=True)
                )  # fmt: skip
    if not series or len(layout.rows) < 2:
        return []
    x = Axis(name=look.layout.corner, names=[label for label, _ in layout.rows])
    return [Curves(title="Published and here" if look.printed else "Here", x=x, y=_value(look), series=series)]


def _dots(layout: _Layout, look: TableModel, levels: Sequence[tuple[str, Level]], scale: float) -> list[Figure]:
    """Dots over the columns of a single row, or over the rows of a single column, with our intervals."""
    if len(layout.rows) == 1:
        ((_, places),), names, axis = layout.rows, [heading for heading, _ in layout.headings], look.layout.columns
    else:
        names, places = [label for label, _ in layout.rows], [row[0] for _, row in layout.rows]
        axis = look.layout.corner
    series = []
    for number, (kind, level) in enumerate(levels):
        points = [(at, value) for at, place in enumerate(places) if (value := level(place)) is not None and value > 0]
        ends = [look.our_interval(places[at]) for at, _ in points] if kind == HERE else []
        if points:
            series.append(
                Series(name=kind, look="dots", colour=number, points=points,
                       intervals=[(low * scale, high * scale) for low, high in ends])
            )  # fmt: skip
    x = Axis(name=axis.replace("_", " "), names=names)
    title = "Published and here" if any(one.name == PUBLISHED for one in series) else "Here"
    return [Curves(title=title, x=x, y=_value(look), series=series)] if series else []


def _surfaces(layout: _Layout, look: TableModel, levels: Sequence[tuple[str, Level]]) -> list[Figure]:
    """A heat map as published and one of ours, with one scale; none for a single row or column."""
    rows = list(reversed(layout.rows))
    found: dict[str, list[HeatCell]] = {kind: [] for kind, _ in levels}
    for kind, level in levels:
        for height, (_, row) in enumerate(rows):
            values = [(across, level(place)) for across, place in enumerate(row)]
            found[kind] += [
                HeatCell(across, height, value) for across, value in values if value is not None and value > 0
            ]
    known = [cell.value for cells in found.values() for cell in cells]
    if not known or len(rows) < 2 or len(layout.headings) < 2:
        return []
    # A factor of two at least, so that noise does not get the full range of colours.
    low, high = min(known), max(*known, 2 * min(known))
    x = Axis(name=look.layout.columns.replace("_", " "), names=[heading for heading, _ in layout.headings])
    y = Axis(name=look.layout.corner, names=[label for label, _ in rows])
    return [
        HeatMap(title=kind, x=x, y=y, value=_value(look), cells=cells, low=low, high=high,
                labels=True, height=_ROW_PIXELS * len(rows) + _MARGIN_PIXELS)
        for kind, cells in found.items() if cells
    ]  # fmt: skip


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
        return data.alias(value) or value, ""
    return tables.labels(tables.columns, value), ""


def _label(tables: Tables, row: Sequence[int | str]) -> str:
    return ", ".join(tables.labels(name, v) for name, v in zip(tables.rows, row, strict=True))
