# SPDX-License-Identifier: BSL-1.0
"""The page's part on one subsystem: its allocations, the plan that was tried, replay, legality, its call stacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from millpond.advice.advice_data import Row
from millpond.report import replay_text
from millpond.report.cases import Case, ShownRow
from millpond.report.figures import flat_figures, round_figures
from millpond.rounds.characterisation import LivePoint, ScopeLegality, Size, SubsystemFacts
from millpond.system.wording import bytes_text, count_text, plural, seconds_text

_FRAME_LETTERS = 220
_FRAMES_AT_MOST = 40


@dataclass(frozen=True)
class DrawnFigure:
    """A figure of a subsystem, and the same data as a table. `legend`: class and words of each kind of mark."""

    title: str
    svg: Markup
    caption: str
    head: Sequence[str]
    table: Sequence[Sequence[str]]
    legend: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class SubsystemView:
    """The data of one subsystem for the page. `tried`: the strip of the plan that was tried, and its scale."""

    anchor: str
    shown: ShownRow
    figures: list[DrawnFigure]
    tried: tuple[round_figures.StripRow, Markup] | None
    replay: list[replay_text.ReplayLine]

    @classmethod
    def of(cls, shown: ShownRow, case: Case, anchor: str) -> SubsystemView:
        """Returns the view of one row."""
        found = [_sizes(shown.detail.sizes), _lifetimes(shown.row), _live(shown.detail.diffusion)]
        figures = [f for f in found if f]
        return cls(anchor, shown, figures, _tried(shown.row, case), replay_text.of_subsystem(case, shown))


def sentence(text: str) -> str:
    """Returns a text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def facts(s: SubsystemFacts) -> list[str]:
    """Returns the counts of its allocations that are not zero."""
    said = []
    counts = (("allocations", s.allocations), ("frees", s.frees), ("reallocations", s.reallocations))
    said += [f"{count_text(count)} {words}" for words, count in counts if count]
    if s.peak_live_bytes is not None:
        objects = f" in {count_text(s.peak_live_objects)} objects" if s.peak_live_objects else ""
        said.append(f"{bytes_text(s.peak_live_bytes)} live at its peak{objects}")
    if s.end_live_bytes:
        said.append(f"{bytes_text(s.end_live_bytes)} live at the end")
    if s.effective_sizes:
        said.append(f"{s.effective_sizes:.1f} effective sizes")
    if s.W:
        said.append(plural(s.W, "thread") + " active in it")
    if s.freed_by_other_threads:
        said.append(f"{count_text(s.freed_by_other_threads)} freed by other threads")
    return said


def _sizes(sizes: Sequence[Size]) -> DrawnFigure | None:
    if not sizes:
        return None
    rows = [(bytes_text(c.bytes), count_text(c.count)) for c in sizes]
    bars = [(bytes_text(c.bytes), float(c.count)) for c in sizes]
    svg = flat_figures.bars(bars, count_text, "allocations", "allocations by size")
    caption = "Counted: allocations in each size class that occurs, four classes an octave."
    return DrawnFigure("Sizes", svg, caption, ("size class", "allocations"), rows)


def _lifetimes(s: SubsystemFacts) -> DrawnFigure | None:
    lifetimes = s.lifetimes
    if lifetimes is None or not lifetimes.histogram:
        return None
    histogram = {h.below_ns_log2: h.count for h in lifetimes.histogram}
    # A single bucket below a nanosecond would stretch the axis over empty decades.
    first = min((k for k in histogram if k > 0), default=0)
    buckets = range(first, max(histogram) + 1)
    early = sum(count for k, count in histogram.items() if k < first)
    bars = [
        (f"< {seconds_text(2.0**k * 1e-9)}", float(histogram.get(k, 0) + (early if k == first else 0))) for k in buckets
    ]
    rows = [(words, count_text(count)) for words, count in bars]
    svg = flat_figures.bars(bars, count_text, "objects", "objects by lifetime")
    middle = f"; half die within {seconds_text(lifetimes.p50)}" if lifetimes.p50 is not None else ""
    tail = f", nine in ten within {seconds_text(lifetimes.p90)}" if lifetimes.p90 is not None else ""
    caption = f"Counted: freed objects by lifetime, each bar twice the one before{middle}{tail}."
    return DrawnFigure("Lifetimes", svg, caption, ("lifetime", "objects"), rows)


def _live(points: Sequence[LivePoint]) -> DrawnFigure | None:
    if len(points) < 2:
        return None
    live, pages = [float(p.live_bytes) for p in points], [float(p.page_bytes) for p in points]
    series = [("pages", "bytes of the pages they touch", pages), ("live", "bytes live", live)]
    svg = flat_figures.curves(
        [p.time_seconds for p in points], series, bytes_text, seconds_text,
        "live bytes and the pages they touch, over time",
    )  # fmt: skip
    rows = [
        (seconds_text(p.time_seconds), bytes_text(p.live_bytes), bytes_text(p.page_bytes),
         "–" if p.ratio is None else f"{p.ratio:.2f}")
        for p in points
    ]  # fmt: skip
    ratios = [p.ratio for p in points if p.ratio is not None]
    worst = f" Diffusion (pages / live): at most {max(ratios):.2f}." if ratios else ""
    head, legend = ("time", "live", "pages", "diffusion"), [("live", "live"), ("pages", "pages touched")]
    return DrawnFigure("Live bytes and diffusion", svg, f"Counted.{worst}", head, rows, legend)


def _tried(row: Row, case: Case) -> tuple[round_figures.StripRow, Markup] | None:
    ratio = row.cpu_ratio
    known = ratio.known if ratio else None
    if ratio is None or known is None:
        return None
    of, against = ratio.of_ or "", ratio.against or ""
    rounds = case.rounds.ratios(of, against)
    axis = round_figures.axis_of([known], rounds)
    label, what = row.tried or "a pool of its own", f"{of} against {against}"
    return round_figures.StripRow.of(label, what, axis, known, rounds, row.saves_cpu_seconds), round_figures.scale(axis)


def stack_text(frames: Sequence[str]) -> str:
    """Returns a call stack, inner to outer, one frame a line; cuts long names and deep stacks."""
    lines = [f if len(f) <= _FRAME_LETTERS else f"{f[:_FRAME_LETTERS]}…" for f in frames[:_FRAMES_AT_MOST]]
    more = len(frames) - len(lines)
    return "\n".join([*lines, f"… {more} more"] if more > 0 else lines)


def observed(scope: ScopeLegality) -> str:
    """Returns how the activations of a scope were observed, or why they were not."""
    if scope.observed:
        calls, activations = scope.calls or 0, scope.activations or 0
        recursive = f", {count_text(calls)} calls" if calls != activations else ""
        return f"{plural(activations, 'activation')}{recursive}: {scope.method}"
    return f"not observed: {scope.why_not_observed or 'an older recording'}"
