# SPDX-License-Identifier: BSL-1.0
"""advise tries first what matters to a fleet: the order of the plans, the rows, and fleets of other builds."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from test_fleet import fleet_of, subsystem, trace_use

from millpond.advice.advice_state import KIND, AdviceState
from millpond.advice.fleet_weights import FleetWeights
from millpond.cells.plan_file import PlanRoute, PlanScope
from millpond.cells.plans import Plan
from millpond.store.store import Store
from millpond.system.json_seal import sealed

SUBSYSTEMS = [{"name": "book", "bytes": 9000}, {"name": "prices", "bytes": 5000}, {"name": "orders", "bytes": 1000}]


def write_fleet(path: Path, build: str = "ab12", **bytes_of: int) -> Path:
    """Writes a fleet of three equal processes, whose subsystems have these bytes."""
    dice = random.Random(1)
    of_one = [subsystem(name, dice, bytes=each, events=each) for name, each in bytes_of.items()]
    total = sum(bytes_of.values())
    uses = [trace_use(i, dice, build, of_one, bytes=total, events=total) for i in range(3)]
    path.write_text(json.dumps(sealed(fleet_of(uses).to_json())))
    return path


def advise(lab: FakeLab, *words: str) -> dict[str, Any]:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu={"bare": 0.01}, gains={"book": 0.8}, noise=0.001)
    done = lab.run("advise", "--budget=5", *words, "-o", "a.json", "--", "true")
    assert done.status == 0, done.stderr
    found: dict[str, Any] = json.loads((lab.work / "a.json").read_text())
    return found


def candidates(lab: FakeLab, advised: dict[str, Any]) -> list[str]:
    """Returns the names of a run's candidate plans, in their order."""
    state = dict(Store(lab.work / "results/store").records(KIND, AdviceState.from_json))[advised["run"]]
    return [plan.name.split("-", 1)[1] for plan in state.candidates]


@pytest.mark.lengthy
def test_trials_follow_the_weights_of_the_fleet(lab: FakeLab) -> None:
    plain = advise(lab)
    assert candidates(lab, plain) == ["book", "prices", "orders"]
    assert all("fleet_share" not in row for row in plain["subsystems"])
    fleet = write_fleet(lab.work / "fleet.json", orders=600, prices=300, cache=100)
    weighted = advise(lab, "--on", str(fleet))
    assert candidates(lab, weighted) == ["orders", "prices", "book"]
    shares = {row["name"]: row["fleet_share"] for row in weighted["subsystems"]}
    assert shares == {"book": 0.0, "prices": 0.3, "orders": 0.6}
    notes = " ".join(weighted["notes"])
    assert "3 processes of the fleet" in notes and "cache (10 %)" in notes


@pytest.mark.lengthy
def test_another_fleet_makes_another_advise(lab: FakeLab) -> None:
    """Rounds of an earlier order are not taken for those of this one."""
    for shares in ({"orders": 9, "book": 1}, {"prices": 9, "book": 1}):
        advised = advise(lab, "--on", str(write_fleet(lab.work / "fleet.json", **shares)))
        assert candidates(lab, advised)[0] == next(iter(shares))


def test_a_fleet_of_other_builds_is_refused_before_a_round(lab: FakeLab) -> None:
    fleet = write_fleet(lab.work / "fleet.json", build="cd34", book=1)
    lab.configure(events=1000, subsystems=SUBSYSTEMS)
    done = lab.run("advise", "--on", str(fleet), "--", "true")
    assert done.status == 3 and "no process of this build of /bin/fake (build-id ab12)" in done.stderr
    assert "shop cd34" in done.stderr and not lab.calls()
    absent = lab.run("advise", "--on", "absent.json", "--", "true")
    assert absent.status == 3 and "absent.json" in absent.stderr and "trace show --merge" in absent.stderr


def test_plans_of_equal_weight_keep_their_order() -> None:
    def plan(name: str, *subsystems: str, scope: PlanScope | None = None) -> Plan:
        route = PlanRoute(subsystems=subsystems, pool=name, strategy="multipool", scope=scope)
        return Plan(name, "/bin/fake", "ab12", (route,))

    arena = plan("arena of parse", "small", "large", scope=PlanScope(function="parse"))
    plans = [plan("small", "owner of small"), arena, plan("unknown", "unknown"), plan("large", "large"),
             plan("other", "other")]  # fmt: skip
    ordered = FleetWeights(3, {"small": 0.1, "large": 0.5}).in_order(plans)
    assert [one.name for one in ordered] == ["arena of parse", "large", "small", "unknown", "other"]
