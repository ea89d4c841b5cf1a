# SPDX-License-Identifier: BSL-1.0
"""A suite's program: its list of workloads and contenders, and one round of one cell: a fresh process and its output.

    millpond-NAME-suite --list                                              ──▶ workloads, contenders
    env … millpond-NAME-suite --workload W --contender C --PARAMETER VALUE …  ──▶ one line of JSON ──▶ Outcome
    valgrind --tool=callgrind … --instructions N, and 3 N: half the difference over N ──▶ instructions of one unit

The inability of a contender is a value: `bad_alloc` if memory ran out, `refused` if it would have, by the cell's needs
and the machine's memory. Only under a limit of its own does a process test how much memory it needs (`Launch`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec
from msgspec import field
from msgspec.structs import replace

from millpond.cells.cell import MALLOC, SURROUNDINGS, TOOLCHAIN, Cell, Outcome
from millpond.cells.metrics import Metrics
from millpond.rounds.fresh_process import Padding, killed
from millpond.system import callgrind, native
from millpond.system.errors import Failure, Status
from millpond.system.records import NONE, NULL, Record
from millpond_bench.experiments import window_counters
from millpond_bench.experiments.bench_document import SuiteRecord
from millpond_bench.experiments.surroundings import Surroundings, said
from millpond_bench.experiments.window_counters import UNCOUNTED, CounterRequest, WindowCounter

Schema = Literal["millpond.suite/2"]
SCHEMA: Schema = "millpond.suite/2"
Kind = TypeVar("Kind")
_LEAST_PATIENCE_SECONDS = 120.0
_SLOWER = 30.0
# The statuses of a contender that ran out of memory, or that foresaw it.
_BAD_ALLOC, _PREDICTED = "bad_alloc", "predicted_bad_alloc"
# Instructions are the difference of two runs that differ only in length.
_COUNTS = (1000, 3000)


class SuiteParameter(Record, frozen=True):
    """A parameter of a workload: a number with its range, or a word without one."""

    name: str
    least: int | None = field(default_factory=NULL)
    most: int | None = field(default_factory=NULL)

    def takes(self, value: str) -> bool:
        """True if a number lies in the range; also for a word, which the program checks itself."""
        if self.least is None or self.most is None or not value.lstrip("-").isdecimal():
            return True
        return self.least <= int(value) <= self.most


class SuiteWorkload(Record, frozen=True, kw_only=True):
    """A workload in a program's list: the unit of its times, its parameters, and the contenders that can run it.

    `counted_functions`: functions that are not inlined, so that they can be counted separately, with all that they
    call.
    """

    name: str
    parameters: tuple[SuiteParameter, ...] = field(default_factory=NONE)
    unit: str = "unit"
    contenders: frozenset[str]
    counted_functions: tuple[str, ...] | None = None


class ListedContender(Record, frozen=True, kw_only=True):
    """A contender in a program's list."""

    name: str
    kind: str = ""
    is_built_in: bool = True
    source: str | None = None
    package: str | None = None
    version: str | None = None


class SuiteList(Record, frozen=True, kw_only=True):
    """A program's output for --list."""

    schema: Schema
    compiler: str | None = None
    standard_library: str | None = None
    malloc: str | None = None
    workloads: tuple[SuiteWorkload, ...]
    contenders: tuple[ListedContender, ...] = ()


class SuiteRound(Record, frozen=True, kw_only=True):
    """A program's output for a round."""

    schema: Schema
    status: str = "ok"
    malloc: str | None = None
    checksum: str | int | None = None
    metrics: dict[str, float | None] = field(default_factory=dict)
    counters: dict[str, WindowCounter] | None = None


