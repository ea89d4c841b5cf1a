# SPDX-License-Identifier: BSL-1.0
"""Rounds are interleaved, their order changes by the seed, they stop with the budget, and warm-ups never count."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.cells import CONTROLS, Cell, Outcome
from millpond.execution import by_round, measured_rounds, order_of, run_rounds
from millpond.plans import Plan, Route

CELLS = [Cell(("prog",), variant) for variant in CONTROLS]


class Silence:
    def begin(self, what: str, total: int) -> None: ...

    def step(self) -> None: ...

    def end(self) -> None: ...


class Script:
    """A runner whose outcomes and clock a test decides: every run takes `seconds`."""

    def __init__(self, seconds: float = 1.0, status: Callable[[Cell, int], str] = lambda _c, _n: "ok") -> None:
        self.now = 0.0
        self.ran: list[tuple[str, int]] = []
        self._seconds = seconds
        self._status = status

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        self.now += self._seconds
        self.ran.append((cell.name, number))
        values = {"cpu_seconds": float(number)}
        return Outcome(cell, stage, number, values, 0, 0, self._status(cell, number), "now")

    def clock(self) -> float:
        return self.now


def test_every_round_has_every_contender_once_before_the_next_begins() -> None:
    script = Script()
    run_rounds(CELLS, script, Silence(), stage="s", rounds=4, seed=7)
    for number in range(5):
        piece = script.ran[number * len(CELLS) : (number + 1) * len(CELLS)]
        assert {name for name, _ in piece} == {c.name for c in CELLS}
        assert {n for _, n in piece} == {number}


@given(st.integers(0, 2**31), st.integers(0, 50))
def test_the_order_is_a_permutation_that_the_seed_decides(seed: int, number: int) -> None:
    assert sorted(c.name for c in order_of(CELLS, seed, number)) == sorted(c.name for c in CELLS)
    assert order_of(CELLS, seed, number) == order_of(CELLS, seed, number)


def test_the_order_changes_from_round_to_round() -> None:
    assert len({tuple(c.name for c in order_of(CELLS, 1, n)) for n in range(20)}) > 5


def test_the_warm_up_is_kept_but_never_measured() -> None:
    outcomes = run_rounds(CELLS, Script(), Silence(), stage="s", rounds=3)
    assert sum(o.round == 0 for o in outcomes) == len(CELLS)
    assert measured_rounds(outcomes) == 3
    assert list(by_round(outcomes, CELLS[0], "cpu_seconds")) == [1, 2, 3]


@pytest.mark.parametrize("budget", [0.0, 9.0, 10.0, 17.0, 1000.0])
def test_no_round_begins_that_would_pass_the_deadline_but_one_always_runs(budget: float) -> None:
    script = Script()
    outcomes = run_rounds(
        CELLS, script, Silence(), stage="s", rounds=11, deadline=budget, clock=script.clock, warm_up=True
    )
    fit = int(budget // len(CELLS)) - 1
    assert measured_rounds(outcomes) == max(1, min(11, fit))
    assert len(outcomes) % len(CELLS) == 0


def test_a_contender_that_was_killed_is_not_run_again_and_not_compared() -> None:
    script = Script(status=lambda cell, n: "killed" if cell.variant == "shared" and n == 2 else "ok")
    outcomes = run_rounds(CELLS, script, Silence(), stage="s", rounds=4, warm_up=False)
    shared = next(c for c in CELLS if c.variant == "shared")
    assert sorted(by_round(outcomes, shared, "cpu_seconds")) == [1]
    assert max(n for name, n in script.ran if name == "shared") == 2
    assert max(n for name, n in script.ran if name == "bare") == 4


def test_a_cell_has_a_plan_exactly_if_its_variant_is_plan() -> None:
    plan = Plan("p", "/bin/x", "ab", (Route(("s",), "s", "multipool"),))
    assert Cell(("x",), "plan", plan).name == "plan:p"
    assert Cell(("x",), "plan", plan).to_json()["plan"]["routes"][0]["subsystems"] == ["s"]
    with pytest.raises(ValueError, match="belongs to the variant"):
        Cell(("x",), "plan")
    with pytest.raises(ValueError, match="belongs to the variant"):
        Cell(("x",), "bare", plan)
    with pytest.raises(ValueError, match="unknown variant"):
        Cell(("x",), "faster")
