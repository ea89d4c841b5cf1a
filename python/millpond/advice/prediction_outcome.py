# SPDX-License-Identifier: BSL-1.0
"""Compares the prediction of an advice with the measurements of two builds of the program.

    advice of BEFORE ──▶ predicted CPU and peak ─┐
    rounds of BEFORE and AFTER ──▶ measured ─────┴─▶ "millpond.builds/1", stored under the advice's run

`millpond compare --after` makes the document; it and `millpond report` show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET, UnsetType, field

from millpond.advice.advice_data import Advice, Change, Estimate
from millpond.advice.verdict import MALLOC, PLAN
from millpond.statistics.humps import Hump
from millpond.system.records import NONE, NULL, Record
from millpond.system.wording import change_text, effect_text, plural

Schema = Literal["millpond.builds/1"]
SCHEMA: Schema = "millpond.builds/1"
KIND = "outcomes"  # the kind of document in the store
# Metric → its name in a sentence. Both are better if smaller.
WORDS = {"cpu_seconds": "CPU", "peak_bytes": "peak memory"}


class PredictedMetric(Record, frozen=True):
    """The predicted ratio of one metric, with its interval."""

    n: int
    median: float
    low: float
    high: float
    level: float
    verdict: str
    humps: tuple[Hump, ...] | UnsetType = UNSET


class ChangePrediction(Record, frozen=True):
    """The prediction of an advice for a change of the program, by metric. `words`: a description of the change."""

    run: str
    kind: str
    words: str
    effects: dict[str, PredictedMetric]


class BuildSide(Record, frozen=True):
    """One build."""

    argv: tuple[str, ...]
    build_id: str | None = field(default_factory=NULL)


class SameOutput(Record, frozen=True):
    """Tells whether both builds print the same; None if the program's output differs from run to run."""

    same: bool | None
    words: str


class OutcomeLine(Record, frozen=True):
    """The outcome of one metric, in a sentence."""

    metric: str
    intervals_meet: bool | None
    sentence: str


class Builds(Record, frozen=True, kw_only=True):
    """Two measured builds of a program, with the prediction."""

    schema: Schema
    run: str
    machine: str = field(default_factory=str)
    version: str = field(default_factory=str)
    time_utc: str = field(default_factory=str)
    seed: int | None = field(default_factory=NULL)
    before: BuildSide
    after: BuildSide
    rounds: int
    output: SameOutput
    prediction: ChangePrediction | None = field(default_factory=NULL)
    why_no_prediction: str | None = field(default_factory=NULL)
    measured: dict[str, Change]
    evidence: tuple[str, ...] = field(default_factory=NONE)
    came_out: tuple[OutcomeLine, ...] = field(default_factory=NONE)


@dataclass(frozen=True)
class Line:
    """One metric: the prediction (None without one), the measurement, and whether the two intervals meet."""

    metric: str
    predicted: PredictedMetric | None
    measured: PredictedMetric

    @property
    def words(self) -> str:
        return WORDS[self.metric]

    @property
    def meets(self) -> bool | None:
        """True if the intervals have a value in common; None without a prediction."""
        if self.predicted is None:
            return None
        return self.predicted.low <= self.measured.high and self.measured.low <= self.predicted.high

    @property
    def predicted_text(self) -> str:
        """Returns `-31.0 % (-33.1 % to -29.8 %)`; a dash if nothing was predicted."""
        return change_text(self.predicted) if self.predicted else "–"

    @property
    def measured_text(self) -> str:
        return effect_text(self.measured)

    @property
    def sentence(self) -> str:
        """Returns `CPU was predicted at … and came out at …: the intervals meet.`"""
        words = self.words[0].upper() + self.words[1:]
        if self.predicted is None:
            return f"{words} came out at {change_text(self.measured)}; there was no prediction for it."
        if self.meets:
            how = "the intervals meet"
        else:
            better = self.measured.median < self.predicted.median
            how = f"the intervals do not meet, it came out {'better' if better else 'worse'} than predicted"
        predicted, measured = change_text(self.predicted), change_text(self.measured)
        return f"{words} was predicted at {predicted} and came out at {measured}: {how}."


@dataclass(frozen=True)
class PredictionOutcome:
    """The outcome of two builds for a report: a line for each metric, and the heading."""

    builds: Builds
    lines: Sequence[Line]

    @classmethod
    def of(cls, builds: Builds) -> PredictionOutcome:
        """Returns the lines of the metrics that were measured."""
        predicted = builds.prediction.effects if builds.prediction else {}
        measured = {metric: _known(builds.measured.get(metric)) for metric in WORDS}
        return cls(builds, [Line(m, predicted.get(m), found) for m, found in measured.items() if found is not None])

    @property
    def heading(self) -> str:
        """Returns `Predicted and came out (11 rounds of build-b/app against build-a/app)`."""
        builds = self.builds
        rounds = plural(builds.rounds, "round")
        return (
            f"Predicted and came out ({rounds} of {builds.after.argv[0]} against {builds.before.argv[0]}, "
            f"run {builds.run})"
        )


def prediction_of(advice: Advice) -> ChangePrediction | None:
    """Returns the prediction of an advice for a changed build, by metric; None if it tried no plan and advises none.

    Takes the change of the source if there is one, even if the advice prefers a malloc, because two builds differ by
    that. Uses the figures of a plan that was tried but not advised, too: a user may have made the change anyway.
    """
    chosen, net = advice.choice, advice.sums.get("net")
    if chosen is None:
        return None
    has_source_change = advice.choices is not None and advice.choices.source_change is not None
    kind = PLAN if has_source_change else chosen.kind
    if kind == MALLOC:
        effects = {"cpu_seconds": _known(chosen.cpu), "peak_bytes": _known(chosen.peak)}
        words = f"{chosen.name} as the program's malloc"
    else:
        effects = {"cpu_seconds": _known(net), "peak_bytes": _known(net.peak if net else None)}
        has_arena = advice.plan_tried is not None and advice.plan_tried.has_arena
        what, tried = ("an arena for a scope", "was") if has_arena else ("local pools", "were")
        words = what if kind == PLAN else f"{what}, which {tried} tried but not advised"
    known = {metric: found for metric, found in effects.items() if found}
    return ChangePrediction(advice.run or "", kind, words, known) if known else None


def _known(found: Estimate | None) -> PredictedMetric | None:
    """Returns the figures; None if nothing was measured."""
    known = found.known if found else None
    return (
        PredictedMetric(known.n, known.median, known.low, known.high, known.level, known.verdict, known.humps)
        if known
        else None
    )