@dataclass(frozen=True)
class SuiteProgram:
    """A suite's program with its list. `malloc`: the library that its malloc is in. `contenders`: as listed."""

    name: str
    around: Surroundings
    compiler: str
    standard_library: str
    malloc: str
    workloads: Mapping[str, SuiteWorkload]
    contenders: tuple[ListedContender, ...]

    @property
    def built_by(self) -> str:
        """`g++ 12.2.0, libstdc++ 12`; on a platform also `run by qemu-aarch64`."""
        platform = self.around.platform
        emulator = f"run by {platform.emulator[0]}" if platform else ""
        return ", ".join(filter(None, (self.compiler, self.standard_library, emulator)))

    def remedy(self, contender: str) -> str:
        """The package to install for a contender that the program was built without; empty if no package has it."""
        for one in self.contenders:
            if one.name == contender and not one.is_built_in and one.package:
                return f"; install {one.package} and build it again"
        return ""

    def workload(self, name: str) -> SuiteWorkload:
        """Returns the workload. Failure (status 4) if the program does not know it."""
        if name not in self.workloads:
            have = ", ".join(self.workloads)
            raise Failure(Status.ENVIRONMENT, f"{self.name} has no workload {name}; it has {have}: build it again")
        return self.workloads[name]

    def require(self, cells: Sequence[Cell]) -> None:
        """Failure for the first cell whose workload or contender the program lacks (status 4), or with a number out of
        its range (status 2).
        """
        for cell in cells:
            (name,) = cell.subject.argv
            workload = self.workload(name)
            if cell.contender.name not in workload.contenders:
                raise Failure(
                    Status.ENVIRONMENT, f"{self.name} has no {cell.contender.name} for {name}: build it again"
                )
            given = dict(cell.parameters)
            for one in workload.parameters:
                value = given.get(one.name, "")
                if not one.takes(value):
                    raise Failure(Status.USAGE, f"{name}: {one.name} is {value}, not {one.least} to {one.most}")

    def record(self) -> SuiteRecord:
        """The record for a document."""
        around = self.around
        return SuiteRecord(
            name=self.name, compiler=self.compiler, standard_library=self.standard_library,
            toolchain=around.toolchain or SURROUNDINGS[TOOLCHAIN], malloc=around.malloc or SURROUNDINGS[MALLOC],
            malloc_library=self.malloc or None, kept=around.kept,
        )  # fmt: skip


def read_suite(name: str, aliases: Mapping[str, str], around: Surroundings) -> SuiteProgram:
    """Reads the program's list. Failure (status 4) if it is missing or has none, or runs on another malloc."""
    done = native.capture([*around.command(name), "--list"], around.environment({}))
    listed = _decoded(SuiteList, done)
    if listed is None:
        raise Failure(Status.ENVIRONMENT, _said(done) or f"{name} --list printed no list ({SCHEMA})")
    malloc = listed.malloc or ""
    around.confirm(name, malloc)
    workloads = {
        w.name: replace(w, contenders=frozenset(aliases.get(c, c) for c in w.contenders)) for w in listed.workloads
    }
    return SuiteProgram(name, around, listed.compiler or "", listed.standard_library or "", malloc, workloads,
                        listed.contenders)  # fmt: skip


@dataclass(frozen=True)
class Launch:
    """The start of the program for a cell, besides the cell's own parameters.

    `counted_functions`: their instructions are counted, and nothing is timed. `memory_bytes` and
    `writable_bytes`: the process's limits as in `RunRules` (util-linux's prlimit sets them).
    """

    around: Surroundings
    workload: str
    contender: str
    options: tuple[str, ...] = ()
    counted_functions: tuple[str, ...] = ()
    memory_bytes: int = 0
    writable_bytes: int = 0

    @property
    def limited(self) -> tuple[str, ...]:
        """The words before the command line of a round."""
        limits = (("as", self.memory_bytes), ("data", self.writable_bytes))
        options = [f"--{name}={size}" for name, size in limits if size]
        return ("prlimit", *options, "--") if options else ()


def usual_launch(cell: Cell) -> Launch:
    """The launch of a contender that the program knows, in the environment of the cell's parameters."""
    return Launch(Surroundings.of(cell), cell.subject.argv[0], cell.contender.name)


