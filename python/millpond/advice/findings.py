# SPDX-License-Identifier: BSL-1.0
"""The findings of a run of `advise`: the rounds fill them in step by step; decision, verdict and document read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from millpond.advice.advice_data import CapturedReferences, Replay
from millpond.advice.allocation_bound import AllocationBound
from millpond.advice.effects import Effects, saves_memory, saves_time
from millpond.advice.prediction import not_replayed
from millpond.cells.cell import Malloc, PoolCounts
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import Characterisation, Subsystem
from millpond.rounds.noise import Spread
from millpond.rounds.recording import Process, Recording
from millpond.statistics.order_statistics import Comparison
from millpond.store.call_tree import CallTree


class Preference(StrEnum):
    """The user's weighing of CPU against peak memory: only one of them, or 1 % of one as much as 1 % of the other."""

    CPU = "cpu"
    MEMORY = "memory"
    BALANCED = "balanced"


@dataclass(frozen=True)
class TriedPlan:
    """A plan for one subsystem, with its net effect against the unchanged program, by metric.

    `judged`: measured in fresh rounds, so that it may be advised. Otherwise the comparison only served to choose.
    """

    plan: Plan
    comparisons: Mapping[str, Comparison]
    evidence: list[str]
    judged: bool

    def pays(self) -> bool:
        """True if it may be advised: faster beyond the noise in fresh rounds, or smaller beyond the noise and not
        slower.
        """
        return self.judged and (saves_time(self.comparisons) or saves_memory(self.comparisons))


@dataclass
class Findings:
    """The findings of a run of `advise`. A step that was not reached leaves its default."""

    program: tuple[str, ...]
    recording: Recording
    process: Process
    characterisation: Characterisation | None = None
    contexts: CallTree = field(default_factory=CallTree)
    candidates: list[Plan] = field(default_factory=list)
    dropped: list[Plan] = field(default_factory=list)  # candidates without a predicted gain
    lasting: list[Plan] = field(default_factory=list)  # plans with an arena that would grow as long as the program runs
    tried: dict[str, TriedPlan] = field(default_factory=dict)
    chosen: Plan | None = None
    effects: Effects = field(default_factory=dict)
    evidence: dict[str, list[str]] = field(default_factory=dict)
    counted: dict[str, list[str]] = field(default_factory=dict)
    rounds: int = 0
    bare: dict[str, Spread] = field(default_factory=dict)  # metric → the spread of the bare judging rounds
    whole: dict[str, float] = field(default_factory=dict)  # metric → the cost of a bare judging round
    mallocs: dict[str, Malloc] = field(default_factory=dict)  # those of this machine, by name
    absent_mallocs: dict[str, str] = field(default_factory=dict)  # name → how to install it
    screened_mallocs: dict[str, dict[str, Comparison]] = field(default_factory=dict)  # in the choosing rounds
    judged_mallocs: dict[str, dict[str, Comparison]] = field(default_factory=dict)
    best_malloc: str = ""
    plan_against_malloc: dict[str, Comparison] = field(default_factory=dict)  # net, against the best malloc
    verdict_seconds: float = 0.0  # the time of FEWEST_VERDICT_ROUNDS of the judged contenders
    verdict_lacks_seconds: float = 0.0  # the time that was left for them, if less than that
    budget_seconds: float = 0.0
    prefer: Preference = Preference.BALANCED
    unjudged: str = ""  # the most promising plan, if it looked no better and the time was needed for mallocs
    arenas: dict[str, PoolCounts] = field(default_factory=dict)  # pool → a run's counts of its arenas
    replay: Replay = field(default_factory=lambda: not_replayed("nothing was tried"))
    references: CapturedReferences | None = None  # None: not requested
    bound: AllocationBound | None = None  # a proof that the gain is below one per cent: no allocator is tried then
    why_no_trial: str = ""
    earlier: dict[str, int] = field(default_factory=dict)  # stage → rounds from earlier runs
    notes: list[str] = field(default_factory=list)

    @property
    def subsystems(self) -> tuple[Subsystem, ...]:
        """Returns the subsystems of the analysed process."""
        return self.characterisation.subsystems if self.characterisation else ()

    def verdict(self, effect: str, metric: str = "cpu_seconds") -> str:
        """Returns the verdict of one effect; empty if it was not measured."""
        found = self.effects.get(effect, {}).get(metric)
        return found.verdict if found else ""
