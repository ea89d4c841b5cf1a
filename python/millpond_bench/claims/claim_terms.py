# SPDX-License-Identifier: BSL-1.0
"""The terms of a rule: a number for each round at every point that a statement is about.

figures by place, metric, round ── kind of the rule ──▶ terms ── claim_rules ──▶ one figure, or the worst of them

ratio   `of` / `against` at a point, or only `of`          growth   the same at `last` on `axis` / at `first`
step    the same at one value on `axis` / at the one before it, where that changes most
lead    the smallest figure of `of` / the smallest of the others of `among`: below 1 if `of` is first
rank    Spearman's correlation of `metric` with `other_metric` over all of `of`
fails   1 if `of` ran out of memory, 0 if it did not; a cell that was refused or killed gives no value
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from millpond.statistics.order_statistics import rank_correlation
from millpond_bench.claims.claims import Claim
from millpond_bench.experiments.experiment_data import Place, Point
from millpond_bench.experiments.result_table import PlaceTable, quotients

# The status of a cell that ran out of memory, in our suites and in the paper.
RAN_OUT = ("bad_alloc", "fail")
# The cell ended normally, if the figure itself does not tell.
RAN = "ran"
Rounds = Mapping[int, float]


@dataclass(frozen=True)
class Term:
    """A value for each round, and the places that it rests on."""

    rounds: Rounds
    places: tuple[Place, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rounds.values())

    def name(self, figures: PlaceTable) -> str:
        """The cells that it is about, in words: one, or one against another."""
        names = [figures.names.get(place) or _name(place) for place in self.places]
        return " against ".join(dict.fromkeys([names[0], names[-1]]))


def _name(place: Place) -> str:
    point, strategy = place
    return f"{strategy} at {', '.join(f'{name} {value}' for name, value in point)}"


def terms_of(claim: Claim, figures: PlaceTable) -> list[Term]:
    """Every term that has at least one round. O(figures × pairs)."""
    return [term for term in _TERMS[claim.kind](claim, figures) if term.rounds]


def _points(claim: Claim, figures: PlaceTable, takes: Callable[[Point], bool]) -> Iterable[Point]:
    return [p for p in dict.fromkeys(at for at, _ in [*figures.keys(claim.metric), *figures.failed]) if takes(p)]


def _quotient(claim: Claim, figures: PlaceTable, point: Point, of: str, against: str) -> Rounds:
    above = figures.by_round((point, of), claim.metric)
    return quotients(above, figures.by_round((point, against), claim.metric)) if against else above


def _places(points: Iterable[Point], names: Sequence[str]) -> tuple[Place, ...]:
    return tuple((point, name) for point in points for name in names if name)


def _ratios(claim: Claim, figures: PlaceTable) -> Iterator[Term]:
    for point in _points(claim, figures, claim.matches):
        for pair in claim.pairs():
            yield Term(_quotient(claim, figures, point, *pair), _places([point], pair))


def _growths(claim: Claim, figures: PlaceTable) -> Iterator[Term]:
    for point in _points(
        claim, figures, lambda p: claim.matches(p, claim.axis) and dict(p).get(claim.axis) == claim.first
    ):
        last = tuple((name, claim.last if name == claim.axis else value) for name, value in point)
        for pair in claim.pairs():
            before, after = (_quotient(claim, figures, at, *pair) for at in (point, last))
            yield Term(quotients(after, before), _places((point, last), pair))


def _steps(claim: Claim, figures: PlaceTable) -> Iterator[Term]:
    """The step that changes most in the direction of the bound, for each pair and each row of points along the axis."""
    rows: dict[Point, list[Point]] = {}
    for point in _points(claim, figures, claim.matches):
        rows.setdefault(tuple(pair for pair in point if pair[0] != claim.axis), []).append(point)
    for points in rows.values():
        ordered = sorted(points, key=lambda point: int(dict(point)[claim.axis]))
        for pair in claim.pairs():
            found = [Term(quotients(_quotient(claim, figures, after, *pair), _quotient(claim, figures, before, *pair)),
                          _places((before, after), pair))
                     for before, after in pairwise(ordered)]  # fmt: skip
            measured = [term for term in found if term.rounds]
            if measured:
                falls = math.isinf(claim.low)
                yield (min if falls else max)(measured, key=lambda term: term.median)


def _leads(claim: Claim, figures: PlaceTable) -> Iterator[Term]:
    others = [name for name in claim.among if name not in claim.of]
    for point in _points(claim, figures, claim.matches):
        rivals = {
            name: found for name in (*claim.of, *others) if (found := figures.by_round((point, name), claim.metric))
        }
        if len(rivals) < len(others) + len(claim.of):
            continue  # an absent strategy cannot have lost
        rounds = set[int].intersection(*(set(found) for found in rivals.values()))
        leads = {n: least / min(rivals[name][n] for name in others)
                 for n in rounds if (least := min(rivals[name][n] for name in claim.of)) > 0.0}  # fmt: skip
        yield Term(leads, _places([point], [*claim.of, *others]))


def _ranks(claim: Claim, figures: PlaceTable) -> Iterator[Term]:
    for point in _points(claim, figures, claim.matches):
        pairs = [(figures.by_round((point, name), claim.metric), figures.by_round((point, name), claim.other_metric))
                 for name in claim.of]  # fmt: skip
        if not all(one and other for one, other in pairs):
            continue  # without some of them, the order would be another one
        rounds = set[int].intersection(*(set(each) for pair in pairs for each in pair))
        found = {n: rank_correlation([one[n] for one, _ in pairs], [other[n] for _, other in pairs]) for n in rounds}
        yield Term({n: value for n, value in found.items() if value is not None}, _places([point], claim.of))


def _failures(claim: Claim, figures: PlaceTable) -> Iterator[Term]:
    for place in [(p, of) for p in _points(claim, figures, claim.matches) for of in claim.of]:
        word = figures.failed.get(place, RAN if figures.by_round(place, claim.metric) else "")
        if word == RAN or word in RAN_OUT:
            yield Term({0: float(word in RAN_OUT)}, (place,))


_TERMS: Mapping[str, Callable[[Claim, PlaceTable], Iterator[Term]]] = {
    "ratio": _ratios, "growth": _growths, "step": _steps, "lead": _leads, "rank": _ranks, "fails": _failures,
}  # fmt: skip
