# SPDX-License-Identifier: BSL-1.0
"""The phases of a trace as a section: a row for each, and the subsystems whose objects end with their phase."""

from __future__ import annotations

from millpond.report.views.model import Bullets, ReportSection, TableCell, Words, name, section, several, table
from millpond.report.views.short_text import short_name
from millpond.rounds.characterisation import Phase, Phases, PhaseShare
from millpond.system.wording import bytes_text, count_text

_PHASES_AT_MOST = 20
_CANDIDATES_AT_MOST = 8
_NAME_AT_MOST = 30
_LEAST_SHARE = 0.05  # of a phase's bytes, for a subsystem to be named
_FOUND = (
    "The program marks no phases (`millpond/phase.h`). These were found where the mix of events, or the growth of "
    "live bytes, changes. Bursts blur a boundary."
)


def phase_section(found: Phases | None) -> ReportSection | None:
    """Returns the section; None if the trace has one phase only."""
    if found is None:
        return None
    labels = _labels(found)
    is_marked = found.method == "marks"
    rows = [_row(label, phase, is_marked) for label, phase in zip(labels, found.phases, strict=True)]
    headings = ("phase", ">stretches", ">from event", ">events", ">bytes", ">peak live", ">end live", "most bytes")
    shown = table(headings, rows[:_PHASES_AT_MOST], caption=several(rows, _PHASES_AT_MOST, "phases"))
    method = Words("" if is_marked else _FOUND, "soft")
    return section("Phases", [shown, Bullets(tuple(arena_candidates(found))), method])


def arena_candidates(found: Phases) -> list[str]:
    """Returns a sentence for each subsystem and phase in which every object ends within its stretch, so that an arena
    could live as long: those that allocate most bytes, and at least a twentieth of the phase's.
    """
    all_of_them = [
        (share.bytes, f"{share.name} in {label}: {_reason(share)}")
        for label, phase in zip(_labels(found), found.phases, strict=True)
        for share in phase.subsystems
        if (phase.name or found.method != "marks")
        and share.ended_within == share.objects
        and share.bytes >= _LEAST_SHARE * phase.bytes
    ]
    return [words for _, words in sorted(all_of_them, key=lambda one: -one[0])[:_CANDIDATES_AT_MOST]]


def _reason(share: PhaseShare) -> str:
    return (
        f"all {count_text(share.objects)} objects end in the stretch in which they begin; an arena for each stretch "
        f"would hold {bytes_text(share.stretch_bytes_max)}, against {bytes_text(share.peak_live_bytes)} live at the "
        "peak."
    )


def _labels(found: Phases) -> list[str]:
    return [short_name(label, _NAME_AT_MOST) for label in found.labels]


def _row(label: str, phase: Phase, is_marked: bool) -> tuple[TableCell | str, ...]:
    return (
        name(label), count_text(phase.stretches) if is_marked else "",
        "" if is_marked else count_text(phase.first_event), count_text(phase.events), bytes_text(phase.bytes),
        bytes_text(phase.peak_live_bytes), bytes_text(phase.end_live_bytes),
        name(phase.subsystems[0].name) if phase.subsystems else "",
    )  # fmt: skip
