# SPDX-License-Identifier: BSL-1.0
"""A synthesis as sections: its classes, the census of each trace, and the sets of classes side by side."""

from __future__ import annotations

from millpond.advice.class_score import CACHE_NAME
from millpond.advice.synthesis import Synthesis, TraceUse
from millpond.report.views.model import Bullets, ReportSection, Row, Table, TableCell, name, table
from millpond.rounds.characterisation import partial_reasons
from millpond.system.wording import bytes_text, count_text, plural


def synthesis_section(found: Synthesis) -> ReportSection:
    """Returns the whole synthesis."""
    partial = [f"{use.path}: {why}" for use in found.traces for why in partial_reasons(use.partial, use.damages)]
    written = [f"written: {path}" for path in found.written]
    library = next((path for path in found.written if path.endswith(".so")), None)
    if library:
        written.append(f"try it: LD_PRELOAD={library if '/' in library else './' + library} PROGRAM")
    tables = [_classes(found), _census(found), _sources(found), _lifetimes(found)]
    tables += [_arena(found)] if found.sites else []
    return ReportSection("", (Bullets(tuple(partial)), *tables, Bullets(tuple(written))))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(value: int | None) -> str:
    return "–" if value is None else count_text(value)


def _name(use: TraceUse) -> TableCell:
    return name(f"{use.path}{' (held out)' if use.held_out else ''}")


def _classes(found: Synthesis) -> Table:
    rows = [
        ("none" if use.bytes is None else str(use.bytes), f"{use.first_bytes}…{use.bytes or ''}",
         count_text(use.requests), _percent(use.share), "–" if use.bytes is None else _percent(use.lost_share),
         "–" if use.bytes is None else count_text(use.peak_blocks))
        for use in found.uses
    ]  # fmt: skip
    title = f"{plural(len(found.classes), 'size class')} of at most {found.classes_at_most}, weight {found.weight:g}"
    return table((">class", ">serves", ">requests", ">share", ">lost", ">most blocks"), rows, title=title)


def _census(found: Synthesis) -> Table:
    """Returns the share of the most frequent sizes, and tags."""
    first = found.traces[0]
    headings = ("trace", ">requests", ">sizes", *[f">k = {f.sizes}" for f in first.frequent],
                *[f">tags of {t.tag_bytes} bytes" for t in first.tags])  # fmt: skip
    rows: list[Row] = [
        (_name(use), count_text(use.census.requests), count_text(use.census.distinct_sizes),
         *[_percent(f.share) for f in use.frequent], *[f"{t.line_bytes_live:.1f}" for t in use.tags])
        for use in found.traces
    ]  # fmt: skip
    title = "Requests: the share of the k most frequent sizes; the tag bytes in a 64-byte cache line"
    return table(headings, rows, title=title)


def _sources(found: Synthesis) -> Table:
    counted = (">instructions", f">misses of {CACHE_NAME}", ">of the allocator")
    headings = ("trace", "classes", ">number", ">outside", ">lost", ">lost live", ">peak (estimated)", *counted)
    rows: list[Row] = [
        (_name(use) if number == 0 else "", of.source, str(of.classes), count_text(of.requests_outside),
         _percent(of.lost_share), _percent(of.live_lost_share), bytes_text(of.peak_bytes),
         *map(_count, (of.instructions, of.misses, of.allocator_misses)))
        for use in found.traces
        for number, of in enumerate(use.sources)
    ]  # fmt: skip
    title = (
        f"Classes up to {bytes_text(found.largest_bytes)}: lost are bytes of blocks that were not requested, of all "
        "blocks and of the live ones on average"
    )
    return table(headings, rows, title=title)


def _arena(found: Synthesis) -> Table:
    walked = sum(len(site.frames) > 1 for site in found.sites)
    headings = ("trace", ">objects", ">of all bytes", ">wrongly", ">refused", ">held at most", ">pinned at most",
                ">at the end")  # fmt: skip
    rows: list[Row] = [
        (_name(use), count_text(of.objects), _percent(of.predicted_share), f"{100 * of.wrong_share:.3f} %",
         _percent(of.refused_bytes / of.predicted_bytes if of.predicted_bytes else 0.0),
         *map(bytes_text, (of.most_held_bytes, of.most_pinned_bytes, of.end_pinned_bytes)))
        for use in found.traces
        if (of := use.arena) is not None
    ]  # fmt: skip
    where = "it is in the header" if found.has_arena else "--with arena puts it into the header"
    title = (
        f"An arena of {found.arena_chunks} chunks for {plural(len(found.sites), 'call site')}, {walked} of these by "
        f"more than one frame ({where}). {_wrong_words(found)}"
    )
    return table(headings, rows, title=title)


def _wrong_words(found: Synthesis) -> str:
    """Returns the wrong bytes of the sites where they were chosen, and their bound."""
    if not found.wrong_one_in:
        return "None of their bytes lived longer: sites with wrong bytes would pin its chunks"
    wrong, total = (sum(of) for of in zip(*((site.wrong_bytes, site.bytes) for site in found.sites), strict=True))
    return (
        f"Of their {bytes_text(total)}, {bytes_text(wrong)} lived longer; allowed is 1 byte in "
        f"{found.wrong_one_in} of each site"
    )


def _lifetimes(found: Synthesis) -> Table:
    rows = []
    for use in found.traces:
        of = use.lifetimes
        parts = (of.short_bytes, of.predicted_bytes, of.unknown_site_bytes)
        short, predicted, unknown = (_percent(part / of.bytes if of.bytes else 0.0) for part in parts)
        rows.append((_name(use), bytes_text(of.bytes), short, predicted, f"{100 * of.wrong_share:.2f} %", unknown))
    title = f"Sites: bytes freed before {bytes_text(found.short_bytes)} more are requested, and their prediction"
    headings = ("trace", ">bytes", ">short-lived", ">predicted", ">of these wrongly", ">unknown site")
    return table(headings, rows, title=title)
