# SPDX-License-Identifier: BSL-1.0
"""What every form of the report says of a captured run: whose references miss, why L is what it is, what it cost.

The page, the terminal and the Markdown only lay it out. Nothing is said where no capture was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.advice.advice_data import Advice, CapturedReferences, CapturedSubsystem, LayoutPrediction
from millpond.advice.layout_prediction import predicted_seconds_text
from millpond.rounds.characterisation import ReferencePlace
from millpond.system.wording import bytes_text, count_text, percent_text, seconds_text, share_text

HEADINGS = ("subsystem", "misses", "of all misses", "useful of a line", "L", "I", "M (packed)", "T", "instructions")
PLACE_HEADINGS = (
    "place",
    "references",
    "misses",
    "of all misses",
    "cold",
    "capacity",
    "conflict",
    "indirect",
    "useful",
)
EXPLANATION = (
    "L = I / (I + M × T): I references to its objects, M lines that they lay on at once (packed: as many as the same "
    "bytes need without holes between them), T transitions to another subsystem's objects. Useful: of the bytes of "
    "each line that was fetched, those accessed before it was evicted. Instructions: the allocator's for it, of all of "
    "the run; D is of those while its objects are alive."
)
AFFINITY_EXPLANATION = (
    "Of the visits to two subsystems' objects, the share that met an object of the other that was allocated near it; "
    "on the diagonal, one of its own: a traversal in the order of allocation. Subsystems of 0.50 and more are joined."
)
PREDICTED_HEADINGS = ("predicted layout", "misses", "time of the model", "tried: CPU")
_AFFINITY_ROWS_AT_MOST = 8
_DEFINITION = "L = "  # of the laboratory's notes, what EXPLANATION says
_ROWS_AT_MOST = 15
_PLACES = {
    "heap": "objects of the subsystems",
    "stack": "stacks",
    "global": "globals and constants",
    "unknown": "other memory",
    "allocator": "the allocator's own",
    "system": "system calls",
}


@dataclass(frozen=True)
class MissRow:
    """One row of a table: its name, and a cell for each heading behind it."""

    name: str
    cells: tuple[str, ...]


def sentences(advice: Advice) -> list[str]:
    """What was captured and what that cost, or why nothing was; empty where it was not asked for."""
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
    """The subsystem that packing would help most, in lines."""
    apart = [s for s in found.subsystems if s.references.lines_packed and s.references.lines]
    if not apart:
        return "No subsystem's objects were accessed."
    worst = max(apart, key=lambda s: s.references.lines - s.references.lines_packed)
    lines, packed = worst.references.lines, worst.references.lines_packed
    if lines <= 1.1 * packed:
        return "Every subsystem's objects lie about as close together as they can: M is at most a tenth above packed."
    return (
        f"{worst.name} is spread most: its accessed bytes lay on {count_text(lines)} lines at once, and packed they "
        f"would need {count_text(packed)}."
    )


def _cost(found: CapturedReferences) -> str:
    if found.capture_seconds is None:
        return "What the capture took is not known."
    said = f"The captured run took {seconds_text(found.capture_seconds)}"
    if found.times_as_long is not None:
        said += f", {found.times_as_long:.0f} times the {seconds_text(found.plain_seconds)} of a plain one"
    if found.analysis_seconds is not None:
        said += f", and its analysis {seconds_text(found.analysis_seconds)}"
    return f"{said}; it is no part of any round."


def rows(advice: Advice) -> list[MissRow]:
    """A row for each subsystem, those with most misses first."""
    found = advice.references
    if found is None or found.facts is None:
        return []
    line_bytes = found.facts.cache.line_bytes
    return [_row(one, line_bytes) for one in found.subsystems[:_ROWS_AT_MOST]]


def rest_text(advice: Advice) -> str:
    """What the rows leave out, summed."""
    rest = advice.references.subsystems[_ROWS_AT_MOST:] if advice.references else ()
    if not rest:
        return ""
    misses, references = (sum(getattr(s.references, name) for s in rest) for name in ("misses", "references"))
    return f"and {len(rest)} others: {count_text(references)} references, {count_text(misses)} misses; JSON has all"


def _row(one: CapturedSubsystem, line_bytes: int) -> MissRow:
    r = one.references
    useful = "–" if r.useful_share is None else f"{line_bytes * r.useful_share:.1f} of {line_bytes} B"
    cells = (
        count_text(r.misses), percent(r.miss_share), useful, locality_text(r.locality), count_text(r.references),
        f"{count_text(r.lines)} ({count_text(r.lines_packed)})", count_text(r.transitions),
        percent(r.instruction_share),
    )  # fmt: skip
    return MissRow(one.name, cells)


def affinity_headings(advice: Advice) -> tuple[str, ...]:
    """The columns of the matrix: a number for each of its rows."""
    return ("subsystem", "visits", *(str(n) for n in range(1, len(_affine(advice)) + 1)))


def affinity_rows(advice: Advice) -> list[MissRow]:
    """Which subsystems are accessed together: the matrix of those that are visited most."""
    facts = advice.references.facts if advice.references else None
    shown = _affine(advice)
    if facts is None or facts.affinity is None or not shown:
        return []
    strengths, rows = facts.affinity.strengths, facts.affinity.rows
    return [
        MissRow(
            f"{number} {rows[a].name}",
            (count_text(rows[a].visits), *(share_text(strengths.get((a, b), 0.0)) for b in shown)),
        )
        for number, a in enumerate(shown, 1)
    ]


def _affine(advice: Advice) -> list[int]:
    """The rows of the matrix that are shown."""
    facts = advice.references.facts if advice.references else None
    rows = facts.affinity.rows if facts is not None and facts.affinity is not None else ()
    visited = [n for n in range(len(rows)) if rows[n].visits]
    return sorted(visited, key=lambda n: -rows[n].visits)[:_AFFINITY_ROWS_AT_MOST]


def predicted_rows(advice: Advice) -> list[MissRow]:
    """Each layout that was predicted, beside what its trial showed; the best first."""
    predicted = advice.references.predicted if advice.references else None
    return [_predicted(one) for one in predicted.layouts] if predicted else []


def predicted_note(advice: Advice) -> str:
    """How far predicted seconds are off on this machine; empty where none were predicted."""
    predicted = advice.references.predicted if advice.references else None
    return predicted.error.sentence if predicted is not None and predicted.error is not None else ""


def _predicted(one: LayoutPrediction) -> MissRow:
    tried = "not tried: nothing to gain" if one.dropped else "–"
    if one.tried is not None and one.tried.median is not None:
        tried = percent_text(one.tried.median)
    cells = (percent_text(one.misses_ratio), predicted_seconds_text(one) or "–", tried)
    return MissRow(f"{one.kind} {one.name}", cells)


def places(advice: Advice) -> list[MissRow]:
    """A row for each kind of place."""
    facts = advice.references.facts if advice.references else None
    if facts is None:
        return []
    whole = sum(place.misses for place in facts.places)
    return [_place(place, whole) for place in facts.places if place.references]


def _place(place: ReferencePlace, whole: int) -> MissRow:
    useful = place.useful_bytes / place.fetched_bytes if place.fetched_bytes else None
    counts = (place.cold, place.capacity, place.conflict, place.indirect)
    cells = (
        count_text(place.references), count_text(place.misses), percent(place.misses / whole if whole else None),
        *map(count_text, counts), percent(useful),
    )  # fmt: skip
    return MissRow(place_name(place.place), cells)


def place_name(place: str) -> str:
    """A kind of place in words."""
    return _PLACES.get(place, place)


def locality_text(value: float | None) -> str:
    """`0.25`; of a small one two digits, for L spans decades."""
    return share_text(value) if value is None or value >= 0.01 or value == 0 else f"{value:.2g}"


def percent(share: float | None) -> str:
    """`71.8 %`; a dash for what is unknown."""
    return "–" if share is None else f"{100 * share:.1f} %"


def bytes_in_cache(size_bytes: int) -> str:
    """A cache's size as caches are spoken of: powers of two where it is one."""
    return f"{size_bytes >> 10} KiB" if size_bytes % 1024 == 0 else bytes_text(size_bytes)
