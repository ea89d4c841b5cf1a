# SPDX-License-Identifier: BSL-1.0
"""The parts of a report, as frozen values that any renderer can show.

    Section ─┬─ Words     a sentence
             ├─ Bullets   several sentences
             ├─ Table     headings and cells; a column that is empty everywhere is left out
             ├─ Figure    a specification (report/figures), which only the page draws
             ├─ Block     text with its own line breaks: commands, code, call stacks
             └─ Section   a part of its own; `fold`: the page folds it into one line

Thread-safe: nothing changes after it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from millpond.report.figures.specification import Figure

EMPTY = ("", "–")


@dataclass(frozen=True)
class Cell:
    """A cell of a table. `note`: a second, smaller line. `tone`: better or worse. `link`: an address for the page.

    `name`: true for a name of the program, which is shown as code and shortened rather than broken. `title`: more
    words, under the pointer. `value`: the key by which a page sorts; the text without one.
    """

    text: str
    note: str = ""
    tone: str = ""
    link: str = ""
    name: bool = False
    title: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Column:
    """A heading; `right`: its cells are numbers."""

    title: str
    right: bool


@dataclass(frozen=True)
class Table:
    """A table. `marked`: the numbers of the rows that stand out. `caption`: a line below it."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    title: str = ""
    marked: frozenset[int] = frozenset()
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Words:
    """A sentence. `tone`: empty, `soft` for what can be skipped, `warn`, or `strong`."""

    text: str
    tone: str = ""
    kind: ClassVar[str] = "words"


@dataclass(frozen=True)
class Bullets:
    """Sentences of one kind."""

    lines: tuple[str, ...]
    kind: ClassVar[str] = "bullets"


@dataclass(frozen=True)
class Block:
    """Text that keeps its line breaks. `label`: the words above it."""

    text: str
    label: str = ""
    language: str = ""
    kind: ClassVar[str] = "block"


@dataclass(frozen=True)
class Section:
    """A titled part. `note`: words next to the title. `details`: left out by Markdown and by a text."""

    title: str
    parts: tuple[Part, ...]
    note: str = ""
    anchor: str = ""
    fold: bool = False
    open: bool = False
    details: bool = False
    kind: ClassVar[str] = "section"


Part = Words | Bullets | Table | Figure | Block | Section


Row = tuple[Cell | str, ...]


def name(text: str, **more: str) -> Cell:
    """Returns a cell with a name of the program."""
    return Cell(text, name=True, **more)  # type: ignore[arg-type]


def table(
    headings: Sequence[str], rows: Iterable[Sequence[Cell | str]], *, caption: str = "", title: str = "",
    marked: Iterable[int] = (),
) -> Table:  # fmt: skip
    """Makes a table without its empty columns. A heading that begins with `>` is that of a column of numbers."""
    cells = [tuple(Cell(c) if isinstance(c, str) else c for c in row) for row in rows]
    kept = [
        i for i in range(len(headings)) if not cells or any(row[i].text not in EMPTY or row[i].note for row in cells)
    ]
    columns = tuple(Column(headings[i].removeprefix(">"), headings[i].startswith(">")) for i in kept)
    return Table(columns, tuple(tuple(row[i] for i in kept) for row in cells), caption, title, frozenset(marked))


def section(title: str, parts: Iterable[Part | None], **more: object) -> Section | None:
    """Makes a section of the parts that exist and are not empty; None without any."""
    found = tuple(p for p in parts if p is not None and not is_empty(p))
    return Section(title, found, **more) if found else None  # type: ignore[arg-type]


def is_empty(part: Part) -> bool:
    """True for a part that shows nothing."""
    match part:
        case Table():
            return not part.rows
        case Bullets():
            return not part.lines
        case Words() | Block():
            return not part.text
        case Section():
            return not part.parts
        case _:
            return False


def several(rows: Sequence[object], most: int, words: str) -> str:
    """Returns `and 5 other pairs` for rows beyond the most; empty without any."""
    more = len(rows) - most
    return f"and {more} other {words}; the JSON has all" if more > 0 else ""
