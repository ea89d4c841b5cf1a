# SPDX-License-Identifier: BSL-1.0
"""The statements of a published document, judged alike on what it printed and on what we measured.

    claims/p0089.toml ──▶ Claim: a rule and a bound ── on the published tables ──▶ one number: is our reading right?
                                                    └─ on ours, round by round ──▶ a median with its interval
    interval within the bound: holds · outside: does not hold · across it, or fewer than three rounds: undecided ·
    no such points: not measured, or cannot be tested here, where what surrounds the program there is missing

A rule has one of these kinds. `of` and `against` are strategies; `against` is one for all, or one for each.

    ratio      the geometric mean of `of` / `against` over the points that match, or of `of` alone
    largest    the largest of these quotients              smallest   the smallest
    share      the share of these quotients from `at_least` to `at_most`
    best_of    the share of the points at which the smallest figure of `among` is one of `of`
    growth     the same quotient at `last` on `axis` / at `first`: the geometric mean over all that is alike otherwise
    fails      the share of the points at which `of` came to no figure, because memory did not suffice
    each       a bar: the median of every row of the comparisons `of` keeps the bound (bars.py)
    untestable nothing here could tell; `missing` names what it would take

`where` has a value for an axis, a list of them, or a range: `from`, `to`, `below` another axis, or what it `is` on one.
Of what surrounds the program (`toolchain`, `malloc`) a statement that names none is about the usual one.
"""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal

from millpond.bench.experiment import Place, Point, PublishedSpec
from millpond.bench.result_table import PlaceTable, quotients
from millpond.cells.cell import SURROUNDINGS
from millpond.statistics.order_statistics import Summary, summarise

Kind = Literal["ratio", "largest", "smallest", "share", "best_of", "growth", "fails", "each", "untestable"]
Term = Mapping[int, float]
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
NOT_MEASURED, UNTESTABLE = "not measured", "cannot be tested here"
VERDICTS = (HOLDS, FAILS, UNDECIDED, NOT_MEASURED, UNTESTABLE)
FOLDER = "claims"
FEWEST_ROUNDS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Claim:
    """One statement. `low`, `high`: the bound, either may be absent. `metric`: of what, if not the experiment's figure.
    `paper_disagrees`: why the document's own figures do not bear it out. `published_lost`: why there are no published
    figures to look at. `exact`: what is counted and never varies, so that one round is enough. Of bars: the `unit` of
    the figure, and what is as good as the bound: `or_ideal`, so many times the ideal; `or_noise`, an interval that
    reaches it; `or_unseen`, bytes that the kernel does not show (`more` than the peer's, or `in all`); `also`: in
    words."""

    id: str
    experiment: str
    section: str
    statement: str
    kind: Kind
    of: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    axis: str = ""
    first: int | str = 0
    last: int | str = 0
    at_least: float = -math.inf
    at_most: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    metric: str = ""
    exact: bool = False
    missing: str = ""
    paper_disagrees: str = ""
    published_lost: str = ""
    unit: str = "×"
    or_ideal: float = 0.0
    or_noise: bool = False
    or_unseen: str = ""
    also: str = ""

    def accepts(self, value: float) -> bool:
        """Whether a number lies within the bound."""
        return self.low - _ROUNDING <= value <= self.high + _ROUNDING

    def pairs(self) -> list[tuple[str, str]]:
        """What is divided by what; an empty name where nothing divides."""
        against = self.against or ("",)
        return list(zip(self.of, against * len(self.of) if len(against) == 1 else against, strict=True))

    def matches(self, point: Point, but: str = "") -> bool:
        """Whether a point is one that the statement is about, whatever its value on the axis `but`."""
        at = dict(point)
        return all(_fits(at.get(name), wanted, at) for name, wanted in self.where.items() if name != but)

    def surroundings(self) -> set[str]:
        """What it names of what surrounds a program: without one of them it cannot be tested."""
        named = [value for name, value in self.where.items() if name in SURROUNDINGS]
        ends = [self.first, self.last] if self.axis in SURROUNDINGS else []
        return {str(one) for value in [*named, *ends] for one in (value if isinstance(value, list) else [value])}

    def bound_text(self) -> str:
        """`0.15 to 0.25`, `at most 1`."""
        if math.isinf(self.low):
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if math.isinf(self.high) else f"{self.low:g} to {self.high:g}"


def _fits(value: int | str | None, wanted: Any, at: Mapping[str, Any]) -> bool:
    """A number or a word, one of a list, or a range of numbers, whose ends may be other axes."""
    if value is None:
        return False
    if isinstance(wanted, Mapping):
        low, high = wanted.get("from", value), wanted.get("to", value)
        below, same = at.get(wanted.get("below", "")), at.get(wanted.get("is", ""))
        return bool(low <= value <= high) and (below is None or value < below) and (same is None or value == same)
    return value in (wanted if isinstance(wanted, list) else [wanted])


