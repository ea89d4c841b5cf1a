# SPDX-License-Identifier: BSL-1.0
"""Runs the unchanged program once before any round, to learn its duration and whether its runs can be compared."""

from __future__ import annotations

import time
from dataclasses import dataclass

from millpond.advice.effects import control_cell
from millpond.cells.cell import Outcome
from millpond.rounds.fresh_process import describe
from millpond.rounds.recording import Recording
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.system.wording import seconds_text

_CURE = "--prepare COMMAND or --cwd-copy gives every run the same starting point"


@dataclass(frozen=True)
class BareRun:
    """A run of the unchanged program. `outcome`: None if an earlier advise made it."""

    seconds: float
    exit_status: int
    outcome: Outcome | None = None


def run_bare(
    program: tuple[str, ...], recording: Recording, laboratory: Laboratory, deadline: float, *, is_server: bool = False
) -> tuple[BareRun | None, str]:
    """Runs the unchanged program with its output dropped. Returns None and the reason if nothing can be tried."""
    if time.monotonic() >= deadline:
        took = seconds_text(recording.seconds)
        return None, f"not tried: recording took {took}, the whole budget; give more with --budget"
    laboratory.limit_seconds = time_limit(recording.seconds)
    started = time.monotonic()
    bare = laboratory.run_bare(control_cell(program, "bare"))
    seconds = time.monotonic() - started
    if why_not := _why_not_compared(recording, bare):
        return None, f"not tried: the program {why_not}"
    # Takes the shorter of the recorded run and this one: if this one was longer, the machine was busy. But a server is
    # recorded under one load, and measured under two.
    takes_seconds = seconds if is_server else min(seconds, recording.seconds)
    return BareRun(takes_seconds, bare.exit_status, bare), ""


def _why_not_compared(recording: Recording, bare: Outcome) -> str:
    """Returns why runs of the program cannot be compared; empty if they can."""
    recorded = (recording.exit_status, recording.signal)
    if bare.signal:
        return f"{describe(bare.exit_status, bare.signal)}, so its runs cannot be compared"
    if recorded != (bare.exit_status, bare.signal):
        return (
            f"{describe(bare.exit_status, 0)} but the recorded run {describe(*recorded)}: a run leaves something "
            f"behind that changes the next one; {_CURE}"
        )
    return ""
