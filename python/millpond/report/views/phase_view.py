# SPDX-License-Identifier: BSL-1.0
"""The phases of a trace as a section: a row for each, and the subsystems whose objects end with their phase."""

from __future__ import annotations

from millpond.report.views.model import Bullets, ReportSection, TableCell, Words, name, section, several, table
from millpond.rounds.characterisation import Phase, Phases, PhaseShare
from millpond.system.wording import bytes_text, count_text, seconds_text

_PHASES_AT_MOST = 20
_CANDIDATES_AT_MOST = 8
_LEAST_SHARE = 0.05  # of a phase's bytes, for a subsystem to be named
_FOUND = (
    "The program marks no phases (`millpond/phase.h`). These were found where the mix of events, or the growth of "
    "live bytes, changes; a boundary is known to about 1 % of the events."
)


def phase_section(found: Phases | None) -> ReportSection | None:
    """Returns the section; None if the trace has one phase only."""
    if found is None:
        return None
    rows = [_row(label, phase) for label, phase in zip(found.labels, found.phases, strict=True)]
    headings = (
        "phase", ">stretches", ">first event", ">events", ">bytes", ">seconds", ">live at begin", ">at peak", ">at end",
        "most bytes",
    )  # fmt: skip
    shown = table(headings, rows[:_PHASES_AT_MOST], caption=several(rows, _PHASES_AT_MOST, "phases"))
    method = Words("" if found.method == "marks" else _FOUND, "soft")
    return section("Phases", [shown, Bullets(tuple(arena_candidates(found))), method])


def arena_candidates(found: Phases) -> list[str]:
    """Returns a sentence for each subsystem and phase in which every object ends within its stretch, so that an arena
    could live as long: those that allocate most bytes, if they have a share of the phase that counts.
    """
    all_of_them = [
        (share.bytes, f"{share.name} in {label}: {_reason(share)}")
        for label, phase in zip(found.labels, found.phases, strict=True)
        for share in phase.subsystems
        if share.ended_within == share.objects and share.bytes >= _LEAST_SHARE * phase.bytes
    ]
    return [words for _, words in sorted(all_of_them, key=lambda one: -one[0])[:_CANDIDATES_AT_MOST]]


def _reason(share: PhaseShare) -> str:
    return (
        f"all {count_text(share.objects)} objects end in the stretch in which they begin; an arena for each stretch "
        f"would hold {bytes_text(share.stretch_bytes_max)}, against {bytes_text(share.peak_live_bytes)} live at the "
        "peak."
    )


def _row(label: str, phase: Phase) -> tuple[TableCell | str, ...]:
    return (
        name(label), count_text(phase.stretches), count_text(phase.first_event), count_text(phase.events),
        bytes_text(phase.bytes), seconds_text(phase.seconds), bytes_text(phase.begin_live_bytes),
        bytes_text(phase.peak_live_bytes), bytes_text(phase.end_live_bytes),
        name(phase.subsystems[0].name) if phase.subsystems else "",
    )  # fmt: skip
