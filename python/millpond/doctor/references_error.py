# SPDX-License-Identifier: BSL-1.0
"""Error of predictions from recorded references: the document of `millpond doctor --validate --references`.

    misses, faults   predicted for malloc X from a recording on another  /  Cachegrind's on X           - 1
    seconds          predicted CPU on X / predicted CPU on glibc         /  the same ratio as measured  - 1

The predicted ratio of CPU time comes from the time model with this machine's latencies. The half-width is chosen so
that nine in ten of the validated programs have all their measured ratios within it, around the predicted ones: it
gives the interval of a prediction. Programs are counted, not ratios, because the mallocs of one program err together.
A check leaves one program out at a time, to see whether the interval also covers programs that it was not made from.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import field

from millpond.rounds.predicted_misses import MEDIAN_PERCENT, WORST_PERCENT
from millpond.rounds.replay_data import ErrorNote
from millpond.statistics.order_statistics import Summary, rank_correlation
from millpond.store.store import Store
from millpond.system.machine_facts import Place
from millpond.system.records import NONE, Record

Schema = Literal["millpond.references_validation/1"]
SCHEMA: Schema = "millpond.references_validation/1"
KIND = "references_validation"
Metric = Literal["misses", "page_faults"]
METRICS: tuple[Metric, ...] = ("misses", "page_faults")
COVERED = 0.9  # the share of programs whose measured ratios the interval around the predicted ones must contain
RATIO = "cpu_ratio"  # the key of the half-width in an ErrorNote
# The half-width without a validation: a round figure.
DEFAULT_HALF_WIDTH = 0.5
# With fewer programs, an error says little about the next program.
FEWEST_PROGRAMS = 5


class CountedPair(Record, frozen=True):
    """The misses or faults of one cache or memory in one environment: predicted and true."""

    predicted: int
    truth: int


class PredictedCount(Record, frozen=True, kw_only=True):
    """One program on one malloc in one cache, or in one memory of pages: the predicted count and that of Cachegrind.

    `environments`: one pair for each size of the environment; `predicted`, `truth`: their medians. `error_percent`:
    the median of the absolute errors, and `worst_percent` the largest. `spread_percent`: half of the range of the
    truth over environments.
    """

    program: str
    malloc: str
    recorded_on: str
    metric: Metric
    cache: str
    cache_bytes: int
    ways: int
    line_bytes: int
    environments: tuple[CountedPair, ...]
    predicted: float
    truth: float
    error_percent: float
    worst_percent: float
    spread_percent: float
    holds: bool


class PredictedSeconds(Record, frozen=True, kw_only=True):
    """The CPU time of one program on one malloc. Ratios are to glibc; the measured one is paired within rounds. None
    for glibc.
    """

    program: str
    malloc: str
    predicted: float
    measured: Summary
    predicted_ratio: float | None
    measured_ratio: Summary | None
    error_percent: float | None


class ProgramRanks(Record, frozen=True):
    """Spearman's rank correlation of predicted and measured CPU time over a program's mallocs; None if all equal."""

    program: str
    mallocs: int
    rank_correlation: float | None


class CountSummary(Record, frozen=True, kw_only=True):
    """The errors of all rows of one metric, compared with the bars: the median, and the worst row."""

    rows: int
    programs: int
    median_percent: float
    worst_percent: float
    within: int
    holds: bool


class SecondsSummary(Record, frozen=True, kw_only=True):
    """The errors of CPU ratios. `half_width`: a share of the predicted ratio; nine in ten programs lie within it.

    `covered`, `checked`: how many measured ratios lie within the half-width of the other programs, out of how many.
    """

    ratios: int
    programs: int
    median_percent: float
    worst_percent: float
    half_width: float
    covered: int
    checked: int

    @property
    def coverage(self) -> float | None:
        """The share covered; None for a single program, which leaves no others."""
        return self.covered / self.checked if self.checked else None


class ValidatedReferences(Record, frozen=True, kw_only=True):
    """A program whose predictions were compared with the truth. `pages`: the pages that it touches on glibc."""

    name: str
    command: tuple[str, ...]
    pages: int
    environments: int
    rounds: int


class ReferencesValidation(Record, frozen=True, kw_only=True):
    """Predictions from references, compared with real programs."""

    schema: Schema
    run: str
    machine: str
    version: str
    time_utc: str
    mallocs: tuple[Place, ...]
    programs: tuple[ValidatedReferences, ...]
    counts: tuple[PredictedCount, ...]
    seconds: tuple[PredictedSeconds, ...]
    ranks: tuple[ProgramRanks, ...]
    summary: dict[str, CountSummary]
    seconds_summary: SecondsSummary | None
    notes: tuple[str, ...] = field(default_factory=NONE)


def summary_of(rows: Sequence[PredictedCount]) -> dict[str, CountSummary]:
    """The summary of each metric; a metric without rows is left out."""
    result: dict[str, CountSummary] = {}
    for metric in METRICS:
        found = [row for row in rows if row.metric == metric]
        if not found:
            continue
        median, worst = statistics.median(r.error_percent for r in found), max(r.error_percent for r in found)
        result[metric] = CountSummary(
            rows=len(found), programs=len({r.program for r in found}), median_percent=median, worst_percent=worst,
            within=sum(r.holds for r in found), holds=median <= MEDIAN_PERCENT and worst <= WORST_PERCENT,
        )  # fmt: skip
    return result


def ranks_of(rows: Sequence[PredictedSeconds]) -> tuple[ProgramRanks, ...]:
    """The ranks of each program that has two or more mallocs."""
    result = []
    for name in dict.fromkeys(row.program for row in rows):
        own = [row for row in rows if row.program == name]
        if len(own) > 1:
            correlation = rank_correlation([r.predicted for r in own], [r.measured.median for r in own])
            result.append(ProgramRanks(name, len(own), correlation))
    return tuple(result)


def seconds_summary_of(rows: Sequence[PredictedSeconds]) -> SecondsSummary | None:
    """The summary of the rows; None if no row has ratios."""
    found = [row for row in rows if row.error_percent is not None]
    if not found:
        return None
    errors = [abs(row.error_percent or 0.0) for row in found]
    distances: dict[str, list[float]] = {}
    for row in found:
        distances.setdefault(row.program, []).append(_distance(row))
    covered, checked = leave_one_out(distances)
    return SecondsSummary(
        ratios=len(found), programs=len(distances), median_percent=statistics.median(errors), worst_percent=max(errors),
        half_width=half_width(distances), covered=covered, checked=checked,
    )  # fmt: skip


def _distance(row: PredictedSeconds) -> float:
    """The distance of the measured ratio from the predicted one, as a share of the predicted one."""
    assert row.predicted_ratio is not None and row.measured_ratio is not None
    return abs(row.measured_ratio.median / row.predicted_ratio - 1.0)


def half_width(distances: Mapping[str, Sequence[float]]) -> float:
    """The least half-width that contains all distances of nine in ten programs and of one more like them. For fewer
    than nine programs, the largest distance, which covers less.
    """
    worst = sorted(max(own) for own in distances.values())
    return worst[min(len(worst), math.ceil(COVERED * (len(worst) + 1))) - 1]


def leave_one_out(distances: Mapping[str, Sequence[float]]) -> tuple[int, int]:
    """The number of distances that lie within the half-width of all other programs, and the number of all distances."""
    covered = checked = 0
    for name, own in distances.items():
        others = {other: found for other, found in distances.items() if other != name}
        if others:
            width = half_width(others)
            covered += sum(each <= width for each in own)
            checked += len(own)
    return covered, checked


@dataclass(frozen=True)
class ReferencesError:
    """The half-width around a predicted CPU ratio, as a share of it. `run` is empty for the default."""

    half_width: float = DEFAULT_HALF_WIDTH
    run: str = ""
    programs: int = 0
    coverage: float | None = None

    @property
    def validated(self) -> bool:
        return bool(self.run)

    def interval(self, ratio: float) -> tuple[float, float]:
        """The interval around a predicted ratio."""
        return ratio * max(0.0, 1.0 - self.half_width), ratio * (1.0 + self.half_width)

    @property
    def sentence(self) -> str:
        """The caveat that a reader needs next to a predicted CPU ratio."""
        if not self.validated:
            return (
                "Predictions from references are not validated on this machine: their intervals are "
                f"± {100 * self.half_width:.0f} % of the predicted ratio by default; "
                "`millpond doctor --validate --references` measures the error here."
            )
        checked = ""
        if self.coverage is not None:
            checked = f"; for programs left out of the fit, it covered {100 * self.coverage:.0f} % of the ratios"
        return (
            f"Predictions from references were compared with {self.programs} programs on this machine: intervals are "
            f"± {100 * self.half_width:.1f} % of the predicted ratio, which covers nine in ten programs{checked}."
        )

    @property
    def note(self) -> ErrorNote:
        """The record for a document; the half-width is `values[RATIO]`."""
        return ErrorNote(self.validated, self.run or None, self.programs, {RATIO: self.half_width}, self.sentence)


NOT_VALIDATED = ReferencesError()


def references_error(store: Store) -> ReferencesError:
    """The error that the latest validation on this machine found for FEWEST_PROGRAMS or more; else the default.

    `.interval(ratio)` is the interval around a predicted CPU ratio; `.note` is the record for a document.
    O(validations).
    """
    for run, found in store.records(KIND, ReferencesValidation.from_json, here=True):
        summary = found.seconds_summary
        if summary is not None and summary.programs >= FEWEST_PROGRAMS:
            return ReferencesError(summary.half_width, run, summary.programs, summary.coverage)
    return NOT_VALIDATED
