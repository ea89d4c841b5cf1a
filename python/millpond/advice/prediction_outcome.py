# SPDX-License-Identifier: BSL-1.0
"""How a prediction came out: what an advice had predicted, next to what two builds of the program then measured.

    advice of BEFORE ──▶ predicted CPU and peak ─┐
    rounds of BEFORE and AFTER ──▶ measured ─────┴─▶ "millpond.builds/1", kept in the store under the advice's run

The document is made by `millpond compare --after` and shown by it and by `millpond report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET, UnsetType, field

from millpond.advice.advice_data import Advice, Change, Estimate
from millpond.advice.decision import MALLOC, PLAN
from millpond.statistics.humps import Hump
from millpond.system.records import NONE, NULL, Record
from millpond.system.wording import change_text, effect_text, plural

Schema = Literal["millpond.builds/1"]
SCHEMA: Schema = "millpond.builds/1"
KIND = "outcomes"  # of document in the store
# Metric → its words in a sentence. Both are better when smaller.
WORDS = {"cpu_seconds": "CPU", "peak_bytes": "peak memory"}


class PredictedMetric(Record, frozen=True):
    """What is predicted of one metric: a ratio with its interval."""

    n: int
    median: float
    low: float
    high: float
    level: float
    verdict: str
    humps: tuple[Hump, ...] | UnsetType = UNSET


class ChangePrediction(Record, frozen=True):
    """What an advice predicts of a change of the program, by metric. `words`: what the change is."""

    run: str
    kind: str
    words: str
    effects: dict[str, PredictedMetric]


class BuildSide(Record, frozen=True):
    """One build."""

    argv: tuple[str, ...]
    build_id: str | None = field(default_factory=NULL)


class SameOutput(Record, frozen=True):
    """Whether both builds print the same; None where the program's output differs from run to run."""

    same: bool | None
    words: str


class OutcomeLine(Record, frozen=True):
    """How one metric came out, in a sentence."""

    metric: str
    intervals_meet: bool | None
    sentence: str


class Builds(Record, frozen=True, kw_only=True):
    """Two builds of a program, measured, next to what was predicted."""

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
    """One metric: what was predicted (None: nothing), what was measured, and whether the two intervals meet."""

    metric: str
    predicted: PredictedMetric | None
    measured: PredictedMetric

    @property
    def words(self) -> str:
        return WORDS[self.metric]

    @property
    def meets(self) -> bool | None:
        """Whether the intervals have a value in common; None without a prediction."""
        if self.predicted is None:
            return None
        return self.predicted.low <= self.measured.high and self.measured.low <= self.predicted.high

    @property
    def predicted_text(self) -> str:
        """`-31.0 % (-33.1 % to -29.8 %)`; a dash where nothing was predicted."""
        return change_text(self.predicted) if self.predicted else "–"

    @property
    def measured_text(self) -> str:
        return effect_text(self.measured)

    @property
    def sentence(self) -> str:
        """`CPU was predicted to change by … and came out at …: the intervals meet.`"""
        words = self.words[0].upper() + self.words[1:]
        if self.predicted is None:
            return f"{words} came out at {change_text(self.measured)}; nothing was predicted of it."
        if self.meets:
            how = "the intervals meet"
        else:
            better = self.measured.median < self.predicted.median
            how = f"the intervals do not meet, it came out {'better' if better else 'worse'} than predicted"
        predicted, measured = change_text(self.predicted), change_text(self.measured)
        return f"{words} was predicted at {predicted} and came out at {measured}: {how}."


@dataclass(frozen=True)
class PredictionOutcome:
    """What a report shows of two builds: a line for each metric, and the heading."""

    builds: Builds
    lines: Sequence[Line]

    @classmethod
    def of(cls, builds: Builds) -> PredictionOutcome:
        """The lines of the metrics that were measured."""
        predicted = builds.prediction.effects if builds.prediction else {}
        measured = {metric: _known(builds.measured.get(metric)) for metric in WORDS}
        return cls(builds, [Line(m, predicted.get(m), found) for m, found in measured.items() if found is not None])

    @property
    def heading(self) -> str:
        """`Predicted and came out (11 rounds of build-b/app against build-a/app)`."""
        builds = self.builds
        rounds = plural(builds.rounds, "round")
        return (
            f"Predicted and came out ({rounds} of {builds.after.argv[0]} against {builds.before.argv[0]}, "
            f"run {builds.run})"
        )


def prediction_of(advice: Advice) -> ChangePrediction | None:
    """What an advice predicts of a changed build, by metric; None where it tried no plan and advises none.

    That of the change of the source where there is one, whatever the advice would rather do: two builds differ by that.
    Of a plan that was tried and is not advised the figures count, too: somebody may have made the change all the same.
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
        words = what if kind == PLAN else f"{what}, which {tried} tried and not advised"
    known = {metric: found for metric, found in effects.items() if found}
    return ChangePrediction(advice.run or "", kind, words, known) if known else None


def _known(found: Estimate | None) -> PredictedMetric | None:
    """Its figures; None where nothing was measured."""
    known = found.known if found else None
    return (
        PredictedMetric(known.n, known.median, known.low, known.high, known.level, known.verdict, known.humps)
        if known
        else None
    )
