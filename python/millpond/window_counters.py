# SPDX-License-Identifier: BSL-1.0
"""Counters of the measured window of a suite's round: by the processor, or simulated where it gives none.

    --counters            each round counts, beside its clocks                    kind `counted`
    --counters=simulated  one process more for each cell, under callgrind         kind `simulated`

What is not available is null, with the reason. Simulated caches are callgrind's: those of this machine, two levels of
them; misses are of reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from millpond import callgrind, native
from millpond.cells import COUNTERS, Cell, Outcome
from millpond.laboratory import describe
from millpond.observations import utc_now
from millpond.surroundings import Surroundings

STAGE = "simulated"
# What the suites' frame keeps out of line, so that a simulator can be told what to count.
_WINDOW = "millpond_measured_window"
_EVENTS = {"instructions": "Ir", "l1d_loads": "Dr", "l1d_misses": "D1mr", "llc_misses": "DLmr"}
_NO_CLOCK = "callgrind simulates caches and has no clock: it knows no cycles"
_LEAST_PATIENCE_SECONDS = 600.0
_SLOWER = 300.0


class Counters(StrEnum):
    """How a window's events are counted."""

    MEASURED = "measured"
    SIMULATED = "simulated"


def read(printed: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """The counters in a round's line: those that have a value, and why the others have none."""
    values, absent = {}, {}
    for name, found in (printed.get("counters") or {}).items():
        if name not in COUNTERS:
            continue
        if isinstance(found.get("value"), int | float):
            values[name] = float(found["value"])
        else:
            absent[name] = str(found.get("why_null") or "the program gave no reason")
    return values, absent


class SimulatedRunner:
    """A runner for `execution.run_rounds`: a round's window under callgrind.

    `argv_of`: the command line of a cell's round, which gets the cell's surroundings. `seconds`: what a process of a
    cell is expected to take.
    """

    def __init__(self, argv_of: Mapping[Cell, Sequence[str]], seconds: Mapping[Cell, float]) -> None:
        self._argv_of = argv_of
        self._seconds = seconds
        self._valgrind = callgrind.command([_WINDOW], caches=True)

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """One process. Its outcome is ok in any case: a cell that cannot be simulated was measured all the same."""
        patience = max(_LEAST_PATIENCE_SECONDS, _SLOWER * self._seconds.get(cell, 0.0))
        environment = Surroundings.of(cell).environment({})
        done = native.capture([*self._valgrind, *self._argv_of[cell]], environment, seconds=patience)
        totals = callgrind.collected(done.said) if done.status == 0 else {}
        values = {name: float(totals[event]) for name, event in _EVENTS.items() if event in totals}
        absent = dict.fromkeys(("cycles", "stalled_cycles"), _NO_CLOCK)
        if not values.get("instructions"):
            absent |= dict.fromkeys(_EVENTS, _why_none(done, patience))
            values = {}
        return Outcome(cell, stage, number, values, 0, 0, "ok", utc_now(), absent=absent, kind="simulated")


def _why_none(done: native.Captured, patience: float) -> str:
    if done.timed_out:
        return f"under callgrind it took longer than {patience:.0f} s"
    if done.status != 0:
        return f"under callgrind it ended otherwise: {describe(max(done.status, 0), max(-done.status, 0))}"
    return f"callgrind saw nothing of {_WINDOW}: the program lacks symbols, or does not measure through it"
