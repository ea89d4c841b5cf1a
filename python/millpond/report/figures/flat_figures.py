# SPDX-License-Identifier: BSL-1.0
"""Small figures in a line of text or of a table, as inline SVG: without script and style attributes, so that they work
offline and under any policy. Positions across are per cent, down are pixels: letters and dots keep their
size on a phone.

Colours are classes of the page's style sheet, so one figure serves the light and the dark scheme. Every figure has a
title for screen readers, and every mark shows its numbers under the pointer. Figures with axes are specifications.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup


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
