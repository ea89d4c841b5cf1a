# SPDX-License-Identifier: BSL-1.0
"""Counters of the measured window of a suite's round: by the processor, or simulated if it has none.

    --counters            each round counts, next to its clocks                   kind `counted`
    --event NAME          … and that event of the processor                       kind `counted`
    --counters=simulated  two more processes for each cell, under callgrind and
                          under our capturing tool: working sets, translation     kind `simulated`
    --perf-control C,A    an outer perf counts its events in each round's window

An unavailable counter is null, with the reason. Simulated caches are callgrind's: the first and last level of this
machine; misses are of reads. Simulated translation buffers have 64 and 1536 entries for pages of 4 KiB; their misses
are of reads and writes.

    perf stat --delay=-1 --control fd:CTL,ACK -- millpond-bench run … --perf-control CTL,ACK
        ▲ "enable", "disable" ── CTL ── the process of a round, around its window ◀── "ack" ── ACK ──┘
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from millpond.cells.cell import LAST_LEVEL, Cell, Outcome
from millpond.cells.metrics import RUNNING, WORKING_SETS
from millpond.rounds.fresh_process import describe
from millpond.rounds.layouts import CAPTURE, SIMULATE
from millpond.rounds.simulation_data import Simulation
from millpond.system import callgrind, native
from millpond.system.errors import Failure, Status
from millpond.system.records import Record
from millpond.system.temporary import temporary_folder
from millpond_bench.experiments.surroundings import LAST_LEVELS, Surroundings

STAGE = "simulated"
# The function that the suites do not inline, so that a simulator can count only its events.
_WINDOW = "millpond_measured_window"
# Callgrind's names for them; it splits branches into conditional and indirect ones.
_EVENTS = {
    "instructions": ("Ir",),
    "l1d_loads": ("Dr",),
    "stores": ("Dw",),
    "l1d_misses": ("D1mr",),
    # Its second level is its last: it receives the misses of the first one, and nothing else.
    "llc_loads": ("D1mr",),
    "llc_misses": ("DLmr",),
    "branch_misses": ("Bcm", "Bim"),
}
_NO_CLOCK = "callgrind simulates caches and has no clock: it knows no cycles"
NOT_SIMULATED = dict.fromkeys(("cycles", "stalled_cycles", "l1d_stall_cycles"), _NO_CLOCK)
# The names of the simulators' `distinct` counts: lines of 64 bytes and pages of 4 KiB referenced within the window.
_WORKING_SET = dict(zip((64, 4096), WORKING_SETS, strict=True))
# Translation buffers as of a processor of today: a miss of the second one walks the page tables.
_TRANSLATION = "tlb:page=4K,entries=64/1536,ways=4/12"
_OF_TRANSLATION = {1: "dtlb_misses", 2: "page_walks"}
_CAPTURED = (*WORKING_SETS, *_OF_TRANSLATION.values())
SIMULATED = (*_EVENTS, *_CAPTURED)
# The time of both processes relative to a round, about: one simulates caches and branches, one distances.
SLOWDOWN = 200.0
_LEAST_PATIENCE_SECONDS = 600.0
_NUMBERS = re.compile(r"\d{1,9}(,\d{1,9})?", re.ASCII)
_SLOWER = 600.0
_NOTHING_SEEN = f"saw nothing of {_WINDOW}: the program lacks symbols, or does not measure through it"


@dataclass(frozen=True)
class PerfControl:
    """Descriptors of an outer `perf`: one, or one to write and one to read."""

    text: str

    @classmethod
    def given(cls, text: str) -> PerfControl:
        """From the command line. Failure (status 2) for other than numbers, 4 if no file is open there."""
        if not _NUMBERS.fullmatch(text):
            raise Failure(
                Status.USAGE, f"--perf-control {text!r} is not CTL,ACK: the numbers of perf stat --control fd:CTL,ACK"
            )
        control = cls(text)
        for number in control.descriptors:
            try:
                os.fstat(number)
            except OSError as error:
                raise Failure(
                    Status.ENVIRONMENT,
                    f"--perf-control: descriptor {number} is not open; perf stat --control fd:CTL,ACK hands on those "
                    "that the shell has opened",
                ) from error
        return control

    @property
    def descriptors(self) -> tuple[int, ...]:
        return tuple(map(int, self.text.split(",")))


class Counters(StrEnum):
    """The ways to count a window's events."""

    MEASURED = "measured"
    SIMULATED = "simulated"


@dataclass(frozen=True)
class CounterRequest:
    """The user's counters: `how` for COUNTERS, more `events` by name, and whether an outer perf counts too."""

    how: Counters | None = None
    events: tuple[str, ...] = ()
    control: PerfControl | None = None

    @property
    def simulated(self) -> bool:
        return self.how == Counters.SIMULATED

    @property
    def words(self) -> list[str]:
        """The options for a round's program."""
        counters = ["--counters"] if self.how == Counters.MEASURED else []
        control = ["--perf-control", self.control.text] if self.control else []
        return [*counters, *(word for event in self.events for word in ("--event", event)), *control]

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that a round's program inherits."""
        return self.control.descriptors if self.control else ()

    @cached_property
    def subject(self) -> list[str]:
        """The part of a run's identity that tells rounds with counters from rounds without.

        If perf counts, no rounds are shared with other runs: perf would not have seen them.
        """
        return [*self.words, *([f"perf {secrets.token_hex(8)}"] if self.control else [])]


