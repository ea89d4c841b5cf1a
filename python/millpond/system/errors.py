# SPDX-License-Identifier: BSL-1.0
"""The exit statuses that every verb shares, and the two ways in which a verb ends early.

A `Failure` comes from Millpond: it is printed as one line that begins with `millpond:`, and gives the exit status. A
`ProgramExit` comes from the program: the verb exits as the program did; a signal is raised again.
"""

from __future__ import annotations

import errno
from enum import IntEnum


class Status(IntEnum):
    """Exit statuses of every verb (the native programs give the same)."""

    OK = 0
    GATE = 1
    USAGE = 2
    INPUT = 3
    ENVIRONMENT = 4
    PROGRAM = 5


class Failure(Exception):
    """An error of Millpond that ends the verb: what is wrong, where, and how to mend it."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def __reduce__(self) -> tuple[type[Failure], tuple[Status, str]]:
        """Pickles both parts, for a failure in another process."""
        return Failure, (self.status, self.message)


class ProgramExit(Exception):
    """The program under test has ended, and this process must end in the same way.

    `exit_status` counts when `signal` is 0; otherwise the program died of `signal`.
    """

    def __init__(self, exit_status: int, signal: int) -> None:
        super().__init__(f"exit {exit_status}, signal {signal}")
        self.exit_status = exit_status
        self.signal = signal


_WHAT_TO_DO = {
    errno.ENOSPC: "free some space, or choose another place",
    errno.EDQUOT: "free some space, or choose another place",
    errno.EACCES: "choose a place that you may write to",
    errno.EPERM: "choose a place that you may write to",
    errno.EROFS: "choose a place that you may write to",
    errno.ENOENT: "create the folder first",
    errno.ENOTDIR: "a file is in the place of a folder: choose another place",
    errno.EISDIR: "there is a folder of this name: choose another name",
}


def cannot_write(place: object, error: OSError) -> Failure:
    """The failure (status 4) for a place that could not be written, with advice that fits the reason."""
    advice = _WHAT_TO_DO.get(error.errno or 0, "choose another place")
    return Failure(Status.ENVIRONMENT, f"cannot write {place}: {error.strerror or error}; {advice}")
