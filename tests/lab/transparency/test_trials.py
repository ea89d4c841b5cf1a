# SPDX-License-Identifier: BSL-1.0
"""A program under a trial behaves as the bare one, for every variant and plan."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import BIN, TRIAL, Outcome, Program, environment_of, make_folder, run_recorded, run_round
from real_programs import REAL_PROGRAMS
from special_programs import LIMITED, SPECIAL_PROGRAMS

from tiers import mostly_more

Bare = Callable[[Program], Outcome]

EVERY_PROGRAM = [*REAL_PROGRAMS, *SPECIAL_PROGRAMS, LIMITED]
USUAL = ("perl", "sqlite3", "threads", "calls", "early", "loading", "descriptors-limit")


def build_id(argv: list[str]) -> str:
    found = shutil.which(argv[0])
    assert found
    notes = subprocess.run(["readelf", "-n", found], capture_output=True, check=True).stdout.decode()
    match = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return match[1] if match else ""


def compile_plan(program: Program, routes: list[dict[str, object]], place: Path) -> Path:
    """Compiles the routes of a plan for `program` to address ranges."""
    place.mkdir(parents=True, exist_ok=True)
    argv = program.argv()
    plan, modules, compiled = place / "any.plan.json", place / "modules", place / "routes"
    identity = {"path": shutil.which(argv[0]), "build_id": build_id(argv)}
    plan.write_text(json.dumps({"schema": "millpond.plan/1", "program": identity, "routes": routes}))
    survey = [str(TRIAL), "--survey", str(modules), "--", *argv]
    subprocess.run(survey, cwd=make_folder(program, place / "survey"), env=environment_of(program), input=program.stdin,
                   capture_output=True, timeout=120, check=False)  # fmt: skip
    compiling = [str(TRIAL), "--compile", str(plan), "--modules", str(modules), "-o", str(compiled)]
    done = subprocess.run(compiling, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return compiled


@pytest.mark.parametrize("variant", mostly_more(["empty", "shared", "looked_up"]))
@pytest.mark.parametrize("program", EVERY_PROGRAM, ids=lambda program: program.name)
def test_controls_change_nothing_visible(program: Program, variant: str, bare: Bare, tmp_path: Path) -> None:
    expected = bare(program)
    assert run_round(program, tmp_path / "trial", variant) == expected


@pytest.mark.parametrize("program", mostly_more(EVERY_PROGRAM, *USUAL), ids=lambda program: program.name)
def test_one_pool_for_everything_changes_nothing_visible(program: Program, bare: Bare, tmp_path: Path) -> None:
    expected = bare(program)
    everything: dict[str, object] = {"subsystems": ["*"], "pool": "all", "strategy": "synchronized(multipool)"}
    compiled = compile_plan(program, [everything], tmp_path / "plan")
    assert run_round(program, tmp_path / "trial", "plan", compiled) == expected


@pytest.mark.parametrize(
    "program", mostly_more([*REAL_PROGRAMS, SPECIAL_PROGRAMS[0]], "sqlite3"), ids=lambda program: program.name
)
def test_plans_from_its_own_trace_change_nothing_visible(program: Program, bare: Bare, tmp_path: Path) -> None:
    expected = bare(program)
    trace, plans = tmp_path / "trace.mpt", tmp_path / "plans"
    run_recorded(program, tmp_path / "recorded", trace)
    plans.mkdir()
    argv = [str(BIN / "millpond-characterise"), "--plan-out", str(plans), str(trace)]
    subprocess.run(argv, capture_output=True, check=True)
    found = sorted(plans.rglob("*.plan.json"))
    for number, plan in enumerate(found):
        written = json.loads(plan.read_text())
        place = tmp_path / str(number)
        compiled = compile_plan(program, written["routes"], place)
        assert run_round(program, place / "trial", "plan", compiled) == expected, plan.name
