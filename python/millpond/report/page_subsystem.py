# SPDX-License-Identifier: BSL-1.0
"""What the page shows of one subsystem: how it allocates, what was tried, replay, legality, its call stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.advice import container_words
from millpond.advice.advice_data import Code, Row
from millpond.report import replay_words, report_words
from millpond.report.cases import Case, ShownRow
from millpond.report.figures import flat_figures, round_figures
from millpond.rounds.characterisation import (
    ILLEGAL,
    LEGAL,
    Container,
    Context,
    LivePoint,
    ScopeLegality,
    Size,
    SubsystemFacts,
    Witness,
)
from millpond.system.wording import bytes_text, count_text, effect_text, plural, saved_text, seconds_text

_FRAME_LETTERS = 220
_FRAMES_AT_MOST = 40
_CONTEXTS_AT_MOST = 3
_SCOPES_AT_MOST = 8
_CONTAINERS_AT_MOST = 8
_PLACES_AT_MOST = 2


def subsystem_view(shown: ShownRow, case: Case, anchor: str, witnesses: int) -> dict[str, Any]:
    """Everything that report_subsystem.html.j2 names."""
    row, detail = shown.row, shown.detail
    found = [_sizes(detail.sizes), _lifetimes(row), _live(detail.diffusion)]
    return {
        "anchor": anchor,
        "open": row.pays,
        "name": row.name,
        "summary": f"{bytes_text(row.bytes)}, {report_words.events_text(row.events)}; {report_words.short_advice(row)}",
        "reason": _sentence(row.reason),
        "facts": _facts(row),
        "containers": [_container(c) for c in (row.containers or ())[:_CONTAINERS_AT_MOST]],
        "code": _code(row.code) if row.code else None,
        "figures": [f for f in found if f],
        "tried": _tried(row, case),
        "replay": replay_words.of_subsystem(case, shown),
        "legality": [_scope(scope, witnesses) for scope in row.legality[:_SCOPES_AT_MOST]],
        "contexts": [_context(c) for c in detail.top_contexts[:_CONTEXTS_AT_MOST]] if witnesses else [],
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _place(place: container_words.Placed, before: str = "") -> dict[str, str]:
    text = container_words.place_text(place)
    return {"text": f"{before}{text}", "link": container_words.editor_link(place), "whole": place.file}


def _container(c: Container) -> dict[str, Any]:
    """A container with its members and the places of its allocations, each with a link into an editor."""
    around = f" in {c.element_of}" if c.element_of else ""
    return {
        "type": container_words.type_text(c) + around,
        "bytes": bytes_text(c.bytes),
        "allocations": count_text(c.allocations),
        "members": [_place(m, f"{m.kind} {m.name} ") for m in c.members[:_SCOPES_AT_MOST]],
        "places": [_place(p) for p in c.places[:_PLACES_AT_MOST] if container_words.place_text(p)],
    }


def _code(code: Code) -> dict[str, str]:
    """Who owns the allocator, and the declarations to change."""
    about = [_sentence(code.owner), _sentence(f"first bytes: {code.first_bytes_reason}"),
             _sentence(f"size classes: {code.size_classes_reason}")]  # fmt: skip
    return {"about": " ".join(about), "lines": "\n".join(container_words.change_lines(code))}


def _facts(s: SubsystemFacts) -> list[str]:
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


def _sizes(sizes: Sequence[Size]) -> dict[str, Any] | None:
    if not sizes:
        return None
    rows = [(bytes_text(c.bytes), count_text(c.count)) for c in sizes]
    bars = [(bytes_text(c.bytes), float(c.count)) for c in sizes]
    svg = flat_figures.bars(bars, count_text, "allocations", "allocations by size")
    return {"title": "Sizes", "svg": svg, "legend": [], "head": ("size class", "allocations"), "table": rows,
            "caption": "Counted: allocations in each size class that occurs, four classes an octave."}  # fmt: skip


def _lifetimes(s: SubsystemFacts) -> dict[str, Any] | None:
    lifetimes = s.lifetimes
    if lifetimes is None or not lifetimes.histogram:
        return None
    histogram = {h.below_ns_log2: h.count for h in lifetimes.histogram}
    # A single bucket below a nanosecond would stretch the axis over decades without any object.
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
    return {"title": "Lifetimes", "svg": svg, "legend": [], "head": ("lifetime", "objects"), "table": rows,
            "caption": f"Counted: freed objects by lifetime, each bar twice the one before{middle}{tail}."}  # fmt: skip


def _live(points: Sequence[LivePoint]) -> dict[str, Any] | None:
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
    return {"title": "Live bytes and diffusion", "svg": svg, "head": ("time", "live", "pages", "diffusion"),
            "legend": [("live", "live"), ("pages", "pages touched")], "table": rows,
            "caption": f"Counted.{worst}"}  # fmt: skip


def _tried(row: Row, case: Case) -> dict[str, Any] | None:
    ratio = row.cpu_ratio
    known = ratio.known if ratio else None
    if ratio is None or known is None:
        return None
    of, against = ratio.of_ or "", ratio.against or ""
    rounds = case.rounds.ratios(of, against)
    axis = round_figures.axis_of([known], rounds)
    return {
        "label": row.tried or "a pool of its own",
        "what": f"{of} against {against}",
        "figure": round_figures.strip(axis, known, rounds),
        "scale": round_figures.scale(axis),
        "text": effect_text(known),
        "saved": saved_text(row.saves_cpu_seconds, "seconds") if known.verdict != "inside noise" else "",
        "bytes": saved_text(row.saves_bytes, "bytes"),
    }


def stack_text(frames: Sequence[str]) -> str:
    """A call stack, inner to outer, one frame a line; long names are cut, and so are deep stacks."""
    lines = [f if len(f) <= _FRAME_LETTERS else f"{f[:_FRAME_LETTERS]}…" for f in frames[:_FRAMES_AT_MOST]]
    more = len(frames) - len(lines)
    return "\n".join([*lines, f"… {more} more"] if more > 0 else lines)


def _scope(scope: ScopeLegality, witnesses: int) -> dict[str, Any]:
    sizes = scope.instance_bytes
    return {
        "scope": scope.words,
        "legality": scope.legality or (LEGAL if scope.legal else ILLEGAL),
        "kind": "better" if scope.legal else "worse" if scope.legality == ILLEGAL else "",
        "observed": _observed(scope),
        "outliving": count_text(scope.outliving),
        "total": count_text(scope.total),
        "instance": ", ".join(bytes_text(size) for size in (sizes.p50, sizes.p95, sizes.max)) if sizes else "–",
        "witnesses": [_witness(w) for w in scope.witnesses[:witnesses]],
    }


def _observed(scope: ScopeLegality) -> str:
    """How the activations of a scope are known, or why they are not."""
    if scope.observed:
        calls, activations = scope.calls or 0, scope.activations or 0
        recursive = f", {count_text(calls)} calls" if calls != activations else ""
        return f"{plural(activations, 'activation')}{recursive}: {scope.method}"
    return f"not observed: {scope.why_not_observed or 'an older recording'}"


def _witness(witness: Witness) -> dict[str, str]:
    when = witness.allocated_seconds
    parts = [
        bytes_text(witness.bytes),
        f"thread {witness.thread}",
        f"allocated at {seconds_text(when)}" if when is not None else "",
        witness.ended or "",
    ]
    return {"words": ", ".join(p for p in parts if p), "stack": stack_text(witness.stack)}


def _context(context: Context) -> dict[str, str]:
    return {
        "words": f"{100 * (context.share or 0):.1f} % of its bytes: {bytes_text(context.bytes)} in "
        f"{count_text(context.allocations)} allocations",
        "stack": stack_text(context.stack),
    }
