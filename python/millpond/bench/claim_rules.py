# SPDX-License-Identifier: BSL-1.0
"""Judges claims: statements alike on what a document printed and on what we measured, bars on the rows of comparisons.

    Claim: a rule and a bound ── on the published tables ──▶ one number: is our reading right?
                              ├─ on ours, round by round ──▶ a median with its interval
                              └─ of a bar, on rows        ──▶ the same, or the worst row's; every row keeps the bound
    interval within the bound: holds · outside: does not hold · across it, or fewer than three rounds: undecided ·
    no such points: not measured, or cannot be tested here, where what surrounds the program there is missing

A rule has one of these kinds. `of` and `against` are strategies, each one for all, or one for each.

    ratio      the geometric mean of `of` / `against` over the points that match, or of `of` alone
    largest    the largest of these quotients              smallest   the smallest
    share      the share of these quotients from `at_least` to `at_most`
    best_of    the share of the points at which the smallest figure of `among` is one of `of`
    growth     the same quotient at `last` on `axis` / at `first`: the geometric mean over all that is alike otherwise
    rank       the rank correlation (Spearman) of `metric` with `other_metric` over `of`: the mean over the points
    fails      the share of the points at which `of` came to no figure, because memory did not suffice
    each       of bars: the median of every row of the comparisons `of` keeps the bound; the figure is the worst row's
    untestable nothing here could tell; `missing` names what it would take

`where` has a value for an axis, a list of them, or a range: `from`, `to`, `below` another axis, or what it `is` on one.
Of what surrounds the program (`toolchain`, `malloc`) a statement that names none is about the usual one.

A bar whose rows were not asked for is left out; a row that was asked for and could not be measured does not hold.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import msgspec

from millpond.bench.claims import (
    FAILS,
    HOLDS,
    NOT_MEASURED,
    RESOLUTION_BYTES,
    UNDECIDED,
    UNTESTABLE,
    Claim,
    Verdict,
    load,
)
from millpond.bench.experiment import Place, Point, PublishedSpec, place_of
from millpond.bench.result_table import FIGURE, PlaceTable, ResultRow, ResultTable, quotients
from millpond.statistics.order_statistics import Summary, rank_correlation, summarise

Term = Mapping[int, float]
FEWEST_ROUNDS = 3
# The median of ours among the metrics of a row.
_OURS = "ours"


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
    claim = msgspec.structs.replace(judged.claim, missing="; ".join(reasons))
    return replace(judged, claim=claim, verdict=UNTESTABLE)


def judge(claim: Claim, experiment: PublishedSpec, published: PlaceTable, ours: PlaceTable) -> Verdict:
    """One statement on both."""
    if claim.kind == "untestable":
        return Verdict(claim, None, UNTESTABLE)
    printed = None if claim.published_lost else next(iter(evaluate(claim, experiment, published)[0]), None)
    found, used = evaluate(claim, experiment, ours)
    if not found:
        return Verdict(claim, None, NOT_MEASURED, printed)
    summary, evidence = summarise(found), tuple(dict.fromkeys(ours.names.get(key, "") for key in used))
    return Verdict(claim, summary, verdict_of(claim, summary), printed, len(used), evidence)


def verdict_of(claim: Claim, ours: Summary) -> str:
    """Whether the interval lies within the bound, outside of it, or across. One round or two have no interval."""
    if ours.n < FEWEST_ROUNDS and claim.kind != "fails" and not claim.exact:
        return UNDECIDED
    if claim.accepts(ours.low) and claim.accepts(ours.high):
        return HOLDS
    return FAILS if ours.high < claim.low or ours.low > claim.high else UNDECIDED


def evaluate(claim: Claim, experiment: PublishedSpec, figures: PlaceTable) -> tuple[list[float], list[Place]]:
    """The rule's value in each round that all its terms have, and the figures that it rests on."""
    return _evaluate(_named(claim, experiment), figures)


