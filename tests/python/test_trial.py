# SPDX-License-Identifier: BSL-1.0
"""Trial: the user sees the program's output once, rounds stay hidden, and the status is the program's."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FakeLab

from millpond.cells.cell import CONTROLS
from millpond.store.store import Store

Write = Callable[..., Path]


@pytest.mark.lengthy
def test_output_input_and_status_are_the_programs_own(lab: FakeLab, plan_file: Write) -> None:
    lab.configure(run=True)
    words = ("sh", "-c", "cat; echo to stderr >&2; exit 7")
    done = lab.run_apart("try", "--rounds=1", "--plan", str(plan_file("p", "book")), "--", *words, stdin=b"hello\n")
    assert (done.status, done.stdout) == (7, "hello\n")
    assert done.stderr.count("to stderr") == 1


@pytest.mark.lengthy
def test_a_signal_is_raised_again(lab: FakeLab, plan_file: Write) -> None:
    lab.configure(signal=int(signal.SIGSEGV))
    done = lab.run_apart("try", "--plan", str(plan_file("p", "book")), "--", "prog")
    assert done.status == -signal.SIGSEGV
    assert "SIGSEGV" in done.stderr


def test_every_control_and_every_plan_is_run_in_every_round(lab: FakeLab, plan_file: Write) -> None:
    plans = [str(plan_file("one", "book")), str(plan_file("two", "prices"))]
    done = lab.run(
        "try", "--rounds=3", "-o", "out.json", "--store=s", "--plan", plans[0], "--plan", plans[1], "--", "x"
    )
    assert done.status == 0, done.stderr
    found = json.loads((lab.work / "out.json").read_text())
    assert found["rounds"] == 3
    assert [c["name"] for c in found["contenders"]] == [*CONTROLS, "plan:one", "plan:two"]
    assert all(c["metrics"]["cpu_seconds"]["n"] == 3 for c in found["contenders"])
    rows = Store(lab.work / "s").query("select count(*) n from observations where metric = 'cpu_seconds' and round > 0")
    assert rows == [{"n": 3 * 7}]
    variants = [c[c.index("--round") + 1] for c in lab.calls() if "--round" in c]
    assert variants[0] == "bare"
    assert len(variants) == 1 + 4 * 7  # the user's own run, the warm-up, three rounds


def test_controls_are_about_the_program_of_the_plan(lab: FakeLab, plan_file: Write) -> None:
    lab.run("try", "--rounds=1", "--plan", str(plan_file("p", "book")), "--", "x")
    for call in lab.calls():
        if "--round" in call:
            assert ("--routes" in call) == (call[call.index("--round") + 1] != "bare")


def test_the_effects_are_those_of_the_figures(lab: FakeLab, plan_file: Write) -> None:
    cpu = {"bare": 1.0, "empty": 1.01, "shared": 0.9, "shared_huge": 0.8, "looked_up": 1.05}
    lab.configure(cpu=cpu, gains={"book": 0.7}, noise=0.001)
    lab.run("try", "-o", "out.json", "--plan", str(plan_file("p", "book")), "--", "x")
    effects = json.loads((lab.work / "out.json").read_text())["plans"][0]["effects"]
    expected = {
        "shared_pool": 0.9 / 1.01,
        "shared_pool_huge": 0.8 / 0.9,
        "total": 0.7 * 1.05,
        "net": 0.7 * 1.05 - 1.05 + 1.0,
        "interposer": 1.01,
        "look_up": 1.05,
    }
    for name, ratio in expected.items():
        assert effects[name]["cpu_seconds"]["median"] == pytest.approx(ratio, rel=0.005), name


def test_a_budget_allows_at_least_one_round_and_is_reported(lab: FakeLab, plan_file: Write) -> None:
    done = lab.run("try", "--budget=0", "-o", "out.json", "--plan", str(plan_file("p", "book")), "--", "x")
    assert done.status == 0
    assert json.loads((lab.work / "out.json").read_text())["rounds"] == 1
    assert "the budget allowed 1 round of 11" in done.stderr


def test_the_table_stays_off_standard_output(lab: FakeLab, plan_file: Write) -> None:
    done = lab.run("try", "--rounds=1", "--plan", str(plan_file("p", "book")), "--", "x")
    assert done.stdout == ""
    assert "looked_up" in done.stderr
