# SPDX-License-Identifier: BSL-1.0
"""Compares an advice with changes made by hand; a change that no trial can do yet is not an option."""

from __future__ import annotations

import pytest
from conftest import FakeLab
from msgspec.structs import replace
from test_bench_real import BLANK

from millpond.advice.advice_data import Advice, Effect
from millpond.system.errors import Failure
from millpond_bench.laboratory import bench_followed, bench_truth
from millpond_bench.laboratory.bench_truth import KnownChange

TWO_LISTS = KnownChange("two_lists", ("p",), ("p", "--by-hand"))
MANY = KnownChange("many_instances", ("p",), ("p", "--by-hand"), no_trial_can="a pool for each instance")
TREE = KnownChange("tree", ("p",), ("q", "--wink-out"), ("q",), "an arena that is winked out")
CPU = {"as it is": 1.0, "by hand": 0.4, "lean": 0.7, "large": 0.65}
PEAK = {"as it is": 1.0, "by hand": 0.9, "lean": 1.0, "large": 1.8}


def advice(kind: str, name: str = "", arena: bool = False) -> Advice:
    route = {"subsystems": ["book"], "pool": "book", "strategy": "multipool"}
    plan = {
        "program": {"path": "p", "build_id": ""},
        "routes": [route | ({"scope": {"phase": True}} if arena else {})],
    }
    found = {
        "verdict": "",
        "choice": {"kind": kind, "name": name},
        "alternatives": [
            {
                "kind": "malloc",
                "name": "lean",
                "judged": True,
                "cpu": {"n": 11, "median": 0.71, "low": 0.7, "high": 0.8},
            }
        ],
        "sums": {"net": {"n": 11, "median": 0.45, "other_metrics": {"peak_bytes": {"median": 0.95}}}},
        "plan": plan if kind == "plan" else None,
        "plan_tried": plan,
    }
    return Advice.from_json({**BLANK, **found})


@pytest.mark.parametrize(
    ("kind", "name", "points"),
    [("plan", "together", 0.0), ("malloc", "lean", 30.0), ("nothing", "", 60.0), ("undecided", "", 60.0)],
)
def test_advice_is_compared_with_the_best_option_of_a_trial(kind: str, name: str, points: float) -> None:
    row = bench_truth._following(TWO_LISTS, advice(kind, name), CPU, PEAK, ())
    assert row.ours is not None and row.ours.median == pytest.approx(points)
    assert row.holds is (points <= 3)


def test_changes_that_no_trial_can_do_are_only_named() -> None:
    row = bench_truth._following(MANY, advice("malloc", "large"), CPU, PEAK, ())
    assert row.ours is not None and row.ours.median == 0.0
    assert "which no trial can do yet (a pool for each instance)" in row.note and "-60.0 % CPU" in row.note


def test_an_arena_is_not_compared_with_a_pool_by_hand() -> None:
    row = bench_truth._following(TWO_LISTS, advice("plan", arena=True), CPU, PEAK, ())
    assert row.ours is not None and row.ours.median == pytest.approx(5.0), "what its trial gave"
    assert "an arena, in its trial -55.0 % CPU" in row.note
    assert all(row.ours is None for row in bench_truth._predicted(TWO_LISTS, advice("plan", arena=True), CPU, PEAK))


def test_predictions_are_compared_with_the_change_by_hand() -> None:
    cpu, peak = bench_truth._predicted(TWO_LISTS, advice("plan"), CPU, PEAK)
    assert cpu.ours is not None and cpu.ours.median == pytest.approx(0.05 / 0.12)
    assert peak.ours is not None and peak.ours.median == pytest.approx(100 * (0.95 / 0.9 - 1))
    malloc = bench_followed.malloc_row("two_lists", advice("plan"), CPU["lean"], "lean")
    assert malloc.ours is not None and malloc.ours.median == pytest.approx(1.0)
    assert malloc.note == "lean: predicted -29.0 % (-30.0 % to -20.0 %), preloaded by hand -30.0 %"


def test_an_arena_is_compared_with_one_that_runs_destructors() -> None:
    cpu, peak = CPU | {bench_truth._ARENA: 0.5}, PEAK | {bench_truth._ARENA: 1.0}
    predicted, bytes_ = bench_truth._predicted(TREE, advice("plan", arena=True), cpu, peak)
    assert predicted.ours is not None and predicted.ours.median == pytest.approx(0.05 / 0.1)
    assert bytes_.ours is not None and bytes_.ours.median == pytest.approx(5.0)
    followed = bench_truth._following(TREE, advice("plan", arena=True), cpu, peak, ())
    assert followed.ours is not None and followed.ours.median == 0.0, "winked out is no option: no trial can"
    assert "by hand in an arena, destroyed -50.0 % CPU" in followed.note
    pools = bench_truth._predicted(TREE, advice("plan"), cpu, peak)
    assert [row.holds for row in pools] == [False, False]
    assert "pools were judged, and the change by hand is an arena" in pools[0].note
    assert bench_truth._predicted(MANY, advice("plan"), CPU, PEAK) == []


def test_the_contenders_of_a_known_program_are_its_command_lines() -> None:
    assert [w.command for w in TREE.workloads().values()] == [("p",), ("q", "--wink-out"), ("q",)]
    assert len(TWO_LISTS.workloads()) == 2


def test_an_example_that_is_not_built_is_reported(lab: FakeLab) -> None:
    with pytest.raises(Failure, match="request_server is missing") as missing:
        bench_truth.examples()
    assert missing.value.status == 4
    for name in ("request_server", "parser", "order_queues", "catalogue", "pipeline", "heat_plate"):
        for form in ("", "_changed"):
            (lab.bin / f"{name}{form}").touch(0o755)
    assert list(bench_truth.examples())[:2] == ["request_server", "parser"]


def test_doing_nothing_without_a_plan_predicts_no_change() -> None:
    unjudged = replace(advice("nothing"), sums={"net": Effect()}, plan_tried=None)
    cpu, peak = bench_truth._predicted(TWO_LISTS, unjudged, {"by hand": 1.01}, {"by hand": 1.05})
    assert cpu.ours is not None and cpu.ours.median == pytest.approx(0.5) and "none was judged" in cpu.note
    assert peak.holds is True
    undecided = replace(advice("undecided"), sums={"net": Effect()}, plan_tried=None)
    assert [row.holds for row in bench_truth._predicted(TWO_LISTS, undecided, CPU, PEAK)] == [False, False]
