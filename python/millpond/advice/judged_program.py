# SPDX-License-Identifier: BSL-1.0
"""The third value of an advice: the effects of the chosen contenders in fresh rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from millpond.advice.effects import Effects
from millpond.advice.recorded_program import RecordedProgram
from millpond.advice.screened_program import ScreenedProgram, TriedPlan
from millpond.cells.plans import Plan
from millpond.rounds.noise import Spread
from millpond.statistics.order_statistics import Comparison


@dataclass(frozen=True)
class JudgedProgram:
    """The judging rounds of a screened program; without any, the defaults.

    `chosen`: the judged plan with the least CPU. `effects` and `evidence`: by effect. `tried_alone`: the single plans
    in these rounds, by plan. `judged_mallocs`: by name, then by metric; `plan_against_malloc`: net, against
    `best_malloc`. `bare` and `whole`: metric → spread and cost of the bare rounds. `verdict_seconds`: the time of
    FEWEST_VERDICT_ROUNDS of the contenders; `verdict_lacks_seconds`: the part of it that was not left.
    """

    screened: ScreenedProgram
    chosen: Plan | None = None
    effects: Effects = field(default_factory=dict)
    evidence: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tried_alone: Mapping[str, TriedPlan] = field(default_factory=dict)
    judged_mallocs: Mapping[str, Mapping[str, Comparison]] = field(default_factory=dict)
    best_malloc: str = ""
    plan_against_malloc: Mapping[str, Comparison] = field(default_factory=dict)
    rounds: int = 0
    bare: Mapping[str, Spread] = field(default_factory=dict)
    whole: Mapping[str, float] = field(default_factory=dict)
    verdict_seconds: float = 0.0
    verdict_lacks_seconds: float = 0.0
    why_not_judged: str = ""
    notes: tuple[str, ...] = ()

    @property
    def recorded(self) -> RecordedProgram:
        """Returns the recording behind these rounds."""
        return self.screened.recorded

    @property
    def tried(self) -> Mapping[str, TriedPlan]:
        """Returns the latest measurement of each plan: judging rounds, otherwise choosing rounds."""
        return {**self.screened.tried, **self.tried_alone}

    @property
    def why_no_trial(self) -> str:
        """Returns why no rounds were run; empty if some were."""
        return self.recorded.why_no_trial or self.why_not_judged

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Returns the notes of all steps so far, each once."""
        return tuple(dict.fromkeys((*self.recorded.notes, *self.screened.notes, *self.notes)))

    def noting(self, *notes: str) -> JudgedProgram:
        """Returns a copy with further notes."""
        return replace(self, notes=(*self.notes, *notes))
