# SPDX-License-Identifier: BSL-1.0
"""Validates predictions from references: real programs on several mallocs, under Cachegrind and without a tool.

    for each program:  on each malloc, in parallel, in fresh processes           measured: CPU
                       recorded on glibc ─▶ predicted for each malloc            predicted: misses, faults, CPU
                       on each malloc under Cachegrind, in eight environments    truth: misses, faults

A program or malloc that cannot run becomes a note: the results of the others still count.
"""

from __future__ import annotations

import shlex
import shutil
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec.structs import replace as with_fields

from millpond.cells.cell import Cell, Malloc, Outcome, Program
from millpond.cells.metrics import Metrics
from millpond.doctor.references_error import (
    KIND,
    SCHEMA,
    CountedPair,
    Metric,
    PredictedCount,
    PredictedSeconds,
    ReferencesValidation,
    ValidatedReferences,
    ranks_of,
    seconds_summary_of,
    summary_of,
)
from millpond.rounds.capture_tools import CacheShape
from millpond.rounds.interleaved_rounds import Listener, RoundsRequest, Silence, by_round, run_rounds
from millpond.rounds.layouts import layout_of
from millpond.rounds.mallocs import MallocRunner
from millpond.rounds.predicted_misses import (
    MALLOCS,
    RECORDED_ON,
    WORST_PERCENT,
    Prediction,
    ProgramPredictions,
    predict_program,
)
from millpond.rounds.real_program import RealProgram
from millpond.statistics.order_statistics import summarise
from millpond.store.observations import Journal
from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.system.temporary import temporary_folder
from millpond_bench.accuracy.validation_rounds import MEASURED, PREDICTED, own_folder
from millpond_bench.programs.captured_programs import MORE_PREDICTED, ProgramMaker
from millpond_bench.programs.captured_programs import PREDICTED as PROGRAMS
from millpond_bench.programs.side_by_side import SideBySide

ENVIRONMENTS = 8
ROUNDS = 11
TRUTH = "truth"
_PROBE = "millpond-probe"
_MEASURING_SHARE = 0.25  # of a program's time, for its rounds without a tool
_LIMIT_SECONDS = 600.0  # of one run without a tool, by the wall clock
_COUNTED = Metrics({"misses": "misses", "page_faults": "faults"}, optional=frozenset(("misses", "page_faults")))
_CPU = Metrics({"cpu_seconds": "seconds"})


def program_of(word: str, inputs: Path) -> RealProgram:
    """The program that a user names: one of ours, or a command line. Failure (2) for anything else."""
    known: dict[str, ProgramMaker] = {**PROGRAMS, **MORE_PREDICTED}
    if word in known:
        return replace(known[word](inputs), name=word)
    words = _words(word)
    found = shutil.which(words[0]) if words else None
    if found is None:
        names = ", ".join(known)
        raise Failure(Status.USAGE, f"unknown program {word!r}; choose one of {names}, or a command line")
    return RealProgram(word, (str(Path(found).absolute()), *words[1:]))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


