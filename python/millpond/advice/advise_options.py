# SPDX-License-Identifier: BSL-1.0
"""The options of an `advise`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from millpond.rounds.fleet_data import Fleet
from millpond.rounds.load import Load
from millpond.rounds.preparation import NO_PREPARATION, Preparation
from millpond.store.store import DEFAULT


class Preference(StrEnum):
    """The user's weighing of CPU against peak memory: only one of them, or 1 % of one as much as 1 % of the other."""

    CPU = "cpu"
    MEMORY = "memory"
    BALANCED = "balanced"


@dataclass(frozen=True)
class Options:
    """The user's options. `budget_seconds` covers everything, recording included; None: it is derived from the program.
    `process` is a number from 1.

    `trace_bytes`: the size limit of the recording; None: a share of the disk's free bytes. `references`: also capture
    the program's data references, beyond the budget. `goes_on`: add rounds to an earlier advise of the same program in
    this store. Without it, the earlier rounds are used as well. `fleet`: orders the trials by its weights. `load`:
    drives the program, which is a server; None: the program ends by itself.
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
    fleet: Fleet | None = None
    load: Load | None = None

    def of_rounds(self) -> list[str]:
        """Returns the options that change what a round measures, or which rounds are run."""
        fleet = [f"fleet={hashlib.sha256(self.fleet.encoded()).hexdigest()}"] if self.fleet else []
        return [
            *self.preparation.options(),
            f"process={self.process}",
            f"references={self.references}",
            f"seed={self.seed}",
            *fleet,
            *(self.load.options() if self.load else []),
        ]
