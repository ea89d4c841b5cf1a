# SPDX-License-Identifier: BSL-1.0
"""Replay's error: differences between mallocs as replay predicts them, against those that whole programs show.

    measured    PROGRAM under malloc X  −  PROGRAM under malloc Y        paired within a round
    predicted   its trace on malloc X   −  its trace on malloc Y         paired within a round
                + the resident code of library X − that of Y            in peak bytes: no heap event tells of it
    error       predicted − measured, as a share of the difference, and of what the program takes altogether

Replay predicts differences only, so only differences are held against it. The error of the last validation of a
machine widens every interval that rests on a replay there; without one, a stated default does.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import field

from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import OF_A_PROCESS
from millpond.rounds.interleaved_rounds import by_round
from millpond.statistics.order_statistics import Summary, summarise
from millpond.store.store import Misfit, Store
from millpond.system.machine import this_machine
from millpond.system.records import NULL, Record
from millpond.system.wording import list_text

SCHEMA = "millpond.validation/1"
KIND = "validation"
VALIDATED = ("cpu_seconds", "peak_bytes")
OF_DIFFERENCE = 0.25
OF_PROGRAM = 0.02

# What is taken for the error where nothing has been validated: a round figure, several times the bar.
DEFAULT_ERROR: Mapping[str, float] = {"cpu_seconds": 0.10, "peak_bytes": 0.10}
# Of fewer programs an error says little about the next one.
FEWEST_PROGRAMS = 5
# Of the errors seen, the one that nine in ten do not exceed.
_QUANTILE = 0.9
METHOD_SUFFIX = ", widened by replay's error"


@dataclass(frozen=True)
class Difference:
    """One program on two mallocs in one metric: `of` less `against`; `program` is what it takes under `against`."""

    program: str
    of: str
    against: str
    metric: str
    measured: Summary
    predicted: Summary
    whole: float

    @property
    def error(self) -> float:
        return self.predicted.median - self.measured.median

    @property
    def of_program(self) -> float:
        """The error as a share of what the whole program takes."""
        return abs(self.error) / self.whole if self.whole > 0 else float("inf")

    @property
    def of_difference(self) -> float | None:
        """The error as a share of the difference; None where no difference was measured."""
        return abs(self.error) / abs(self.measured.median) if self.measured.median != 0.0 else None

    @property
    def allowed(self) -> float:
        """The bar: a quarter of the difference, or 2 % of the program, whichever is larger."""
        return max(OF_DIFFERENCE * abs(self.measured.median), OF_PROGRAM * self.whole)

    @property
    def of_allowed(self) -> float:
        return abs(self.error) / self.allowed if self.allowed > 0 else float("inf")

    @property
    def decided(self) -> bool:
        """Whether the difference was measured finely enough for the bar; else its own noise may be all of the error."""
        return (self.measured.high - self.measured.low) / 2.0 <= self.allowed

    def to_json(self) -> dict[str, Any]:
        return {
            "program": self.program,
            "of": self.of,
            "against": self.against,
            "metric": self.metric,
            "unit": OF_A_PROCESS[self.metric],
            "measured": self.measured.to_json(),
            "predicted": self.predicted.to_json(),
            "whole": self.whole,
            "error": self.error,
            "error_of_difference": self.of_difference,
            "error_of_program": self.of_program,
            "allowed": self.allowed,
            "holds": self.of_allowed <= 1.0,
            "decided": self.decided,
        }


def difference(
    program: str,
    metric: str,
    measured: tuple[Sequence[Outcome], Cell, Cell],
    predicted: tuple[Sequence[Outcome], Cell, Cell],
    names: tuple[str, str],
    beside: float = 0.0,
) -> Difference | None:
    """The difference between two contenders as measured and as predicted; None where a side has no common round.

    `beside`: what is known to come on top of what a replay shows, in the metric's unit.
    """

    def paired(side: tuple[Sequence[Outcome], Cell, Cell], more: float) -> list[float]:
        of, against = by_round(side[0], side[1], metric), by_round(side[0], side[2], metric)
        return [of[i] - against[i] + more for i in sorted(of.keys() & against.keys())]

    left, right = paired(measured, 0.0), paired(predicted, beside)
    whole = list(by_round(measured[0], measured[2], metric).values())
    if not left or not right:
        return None
    return Difference(program, *names, metric, summarise(left), summarise(right), statistics.median(whole))


def summary_of(differences: Iterable[Difference]) -> dict[str, Any]:
    """By metric: the medians of the errors, whether the bar holds for the median, and the error that widens."""
    result: dict[str, Any] = {}
    all_of_them = list(differences)
    for metric in VALIDATED:
        found = [d for d in all_of_them if d.metric == metric]
        if not found:
            continue
        shares = sorted(d.of_program for d in found)
        relative = [d.of_difference for d in found if d.of_difference is not None]
        middle = statistics.median(d.of_allowed for d in found)
        result[metric] = {
            "differences": len(found),
            "programs": len({d.program for d in found}),
            "error_of_program": statistics.median(shares),
            "error_of_difference": statistics.median(relative) if relative else None,
            "error_of_allowed": middle,
            "within": sum(d.of_allowed <= 1.0 for d in found),
            "undecided": sum(not d.decided for d in found),
            "holds": middle <= 1.0,
            "widens_by": shares[min(len(shares) - 1, int(_QUANTILE * len(shares)))],
        }
    return result


class ErrorNote(Record, frozen=True):
    """By how much replay may be wrong, as an advice keeps it."""

    validated: bool = field(default_factory=bool)
    run: str | None = field(default_factory=NULL)
    programs: int = field(default_factory=int)
    values: dict[str, float] = field(default_factory=lambda: {})
    sentence: str = field(default_factory=str)


@dataclass(frozen=True)
class ReplayError:
    """By how much of what a program takes replay may be wrong, by metric. `run` is empty for the default."""

    values: Mapping[str, float]
    run: str = ""
    programs: int = 0

    @property
    def validated(self) -> bool:
        return bool(self.run)

    def of(self, metric: str) -> float:
        """For a metric; one that is not validated has the default of what it is most like."""
        fallback = "cpu_seconds" if metric.endswith("seconds") else "peak_bytes"
        return self.values.get(metric, self.values.get(fallback, DEFAULT_ERROR[fallback]))

    @property
    def sentence(self) -> str:
        """What a reader must know beside a figure of a replay."""
        shares = list_text([f"{100 * v:.1f} % in {m}" for m, v in self.values.items()])
        if not self.validated:
            return (
                f"Replay is not validated on this machine: its intervals are widened by {shares} of what the program "
                "takes, by default; `millpond doctor --validate` finds out what is right here."
            )
        return (
            f"Replay was held against {self.programs} programs on this machine: its intervals are widened by {shares} "
            "of what the program takes, which nine in ten of its errors did not exceed."
        )

    @property
    def note(self) -> ErrorNote:
        """As an advice keeps it."""
        return ErrorNote(self.validated, self.run or None, self.programs, dict(self.values), self.sentence)

    def to_json(self) -> dict[str, Any]:
        return self.note.to_json()


NOT_VALIDATED = ReplayError(DEFAULT_ERROR)


def replay_error(store: Store) -> ReplayError:
    """The error that the latest validation of this machine found, on FEWEST_PROGRAMS or more; else the default.

    O(observations): the store is asked for its runs.
    """
    for run in reversed(store.runs()):
        if run.experiment != KIND or run.machine != str(this_machine()):
            continue
        document = store.document(KIND, run.run)
        try:
            with store.fitting((KIND, run.run)):
                summary = (document or {}).get("summary") or {}
                values = {m: float(s["widens_by"]) for m, s in summary.items() if s.get("widens_by") is not None}
                programs = min((int(s.get("programs") or 0) for s in summary.values()), default=0)
        except Misfit:
            continue
        if values and programs >= FEWEST_PROGRAMS:
            return ReplayError({**DEFAULT_ERROR, **values}, run.run, programs)
    return NOT_VALIDATED


def widen(summary: Summary, by: float) -> Summary:
    """The summary with its interval widened by `by` (in its own unit) at both ends; what spans zero then, does so."""
    if by < 0:
        raise ValueError("an interval is never made narrower")
    method = summary.method if summary.method.endswith(METHOD_SUFFIX) else summary.method + METHOD_SUFFIX
    return replace(summary, low=summary.low - by, high=summary.high + by, method=method)