@dataclass
class ReferencesValidator:
    """The results of a validation so far; `run` adds one program after the other."""

    inputs: Path
    listener: Listener
    environments: int = ENVIRONMENTS
    seed: int = 1
    journal: Journal = field(
        default_factory=lambda: Journal(KIND, ("millpond", "doctor", "--validate", "--references"))
    )
    mallocs: list[Malloc] = field(default_factory=list)
    counts: list[PredictedCount] = field(default_factory=list)
    seconds: list[PredictedSeconds] = field(default_factory=list)
    programs: list[ValidatedReferences] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def require_known(self, names: Sequence[str]) -> None:
        """Failure (2) for an unknown name."""
        for name in names:
            if name not in PROGRAMS and name not in MORE_PREDICTED:
                program_of(name, self.inputs)

    def part(self) -> ReferencesValidator:
        """A validator for a part of the programs, without results."""
        return ReferencesValidator(self.inputs, Silence(), self.environments, self.seed)

    def take_in(self, part: ReferencesValidator) -> None:
        """Adds the results of a part."""
        self.journal.take_in(part.journal.rows)
        self.mallocs += [malloc for malloc in part.mallocs if malloc not in self.mallocs]
        self.counts += part.counts
        self.seconds += part.seconds
        self.programs += part.programs
        self.notes += [note for note in part.notes if note not in self.notes]

    def run(self, names: Sequence[str], deadline: float = float("inf")) -> None:
        """Validates the programs in turn, each with its share of the time left. Failure (2) for an unknown name."""
        self.require_known(names)
        self._find_mallocs()
        with temporary_folder() as folder:
            latencies = self._latencies(folder)
            for number, name in enumerate(names):
                left = deadline - time.monotonic()
                if left <= 0:
                    self.notes.append(f"{name}: not run, the budget is spent")
                    continue
                own = folder / f"program_{number}"
                own.mkdir()
                try:
                    workload = program_of(name, self.inputs)
                    self._program(workload, own, latencies, time.monotonic() + left / (len(names) - number))
                except (Failure, subprocess.CalledProcessError) as failure:
                    self.notes.append(f"{name}: {failure}")
                shutil.rmtree(own, ignore_errors=True)

    def _find_mallocs(self) -> None:
        for name in MALLOCS:
            try:
                self.mallocs.append(Malloc(name, layout_of(name).library))
            except Failure as failure:
                self.notes.append(f"{name}: {failure.message}")

    def _latencies(self, folder: Path) -> Path | None:
        path = folder / "probe.json"
        try:
            native.require(_PROBE, ["--json", str(path)])
        except Failure as failure:
            self.notes.append(f"no seconds are predicted: {failure.message}")
            return None
        return path

    def _program(self, workload: RealProgram, folder: Path, latencies: Path | None, deadline: float) -> None:
        say(f"validating on {workload.name}")
        now = time.monotonic()
        measured = self._measure(workload, folder, now + _MEASURING_SHARE * (deadline - now))
        found = predict_program(
            workload, folder, self.environments, mallocs=[m.name for m in self.mallocs], latencies=latencies,
            deadline=deadline,
        )  # fmt: skip
        self.notes += [f"{workload.name} on {name}: {why}" for name, why in found.why_not.items()]
        self._keep_counts(found)
        self._keep_seconds(found, measured)
        environments = max((len(pairs) for own in found.counts.values() for pairs in own.values()), default=0)
        rounds = len({o.round for o in measured if o.round > 0 and o.status == "ok"})
        self.programs.append(
            ValidatedReferences(
                name=workload.name, command=workload.command[:1], pages=found.pages, environments=environments,
                rounds=rounds,
            )
        )  # fmt: skip

    def _measure(self, workload: RealProgram, folder: Path, deadline: float) -> list[Outcome]:
        """Rounds of the program without a tool on each malloc, run in parallel."""
        cells = [self._cell(workload, malloc) for malloc in self.mallocs]
        runners = {
            cell: MallocRunner(own_folder(folder, cell), workload.stdin, workload.environment, self.seed,
                               limit_seconds=_LIMIT_SECONDS)
            for cell in cells
        }  # fmt: skip
        outcomes = run_rounds(
            cells,
            SideBySide(dict(runners), self.seed),
            self.listener,
            RoundsRequest(stage=MEASURED, rounds=ROUNDS, deadline=deadline, seed=self.seed),
        )
        self.journal.add_outcomes(outcomes)
        self.notes += sorted({f"{workload.name}: {o.cell.contender.name} {o.why}" for o in outcomes
                              if o.status != "ok"})  # fmt: skip
        return outcomes

    def _cell(self, workload: RealProgram, malloc: Malloc, *parameters: tuple[str, str]) -> Cell:
        return Cell(Program(tuple(workload.command)), malloc, (("program", workload.name), *parameters))

    def _keep_counts(self, found: ProgramPredictions) -> None:
        for malloc in self.mallocs:
            for cache, pairs in found.counts.get(malloc.name, {}).items():
                row = _count_row(found, malloc.name, cache, pairs)
                self.counts.append(row)
                cell = self._cell(found.workload, malloc, ("cache", cache.name))
                self.journal.add_outcomes(
                    (
                        Outcome(cell, stage, number, {row.metric: float(value)}, kind=kind)
                        for number, pair in enumerate(pairs, 1)
                        for stage, value, kind in (
                            (PREDICTED, pair.predicted, "estimated"),
                            (TRUTH, pair.truth, "counted"),
                        )
                    ),
                    _COUNTED,
                )

    def _keep_seconds(self, found: ProgramPredictions, measured: Sequence[Outcome]) -> None:
        rounds = {
            m.name: by_round(measured, self._cell(found.workload, m), "cpu_seconds")
            for m in self.mallocs
            if m.name in found.seconds
        }
        for malloc in self.mallocs:
            if not rounds.get(malloc.name):
                continue
            predicted = found.seconds[malloc.name]
            cell = self._cell(found.workload, malloc)
            self.journal.add_outcomes(
                [Outcome(cell, PREDICTED, 1, {"cpu_seconds": predicted}, kind="estimated")], _CPU
            )  # fmt: skip
            row = PredictedSeconds(
                program=found.workload.name, malloc=malloc.name, predicted=predicted,
                measured=summarise(list(rounds[malloc.name].values())), predicted_ratio=None, measured_ratio=None,
                error_percent=None,
            )  # fmt: skip
            self.seconds.append(_with_ratios(row, rounds, found.seconds))

    def document(self) -> ReferencesValidation:
        """All results so far."""
        return ReferencesValidation(
            **self.journal.head(SCHEMA),
            mallocs=tuple(m.place for m in self.mallocs),
            programs=tuple(self.programs),
            counts=tuple(self.counts),
            seconds=tuple(self.seconds),
            ranks=ranks_of(self.seconds),
            summary=summary_of(self.counts),
            seconds_summary=seconds_summary_of(self.seconds),
            notes=tuple(self.notes),
        )


