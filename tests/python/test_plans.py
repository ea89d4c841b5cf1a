# SPDX-License-Identifier: BSL-1.0
"""Plans survive a round trip, combine without losing or doubling a route, and are read only by the native reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FakeLab
from hypothesis import given
from hypothesis import strategies as st

from millpond.cells import plans
from millpond.cells.plan_file import PlanRoute, PlanScope
from millpond.cells.plans import Plan

names = st.text(min_size=1, max_size=8).filter(lambda t: t != plans.REST)
some_names = st.lists(names, min_size=1, max_size=3, unique=True).map(tuple)
scopes = st.builds(PlanScope, names, outermost=st.booleans(), observed=st.booleans()) | st.sampled_from(
    [PlanScope(thread=True), PlanScope(phase=True)]
)
routes = st.builds(PlanRoute, some_names, names, st.just("multipool"), st.booleans()) | st.builds(
    PlanRoute, some_names, names, st.just("monotonic"), st.booleans(), scopes
)
some_plans = st.builds(Plan, st.just("p"), st.just("/bin/x"), st.just("ab"), st.lists(routes, max_size=4).map(tuple))


@pytest.mark.lengthy
@given(some_plans)
def test_a_plan_survives_its_json(plan: Plan) -> None:
    assert plans.from_json(plan.to_json(), plan.name) == plan


@pytest.mark.lengthy
@given(st.lists(some_plans, min_size=1, max_size=4))
def test_a_combination_routes_every_subsystem_once(given_plans: list[Plan]) -> None:
    together = plans.combine(given_plans, "together")
    assert len(set(together.subsystems)) == len(together.subsystems)
    assert set(together.subsystems) == {s for p in given_plans for s in p.subsystems}


@pytest.mark.lengthy
@given(some_plans, st.booleans(), st.booleans())
def test_a_merged_plan_routes_the_same_to_one_pool(plan: Plan, has_rest: bool, several_threads: bool) -> None:
    rest = PlanRoute((plans.REST,), "the rest", "synchronized(multipool)" if several_threads else "multipool")
    whole = Plan("p", plan.path, plan.build_id, (*plan.routes, *([rest] if has_rest else [])))
    one = plans.merged(whole)
    kinds = {(r.strategy, r.huge_pages, r.scope) for r in whole.routes}
    assert (one is None) == (len({(r.pool, r.strategy, r.huge_pages, r.scope) for r in whole.routes}) == len(kinds))
    if one is not None:
        assert len({r.pool for r in one.routes}) == len(kinds)
        same = [(r.subsystems, r.strategy, r.huge_pages, r.scope) for r in whole.routes]
        assert [(r.subsystems, r.strategy, r.huge_pages, r.scope) for r in one.routes] == same


@pytest.mark.lengthy
@given(st.lists(some_plans, max_size=5))
def test_a_plan_without_a_subsystem_of_its_own_is_left_out(given_plans: list[Plan]) -> None:
    kept = plans.without_repeats(given_plans)
    assert {s for p in kept for s in p.subsystems} == {s for p in given_plans for s in p.subsystems}
    for i, plan in enumerate(kept):
        assert set(plan.subsystems) - {s for p in kept[:i] for s in p.subsystems}


def test_plans_of_different_builds_do_not_combine() -> None:
    one, other = Plan("a", "/bin/x", "ab", ()), Plan("b", "/bin/x", "cd", ())
    with pytest.raises(ValueError, match="one build"):
        plans.combine([one, other], "c")
    with pytest.raises(ValueError, match="one build"):
        plans.combine([], "c")


def test_refusals_of_the_reader_are_passed_on_verbatim(lab: FakeLab, plan_file: Callable[..., Path]) -> None:
    path = plan_file("p", "book")
    lab.configure(fails={"check_plan": [2, "routes[0].strategy is missing"]})
    for words in (("try", "--plan", str(path), "--", "x"), ("trace", "replay", "t.mpt", "--plan", str(path))):
        Path("t.mpt").write_text("0")
        done = lab.run(*words)
        assert (done.status, done.stderr) == (2, "millpond: routes[0].strategy is missing\n")


def test_candidates_are_ordered_by_number_without_the_sum(lab: FakeLab, tmp_path: Path) -> None:
    program = {"path": "/bin/x", "build_id": "ab"}
    empty = json.dumps({"schema": "millpond.plan/1", "program": program, "routes": []})
    for name in ("02-b", "01-a", "all"):
        (tmp_path / f"{name}.plan.json").write_text(empty)
    assert [p.name for p in plans.read_folder(tmp_path)] == ["01-a", "02-b"]
    (tmp_path / "arena-01-f.plan.json").write_text(empty)
    assert [p.name for p in plans.read_folder(tmp_path)] == ["01-a", "arena-01-f", "02-b"]
