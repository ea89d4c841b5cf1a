# SPDX-License-Identifier: BSL-1.0
"""The first value of an advice: the recorded run, and what follows from it before the first round.

    RecordedProgram ─choosing rounds─▶ ScreenedProgram ─judging rounds─▶ JudgedProgram ─▶ ProgramVerdict ─▶ Advice

Each value is frozen and holds the one that it was made from, so a reader takes the latest value that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millpond.advice.advice_data import CapturedReferences
from millpond.advice.advise_options import Preference
from millpond.advice.allocation_bound import AllocationBound
from millpond.advice.fleet_weights import FleetWeights
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import Characterisation, Subsystem
from millpond.rounds.load import Load
from millpond.rounds.recording import Process, Recording
from millpond.store.call_tree import CallTree


@dataclass(frozen=True)
class RecordedProgram:
    """The recorded run of a program, its analysed process, and the plans that may be tried.

    `dropped`: candidates without a predicted gain. `lasting`: plans with an arena that would grow as long as the
    program runs. `references`: None if they were not requested. `bound`: a proof that the gain is below one per cent;
    no allocator is tried then. `why_no_trial`: empty if rounds can be run. `fleet`: the weights that order the trials;
    None without a fleet. `load`: of a server.
    """

    program: tuple[str, ...]
    recording: Recording
    process: Process
    characterisation: Characterisation | None = None
    contexts: CallTree = field(default_factory=CallTree)
    candidates: tuple[Plan, ...] = ()
    dropped: tuple[Plan, ...] = ()
    lasting: tuple[Plan, ...] = ()
    references: CapturedReferences | None = None
    bound: AllocationBound | None = None
    why_no_trial: str = ""
    budget_seconds: float = 0.0
    prefer: Preference = Preference.BALANCED
    notes: tuple[str, ...] = ()
    fleet: FleetWeights | None = None
    load: Load | None = None

    @property
    def subsystems(self) -> tuple[Subsystem, ...]:
        """Returns the subsystems of the analysed process."""
        return self.characterisation.subsystems if self.characterisation else ()

    def noting(self, *notes: str) -> RecordedProgram:
        """Returns a copy with further notes, each once."""
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes))))
