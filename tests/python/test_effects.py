# SPDX-License-Identifier: BSL-1.0
"""The effects of plans that were tried together are judged together; what only controls decide is judged once."""

from __future__ import annotations

import numpy as np

from millpond.advice.effects import COSTS, control_cells, plan_cell, split, split_all
from millpond.cells.cell import Outcome
from millpond.cells.plans import Plan, Route
from millpond.statistics.order_statistics import ALPHA, adjust

PROGRAM = ("prog",)
PLANS = [Plan(f"p{i}", "/bin/x", "ab", (Route((f"s{i}",), f"s{i}", "multipool"),)) for i in range(12)]


def null_outcomes(seed: int) -> list[Outcome]:
    generator = np.random.default_rng(seed)
    cells = [*control_cells(PROGRAM), *(plan_cell(PROGRAM, p) for p in PLANS)]
    return [
        Outcome(cell, "s", number, {"cpu_seconds": float(generator.lognormal(0, 0.05))}, 0, 0, "ok", "now")
        for number in range(1, 12)
        for cell in cells
    ]


def test_several_plans_are_one_family(seed: int) -> None:
    outcomes = null_outcomes(seed)
    together = split_all(outcomes, PROGRAM, PLANS)
    raw: dict[tuple[str, str], float] = {}
    for plan in PLANS:
        alone = split(outcomes, PROGRAM, plan, [])[0]
        assert together[plan.name].keys() == alone.keys()
        for name, metrics in together[plan.name].items():
            assert metrics["cpu_seconds"].ratio.median == alone[name]["cpu_seconds"].ratio.median
            if name not in COSTS:
                controls = name in ("faster_malloc", "huge_pages", "malloc_and_huge_pages")
                raw["" if controls else plan.name, name] = metrics["cpu_seconds"].p
    assert len(raw) == 3 + 3 * len(PLANS)
    expected = dict(zip(raw, adjust(list(raw.values())), strict=True))
    for (plan_name, name), p in expected.items():
        found = together[plan_name or "p0"][name]["cpu_seconds"]
        assert found.p_adjusted == p
        assert found.verdict == "inside noise" or p <= ALPHA
