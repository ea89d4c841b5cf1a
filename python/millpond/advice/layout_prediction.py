# SPDX-License-Identifier: BSL-1.0
"""Predicts each candidate from a captured recording before any trial, and selects and orders the trials.

recording ──layout of each plan and malloc──▶ misses, seconds ──▶ order of trials; hopeless plans are dropped

Seconds are those of the time model of `trace simulate --latencies`: every reference waits for the level that has its
line, or for the second level if it was foreseen. So they rank candidates, and are not CPU time. A plan is hopeless if
its layout has neither fewer misses nor less time than the recorded program. The best plan is always kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from millpond.advice.advice_data import LayoutPrediction, PredictedLayouts
from millpond.cells.plans import Plan
from millpond.doctor.references_error import NOT_VALIDATED, ReferencesError
from millpond.rounds import layouts
from millpond.rounds.simulation_data import Simulation
from millpond.system import native
from millpond.system.errors import Failure
from millpond.system.progress import say
from millpond.system.wording import percent_text, plural

CACHE = "attributed:line=64,size=32K,ways=8"  # the same as in the characterisation of a captured run
PLAN, MALLOC = "plan", "malloc"
PROBE = "millpond-probe"
_MISSES = ("cold", "capacity", "conflict")
# Layouts cannot follow calls of functions or owners.
_PLAYED_SCOPE = "phase"


@dataclass(frozen=True)
class Counts:
    """The counts of one simulated layout; `seconds` is None if latencies are unknown."""

    instructions: int
    misses: int
    seconds: float | None

    @classmethod
    def of(cls, simulation: Simulation) -> Counts:
        """Returns the first simulator's misses, and the time with all levels."""
        first = simulation.simulators[0]
        times = simulation.level_times
        return cls(
            simulation.input.instructions, sum(first.count(metric) for metric in _MISSES),
            times[0].value if times else None,
        )  # fmt: skip


def can_be_predicted(plan: Plan) -> bool:
    """True if a layout can simulate all routes of the plan."""
    return all(not r.instances and (r.scope is None or r.scope.kind == _PLAYED_SCOPE) for r in plan.routes)


@dataclass
class LayoutPredictor:
    """Predicts candidates from one recording with references, until `deadline` (of the monotonic clock).

    `error`: the error of predicted ratios of seconds on this machine.
    """

    recording: Path
    folder: Path
    deadline: float
    notes: list[str] = field(default_factory=list)
    error: ReferencesError = NOT_VALIDATED

    def predict(self, plans: Sequence[Plan], mallocs: Mapping[str, Path | None]) -> PredictedLayouts:
        """Predicts the plans first, then the mallocs. Each takes a run of the player and a pass over the recording.

        A candidate whose layout fails is left out, with a note. Failure if the recording itself cannot be simulated.
        """
        started = time.monotonic()
        options = ["--simulate", CACHE, *self._latencies()]
        say(f"predicting {plural(len(plans), 'plan')} and {plural(len(mallocs), 'malloc')}")
        recorded = Counts.of(layouts.simulate_recording(self.recording, options, self.folder))
        found = []
        pools = {plan.name: plan.alone for plan in plans}
        for kind, name, layout in [*self._of_plans(plans), *self._of_mallocs(mallocs)]:
            if time.monotonic() > self.deadline:
                self.notes.append(f"{name} was not predicted: the time for predictions was up")
                break
            try:
                one = _prediction(kind, name, self._counts(layout, options), recorded, self.error)
                found.append(replace(one, pool=pools[name] if kind == PLAN else None))
            except Failure as failure:
                self.notes.append(f"{name} was not predicted: {failure.message}")
        hopeless = _hopeless(found)
        return PredictedLayouts(
            seconds_taken=time.monotonic() - started, misses=recorded.misses, seconds=recorded.seconds, cache=CACHE,
            layouts=tuple(
                replace(p, dropped=p.kind == PLAN and p.name in hopeless) for p in sorted(found, key=rank)
            ),
            error=self.error.note if recorded.seconds else None,
        )  # fmt: skip

    def _of_plans(self, plans: Sequence[Plan]) -> list[tuple[str, str, layouts.Layout]]:
        result = []
        for number, plan in enumerate(plans):
            if can_be_predicted(plan):
                path = self.folder / f"predicted_{number}.json"
                plan.write(path)
                result.append((PLAN, plan.name, layouts.layout_of(str(path))))
        return result

    def _of_mallocs(self, mallocs: Mapping[str, Path | None]) -> list[tuple[str, str, layouts.Layout]]:
        return [(MALLOC, name, layouts.Layout(name, library)) for name, library in mallocs.items()]

    def _counts(self, layout: layouts.Layout, options: Sequence[str]) -> Counts:
        script = layouts.write_script(self.recording, self.folder, layout.pools)
        played = script.play(layout)
        try:
            found = layouts.simulate_recording(self.recording, [*options, "--played", str(played)], self.folder)
        finally:
            played.unlink(missing_ok=True)
        return Counts.of(found)

    def _latencies(self) -> list[str]:
        path = self.folder / "probe.json"
        try:
            native.require(PROBE, ["--json", str(path)])
        except Failure as failure:
            self.notes.append(f"only misses are predicted, no seconds: {failure.message}")
            return []
        return ["--latencies", str(path)]


