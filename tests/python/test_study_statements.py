# SPDX-License-Identifier: BSL-1.0
"""Statements of the study of 1993 on insertions, tags in cached lines, size classes and lifetimes, on made-up figures:
each holds where the document is right, and fails on a single program where it says "every".
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from millpond.advice.synthesis import LifetimeUse
from millpond.cells.cell import Cell, Strategy, Workload
from millpond.rounds.layouts import Layout
from millpond.rounds.real_program import RealProgram
from millpond_bench.claims.claim_rules import judge
from millpond_bench.claims.claims import ABSENT, HOLDS, OPPOSITE, STRONGER, UNFOUNDED, WEAKER, Claim, load
from millpond_bench.claims.premises import premise_of
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.result_table import FIGURE, ResultTable
from millpond_bench.programs import grunwald1993_captures
from millpond_bench.programs.grunwald1993_captures import CACHES_KIBIBYTES, LINES_BYTES
from millpond_bench.programs.page_faults import MEMORIES_KIBIBYTES
from millpond_bench.runs.capture_run import CaptureSpec
from millpond_bench.suites import grunwald1993_points
from millpond_bench.suites.grunwald1993_locality import (
    ABLATION,
    CACHES,
    CLASSES,
    EXPERIMENTS,
    LIFETIMES,
    MODEL,
    PAGING,
    PROGRAMS,
    TAGS,
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


def test_contents_are_simulated_where_a_statement_asks() -> None:
    def has_contents(allocator: str, given: str) -> bool:
        cell = Cell(Workload("capture"), Strategy(allocator), (("program", "MAKE"), ("input", given)))
        return any(one.startswith("contents:") for one in grunwald1993_captures.descriptions_of(cell))

    asking = BY_ID["g.sizes.tags"]
    assert all(has_contents(TIME.data.canonical(name), "measured") for name in asking.of)
    assert not has_contents("first_fit", "trained") and not has_contents("gnu_local", "measured")


# The values of a capture by the simulator that counts them.
SIMULATED = {
    "direct": [f"misses_{line}_{size}" for line in LINES_BYTES for size in CACHES_KIBIBYTES],
    "attributed": ["cold_misses", "allocator_misses", "indirect_misses"],
    "levels": ["level_1_misses", "level_2_misses", "model_seconds"],
    "distances": ["pages", "fault_slope", *(f"faults_{size}" for size in MEMORIES_KIBIBYTES)],
    "contents": ["fetched_bytes", "allocator_bytes"],
}


def values_of(allocator: str, misses: float, program: str = "MAKE", number: int = 1) -> dict[str, float]:
    """A capture's values: those of every capture, and those of the simulators that the allocator's captures have."""
    cell = Cell(Workload("capture"), Strategy(allocator), (("program", program), ("input", "measured")))
    values = dict.fromkeys(("instructions_executed", "allocator_instructions", "references", "objects_allocated",
                            "objects_freed", "requested_bytes", "heap_bytes", "lost_bytes", "granted_bytes", "blocks",
                            "cpu_seconds"), 1e6)  # fmt: skip
    for description in grunwald1993_captures.descriptions_of(cell, number):
        kind, _, geometry = description.partition(":")
        values |= {name: misses for name in SIMULATED.get(kind, ())
                   if kind != "direct" or name.startswith(f"misses_{geometry[5:7]}_")}  # fmt: skip
    return values


@pytest.mark.parametrize("spec", [PAGING, TIME, CACHES, MODEL], ids=lambda spec: spec.name)
def test_every_round_has_what_statements_about_rounds_ask(spec: CaptureSpec) -> None:
    """Later rounds leave out simulators whose counts only tables and figures have."""
    asking = [each for each in BY_ID.values()
              if each.experiment == spec.name and not each.exact and each.kind != "untestable"]  # fmt: skip
    assert asking
    for claim in asking:
        metric = claim.metric or spec.data.figure.metric
        for allocator in map(spec.data.canonical, (*claim.of, *claim.against)):
            for program in claim.where.get("program", PROGRAMS):
                points = list(spec.unfold(values_of(allocator, 2e4, str(program), number=2), None))
                assert any(metric in values for _, values in points), (claim.id, allocator, program)


def test_only_captures_with_levels_are_read_with_latencies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The simulator refuses a model of a capture that has no counts of levels."""
    asked: dict[str, bool] = {}

    def values(_trace: Path, latencies: Path | None, told: str) -> dict[str, float]:
        asked[told] = latencies is not None
        return {"misses_32_64": 1.0}

    ended = subprocess.CompletedProcess([], 0, stderr=b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    monkeypatch.setattr(grunwald1993_captures, "_values", values)
    monkeypatch.setattr(grunwald1993_captures, "layout_of", lambda name: Layout(name, None))
    monkeypatch.setattr(grunwald1993_captures, "statistics_of", lambda _, __: allocator)
    monkeypatch.setattr(grunwald1993_captures, "program_of", lambda *_: RealProgram("make", ("make",)))
    monkeypatch.setattr(grunwald1993_captures, "require_program", str)
    monkeypatch.setattr(grunwald1993_captures.native, "find", Path)
    (tmp_path / "probe.json").touch()
    runner = grunwald1993_captures.CaptureRunner(tmp_path, tmp_path / "inputs")
    for allocator in ("first_fit", "first_fit_uncoalesced", "gnu_local_padded", "size_map_3", "glibc"):
        cell = Cell(Workload("capture"), Strategy(allocator), (("program", "MAKE"), ("input", "measured")))
        assert runner.run(cell, "bench", 2).status == "ok"
    assert asked == {"first_fit": True, "first_fit_uncoalesced": False, "gnu_local_padded": False,
                     "size_map_3": False, "glibc": True}  # fmt: skip


@pytest.mark.parametrize("spec", [ABLATION, CLASSES, TAGS], ids=lambda spec: spec.name)
def test_changed_allocators_are_simulated_for_what_statements_ask(spec: CaptureSpec) -> None:
    base = values_of(spec.data.baseline, 1e4)
    for claim in (each for each in BY_ID.values() if each.experiment == spec.name):
        for allocator in map(spec.data.canonical, (*claim.of, *claim.against)):
            points = list(spec.unfold(values_of(allocator, 2e4), base))
            assert points
            assert all((claim.metric or spec.data.figure.metric) in values for _, values in points), allocator
