# SPDX-License-Identifier: BSL-1.0
"""Plans survive a round trip, combine without losing or doubling a route; damaged ones are refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.cells import plans
from millpond.cells.plans import Plan, Route
from millpond.system.errors import Failure, Status

names = st.text(min_size=1, max_size=8).filter(lambda t: t != plans.REST)
routes = st.builds(
    Route, st.lists(names, min_size=1, max_size=3, unique=True).map(tuple), names, st.just("multipool"), st.booleans()
)
some_plans = st.builds(Plan, st.just("p"), st.just("/bin/x"), st.just("ab"), st.lists(routes, max_size=4).map(tuple))


@given(some_plans)
def test_a_plan_survives_its_file(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> None:
    path = tmp_path_factory.mktemp("plan") / "p.plan.json"
    plan.write(path)
    assert plans.read(path) == plan


@pytest.mark.lengthy
@given(st.lists(some_plans, min_size=1, max_size=4))
def test_a_combination_routes_every_subsystem_once(given_plans: list[Plan]) -> None:
    together = plans.combine(given_plans, "together")
    assert len(set(together.subsystems)) == len(together.subsystems)
    assert set(together.subsystems) == {s for p in given_plans for s in p.subsystems}


@given(some_plans)
def test_the_rest_is_added_once_at_the_end_and_to_no_empty_plan(plan: Plan) -> None:
    whole = plans.with_rest(plan)
    assert plans.with_rest(whole) == whole
    assert whole.subsystems == plan.subsystems
    if plan.routes:
        assert whole.routes[:-1] == plan.routes
        assert whole.routes[-1].subsystems == (plans.REST,)
        assert whole.routes[-1].pool not in {r.pool for r in plan.routes}
        assert plans.combine([whole, whole], "twice").routes[-1].subsystems == (plans.REST,)
    else:
        assert whole == plan


def test_plans_of_different_builds_do_not_combine() -> None:
    one, other = Plan("a", "/bin/x", "ab", ()), Plan("b", "/bin/x", "cd", ())
    with pytest.raises(ValueError, match="one build"):
        plans.combine([one, other], "c")
    with pytest.raises(ValueError, match="one build"):
        plans.combine([], "c")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting"),
        ("[]", "schema"),
        ('{"schema": "millpond.plan/2", "routes": []}', "schema"),
        ('{"schema": "millpond.plan/1"}', "'routes' is missing"),
        (
            '{"schema": "millpond.plan/1", "routes": [{"pool": "p", "strategy": "multipool"}]}',
            "'subsystems' is missing",
        ),
        ('{"schema": "millpond.plan/1", "routes": [{"subsystems": "all", "pool": "p", "strategy": "s"}]}', "list"),
        ('{"schema": "millpond.plan/1", "routes": 3}', "int"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.plan.json"
    path.write_text(text)
    with pytest.raises(Failure, match=reason) as caught:
        plans.read(path)
    assert caught.value.status == Status.INPUT
    assert str(path) in caught.value.message


def test_a_missing_plan_is_missing_input(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="No such file") as caught:
        plans.read(tmp_path / "none.plan.json")
    assert caught.value.status == Status.INPUT


def test_candidates_come_in_the_order_of_their_numbers_without_the_sum(tmp_path: Path) -> None:
    empty = json.dumps({"schema": plans.SCHEMA, "program": {}, "routes": []})
    for name in ("02-b", "01-a", "all"):
        (tmp_path / f"{name}.plan.json").write_text(empty)
    assert [p.name for p in plans.read_folder(tmp_path)] == ["01-a", "02-b"]
