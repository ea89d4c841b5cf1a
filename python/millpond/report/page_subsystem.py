# SPDX-License-Identifier: BSL-1.0
"""What the page shows of one subsystem: how it allocates, what was tried, replay, legality, its call stacks."""

from __future__ import annotations

from typing import Any

from millpond.advice import container_words
from millpond.advice.rows import NOTHING
from millpond.report import replay_words, report_words
from millpond.report.cases import Case
from millpond.report.figures import flat_figures, round_figures
from millpond.system.wording import bytes_text, count_text, effect_text, plural, saved_text, seconds_text

_FRAME_LETTERS = 220
_FRAMES_AT_MOST = 40
_CONTEXTS_AT_MOST = 3
_SCOPES_AT_MOST = 8
_CONTAINERS_AT_MOST = 8
_PLACES_AT_MOST = 2


def subsystem_view(s: dict[str, Any], case: Case, anchor: str, witnesses: int) -> dict[str, Any]:
    """Everything that report_subsystem.html.j2 names."""
    found = [_sizes(s), _lifetimes(s), _live(s)]
    return {
        "anchor": anchor,
        "open": s["best"] != NOTHING,
        "name": s["name"],
        "summary": f"{bytes_text(s.get('bytes'))}, {report_words.events_text(s.get('events'))}; "
        f"{report_words.short_advice(s)}",
        "reason": _sentence(str(s.get("reason") or "")),
        "facts": _facts(s),
        "containers": [_container(c) for c in (s.get("containers") or [])[:_CONTAINERS_AT_MOST]],
        "code": _code(s.get("code")),
        "figures": [f for f in found if f],
        "tried": _tried(s, case),
        "replay": replay_words.of_subsystem(case, s),
        "legality": [_scope(scope, witnesses) for scope in (s.get("legality") or [])[:_SCOPES_AT_MOST]],
        "contexts": [_context(c) for c in (s.get("top_contexts") or [])[:_CONTEXTS_AT_MOST]] if witnesses else [],
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _place(place: dict[str, Any], before: str = "") -> dict[str, Any]:
    text = container_words.place_text(place)
    return {
        "text": f"{before}{text}",
        "link": container_words.editor_link(place),
        "whole": str(place.get("file") or ""),
    }


def _container(c: dict[str, Any]) -> dict[str, Any]:
    """A container with its members and the places of its allocations, each with a link into an editor."""
    around = f" in {c['element_of']}" if c.get("element_of") else ""
    return {
        "type": container_words.type_text(c) + around,
        "bytes": bytes_text(c.get("bytes")),
        "allocations": count_text(c.get("allocations")),
        "members": [_place(m, f"{m['kind']} {m['name']} ") for m in (c.get("members") or [])[:_SCOPES_AT_MOST]],
        "places": [_place(p) for p in (c.get("places") or [])[:_PLACES_AT_MOST] if container_words.place_text(p)],
    }


def _code(code: dict[str, Any] | None) -> dict[str, Any] | None:
    """Who owns the allocator, and the declarations to change."""
    if not code:
        return None
    about = [_sentence(code["owner"]), _sentence(f"first bytes: {code['first_bytes_reason']}"),
             _sentence(f"size classes: {code['size_classes_reason']}")]  # fmt: skip
    return {"about": " ".join(about), "lines": "\n".join(container_words.change_lines(code))}


def _facts(s: dict[str, Any]) -> list[str]:
    said = []
    for key, words in (("allocations", "allocations"), ("frees", "frees"), ("reallocations", "reallocations")):
        if s.get(key):
            said.append(f"{count_text(s[key])} {words}")
    if s.get("peak_live_bytes") is not None:
        objects = f" in {count_text(s['peak_live_objects'])} objects" if s.get("peak_live_objects") else ""
        said.append(f"{bytes_text(s['peak_live_bytes'])} live at its peak{objects}")
    if s.get("end_live_bytes"):
        said.append(f"{bytes_text(s['end_live_bytes'])} live at the end")
    if s.get("effective_sizes"):
        said.append(f"{s['effective_sizes']:.1f} effective sizes")
    if s.get("W"):
        said.append(plural(int(s["W"]), "thread") + " active in it")
    if s.get("freed_by_other_threads"):
        said.append(f"{count_text(s['freed_by_other_threads'])} freed by other threads")
    return said


def _sizes(s: dict[str, Any]) -> dict[str, Any] | None:
    sizes = s.get("sizes") or []
    if not sizes:
        return None
    rows = [(bytes_text(c["bytes"]), count_text(c["count"])) for c in sizes]
    bars = [(bytes_text(c["bytes"]), float(c["count"])) for c in sizes]
    svg = flat_figures.bars(bars, count_text, "allocations", "allocations by size")
    return {"title": "Sizes", "svg": svg, "legend": [], "head": ("size class", "allocations"), "table": rows,
            "caption": "Counted: allocations in each size class that occurs, four classes an octave."}  # fmt: skip


def _lifetimes(s: dict[str, Any]) -> dict[str, Any] | None:
    lifetimes = s.get("lifetimes") or {}
    histogram = {int(h["below_ns_log2"]): h["count"] for h in lifetimes.get("histogram") or []}
    if not histogram:
        return None
    # A single bucket below a nanosecond would stretch the axis over decades without any object.
    first = min((k for k in histogram if k > 0), default=0)
    buckets = range(first, max(histogram) + 1)
    early = sum(count for k, count in histogram.items() if k < first)
    bars = [
        (f"< {seconds_text(2.0**k * 1e-9)}", float(histogram.get(k, 0) + (early if k == first else 0))) for k in buckets
    ]
    rows = [(words, count_text(count)) for words, count in bars]
    svg = flat_figures.bars(bars, count_text, "objects", "objects by lifetime")
    middle = f"; half die within {seconds_text(lifetimes['p50'])}" if lifetimes.get("p50") is not None else ""
    tail = f", nine in ten within {seconds_text(lifetimes['p90'])}" if lifetimes.get("p90") is not None else ""
    return {"title": "Lifetimes", "svg": svg, "legend": [], "head": ("lifetime", "objects"), "table": rows,
            "caption": f"Counted: freed objects by lifetime, each bar twice the one before{middle}{tail}."}  # fmt: skip


def _live(s: dict[str, Any]) -> dict[str, Any] | None:
    points = s.get("diffusion") or []
    if len(points) < 2:
        return None
    times = [float(p["time_seconds"]) for p in points]
    live, pages = ([float(p[key]) for p in points] for key in ("live_bytes", "page_bytes"))
    series = [("pages", "bytes of the pages they touch", pages), ("live", "bytes live", live)]
    svg = flat_figures.curves(times, series, bytes_text, seconds_text, "live bytes and the pages they touch, over time")
    rows = [
        (seconds_text(p["time_seconds"]), bytes_text(p["live_bytes"]), bytes_text(p["page_bytes"]),
         "–" if p.get("ratio") is None else f"{p['ratio']:.2f}")
        for p in points
    ]  # fmt: skip
    ratios = [p["ratio"] for p in points if p.get("ratio") is not None]
    worst = f" Diffusion (pages / live): at most {max(ratios):.2f}." if ratios else ""
    return {"title": "Live bytes and diffusion", "svg": svg, "head": ("time", "live", "pages", "diffusion"),
            "legend": [("live", "live"), ("pages", "pages touched")], "table": rows,
            "caption": f"Counted.{worst}"}  # fmt: skip


def _tried(s: dict[str, Any], case: Case) -> dict[str, Any] | None:
    ratio = s.get("cpu_ratio") or {}
    if not ratio.get("n"):
        return None
    rounds = case.rounds.ratios(str(ratio.get("of")), str(ratio.get("against")))
    axis = round_figures.axis_of([ratio], rounds)
    return {
        "label": s.get("tried") or "a pool of its own",
        "what": f"{ratio.get('of')} against {ratio.get('against')}",
        "figure": round_figures.strip(axis, ratio, rounds),
        "scale": round_figures.scale(axis),
        "text": effect_text(ratio),
        "saved": saved_text(s.get("saves_cpu_seconds"), "seconds") if ratio["verdict"] != "inside noise" else "",
        "bytes": saved_text(s.get("saves_bytes"), "bytes"),
    }


def stack_text(stack: list[str] | str) -> str:
    """A call stack, inner to outer, one frame a line; long names are cut, and so are deep stacks."""
    frames = stack.split("\n") if isinstance(stack, str) else [str(f) for f in stack]
    lines = [f if len(f) <= _FRAME_LETTERS else f"{f[:_FRAME_LETTERS]}…" for f in frames[:_FRAMES_AT_MOST]]
    more = len(frames) - len(lines)
    return "\n".join([*lines, f"… {more} more"] if more > 0 else lines)


def _scope(scope: dict[str, Any], witnesses: int) -> dict[str, Any]:
    sizes = scope.get("instance_bytes") or {}
    instance = ", ".join(bytes_text(sizes.get(k)) for k in ("p50", "p95", "max")) if sizes else "–"
    return {
        "scope": f"{scope.get('scope')} {scope.get('name')}",
        "legality": str(scope.get("legality") or ("legal" if scope.get("legal") else "illegal")),
        "kind": "better" if scope.get("legal") else "worse" if scope.get("legality") == "illegal" else "",
        "observed": _observed(scope),
        "outliving": count_text(scope.get("outliving")),
        "total": count_text(scope.get("total")),
        "instance": instance,
        "witnesses": [_witness(w) for w in (scope.get("witnesses") or [])[:witnesses]],
    }


def _observed(scope: dict[str, Any]) -> str:
    """How the activations of a scope are known, or why they are not."""
    if scope.get("observed"):
        calls, activations = scope.get("calls") or 0, scope.get("activations") or 0
        recursive = f", {count_text(calls)} calls" if calls != activations else ""
        return f"{plural(activations, 'activation')}{recursive}: {scope.get('method')}"
    return f"not observed: {scope.get('why_not_observed') or 'an older recording'}"


def _witness(witness: dict[str, Any]) -> dict[str, str]:
    when = witness.get("allocated_seconds")
    parts = [
        bytes_text(witness.get("bytes")),
        f"thread {witness.get('thread')}",
        f"allocated at {seconds_text(when)}" if when is not None else "",
        str(witness.get("ended") or ""),
    ]
    return {"words": ", ".join(p for p in parts if p), "stack": stack_text(witness.get("stack") or [])}


def _context(context: dict[str, Any]) -> dict[str, str]:
    return {
        "words": f"{100 * (context.get('share') or 0):.1f} % of its bytes: {bytes_text(context.get('bytes'))} in "
        f"{count_text(context.get('allocations'))} allocations",
        "stack": stack_text(context.get("stack") or []),
    }
