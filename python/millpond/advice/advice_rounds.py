# SPDX-License-Identifier: BSL-1.0
"""The tools with which one `advise` runs its rounds: the choosing and the judging steps use the same ones.

choosing: each candidate plan and each malloc of this machine against the unchanged program   choosing.py
─▶ combining: the plans that helped, together, against the best single one
─▶ judging, on fresh rounds: the chosen plan, the best two mallocs, ours and huge pages       judging.py
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from millpond.advice import effects
from millpond.advice.advice_state import KeptState
from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.cells.metrics import SPEEDS
from millpond.cells.plans import Plan
from millpond.rounds import mallocs, schedule
from millpond.rounds.interleaved_rounds import Listener, RoundsRequest, run_rounds
from millpond.rounds.trial_rounds import Laboratory
from millpond.store.round_log import RoundLog
from millpond.system.progress import ProgressReport, say
from millpond.system.wording import plural

JUDGED_METRICS = (*SPEEDS, "peak_bytes")


@dataclass
class AdviceRounds:
    """Runs rounds, logs every outcome as it comes, and uses those of earlier runs first. Not thread-safe.

    `deadline`: when the rounds are to end. `end`: the latest time for further rounds if a verdict lacks them. `kept`:
    the state of this and of an earlier run, updated at each step. `goes_on`: add as many rounds to an existing
    judgement as the time allows. `run_seconds`: the expected time of one round of one contender.
    """

    program: tuple[str, ...]
    log: RoundLog
    laboratory: Laboratory
    kept: KeptState
    deadline: float
    end: float
    seed: int
    run_seconds: float
    goes_on: bool = False
    mallocs: dict[str, Malloc] = field(init=False, default_factory=dict)  # those of this machine, by name
    absent_mallocs: dict[str, str] = field(init=False, default_factory=dict)  # name → how to install it
    earlier: dict[str, int] = field(init=False, default_factory=dict)  # stage → rounds from earlier runs
    failures: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._listener: Listener = ProgressReport(self.deadline)
        tried, self.absent_mallocs = mallocs.contenders()
        self.mallocs = {m.name: m for m in tried}

    @property
    def left_seconds(self) -> float:
        """Returns the time until the rounds are to end."""
        return self.deadline - time.monotonic()

    def run(self, cells: Sequence[Cell], request: RoundsRequest) -> list[Outcome]:
        """Runs the rounds of one stage. Copies those of earlier runs into this run's file, and notes failures."""
        outcomes = run_rounds(cells, self.laboratory, self._listener, request, memory=self.log)
        copied = self.log.adopt(outcomes)
        if copied:
            self.earlier[request.stage] = copied
            say(f"{plural(copied, 'round')} of {request.stage} from earlier runs")
        failures = sorted({f"{o.cell.name} {o.why}; its rounds are not compared" for o in outcomes if o.status != "ok"})
        self.failures = list(dict.fromkeys([*self.failures, *failures]))
        return outcomes

    @property
    def bare(self) -> Cell:
        """Returns the contender that is the unchanged program."""
        return effects.control_cell(self.program, "bare")

    def malloc(self, name: str) -> Cell:
        """Returns the contender on a malloc of this machine."""
        return effects.malloc_cell(self.program, self.mallocs[name])

    def plan(self, plan: Plan) -> Cell:
        """Returns the contender under a plan."""
        return effects.plan_cell(self.program, plan)

    @property
    def behind_net(self) -> list[Cell]:
        """Returns the controls that every net effect of a plan needs."""
        return [self.bare, effects.control_cell(self.program, "looked_up")]

    @property
    def always_judged(self) -> list[str]:
        """Returns the mallocs that need no change of the source and no installation: ours, and the C library's own."""
        return [name for name in (mallocs.OURS, mallocs.HUGE) if name in self.mallocs]

    def has_time_for_plan(self) -> bool:
        """Returns whether a verdict that includes a plan still fits before the end."""
        left = self.end - time.monotonic()
        return schedule.judging(left, self.run_seconds, schedule.JUDGED_AT_LEAST) >= schedule.FEWEST_VERDICT_ROUNDS

    def evidence(self, stage: str, cells: Sequence[Cell]) -> list[str]:
        """Returns the ids of the cells' observations in a stage."""
        return self.log.journal.evidence(stage, cells, JUDGED_METRICS)
