# SPDX-License-Identifier: BSL-1.0
"""What every runner of rounds does alike: an environment of a new size for each process, and how its end is taken.

A process that runs past its time, or dies of a signal, is `killed`: its values are not compared.
"""

from __future__ import annotations

import random
import signal

from millpond.cells.cell import Cell, Outcome
from millpond.system import native

_LIMIT_BYTES = 4096


class Padding:
    """Bytes of environment, drawn for each process: the stack's position alone moves small caches. Not thread-safe."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"padding {seed}")

    def bytes(self) -> int:
        """The next size, below 4096."""
        return self._random.randrange(_LIMIT_BYTES)

    def option(self) -> list[str]:
        """The same as an option of our native programs."""
        return ["--pad", str(self.bytes())]

    def environment(self) -> dict[str, str]:
        """The same as a variable of the process itself."""
        return {"MILLPOND_PAD": "x" * self.bytes()}


def describe(exit_status: int, signal_number: int) -> str:
    """How a program ended, as a half-sentence: "exits with 1", "dies of SIGSEGV"."""
    return f"dies of {native.signal_name(signal_number)}" if signal_number else f"exits with {exit_status}"


def killed(
    cell: Cell, stage: str, number: int, finished: native.Finished | native.Captured, limit_seconds: float | None
) -> Outcome | None:
    """The outcome of a process that ran past its limit or died of a signal; None where it ended by itself."""
    if finished.timed_out:
        return Outcome.failed(cell, stage, number, "killed", f"took longer than {limit_seconds:.0f} s", signal.SIGKILL)
    if finished.status < 0:
        return Outcome.failed(cell, stage, number, "killed", describe(0, -finished.status), -finished.status)
    return None
