# SPDX-License-Identifier: BSL-1.0
"""Makes figures from the rule of a statement, such that they keep the statement or break it.

rule ── points that its `where` takes ──▶ every term gets one value: inside the bound, or on the far side of no effect
"""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

from millpond_bench.claims.claims import Claim
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import Place, Point
from millpond_bench.experiments.result_table import PlaceTable, ResultTable

ROUNDS = 6
_NOISE = 0.001
_STEPS = range(5, 14)
_FAR = 2.0


def planted(claim: Claim, spec: PublishedSpec, *, breaks: bool, seed: int) -> PlaceTable:
    """Returns figures of six rounds at every point, with a little noise unless they are counts."""
    points = points_of(claim, spec)
    assert points, "its `where` takes no point at all"
    if claim.kind == "fails":
        places = [(point, spec.data.canonical(name)) for point in points for name in claim.of]
        if breaks == claim.accepts(1.0):
            return ResultTable({place: {claim.metric: {1: 1.0}} for place in places})
        return ResultTable({}, dict.fromkeys(places, "bad_alloc"))
    rng, table = random.Random(seed), dict[Place, dict[str, dict[int, float]]]()
    for number, point in enumerate(points):
        value = (
            _spread_value(claim, points[:number], breaks) if claim.over == "spread" else _value(claim, number, breaks)
        )
        for (name, metric), found in _figures(claim, spec, point, points, value).items():
            noise = 0.0 if claim.counted or claim.kind == "rank" else _NOISE
            rounds = {n: found * math.exp(rng.gauss(0.0, noise)) for n in range(1, ROUNDS + 1)}
            table.setdefault((point, name), {})[metric] = rounds
    return ResultTable(table)


def _value(claim: Claim, number: int, breaks: bool) -> float:
    """Returns the value of each term at a point."""
    if claim.over == "share":
        inside, outside = _inside(claim.at_least, claim.at_most), _outside(claim.at_least, claim.at_most)
        if math.isfinite(claim.low) and claim.high < 1.0:  # some of them, but not all
            return outside if breaks or number % 2 else inside
        return inside if (claim.high < 1.0) == breaks else outside
    return _far_side(claim) if breaks else _inside(claim.low, claim.high)


def _spread_value(claim: Claim, before: list[Point], breaks: bool) -> float:
    """Returns the growth at a place: one for all places, or at every second one far more."""
    place = sum(dict(point)[claim.axis] == claim.last for point in before)
    return _outside(1.0, claim.high) if breaks and place % 2 else 1.0


def _inside(low: float | None, high: float | None) -> float:
    lowest = -math.inf if low is None else float(low)
    highest = math.inf if high is None else float(high)
    if math.isinf(lowest):
        return highest / _FAR if highest > 0.0 else highest
    if math.isinf(highest):
        return lowest * _FAR if lowest > 0.0 else lowest + 1.0
    return math.sqrt(lowest * highest) if lowest > 0.0 else (lowest + highest) / 2.0


def _far_side(claim: Claim) -> float:
    """Returns a value on the other side of no effect; for a denial, well outside the bound."""
    none = claim.nothing
    if claim.low < none < claim.high or claim.low == none == claim.high:
        return _outside(claim.low, claim.high)
    if claim.low >= none:
        return none / _FAR if none > 0.0 else none - 1.0 if claim.kind == "rank" else 0.0
    return none * _FAR if none > 0.0 else none + 1.0


def _outside(low: float | None, high: float | None) -> float:
    if high is not None and math.isfinite(high):
        return high * _FAR if high > 0.0 else high + 1.0
    assert low is not None
    return low / _FAR


def _figures(
    claim: Claim, spec: PublishedSpec, point: Point, points: list[Point], value: float
) -> dict[tuple[str, str], float]:
    """Returns the figures by strategy and metric for which each term is `value`."""
    at = dict(point)
    if claim.kind == "growth" and at[claim.axis] != claim.last:
        value = 1.0
    elif claim.kind == "step":
        along = sorted({int(dict(p)[claim.axis]) for p in points})
        value = value if int(at[claim.axis]) >= along[len(along) // 2] else 1.0
    own, against = ([spec.data.canonical(name) for name in names] for names in (claim.of, claim.against))
    if claim.kind == "rank":
        order = range(1, len(own) + 1)
        other = order if value > 0.5 else reversed(order)
        return {**{(name, claim.metric): float(n) for name, n in zip(own, order, strict=True)},
                **{(name, claim.other_metric): float(n) for name, n in zip(own, other, strict=True)}}  # fmt: skip
    if claim.kind == "lead":
        among = [spec.data.canonical(name) for name in claim.among] or [*spec.data.strategies]
        return {(name, claim.metric): value if name in own else 1.0 for name in among}
    found = dict.fromkeys(against, 1.0)
    for of, base in reversed([(spec.data.canonical(a), spec.data.canonical(b) if b else "") for a, b in claim.pairs()]):
        found[of] = value * found.get(base, 1.0)
    return {(name, claim.metric): figure for name, figure in found.items()}


def points_of(claim: Claim, spec: PublishedSpec) -> list[Point]:
    """Returns the points that the rule takes: the values that it names on each axis, and their neighbours."""
    values = {name: _on_axis(claim, spec, name) for name in spec.data.axes}
    usual = {name: value for name, value in spec.data.usual if name != claim.axis}
    rule = claim.__class__(**{**_fields(claim), "where": {**usual, **claim.where}})
    found = [tuple(zip(values, each, strict=True)) for each in product(*values.values())]
    return [point for point in found if rule.matches(point, claim.axis if claim.kind == "growth" else "")]


def _fields(claim: Claim) -> dict[str, Any]:
    return {name: getattr(claim, name) for name in claim.__struct_fields__}


def _on_axis(claim: Claim, spec: PublishedSpec, name: str) -> list[int | str]:
    if name == claim.axis:
        return list(_STEPS) if claim.kind == "step" else [claim.first, claim.last]
    wanted = claim.where.get(name, dict(spec.data.usual).get(name, 1))
    if isinstance(wanted, list):
        return wanted
    if not isinstance(wanted, dict):
        return [wanted]
    named = [wanted[end] for end in ("from", "to") if end in wanted]
    if {"below", "is"} & wanted.keys():
        other = _on_axis(claim, spec, wanted.get("below", wanted.get("is")))
        named += [int(value) - step for value in other for step in (0, 1)]
    return sorted(dict.fromkeys([*named, *(n + 1 for n in named[:1] if "to" not in wanted)]))
