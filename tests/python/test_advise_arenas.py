# SPDX-License-Identifier: BSL-1.0
"""Arenas for a scope are candidates like pools, except those that would hold too much memory."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import FakeLab
from test_advise import CPU, MALLOCS, SUBSYSTEMS, advise, rows

from millpond.cells.net_effect import MODEL_ERROR

ARENA = {"serve": ["book", "prices"]}
GAIN = {"book": 0.95, "arena of serve": 0.7}


def scopes(legality: str) -> list[dict[str, Any]]:
    known = {"scope": "function", "name": "serve", "observed": True, "method": "breakpoints", "activations": 3}
    counted = {"calls": 3, "outliving": 0, "total": 20, "witnesses": []}
    return [{**known, **counted, "legality": legality, "legal": legality == "legal"}]


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("legality", "words"),
    [
        ("legal", "(no object outlived it)"),
        ("legal for the outermost call", "(legal for the outermost call)"),
        ("not disproved", "(it was not observed whether objects outlive it)"),
    ],
)
def test_an_arena_that_helps_is_advised_with_its_scope_and_legality(lab: FakeLab, legality: str, words: str) -> None:
    subsystems = [{**s, "legality": scopes(legality)} for s in SUBSYSTEMS]
    lab.configure(events=1000, subsystems=subsystems, cpu=CPU, gains=GAIN, mallocs=MALLOCS, arenas=ARENA)
    found = advise(lab)
    assert found["choice"]["kind"] == "plan"
    assert found["verdict"].startswith(f"Give book and prices an arena for each call of serve {words}: CPU -3")
    assert found["plan"]["routes"][0]["scope"] == {"function": "serve"}
    assert {n: r["best"] for n, r in rows(found).items()} == {
        "book": "monotonic", "prices": "monotonic", "printer": "nothing",
    }  # fmt: skip
    assert rows(found)["book"]["reason"].startswith("an arena for each call of serve saves ")


@pytest.mark.lengthy
def test_an_arena_without_a_scope_is_advised_with_its_resets(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains=GAIN, mallocs=MALLOCS, arenas=ARENA, phase=True)
    words = "Give book and prices an arena that is reset whenever nothing in it is alive (7 resets in one run): CPU -3"
    assert advise(lab)["verdict"].startswith(words)


@pytest.mark.lengthy
def test_a_capped_arena_is_not_proposed_and_the_row_gives_the_reason(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains=GAIN, mallocs=MALLOCS, arenas=ARENA,
                  capped={"arena of serve": 5_000_000})  # fmt: skip
    found = advise(lab)
    assert "arena for each call" not in found["verdict"] and not (found["plan"] or {"routes": []})["routes"][1:]
    for name in ("book", "prices"):
        reason = rows(found)[name]["reason"]
        capped = "an arena for each call of serve is not proposed: it would have held 5.00 MB for 1.00 kB alive in it"
        assert f"; {capped}" in reason
    assert "arena" not in rows(found)["printer"]["reason"].split(";")[0]


@pytest.mark.lengthy
def test_trial_costs_of_a_pool_are_not_charged_to_the_plan(lab: FakeLab) -> None:
    told = {}
    for pairs in (0, 1000):
        lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.9}, mallocs=MALLOCS,
                      pairs=pairs, pair_cost=1e-6)  # fmt: skip
        told[pairs] = advise(lab, "--seed", str(pairs + 1))["sums"]["net"]["median"]
    assert told[0] - told[1000] == pytest.approx(0.001 / CPU["bare"], rel=0.15)


@pytest.mark.lengthy
def test_the_interval_includes_the_spread_of_the_pair_cost(lab: FakeLab) -> None:
    """Every round subtracts another of the machine's measurements; the model's own error is added on both sides."""
    told = {}
    for seed, costs in enumerate(([1e-6] * 11, [0.5e-6, 1e-6, 1.5e-6]), 1):
        lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.8}, mallocs=MALLOCS,
                      pairs=1000, pair_costs=costs, noise=0.0001)  # fmt: skip
        found = advise(lab, "--seed", str(seed))
        told[len(costs)] = found["sums"]["net"]["high"] - found["sums"]["net"]["low"]
        extra = found["sums"]["pool_extra"]
        assert extra["median"] == pytest.approx(1 + 0.001 / CPU["bare"], rel=0.01)
        assert "pool_extra" not in found["effects"]
    error = 2 * MODEL_ERROR * 0.001 / CPU["bare"]
    assert error < told[11] < error + 0.03
    assert told[3] > told[11] + 0.04


@pytest.mark.lengthy
def test_the_cost_of_observing_calls_is_not_charged_to_the_plan(lab: FakeLab) -> None:
    told = {}
    for calls in (0, 1000):
        # Only the arena's subsystems, so that the arena is the whole plan both times.
        lab.configure(events=1000, subsystems=SUBSYSTEMS[:2], cpu=CPU, gains=GAIN, mallocs=MALLOCS, arenas=ARENA,
                      calls=calls, call_seconds=1e-6, call_bytes=1000)  # fmt: skip
        told[calls] = advise(lab, "--seed", str(calls + 1))["sums"]["net"]["median"]
    assert told[0] - told[1000] == pytest.approx(0.001 / CPU["bare"], rel=0.15)


@pytest.mark.lengthy
def test_a_row_shows_observed_calls_and_predicted_savings_of_winking(lab: FakeLab) -> None:
    freed = {"frees": 20, "free_seconds": 0.002, "legality": scopes("legal")}
    lab.configure(events=1000, subsystems=[{**s, **freed} for s in SUBSYSTEMS], cpu=CPU, gains=GAIN, mallocs=MALLOCS,
                  arenas=ARENA, calls=3)  # fmt: skip
    found = rows(advise(lab))["book"]
    assert "; 3 calls observed, each with its own arena; winking out is predicted to save 20 frees" in found["reason"]
    assert found["arena"] == {
        "scope": {"function": "serve"}, "observed": True, "calls": 3, "outlived_calls": 0, "resets": 7,
        "winking": {"free_calls": 20, "free_seconds": 0.002, "kind": "predicted"},
    }  # fmt: skip


@pytest.mark.lengthy
def test_an_arena_whose_objects_outlive_calls_is_not_proposed(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains=GAIN, mallocs=MALLOCS, arenas=ARENA,
                  calls=3, outlived_calls=1)  # fmt: skip
    found = advise(lab)
    reason = rows(found)["book"]["reason"]
    assert "an arena for each call of serve is not proposed: 1 of 3 calls ended before all their objects" in reason
    assert "winking" not in reason
    assert "arena" not in found["verdict"].split(" Not tried")[0]


@pytest.mark.lengthy
def test_the_objects_that_kept_a_capped_arena_are_named(lab: FakeLab) -> None:
    witness = {"stack": ["keep", "serve", "main"], "thread": 1, "bytes": 48, "ended": "still live at exit"}
    kept = [{**scopes("illegal")[0], "outliving": 2, "witnesses": [witness]}]
    lab.configure(events=1000, subsystems=[{**s, "legality": kept} for s in SUBSYSTEMS], cpu=CPU, gains=GAIN,
                  mallocs=MALLOCS, arenas=ARENA, capped={"arena of serve": 5_000_000})  # fmt: skip
    reason = rows(advise(lab))["book"]["reason"]
    assert reason.endswith("because of 2 objects that outlive function serve, such as 48 B from keep ← serve ← main")


@pytest.mark.lengthy
def test_a_plan_grows_by_pools_that_help_it(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.8, "prices": 0.85, "printer": 0.9},
                  mallocs=MALLOCS, with_others={"printer": 1.3})  # fmt: skip
    assert {s for r in advise(lab)["plan"]["routes"] for s in r["subsystems"]} == {"book", "prices"}


@pytest.mark.lengthy
def test_one_plan_may_hold_an_arena_and_a_pool(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"arena of serve": 0.8, "printer": 0.85},
                  mallocs=MALLOCS, arenas=ARENA)  # fmt: skip
    routes = advise(lab)["plan"]["routes"]
    assert {(r["strategy"], *r["subsystems"]) for r in routes} == {
        ("monotonic", "book", "prices"), ("multipool", "printer"),
    }  # fmt: skip


@pytest.mark.lengthy
@pytest.mark.parametrize(("frees", "is_proposed"), [(0, True), (40, False)])
def test_an_arena_for_main_is_proposed_only_without_earlier_frees(lab: FakeLab, frees: int, is_proposed: bool) -> None:
    """An arena never reuses memory, so it grows with an input that frees and allocates more; a pool reuses it."""
    arena = {"main": ["book", "prices"]}
    gains = {"book": 0.8, "arena of main": 0.7}
    subsystems = [{**s, "frees": frees if s["name"] == "prices" else 0} for s in SUBSYSTEMS]
    lab.configure(events=1000, subsystems=subsystems, cpu=CPU, gains=gains, mallocs=MALLOCS, arenas=arena)
    found = advise(lab)
    assert found["choice"]["kind"] == "plan"
    assert ("an arena for each call of main" in found["verdict"]) == is_proposed
    reason = rows(found)["prices"]["reason"]
    assert ("is not proposed: it would keep the memory of 40 objects freed before its end" in reason) != is_proposed