@dataclass(frozen=True)
class Verdict:
    """A claim with the document's figure and ours."""

    claim: Claim
    published: float | None
    ours: Summary | None
    verdict: str
    points: int
    evidence: tuple[str, ...]

    @property
    def published_satisfies(self) -> bool | None:
        return None if self.published is None else self.claim.accepts(self.published)

    def to_json(self) -> dict[str, Any]:
        """A row of `claims`; the bound's absent side is null."""
        claim = self.claim
        fields = ("kind", "metric", "of", "against", "among", "where", "axis", "first", "last")
        rule = {name: value for name in fields if (value := getattr(claim, name))}
        limits = {"at_least": _finite(claim.at_least), "at_most": _finite(claim.at_most)}
        rule |= {name: value for name, value in limits.items() if value is not None}
        return {
            "id": claim.id, "experiment": claim.experiment, "section": claim.section, "statement": claim.statement,
            "rule": rule, "low": _finite(claim.low), "high": _finite(claim.high), "published": self.published,
            "published_satisfies": self.published_satisfies, "paper_disagrees": claim.paper_disagrees or None,
            "published_lost": claim.published_lost or None,
            "ours": self.ours.to_json() if self.ours else None, "verdict": self.verdict,
            "missing": claim.missing or None, "points": self.points, "evidence": list(self.evidence),
        }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@cache
def _file(name: str) -> Mapping[str, Any]:
    return tomllib.loads((files("millpond.bench.suites") / FOLDER / name).read_text(encoding="utf-8"))


@cache
def load(name: str) -> tuple[Claim, ...]:
    """The claims of a document's file. ValueError for a claim with a word that none has."""
    return tuple(_claim(entry) for entry in _file(name)["claim"])


def heading(name: str) -> str:
    """Whose statements they are, for a reader: those of a document, or candidates of ours."""
    return str(_file(name)["heading"])


def _claim(entry: Mapping[str, Any]) -> Claim:
    known = Claim.__dataclass_fields__
    if unknown := entry.keys() - known:
        raise ValueError(f"the claim {entry.get('id')!r} has {', '.join(sorted(unknown))}, which no claim has")
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Claim(**given)


