# SPDX-License-Identifier: BSL-1.0
"""Draws curves over two logarithmic axes: the initial figure, with the exact values that its script reads.

100 % ┌──────────────────────┐   a curve is one polyline; its attributes hold every exact value, so that the script
      │ ·──·                 │   (templates/simulation.js) shows them under the pointer, and draws them again when the
  1 % │     ╲·──·──·         │   reader zooms or hides one
      └──────────────────────┘
     16 KiB  64 KiB  256 KiB

Positions across are per cent, down are pixels, as in flat_figures. Zero has no place on a logarithmic axis: such points
lie on the bottom edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from millpond.report.figures import flat_figures

HEIGHT = 380
_TOP, _BELOW = 18, 26
PLOT = HEIGHT - _TOP - _BELOW
_INSIDE = 1000.0
_LABELS_ACROSS = 6
Mark = tuple[str, str, float]  # on the axis of bytes: name, class of its colour, bytes


@dataclass(frozen=True)
class Curve:
    """One curve: bytes across, counts down; `of` divides the counts if the axis shows shares (otherwise 0).

    The legend can hide curves by their numbers `group` and `kind`; `colour` and `dash` are classes.
    """

    name: str
    group: int
    kind: int
    colour: str
    dash: str
    points: Sequence[tuple[int, int]]
    of: int = 0
    has_dots: bool = True
    shown: bool = True

    def values(self) -> list[tuple[float, float]]:
        """Returns the points as drawn."""
        return [(float(x), y / self.of if self.of else float(y)) for x, y in self.points]


@dataclass(frozen=True)
class Range:
    """The ranges of both axes: powers of two across, powers of ten down."""

    left: float
    right: float
    low: float
    high: float

    @classmethod
    def around(cls, curves: Sequence[Curve], marks: Sequence[Mark] = ()) -> Range:
        """Returns the range of everything drawn, with a small margin; the lowest decade is that of the least positive
        value.
        """
        points = [point for curve in curves for point in curve.values()]
        xs = [x for x in (*(x for x, _ in points), *(x for *_, x in marks)) if x > 0] or [1.0, 2.0]
        ys = [y for _, y in points if y > 0] or [0.1, 1.0]
        left, right = math.log2(min(xs)), math.log2(max(xs))
        low, high = math.log10(min(ys)), math.log10(max(ys))
        # At least a factor of two across, and a third of a decade down.
        across, down = max(1.0, right - left), max(0.3, high - low)
        return cls(left - 0.02 * across, left + 1.02 * across, high - 1.06 * down, high + 0.06 * down)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Returns fractions of the plot, from the left and from the top."""
        across = (math.log2(x) - self.left) / (self.right - self.left)
        down = 1.0 if y <= 0 else (self.high - math.log10(y)) / (self.high - self.low)
        return across, min(1.0, down)


def size_text(size_bytes: float) -> str:
    """Returns a size in the units of caches: `48 KiB`."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.4g} {name}"
    return f"{size_bytes:.0f} B"


def share_text(share: float) -> str:
    """Returns a share of references: `0.0137 %`."""
    return f"{100 * share:.3g} %" if share < 1 else f"{100 * share:.0f} %"


def log_plot(curves: Sequence[Curve], label: str, *, shares: bool, marks: Sequence[Mark] = ()) -> Markup:
    """Draws the figure; `marks` are dots on the axis of bytes. O(points)."""
    view = Range.around(curves, marks)
    drawn = [
        Markup('<g class="ticks">{}</g>').format(flat_figures.joined(_ticks(view, shares))),
        Markup('<svg class="inside" x="0" y="{}" width="100%" height="{}" viewBox="0 0 1000 1000" '
               'preserveAspectRatio="none">{}</svg>').format(
            _TOP, PLOT, flat_figures.joined([_polyline(curve, view) for curve in curves])),
        Markup('<g class="dots"></g><g class="mark"></g>'),
        flat_figures.across_line(_TOP + PLOT, "axis"),
        *(_dot(mark, view) for mark in marks),
    ]  # fmt: skip
    return Markup(
        '<svg class="figure" width="100%" height="{}" role="application" tabindex="0" aria-label="{}" '
        'data-top="{}" data-plot="{}" data-left="{:.6f}" data-right="{:.6f}" data-low="{:.6f}" data-high="{:.6f}" '
        'data-shares="{}">{}</svg>'
    ).format(
        HEIGHT, label, _TOP, PLOT, view.left, view.right, view.low, view.high, int(shares),
        flat_figures.joined(drawn),
    )  # fmt: skip


def _dot(mark: Mark, view: Range) -> Markup:
    name, colour, x = mark
    return Markup('<circle class="{}" cx="{}" cy="{}" r="4"><title>{}: {}</title></circle>').format(
        colour, flat_figures.percent(view.place(x, 1.0)[0]), _TOP + PLOT, name, size_text(x)
    )


def _polyline(curve: Curve, view: Range) -> Markup:
    placed = [view.place(x, y) for x, y in curve.values()]
    line = " ".join(f"{_INSIDE * x:.1f},{_INSIDE * y:.1f}" for x, y in placed)
    return Markup(
        '<polyline class="curve {} {}" points="{}" data-name="{}" data-group="{}" data-kind="{}" data-of="{}" '
        'data-dots="{}" data-x="{}" data-y="{}"{}/>'
    ).format(
        curve.colour, curve.dash, line, curve.name, curve.group, curve.kind, curve.of, int(curve.has_dots),
        " ".join(str(x) for x, _ in curve.points), " ".join(str(y) for _, y in curve.points),
        Markup("") if curve.shown else Markup(' display="none"'),
    )  # fmt: skip


def _ticks(view: Range, shares: bool) -> list[Markup]:
    marks = []
    for power in range(math.ceil(view.low), math.floor(view.high) + 1):
        y = _TOP + PLOT * view.place(1, 10.0**power)[1]
        words = share_text(10.0**power) if shares else f"{10**power:,}".replace(",", " ")
        marks += [flat_figures.across_line(y), flat_figures.text(0, y - 4, words)]
    powers = range(math.ceil(view.left), math.floor(view.right) + 1)
    step = math.ceil(len(powers) / _LABELS_ACROSS) or 1
    for power in powers:
        x = view.place(2.0**power, 1)[0]
        marks.append(flat_figures.down_line(x, _TOP, _TOP + PLOT))
        if power % step == 0:
            anchor = "start" if x < 0.06 else "end" if x > 0.94 else "middle"
            marks.append(flat_figures.text(x, HEIGHT - 8, size_text(2.0**power), anchor))
    return marks
