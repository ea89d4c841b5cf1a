# SPDX-License-Identifier: BSL-1.0
"""Drawings, tables and synopses in C and C++ comments are as drawn: no formatter has wrapped them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
import repository
from test_text import WIDTH

COMMENT = re.compile(r"(\s*(?://|\*|/\*)\s*)(\S.*)")
BOXES = "─│└├┌┐┘┬┴▶◀▲▼═║"
COLUMN = re.compile(rf"(?<=\S) {{2,}}\S|[{BOXES}]")
OPTION = re.compile(r"(?:^|[ \[])--\w")
LIST_ITEM = re.compile(r"- ")
ROW = re.compile(r"\S+ {2,}|(?:[^\s:]+ ){0,2}[^\s:]+: ")  # begins with a name that is set off from its description


def columns(text: str) -> set[int]:
    """Returns the columns that neighbouring lines may share: those of boxes, and of texts after two or more blanks."""
    return {found.end() for found in COLUMN.finditer(text)}


def wrapped_pictures(source: str) -> Iterator[int]:
    """Returns the numbers of lines that hold the wrapped rest of a picture's line.

    A line is such a rest if its first word did not fit on the picture's line, it has the same indentation, and it is
    neither a row nor aligned to a column.
    """
    for number, lines in enumerate(pairwise(source.splitlines()), 2):
        line, following = map(COMMENT.fullmatch, lines)
        if not line or not following or line[1] != following[1] or "  // " in line[2]:
            continue
        indented = line[1].endswith("  ")
        is_picture = columns(line[2]) or LIST_ITEM.match(line[2]) or (indented and OPTION.search(line[2]))
        is_full = len(line[0]) + 1 + len(following[2].split()[0]) > WIDTH
        is_row = ROW.match(following[2]) or line[2].split()[0] == following[2].split()[0]
        if is_picture and is_full and not is_row and not columns(line[2]) & columns(following[2]):
            yield number


def test_pictures_in_comments_are_not_wrapped() -> None:
    wrong = [
        f"{path}:{number}: the end of the picture's line above? Indent it to its column, or make that line shorter"
        for path in repository.cxx_files()
        for number in wrapped_pictures(repository.text(path))
    ]
    assert not wrong, "\n".join(wrong)


WRAPPED = {
    "a table": """
//   first_column     what it is, described in so many words that the whole row of the table is just beyond the limit of
//   width second_column    what it is
""",
    "a drawing": """
//   one ──▶ two ──▶ three    a remark next to the drawing; it is so long that the formatter breaks the line of it in
//   two
""",
    "a synopsis": """
//   program --option NAME [--another-option NAME] [--third-option NAME] [--fourth-option NAME] [--fifth-option NAME]
//   [--sixth-option NAME]
""",
    "a list": """
// - an entry of a list that is so long that the formatter breaks it and begins the next line where the list's entries
// begin
""",
}
DRAWN = {
    "a table": """
//   first_column     what it is, described in so many words that the whole row of the table is just beyond the limit of
//                    width
//   second_column    what it is
""",
    "a drawing": """
//   one ──▶ two ──▶ three    a remark next to the drawing; it is so long that its author has continued it on a line
//   four ─────────▶ five     below
""",
    "a synopsis": """
//   program --option NAME [--another-option NAME] [--third-option NAME] [--fourth-option NAME] [--fifth-option NAME]
//           [--sixth-option NAME]
//   program --help
""",
    "prose": """
// Text that mentions an option such as --option, that goes from one end of the line to the other, and that is continued
// below, where it was broken by hand.
""",
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_wrapped_pictures_are_found(kind: str) -> None:
    assert list(wrapped_pictures(WRAPPED[kind].strip("\n"))) == [2]


@pytest.mark.parametrize("kind", DRAWN)
def test_drawn_pictures_are_accepted(kind: str) -> None:
    assert not list(wrapped_pictures(DRAWN[kind].strip("\n")))
