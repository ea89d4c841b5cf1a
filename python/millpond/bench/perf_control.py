# SPDX-License-Identifier: BSL-1.0
"""The descriptors of an outer `perf`, which is told when to count: they are handed on to each round's process.

perf stat --delay=-1 --control fd:CTL,ACK -- millpond bench … --perf-control CTL,ACK
    ▲ "enable", "disable" ── CTL ── the process of a round, around its window ◀── "ack" ── ACK ──┘
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from millpond.system.errors import Failure, Status

_NUMBERS = re.compile(r"\d{1,9}(,\d{1,9})?", re.ASCII)


@dataclass(frozen=True)
class PerfControl:
    """One descriptor, or the one that is written and the one that answers."""

    text: str

    @classmethod
    def given(cls, text: str) -> PerfControl:
        """From the command line. Failure (status 2) for what are no numbers, 4 where nothing is open there."""
        if not _NUMBERS.fullmatch(text):
            raise Failure(
                Status.USAGE, f"--perf-control {text!r} is not CTL,ACK: the numbers of perf stat --control fd:CTL,ACK"
            )
        control = cls(text)
        for number in control.descriptors:
            try:
                os.fstat(number)
            except OSError as error:
                raise Failure(
                    Status.ENVIRONMENT,
                    f"--perf-control: descriptor {number} is not open; perf stat --control fd:CTL,ACK hands on those "
                    "that the shell has opened",
                ) from error
        return control

    @property
    def descriptors(self) -> tuple[int, ...]:
        return tuple(map(int, self.text.split(",")))
