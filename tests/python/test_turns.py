# SPDX-License-Identifier: BSL-1.0
"""Contenders of a round take turns: one runs while the others are stopped, and none outlives the round."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from millpond.cells.cell import Cell, Malloc, Outcome, Program
from millpond.system import native, process_tree
from millpond.system.errors import Failure, Status
from millpond_bench.programs import side_by_side
from millpond_bench.programs.side_by_side import SideBySide

SPIN = "#!/bin/sh\ni=0\nwhile [ $i -lt 60000 ]; do i=$((i + 1)); done\n"
CELLS = [Cell(Program(("true",)), Malloc(name)) for name in ("a", "b", "c")]


@dataclass
class ProgramRunner:
    """A runner that runs a program and returns `status`. `fails`: raises instead."""

    name: str = "spin"
    status: str = "ok"
    fails: bool = False
    rounds: list[int] = field(default_factory=list)
    after: Callable[[], None] = lambda: None

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        self.rounds.append(number)
        if self.fails:
            raise Failure(Status.ENVIRONMENT, "it cannot be started")
        finished = native.run(self.name, [])
        self.after()
        return Outcome(cell, stage, number, {"cpu_seconds": float(finished.status)}, "", self.status)


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs: `spin` works longer than a turn; `wait` never ends by itself; `deaf` ignores requests to end."""
    wait = "exec sleep 1000\n"
    for name, text in (("spin", SPIN), ("wait", f"#!/bin/sh\n{wait}"), ("deaf", f"#!/bin/sh\ntrap '' TERM\n{wait}")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("MILLPOND_BIN", str(tmp_path))
    monkeypatch.setattr(side_by_side, "_PATIENCE_SECONDS", 0.2)
    return tmp_path


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Every signal sent to a group, in order; the signals are delivered, too."""
    sent: list[tuple[int, int]] = []
    killpg = os.killpg

    def noting(group: int, number: int) -> None:
        sent.append((group, number))
        killpg(group, number)

    monkeypatch.setattr(os, "killpg", noting)
    return sent


@pytest.mark.lengthy
def test_a_running_contender_has_the_processor_to_itself(signals: list[tuple[int, int]]) -> None:
    side = SideBySide({c: ProgramRunner() for c in CELLS}, turn_seconds=0.002)
    outcomes = [side.run(c, "measured", 1) for c in reversed(CELLS)]
    assert [(o.cell, o.values) for o in outcomes] == [(c, {"cpu_seconds": 0.0}) for c in reversed(CELLS)]
    groups = {group for group, _ in signals}
    assert len(groups) == 3
    assert os.getpgrp() not in groups
    running: int | None = None
    for at, (group, number) in enumerate(signals):
        if number == signal.SIGCONT:
            # The contender of the last turn was stopped, or has ended and gets no signals.
            assert running is None or running not in {g for g, _ in signals[at:]}
            running = group
        elif group == running:
            running = None
    assert sum(number == signal.SIGCONT for _, number in signals) > 3, "no contender had a second turn"


@pytest.mark.lengthy
def test_without_turns_no_contender_is_stopped_after_its_start(signals: list[tuple[int, int]]) -> None:
    side = SideBySide({c: ProgramRunner() for c in CELLS}, turn_seconds=None)
    side.run(CELLS[0], "predicted", 1)
    assert sum(number == signal.SIGSTOP for _, number in signals) == 3


@pytest.mark.lengthy
def test_each_round_runs_once_without_killed_contenders() -> None:
    runners = {c: ProgramRunner(status="killed" if c == CELLS[1] else "ok") for c in CELLS}
    side = SideBySide(dict(runners), turn_seconds=0.01)
    for number in (0, 1, 2):
        for cell in CELLS:
            if number == 0 or cell != CELLS[1]:
                assert side.run(cell, "measured", number).round == number
    assert [r.rounds for r in runners.values()] == [[0, 1, 2], [0], [0, 1, 2]]


def own_threads() -> set[str]:
    """The living threads of SideBySide, by name; other libraries keep theirs."""
    return {thread.name for thread in threading.enumerate()} & {cell.name for cell in CELLS}


@pytest.mark.parametrize("program", ["wait", "deaf"])
def test_a_contender_that_cannot_run_ends_the_others(program: str) -> None:
    runners = {c: ProgramRunner(program, fails=c == CELLS[2]) for c in CELLS}
    with pytest.raises(Failure, match="cannot be started"):
        SideBySide(dict(runners), turn_seconds=0.01).run(CELLS[0], "measured", 1)
    assert not own_threads()


def test_an_interruption_ends_all_contenders_and_starts_no_other(
    monkeypatch: pytest.MonkeyPatch, signals: list[tuple[int, int]]
) -> None:
    def again() -> None:
        native.run("wait", [])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SideBySide, "_take_turns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SideBySide({c: ProgramRunner("wait", after=again) for c in CELLS}).run(CELLS[0], "measured", 1)
    assert not own_threads()
    for group in {group for group, _ in signals}:
        with pytest.raises(ProcessLookupError):
            os.killpg(group, 0)


KILLED_CONDUCTOR = """
import signal, sys
from millpond.cells.cell import Cell, Malloc, Program
from millpond_bench.programs.side_by_side import SideBySide
from millpond.system import native, process_tree
class Runner:
    def run(self, *_):
        return native.run("noted", [])
class Told(SideBySide):
    def _take_turns(self, contenders):
        open(sys.argv[1], "w").close()
        super()._take_turns(contenders)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests that run under nohup ignore it, and would hand that on
cells = {Cell(Program(("true",)), Malloc(name)): Runner() for name in "abc"}
Told(cells, turn_seconds=1000).run(None, "measured", 1)
"""


def state(process: int) -> str:
    """Returns the state in /proc: T for a stopped process, Z for an ended one, empty if it was reaped."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_stopping(process: int) -> bool:
    """Returns whether a SIGSTOP is pending that has not stopped the process yet; it must not outlive its sender."""
    pending = re.search(r"ShdPnd:\s*(\w+)", Path(f"/proc/{process}/status").read_text())
    return bool(pending and int(pending[1], 16) >> (signal.SIGSTOP - 1) & 1)


@pytest.mark.lengthy
def test_a_killed_conductor_leaves_no_process_stopped(programs: Path) -> None:
    (programs / "noted").write_text("#!/bin/sh\nexec sleep 1000\n")
    (programs / "noted").chmod(0o755)
    turns_begun = programs / "turns"
    with subprocess.Popen([sys.executable, "-c", KILLED_CONDUCTOR, str(turns_begun)]) as conductor:
        wait_until(turns_begun.exists)
        processes = list(process_tree.descendants_of(conductor.pid))
        assert len(processes) == 3
        # All were told to stop before the first turn; one of them now has a turn of 1000 s.
        wait_until(lambda: not any(map(is_stopping, processes)) and [*map(state, processes)].count("T") == 2)
        conductor.kill()
    try:
        # The running contender goes on to its own end; the kernel sends SIGHUP to the stopped groups, now orphaned.
        wait_until(lambda: sum(state(p) in ("", "Z") for p in processes) >= 2)
        assert "T" not in map(state, processes)
    finally:
        for process in processes:
            if state(process) not in ("", "Z"):
                os.kill(process, signal.SIGKILL)


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_programs_that_are_not_watched_stay_in_our_group(programs: Path) -> None:
    (programs / "group").write_text("#!/bin/sh\nps -o pgid= -p $$ >&2\n")
    (programs / "group").chmod(0o755)
    assert int(native.run("group", []).said) == os.getpgrp()
    seen: list[int] = []
    with native.watched_by(seen.append):
        assert int(native.run("group", []).said) == seen[0] != os.getpgrp()
