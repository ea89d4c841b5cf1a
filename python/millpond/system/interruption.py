# SPDX-License-Identifier: BSL-1.0
"""Signals that ask the conductor to stop, and the line that says what is kept then."""

from __future__ import annotations

import signal
from typing import NoReturn

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_kept: list[str] = []


class Interrupted(BaseException):
    """A signal asked us to stop; children are stopped and temporary files removed on its way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _interrupt(number: int, _frame: object) -> NoReturn:
    for each in NUMBERS:  # a second one must not cut the clearing up short
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def watch_signals() -> None:
    """Makes the signals raise `Interrupted`, except those that the user has us ignore (nohup)."""
    _kept.clear()
    for number in NUMBERS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def note_kept(what: str) -> None:
    """Adds to what an interruption says, for example `3 rounds in results/store`."""
    _kept.append(what)


def line_of(number: int) -> str:
    """The one line that is said of an interruption by that signal."""
    return f"stopped by {signal.Signals(number).name}; " + ("; ".join(_kept) if _kept else "nothing was kept")
