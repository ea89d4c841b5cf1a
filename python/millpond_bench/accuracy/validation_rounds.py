# SPDX-License-Identifier: BSL-1.0
"""Validates replay: real programs under the installed mallocs, and their traces on the same mallocs.

    for each program:  record once ─▶ trace; then in each round, one after the other
                       the program under glibc, jemalloc, mimalloc …  in parallel    measured: CPU time, peak bytes
                       its trace on the same, at full speed           in parallel    predicted: CPU time
                       its trace on the same, at the program's pace                  predicted: peak bytes
                       ─▶ a difference for each pair of mallocs and each metric

Mallocs run in parallel (`side_by_side`), because a processor's speed changes from one second to the next by more than
the CPU times differ: the difference of runs one after the other would show the neighbours on the host. All
measurements and predictions of a round lie within seconds, so that the machine is the same for both.

A program that cannot run becomes a note: the results of the others still count.
"""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millpond.cells.cell import Cell, Malloc, Outcome, Program, Trace
from millpond.doctor.replay_error import (
    SCHEMA,
    VALIDATED,
    Difference,
    ValidatedProgram,
    Validation,
    difference,
    summary_of,
)
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.interleaved_rounds import Listener, RoundsRequest, Runner, Silence, run_rounds
from millpond.rounds.mallocs import OWN_MALLOC, MallocRunner, library_bytes, preloaded
from millpond.rounds.real_program import RealProgram
from millpond.rounds.recording import RECORD, summaries, trace_set
from millpond.rounds.replay_rounds import PACED, RECORDED
from millpond.store.observations import Journal
from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.system.temporary import temporary_folder
from millpond_bench.programs import real_programs
from millpond_bench.programs.side_by_side import SideBySide

PROGRAMS: Mapping[str, Callable[[Path], RealProgram]] = {
    "gawk": real_programs.gawk,
    "perl": real_programs.perl,
    "sqlite3": real_programs.sqlite3,
    "cc1plus": real_programs.cc1plus,
    "ghostscript": real_programs.ghostscript,
    "python3": real_programs.python3,
}
ROUNDS = 11
_SLOWEST = 20.0
_PATIENCE_SECONDS = 60.0
MEASURED, PREDICTED = "measured", "predicted"

# Makes the runner of a program's replays from a folder of its own and a seed.
ReplayFactory = Callable[[Path, int], Runner]


