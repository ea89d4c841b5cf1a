# SPDX-License-Identifier: BSL-1.0
"""Statements that say "every", "always" or "the same shape" are judged so: one case that differs breaks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import pytest

from millpond_bench.claims.claim_rules import judge
from millpond_bench.claims.claims import HOLDS, OPPOSITE, STRONGER, WEAKER, load
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.result_table import FIGURE, ResultTable
from millpond_bench.suites.every_experiment import PUBLISHED

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

BY_NAME: Mapping[str, PublishedSpec] = {spec.name: spec for spec in PUBLISHED}
CLAIMS = {claim.id: claim for file in ("p0089.toml", "grunwald1993.toml") for claim in load(file)}
# A figure by the paper's name of a strategy, and the point.
Made = Callable[[str, Mapping[str, Any]], float]


def verdict(name: str, axes: Mapping[str, Iterable[int | str]], made: Made) -> str:
    """Judges a statement on eight rounds at every point of these axes, with a scatter of a thousandth."""
    claim = CLAIMS[name]
    data = BY_NAME[claim.experiment].data
    found = {}
    for values in product(*axes.values()):
        at = dict(zip(axes, values, strict=True))
        point = tuple({**at, **dict(data.usual)}.items())
        for label in dict.fromkeys((*claim.of, *claim.against)):
            rounds = {n: made(label, at) * (1 + 0.001 * n) for n in range(1, 9)}
            found[point, data.canonical(label)] = {claim.metric or FIGURE: rounds}
    return judge(claim, data, ResultTable({}), ResultTable(found)).verdict


def differing(good: Made, label: str, where: Mapping[str, Any], by: float) -> Made:
    """The same figures, except of one strategy at one point."""
    return lambda of, at: good(of, at) * (by if of == label and at.items() >= where.items() else 1.0)


def test_every_strategy_must_slow_down_beyond_the_elbow() -> None:
    axes = {"ds": [5], "log2_size": [14, 16]}

    def slower(_of: str, at: Mapping[str, Any]) -> float:
        return 1.0 if at["log2_size"] == 14 else 1.5

    assert verdict("1.ds5.elbow", axes, slower) == HOLDS
    for label in ("AS1", "AS7", "AS14"):
        assert verdict("1.ds5.elbow", axes, differing(slower, label, {"log2_size": 16}, 0.5)) == OPPOSITE


def test_monotonic_allocators_must_lose_at_every_number_of_threads() -> None:
    axes = {"log2_s": [8], "log2_n": [15, 17], "threads": [1, 2]}

    def worse(of: str, at: Mapping[str, Any]) -> float:
        return 1.0 if of == "AS1" or at["log2_n"] == 15 else 1.3

    assert verdict("4.monotonic.total", axes, worse) == HOLDS
    one = {"log2_n": 17, "threads": 2}
    assert verdict("4.monotonic.total", axes, differing(worse, "AS5", one, 0.5)) == OPPOSITE
    assert verdict("4.monotonic.total", axes, differing(worse, "AS5", one, 1.02 / 1.3)) != HOLDS


@pytest.mark.parametrize("level", [0.5, 1.0, 8.0])
def test_a_shape_is_the_same_at_any_level(level: float) -> None:
    axes = {"log2_g": [21, 25], "log2_s": [6, 12, 18], "af": [1, 256], "sf": [5]}

    def shifted(_of: str, at: Mapping[str, Any]) -> float:
        return float(at["log2_s"]) * (level if at["log2_g"] == 25 else 1.0)

    assert verdict("2.shape", axes, shifted) == HOLDS
    one = {"log2_g": 25, "log2_s": 18, "af": 1}
    assert verdict("2.shape", axes, differing(shifted, "AS1", one, 3.0)) == OPPOSITE


def test_a_choice_matters_by_up_to_a_quarter() -> None:
    axes = {"program": ["ESPRESSO", "GS", "PTC"], "cache": [16, 64]}

    def alike(_of: str, _at: Mapping[str, Any]) -> float:
        return 1.0

    one = {"program": "GS", "cache": 64}
    assert verdict("g.time.choice", axes, differing(alike, "FIRSTFIT", one, 1.28)) == HOLDS
    assert verdict("g.time.choice", axes, differing(alike, "FIRSTFIT", one, 1.6)) == STRONGER
    assert verdict("g.time.choice", axes, differing(alike, "FIRSTFIT", one, 1.12)) == WEAKER


def test_all_other_allocators_must_be_markedly_better() -> None:
    axes = {"program": ["GS", "TROFF"], "line": [32], "cache": [16, 64, 256]}

    def better(of: str, _at: Mapping[str, Any]) -> float:
        return 2.0 if of == "FIRSTFIT" else 1.0

    assert verdict("g.caches.markedly", axes, better) == HOLDS
    one = {"program": "TROFF", "cache": 256}
    assert verdict("g.caches.markedly", axes, differing(better, "GNU G++", one, 1.8)) == WEAKER


def test_large_caches_must_bring_the_worst_closer_on_every_input() -> None:
    axes = {"program": ["GS-Small", "GS", "TROFF"], "line": [32], "cache": [64, 256]}

    def closer(of: str, at: Mapping[str, Any]) -> float:
        return (1.5 if at["cache"] == 64 else 1.1) if of == "FIRSTFIT" else 1.0

    assert verdict("g.caches.large", axes, closer) == HOLDS
    one = {"program": "GS", "cache": 256}
    assert verdict("g.caches.large", axes, differing(closer, "FIRSTFIT", one, 2.0)) == OPPOSITE
