# SPDX-License-Identifier: BSL-1.0
"""A figure on a page: caption, specification for the script, values as a table for everyone else.

<figure class="figure" data-figure="curves">
  <figcaption>…</figcaption>
  <template>{"figure":"curves",…}</template>      data, which no policy and no browser runs
  <details class="values">…</details>
</figure>
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec
from markupsafe import Markup

from millpond.report.figures.specification import (
    Axis,
    Curves,
    Figure,
    HeatCell,
    HeatMap,
    Icicle,
    Intervals,
    Multiples,
    Series,
    Unit,
)
from millpond.system.wording import bytes_text, count_text, percent_text, seconds_text

ROWS_AT_MOST = 100
_COLUMNS_AT_MOST = 24
Table = tuple[Sequence[str], Sequence[Sequence[str]], int]  # headings, rows, rows that were left out


def html_of(figure: Figure, *, table: bool = True) -> Markup:
    """Returns the figure for a page that has the script and style of figures. `table`: with its values. O(values)."""
    return Markup(
        '<figure class="figure" data-figure="{}"><figcaption>{}</figcaption><div class="drawing"></div>'
        "<template>{}</template>{}</figure>"
    ).format(
        figure.__struct_config__.tag, _caption(figure), Markup(_data(figure)), _values(figure) if table else ""
    )  # fmt: skip


def size_text(size_bytes: float) -> str:
    """Returns a size in the units of caches: `48 KiB`."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.4g} {name}"
    return f"{size_bytes:.0f} B"


def share_text(share: float) -> str:
    """Returns a share in per cent: `0.0137 %`."""
    return f"{100 * share:.3g} %" if share < 1 else f"{100 * share:.0f} %"


def _number(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if float(value).is_integer() else f"{value:.4g}"


_TEXTS: dict[Unit, Callable[[float], str]] = {
    "number": _number, "count": count_text, "bytes": bytes_text, "size": size_text, "seconds": seconds_text,
    "share": share_text, "change": percent_text,
}  # fmt: skip


def value_text(axis: Axis, value: float) -> str:
    """Returns a value on an axis, with its unit."""
    if axis.names:
        return axis.names[int(value)] if 0 <= int(value) < len(axis.names) else ""
    return _TEXTS[axis.unit](value)


def _data(figure: Figure) -> str:
    """Returns JSON without a letter that HTML would read."""
    # Escapes all but ASCII: a name may have bytes that are no text.
    text = json.dumps(msgspec.to_builtins(figure), separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _caption(figure: Figure) -> Markup:
    if not figure.caption:
        return Markup("<b>{}</b>").format(figure.title)
    return Markup("<b>{}</b> {}").format(figure.title, figure.caption)


def _values(figure: Figure) -> Markup:
    if isinstance(figure, Multiples):
        return Markup("").join(map(_values, figure.figures))
    heads, rows, omitted = _table(figure)
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in heads)
    body = Markup("").join(_row(row) for row in rows)
    more = Markup('<p class="soft">{} more rows are left out here.</p>').format(omitted) if omitted else ""
    words = f"{figure.title}, values" if figure.title else "values"
    return Markup(
        '<details class="values"><summary>{}</summary><div class="wide" tabindex="0" role="group" aria-label="{}">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>{}</details>"
    ).format(words, words, head, body, more)


def _row(cells: Sequence[str]) -> Markup:
    first = Markup('<th scope="row">{}</th>').format(cells[0])
    return Markup("<tr>{}{}</tr>").format(first, Markup("").join(Markup("<td>{}</td>").format(c) for c in cells[1:]))


def _table(figure: Curves | HeatMap | Icicle | Intervals) -> Table:
    match figure:
        case Curves():
            return _of_curves(figure)
        case HeatMap():
            return _of_heat(figure)
        case Icicle():
            return _of_icicle(figure)
        case Intervals():
            rows = [
                (row.name, *(value_text(figure.axis, v) for v in (row.median, row.low, row.high)), str(len(row.dots)))
                for row in figure.rows
            ]
            return ("of", "median", "low", "high", figure.dots), rows, 0


def _of_curves(figure: Curves) -> Table:
    xs = sorted({x for series in figure.series for x, _ in series.points})
    kept = _spread(xs)
    places = [{x: place for place, (x, _) in enumerate(series.points)} for series in figure.series]
    rows = [
        (value_text(figure.x, x),
         *(_point(figure, series, at.get(x)) for series, at in zip(figure.series, places, strict=True)))
        for x in kept
    ]  # fmt: skip
    return (figure.x.name, *(series.name or figure.y.name for series in figure.series)), rows, len(xs) - len(kept)


def _point(figure: Curves, series: Series, place: int | None) -> str:
    if place is None:
        return ""
    y = series.points[place][1]
    words = f"{_number(y)} ({share_text(y / series.of)})" if series.of else value_text(figure.y, y)
    if not series.intervals:
        return words
    low, high = series.intervals[place]
    return f"{words} ({value_text(figure.y, low)} to {value_text(figure.y, high)})"


def _spread(values: Sequence[float]) -> Sequence[float]:
    """Returns at most ROWS_AT_MOST of the values, evenly, with the first and the last."""
    last = len(values) - 1
    if last < ROWS_AT_MOST:
        return values
    return [values[round(i * last / (ROWS_AT_MOST - 1))] for i in range(ROWS_AT_MOST)]


def _of_heat(figure: HeatMap) -> Table:
    """Returns a row for each row of the map, the highest first, and a column for some of its columns."""
    at = {(column, cell.y): cell for cell in figure.cells for column in range(cell.x, cell.x + cell.columns)}
    columns = list(range(len(figure.x.names)))
    if len(columns) > _COLUMNS_AT_MOST:
        last = len(columns) - 1
        columns = [round(i * last / (_COLUMNS_AT_MOST - 1)) for i in range(_COLUMNS_AT_MOST)]
    rows = [
        (name, *(_cell(figure, at.get((column, row))) for column in columns))
        for row, name in reversed(list(enumerate(figure.y.names)))
    ]
    heads = (figure.y.name, *(figure.x.names[column] for column in columns))
    return heads, rows[:ROWS_AT_MOST], max(0, len(rows) - ROWS_AT_MOST)


def _cell(figure: HeatMap, cell: HeatCell | None) -> str:
    if cell is None:
        return ""
    words = value_text(figure.value, cell.value)
    return f"{figure.kinds[cell.kind][0]}: {words}" if figure.kinds else words


def _of_icicle(figure: Icicle) -> Table:
    """Returns the largest nodes by the first measure."""
    ranked = sorted(figure.nodes, key=lambda node: -node.values[0])
    rows = [(figure.names[node.name], *map(value_text, figure.measures, node.values)) for node in ranked[:ROWS_AT_MOST]]
    return ("function", *(one.name for one in figure.measures)), rows, max(0, len(ranked) - ROWS_AT_MOST)
