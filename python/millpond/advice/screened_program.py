# SPDX-License-Identifier: BSL-1.0
"""The second value of an advice: the effects in the choosing rounds, and the contenders to judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millpond.advice.effects import saves_memory, saves_time
from millpond.advice.recorded_program import RecordedProgram
from millpond.cells.cell import Malloc, PoolCounts
from millpond.cells.plans import Plan
from millpond.statistics.order_statistics import Comparison


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


@dataclass(frozen=True)
class ScreenedProgram:
    """The choosing rounds of a recorded program. All mappings to comparisons are by name, then by metric.

    `plans`: the plan to judge, then the single plans in it; `best`: the mallocs to judge, the best first. `tried`: by
    plan. `mallocs`: those of this machine; `absent_mallocs`: name → how to install it. `arenas`: pool → a run's counts
    of its arenas. `unjudged`: the most promising plan, if it looked no better and the time was needed for mallocs.
    """

    recorded: RecordedProgram
    plans: tuple[Plan, ...] = ()
    best: tuple[str, ...] = ()
    tried: Mapping[str, TriedPlan] = field(default_factory=dict)
    mallocs: Mapping[str, Malloc] = field(default_factory=dict)
    absent_mallocs: Mapping[str, str] = field(default_factory=dict)
    screened_mallocs: Mapping[str, Mapping[str, Comparison]] = field(default_factory=dict)
    arenas: Mapping[str, PoolCounts] = field(default_factory=dict)
    unjudged: str = ""
    notes: tuple[str, ...] = ()