def _evaluate(claim: Claim, figures: PlaceTable) -> tuple[list[float], list[Place]]:
    terms, used = _TERMS[claim.kind](claim, figures)
    common = set[int](terms[0]).intersection(*terms[1:]) if terms else set[int]()
    return [_REDUCED[claim.kind](claim, [term[n] for term in terms]) for n in sorted(common)], used


def _named(claim: Claim, experiment: PublishedSpec) -> Claim:
    """With canonical names in the place of the document's, and where the program's surroundings are the usual ones."""
    of, against, among = (tuple(map(experiment.canonical, names)) for names in (claim.of, claim.against, claim.among))
    usual = {name: value for name, value in experiment.usual if name != claim.axis}
    return msgspec.structs.replace(claim, of=of, against=against, among=among or experiment.strategies,
                                   where={**usual, **claim.where})  # fmt: skip


Terms = tuple[list[Term], list[Place]]


def _quotients(claim: Claim, figures: PlaceTable) -> Terms:
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


def _growths(claim: Claim, figures: PlaceTable) -> Terms:
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


def _winners(claim: Claim, figures: PlaceTable) -> Terms:
    terms: list[Term] = []
    used: list[Place] = []
    for point in _points(claim, figures, claim.matches):
        rivals = {name: found for name in claim.among if (found := figures.by_round((point, name), claim.metric))}
        if len(rivals) < len(claim.among):
            continue  # who was not there cannot have lost
        rounds = set[int].intersection(*(set(found) for found in rivals.values()))
        terms.append({n: float(min(rivals, key=lambda name: rivals[name][n]) in claim.of) for n in rounds})
        used += [(point, name) for name in rivals]
    return terms, used


def _ranks(claim: Claim, figures: PlaceTable) -> Terms:
    terms: list[Term] = []
    used: list[Place] = []
    for point in _points(claim, figures, claim.matches):
        pairs = [(figures.by_round((point, name), claim.metric), figures.by_round((point, name), claim.other_metric))
                 for name in claim.of]  # fmt: skip
        if not all(one and other for one, other in pairs):
            continue  # an order without some of them is another order
        rounds = set[int].intersection(*(set(each) for pair in pairs for each in pair))
        found = {n: rank_correlation([one[n] for one, _ in pairs], [other[n] for _, other in pairs]) for n in rounds}
        terms.append({n: value for n, value in found.items() if value is not None})
        used += [(point, name) for name in claim.of]
    return [term for term in terms if term], used


def _failures(claim: Claim, figures: PlaceTable) -> Terms:
    keys = [(p, of) for p in _points(claim, figures, claim.matches) for of in claim.of]
    used = [key for key in keys if key in figures.failed or figures.by_round(key, claim.metric)]
    return [{0: float(key in figures.failed)} for key in used], used


_TERMS: Mapping[str, Callable[[Claim, PlaceTable], Terms]] = {
    **dict.fromkeys(("ratio", "largest", "smallest", "share"), _quotients),
    "best_of": _winners, "growth": _growths, "rank": _ranks, "fails": _failures,
}  # fmt: skip


def _is_between(value: float, claim: Claim) -> bool:
    return (claim.at_least is None or claim.at_least <= value) and (claim.at_most is None or value <= claim.at_most)


def _geometric_mean(values: Sequence[float]) -> float:
    """That of positive numbers; 0 counts as the smallest one."""
    return math.exp(statistics.fmean(math.log(max(v, 1e-300)) for v in values))


_REDUCED: Mapping[str, Callable[[Claim, Sequence[float]], float]] = {
    **dict.fromkeys(("ratio", "growth"), lambda _, values: _geometric_mean(values)),
    **dict.fromkeys(("best_of", "rank", "fails"), lambda _, values: statistics.fmean(values)),
    "largest": lambda _, values: max(values), "smallest": lambda _, values: min(values),
    "share": lambda claim, values: statistics.fmean(_is_between(v, claim) for v in values),
}  # fmt: skip


