# SPDX-License-Identifier: BSL-1.0
"""Premises: what a statement supposes of the program on which it is judged, measured at every point of the run.

    claims/grunwald1993.toml ─▶ [premise.allocation]: conditions on metrics ─▶ points that fail are no evidence
                                                                               └─ none is left ─▶ no verdict

A study of programs that allocate much says nothing about a program that hardly allocates. A statement therefore names
a premise, or says `none`. The paper's own figures are judged without: they are what the premise describes.

A point at which a condition has no figure stays; the verdict says that its premise was not measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from msgspec import field

from millpond.system.records import Record
from millpond_bench.claims.claims import Claim, claims_file, fits
from millpond_bench.experiments.bench_document import Number
from millpond_bench.experiments.experiment_data import Point
from millpond_bench.experiments.result_table import PlaceTable, ResultTable, quotients

# The premise of a statement that supposes nothing.
NONE = "none"
_SHOWN = 6
_NAMED = 3


class PremiseCondition(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bound for the figures of strategies at a point, or for their quotients by that of another one.

    Each strategy of `of` that was measured must keep it. `metric`: if not the experiment's figure. `where`: the points
    that it is about, as in a rule; all if it is empty.
    """

    of: tuple[str, ...]
    against: str = ""
    metric: str = ""
    where: dict[str, Any] = field(default_factory=dict)
    low: Number | None = None
    high: Number | None = None

    def text(self) -> str:
        """`objects_allocated of BSD at least 100000 (program MAKE)`; a long list of places is only counted."""
        figure = f"{self.metric or 'the figure'} of {', '.join(self.of)}"
        against = f" by that of {self.against}" if self.against else ""
        ends = [f"{word} {end:.12g}" for word, end in (("at least", self.low), ("at most", self.high))
                if end is not None]  # fmt: skip
        about = ", ".join(f"{name} {_words(value)}" for name, value in self.where.items())
        return f"{figure}{against} {' and '.join(ends)}{f' ({about})' if about else ''}"

    def keeps(self, value: float) -> bool:
        """True if a value lies within the bound."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def figures_at(self, figures: PlaceTable, point: Point, names: Callable[[str], str]) -> list[float]:
        """The median over the rounds of each strategy that was measured."""
        below = figures.by_round((point, names(self.against)), self.metric) if self.against else None
        found = [figures.by_round((point, names(name)), self.metric) for name in self.of]
        rounds = found if below is None else [quotients(one, below) for one in found]
        return [statistics.median(one.values()) for one in rounds if one]


class Premise(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions that all must hold at a point. `subject`: the axis whose values name what is left out. `along`: an
    axis; where a condition fails at one point on it, the others on it are left out as well.
    """

    text: str
    subject: str = ""
    along: str = ""
    conditions: tuple[PremiseCondition, ...]

    def wording(self) -> str:
        """The premise with its conditions, for a reader."""
        return f"{self.text}: {'; '.join(condition.text() for condition in self.conditions)}"


@dataclass(frozen=True)
class PremiseCheck:
    """The figures at the points where a premise holds. `failed`: the others, in words with the measured figures;
    `unknown`: True if a condition was measured nowhere.
    """

    figures: PlaceTable
    failed: tuple[str, ...] = ()
    unknown: bool = False

    def failed_text(self) -> str:
        """`GS: objects_allocated 3869`, for each subject that fails."""
        more = f" and {len(self.failed) - _SHOWN} more" if len(self.failed) > _SHOWN else ""
        return f"{'; '.join(self.failed[:_SHOWN])}{more}"


@cache
def premises_of(file: str) -> Mapping[str, Premise]:
    """The premises that the statements of a file name. ValueError for an unknown key."""
    return {name: Premise.from_json(given) for name, given in claims_file(file).get("premise", {}).items()}


def premise_of(claim: Claim, file: str) -> Premise | None:
    """The premise of a statement; None if it supposes nothing. KeyError for a name that the file does not define."""
    return None if claim.premise in ("", NONE) else premises_of(file)[claim.premise]


def check_premise(
    claim: Claim, premise: Premise | None, figures: PlaceTable, names: Callable[[str], str]
) -> PremiseCheck:
    """The figures on which a statement may be judged. `names`: our strategy for a name of the paper.

    O(figures × conditions).
    """
    if premise is None:
        return PremiseCheck(figures)
    points = [p for p in dict.fromkeys(at for at, _ in (*figures.values, *figures.failed))
              if claim.matches(p, claim.axis)]  # fmt: skip
    failed: dict[str, str] = {}
    out: set[Point] = set()
    asked, known = set[int](), set[int]()
    for point in points:
        for number, condition in _about(premise.conditions, point):
            asked.add(number)
            found = condition.figures_at(figures, point, names)
            known |= {number} if found else set()
            broken = [value for value in found if not condition.keeps(value)]
            if broken:
                out.add(_row(premise, point))
                failed.setdefault(_subject(premise, point), f"{condition.metric or 'figure'} {broken[0]:.6g}")
    kept = [point for point in points if _row(premise, point) not in out] if out else points
    return PremiseCheck(_only(figures, {*points} - {*kept}), tuple(f"{name}: {why}" for name, why in failed.items()),
                   asked != known)  # fmt: skip


def _row(premise: Premise, point: Point) -> Point:
    """The point without the axis along which a failure counts for all."""
    return tuple(pair for pair in point if pair[0] != premise.along)


def _about(conditions: Iterable[PremiseCondition], point: Point) -> Iterator[tuple[int, PremiseCondition]]:
    at = dict(point)
    for number, condition in enumerate(conditions):
        if all(fits(at.get(name), wanted, at) for name, wanted in condition.where.items()):
            yield number, condition


def _subject(premise: Premise, point: Point) -> str:
    at = dict(point)
    return str(at[premise.subject]) if premise.subject in at else ", ".join(f"{name} {v}" for name, v in point)


def _only(figures: PlaceTable, without: set[Point]) -> PlaceTable:
    if not without:
        return figures
    return ResultTable({place: found for place, found in figures.values.items() if place[0] not in without},
                       {place: status for place, status in figures.failed.items() if place[0] not in without},
                       figures.why, figures.names)  # fmt: skip


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {end}" for name, end in value.items())
    if not isinstance(value, list):
        return str(value)
    return ", ".join(map(str, value)) if len(value) <= _NAMED else f"one of {len(value)}"