UNCOUNTED = CounterRequest()


class WindowCounter(Record, frozen=True):
    """A counter in a round's line."""

    value: float | None = None
    running_share: float | None = None
    why_null: str | None = None


def read(printed: Mapping[str, WindowCounter]) -> tuple[dict[str, float], dict[str, str]]:
    """The counters in a round's line: those that have a value, and the reasons why the others have none.

    A scaled value comes with the share of the window for which its event ran.
    """
    values, absent = {}, {}
    for name, found in printed.items():
        if found.value is None:
            absent[name] = found.why_null or "the program gave no reason"
            continue
        values[name] = found.value
        if found.running_share is not None and found.running_share < 1.0:
            values[f"{name}{RUNNING}"] = found.running_share
    return values, absent


def notes_on_turns(outcomes: Iterable[Outcome]) -> list[str]:
    """Caveats about events that took turns on the processor's counters: their values are scaled."""
    least: dict[str, float] = {}
    for outcome in outcomes:
        for name, share in outcome.values.items():
            if name.endswith(RUNNING):
                least[name] = min(share, least.get(name, 1.0))
    return [
        f"{name.removesuffix(RUNNING)} took turns with other events: it was counted for at least {100 * share:.0f} % "
        "of each window and scaled"
        for name, share in sorted(least.items())
    ]


class SimulatedRunner:
    """A runner for `interleaved_rounds.run_rounds`: a round's window under callgrind, and under our capturing tool.

    `argv_of`: returns the command line of a cell's round, which gets the cell's environment. `seconds`: the expected
    time of a process of a cell.
    """

    def __init__(self, argv_of: Mapping[Cell, Sequence[str]], seconds: Mapping[Cell, float]) -> None:
        self._argv_of = argv_of
        self._seconds = seconds
        self._valgrind = callgrind.command([_WINDOW], caches=True)

    def _command(self, cell: Cell) -> list[str]:
        last_level = LAST_LEVELS.get(dict(cell.parameters).get(LAST_LEVEL, ""))
        return [*self._valgrind, *([f"--LL={last_level}"] if last_level else []), *self._argv_of[cell]]

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """Runs two processes. The outcome is always ok, because the cell has been measured, even if it cannot be
        simulated.
        """
        patience = max(_LEAST_PATIENCE_SECONDS, _SLOWER * self._seconds.get(cell, 0.0))
        environment = Surroundings.of(cell).environment({})
        values, absent = self._events(cell, environment, patience)
        try:
            values |= _captured(self._argv_of[cell], environment, patience)
        except LookupError as error:
            absent |= dict.fromkeys(_CAPTURED, str(error.args[0]))
        return Outcome(cell, stage, number, values, absent=absent, kind="simulated")

    def _events(
        self, cell: Cell, environment: dict[str, str], patience: float
    ) -> tuple[dict[str, float], dict[str, str]]:
        """Callgrind's counts, and the reasons for the counters that it does not have."""
        done = native.capture(self._command(cell), environment, seconds=patience)
        totals = callgrind.collected(done.said) if done.status == 0 else {}
        values = {
            name: float(sum(totals[event] for event in events))
            for name, events in _EVENTS.items()
            if totals.keys() >= set(events)
        }
        absent = NOT_SIMULATED | {name: f"callgrind printed no {'; '.join(_EVENTS[name])}" for name in _EVENTS}
        absent = {name: why for name, why in absent.items() if name not in values}
        if not values.get("instructions"):
            absent |= dict.fromkeys(_EVENTS, _why_none(done, patience))
            values = {}
        return values, absent


def _captured(argv: Sequence[str], environment: dict[str, str], patience: float) -> dict[str, float]:
    """The number of lines and pages that the window references, and its misses of the translation buffers.
    LookupError if they cannot be counted.
    """
    described = [_TRANSLATION, *(f"distances:line={size}" for size in _WORKING_SET)]
    simulators = [word for one in described for word in ("--simulate", one)]
    try:
        with temporary_folder() as folder:
            trace = folder / "window.mpt"
            capture = [str(native.find(CAPTURE)), "--window", _WINDOW, *simulators, "-o", str(trace), "--", *argv]
            done = native.capture(capture, environment, seconds=patience)
            if done.status != 0:
                raise LookupError(_why_none(done, patience, "our capturing tool"))
            counted = Simulation.from_json(json.loads(native.answer(SIMULATE, ["--json", "-", str(trace)])))
    except Failure as failure:
        raise LookupError(failure.message) from failure
    if counted.input.references == 0:
        raise LookupError(f"our capturing tool {_NOTHING_SEEN}")
    rows = [(one.kind, row) for one in counted.simulators for row in one.metrics]
    found = {_WORKING_SET[row.line_bytes]: float(row.value) for _, row in rows
             if row.metric == "distinct" and row.line_bytes in _WORKING_SET}  # fmt: skip
    return found | {_OF_TRANSLATION[row.level]: float(row.value) for kind, row in rows
                    if kind == "tlb" and row.metric == "misses" and row.level in _OF_TRANSLATION}  # fmt: skip


def _why_none(done: native.ProgramOutput, patience: float, tool: str = "callgrind") -> str:
    if done.timed_out:
        return f"under {tool} it took longer than {patience:.0f} s"
    if done.status != 0:
        return f"under {tool} it failed: {describe(max(done.status, 0), max(-done.status, 0))}"
    return f"{tool} {_NOTHING_SEEN}"
