# SPDX-License-Identifier: BSL-1.0
"""The section of one subsystem: its reason, allocations, changes, sizes, rounds, replay, legality and call stacks."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice import container_text
from millpond.advice.advice_data import Row
from millpond.report.cases import Case, ShownRow
from millpond.report.figures.specification import REST, Axis, Curves, Intervals, Multiples, Series
from millpond.report.views import replay_view
from millpond.report.views.case_words import events_text
from millpond.report.views.choice_view import gain
from millpond.report.views.effect_view import interval_row
from millpond.report.views.model import (
    Block,
    Bullets,
    Part,
    ReportSection,
    TableCell,
    Words,
    name,
    section,
    table,
)
from millpond.report.views.subsystem_view import short_advice
from millpond.rounds.characterisation import LivePoint, ScopeLegality, Size, SubsystemFacts
from millpond.system.wording import bytes_text, count_text, effect_text, plural, seconds_text

_FRAME_LETTERS = 220
_FRAMES_AT_MOST = 40


def one_section(case: Case, shown: ShownRow, anchor: str, witnesses: int) -> ReportSection:
    """Returns the section of one subsystem: reason, allocations, changes, sizes, rounds, replay, legality, stacks."""
    row, detail = shown.row, shown.detail
    parts = [
        Words(sentence(row.reason)), Words(" · ".join(facts(row)), "soft"), _containers(row), _code(row),
        _histograms(detail.sizes, row), _live(detail.diffusion), _tried(case, row),
        replay_view.of_subsystem(case, shown), _legality(row, witnesses), _contexts(shown) if witnesses else None,
    ]  # fmt: skip
    note = f"{bytes_text(row.bytes)}, {events_text(row.events)}; {short_advice(row)}"
    found = section(row.label, parts, note=note, anchor=anchor, fold=True, details=True)
    return found or ReportSection(row.label, (), note=note, anchor=anchor, fold=True, details=True)


def sentence(text: str) -> str:
    """Returns a text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def facts(s: SubsystemFacts) -> list[str]:
    """Returns the counts of its allocations that are not zero."""
    counts = (("allocations", s.allocations), ("frees", s.frees), ("reallocations", s.reallocations))
    said = [f"{count_text(count)} {words}" for words, count in counts if count]
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


def _containers(row: Row) -> ReportSection | None:
    containers = (row.containers or ())[:8]
    rows = []
    for c in containers:
        inside = f" in {c.element_of}" if c.element_of else ""
        first = next(iter(c.members), None)
        place = next((p for p in c.places if container_text.place_text(p)), None)
        declared = [f"{m.kind} {m.name} {container_text.place_text(m)}" for m in c.members[:8]]
        rows.append((
            name(f"{container_text.type_text(c)}{inside}"), bytes_text(c.bytes), count_text(c.allocations),
            TableCell(", ".join(declared), link=container_text.editor_link(first)),
            TableCell(container_text.place_text(place), link=container_text.editor_link(place)),
        ))  # fmt: skip
    notes = Bullets(tuple(map(sentence, container_text.without_members(containers))))
    headings = ("container", ">bytes", ">allocations", "declared", "allocated at")
    return section("Allocations", [table(headings, rows), notes])


def _code(row: Row) -> ReportSection | None:
    if row.code is None:
        return None
    why = f"{sentence(row.code.owner)} First bytes: {row.code.first_bytes_reason}. Size classes: " + (
        f"{row.code.size_classes_reason}."
    )
    return section("What to change", [Words(why, "soft"), Block("\n".join(container_text.change_lines(row.code)))])


def _histograms(sizes: Sequence[Size], s: SubsystemFacts) -> Multiples | None:
    """Returns sizes and lifetimes, as small figures side by side."""
    figures = [figure for figure in (_sizes(sizes), _lifetimes(s)) if figure]
    return Multiples(title="Sizes and lifetimes", caption="Counted.", figures=figures) if figures else None


def _bars(title: str, caption: str, x: str, y: str, bars: Sequence[tuple[str, int]]) -> Curves:
    points = [(i, float(count)) for i, (_, count) in enumerate(bars)]
    return Curves(
        title=title, caption=caption, x=Axis(name=x, names=[words for words, _ in bars]),
        y=Axis(name=y, unit="count"), series=[Series(name=y, points=points, look="bars")],
    )  # fmt: skip


def _sizes(sizes: Sequence[Size]) -> Curves | None:
    bars = [(bytes_text(c.bytes), c.count) for c in sizes]
    caption = "Allocations in each size class that occurs, four classes an octave."
    return _bars("Sizes", caption, "size class", "allocations", bars) if bars else None


