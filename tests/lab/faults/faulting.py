# SPDX-License-Identifier: BSL-1.0
"""Runs a recording in which one system call fails, and lists the promises that it broke.

    reference   the program bare; a recording without faults, whose counts a second reader confirms
    attempt     the same recording with a fault ─▶ Outcome ─▶ broken promises, as sentences
    leftovers   FILE.partial, if the attempt left it: `--finish` without faults must complete it

The tests see only command lines, exit statuses, messages and files. They know nothing of the inner form of an
unfinished recording.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or REPOSITORY / "build" / "release" / "bin").absolute()
RECORD, TRACE = BIN / "millpond-record", BIN / "millpond-trace"
PROGRAM = BIN.parent / "test_programs" / "counted"
LIBRARY = BIN.parent / "test_programs" / "libfail_nth.so"
LIMIT_SECONDS = 60
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Fault:
    """A fault: the n-th call of a kind fails, in one program or only in one of its libraries."""

    kind: str
    n: int
    error: str
    how_long: str  # ONCE or FOREVER
    program: str
    caller: str = ""
    forked: bool = False  # only in forked children
    options: tuple[str, ...] = ()  # of the recording

    def environment(self, report: Path) -> dict[str, str]:
        wanted = f"{self.kind}:{self.n}:{self.error}:{self.how_long}"
        chosen = {"FAIL_NTH": wanted, "FAIL_NTH_PROGRAM": self.program, "FAIL_NTH_REPORT": str(report)}
        if self.caller:
            chosen["FAIL_NTH_CALLER"] = self.caller
        if self.forked:
            chosen["FAIL_NTH_FORKED"] = "1"
        # The library comes before the runtime of an instrumented build, which otherwise refuses to start.
        return {**chosen, "LD_PRELOAD": str(LIBRARY), "ASAN_OPTIONS": "verify_asan_link_order=0"}


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Summary:
    """A trace as `millpond-trace info` summarises it."""

    status: int  # 3: readable, with gaps
    finished: bool  # it has its last record, which counts losses
    pid: int
    events: int
    lost: int
    stopped: int
    ended: tuple[int, int]  # exit status, signal

    @property
    def whole(self) -> bool:
        """True if the trace states that nothing is missing."""
        return self.lost == 0 and self.stopped == 0

    @property
    def readable(self) -> bool:
        """True if the trace has its process and its end. Gaps are allowed if the trace reports them."""
        return self.finished and self.pid != 0 and (self.status == 0 or (self.status == 3 and not self.whole))


@dataclass(frozen=True)
class Reference:
    """The expected results: how the bare program ends, the events of each process, and an earlier trace."""

    bare: Outcome
    events: Counter[int]
    marked: dict[tuple[int, int], int]  # the process's own counts ─▶ all events of its trace
    root_events: int
    spawned_events: int
    earlier: bytes


class Hang(Exception):
    """A command that did not end in time and was killed."""


def run(argv: Sequence[str | Path], folder: Path, extra: dict[str, str] | None = None) -> Outcome:
    """Runs one command in its own process group, and kills the group at the time limit."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **(extra or {})}
    process = subprocess.Popen(
        [str(word) for word in argv], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        stdout, stderr = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Hang(f"no end after {LIMIT_SECONDS} s") from None
    return Outcome(process.returncode, stdout, stderr)


def record(folder: Path, extra: dict[str, str] | None = None, options: Sequence[str] = ()) -> Outcome:
    return run([RECORD, "-o", folder / "t.mpt", *options, "--", PROGRAM], folder, extra)


def finish(folder: Path, extra: dict[str, str] | None = None) -> Outcome:
    return run([RECORD, "--finish", folder / "t.mpt"], folder, extra)


def traces_in(folder: Path) -> list[Path]:
    """Returns the traces of a recording: FILE, FILE.PID, FILE.PID.IMAGE."""
    return sorted(path for path in folder.iterdir() if re.fullmatch(r"t\.mpt(\.\d+){0,2}", path.name))


def summary_of(path: Path) -> Summary:
    said = run([TRACE, "info", path], path.parent)

    def number(name: str) -> int:
        found = re.search(rf"\b{name}[= ](-?\d+)", said.stdout)
        return int(found[1]) if found else 0

    ended = (number("exit_status"), number("signal"))
    finished = "\nend " in said.stdout
    return Summary(
        said.status, finished, number("pid"), number("events"), number("lost"), number("stopped_early"), ended,
    )  # fmt: skip


def said_by_program(stdout: str) -> Counter[tuple[int, int]]:
    """Returns (allocations, frees) of each process, as the program itself counted them."""
    numbers = [int(n) for n in re.findall(r"^(?:allocations|frees) (\d+)$", stdout, re.MULTILINE)]
    return Counter(zip(numbers[::2], numbers[1::2], strict=True))


def make_reference(folder: Path) -> Reference:
    """Records without faults. The traces must agree with the program's own counts before they serve as a reference."""
    bare = run([PROGRAM], folder)
    outcome = record(folder)
    assert outcome == bare, outcome
    traces = traces_in(folder)
    summaries = [summary_of(path) for path in traces]
    assert all(summary.readable and summary.whole for summary in summaries)
    counted = [confirm(path) for path in traces]
    assert Counter(counted) == said_by_program(bare.stdout), "the second reader counts other events than the program"
    events = Counter(summary.events for summary in summaries)
    spawned = min(events)  # of `counted pass`, the smallest program
    marked = dict(zip(counted, (summary.events for summary in summaries), strict=True))
    return Reference(bare, events, marked, summaries[0].events, spawned, traces[0].read_bytes())


def confirm(path: Path) -> tuple[int, int]:
    """Returns (allocations, frees) of marked sizes, read by the independent reader of tests/lab/transparency."""
    script = "import sys, pathlib, trace_reading as t; c = t.count_marked(t.read(pathlib.Path(sys.argv[1]))); "
    script += "print(c['allocations'], c['frees'])"
    reader = REPOSITORY / "tests" / "lab" / "transparency"
    said = run([shutil.which("python3") or "python3", "-B", "-c", script, path], reader)
    allocations, frees = said.stdout.split()
    return int(allocations), int(frees)


def fresh_folder(folder: Path, reference: Reference) -> None:
    """Makes a folder that holds an earlier recording of the same name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "t.mpt").write_bytes(reference.earlier)


def partial_in(folder: Path) -> Path | None:
    path = folder / "t.mpt.partial"
    return path if path.exists() else None


def foreign_lines(outcome: Outcome) -> list[str]:
    return [line for line in outcome.stderr.splitlines() if not line.startswith("millpond: ")]


def broken_by_run(outcome: Outcome, reference: Reference, folder: Path) -> list[str]:
    """Returns broken promises about visible results: the program's output, its end, the earlier trace."""
    broken = [f"standard error has {line!r}" for line in foreign_lines(outcome)[:3]]
    started = outcome.stdout != ""
    says = "millpond: " in outcome.stderr
    if outcome.status < 0:
        broken.append(f"ended by signal {-outcome.status}")
    elif outcome.status != reference.bare.status and not (outcome.status == 4 and says):
        broken.append(f"exit status {outcome.status}, {'with' if says else 'without'} a word")
    if started and outcome.stdout != reference.bare.stdout:
        broken.append("the program's output changed")
    if not started and outcome.status == reference.bare.status:
        broken.append("the program was not run, and the status does not say so")
    if not (folder / "t.mpt").exists() and partial_in(folder) is None:
        broken.append("the earlier trace is lost, and there is no new one")
    elif not (folder / "t.mpt").exists():
        broken.append("the earlier trace is gone before the new one is there")
    return broken


def broken_by_traces(folder: Path, said: str, reference: Reference) -> list[str]:
    """Returns broken promises about a complete recording: whole traces of all processes, or a message about a loss."""
    broken = []
    file = folder / "t.mpt"
    if file.exists() and file.read_bytes() == reference.earlier:
        return [] if "millpond: " in said else ["no new trace, and not a word about it"]
    missing = reference.events.copy()
    word = "millpond: " in said
    for path in traces_in(folder):
        summary = summary_of(path)
        name, events = path.name, summary.events
        if summary.readable and summary.whole and missing[events] == 0:
            events = events_as_marked(path, reference)
        if not summary.readable:
            broken.append(f"{name} cannot be read, or does not name its process")
        elif summary.whole and missing[events] == 0:
            broken.append(f"{name} says that it is whole and holds {summary.events} events")
        elif not summary.whole:
            word = True
        missing[events] -= 1
        if path == file and summary.whole and events != reference.root_events:
            broken.append(f"{name} is not the trace of the first process")
        if path == file and summary.readable and summary.ended not in ((reference.bare.status, 0), (-1, 0)):
            broken.append(f"{name} has the end {summary.ended}")
    if not word and +missing:
        broken.append(f"processes with {sorted(+missing)} events have no trace, and not a word about it")
    return broken


def events_as_marked(path: Path, reference: Reference) -> int:
    """Returns the number of events in the reference's trace with the same heap events.

    `info` also counts notes, for instance of CPU time. Their number differs from recording to recording, and is
    smaller if memory was short. No heap event may be missing.
    """
    return reference.marked.get(confirm(path), summary_of(path).events)


def broken_by_neighbour(folder: Path, outcome: Outcome, reference: Reference) -> list[str]:
    """Returns broken promises if only the forked child met the fault: about other traces and the program's status."""
    broken = []
    if outcome.status != reference.bare.status:
        broken.append(f"the exit status of the program became {outcome.status}")
    summaries = {path: summary_of(path) for path in traces_in(folder)}
    whole = [events_as_marked(path, reference) for path, found in summaries.items() if found.readable and found.whole]
    for events in (reference.root_events, reference.spawned_events):
        if events not in whole:
            broken.append(f"the process with {events} events is not whole: {sorted(whole)} are")
    return broken


def broken_by_leftovers(folder: Path) -> list[str]:
    """Returns files other than traces that a finished recording left."""
    left = {path.name for path in folder.iterdir()} - {path.name for path in traces_in(folder)}
    return [f"{sorted(left)} stayed"] if left else []


def broken_by_attempt(fault: Fault, folder: Path, report: Path, reference: Reference) -> list[str]:
    """Records with a fault, then finishes without one if the recording asks for it; returns broken promises."""
    fresh_folder(folder, reference)
    try:
        outcome = record(folder, fault.environment(report), fault.options)
        broken = broken_by_run(outcome, reference, folder)
        said = outcome.stderr
        if partial_in(folder) is not None:
            again = finish(folder)
            if again.status < 0 or foreign_lines(again):
                broken.append(f"--finish: status {again.status}, {again.stderr!r}")
            said += again.stderr
            if partial_in(folder) is not None:
                broken.append(f"--finish left the partial recording: {again.stderr!r}")
        broken += broken_by_traces(folder, said, reference) + broken_by_leftovers(folder)
        if fault.forked:
            broken += broken_by_neighbour(folder, outcome, reference)
        if outcome.stdout == "":
            once_more = record(folder)
            if once_more.status != reference.bare.status:
                broken.append(f"the next recording fails: {once_more.stderr!r}")
    except Hang as hang:
        broken = [str(hang)]
    return broken


def interrupted_recording(folder: Path, reference: Reference) -> None:
    """Makes a FILE.partial: the recorder was killed while the program ran, and the program has ended since."""
    fresh_folder(folder, reference)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the program becomes our child, to be waited for
    process = subprocess.Popen(
        [str(RECORD), "-o", str(folder / "t.mpt"), "--", str(PROGRAM), "wait"], cwd=folder, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin and process.stdout
    while not (ready := process.stdout.readline()).startswith("ready "):
        assert ready, "the program ended early"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "relayed 1\n"
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.read()
    process.stdout.close()
    os.waitpid(int(ready.split()[1]), 0)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def copy_folder(source: Path, to: Path) -> None:
    """Copies a folder and keeps holes in files: a partial recording may be long and mostly empty."""
    shutil.rmtree(to, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(source), str(to)], check=True)


def broken_by_finish(fault: Fault, saved: Path, folder: Path, report: Path, reference: Reference) -> list[str]:
    """Finishes once with a fault and once without; returns what is missing after the second pass."""
    copy_folder(saved, folder)
    broken = []
    try:
        first = finish(folder, fault.environment(report))
        if first.status not in (0, 4) or foreign_lines(first):
            broken.append(f"status {first.status}, {first.stderr!r}")
        if first.status == 4 and "millpond: " not in first.stderr:
            broken.append("status 4 without a word")
        if not (folder / "t.mpt").exists():
            broken.append("the earlier trace is gone before the new one is there")
        if first.status != 0 or partial_in(folder) is not None:
            second = finish(folder)
            # 3: nothing to finish, where only the end of the first pass failed.
            if second.status not in (0, 3):
                broken.append(f"the second pass: status {second.status}, {second.stderr!r}")
        new = (folder / "t.mpt").exists() and (folder / "t.mpt").read_bytes() != reference.earlier
        if not new:
            broken.append("no new trace")
        broken += broken_by_traces(folder, "", reference) + broken_by_leftovers(folder)
    except Hang as hang:
        broken = [str(hang)]
    return broken
