# SPDX-License-Identifier: BSL-1.0
"""What a user decides of an `advise`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millpond.advice.findings import Preference
from millpond.rounds.preparation import NO_PREPARATION, Preparation
from millpond.store.store import DEFAULT


@dataclass(frozen=True)
class Options:
    """What the user decides. `budget_seconds` is for everything, recording included; None: it follows the program.
    `process` is a number from 1.

    `trace_bytes`: what the recording may write; None: a share of the disk's free bytes. `references`: also capture the
    program's data references, beyond the budget. `goes_on`: an earlier advise of the same program, in this store, gets
    more rounds; without it what that left is used, too.
    """

    budget_seconds: float | None = None
    process: int | None = None
    store: Path = DEFAULT
    seed: int = 1
    preparation: Preparation = NO_PREPARATION
    trace_bytes: int | None = None
    references: bool = False
    prefer: Preference = Preference.BALANCED
    goes_on: bool = False

    def of_rounds(self) -> list[str]:
        """Those that make other rounds of the same program."""
        return [
            *self.preparation.options(),
            f"process={self.process}",
            f"references={self.references}",
            f"seed={self.seed}",
        ]
