# SPDX-License-Identifier: BSL-1.0
"""Effects of plans that were tried together are judged together; effects of controls are judged once."""

from __future__ import annotations

import numpy as np
import pytest

from millpond.advice.effects import (
    AGAINST_MALLOC,
    NET,
    PAIRS,
    REPORTED,
    clearly_best,
    control_cells,
    malloc_cell,
    plan_cell,
    split,
    split_all,
)
from millpond.advice.screening import screen
from millpond.cells.cell import Cell, Control, Malloc, Outcome, Program
from millpond.cells.metrics import LOOK_UP_COST
from millpond.cells.net_effect import MODEL_ERROR, net_rounds
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.statistics.order_statistics import ALPHA, NOT_SETTLED, adjust

PROGRAM = ("prog",)
PLANS = [Plan(f"p{i}", "/bin/x", "ab", (PlanRoute((f"s{i}",), f"s{i}", "multipool"),)) for i in range(12)]


def null_outcomes(seed: int) -> list[Outcome]:
    generator = np.random.default_rng(seed)
    cells = [*control_cells(PROGRAM), *(plan_cell(PROGRAM, p) for p in PLANS)]
    return [
        Outcome(cell, "s", number, {"cpu_seconds": float(generator.lognormal(0, 0.05))}, "now")
        for number in range(1, 12)
        for cell in cells
    ]


@pytest.mark.lengthy
def test_several_plans_are_one_family(seed: int) -> None:
    outcomes = null_outcomes(seed)
    together = split_all(outcomes, PROGRAM, PLANS)
    raw: dict[tuple[str, str], float] = {}
    for plan in PLANS:
        alone = split(outcomes, PROGRAM, plan, [])[0]
        assert together[plan.name].keys() == alone.keys()
        for name, metrics in together[plan.name].items():
            assert metrics["cpu_seconds"].median == alone[name]["cpu_seconds"].median
            if name not in REPORTED:
                controls = "plan" not in PAIRS.get(name, ("plan",))
                raw["" if controls else plan.name, name] = metrics["cpu_seconds"].p
    assert len(raw) == 2 + 2 * len(PLANS)  # the shared pool, and on huge pages; net and total of each plan
    expected = dict(zip(raw, adjust(list(raw.values())), strict=True))
    for (plan_name, name), p in expected.items():
        found = together[plan_name or "p0"][name]["cpu_seconds"]
        assert found.p_adjusted == p
        assert found.verdict not in ("better", "worse") or p <= ALPHA


def rounds_of(cpu: dict[str, float], seed: int, rounds: int = 15) -> list[Outcome]:
    """Returns rounds of the named contenders; a round is slow or fast for all of them."""
    generator = np.random.default_rng(seed)
    cells = {
        "bare": Cell(Program(PROGRAM), Control("bare")), "looked_up": Cell(Program(PROGRAM), Control("looked_up")),
        "pool": plan_cell(PROGRAM, PLANS[0]), "fast": malloc_cell(PROGRAM, Malloc("fast")),
    }  # fmt: skip
    found = []
    for number in range(1, rounds + 1):
        weather = float(generator.lognormal(0, 0.3))
        for name, cell in cells.items():
            seconds = cpu[name] * weather * float(generator.lognormal(0, 0.01))
            values = {"cpu_seconds": seconds, "peak_bytes": 1e6}
            found.append(Outcome(cell, "s", number, values, "now"))
    return found


def net_of_rounds(
    plan: dict[int, float], bare: dict[int, float], looked_up: dict[int, float], estimated: dict[int, float]
) -> dict[int, float]:
    """Returns net effects by round; `estimated`: the expected cost of look-ups."""
    values = {("plan", "cpu_seconds"): plan, ("bare", "cpu_seconds"): bare, ("looked_up", "cpu_seconds"): looked_up,
              ("looked_up", LOOK_UP_COST): estimated}  # fmt: skip
    return net_rounds(lambda role, metric: values.get((role, metric), {}), "cpu_seconds")


def test_look_ups_within_expectation_do_not_widen_intervals(seed: int) -> None:
    """The machine is so noisy that a run may take 50 % longer than the last; look-ups cost nothing."""
    generator = np.random.default_rng(seed)
    at = list(range(1, 32))
    bare, looked_up = ({n: float(generator.lognormal(0, 0.3)) for n in at} for _ in range(2))
    looked_up |= {n: bare[n] * 0.9 for n in at[:16]}  # by chance, fewer than half of the rounds are slower
    plan = {n: 0.1 * float(generator.lognormal(0, 0.01)) for n in at}
    assert net_of_rounds(plan, bare, looked_up, {}) == plan
    expected = {n: 0.02 * bare[n] for n in at}
    quicker = {n: 0.8 * bare[n] for n in at}  # faster for another reason: look-ups never save time
    for measured in (looked_up, quicker):
        found = net_of_rounds(plan, bare, measured, expected)
        assert found == pytest.approx({n: plan[n] - expected[n] for n in at})


