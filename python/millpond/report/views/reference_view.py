# SPDX-License-Identifier: BSL-1.0
"""The section on a captured run: the subsystems that miss, the reason for L, the cost of the capture."""

from __future__ import annotations

from millpond.advice.advice_data import Advice, CapturedReferences, CapturedSubsystem, LayoutPrediction
from millpond.advice.layout_prediction import predicted_seconds_text
from millpond.report.figures.address_maps import references_over_time
from millpond.report.figures.specification import Figure
from millpond.report.views.model import Cell, Part, Section, Table, Words, name, section, table
from millpond.rounds.characterisation import ReferencePlace
from millpond.system.wording import bytes_text, count_text, percent_text, seconds_text, share_text

_HEADINGS = (
    "subsystem", ">misses", ">of all misses", ">useful of a line", ">L", ">I", ">M (packed)", ">T", ">instructions"
)  # fmt: skip
_PLACE_HEADINGS = (
    "place", ">references", ">misses", ">of all misses", ">cold", ">capacity", ">conflict", ">indirect", ">useful"
)  # fmt: skip
_EXPLANATION = (
    "Counted. L = I / (I + M × T): I references to its objects, M lines that hold them at the same time (packed: "
    "the lines that the same bytes need without holes), T transitions to another subsystem's objects. Useful: the "
    "bytes of each fetched line that were accessed before it was evicted. Instructions: the allocator's share of the "
    "whole run for this subsystem; D counts only the time while its objects are live."
)
_AFFINITY_EXPLANATION = (
    "Counted. The share of visits to one subsystem's objects that are next to a visit of the other's, to an object "
    "allocated at about the same time. The diagonal is for its own objects: a traversal in the order of allocation. "
    "Subsystems with 0.50 and more are joined."
)
_PREDICTED_HEADINGS = ("predicted layout", ">misses", ">time of the model", ">tried: CPU")
_AFFINITY_ROWS_AT_MOST = 8
_DEFINITION = "L = "  # notes that begin so repeat EXPLANATION
_ROWS_AT_MOST = 15
_PLACES = {
    "heap": "objects of the subsystems",
    "stack": "stacks",
    "global": "globals and constants",
    "unknown": "other memory",
    "allocator": "the allocator's own",
    "system": "system calls",
}


Row = tuple[Cell | str, ...]


def reference_section(advice: Advice, figures: bool) -> Section | None:
    """Returns what was captured; None if no capture was requested."""
    affine, predicted = _affinity(advice), _predicted_rows(advice)
    parts: list[Part | None] = [
        *map(Words, sentences(advice)),
        table(_HEADINGS, _rows(advice), caption=_rest_text(advice)),
        Words(_EXPLANATION, "soft") if _rows(advice) else None,
        _map(advice) if figures else None,
        section("Accessed together", [affine, Words(_AFFINITY_EXPLANATION, "soft") if affine else None]),
        section("Predicted layouts", [table(_PREDICTED_HEADINGS, predicted), Words(_predicted_note(advice), "soft")]),
        section("Misses by place and kind", [table(_PLACE_HEADINGS, _places(advice))], fold=True),
    ]
    return section("Where references miss", parts, fold=True)


def _map(advice: Advice) -> Figure | None:
    """Returns addresses over time with their misses."""
    facts = advice.references.facts if advice.references else None
    return references_over_time(facts.map, place_name) if facts and facts.map else None


def sentences(advice: Advice) -> list[str]:
    """Describes what was captured and the cost, or why nothing was; empty if no capture was requested."""
    found = advice.references
    if found is None:
        return []
    if found.facts is None:
        return [f"No references were captured: {found.why_null or 'no reason is known'}."]
    return [
        _misses(found),
        _locality(found),
        _cost(found),
        *[_sentence(note) for note in found.facts.notes if not note.startswith(_DEFINITION)],
    ]


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:].rstrip('.')}."


def _misses(found: CapturedReferences) -> str:
    facts = found.facts
    if facts is None:
        return ""
    cache = f"{bytes_in_cache(facts.cache.bytes)} in {facts.cache.ways} ways, lines of {facts.cache.line_bytes} bytes"
    misses = sum(place.misses for place in facts.places)
    said = f"{count_text(misses)} of {count_text(facts.references)} references miss a simulated cache of {cache}"
    worst = found.subsystems[0] if found.subsystems else None
    if worst is not None and worst.references.misses and worst.references.miss_share is not None:
        said += f"; {percent(worst.references.miss_share)} of the misses are on objects of {worst.name}"
        if worst.references.useful_share is not None:
            said += f", whose lines are {percent(worst.references.useful_share)} useful"
    return f"{said}."


def _locality(found: CapturedReferences) -> str:
    """Describes the subsystem that packing would help most, in lines."""
    apart = [s for s in found.subsystems if s.references.lines_packed and s.references.lines]
    if not apart:
        return "No subsystem's objects were accessed."
    worst = max(apart, key=lambda s: s.references.lines - s.references.lines_packed)
    lines, packed = worst.references.lines, worst.references.lines_packed
    if lines <= 1.1 * packed:
        return "Every subsystem's objects lie about as close together as possible: M is at most a tenth above packed."
    return (
        f"{worst.name} is spread most: its accessed bytes were on {count_text(lines)} lines at the same time; packed, "
        f"they would need {count_text(packed)}."
    )


