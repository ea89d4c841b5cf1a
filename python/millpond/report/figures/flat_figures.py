# SPDX-License-Identifier: BSL-1.0
"""Flat figures as inline SVG: no library, no script, no style attributes, so that they work offline and under any CSP.

    ┌ svg, as wide as its parent ────────────────────────────┐   positions across are per cent, down are pixels:
    │ texts, dots, bars: x in per cent, y in pixels          │   letters and dots keep their size on a phone
    │ ┌ nested svg, stretched ─────────────────────────────┐ │
    │ │ curves: 0…1000 across, 0…height down               │ │   lines keep their width by vector-effect
    │ └────────────────────────────────────────────────────┘ │
    └────────────────────────────────────────────────────────┘

Colours are classes of the page's style sheet, so one figure serves the light and the dark scheme. Every figure has a
title for screen readers, and every mark shows its numbers under the pointer.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

from markupsafe import Markup

_ACROSS = 1000.0
_EDGE = 0.09
_FEWEST_BARS = 6  # a single bar does not fill the figure
_TOP = 16  # pixels above the plot, for the label of the highest line


def figure(height: int, body: Markup, label: str) -> Markup:
    """Returns an SVG as wide as its parent and `height` pixels high."""
    return Markup('<svg class="figure" width="100%" height="{}" role="img" aria-label="{}">{}</svg>').format(
        height, label, body
    )


def percent(fraction: float) -> str:
    """Returns a horizontal position in SVG's form."""
    return f"{100 * fraction:.2f}%".replace(".00%", "%")


def text(x: float, y: float, words: str, anchor: str = "start") -> Markup:
    """Returns small text at a fraction across and a pixel down."""
    return Markup('<text x="{}" y="{:.0f}" text-anchor="{}">{}</text>').format(percent(x), y, anchor, words)


def across_line(y: float, kind: str = "grid") -> Markup:
    """Returns a line from edge to edge."""
    return Markup('<line class="{}" x1="0" x2="100%" y1="{:.1f}" y2="{:.1f}"/>').format(kind, y, y)


def down_line(x: float, top: float, bottom: float, kind: str = "grid") -> Markup:
    """Returns a line from top to bottom at a fraction across."""
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
        kind, percent(x), percent(x), top, bottom
    )


def rectangle(kind: str, x: float, y: float, width: float, height: float, title: str = "") -> Markup:
    """Returns a box: fractions across, pixels down; its title appears under the pointer."""
    inside = Markup("<title>{}</title>").format(title) if title else Markup("")
    return Markup('<rect class="{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}">{}</rect>').format(
        kind, percent(x), y, percent(width), height, inside
    )


def joined(marks: Sequence[Markup]) -> Markup:
    """Returns marks in the order in which they are painted."""
    return Markup("").join(marks)


def nice_ceiling(value: float) -> float:
    """Returns the next round number for the top of an axis: 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten."""
    if value < sys.float_info.min:  # zero, or so small that its power of ten underflows
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8) if step * power >= value), 10 * power)


def bars(rows: Sequence[tuple[str, float]], show: Callable[[float], str], what: str, label: str) -> Markup:
    """Returns a histogram of (class, value); the first, the middle and the last class are named below it. O(rows)."""
    height, bottom = 132, 112.0
    plot = bottom - _TOP
    top = nice_ceiling(max((value for _, value in rows), default=0))
    width = 1 / max(_FEWEST_BARS, len(rows))
    left = (1 - width * len(rows)) / 2
    marks = [across_line(_TOP), text(0, _TOP - 4, show(top)), across_line(_TOP + plot / 2)]
    for i, (name, value) in enumerate(rows):
        tall = max(plot * value / top, 1.0 if value else 0.0)
        title = f"{name}: {show(value)} {what}"
        marks.append(rectangle("bar", left + (i + 0.1) * width, bottom - tall, 0.8 * width, tall, title))
    marks.append(across_line(bottom, "axis"))
    for i in sorted({0, len(rows) // 2, len(rows) - 1}) if rows else []:
        marks.append(_label_at(left + (i + 0.5) * width, height - 4, rows[i][0]))
    return figure(height, joined(marks), label)


def _label_at(x: float, y: float, words: str) -> Markup:
    """Returns a label centred below a point, unless the edge is near."""
    if x < _EDGE:
        return text(0, y, words)
    return text(1, y, words, "end") if x > 1 - _EDGE else text(x, y, words, "middle")


def edge_labels(labels: Sequence[str], y: float) -> list[Markup]:
    """Returns labels spread evenly from the left edge to the right one."""
    last = max(1, len(labels) - 1)
    return [_label_at(i / last, y, words) for i, words in enumerate(labels)]


def curves(
    times: Sequence[float],
    series: Sequence[tuple[str, str, Sequence[float]]],
    show: Callable[[float], str],
    show_time: Callable[[float], str],
    label: str,
) -> Markup:
    """Returns areas over time from zero, painted in the given order: (class, name, values). O(points)."""
    height, bottom = 152, 132.0
    plot = bottom - _TOP
    top = nice_ceiling(max((max(values, default=0) for _, _, values in series), default=0))
    begin, end = (times[0], times[-1]) if times else (0.0, 1.0)
    span = (end - begin) or 1.0
    xs = [_ACROSS * (t - begin) / span for t in times]
    paths = []
    for kind, name, values in series:
        points = [(x, plot - plot * v / top) for x, v in zip(xs, values, strict=True)]
        line = " ".join(f"{x:.0f},{y:.1f}" for x, y in points)
        paths.append(
            Markup('<path class="area {k}" d="M0,{p:.0f} L{line} L{x:.0f},{p:.0f} z"/>'
                   '<polyline class="curve {k}" points="{line}"><title>{name}</title></polyline>').format(
                k=kind, p=plot, line=line, x=xs[-1] if xs else 0, name=name)
        )  # fmt: skip
    marks = [
        Markup('<svg x="0" y="{}" width="100%" height="{:.0f}" viewBox="0 0 1000 {:.0f}" preserveAspectRatio="none">'
               "{}</svg>").format(_TOP, plot, plot, joined(paths)),
        across_line(_TOP), across_line(_TOP + plot / 2), text(0, _TOP - 4, show(top)), across_line(bottom, "axis"),
        *edge_labels([show_time(begin), show_time((begin + end) / 2), show_time(end)], height - 4),
    ]  # fmt: skip
    return figure(height, joined(marks), label)


def meter(value: float | None) -> Markup:
    """Returns a thin bar for a value in [0, 1]; empty for an unknown value."""
    if value is None:
        return Markup("")
    return Markup(
        '<svg class="meter" width="100%" height="4" aria-hidden="true"><rect class="track" width="100%" height="4"/>'
        '<rect class="bar" width="{}" height="4"/></svg>'
    ).format(percent(min(1.0, max(0.0, value))))
