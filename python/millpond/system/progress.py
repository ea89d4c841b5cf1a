# SPDX-License-Identifier: BSL-1.0
"""Progress on standard error: on a terminal a bar with the time left, elsewhere plain lines; nothing below two
seconds.

ProgressReport   counted steps: judging: 12 of 66 runs, at most 41 s left
report_phase     one long step: recording: 840 MB of trace after 34 s, at most 206 s left
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from millpond.system.wording import seconds_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_QUIET_SECONDS = 2.0
_LINE_EVERY_SECONDS = 15.0


_about: list[str] = []


def say(message: str) -> None:
    """Prints one line of Millpond on standard error."""
    print("millpond", *_about, message, sep=": ", file=sys.stderr, flush=True)


@contextmanager
def saying_about(what: str) -> Iterator[None]:
    """Begins each line with `what`, because other processes print lines at the same time. For all threads."""
    _about.append(what)
    try:
        yield
    finally:
        _about.remove(what)


class ProgressReport:
    """A listener for `interleaved_rounds.run_rounds`. `say` announces a step that has no count of its own.

    `deadline`, of the monotonic clock: the run ends then at the latest, whatever is left to run.
    """

    def __init__(self, deadline: float = math.inf) -> None:
        self._deadline = deadline
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._what = ""
        self._total = self._done = 0
        self._started = self._last_line = 0.0

    def begin(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._started = time.monotonic()
        self._last_line = self._started - _LINE_EVERY_SECONDS

    def step(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._started < _QUIET_SECONDS:
            return
        if sys.stderr.isatty():
            self._show_bar()
        elif now - self._last_line >= _LINE_EVERY_SECONDS:
            self._last_line = now
            runs_left = (now - self._started) / self._done * (self._total - self._done)
            left = min(runs_left, max(self._deadline - now, 0.0))
            say(f"{self._what}: {self._done} of {self._total} runs, at most {seconds_text(left)} left")

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

    def _show_bar(self) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, completed=self._done)


@contextmanager
def report_phase(what: str, amount: Callable[[], str], limit_seconds: float = math.inf) -> Iterator[None]:
    """Announces a step, and reports its amount and time from a thread of its own until the block ends.

    `amount`: returns the work done so far in words, such as "840 MB of trace"; called in the thread. `limit_seconds`:
    the step ends then at the latest.
    """
    say(what)
    ended = threading.Event()
    thread = threading.Thread(target=_report_until, args=(ended, what, amount, limit_seconds), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _report_until(ended: threading.Event, what: str, amount: Callable[[], str], limit_seconds: float) -> None:
    started = time.monotonic()
    is_shown = False
    while not ended.wait(_QUIET_SECONDS if sys.stderr.isatty() else _LINE_EVERY_SECONDS):
        line = phase_text(what, amount(), time.monotonic() - started, limit_seconds)
        if sys.stderr.isatty():
            print(f"\r\x1b[Kmillpond: {line}", end="", file=sys.stderr, flush=True)
            is_shown = True
        else:
            say(line)
    if is_shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def phase_text(what: str, amount: str, spent_seconds: float, limit_seconds: float = math.inf) -> str:
    """Returns `recording: 840 MB of trace after 34 s, at most 206 s left`."""
    left = max(limit_seconds - spent_seconds, 0.0)
    at_most = f", at most {seconds_text(left)} left" if math.isfinite(limit_seconds) else ""
    return f"{what}: {amount} after {seconds_text(spent_seconds)}{at_most}"
