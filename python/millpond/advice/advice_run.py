# SPDX-License-Identifier: BSL-1.0
"""The run of one `advise`: what each of its steps takes, and none changes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from millpond.advice.advise_options import Options
from millpond.advice.fleet_weights import FleetWeights
from millpond.rounds import schedule
from millpond.rounds.characterisation import ProcessFacts
from millpond.rounds.trial_rounds import Laboratory
from millpond.system.standard_input import StandardInput


@dataclass(frozen=True)
class AdviceRun:
    """The program with its input, the user's options, the folder for temporary files, and the start of the run, of
    `time.monotonic`.
    """

    program: tuple[str, ...]
    options: Options
    stdin: StandardInput
    folder: Path
    laboratory: Laboratory
    started: float

    @property
    def budget_seconds(self) -> float:
        """Returns the user's budget, or the largest one if it is to follow from the program."""
        given = self.options.budget_seconds
        return schedule.BUDGET_MOST_SECONDS if given is None else given

    def weights_of(self, process: ProcessFacts) -> FleetWeights | None:
        """Returns the fleet's weights for the build of a process; None without a fleet. Failure (status 3) if the fleet
        is of other builds.
        """
        return None if self.options.fleet is None else FleetWeights.of(self.options.fleet, process)

    @property
    def spent_seconds(self) -> float:
        """Returns the time since the start."""
        return time.monotonic() - self.started
