# SPDX-License-Identifier: BSL-1.0
"""Runs the contenders of one round in parallel: all are started, and take turns of a few hundredths of a second.

    A  ██      ██      ██          one processor for all; waiting contenders are stopped (SIGSTOP, with their children)
    B    ██      ██      ██
    C      ██      ██    ──end

If a neighbour on the host slows a processor down for seconds, contenders that run one after the other differ by the
neighbour. With turns, all are slowed down equally, and the spread of their paired differences falls tenfold. The
price: caches are refilled at each turn, and a program's wall time means nothing; CPU time, bytes and faults are its
own. A program of several threads has one processor. If this process is killed, our native programs die with it; the
kernel ends stopped programs of other kinds (it hangs up on a process group that no process is left to continue).

Use it if differences of CPU time are smaller than a machine's noise. Do not use it for wall time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from millpond.cells.cell import Cell, Outcome
from millpond.rounds.interleaved_rounds import Runner, order_of
from millpond.system import native

TURN_SECONDS = 0.03
_PATIENCE_SECONDS = 5.0


@dataclass
class _Contender:
    """One cell's round in a thread of its own; `group` is its process group while it runs."""

    runner: Runner
    cell: Cell
    stage: str
    number: int
    processor: int
    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    ending: bool = False
    group: int | None = None
    outcome: Outcome | None = None
    failure: BaseException | None = None

    def run(self) -> None:
        try:
            os.sched_setaffinity(0, {self.processor})  # of this thread, and of what it starts
            with native.watched_by(self._started):
                self.outcome = self.runner.run(self.cell, self.stage, self.number)
        except BaseException as failure:
            self.failure = failure
        finally:
            self.group = None
            self.ended.set()
            self.begun.set()

    def _started(self, group: int) -> None:
        self.signal(signal.SIGSTOP, group)
        self.group = group
        self.begun.set()
        if self.ending:
            self.end(signal.SIGTERM)

    def end(self, how: signal.Signals) -> None:
        """Ends the running process, and all that this round would start next."""
        self.ending = True
        self.signal(how)
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals, group: int | None = None) -> None:
        at = group or self.group
        if at is not None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.killpg(at, number)


@dataclass
class SideBySide:
    """A runner that runs all cells of a group when the first of them is requested, and keeps the others' outcomes.

    `runners` has one for each cell: they run at once, so they must not share files. A cell that was killed is not run
    again. `turn_seconds` None: no contender is stopped, for contenders that mostly wait, and whose CPU time does not
    matter. Not thread-safe. Failure: that of a contender; the others are then ended.
    """

    runners: dict[Cell, Runner]
    seed: int = 1
    turn_seconds: float | None = TURN_SECONDS
    _ready: dict[tuple[Cell, str, int], Outcome] = field(default_factory=dict)
    _dead: set[Cell] = field(default_factory=set)

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """One round; the outcomes of the other cells of its round are kept until they are requested."""
        if (cell, stage, number) not in self._ready:
            alive = [c for c in self.runners if c not in self._dead]
            for outcome in self._round(order_of(alive, self.seed, number), stage, number):
                self._ready[outcome.cell, stage, number] = outcome
                if outcome.status != "ok":
                    self._dead.add(outcome.cell)
        return self._ready.pop((cell, stage, number))

    def _round(self, cells: Sequence[Cell], stage: str, number: int) -> list[Outcome]:
        processor = max(os.sched_getaffinity(0))
        contenders = [_Contender(self.runners[c], c, stage, number, processor) for c in cells]
        threads = [threading.Thread(target=c.run, name=c.cell.name) for c in contenders]
        try:
            for thread, contender in zip(threads, contenders, strict=True):
                thread.start()
                contender.begun.wait()
            self._take_turns(contenders)
        finally:
            self._end(contenders, threads)
        for contender in contenders:
            if contender.failure is not None:
                raise contender.failure
        return [c.outcome for c in contenders if c.outcome is not None]

    def _take_turns(self, contenders: Sequence[_Contender]) -> None:
        waiting = list(contenders)
        for contender in waiting if self.turn_seconds is None else ():
            contender.signal(signal.SIGCONT)
        while waiting and not any(c.failure for c in contenders):
            for contender in waiting:
                contender.signal(signal.SIGCONT)
                if not contender.ended.wait(self.turn_seconds or TURN_SECONDS) and self.turn_seconds is not None:
                    contender.signal(signal.SIGSTOP)
            waiting = [c for c in waiting if not c.ended.is_set()]

    @staticmethod
    def _end(contenders: Sequence[_Contender], threads: Sequence[threading.Thread]) -> None:
        """Ends all contenders that still run, because of an interruption or another's failure."""
        started = [(c, t) for c, t in zip(contenders, threads, strict=True) if t.ident is not None]
        for contender, _ in started:
            if not contender.ended.is_set():
                contender.end(signal.SIGTERM)
        for contender, thread in started:
            thread.join(_PATIENCE_SECONDS)
            while thread.is_alive():
                contender.end(signal.SIGKILL)
                thread.join(_PATIENCE_SECONDS)
