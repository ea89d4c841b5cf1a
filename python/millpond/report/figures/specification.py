# SPDX-License-Identifier: BSL-1.0
"""Figures as data: frozen specifications, which one script (web/figures.js) turns into charts with one interaction.

    Curves │ HeatMap │ Icicle │ Intervals │ Multiples ──figure_html.html_of──▶ <figure>: caption, specification, table
                                                                        └──script──▶ chart: zoom, legend, exact values

A specification has numbers in units, and no colours except places in the palette of the page. Without the script, in a
text browser and for a screen reader, a figure is its caption and its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Unit = Literal["number", "count", "bytes", "size", "seconds", "share", "change"]
"""number: as it is; count: k, M; bytes: powers of ten; size: KiB, MiB; share: of 1, shown in per cent; change: a ratio,
shown as `-12.3 %`."""
Look = Literal["line", "dots", "steps", "area", "bars"]
INK = -1
"""The colour of text, as a place in the palette."""
REST = -2
"""The colour of what has no name, as a place in the palette."""
COLOURS = 8


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A part of a specification; a value that is its default is left out of the JSON."""


class Axis(_Part, frozen=True, kw_only=True):
    """An axis, with its unit; `names`: it has classes, and positions are their numbers."""

    name: str
    unit: Unit = "number"
    log: bool = False
    names: Sequence[str] = ()


class Series(_Part, frozen=True, kw_only=True):
    """One curve, or dots, or bars. `points`: (x, y), ascending in x.

    If `of` is not 0, `points` are parts of it, and the axis shows shares; `intervals` has (low, high) of each point.
    `colour`: a place in the palette, INK or REST. `dash`: 0 to 5. A legend hides it by its name, or by `group` and by
    `kind` if it has these. `shown`: visible at first.
    """

    name: str
    points: Sequence[tuple[float, float]]
    look: Look = "line"
    colour: int = 0
    dash: int = 0
    of: float = 0
    intervals: Sequence[tuple[float, float]] = ()
    group: str = ""
    kind: str = ""
    shown: bool = True
    has_dots: bool = False


class Mark(_Part, frozen=True, kw_only=True):
    """A named place on the horizontal axis: a line across the figure."""

    name: str
    x: float


class _Figure(_Part, frozen=True, kw_only=True):
    """The parts of every figure. `caption`: a sentence on its content. `height`: pixels; 0: the usual ones."""

    title: str
    caption: str = ""
    height: int = 0


class Curves(_Figure, frozen=True, kw_only=True, tag="curves", tag_field="figure"):
    """Series over one horizontal axis. `of_what`: what a share is of (`references`)."""

    x: Axis
    y: Axis
    series: Sequence[Series]
    marks: Sequence[Mark] = ()
    of_what: str = ""


class HeatCell(msgspec.Struct, frozen=True, array_like=True):
    """A cell of a heat map: column, row (from below), value; `kind`: the number of its kind; `columns`: how many it
    covers; `more`: a second value of it.
    """

    x: int
    y: int
    value: float
    kind: int = 0
    columns: int = 1
    more: float | None = None


class HeatMap(_Figure, frozen=True, kw_only=True, tag="heat", tag_field="figure"):
    """Cells of two axes with names. Without `kinds` the value is the colour; with them the kind is, and the value is
    its strength: a share as it is, a count by its logarithm. `kinds`: (name, colour). `more`: the second value of each
    cell. `gaps`: rows above which something is left out. `low`, `high`: the range of the colours, if several maps
    share one. `labels`: cells show their values.
    """

    x: Axis
    y: Axis
    value: Axis
    cells: Sequence[HeatCell]
    more: Axis | None = None
    kinds: Sequence[tuple[str, int]] = ()
    gaps: Sequence[int] = ()
    low: float | None = None
    high: float | None = None
    labels: bool = False


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A node of an icicle: the place of its parent in `nodes` (-1: none), its name's place in `names`, and a value of
    each measure with those of its children.
    """

    parent: int
    name: int
    values: Sequence[float]


class Icicle(_Figure, frozen=True, kw_only=True, tag="icicle", tag_field="figure"):
    """A call tree: the width of a node is one of the measures. Parents come before their children."""

    measures: Sequence[Axis]
    names: Sequence[str]
    nodes: Sequence[Node]


class IntervalRow(_Part, frozen=True, kw_only=True):
    """One row: a median with its interval, and single values (value, words). `verdict`: better, worse or empty."""

    name: str
    median: float
    low: float
    high: float
    dots: Sequence[tuple[float, str]] = ()
    verdict: str = ""
    text: str = ""


class Intervals(_Figure, frozen=True, kw_only=True, tag="intervals", tag_field="figure"):
    """Rows of dots with medians and intervals, on one axis. `dots`: the word for what a dot is."""

    axis: Axis
    rows: Sequence[IntervalRow]
    dots: str = "rounds"


class Multiples(_Figure, frozen=True, kw_only=True, tag="multiples", tag_field="figure"):
    """Small figures side by side."""

    figures: Sequence[Curves]


Figure = Curves | HeatMap | Icicle | Intervals | Multiples