def _cost(found: CapturedReferences) -> str:
    if found.capture_seconds is None:
        return "The time of the capture is unknown."
    said = f"The captured run took {seconds_text(found.capture_seconds)}"
    if found.times_as_long is not None:
        said += f", {found.times_as_long:.0f} times the {seconds_text(found.plain_seconds)} of a plain one"
    if found.analysis_seconds is not None:
        said += f", and its analysis {seconds_text(found.analysis_seconds)}"
    return f"{said}; no round includes it."


def _rows(advice: Advice) -> list[Row]:
    """Returns a row for each subsystem, those with most misses first."""
    found = advice.references
    if found is None or found.facts is None:
        return []
    line_bytes = found.facts.cache.line_bytes
    return [_row(one, line_bytes) for one in found.subsystems[:_ROWS_AT_MOST]]


def _rest_text(advice: Advice) -> str:
    """Returns the sums of the subsystems that the rows leave out."""
    rest = advice.references.subsystems[_ROWS_AT_MOST:] if advice.references else ()
    if not rest:
        return ""
    misses, references = (sum(getattr(s.references, name) for s in rest) for name in ("misses", "references"))
    return f"and {len(rest)} others: {count_text(references)} references, {count_text(misses)} misses; the JSON has all"


def _row(one: CapturedSubsystem, line_bytes: int) -> Row:
    r = one.references
    useful = "–" if r.useful_share is None else f"{line_bytes * r.useful_share:.1f} of {line_bytes} B"
    return (
        name(one.name), count_text(r.misses), percent(r.miss_share), useful, locality_text(r.locality),
        count_text(r.references), f"{count_text(r.lines)} ({count_text(r.lines_packed)})", count_text(r.transitions),
        percent(r.instruction_share),
    )  # fmt: skip


def _affinity(advice: Advice) -> Table | None:
    """Returns the matrix of subsystems that are accessed together, for those visited most."""
    facts = advice.references.facts if advice.references else None
    shown = _affine(advice)
    if facts is None or facts.affinity is None or not shown:
        return None
    strengths, rows = facts.affinity.strengths, facts.affinity.rows
    headings = ("subsystem", ">visits", *(f">{n}" for n in range(1, len(shown) + 1)))
    return table(headings, [
        (name(f"{number} {rows[a].name}"), count_text(rows[a].visits),
         *(share_text(strengths.get((a, b), 0.0)) for b in shown))
        for number, a in enumerate(shown, 1)
    ])  # fmt: skip


def _affine(advice: Advice) -> list[int]:
    """Returns the rows of the matrix that are shown."""
    facts = advice.references.facts if advice.references else None
    rows = facts.affinity.rows if facts is not None and facts.affinity is not None else ()
    visited = [n for n in range(len(rows)) if rows[n].visits]
    return sorted(visited, key=lambda n: -rows[n].visits)[:_AFFINITY_ROWS_AT_MOST]


def _predicted_rows(advice: Advice) -> list[Row]:
    """Returns each predicted layout with the result of its trial; the best first."""
    predicted = advice.references.predicted if advice.references else None
    return [_predicted(one) for one in predicted.layouts] if predicted else []


def _predicted_note(advice: Advice) -> str:
    """Returns the error of predicted seconds on this machine; empty if none were predicted."""
    predicted = advice.references.predicted if advice.references else None
    return predicted.error.sentence if predicted is not None and predicted.error is not None else ""


def _predicted(one: LayoutPrediction) -> Row:
    tried = "not tried: nothing to gain" if one.dropped else "–"
    if one.tried is not None and one.tried.median is not None:
        tried = percent_text(one.tried.median)
    return name(f"{one.kind} {one.name}"), percent_text(one.misses_ratio), predicted_seconds_text(one) or "–", tried


def _places(advice: Advice) -> list[Row]:
    """Returns a row for each kind of place."""
    facts = advice.references.facts if advice.references else None
    if facts is None:
        return []
    whole = sum(place.misses for place in facts.places)
    return [_place(place, whole) for place in facts.places if place.references]


def _place(place: ReferencePlace, whole: int) -> Row:
    useful = place.useful_bytes / place.fetched_bytes if place.fetched_bytes else None
    counts = (place.cold, place.capacity, place.conflict, place.indirect)
    return (
        place_name(place.place), count_text(place.references),
        count_text(place.misses), percent(place.misses / whole if whole else None),
        *map(count_text, counts), percent(useful),
    )  # fmt: skip


def place_name(place: str) -> str:
    """Returns a kind of place in words."""
    return _PLACES.get(place, place)


def locality_text(value: float | None) -> str:
    """Returns `0.25`; a small value with two significant digits, because L spans decades."""
    return share_text(value) if value is None or value >= 0.01 or value == 0 else f"{value:.2g}"


def percent(share: float | None) -> str:
    """Returns `71.8 %`; a dash for an unknown share."""
    return "–" if share is None else f"{100 * share:.1f} %"


def bytes_in_cache(size_bytes: int) -> str:
    """Returns a cache's size in the units of caches: powers of two where possible."""
    return f"{size_bytes >> 10} KiB" if size_bytes % 1024 == 0 else bytes_text(size_bytes)
