# SPDX-License-Identifier: BSL-1.0
"""The parts that every runner of rounds shares: an environment of a new size for each process, and the check of its
end.

A process that exceeds its time limit, or dies of a signal, is `killed`: its values are not compared.
"""

from __future__ import annotations

import random
import signal

from millpond.cells.cell import Cell, Outcome
from millpond.system import native

_LIMIT_BYTES = 4096


class Padding:
    """A number of environment bytes, drawn for each process, because even the stack's position affects small caches.
    Not thread-safe.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"padding {seed}")

    def bytes(self) -> int:
        """The next size, below 4096."""
        return self._random.randrange(_LIMIT_BYTES)

    def option(self) -> list[str]:
        """The next size as an option of our native programs."""
        return ["--pad", str(self.bytes())]

    def environment(self) -> dict[str, str]:
        """The next size as a variable for the process itself."""
        return {"MILLPOND_PAD": "x" * self.bytes()}


def describe(exit_status: int, signal_number: int) -> str:
    """Describes the end of a program as a half-sentence: "exits with 1", "dies of SIGSEGV"."""
    return f"dies of {native.signal_name(signal_number)}" if signal_number else f"exits with {exit_status}"


def killed(
    cell: Cell, stage: str, number: int, finished: native.ProcessEnd | native.ProgramOutput, limit_seconds: float | None
) -> Outcome | None:
    """The outcome of a process that exceeded its limit or died of a signal; None if it ended by itself."""
    if finished.timed_out:
        return Outcome.failed(cell, stage, number, "killed", f"took longer than {limit_seconds:.0f} s", signal.SIGKILL)
    if finished.status < 0:
        return Outcome.failed(cell, stage, number, "killed", describe(0, -finished.status), -finished.status)
    return None
