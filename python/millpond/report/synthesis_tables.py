# SPDX-License-Identifier: BSL-1.0
"""Prints a synthesis: its classes, the census of each trace, and the sets of classes side by side."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.advice.class_score import CACHE_NAME
from millpond.advice.synthesis import Synthesis, TraceUse
from millpond.report.terminal import titled_table
from millpond.rounds.characterisation import partial_reasons
from millpond.system.wording import bytes_text, count_text, plural


def print_synthesis(found: Synthesis, out: Console) -> None:
    """Prints the whole synthesis."""
    for use in found.traces:
        for why in partial_reasons(use.partial, use.damages):
            out.print(Text(f"{use.path}: {why}"))
    out.print(_classes(found))
    out.print(_census(found))
    out.print(_sources(found))
    out.print(_lifetimes(found))
    if found.sites:
        out.print(_arena(found))
    for path in found.written:
        out.print(Text(f"written: {path}"))
    library = next((path for path in found.written if path.endswith(".so")), None)
    if library:
        out.print(Text(f"try it: LD_PRELOAD={library if '/' in library else './' + library} PROGRAM"))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(value: int | None) -> str:
    return "–" if value is None else count_text(value)


def _name(use: TraceUse) -> Text:
    return Text(f"{use.path}{' (held out)' if use.held_out else ''}")


def _classes(found: Synthesis) -> Table:
    shown = titled_table(
        f"{plural(len(found.classes), 'size class')} of at most {found.classes_at_most}, weight {found.weight:g}",
        "class", "serves", "requests", "share", "lost", "most blocks", left=0,
    )  # fmt: skip
    for use in found.uses:
        if use.bytes is None:
            shown.add_row("none", f"{use.first_bytes}…", count_text(use.requests), _percent(use.share), "–", "–")
        else:
            shown.add_row(
                str(use.bytes), f"{use.first_bytes}…{use.bytes}", count_text(use.requests), _percent(use.share),
                _percent(use.lost_share), count_text(use.peak_blocks),
            )  # fmt: skip
    return shown


def _census(found: Synthesis) -> Table:
    """Returns the share of the most frequent sizes, and tags."""
    first = found.traces[0]
    shown = titled_table(
        "Requests: the share of the k most frequent sizes; the tag bytes in a 64-byte cache line",
        "trace", "requests", "sizes", *[f"k = {f.sizes}" for f in first.frequent],
        *[f"tags of {t.tag_bytes} bytes" for t in first.tags],
    )  # fmt: skip
    for use in found.traces:
        shown.add_row(
            _name(use), count_text(use.census.requests), count_text(use.census.distinct_sizes),
            *[_percent(f.share) for f in use.frequent], *[f"{t.line_bytes_live:.1f}" for t in use.tags],
        )  # fmt: skip
    return shown


def _sources(found: Synthesis) -> Table:
    shown = titled_table(
        f"Classes up to {bytes_text(found.largest_bytes)}: lost are bytes of blocks that were not requested, of all "
        "blocks and of the live ones on average",
        "trace", "classes", "number", "outside", "lost", "lost live", "peak (estimated)",
        *(["instructions", f"misses of {CACHE_NAME}", "of the allocator"] if is_scored(found) else []), left=2,
    )  # fmt: skip
    for use in found.traces:
        for number, source in enumerate(use.sources):
            shown.add_row(
                _name(use) if number == 0 else "", source.source, str(source.classes),
                count_text(source.requests_outside), _percent(source.lost_share), _percent(source.live_lost_share),
                bytes_text(source.peak_bytes),
                *([_count(n) for n in (source.instructions, source.misses, source.allocator_misses)] if is_scored(found)
                  else []),
            )  # fmt: skip
        shown.add_section()
    return shown


def _arena(found: Synthesis) -> Table:
    walked = sum(len(site.frames) > 1 for site in found.sites)
    shown = titled_table(
        f"An arena of {found.arena_chunks} chunks for {plural(len(found.sites), 'call site')}, {walked} of these by "
        f"more than one frame ({'it is in the header' if found.has_arena else '--with arena puts it into the header'})",
        "trace", "objects", "of all bytes", "wrongly", "refused", "held at most", "pinned at most", "at the end",
    )  # fmt: skip
    for use in found.traces:
        if (of := use.arena) is None:
            continue
        shown.add_row(
            _name(use), count_text(of.objects), _percent(of.predicted_share), f"{100 * of.wrong_share:.3f} %",
            _percent(of.refused_bytes / of.predicted_bytes if of.predicted_bytes else 0.0),
            *[bytes_text(n) for n in (of.most_held_bytes, of.most_pinned_bytes, of.end_pinned_bytes)],
        )  # fmt: skip
    return shown


def is_scored(found: Synthesis) -> bool:
    """True if instructions were counted."""
    return any(source.instructions is not None for use in found.traces for source in use.sources)


def _lifetimes(found: Synthesis) -> Table:
    shown = titled_table(
        f"Sites: bytes freed before {bytes_text(found.short_bytes)} more are requested, and their prediction",
        "trace", "bytes", "short-lived", "predicted", "of these wrongly", "unknown site",
    )  # fmt: skip
    for use in found.traces:
        of = use.lifetimes
        parts = (of.short_bytes, of.predicted_bytes, of.unknown_site_bytes)
        short, predicted, unknown = (_percent(part / of.bytes if of.bytes else 0.0) for part in parts)
        wrong = f"{100 * of.wrong_share:.2f} %"
        shown.add_row(_name(use), bytes_text(of.bytes), short, predicted, wrong, unknown)
    return shown