def judge_all(
    experiment: PublishedSpec,
    published: PlaceTable,
    ours: PlaceTable,
    missing: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """Every claim about this experiment. O(claims × figures).

    `missing`: surroundings and counters that were wanted and are not here, each with the reason.
    """
    claims = [claim for claim in load(experiment.claims) if claim.experiment == experiment.name]
    judged = [judge(claim, experiment, published, ours) for claim in claims]
    return [_untestable(one, missing or {}) if one.verdict == NOT_MEASURED else one for one in judged]


def _untestable(judged: Verdict, missing: Mapping[str, str]) -> Verdict:
    """Says what is missing, if that is why nothing was measured."""
    named = {*judged.claim.surroundings(), judged.claim.metric}
    reasons = dict.fromkeys(why for name, why in missing.items() if name in named)
    if not reasons:
        return judged
    return replace(judged, claim=replace(judged.claim, missing="; ".join(reasons)), verdict=UNTESTABLE)


def judge(claim: Claim, experiment: PublishedSpec, published: PlaceTable, ours: PlaceTable) -> Verdict:
    """One claim on both."""
    if claim.kind == "untestable":
        return Verdict(claim, None, None, UNTESTABLE, 0, ())
    printed = None if claim.published_lost else evaluate(claim, experiment, published)[0]
    found, used = evaluate(claim, experiment, ours)
    evidence = tuple(dict.fromkeys(ours.names.get(key, "") for key in used))
    if not found:
        return Verdict(claim, printed[0] if printed else None, None, NOT_MEASURED, 0, ())
    summary = summarise(found)
    return Verdict(claim, printed[0] if printed else None, summary, verdict_of(claim, summary), len(used), evidence)


def verdict_of(claim: Claim, ours: Summary) -> str:
    """Whether the interval lies within the bound, outside of it, or across. One round or two have no interval."""
    if ours.n < FEWEST_ROUNDS and claim.kind != "fails" and not claim.exact:
        return UNDECIDED
    if claim.accepts(ours.low) and claim.accepts(ours.high):
        return HOLDS
    return FAILS if ours.high < claim.low or ours.low > claim.high else UNDECIDED


def evaluate(claim: Claim, experiment: PublishedSpec, figures: PlaceTable) -> tuple[list[float], list[Place]]:
    """The rule's value in each round that all its terms have, and the figures that it rests on."""
    terms, used = _TERMS[claim.kind](_named(claim, experiment), experiment, figures)
    return per_round(terms, partial(_REDUCED[claim.kind], claim)), used


def per_round(terms: Sequence[Term], reduced: Callable[[Sequence[float]], float]) -> list[float]:
    """What the terms are reduced to in each round that all of them have."""
    common = set[int](terms[0]).intersection(*terms[1:]) if terms else set[int]()
    return [reduced([term[n] for term in terms]) for n in sorted(common)]


def _named(claim: Claim, experiment: PublishedSpec) -> Claim:
    """With canonical names in the place of the document's, and where the program's surroundings are the usual ones."""
    of, against, among = (tuple(map(experiment.canonical, names)) for names in (claim.of, claim.against, claim.among))
    usual = {name: value for name, value in experiment.usual if name != claim.axis}
    return replace(claim, of=of, against=against, among=among, where={**usual, **claim.where})


Terms = tuple[list[Term], list[Place]]


def _quotients(claim: Claim, _experiment: PublishedSpec, figures: PlaceTable) -> Terms:
    terms: list[Term] = []
    used: list[Place] = []
    for point in _points(claim, figures, claim.matches):
        for of, against in claim.pairs():
            term = _quotient(claim, figures, point, of, against)
            if term:
                terms.append(term)
                used += [(point, name) for name in (of, against) if name]
    return terms, used


def _quotient(claim: Claim, figures: PlaceTable, point: Point, of: str, against: str) -> Term:
    above = figures.by_round((point, of), claim.metric)
    return quotients(above, figures.by_round((point, against), claim.metric)) if against else above


def _points(claim: Claim, figures: PlaceTable, takes: Callable[[Point], bool]) -> Iterable[Point]:
    return [p for p in dict.fromkeys(at for at, _ in [*figures.keys(claim.metric), *figures.failed]) if takes(p)]


def _growths(claim: Claim, experiment: PublishedSpec, figures: PlaceTable) -> Terms:
    terms: list[Term] = []
    used: list[Place] = []
    for point in _points(
        claim, figures, lambda p: claim.matches(p, claim.axis) and dict(p).get(claim.axis) == claim.first
    ):
        last = tuple((name, claim.last if name == claim.axis else value) for name, value in point)
        for of, against in claim.pairs():
            before, after = (_quotient(claim, figures, at, of, against) for at in (point, last))
            term = quotients(after, before)
            if term:
                terms.append(term)
                used += [(p, name) for p in (point, last) for name in (of, against) if name]
    return terms, used


def _winners(claim: Claim, experiment: PublishedSpec, figures: PlaceTable) -> Terms:
    among = claim.among or experiment.strategies
    terms: list[Term] = []
    used: list[Place] = []
    for point in _points(claim, figures, claim.matches):
        rivals = {name: found for name in among if (found := figures.by_round((point, name), claim.metric))}
        if len(rivals) < len(among):
            continue  # who was not there cannot have lost
        rounds = set[int].intersection(*(set(found) for found in rivals.values()))
        terms.append({n: float(min(rivals, key=lambda name: rivals[name][n]) in claim.of) for n in rounds})
        used += [(point, name) for name in rivals]
    return terms, used


def _failures(claim: Claim, _experiment: PublishedSpec, figures: PlaceTable) -> Terms:
    keys = [(p, of) for p in _points(claim, figures, claim.matches) for of in claim.of]
    used = [key for key in keys if key in figures.failed or figures.by_round(key, claim.metric)]
    return [{0: float(key in figures.failed)} for key in used], used


_TERMS: Mapping[str, Callable[[Claim, PublishedSpec, PlaceTable], Terms]] = {
    **dict.fromkeys(("ratio", "largest", "smallest", "share"), _quotients),
    "best_of": _winners, "growth": _growths, "fails": _failures,
}  # fmt: skip


def geometric_mean(values: Sequence[float]) -> float:
    """That of positive numbers; 0 counts as the smallest one."""
    return math.exp(statistics.fmean(math.log(max(v, 1e-300)) for v in values))


_REDUCED: Mapping[str, Callable[[Claim, Sequence[float]], float]] = {
    **dict.fromkeys(("ratio", "growth"), lambda _, values: geometric_mean(values)),
    **dict.fromkeys(("best_of", "fails"), lambda _, values: statistics.fmean(values)),
    "largest": lambda _, values: max(values), "smallest": lambda _, values: min(values),
    "share": lambda claim, values: statistics.fmean(float(claim.at_least <= v <= claim.at_most) for v in values),
}  # fmt: skip
