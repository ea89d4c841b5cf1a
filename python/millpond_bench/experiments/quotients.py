# SPDX-License-Identifier: BSL-1.0
"""Quotients of two figures, as tables of their own: what is divided by what, at each place of the figures' tables.

to_baseline     the baseline at the same point          on_fresh_heap   the same where nothing is littered
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millpond.cells.cell import LITTER

Point = tuple[tuple[str, int | str], ...]
# A point and who takes a turn there, by canonical name: one figure of a document's tables.
Place = tuple[Point, str]


@dataclass(frozen=True)
class Quotient:
    """Tables of the quotients of two figures, paired within rounds, in the layout of the figures' own tables.

    `above` and `below`: the places whose figures are divided, from the place in the table and the experiment's
    baseline; None where there is no quotient. `metric`: of another one than the figure; `other_metric`: that each is a
    share of first. `printed`: what the document's own table of them is called among its figures.
    """

    title: str
    above: Callable[[Place, str], Place | None]
    below: Callable[[Place, str], Place | None]
    metric: str = ""
    other_metric: str = ""
    printed: str = ""


def to_baseline(place: Place, baseline: str) -> Place | None:
    """The baseline's place at the same point; None for the baseline itself."""
    return (place[0], baseline) if place[1] != baseline else None


def itself(place: Place, _baseline: str) -> Place:
    """The place that a quotient stands in."""
    return place


def on_fresh_heap(place: Place, _baseline: str) -> Place | None:
    """The same on a heap that is not littered; None for what is there already."""
    point = tuple((name, 0 if name == LITTER else value) for name, value in place[0])
    return (point, place[1]) if point != place[0] else None
