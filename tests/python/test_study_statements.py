# SPDX-License-Identifier: BSL-1.0
"""Statements of the study of 1993 on insertions, tags in cached lines, size classes and lifetimes, on made-up figures:
each holds where the document is right, and fails on a single program where it says "every".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from millpond.advice.synthesis import LifetimeUse
from millpond_bench.claims.claim_rules import judge
from millpond_bench.claims.claims import ABSENT, HOLDS, OPPOSITE, STRONGER, UNFOUNDED, WEAKER, Claim, load
from millpond_bench.claims.premises import premise_of
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.result_table import FIGURE, ResultTable
from millpond_bench.suites import grunwald1993_points
from millpond_bench.suites.grunwald1993_locality import (
    CLASSES,
    EXPERIMENTS,
    LIFETIMES,
    TIME,
    WHAT_PROGRAMS_DO,
)

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

FILE = "grunwald1993.toml"
BY_ID: Mapping[str, Claim] = {claim.id: claim for claim in load(FILE)}
BY_NAME: Mapping[str, PublishedSpec] = {spec.name: spec for spec in EXPERIMENTS}
FACTS = {"objects_allocated": 5e5, "allocator_share": 12.0, "freed_share": 0.98, "short_share": 0.6,
         "mean_object_bytes": 40.0}  # fmt: skip
# A figure of a strategy in a program.
Made = Callable[[str, str], float]


def verdict(name: str, made: Made, **facts: float) -> str:
    """Judges a statement on eight environments, all with these figures and a scatter of a hundredth."""
    claim = BY_ID[name]
    spec = BY_NAME[claim.experiment]
    caches = [16, 64] if "cache" in spec.data.axes else [None]
    figure = claim.metric or FIGURE
    found: dict[Any, Any] = {}
    for strategy in spec.data.strategies:
        for program in ("ESPRESSO", "GS", "TROFF", "PTC", "GAWK", "MAKE"):
            for cache in caches:
                point = (("program", program), *([("cache", cache)] if cache else []))
                rounds = {n: made(strategy, program) * (1 + (0 if claim.exact else 0.001 * n)) for n in range(8)}
                known = {metric: dict.fromkeys(range(8), value) for metric, value in {**FACTS, **facts}.items()}
                found[point, strategy] = {**known, figure: rounds}
    premise = premise_of(claim, FILE)
    return judge(claim, spec.data, ResultTable({}), ResultTable(found), premise=premise).verdict


def in_one(program: str, there: float, elsewhere: float, *strategies: str) -> Made:
    """A figure of some strategies (all, if none is named) in one program, and another one everywhere else."""
    return lambda strategy, at: there if at == program and strategy in (strategies or (strategy,)) else elsewhere


def by_strategy(otherwise: float, **figures: float) -> Made:
    return lambda strategy, _: figures.get(strategy, otherwise)


@pytest.mark.parametrize(
    ("name", "made", "expected"),
    [
        ("g.insert.three", in_one("MAKE", 2.95, 3.0), HOLDS),
        ("g.insert.three", in_one("MAKE", 2.0, 3.0), WEAKER),
        ("g.insert.pages", in_one("GAWK", 1.8, 1.0), HOLDS),
        ("g.insert.pages", in_one("GAWK", 1.0, 1.0), ABSENT),
        ("g.sizes.tags", by_strategy(0.25), HOLDS),
        ("g.sizes.tags", by_strategy(0.5), STRONGER),
        ("g.sizes.tags", by_strategy(0.1, gnu_local=0.25), WEAKER),
        ("g.classes.reuse", by_strategy(8.0, size_map_9=5.0), HOLDS),
        ("g.classes.reuse", in_one("MAKE", 9.0, 5.0, "size_map_9"), OPPOSITE),
        ("g.classes.waste", by_strategy(0.1, size_map_9=0.2), HOLDS),
        ("g.classes.waste", in_one("MAKE", 0.1, 0.2, "size_map_9"), OPPOSITE),
        ("g.classes.exact", by_strategy(0.3, size_map_256=0.09), HOLDS),
        ("g.classes.exact", in_one("PTC", 0.2, 0.04, "size_map_256"), OPPOSITE),
        ("g.classes.balance", by_strategy(5.0, size_map=4.0), HOLDS),
        ("g.classes.balance", by_strategy(5.0, size_map_9=4.0), HOLDS),
        ("g.classes.balance", by_strategy(5.0, size_map_3=4.0), OPPOSITE),
        ("g.lifetimes.right", in_one("MAKE", 0.1, 0.7), HOLDS),
        ("g.lifetimes.right", in_one("MAKE", 0.7, 0.1), WEAKER),
        ("g.lifetimes.wrong", in_one("MAKE", 0.0, 0.005), HOLDS),
        ("g.lifetimes.wrong", in_one("MAKE", 0.1, 0.0), OPPOSITE),
    ],
)  # fmt: skip
def test_made_up_figures_decide(name: str, made: Made, expected: str) -> None:
    assert verdict(name, made) == expected


def test_statements_on_frees_need_a_program_that_frees() -> None:
    made = by_strategy(8.0, size_map_9=5.0)
    assert verdict("g.classes.reuse", made, freed_share=0.0) == UNFOUNDED
    assert verdict("g.insert.three", by_strategy(3.0), freed_share=0.0) == UNFOUNDED
    assert verdict("g.lifetimes.right", by_strategy(0.7), short_share=0.01) == UNFOUNDED


def test_tags_are_judged_where_objects_are_small() -> None:
    assert verdict("g.sizes.tags", by_strategy(0.25), mean_object_bytes=178.0) == UNFOUNDED
    assert verdict("g.classes.waste", by_strategy(0.1, size_map_9=0.2), freed_share=0.0) == HOLDS


def test_an_insertion_is_shared_out_over_all() -> None:
    values = {"objects_allocated": 10.0, "objects_freed": 5.0, "requested_bytes": 99.0, "references": 1e6,
              "insertions": 4.0, "relinked_nodes": 11.0, "relinked_pages": 6.0}  # fmt: skip
    [(_, found)] = grunwald1993_points.of_programs(values, None)
    assert (found["relinked_nodes_each"], found["relinked_pages_each"]) == (2.75, 1.5)
    [(_, without)] = grunwald1993_points.of_programs({**values, "insertions": 0.0}, None)
    assert "relinked_nodes_each" not in without
    assert {"relinked_nodes_each", "relinked_pages_each"} <= {*WHAT_PROGRAMS_DO.data.extra_metrics}


def test_held_bytes_are_a_share_of_the_fetched_ones() -> None:
    values = {"instructions_executed": 1e6, "references": 4e5, "misses_32_64": 1e3, "allocator_misses": 10.0,
              "indirect_misses": 3.0, "cold_misses": 9.0, "allocator_bytes": 8000.0, "fetched_bytes": 32000.0,
              "objects_allocated": 50.0, "objects_freed": 40.0, "lost_bytes": 30.0, "granted_bytes": 120.0,
              "blocks": 20.0}  # fmt: skip
    [(_, found)] = grunwald1993_points.of_times(values, None)
    assert found["allocator_held_share"] == 0.25
    assert "allocator_held_share" in TIME.data.extra_metrics
    [(_, swept)] = grunwald1993_points.of_classes(values, None)
    assert (swept["lost_share"], swept["fresh_a_thousand"], swept["freed_share"]) == (0.25, 400.0, 0.8)
    assert {"lost_share", "fresh_a_thousand", "freed_share"} <= {*CLASSES.data.extra_metrics}


def test_right_and_wrong_predictions_are_told_apart() -> None:
    use = LifetimeUse(bytes=1000, short_bytes=800, predicted_bytes=500, wrong_bytes=100, unknown_site_bytes=10)
    values = {"requested_bytes": use.bytes, "short_bytes": use.short_bytes, "predicted_bytes": use.predicted_bytes,
              "wrong_bytes": use.wrong_bytes}  # fmt: skip
    [(_, found)] = grunwald1993_points.of_lifetimes({name: float(value) for name, value in values.items()}, None)
    assert (found["right_share"], found["wrong_share"], found["short_share"]) == (0.5, 0.2, 0.8)
    assert {"wrong_share", "short_share"} <= {*LIFETIMES.data.extra_metrics}
