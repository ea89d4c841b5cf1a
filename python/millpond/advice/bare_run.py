# SPDX-License-Identifier: BSL-1.0
"""Runs the unchanged program once before any round, to learn its duration and whether its runs can be compared."""

from __future__ import annotations

import time
from dataclasses import dataclass

from millpond.advice.effects import control_cell
from millpond.advice.findings import Findings
from millpond.cells.cell import Outcome
from millpond.rounds.fresh_process import describe
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.system.wording import seconds_text

_CURE = "--prepare COMMAND or --cwd-copy gives every run the same starting point"


@dataclass(frozen=True)
class BareRun:
    """A run of the unchanged program. `outcome`: None if an earlier advise made it."""

    seconds: float
    exit_status: int
    outcome: Outcome | None = None


def run_bare(found: Findings, laboratory: Laboratory, deadline: float) -> BareRun | None:
    """Runs the unchanged program with its output dropped. Returns None if nothing can be tried; `found` gives the
    reason.
    """
    recorded_seconds = found.recording.seconds
    if time.monotonic() >= deadline:
        took = seconds_text(recorded_seconds)
        found.why_no_trial = f"not tried: recording took {took}, the whole budget; give more with --budget"
        return None
    laboratory.limit_seconds = time_limit(recorded_seconds)
    started = time.monotonic()
    bare = laboratory.run_bare(control_cell(found.program, "bare"))
    seconds = time.monotonic() - started
    if why_not := _why_not_compared(found, bare):
        found.why_no_trial = f"not tried: the program {why_not}"
        return None
    # Takes the shorter of the recorded run and this one: if this one was longer, the machine was busy.
    return BareRun(min(seconds, recorded_seconds), bare.exit_status, bare)


def _why_not_compared(found: Findings, bare: Outcome) -> str:
    """Returns why runs of the program cannot be compared; empty if they can."""
    recorded = (found.recording.exit_status, found.recording.signal)
    if bare.signal:
        return f"{describe(bare.exit_status, bare.signal)}, so its runs cannot be compared"
    if recorded != (bare.exit_status, bare.signal):
        return (
            f"{describe(bare.exit_status, 0)} but the recorded run {describe(*recorded)}: a run leaves something "
            f"behind that changes the next one; {_CURE}"
        )
    return ""
