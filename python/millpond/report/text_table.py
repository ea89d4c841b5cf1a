# SPDX-License-Identifier: BSL-1.0
"""Lays out a table in a number of columns: names are shortened, words wrapped, and nothing is broken inside a word.

subsystem      bytes   saves CPU      too narrow for the columns:   subsystem  request_server::request
─────────────  ──────  ─────────                                    bytes      111 MB
shop::…::add   111 MB     -18.7 %                                   saves CPU  -18.7 %
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from millpond.report.views.model import EMPTY, Cell, Column, Table
from millpond.report.views.short_text import short_name, words_of, wrapped

_GAP = "  "
_NARROWEST_NAME = 18
_NARROWEST_WORDS = 12
Line = tuple[str, str]


def table_lines(table: Table, width: int) -> Iterator[Line]:
    """Returns the lines of a table, each with a style."""
    if table.title:
        yield from ((line, "bold") for line in wrapped(table.title, width))
    widths = _widths(table, width)
    if widths is None:
        yield from _as_records(table, width)
    else:
        yield from _row([Cell(column.title) for column in table.columns], table.columns, widths, "bold")
        yield _GAP.join("─" * w for w in widths), "dim"
        for number, row in enumerate(table.rows):
            yield from _row(row, table.columns, widths, "green" if number in table.marked else "")
    yield from ((line, "dim") for line in wrapped(table.caption, width))


def _text(cell: Cell, column: Column) -> str:
    """Returns a number with its interval; the notes of words and names are for the page."""
    return f"{cell.text} ({cell.note})" if cell.note and column.right else cell.text


def _widths(table: Table, width: int) -> list[int] | None:
    """Returns the width of each column; None if even the narrowest do not fit."""
    columns = range(len(table.columns))
    widths, least = [], []
    for i in columns:
        cells, column = [row[i] for row in table.rows], table.columns[i]
        natural = max(map(cell_len, [column.title, *(_text(cell, column) for cell in cells)]))
        narrowest = 0 if column.right else _NARROWEST_WORDS
        narrowest = _NARROWEST_NAME if any(cell.name for cell in cells) else narrowest
        texts = (column.title, *(_text(cell, column) for cell in cells if not cell.name))
        words = [word for text in texts for word in words_of(text)]
        longest = max(map(cell_len, words), default=0)
        widths.append(natural)
        least.append(min(natural, max(narrowest, min(longest, _NARROWEST_NAME))))
    room = width - len(_GAP) * (len(widths) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((i for i in columns if widths[i] > least[i]), key=lambda i: widths[i])
        widths[widest] -= min(sum(widths) - room, max(1, (widths[widest] - least[widest]) // 4))
    return widths


def _row(
    row: tuple[Cell, ...] | list[Cell], columns: tuple[Column, ...], widths: list[int], style: str
) -> Iterator[Line]:
    cells = [
        [short_name(cell.text, w)] if cell.name else wrapped(_text(cell, column), w)
        for cell, column, w in zip(row, columns, widths, strict=True)
    ]
    for number in range(max(map(len, cells), default=0)):
        words = [cell[number] if number < len(cell) else "" for cell in cells]
        line = _GAP.join(_padded(text, w, c.right) for text, w, c in zip(words, widths, columns, strict=True))
        yield line.rstrip(), style


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return f"{space}{text}" if right else f"{text}{space}"


def _as_records(table: Table, width: int) -> Iterator[Line]:
    """Returns the first cell of a row in a line of its own, and the others below it, each with its heading."""
    for number, row in enumerate(table.rows):
        first, *others = row
        yield short_name(first.text, width), "green" if number in table.marked else "bold"
        said = [
            f"{column.title} {short_name(cell.text, width // 2) if cell.name else _text(cell, column)}"
            for column, cell in zip(table.columns[1:], others, strict=True)
            if cell.text not in EMPTY
        ]
        yield from ((f"  {line}", "") for line in wrapped(" · ".join(said), width - 2))