def _count_row(
    found: ProgramPredictions, malloc: str, cache: CacheShape, pairs: Sequence[Prediction]
) -> PredictedCount:
    errors = [abs(pair.error_percent) for pair in pairs]
    truths = [pair.truth for pair in pairs]
    middle = statistics.median(truths)
    metric: Metric = "page_faults" if cache.is_memory else "misses"
    return PredictedCount(
        program=found.workload.name, malloc=malloc, recorded_on=found.recorded_on[malloc], metric=metric,
        cache=cache.name, cache_bytes=cache.kibibytes * 1024, ways=cache.ways, line_bytes=cache.line_bytes,
        environments=tuple(CountedPair(*pair) for pair in pairs),
        predicted=statistics.median(pair.predicted for pair in pairs), truth=middle,
        error_percent=statistics.median(errors), worst_percent=max(errors),
        spread_percent=100.0 * (max(truths) - min(truths)) / (2 * max(middle, 1)),
        holds=statistics.median(errors) <= WORST_PERCENT,
    )  # fmt: skip


def _with_ratios(
    row: PredictedSeconds, rounds: dict[str, dict[int, float]], predicted: dict[str, float]
) -> PredictedSeconds:
    """The row with its ratios to glibc, unless it is glibc's or the two share no measured round."""
    own, against = rounds[row.malloc], rounds.get(RECORDED_ON, {})
    common = sorted(own.keys() & against.keys())
    if row.malloc == RECORDED_ON or not common:
        return row
    expected = row.predicted / predicted[RECORDED_ON]
    measured = summarise([own[i] / against[i] for i in common])
    return with_fields(
        row, predicted_ratio=expected, measured_ratio=measured, error_percent=100.0 * (expected / measured.median - 1.0)
    )
