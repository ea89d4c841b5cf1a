# SPDX-License-Identifier: BSL-1.0
"""Records a program for `advise`: its traces, its processes, and the characterisation of one of them.

program ──millpond-record──▶ FILE, FILE.PID, FILE.PID.IMAGE ──summaries──▶ processes ──the one chosen──▶ subsystems
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from msgspec import field

from millpond.cells.plans import Plan, read_folder
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.fresh_process import describe
from millpond.rounds.load import Load
from millpond.rounds.preparation import NO_PREPARATION, Preparation
from millpond.rounds.served_run import LoadFailure, ServedRun
from millpond.store.call_tree import CallTree
from millpond.system import native, process_tree
from millpond.system.any_bytes import kept
from millpond.system.errors import Failure, Status
from millpond.system.progress import report_phase
from millpond.system.records import NULL, Record, decode
from millpond.system.standard_input import StandardInput
from millpond.system.wording import bytes_text

Kind = TypeVar("Kind")

RECORD = "millpond-record"
CHARACTERISE = "millpond-characterise"
FURTHER = ("--phases", "--patterns")  # options of it: what else it counts
TRACE = "millpond-trace"
# A function is not observed any more after this many entries: each takes some 7 us, and together they get half of the
# time.
_ENTRY_SECONDS = 7e-6
_ENTRIES_SHARE = 0.5
_ENTRIES_MIN = 10_000


class ProcessRow(Record, frozen=True):
    """A process in the advice."""

    number: int
    pid: int | None = field(default_factory=NULL)
    parent_pid: int | None = field(default_factory=NULL)
    executable: str | None = field(default_factory=NULL)
    argv: tuple[str, ...] | None = field(default_factory=NULL)
    exit: int | None = field(default_factory=NULL)
    signal: int | None = field(default_factory=NULL)
    events: int | None = field(default_factory=NULL)
    bytes: int | None = field(default_factory=NULL)

    @property
    def words(self) -> str:
        """The command line, or the file if that is unknown."""
        return " ".join(self.argv or [self.executable or "?"])


@dataclass(frozen=True)
class Process:
    """One recorded process image, from the summary of its trace."""

    number: int
    trace: Path
    summary: Characterisation

    @property
    def allocated_bytes(self) -> int:
        return self.summary.trace.bytes or 0

    @property
    def row(self) -> ProcessRow:
        """The row for the advice."""
        process, trace = self.summary.process, self.summary.trace
        status = process.exit_status
        return ProcessRow(
            self.number, process.pid, process.parent_pid, process.executable, process.argv,
            status if status is not None and status >= 0 else None, process.signal, trace.events, trace.bytes,
        )  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """The end of the recorded program, its time under the recorder, and its processes, the first process first.

    `was_stopped`: it had not ended within its time limit. `cpu_seconds`: of program and recorder together.
    """

    exit_status: int
    signal: int
    seconds: float
    processes: tuple[Process, ...]
    was_stopped: bool = False
    cpu_seconds: float = 0.0
    was_interrupted: bool = False  # by Ctrl-C, which goes to the program first
    was_killed: bool = False  # a server that SIGTERM did not end


def trace_set(file: Path) -> list[Path]:
    """The traces of one recording: FILE, then FILE.PID and FILE.PID.IMAGE in the order of their numbers.

    `millpond-trace list` decides by a file's content, not by its name, whether it belongs to the recording. Empty if
    no trace exists.
    """
    try:
        return [Path(line) for line in native.answer(TRACE, ["list", "--null", str(file)]).split("\0") if line]
    except Failure:
        return []


@dataclass(frozen=True)
class Bounds:
    """The limits of a recording. A program that has not ended after `seconds` is stopped as its user would: SIGINT,
    then SIGTERM. After `trace_bytes` the recorder stops recording, and the program goes on.
    """

    seconds: float
    trace_bytes: int

    def options(self, load: Load | None = None) -> list[str]:
        """The limits as options of the recorder. Under a load, the time is that of the load."""
        end = [] if load else ["--for", f"{self.seconds:.3f}"]
        return [*end, "--max-bytes", str(self.trace_bytes)]


# The share of the disk's free bytes that a trace may take; the last bytes are never used.
_SHARE_OF_DISK = 0.25
_LEFT_ON_DISK_BYTES = 1 << 30


def trace_bytes_in(folder: Path) -> int:
    """The size limit of a trace in that folder. Failure (status 4) if the free space is too small for any."""
    free = shutil.disk_usage(folder).free
    bytes_max = int(min(_SHARE_OF_DISK * free, free - _LEFT_ON_DISK_BYTES))
    if bytes_max < 1 << 20:
        raise Failure(
            Status.ENVIRONMENT,
            f"{folder} has {bytes_text(free)} free, and recordings leave {bytes_text(_LEFT_ON_DISK_BYTES)} on a disk: "
            "make room, set TMPDIR to another disk, or allow a size with --max-trace",
        )
    return bytes_max


def record(
    program: tuple[str, ...],
    folder: Path,
    stdin: StandardInput,
    preparation: Preparation = NO_PREPARATION,
    bounds: Bounds | None = None,
    load: Load | None = None,
) -> Recording:
    """Runs the program once under the recorder, its output dropped. Failure (the recorder's status) if the recorder
    fails. A server is driven by its load, once.

    The recorder exits with the program's status, so a missing trace is the sign of its own failure.
    """
    file = folder.absolute() / "program.mpt"
    argv = preparation.program(program)
    options = bounds.options(load) if bounds else []
    limit_seconds = bounds.seconds if bounds else math.inf
    phase = report_phase(f"recording {program[0]}", lambda: trace_size_text(file), limit_seconds)
    # Ctrl-C stops a server with its load and us, because a server that ends before its load has nothing to show.
    interrupts = native.interrupts_passed_on() if load is None else nullcontext(list[int]())
    command = [*options, "--frees", "-o", str(file), "--", *argv]
    with preparation.ready(folder) as cwd, stdin.first() as descriptor, phase, interrupts as passed_on:
        started, cpu_before = time.monotonic(), process_tree.children_cpu_seconds()
        served = None if load is None else _served(load, folder, cwd, bounds.seconds if bounds else None)
        finished = _run_recorder(command, served, descriptor, cwd)
        seconds, cpu_seconds = time.monotonic() - started, process_tree.children_cpu_seconds() - cpu_before
    traces = trace_set(file)
    if not traces:
        raise native.failure_of(RECORD, finished)
    exit_status, signal = (0, -finished.status) if finished.status < 0 else (finished.status, 0)
    if served is not None:
        cpu_seconds -= served.load_cpu_seconds
        signal = served.own_signal(signal)
    processes = tuple(summaries(traces, folder))
    return Recording(
        exit_status, signal, seconds, processes, was_stopped="(--for)" in finished.said, cpu_seconds=cpu_seconds,
        was_interrupted=bool(passed_on), was_killed=served is not None and served.had_to_be_killed,
    )  # fmt: skip


def _served(load: Load, folder: Path, cwd: Path | None, limit_seconds: float | None) -> ServedRun:
    return ServedRun(
        load, folder.absolute() / "server.txt", cwd, is_measured=False, limit_seconds=limit_seconds
    )  # fmt: skip


def _run_recorder(
    command: list[str], served: ServedRun | None, stdin: int, cwd: Path | None, seconds: float | None = None
) -> native.ProcessEnd:
    """Runs the recorder. Under a load: LoadFailure if that or the server fails; Failure if the recorder does."""
    if served is None:
        return native.run(RECORD, command, stdin=stdin, seconds=seconds, folder=cwd)
    finished = native.run_driven(RECORD, command, served, stdin=stdin, seconds=seconds, folder=cwd)
    if not trace_set(Path(command[command.index("-o") + 1])):
        raise native.failure_of(RECORD, finished)
    served.check_end(describe(finished.status, max(-finished.status, 0)))
    return finished


def trace_size_text(file: Path) -> str:
    """Returns the present size of a recording, `840 MB of trace`; a part of its files may have other names."""
    found = 0
    for part in file.parent.glob(f"{file.name}*"):
        with suppress(OSError):  # it may be renamed or removed meanwhile
            found += part.stat().st_size
    return f"{bytes_text(found)} of trace"


def _read_text() -> str:
    """Returns the bytes that the programs which we started have read, `1.2 GB read`."""
    read = 0
    for child in process_tree.descendants_of(os.getpid()):
        with suppress(OSError):
            facts = dict(line.split(": ") for line in Path(f"/proc/{child}/io").read_text().splitlines())
            read = max(read, int(facts["rchar"]))
    return f"{bytes_text(read)} read"


def summaries(traces: list[Path], folder: Path) -> list[Process]:
    """The process of each trace, numbered from 1, from its summary."""
    out = folder / "summaries.json"
    # A damaged trace is rejected when it is characterised, not here: another process may be the one that is wanted.
    native.require(CHARACTERISE, ["--summary", "--damaged", "--json", str(out), *map(str, traces)])
    found = read_typed(tuple[Characterisation, ...], out)
    by_path = {s.trace.path: s for s in found}
    ordered = [by_path.get(kept(str(trace))) for trace in traces]
    if None in ordered and len(found) == len(traces):
        ordered = list(found)
    return [Process(n, t, s) for n, (t, s) in enumerate(zip(traces, ordered, strict=True), 1) if s is not None]


def choose(processes: tuple[Process, ...], wanted: int | None) -> Process:
    """The process with that number, else the one that allocated most. Failure (status 2) for an unknown number."""
    if wanted is None:
        return max(processes, key=lambda p: (p.allocated_bytes, -p.number))
    for process in processes:
        if process.number == wanted:
            return process
    raise Failure(
        Status.USAGE,
        f"--process {wanted}: the program had {len(processes)} process(es), numbered from 1; "
        "leave the option out to see them all",
    )


def characterise(process: Process, folder: Path) -> tuple[Characterisation, CallTree, list[Plan]]:
    """Returns a trace's characterisation, its call tree, and its candidate plans, the largest first."""
    out, contexts, plans = folder / "characterisation.json", folder / "contexts.json", folder / "plans"
    plans.mkdir(exist_ok=True)
    options = ["--json", str(out), "--contexts", str(contexts), "--plan-out", str(plans), *FURTHER]
    with report_phase(f"grouping allocations of {trace_size_text(process.trace)}", _read_text):
        native.require(CHARACTERISE, [*options, "--scopes-out", str(scopes_file(folder)), str(process.trace)])
    return read_typed(Characterisation, out), read_typed(CallTree, contexts), read_folder(plans)


def grouped(trace: Path, folder: Path) -> tuple[Characterisation, CallTree]:
    """Returns a trace's characterisation and call tree. Thread-safe if each call has a folder of its own."""
    out, contexts = folder / "characterisation.json", folder / "contexts.json"
    native.require(CHARACTERISE, ["--json", str(out), "--contexts", str(contexts), str(trace)])
    return read_typed(Characterisation, out), read_typed(CallTree, contexts)


def scopes_file(folder: Path) -> Path:
    """The file in which `characterise` lists the functions that a second recording should observe."""
    return folder / "scopes"


def observe(
    program: tuple[str, ...],
    recorded: Recording,
    process: Process,
    folder: Path,
    stdin: StandardInput,
    seconds: float,
    preparation: Preparation = NO_PREPARATION,
    load: Load | None = None,
) -> tuple[tuple[Characterisation, list[Plan]] | None, str]:
    """Records the program again and observes its scopes. Returns the characterisation with the legality of arenas, and
    the candidate plans that follow.

    Returns None and the reason if this fails: the run took more than `seconds`, failed, or was of another program.
    """
    if seconds < max(1.0, recorded.seconds):
        return None, "the budget leaves no time for it"
    inner = folder.absolute() / "observed"
    inner.mkdir(exist_ok=True)
    file = inner / "program.mpt"
    wanted = scopes_file(folder.absolute())
    functions = max(1, wanted.read_text(encoding="utf-8").count("\n") - 1)
    limit = max(_ENTRIES_MIN, int(seconds * _ENTRIES_SHARE / _ENTRY_SECONDS / functions))
    options = ["--owners", "--scopes", str(wanted), "--scope-entries", str(limit), "-o", str(file)]
    argv = preparation.program(program)
    phase = report_phase("observing scopes", lambda: trace_size_text(file), seconds)
    with preparation.ready(folder) as cwd, stdin.first() as descriptor, phase:
        served = None if load is None else _served(load, inner, cwd, seconds)
        try:
            finished = _run_recorder([*options, "--", *argv], served, descriptor, cwd, seconds)
        except LoadFailure as failure:
            return None, failure.message
    if finished.timed_out:
        return None, f"the recording that observes them took more than {seconds:.0f} s"
    traces = trace_set(file)
    if len(traces) < process.number:
        return None, "the recording that observes them failed"
    trace, out, plans = traces[process.number - 1], inner / "characterisation.json", inner / "plans"
    plans.mkdir(exist_ok=True)
    options = ["--json", str(out), "--plan-out", str(plans), "--observed", str(trace), *FURTHER]
    try:
        native.require(CHARACTERISE, [*options, str(process.trace)])
    except Failure as failure:
        return None, str(failure)
    return (read_typed(Characterisation, out), read_folder(plans)), ""


def read_json(path: Path) -> Any:
    """The content of a file that a native program wrote. Failure (status 4) if it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(Status.ENVIRONMENT, f"{path.name} was not written whole: {error}") from error


def read_typed(kind: type[Kind], path: Path) -> Kind:
    """Reads a native program's output as its type. Failure (status 4), with the place, if it has another form."""
    try:
        return decode(kind, read_json(path))
    except ValueError as error:
        why = f"{path.name} is of another version of the laboratory: {error}; install both parts of Millpond together"
        raise Failure(Status.ENVIRONMENT, why) from error