@dataclass
class ReplayValidator:
    """The results of a validation so far; `run` adds one program after the other."""

    mallocs: Sequence[Malloc]
    inputs: Path
    replays: ReplayFactory
    listener: Listener
    rounds: int = ROUNDS
    seed: int = 1
    journal: Journal = field(default_factory=lambda: Journal("validation", ("millpond", "doctor", "--validate")))
    differences: list[Difference] = field(default_factory=list)
    programs: list[ValidatedProgram] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    library_bytes: Mapping[str, float] = field(default_factory=dict)

    def require_known(self, names: Sequence[str]) -> None:
        """Failure (2) for an unknown name."""
        unknown = [name for name in names if name not in PROGRAMS]
        if unknown:
            raise Failure(Status.USAGE, f"unknown program {unknown[0]!r}; choose one of {', '.join(PROGRAMS)}")

    def part(self) -> ReplayValidator:
        """A validator for a part of the programs, without results."""
        return ReplayValidator(self.mallocs, self.inputs, self.replays, Silence(), self.rounds, self.seed)

    def take_in(self, part: ReplayValidator) -> None:
        """Adds the results of a part."""
        self.journal.take_in(part.journal.rows)
        self.differences += part.differences
        self.programs += part.programs
        self.notes += part.notes
        self.library_bytes = part.library_bytes or self.library_bytes

    def run(self, names: Sequence[str], deadline: float = float("inf")) -> None:
        """Validates the programs in turn, each with its share of the time left. Failure (2) for an unknown name."""
        self.require_known(names)
        self.library_bytes = library_bytes(self.mallocs)
        for number, name in enumerate(names):
            left = deadline - time.monotonic()
            if left <= 0:
                self.notes.append(f"{name}: not run, the budget is spent")
                continue
            try:
                self._program(PROGRAMS[name](self.inputs), time.monotonic() + left / (len(names) - number))
            except (Failure, subprocess.CalledProcessError) as failure:
                self.notes.append(f"{name}: {failure}")

    def _program(self, workload: RealProgram, deadline: float) -> None:
        say(f"validating on {workload.name}")
        with temporary_folder() as folder:
            started = time.monotonic()
            trace, summary = record(workload, folder)
            recorded = time.monotonic() - started
            limit = _PATIENCE_SECONDS + _SLOWEST * recorded
            real = [self._cell(workload, m) for m in self.mallocs]
            played = [self._replay_cell(workload, trace, m) for m in self.mallocs]
            paced = [self._replay_cell(workload, trace, m, PACED) for m in self.mallocs]
            runner = _ByKind(
                SideBySide({c: self._real_runner(folder, c, workload, limit) for c in real}, self.seed),
                SideBySide({c: self.replays(own_folder(folder, c), self.seed) for c in played}, self.seed),
                SideBySide({c: self.replays(own_folder(folder, c), self.seed) for c in paced}, self.seed, None),
            )
            outcomes = run_rounds(
                [*real, *played, *paced],
                runner,
                self.listener,
                RoundsRequest(stage="validating", rounds=self.rounds, deadline=deadline, seed=self.seed),
            )
        measured = [o for o in outcomes if o.stage == MEASURED]
        predicted = [o for o in outcomes if o.stage == PREDICTED]
        self.journal.add_outcomes([*measured, *predicted])
        self.notes += sorted({f"{workload.name}: {o.cell.contender.name} {o.why}" for o in [*measured, *predicted]
                              if o.status != "ok"})  # fmt: skip
        rounds = {MEASURED: _number(measured), PREDICTED: _number(predicted)}
        self.programs.append(ValidatedProgram(workload.name, tuple(workload.command[:1]), summary.trace.events, rounds))
        for metric, (i, j) in itertools.product(VALIDATED, itertools.combinations(range(len(self.mallocs)), 2)):
            against, of = self.mallocs[i].name, self.mallocs[j].name
            beside = self.library_bytes[of] - self.library_bytes[against] if metric == "peak_bytes" else 0.0
            replays = paced if metric == "peak_bytes" else played
            found = difference(
                workload.name, metric, (measured, real[j], real[i]), (predicted, replays[j], replays[i]), (of, against),
                beside,
            )  # fmt: skip
            if found is not None:
                self.differences.append(found)

    def _real_runner(self, folder: Path, cell: Cell, workload: RealProgram, limit: float) -> Runner:
        limit *= len(self.mallocs)  # wall-clock time, which they share
        own = own_folder(folder, cell)
        return MallocRunner(own, workload.stdin, workload.environment, self.seed, limit_seconds=limit)

    def _cell(self, workload: RealProgram, malloc: Malloc) -> Cell:
        return Cell(Program(tuple(workload.command)), malloc, (("program", workload.name),))

    def _replay_cell(self, workload: RealProgram, trace: Path, malloc: Malloc, *pace: tuple[str, str]) -> Cell:
        # A malloc that returns pages by the wall clock keeps them longer at full speed than in the program.
        contender = RECORDED if malloc == OWN_MALLOC else malloc
        return Cell(Trace(str(trace)), contender, (("program", workload.name), *pace))

    def document(self) -> Validation:
        """All results so far."""
        return Validation(
            **self.journal.head(SCHEMA),
            mallocs=tuple(m.place for m in self.mallocs),
            library_bytes=dict(self.library_bytes),
            programs=tuple(self.programs),
            differences=tuple(self.differences),
            summary=summary_of(self.differences),
            notes=tuple(self.notes),
        )


@dataclass(frozen=True)
class _ByKind:
    """Passes each cell of a round to the runner of its kind, and names the stage after its purpose."""

    real: Runner
    played: Runner
    paced: Runner

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        if isinstance(cell.subject, Program):
            return self.real.run(cell, MEASURED, number)
        return (self.paced if PACED in cell.parameters else self.played).run(cell, PREDICTED, number)


def own_folder(folder: Path, cell: Cell) -> Path:
    """A new folder for a cell that runs in parallel with others. Its name is not derived from the cell's, which may
    hold a path.
    """
    return Path(tempfile.mkdtemp(prefix=f"{cell.subject.kind}-", dir=folder))


def _number(outcomes: Sequence[Outcome]) -> int:
    return len({o.round for o in outcomes if o.round > 0 and o.status == "ok"})


def record(workload: RealProgram, folder: Path) -> tuple[Path, Characterisation]:
    """Records a workload once, on the C library's malloc. Returns the trace and summary of the process that allocated
    most.
    """
    file = folder / "validated.mpt"
    command = preloaded(workload.command, OWN_MALLOC, workload.environment)
    with (workload.stdin or Path("/dev/null")).open("rb") as stdin:
        finished = native.run(RECORD, ["-o", str(file), "--", *command], stdin=stdin.fileno())
    traces = trace_set(file)
    if not traces or finished.status != 0:
        raise native.failure_of(RECORD, finished)
    found = summaries(traces, folder)
    largest = max(range(len(traces)), key=lambda i: found[i].allocated_bytes)
    for number, trace in enumerate(traces):
        if number != largest:
            trace.unlink()
    return traces[largest], found[largest].summary