def bars_of(claims: str, rows: Sequence[ResultRow]) -> list[Verdict]:
    """Every bar of a file that the rows are about, in its order. O(claims × rows)."""
    return [bar for claim in load(claims) if (bar := judge_rows(claim, rows)) is not None]


def judge_rows(claim: Claim, rows: Sequence[ResultRow]) -> Verdict | None:
    """The bar over its rows; None where there is no row that it is about."""
    about = [row for row in rows if _is_about(claim, row)]
    if not about:
        return None
    if claim.kind == "each":
        return _judge_each(claim, [_judged(claim, row) for row in about])
    of = tuple(dict.fromkeys(row.comparison for row in about))
    if claim.kind == "growth":
        ends = sorted({place_of(row.parameters[claim.axis]) for row in about}, key=int)
        found, _ = _evaluate(msgspec.structs.replace(claim, of=of, metric=_OURS, first=ends[0], last=ends[-1]),
                             _by_place(about))  # fmt: skip
        return claim.judged(summarise(found)) if len(ends) > 1 and found else None
    found, _ = _evaluate(msgspec.structs.replace(claim, of=of), _by_place(about))
    whole = all(row.pairs for row in about)
    what = f"the geometric mean of {len(about)} rows" + ("" if whole else "; some could not be measured")
    bar = claim.judged(summarise(found) if found else None, worst=what)
    return bar if whole else replace(bar, verdict=FAILS)


def _by_place(rows: Sequence[ResultRow]) -> PlaceTable:
    """The ratios of rows to their best peers, and the medians of ours, as a claim looks for them."""
    return ResultTable({
        (_point(row), row.comparison): {FIGURE: row.pairs, _OURS: {} if row.ours is None else {0: row.ours}}
        for row in rows
    })  # fmt: skip


def _point(row: ResultRow) -> Point:
    return (("benchmark", row.benchmark), *((name, place_of(value)) for name, value in row.parameters.items()))


def _judge_each(claim: Claim, rows: Sequence[ResultRow]) -> Verdict:
    """The bar whose figure is that of its worst row."""
    worst = max(rows, key=lambda j: (not j.holds, j.figure.median if j.figure else -1.0 if j.holds else math.inf))
    against = f" against {worst.best_peer_name}" if worst.best_peer_name else ""
    verdict = HOLDS if all(row.holds for row in rows) else FAILS
    return Verdict(claim, worst.figure, verdict, worst=f"{worst.workload}, {worst.ours_name}{against}",
                   rows=tuple(rows))  # fmt: skip


def _judged(claim: Claim, row: ResultRow) -> ResultRow:
    """The row with its figure and whether that holds."""
    figure = _figure(claim, row)
    # Without a peer to be held against there is nothing to keep; a contender of ours that failed is another matter.
    free = not claim.against and row.ours is not None and not row.best_peer_name
    return replace(row, figure=figure, holds=free if figure is None else _keeps(claim, row, figure))


def _is_about(claim: Claim, row: ResultRow) -> bool:
    return any(fnmatchcase(row.comparison, name) for name in claim.of) and claim.matches(_point(row))


def _figure(claim: Claim, row: ResultRow) -> Summary | None:
    """The ratio to the best peer; against `ideal` that to the ideal, against `nothing` our own number."""
    if claim.against == ("nothing",):
        return summarise([row.ours]) if row.ours is not None else None
    return row.to_ideal if claim.against == ("ideal",) else row.to_peer


def _keeps(claim: Claim, row: ResultRow, figure: Summary) -> bool:
    """The limit itself, or what is as good."""
    if figure.median <= claim.high or (claim.or_noise and figure.low <= claim.high):
        return True
    if claim.or_ideal and row.to_ideal is not None:
        return row.to_ideal.median <= claim.or_ideal
    if claim.or_unseen == "more":
        return None not in (row.ours, row.best_peer) and (row.ours or 0) - (row.best_peer or 0) <= RESOLUTION_BYTES
    return claim.or_unseen == "in all" and row.ours is not None and row.ours <= RESOLUTION_BYTES
