# SPDX-License-Identifier: BSL-1.0
"""A comparison of two traces as a section: what the whole allocates, then subsystems and call contexts that changed.

TraceComparison ──trace_change_section──▶ ReportSection at a level of detail ──▶ terminal, Markdown, page
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millpond.report.comparison.trace_changes import (
    Amounts,
    ContextChange,
    SubsystemChange,
    TraceComparison,
    change_interval,
)
from millpond.report.figures.icicle_figure import difference
from millpond.report.views.model import Bullets, Part, ReportSection, Row, TableCell, name, section, several, table
from millpond.report.views.short_text import short_path
from millpond.system.wording import bytes_text, count_text, percent_text, plural, seconds_text, within_text

_PATH_WIDTH = 40
_FRAMES = 4  # of a context in a table, the innermost first


@dataclass(frozen=True)
class TraceChangeDetail:
    """The most rows of a section. `is_wide`: with lifetimes and churn, and with the figure."""

    subsystems: int
    contexts: int
    is_wide: bool = False


# Levels for a terminal, the most detailed first.
ANSWER = tuple(TraceChangeDetail(*each) for each in ((10, 8), (8, 5), (5, 4), (4, 2), (2, 1), (1, 0)))
PAGE = TraceChangeDetail(100, 200, is_wide=True)
MARKDOWN = TraceChangeDetail(20, 20)


def trace_change_section(found: TraceComparison, detail: TraceChangeDetail) -> ReportSection:
    """Returns the comparison at this level of detail."""
    subsystems = [one for one in found.subsystems if one.a != one.b and one.state != "unclear"]
    contexts = [one for one in found.contexts if one.state not in ("same", "unclear")]
    parts: list[Part | None] = [
        Bullets(tuple(f"breached {one.condition!r}: {one.sentence}" for one in found.breaches)),
        Bullets(found.notes),
        _whole(found),
        _subsystems(subsystems, detail),
        _contexts(contexts, detail),
        difference([one for one in found.contexts if one.state != "unclear"]) if detail.is_wide else None,
    ]
    return section(_headline(found, subsystems, contexts), parts) or ReportSection("nothing changed", ())


def _headline(found: TraceComparison, subsystems: Sequence[object], contexts: Sequence[ContextChange]) -> str:
    if not subsystems and not contexts:
        is_sampled = found.a.sample_bytes or found.b.sample_bytes
        return "No change stands out from the samples" if is_sampled else "Both traces allocate the same"
    a, b = (side.whole.bytes for side in (found.a, found.b))
    by = f"{percent_text(b / a)} bytes allocated" if a else f"{bytes_text(b)} allocated"
    kinds = [(state, sum(one.state == state for one in contexts)) for state in ("new", "gone", "grown", "shrunk")]
    counts = ", ".join(f"{number} {state}" for state, number in kinds if number)
    return f"{by}; {plural(len(contexts), 'context')} changed ({counts})" if contexts else by


def _whole(found: TraceComparison) -> Part:
    a, b = found.a, found.b
    rows: list[Row] = [
        (what, *_values(getattr(a.whole, field), getattr(b.whole, field), text, _interval(a.whole, b.whole, field)))
        for what, field, text in (
            ("allocated", "bytes", bytes_text), ("allocations", "allocations", count_text),
            ("live at the peak", "peak_live_bytes", bytes_text), ("live at the end", "end_live_bytes", bytes_text),
        )
    ]  # fmt: skip
    caption = f"A: {short_path(a.path, _PATH_WIDTH)}; B: {short_path(b.path, _PATH_WIDTH)}"
    return table(("whole program", ">A", ">B", ">change"), rows, caption=caption)


def _interval(a: Amounts, b: Amounts, amount: str) -> tuple[float, float] | None:
    return change_interval(amount, a, b) if a.intervals or b.intervals else None


def _values(
    a: float | None, b: float | None, text: Callable[[float | None], str], more: tuple[float, float] | None
) -> tuple[TableCell, ...]:
    """The cells of a value in A and in B, and of its change with the interval of the difference."""
    change = "–" if a is None or b is None or not a else "same" if a == b else percent_text(b / a)
    is_clear = more is None or not more[0] <= 0 <= more[1]
    tone = "" if a == b or not a or b is None or not is_clear else "worse" if b > a else "better"
    note = f"{within_text(more, text)} more" if more else ""
    return TableCell(text(a), value=a), TableCell(text(b), value=b), TableCell(change, note=note, tone=tone)


def _subsystems(changed: Sequence[SubsystemChange], detail: TraceChangeDetail) -> Part:
    rows = [(name(one.name), one.state, *_cells(one, detail)) for one in changed[: detail.subsystems]]
    return table(
        ("subsystem", "state", *_headings(detail)), rows, title="Subsystems, by allocated bytes",
        caption=several(changed, detail.subsystems, "subsystem"),
    )  # fmt: skip


def _headings(detail: TraceChangeDetail) -> tuple[str, ...]:
    wide = (">half live for", ">churn") if detail.is_wide else ()
    return (">A", ">B", ">change", ">peak", ">at the end", *wide)


def _cells(one: SubsystemChange, detail: TraceChangeDetail) -> tuple[TableCell | str, ...]:
    a, b = one.a, one.b
    wide = (_both(one, "p50_lifetime_seconds", seconds_text), _both(one, "churn", _times)) if detail.is_wide else ()
    return (
        *_values(a.bytes if a else None, b.bytes if b else None, bytes_text, one.more_bytes_interval),
        _both(one, "peak_live_bytes", bytes_text), _both(one, "end_live_bytes", bytes_text), *wide,
    )  # fmt: skip


def _both(one: SubsystemChange, field: str, text: Callable[[float | None], str]) -> TableCell:
    """`1.20 MB → 1.30 MB`, or one value if they are equal."""
    a, b = (getattr(side, field) if isinstance(side, Amounts) else None for side in (one.a, one.b))
    return TableCell(text(b) if a == b else f"{text(a)} → {text(b)}", value=b)


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g} ×"


def _contexts(changed: Sequence[ContextChange], detail: TraceChangeDetail) -> Part | None:
    if not detail.contexts:
        return None
    rows = [
        (_stack(one), one.state, *_values(
            one.a.bytes if one.a else None, one.b.bytes if one.b else None, bytes_text, one.more_bytes_interval
        ), _both(one, "end_live_bytes", bytes_text))
        for one in changed[: detail.contexts]
    ]  # fmt: skip
    return table(
        ("context, innermost first", "state", ">A", ">B", ">change", ">at the end"), rows,
        title="Call contexts, by allocated bytes", caption=several(changed, detail.contexts, "context"),
    )  # fmt: skip


def _stack(one: ContextChange) -> TableCell:
    frames = one.stack[::-1]
    return TableCell(" < ".join(frames[:_FRAMES]), title="\n".join(frames), name=True)
