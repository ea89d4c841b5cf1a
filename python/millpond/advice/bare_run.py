# SPDX-License-Identifier: BSL-1.0
"""The first run of the program as it is, before any round: how long it takes, and whether its runs can be compared."""

from __future__ import annotations

import time
from dataclasses import dataclass

from millpond.advice.effects import control_cell
from millpond.advice.findings import Findings
from millpond.cells.cell import Outcome
from millpond.rounds.fresh_process import describe
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.system.wording import seconds_text

_CURE = "--prepare COMMAND before each run, or --cwd-copy, gives every run what the first one found"


@dataclass(frozen=True)
class BareRun:
    """A run of the program as it is. `outcome`: None where an earlier advise made it."""

    seconds: float
    exit_status: int
    outcome: Outcome | None = None


def run_bare(found: Findings, laboratory: Laboratory, deadline: float) -> BareRun | None:
    """Runs the program as it is, quietly. None where nothing can be tried: `found` says why."""
    recorded_seconds = found.recording.seconds
    if time.monotonic() >= deadline:
        took = seconds_text(recorded_seconds)
        found.why_no_trial = f"not tried: recording took {took}, the whole of the budget; --budget gives more"
        return None
    laboratory.limit_seconds = time_limit(recorded_seconds)
    started = time.monotonic()
    bare = laboratory.run_bare(control_cell(found.program, "bare"))
    seconds = time.monotonic() - started
    if why_not := _why_not_compared(found, bare):
        found.why_no_trial = f"not tried: the program {why_not}"
        return None
    # The recorded run was no quicker: where it was, the machine was busy during this one.
    return BareRun(min(seconds, recorded_seconds), bare.exit_status, bare)


def _why_not_compared(found: Findings, bare: Outcome) -> str:
    """Why runs of the program cannot be compared; empty where they can."""
    recorded = (found.recording.exit_status, found.recording.signal)
    if bare.signal:
        return f"{describe(bare.exit_status, bare.signal)}, so that its runs cannot be compared"
    if recorded != (bare.exit_status, bare.signal):
        return (
            f"{describe(bare.exit_status, 0)} where the recorded run {describe(*recorded)}: a run leaves something "
            f"behind that changes the next one; {_CURE}"
        )
    return ""