def test_a_round_with_a_negative_remainder_counts_as_the_least() -> None:
    """Without this round, the plan would look worse than it is."""
    at = range(1, 12)
    bare = dict.fromkeys(at, 1.0)
    looked_up = {n: 1.3 if n < 9 else 1.05 for n in at}
    plan = dict.fromkeys(at, 0.2)
    net = net_of_rounds(plan, bare, looked_up, dict.fromkeys(at, 0.01))
    assert net.keys() == set(at)
    assert [net[n] for n in (1, 9)] == pytest.approx([0.001, 0.15])


def test_look_ups_are_not_part_of_a_plans_effect(seed: int) -> None:
    outcomes = rounds_of({"bare": 1.0, "looked_up": 1.5, "pool": 1.1, "fast": 0.7}, seed)
    found, alone = split(outcomes, PROGRAM, PLANS[0], [], {"malloc": "fast"})
    assert abs(found[NET]["cpu_seconds"].median - 0.6) < 0.03
    assert abs(found["total"]["cpu_seconds"].median - 1.1) < 0.03
    assert abs(found["look_up"]["cpu_seconds"].median - 1.5) < 0.03
    assert abs(found["faster_malloc"]["cpu_seconds"].median - 0.7) < 0.03
    assert "placement" not in found, "a plan of one pool has nothing to be placed apart from"
    beyond = alone[AGAINST_MALLOC]["cpu_seconds"]
    assert beyond.verdict == NOT_SETTLED and abs(beyond.median - 0.6 / 0.7) < 0.04
    plans, mallocs = screen(outcomes, PROGRAM, PLANS[:1], ["fast"])
    assert plans["p0"]["cpu_seconds"].median == found[NET]["cpu_seconds"].median
    assert mallocs["fast"]["cpu_seconds"].median == found["faster_malloc"]["cpu_seconds"].median


@pytest.mark.parametrize(("look_up", "verdict"), [(0.0, "better"), (0.1, "better"), (0.5, NOT_SETTLED)])
def test_the_error_of_the_subtraction_is_in_the_interval(look_up: float, verdict: str, seed: int) -> None:
    """A gain of 10 % that rests on a subtraction of half of the program is not settled."""
    outcomes = rounds_of({"bare": 1.0, "looked_up": 1.0 + look_up, "pool": 0.9 + look_up, "fast": 1.0}, seed)
    found = split(outcomes, PROGRAM, PLANS[0], [])[0][NET]["cpu_seconds"]
    assert found.verdict == verdict and abs(found.median - 0.9) < 0.02
    assert found.high - found.median >= MODEL_ERROR * look_up - 0.02
    assert found.median - found.low >= MODEL_ERROR * look_up - 0.02
    assert found.saved.high - found.saved.low >= 2 * MODEL_ERROR * look_up - 0.04


def test_a_widened_interval_stays_above_zero(seed: int) -> None:
    outcomes = rounds_of({"bare": 1.0, "looked_up": 1.9, "pool": 1.0, "fast": 1.0}, seed)
    found = split(outcomes, PROGRAM, PLANS[0], [])[0][NET]["cpu_seconds"]
    assert 0.0 < found.low <= found.median < found.high


def test_a_clearly_better_plan_replaces_the_chosen_one(seed: int) -> None:
    """If the intervals overlap, the chosen plan stays."""
    generator = np.random.default_rng(seed)
    for other, expected in ((0.6, PLANS[1]), (0.795, PLANS[0]), (0.95, PLANS[0])):
        cpu = {"bare": 1.0, "looked_up": 1.0, PLANS[0].name: 0.8, PLANS[1].name: other}
        cells = {c.contender.name: c for c in control_cells(PROGRAM)} | {p.name: plan_cell(PROGRAM, p) for p in PLANS}
        outcomes = [
            Outcome(cells[name], "s", n, {"cpu_seconds": seconds * float(generator.lognormal(0, 0.02))}, "now")
            for n in range(1, 16) for name, seconds in cpu.items()
        ]  # fmt: skip
        found, alone = split(outcomes, PROGRAM, PLANS[0], PLANS[:2])
        assert clearly_best(PLANS[0], PLANS[:2], found, alone) is expected, other
