# SPDX-License-Identifier: BSL-1.0
"""The figures of one trace that a merged characterisation needs: a small part of its own characterisation.

    trace ──millpond-characterise──▶ JSON ──use_of──▶ TraceFigures (process and subsystems), or why it has no figures

One trace is one task: a function of a path and words, whose result is small and can be pickled, so an executor may run
it in a thread, in another process or on another machine.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import field

from millpond.rounds.characterisation import Damage, LifetimeBin, ProcessFacts, Size, partial_reasons
from millpond.rounds.recording import CHARACTERISE, read_typed
from millpond.system import native
from millpond.system.any_bytes import kept
from millpond.system.errors import Failure, Status
from millpond.system.records import NONE, Record
from millpond.system.temporary import temporary_folder

LETTERS = ("D", "V", "L", "U", "C")


class UseCounts(Record, frozen=True, kw_only=True):
    """The counts of a process or a subsystem. Those of several processes are added; a sum of peaks is thus an upper
    bound of what was live in all of them at one moment.
    """

    events: int
    allocations: int
    frees: int
    reallocations: int
    bytes: int
    peak_live_bytes: int
    peak_live_objects: int
    end_live_bytes: int


COUNTS = UseCounts.__struct_fields__


class LetterValue(Record, frozen=True):
    """One of D, V, L, U and C; None if it is unknown."""

    value: float | None = None


class LifetimeCounts(Record, frozen=True):
    """The numbers of objects by lifetime."""

    histogram: tuple[LifetimeBin, ...] = ()


class SubsystemUse(UseCounts, frozen=True, kw_only=True):
    """The use of memory by one subsystem of one process."""

    name: str
    kind: str = ""
    near: str | None = None
    sizes: tuple[Size, ...] = ()
    lifetimes: LifetimeCounts = field(default_factory=LifetimeCounts)
    dvluc: dict[str, LetterValue] = field(default_factory=dict)


class ProcessUse(UseCounts, frozen=True, kw_only=True):
    """The use of memory by one process, and the limits of its trace."""

    path: str
    lost: int = 0
    threads: int | None = None
    cpu_seconds: float | None = None
    duration_seconds: float | None = None
    named_share: float | None = None
    partial: str | None = None
    sample_bytes: int | None = None
    damages: tuple[Damage, ...] = ()

    @property
    def limits(self) -> tuple[str, ...]:
        """The reasons why the figures do not describe the whole run; empty if they do."""
        return tuple(partial_reasons(self.partial, self.damages))


class TraceFigures(Record, frozen=True, kw_only=True):
    """The use of memory in one trace: of its process, and of each subsystem."""

    trace: ProcessUse
    process: ProcessFacts
    subsystems: tuple[SubsystemUse, ...]


class UnusableTrace(Record, frozen=True):
    """A file that gives no figures: it is damaged, not a trace, or not there. `why`: a sentence that names it."""

    trace: str
    why: str = field(default_factory=str)


class UseResult(Record, frozen=True, kw_only=True):
    """The result of one task: the use of memory, or the trace as an unusable one. `said`: warnings of the native
    program, a line each.
    """

    use: TraceFigures | None = None
    unusable: UnusableTrace | None = None
    said: tuple[str, ...] = field(default_factory=NONE)


def use_of(trace: Path, options: tuple[str, ...]) -> UseResult:
    """Characterises one trace with these options of millpond-characterise, and keeps the figures of a fleet.

    Failure (status 4) if this machine cannot do it: a fault of the trace itself is a result. Thread-safe.
    """
    with temporary_folder() as folder:
        out = folder / "characterisation.json"
        finished = native.run(CHARACTERISE, ["--json", str(out), *options, "--", str(trace)])
        said = tuple(line for line in finished.said.splitlines() if line)
        if finished.status == 0:
            use = read_typed(TraceFigures, out)
            if use.trace.sample_bytes:
                why = f"{trace} is a sample of the allocations; a merge needs every one: record without --sample"
                return UseResult(unusable=UnusableTrace(kept(str(trace)), kept(why)), said=said)
            return UseResult(use=use, said=said)
    failure = native.failure_of(CHARACTERISE, finished)
    if failure.status != Status.INPUT:
        raise Failure(failure.status, f"{trace}: {failure.message}")
    return UseResult(unusable=UnusableTrace(kept(str(trace)), kept(failure.message)))