def _prediction(kind: str, name: str, its: Counts, recorded: Counts, error: ReferencesError) -> LayoutPrediction:
    seconds_ratio = its.seconds / recorded.seconds if its.seconds is not None and recorded.seconds else None
    return LayoutPrediction(
        kind=kind,
        name=name,
        misses=its.misses,
        seconds=its.seconds,
        misses_ratio=its.misses / recorded.misses if recorded.misses else 1.0,
        seconds_ratio=seconds_ratio,
        seconds_interval=None if seconds_ratio is None else error.interval(seconds_ratio),
        instructions_ratio=its.instructions / recorded.instructions if recorded.instructions else 1.0,
    )


def rank(prediction: LayoutPrediction) -> float:
    """Returns the rank, the lower the better: the ratio of seconds, or of misses if no seconds are known."""
    return prediction.misses_ratio if prediction.seconds_ratio is None else prediction.seconds_ratio


def _hopeless(found: Sequence[LayoutPrediction]) -> set[str]:
    """Returns the plans that are not worth a trial: neither fewer misses nor less time. Keeps the best plan."""
    plans = sorted((p for p in found if p.kind == PLAN), key=rank)
    return {p.name for p in plans[1:] if p.misses_ratio >= 1.0 and rank(p) >= 1.0}


def in_order(plans: Sequence[Plan], predicted: PredictedLayouts) -> list[Plan]:
    """Returns the plans to try, those with the largest predicted gain first.

    A plan without a prediction ranks as one that changes nothing.
    """
    ranks = {p.name: rank(p) for p in predicted.layouts if p.kind == PLAN}
    dropped = {p.name for p in predicted.layouts if p.kind == PLAN and p.dropped}
    return sorted((p for p in plans if p.name not in dropped), key=lambda p: ranks.get(p.name, 1.0))


def mallocs_in_order(names: Sequence[str], predicted: PredictedLayouts) -> list[str]:
    """Returns all mallocs, those with the largest predicted gain first."""
    ranks = {p.name: rank(p) for p in predicted.layouts if p.kind == MALLOC}
    return sorted(names, key=lambda name: ranks.get(name, 1.0))


def predicted_text(prediction: LayoutPrediction) -> str:
    """Returns `misses -15.8 %, time of the model -14.8 % (-40.1 % to +10.5 %)`."""
    said = f"misses {percent_text(prediction.misses_ratio)}"
    seconds = predicted_seconds_text(prediction)
    return f"{said}, time of the model {seconds}" if seconds else said


def predicted_seconds_text(prediction: LayoutPrediction) -> str:
    """Returns `-14.8 % (-40.1 % to +10.5 %)`; empty if no seconds are predicted."""
    if prediction.seconds_ratio is None:
        return ""
    said = percent_text(prediction.seconds_ratio)
    if prediction.seconds_interval is None:
        return said
    low, high = prediction.seconds_interval
    return f"{said} ({percent_text(low)} to {percent_text(high)})"
