# SPDX-License-Identifier: BSL-1.0
"""Draws strip plots: every round as a dot, its median as a line, its interval as a band, on one axis of change.

           ┆ 0 %
· ·:·│·: · ┆            one row a comparison; on the logarithmic axis, half and double are equally far
────▓▓▓▓── ┆            hollow dots: choosing rounds; full dots: judging rounds
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from millpond.report.figures import flat_figures
from millpond.report.paired_rounds import Ratio
from millpond.statistics.order_statistics import Summary
from millpond.system.wording import interval_text, percent_text

ROW_PIXELS = 40
_AXIS_PIXELS = 18
_GOLDEN = 0.6180339887
_NARROWEST = 0.04  # of the logarithm: an axis spans at least 4 % on either side
_WIDEST = math.log(8.0)
_TICKS = (-80, -60, -50, -40, -30, -20, -10, -5, -2, 0, 2, 5, 10, 20, 30, 50, 100, 200, 400)
_APART = 0.17  # of the width, so that labels do not touch on a phone
JUDGING = "judging"


@dataclass(frozen=True)
class RatioAxis:
    """A logarithmic axis of ratios, from `low` to `high` (logarithms)."""

    low: float
    high: float

    def place(self, ratio: float) -> float:
        """Returns a fraction across; a ratio beyond the axis is drawn at its edge."""
        fraction = (math.log(ratio) - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, fraction))

    def ticks(self) -> list[int]:
        """Returns round changes in per cent inside the axis, outward from no change, with a least distance."""
        chosen: list[int] = []
        for tick in sorted(_TICKS, key=abs):
            ratio = math.log(1 + tick / 100)
            places = [self.place(1 + t / 100) for t in chosen]
            if self.low <= ratio <= self.high and all(abs(self.place(1 + tick / 100) - p) >= _APART for p in places):
                chosen.append(tick)
        return sorted(chosen)


def axis_of(summaries: Sequence[Summary], ratios: Sequence[Ratio]) -> RatioAxis:
    """Returns an axis that holds every interval, no change, and all rounds except the most extreme."""
    logs = sorted(math.log(r.value) for r in ratios)
    trimmed = logs[len(logs) // 50 : len(logs) - len(logs) // 50]
    ends = [math.log(end) for s in summaries for end in (s.low, s.high)]
    found = [*trimmed, *ends, -_NARROWEST, _NARROWEST]
    margin = 0.04 * (max(found) - min(found))
    return RatioAxis(max(-_WIDEST, min(found) - margin), min(_WIDEST, max(found) + margin))


def strip(axis: RatioAxis, summary: Summary, ratios: Sequence[Ratio]) -> Markup:
    """Returns one row: the dots of all rounds, the interval and the median of the summary."""
    middle = ROW_PIXELS / 2
    marks = [flat_figures.down_line(axis.place(1.0), 0, ROW_PIXELS, "zero")]
    low, high = axis.place(summary.low), axis.place(summary.high)
    verdict = summary.verdict if summary.verdict in ("better", "worse") else "noise"
    words = interval_text(summary)
    marks.append(flat_figures.rectangle(f"interval {verdict}", low, middle - 13, max(high - low, 0.003), 26, words))
    for ratio in ratios:
        down = middle + 18 * (((ratio.round * _GOLDEN) % 1.0) - 0.5)
        marks.append(
            Markup('<circle class="{}" cx="{}" cy="{:.1f}" r="2.4"><title>{}</title></circle>').format(
                "dot" if ratio.stage == JUDGING else "dot early", flat_figures.percent(axis.place(ratio.value)), down,
                f"{ratio.stage}, round {ratio.round}: {percent_text(ratio.value)}",
            )
        )  # fmt: skip
    marks.append(flat_figures.down_line(axis.place(summary.median), middle - 16, middle + 16, "median"))
    label = f"{len(ratios)} rounds, median {percent_text(summary.median)}"
    return flat_figures.figure(ROW_PIXELS, flat_figures.joined(marks), label)


def scale(axis: RatioAxis) -> Markup:
    """Returns the axis by itself, for the end of the rows."""
    marks = []
    for tick in axis.ticks():
        x = axis.place(1 + tick / 100)
        anchor = "start" if x < 0.04 else "end" if x > 0.96 else "middle"
        marks.append(flat_figures.text(x, _AXIS_PIXELS - 4, "0 %" if tick == 0 else f"{tick:+d} %", anchor))
    return flat_figures.figure(_AXIS_PIXELS, flat_figures.joined(marks), "change, logarithmic")
