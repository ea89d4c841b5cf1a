# SPDX-License-Identifier: BSL-1.0
"""Quotients of two figures, as tables of their own, with the layout of the figures' tables.

to_baseline     the baseline at the same point          on_fresh_heap   the same on a heap that is not littered
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millpond.cells.cell import LITTER

Point = tuple[tuple[str, int | str], ...]
# A point and a strategy by its canonical name: one figure of a paper's tables.
Place = tuple[Point, str]


@dataclass(frozen=True)
class Quotient:
    """Tables of the quotients of two figures, paired within rounds, in the layout of the figures' own tables.

    `above` and `below`: return the places whose figures are divided, from the place in the table and the experiment's
    baseline; None if there is no quotient. `metric`: if not the figure; `other_metric`: each value is first divided by
    it. `printed`: the name of the paper's own table of these quotients.
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
    """The place of the quotient itself."""
    return place


def on_fresh_heap(place: Place, _baseline: str) -> Place | None:
    """The same place on a heap that is not littered; None if the place is already there."""
    point = tuple((name, 0 if name == LITTER else value) for name, value in place[0])
    return (point, place[1]) if point != place[0] else None