def _lifetimes(s: SubsystemFacts) -> Curves | None:
    lifetimes = s.lifetimes
    if lifetimes is None or not lifetimes.histogram:
        return None
    histogram = {h.below_ns_log2: h.count for h in lifetimes.histogram}
    # A single bucket below a nanosecond would stretch the axis over empty decades.
    first = min((k for k in histogram if k > 0), default=0)
    early = sum(count for k, count in histogram.items() if k < first)
    bars = [
        (f"< {seconds_text(2.0**k * 1e-9)}", histogram.get(k, 0) + (early if k == first else 0))
        for k in range(first, max(histogram) + 1)
    ]
    middle = f"; half die within {seconds_text(lifetimes.p50)}" if lifetimes.p50 is not None else ""
    tail = f", nine in ten within {seconds_text(lifetimes.p90)}" if lifetimes.p90 is not None else ""
    caption = f"Freed objects by lifetime, each bar twice the one before{middle}{tail}."
    return _bars("Lifetimes", caption, "lifetime", "objects", bars)


def _live(points: Sequence[LivePoint]) -> Curves | None:
    if len(points) < 2:
        return None
    ratios = [p.ratio for p in points if p.ratio is not None]
    worst = f" Diffusion (pages / live): at most {max(ratios):.2f}." if ratios else ""
    return Curves(
        title="Live bytes and diffusion", caption=f"Counted.{worst}", height=220,
        x=Axis(name="time", unit="seconds"), y=Axis(name="bytes", unit="bytes"),
        series=[
            Series(name="pages touched", points=[(p.time_seconds, float(p.page_bytes)) for p in points],
                   look="area", colour=REST),
            Series(name="live", points=[(p.time_seconds, float(p.live_bytes)) for p in points], look="area"),
        ],
    )  # fmt: skip


def _tried(case: Case, row: Row) -> ReportSection | None:
    """Returns the plan that was tried for it, with every round."""
    ratio = row.cpu_ratio
    found = gain(case, "cpu_seconds", ratio)
    if ratio is None or found is None:
        return None
    label = f"{row.tried or 'a pool of its own'}: {ratio.of_} against {ratio.against}"
    rounds = case.rounds.ratios(ratio.of_ or "", ratio.against or "")
    rows = [interval_row(label, found.summary, rounds)]
    axis = Axis(name="change of CPU time", unit="change", log=True)
    figure = Intervals(title="Rounds of choosing and of judging", axis=axis, rows=rows)
    return section("What was tried", [Words(f"{label}: {effect_text(ratio)}; {found.amount}."), figure])


def _legality(row: Row, witnesses: int) -> ReportSection | None:
    rows = []
    for scope in row.legality[:8]:
        sizes = scope.instance_bytes
        verdict = scope.legality or ("legal" if scope.legal else "illegal")
        tone = "better" if scope.legal else "worse" if verdict == "illegal" else ""
        rows.append((
            name(scope.words), TableCell(verdict, tone=tone), count_text(scope.outliving),
            count_text(scope.alive_at_end),
            count_text(scope.total),
            ", ".join(map(bytes_text, (sizes.p50, sizes.p95, sizes.max))) if sizes else "–", observed(scope),
        ))  # fmt: skip
    headings = ("an arena owned by", "is", ">outlive it", ">never freed", ">of", ">bytes of one (p50, p95, max)",
                "calls")  # fmt: skip
    found = [w for scope in row.legality[:8] for w in _witnesses(scope, witnesses)]
    return section("Legality", [table(headings, rows), *found])


def _witnesses(scope: ScopeLegality, most: int) -> list[Part]:
    """Returns the call stacks of objects that outlive a scope, each folded."""
    found: list[Part] = []
    for w in scope.witnesses[:most]:
        when = f", allocated at {seconds_text(w.allocated_seconds)}" if w.allocated_seconds is not None else ""
        words = f"{bytes_text(w.bytes)}, thread {w.thread}{when}{f', {w.ended}' if w.ended else ''}"
        title = f"Outlives {scope.words}"
        found.append(ReportSection(title, (Block(stack_text(w.stack)),), note=words, fold=True, details=True))
    return found


def _contexts(shown: ShownRow) -> ReportSection | None:
    blocks = [
        Block(stack_text(c.stack), f"{100 * (c.share or 0):.1f} % of its bytes: {bytes_text(c.bytes)} in "
              f"{count_text(c.allocations)} allocations")
        for c in shown.detail.top_contexts[:3]
    ]  # fmt: skip
    return section("Where it allocates most", blocks, fold=True)


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
