# SPDX-License-Identifier: BSL-1.0
"""Replay's error: the differences between mallocs that replay predicts, compared with those of whole programs.

    measured    PROGRAM under malloc X  −  PROGRAM under malloc Y        paired within a round
    predicted   its trace on malloc X   −  its trace on malloc Y         paired within a round
                + the resident code of library X − that of Y            in peak bytes: no heap event shows it
    error       predicted − measured, as a share of the difference, and of what the program takes altogether

Replay predicts only differences, so only differences are compared. The error of a machine's last validation widens
every interval that rests on a replay there; without a validation, a stated default does.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import field
from msgspec.structs import replace

from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import OF_A_PROCESS
from millpond.rounds.interleaved_rounds import by_round
from millpond.rounds.replay_data import ErrorNote
from millpond.statistics.order_statistics import Summary, summarise
from millpond.store.store import Store
from millpond.system.machine_facts import Place
from millpond.system.records import NONE, Record
from millpond.system.wording import list_text

Schema = Literal["millpond.validation/1"]
SCHEMA: Schema = "millpond.validation/1"
KIND = "validation"
VALIDATED = ("cpu_seconds", "peak_bytes")
OF_DIFFERENCE = 0.25
OF_PROGRAM = 0.02

# The error without a validation: a round figure, several times the bar.
DEFAULT_ERROR: Mapping[str, float] = {"cpu_seconds": 0.10, "peak_bytes": 0.10}
# With fewer programs, an error says little about the next program.
FEWEST_PROGRAMS = 5
# The quantile of the observed errors: nine in ten do not exceed it.
_QUANTILE = 0.9
METHOD_SUFFIX = ", widened by replay's error"


class Difference(Record, frozen=True, kw_only=True):
    """One program on two mallocs in one metric: `of` minus `against`; `whole` is the program's value under `against`.

    `error_of_difference` and `error_of_program`: the error as a share of the difference (None if none was measured)
    and of the whole. `allowed` is the bar: a quarter of the difference, or 2 % of the program, whichever is larger.
    `decided`: the difference was measured precisely enough for the bar; else its own noise may be all of the error.
    """

    program: str
    of: str
    against: str
    metric: str
    unit: str
    measured: Summary
    predicted: Summary
    whole: float
    error: float
    error_of_difference: float | None
    error_of_program: float
    allowed: float
    holds: bool
    decided: bool = field(default_factory=lambda: True)  # older validations did not say

    @classmethod
    def between(cls, program: str, of: str, against: str, metric: str, measured: Summary, predicted: Summary,
                whole: float) -> Difference:  # fmt: skip
        """Builds the difference of both sides, and its error."""
        error = predicted.median - measured.median
        allowed = max(OF_DIFFERENCE * abs(measured.median), OF_PROGRAM * whole)
        return cls(
            program=program, of=of, against=against, metric=metric, unit=OF_A_PROCESS[metric], measured=measured,
            predicted=predicted, whole=whole, error=error,
            error_of_difference=abs(error) / abs(measured.median) if measured.median != 0.0 else None,
            error_of_program=abs(error) / whole if whole > 0 else float("inf"), allowed=allowed,
            holds=allowed > 0 and abs(error) / allowed <= 1.0,
            decided=(measured.high - measured.low) / 2.0 <= allowed,
        )  # fmt: skip

    @property
    def of_allowed(self) -> float:
        """The error as a share of the bar."""
        return abs(self.error) / self.allowed if self.allowed > 0 else float("inf")


class ErrorSummary(Record, frozen=True, kw_only=True):
    """The medians of the errors in one metric, whether they meet the bar, and the error that widens intervals."""

    differences: int
    programs: int
    error_of_program: float
    error_of_difference: float | None
    error_of_allowed: float
    within: int
    undecided: int = field(default_factory=int)
    holds: bool
    widens_by: float


class ValidatedProgram(Record, frozen=True):
    """A program that replay was compared with; `rounds`: how many were measured and predicted."""

    name: str
    command: tuple[str, ...]
    events: int | None
    rounds: dict[str, int]


class Validation(Record, frozen=True, kw_only=True):
    """Replay compared with real programs."""

    schema: Schema
    run: str
    machine: str
    version: str
    time_utc: str
    mallocs: tuple[Place, ...]
    library_bytes: dict[str, float]
    programs: tuple[ValidatedProgram, ...]
    differences: tuple[Difference, ...]
    summary: dict[str, ErrorSummary]
    notes: tuple[str, ...] = field(default_factory=NONE)


def difference(
    program: str,
    metric: str,
    measured: tuple[Sequence[Outcome], Cell, Cell],
    predicted: tuple[Sequence[Outcome], Cell, Cell],
    names: tuple[str, str],
    extra: float = 0.0,
) -> Difference | None:
    """The measured and the predicted difference between two contenders; None if they share no round on one side.

    `extra`: a known amount that comes on top of what a replay shows, in the metric's unit.
    """

    def paired(side: tuple[Sequence[Outcome], Cell, Cell], more: float) -> list[float]:
        of, against = by_round(side[0], side[1], metric), by_round(side[0], side[2], metric)
        return [of[i] - against[i] + more for i in sorted(of.keys() & against.keys())]

    left, right = paired(measured, 0.0), paired(predicted, extra)
    whole = list(by_round(measured[0], measured[2], metric).values())
    if not left or not right:
        return None
    return Difference.between(program, *names, metric, summarise(left), summarise(right), statistics.median(whole))


def summary_of(differences: Sequence[Difference]) -> dict[str, ErrorSummary]:
    """The summary of each metric; a metric without differences is left out."""
    result: dict[str, ErrorSummary] = {}
    for metric in VALIDATED:
        found = [d for d in differences if d.metric == metric]
        if not found:
            continue
        shares = sorted(d.error_of_program for d in found)
        relative = [d.error_of_difference for d in found if d.error_of_difference is not None]
        middle = statistics.median(d.of_allowed for d in found)
        result[metric] = ErrorSummary(
            differences=len(found),
            programs=len({d.program for d in found}),
            error_of_program=statistics.median(shares),
            error_of_difference=statistics.median(relative) if relative else None,
            error_of_allowed=middle,
            within=sum(d.holds for d in found),
            undecided=sum(not d.decided for d in found),
            holds=middle <= 1.0,
            widens_by=shares[min(len(shares) - 1, int(_QUANTILE * len(shares)))],
        )
    return result


@dataclass(frozen=True)
class ReplayError:
    """The error of replay by metric, as a share of what a program takes. `run` is empty for the default."""

    values: Mapping[str, float]
    run: str = ""
    programs: int = 0

    @property
    def validated(self) -> bool:
        return bool(self.run)

    def of(self, metric: str) -> float:
        """The error in a metric; a metric that is not validated has the default of the metric most like it."""
        fallback = "cpu_seconds" if metric.endswith("seconds") else "peak_bytes"
        return self.values.get(metric, self.values.get(fallback, DEFAULT_ERROR[fallback]))

    @property
    def sentence(self) -> str:
        """The caveat that a reader needs next to a figure of a replay."""
        shares = list_text([f"{100 * v:.1f} % in {m}" for m, v in self.values.items()])
        if not self.validated:
            return (
                f"Replay is not validated on this machine: its intervals are widened by {shares} of what the program "
                "takes by default; `millpond doctor --validate` measures the error here."
            )
        return (
            f"Replay was compared with {self.programs} programs on this machine: its intervals are widened by {shares} "
            "of what the program takes; nine in ten of its errors were smaller."
        )

    @property
    def note(self) -> ErrorNote:
        """The record for a document."""
        return ErrorNote(self.validated, self.run or None, self.programs, dict(self.values), self.sentence)


NOT_VALIDATED = ReplayError(DEFAULT_ERROR)


def replay_error(store: Store) -> ReplayError:
    """The error that the latest validation on this machine found for FEWEST_PROGRAMS or more; else the default.

    O(validations).
    """
    for run, found in store.records(KIND, Validation.from_json, here=True):
        programs = min((s.programs for s in found.summary.values()), default=0)
        if programs >= FEWEST_PROGRAMS:
            return ReplayError({**DEFAULT_ERROR, **{m: s.widens_by for m, s in found.summary.items()}}, run, programs)
    return NOT_VALIDATED


def widen(summary: Summary, by: float) -> Summary:
    """The summary with its interval widened by `by` (in its own unit) at both ends; its verdict changes if the
    interval then contains zero.
    """
    if by < 0:
        raise ValueError("an interval cannot be made narrower")
    method = summary.method if summary.method.endswith(METHOD_SUFFIX) else summary.method + METHOD_SUFFIX
    return replace(summary, low=summary.low - by, high=summary.high + by, method=method)
