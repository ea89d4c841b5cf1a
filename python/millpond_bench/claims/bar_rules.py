# SPDX-License-Identifier: BSL-1.0
"""Judges bars on the rows of comparisons: the median, or every row's, must lie within the bound.

    ratio, growth   as for statements (claim_rules): the geometric mean over the rows
    each            the median of every row of the comparisons `of` keeps the bound; the figure is the worst row's

A bar whose rows were not requested is left out; a bar with a requested row that could not be measured is missed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import msgspec

from millpond.statistics.order_statistics import Summary, summarise
from millpond_bench.claims.claim_readings import means
from millpond_bench.claims.claim_terms import terms_of
from millpond_bench.claims.claims import HOLDS, MISSED, RESOLUTION_BYTES, Claim, Verdict, load
from millpond_bench.experiments.experiment_data import Point, place_of
from millpond_bench.experiments.result_table import FIGURE, PlaceTable, ResultRow, ResultTable

# The name of our median among the metrics of a row.
_OURS = "ours"


def bars_of(claims: str, rows: Sequence[ResultRow]) -> list[Verdict]:
    """The bars of a file that concern these rows, in its order. O(claims × rows)."""
    return [bar for claim in load(claims) if (bar := judge_rows(claim, rows)) is not None]


def judge_rows(claim: Claim, rows: Sequence[ResultRow]) -> Verdict | None:
    """The bar over its rows; None if it has no row."""
    about = [row for row in rows if _is_about(claim, row)]
    if not about:
        return None
    if claim.kind == "each":
        return _judge_each(claim, [_judged(claim, row) for row in about])
    of = tuple(dict.fromkeys(row.comparison for row in about))
    if claim.kind == "growth":
        ends = sorted({place_of(row.parameters[claim.axis]) for row in about}, key=int)
        rule = msgspec.structs.replace(claim, of=of, metric=_OURS, first=ends[0], last=ends[-1])
        found = means(rule, terms_of(rule, _by_place(about)))
        return claim.judged(summarise(found)) if len(ends) > 1 and found else None
    found = means(claim, terms_of(msgspec.structs.replace(claim, of=of), _by_place(about)))
    whole = all(row.pairs for row in about)
    what = f"the geometric mean of {len(about)} rows" + ("" if whole else "; some could not be measured")
    bar = claim.judged(summarise(found) if found else None, worst=what)
    return bar if whole else replace(bar, verdict=MISSED)


def _by_place(rows: Sequence[ResultRow]) -> PlaceTable:
    """The ratios of rows to their best peers, and our medians, in the form that a claim reads."""
    return ResultTable({
        (_point(row), row.comparison): {FIGURE: row.pairs, _OURS: {} if row.ours is None else {0: row.ours}}
        for row in rows
    })  # fmt: skip


def _point(row: ResultRow) -> Point:
    return (("benchmark", row.benchmark), *((name, place_of(value)) for name, value in row.parameters.items()))


def _judge_each(claim: Claim, rows: Sequence[ResultRow]) -> Verdict:
    """The bar with the figure of its worst row."""
    worst = max(rows, key=lambda j: (not j.holds, j.figure.median if j.figure else -1.0 if j.holds else math.inf))
    against = f" against {worst.best_peer_name}" if worst.best_peer_name else ""
    verdict = HOLDS if all(row.holds for row in rows) else MISSED
    return Verdict(claim, worst.figure, verdict, worst=f"{worst.workload}, {worst.ours_name}{against}",
                   rows=tuple(rows))  # fmt: skip


def _judged(claim: Claim, row: ResultRow) -> ResultRow:
    """The row with its figure and whether it holds."""
    figure = _figure(claim, row)
    # Without a peer there is no bound to keep, but a failed contender of ours is another matter.
    free = not claim.against and row.ours is not None and not row.best_peer_name
    return replace(row, figure=figure, holds=free if figure is None else _keeps(claim, row, figure))


def _is_about(claim: Claim, row: ResultRow) -> bool:
    return any(fnmatchcase(row.comparison, name) for name in claim.of) and claim.matches(_point(row))


def _figure(claim: Claim, row: ResultRow) -> Summary | None:
    """The ratio to the best peer; against `ideal`, the ratio to the ideal; against `nothing`, our own number."""
    if claim.against == ("nothing",):
        return summarise([row.ours]) if row.ours is not None else None
    return row.to_ideal if claim.against == ("ideal",) else row.to_peer


def _keeps(claim: Claim, row: ResultRow, figure: Summary) -> bool:
    """True if the figure keeps the limit, or meets its substitute."""
    if figure.median <= claim.high or (claim.or_noise and figure.low <= claim.high):
        return True
    if claim.or_ideal and row.to_ideal is not None:
        return row.to_ideal.median <= claim.or_ideal
    if claim.or_unseen == "more":
        return None not in (row.ours, row.best_peer) and (row.ours or 0) - (row.best_peer or 0) <= RESOLUTION_BYTES
    return claim.or_unseen == "in all" and row.ours is not None and row.ours <= RESOLUTION_BYTES
