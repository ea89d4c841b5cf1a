# SPDX-License-Identifier: BSL-1.0
"""Nameless functions of a library are called by its file's name, which a captured run and a recording give apart."""

from __future__ import annotations

from millpond.advice.captured_names import as_in_recording, names_between, renamed
from millpond.cells import plans as plans_of
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.reference_capture import CapturedRun

RECORDED = ("libx.so.2!f9@ab12", "parser", "tool!f1@cd34")
CAPTURED = ("libx.so.2.9.14!f9@ab12", "parser", "tool!f1@cd34")


def plan(name: str, *subsystems: str) -> Plan:
    route = {"subsystems": list(subsystems), "pool": subsystems[0], "strategy": "multipool"}
    program = {"path": "/bin/x", "build_id": "00"}
    return plans_of.from_json({"schema": "millpond.plan/1", "program": program, "routes": [route]}, name)


def characterised(*names: str) -> Characterisation:
    return Characterisation.from_json({"subsystems": [{"name": name} for name in names]})


def test_only_names_that_differ_are_translated() -> None:
    assert names_between(CAPTURED, RECORDED) == {CAPTURED[0]: RECORDED[0]}
    assert names_between(["libx.so.2!f9@ffff", "a!b"], RECORDED) == {}


def test_a_captured_run_has_the_names_of_the_recording() -> None:
    run = CapturedRun(characterised(*CAPTURED), 1.0, 1.0, 1.0, plans=(plan("affinity", CAPTURED[0], "parser"),))
    known, back = as_in_recording(run, characterised(*RECORDED))
    assert [s.name for s in known.characterisation.subsystems] == list(RECORDED)
    assert known.plans[0].subsystems == (RECORDED[0], "parser")
    assert known.plans[0].alone == RECORDED[0]
    assert renamed(known.plans[0], back) == run.plans[0]


def test_plans_that_no_trial_could_route_are_left_out() -> None:
    run = CapturedRun(characterised("other"), 1.0, 1.0, 1.0, plans=(plan("affinity", "other"),))
    assert as_in_recording(run, characterised(*RECORDED))[0].plans == ()


def test_a_plan_knows_who_shares_a_pool() -> None:
    assert plan("affinity", "a", "b").sharing == (("a", "b"),)
    assert plan("01", "a").sharing == ()
