# SPDX-License-Identifier: BSL-1.0
"""Tables of a page: headings with titles and units, and rows of entries with a text and a title.

      AS1    AS7
      s      % of AS1    an unmeasured entry is empty, a failed one shows its status
2^6   1.18   23
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One entry of a table: its text, and details as a title."""

    text: str = ""
    title: str = ""


NOTHING = Entry()


@dataclass(frozen=True)
class PageTable:
    """A table for the template: headings with titles, rows with a label and their entries. `corner`: the kind of the
    rows' labels. `units`: one for each heading.
    """

    caption: str
    corner: str
    headings: list[tuple[str, str]]
    rows: list[tuple[str, list[Entry]]]
    units: list[str]

    @property
    def empty(self) -> bool:
        """True if it has no text."""
        return not any(entry.text for _, entries in self.rows for entry in entries)


def page_table(
    caption: str, corner: str, headings: Sequence[tuple[str, str]],
    rows: Sequence[tuple[str, Sequence[Entry | None]]], units: Sequence[str],
) -> PageTable:  # fmt: skip
    """The table, without columns that are empty everywhere; a place without an entry is empty. O(entries).

    `units`: one for each heading, or one for all.
    """
    every = list(units) * len(headings) if len(units) == 1 else list(units)
    kept = [n for n in range(len(headings)) if any((entry := row[n]) and entry.text for _, row in rows)]
    return PageTable(
        caption,
        corner,
        [headings[n] for n in kept],
        [(label, [row[n] or NOTHING for n in kept]) for label, row in rows],
        [every[n] for n in kept],
    )