class SuiteRunner:
    """A runner for `interleaved_rounds.run_rounds`. Not thread-safe: the environment's size comes from one sequence.

    `refused`: cells that are not run, and why. `seconds`: the expected time of a process of a cell. `room_bytes`: the
    available memory; the program, too, refuses to run if it knows that it needs more. `counting`: by the processor.
    """

    def __init__(
        self,
        program: str,
        metrics: Metrics,
        seed: int,
        refused: Mapping[Cell, str],
        seconds: Mapping[Cell, float],
        room_bytes: int,
        *,
        counting: CounterRequest = UNCOUNTED,
        launch: Callable[[Cell], Launch] = usual_launch,
    ) -> None:
        self._program = program
        self._metrics = metrics
        self._room_bytes = room_bytes
        self._counting = counting
        self._seed = seed
        self._refused = refused
        self._seconds = seconds
        self._launch = launch
        self._padding = Padding(seed)

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """Runs one round. Raises `Failure` if the suite rejects the request; a crash or time-out is reported as
        `killed`.
        """
        if cell in self._refused:
            return Outcome.failed(cell, stage, number, "refused", self._refused[cell])
        if self._launch(cell).counted_functions:
            return self._instructions(cell, stage, number)
        patience = self.patience_seconds(self._seconds.get(cell, 0.0))
        argv = [*self._launch(cell).limited, *self.argv(cell), *self._counting.words]
        done = self._start(argv, cell, patience)
        if dead := killed(cell, stage, number, done, patience):
            return dead
        printed = self._printed(done, cell)
        self._launch(cell).around.confirm(self._program, printed.malloc or "")
        return self._outcome(cell, stage, number, printed)

    @staticmethod
    def patience_seconds(expected_seconds: float) -> float:
        """The time limit of a process that is expected to take so long."""
        return max(_LEAST_PATIENCE_SECONDS, _SLOWER * expected_seconds)

    def argv(self, cell: Cell) -> list[str]:
        """The command line of a round, without the counters."""
        launch = self._launch(cell)
        own = dict(said(cell.parameters))
        options = [word for name, value in {**own, "seed": own.get("seed", str(self._seed))}.items()
                   for word in (f"--{name}", value)]  # fmt: skip
        return [*launch.around.command(self._program), "--workload", launch.workload, "--contender",
                launch.contender, *options, "--memory-limit-bytes", str(self._room_bytes), *launch.options]  # fmt: skip

    def _start(self, argv: Sequence[str], cell: Cell, patience: float) -> native.ProgramOutput:
        environment = self._launch(cell).around.environment(self._padding.environment())
        return native.capture(argv, environment, seconds=patience, descriptors=self._counting.descriptors)

    def _instructions(self, cell: Cell, stage: str, number: int) -> Outcome:
        valgrind = callgrind.command(f"*{function}*" for function in self._launch(cell).counted_functions)
        collected = []
        for count in _COUNTS:
            argv = [*valgrind, *self.argv(cell), "--instructions", str(count)]
            done = self._start(argv, cell, _LEAST_PATIENCE_SECONDS)
            found = callgrind.collected(done.said) if done.status == 0 else {}
            if not found:
                what = "it took too long" if done.timed_out else done.said.strip()[-300:]
                why = f"instructions could not be counted: {what}"
                return Outcome.failed(cell, stage, number, "killed", why)
            collected.append(found["Ir"])
        return Outcome(cell, stage, number, {"instructions": (collected[1] - collected[0]) / (_COUNTS[1] - _COUNTS[0])})

    def _printed(self, done: native.ProgramOutput, cell: Cell) -> SuiteRound:
        printed = _decoded(SuiteRound, done)
        if printed is not None:
            return printed
        status = Status(done.status) if done.status in (2, 3, 4, 5) else Status.ENVIRONMENT
        what = _said(done) or "it printed no result"
        raise Failure(status, f"{self._program} for {cell.contender.name}: {what}")

    def _outcome(self, cell: Cell, stage: str, number: int, printed: SuiteRound) -> Outcome:
        status = printed.status
        if status == _PREDICTED:
            return Outcome.failed(cell, stage, number, "refused", "it would need more memory than there is")
        if status == _BAD_ALLOC:
            return Outcome.failed(cell, stage, number, _BAD_ALLOC, "ran out of memory")
        if status != "ok":
            return Outcome.failed(cell, stage, number, "killed", status)
        units = self._metrics.units
        values = {n: v for n, v in printed.metrics.items() if v is not None and n.partition(":")[0] in units}
        platform = self._launch(cell).around.platform
        if platform is not None:
            values = {n: v for n, v in values.items() if not platform.why_absent(self._metrics.kind(n))}
        counted, absent = window_counters.read(printed.counters or {})
        checksum = "" if printed.checksum is None else str(printed.checksum)
        return Outcome(cell, stage, number, values | counted, absent=absent, checksum=checksum)


def _decoded(kind: type[Kind], done: native.ProgramOutput) -> Kind | None:
    """The program's output; None if it failed, or printed something else."""
    try:
        return msgspec.json.decode(done.printed, type=kind) if done.status == 0 else None
    except msgspec.MsgspecError:
        return None


def _said(done: native.ProgramOutput) -> str:
    return done.said.strip().removeprefix("millpond: ")[-500:]
