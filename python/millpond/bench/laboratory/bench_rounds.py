# SPDX-License-Identifier: BSL-1.0
"""Runs contenders in fresh processes, interleaved, and knows what each round cost: the ground of bench-lab.

round 0   A B C      warm-up, thrown away
round 1   B C A      CPU from wait4, so that every process that the contender waited for is in it;
  …                  what the contender itself did (a recorder compresses after its program) is known apart
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.cells.cell import Cell, Control, Outcome, Workload
from millpond.rounds.interleaved_rounds import Silence, run_rounds
from millpond.rounds.real_programs import RealProgram
from millpond.system.clock import utc_now
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.native import signal_name

_MEASURED = ("cpu_seconds", "own_cpu_seconds", "wall_seconds", "peak_bytes")
PADDING_LIMIT_BYTES = 4096
_UNPLACED = Workload("")


def observed(
    contender: str, number: int, metric: str, value: float, *, kind: str = "", time_utc: str | None = None
) -> Outcome:
    """One observed value of a bar. `kind`: `counted` for what does not vary; else measured."""
    cell = Cell(_UNPLACED, Control(contender))
    return Outcome(cell, "bench", number, {metric: value}, time_utc or utc_now(), kind=kind)


@dataclass(frozen=True)
class Round:
    """What one fresh process cost. `cpu_seconds` is that of all its processes, `own_cpu_seconds` of the first alone."""

    cpu_seconds: float
    own_cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    time_utc: str

    @property
    def below_cpu_seconds(self) -> float:
        """The CPU of the processes that it started: for a recorder, of the recorded program."""
        return self.cpu_seconds - self.own_cpu_seconds


@dataclass(frozen=True)
class Contender:
    """A name and what one round of it is."""

    name: str
    run: Callable[[], Round]


def _own_cpu_seconds(pid: int) -> float:
    """CPU of a process that has ended and was not waited for yet, without its children. It must have had one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def run_once(argv: Sequence[str], workload: RealProgram, rng: random.Random, log: Path) -> Round:
    """One round of `argv` with the input of `workload`; output is dropped, standard error goes to `log`.

    The environment has a new size each time: the stack's position alone moves small caches. Failure (4) where it fails.
    """
    padding = {"MILLPOND_PAD": "x" * rng.randrange(PADDING_LIMIT_BYTES)}
    with (workload.stdin or Path(os.devnull)).open("rb") as stdin, log.open("wb") as stderr:
        started = time.monotonic()
        child = subprocess.Popen(
            argv, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr,
            env={**user_environment(), **workload.environment, **padding},
        )  # fmt: skip
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        wall = time.monotonic() - started
        own = _own_cpu_seconds(child.pid)
        _, wait_status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(wait_status)
    if child.returncode != 0:
        how = f"died of {signal_name(-child.returncode)}" if child.returncode < 0 else f"exited with {child.returncode}"
        said = log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
        raise Failure(Status.ENVIRONMENT, f"a round of {workload.name} {how} ({' '.join(argv[:6])} …): {said}")
    return Round(used.ru_utime + used.ru_stime, own, wall, used.ru_maxrss * 1024, utc_now())


class _Contenders:
    """A runner whose cells are contenders; the rounds stay as they were measured."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        self._contenders = {contender.name: contender for contender in contenders}
        self.measured: dict[str, list[Round]] = {contender.name: [] for contender in contenders}

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        done = self._contenders[cell.contender.name].run()
        if number > 0:
            self.measured[cell.contender.name].append(done)
        values = {metric: float(getattr(done, metric)) for metric in _MEASURED}
        return Outcome(cell, stage, number, values, done.time_utc)


def interleave(contenders: Sequence[Contender], rounds: int, rng: random.Random) -> dict[str, list[Round]]:
    """`rounds` rounds of each contender behind one warm-up, in an order that is drawn anew each time."""
    runner = _Contenders(contenders)
    cells = [Cell(Workload("bench"), Control(contender.name)) for contender in contenders]
    run_rounds(cells, runner, Silence(), stage="bench", rounds=rounds, seed=rng.randrange(1 << 32))
    return runner.measured
