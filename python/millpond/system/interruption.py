# SPDX-License-Identifier: BSL-1.0
"""Signals that ask this process to stop, and the line that tells the user what was kept."""

from __future__ import annotations

import signal
from typing import NoReturn

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_kept: list[str] = []


class Interruption(BaseException):
    """A signal asked this process to stop. On its way out, children are stopped and temporary files removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _interrupt(number: int, _frame: object) -> NoReturn:
    for each in NUMBERS:  # a second signal must not cut the cleanup short
        signal.signal(each, signal.SIG_IGN)
    raise Interruption(number)


def watch_signals() -> None:
    """Makes the signals raise `Interruption`, except those that this process was started to ignore (nohup)."""
    _kept.clear()
    for number in NUMBERS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def note_kept(what: str) -> None:
    """Adds a part to the line about an interruption, for example `3 rounds in results/store`."""
    _kept.append(what)


def kept_text() -> str:
    """Says what was kept so far; empty for nothing."""
    return "; ".join(_kept)


def line_of(number: int) -> str:
    """The line to print for an interruption by that signal."""
    return f"stopped by {signal.Signals(number).name}; {kept_text() or 'no results were kept'}"
