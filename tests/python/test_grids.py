# SPDX-License-Identifier: BSL-1.0
"""A grid can be listed, estimated, filtered, divided and resumed; options that only show something write nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, FakeLab

from millpond.cells.cell import CONTROLS
from millpond.store.store import Store

Write = Callable[..., Path]
PROGRAM = ("--", "true", "x")


def rounds_run(lab: FakeLab) -> list[str]:
    """Returns the variants of the rounds so far, without the user's own run (which has no --stdout)."""
    return [c[c.index("--round") + 1] for c in lab.calls() if "--round" in c and "--stdout" in c]


def everything_below(folder: Path) -> set[str]:
    return {str(p) for p in folder.rglob("*")}


def trial(lab: FakeLab, *options: str) -> dict[str, Any]:
    done = lab.run("try", "-o", "out.json", *options, *PROGRAM)
    assert done.status == 0, done.stderr
    return dict(json.loads((lab.work / "out.json").read_text()))


def test_showing_a_grid_writes_nothing(lab: FakeLab, plan_file: Write) -> None:
    plan = str(plan_file("p", "book"))
    before = everything_below(lab.work)
    done = lab.run("try", "--dry-run", "--store=s", "--plan", plan, *PROGRAM)
    assert done.status == 0, done.stderr
    assert everything_below(lab.work) == before
    assert all(name in done.stdout for name in (*CONTROLS, "plan:p"))
    assert len([c for c in lab.calls() if "--round" in c]) == 1


@pytest.mark.lengthy
def test_a_dry_run_shows_rounds_seconds_and_stored_runs(lab: FakeLab, plan_file: Write) -> None:
    lab.configure(cpu=dict.fromkeys(CONTROLS, 2.0), noise=0.0)
    options = ("--plan", str(plan_file("p", "book")), "--store=s")
    fresh = trial(lab, "--dry-run", "--rounds=11", *options)
    assert (fresh["schema"], fresh["runs"], fresh["stored_runs"]) == ("millpond.grid/2", 6 * 12, 0)
    assert fresh["estimated_from"] == "one bare run"
    assert [c["name"] for c in fresh["cells"]] == [*CONTROLS, "plan:p"]
    trial(lab, "--rounds=3", *options)
    calls = len(lab.calls())
    later = trial(lab, "--dry-run", "--rounds=11", *options)
    assert len(lab.calls()) == calls  # stored rounds tell how long a run takes
    assert (later["runs"], later["stored_runs"]) == (6 * 9, 6 * 3)
    assert later["estimated_from"] == "4 stored rounds of the bare program"
    assert later["estimated_seconds"] == pytest.approx(later["runs"] * 2.0 * 1.1, rel=0.05)
    assert trial(lab, "--dry-run", "--rounds=3", *options)["runs"] == 0


def test_filters_choose_cells_by_name(lab: FakeLab, plan_file: Write) -> None:
    options = ["--plan", str(plan_file("one", "book")), "--plan", str(plan_file("two", "prices"))]
    found = trial(lab, "--dry-run", *options, "--cells=plan:*", "--cells", "bare")
    assert [c["name"] for c in found["cells"]] == ["bare", "plan:one", "plan:two"]
    done = lab.run("try", *options, "--cells=nothing*", *PROGRAM)
    assert done.status == 2
    assert "'nothing*'" in done.stderr and "plan:one" in done.stderr
    result = trial(lab, "--rounds=2", *options, "--cells=plan:one", "--cells=bare")
    assert [c["name"] for c in result["contenders"]] == ["bare", "plan:one"]
    assert set(rounds_run(lab)) == {"bare", "plan"}
    one, two = result["plans"]
    assert set(one["effects"]) == {"total", "pool_extra"}
    assert two["effects"] == {}


@pytest.mark.lengthy
def test_a_trial_resumes_where_the_last_one_stopped(lab: FakeLab, plan_file: Write) -> None:
    options = ("--plan", str(plan_file("p", "book")), "--store=s")
    first = trial(lab, "--rounds=4", *options)
    assert len(rounds_run(lab)) == 6 * 5
    again = trial(lab, "--rounds=4", *options)
    assert len(rounds_run(lab)) == 6 * 5  # nothing is run twice
    assert again["contenders"] == first["contenders"]
    assert again["plans"] == first["plans"]
    more = trial(lab, "--rounds=7", *options)
    assert len(rounds_run(lab)) == 6 * (5 + 1 + 3)
    assert more["rounds"] == 7
    assert len(Store(lab.work / "s").runs()) == 2  # the one that ran nothing has left nothing
    sql = "select round, count(*) n from observations where metric = 'cpu_seconds' and round > 0 group by round"
    assert {(r["round"], r["n"]) for r in Store(lab.work / "s").query(sql)} == {(n, 6) for n in range(1, 8)}


@pytest.mark.lengthy
def test_a_damaged_file_of_the_store_does_not_stop_a_trial(lab: FakeLab, plan_file: Write) -> None:
    options = ("--plan", str(plan_file("p", "book")), "--store=s", "--rounds=2")
    trial(lab, *options)
    (kept,) = (lab.work / "s/observations").iterdir()
    kept.write_bytes(kept.read_bytes()[:-40])
    found = trial(lab, *options)
    assert found["rounds"] == 2
    assert len(rounds_run(lab)) == 2 * 6 * 3
    assert any(str(kept.name) in note for note in found["notes"])


@pytest.mark.lengthy
@pytest.mark.parametrize("change", ["seed", "program", "input file", "plan"])
def test_changed_trials_are_measured_again(lab: FakeLab, plan_file: Write, change: str) -> None:
    data = lab.work / "data"
    data.write_text("1")
    words = ["try", "--rounds=2", "--store=s", "--plan", str(plan_file("p", "book")), "--", "true", str(data)]
    assert lab.run(*words).status == 0
    assert len(rounds_run(lab)) == 18
    if change == "seed":
        words[1:1] = ["--seed=2"]
    elif change == "program":
        words[-2] = "false"
    elif change == "input file":
        data.write_text("12")
    else:
        plan_file("p", "prices")
    assert lab.run(*words).status == 0
    assert len(rounds_run(lab)) == 36


@pytest.mark.lengthy
def test_parts_on_two_machines_are_the_whole(lab: FakeLab, plan_file: Write) -> None:
    plan = ("--plan", str(plan_file("p", "book")))
    for number in (1, 2):
        part = trial(lab, f"--shard={number}/2", f"--store=s{number}", "--rounds=5", *plan)
        assert part["rounds"] == (3 if number == 1 else 2)
    for path in (lab.work / "s2/observations").iterdir():
        path.rename(lab.work / "s1/observations" / path.name)
    calls = len(rounds_run(lab))
    whole = trial(lab, "--store=s1", "--rounds=5", *plan)
    assert whole["rounds"] == 5
    assert len(rounds_run(lab)) == calls


@pytest.mark.parametrize(
    ("options", "reason"), [(["--shard=3/2", "--store=s"], "'3/2'"), (["--shard=1/2"], "needs --store")]
)
def test_a_wrong_part_is_a_usage_failure(lab: FakeLab, plan_file: Write, options: list[str], reason: str) -> None:
    done = lab.run("try", *options, "--plan", str(plan_file("p", "book")), *PROGRAM)
    assert done.status == 2
    assert reason in done.stderr
    assert not lab.calls()


@pytest.mark.more
def test_a_trial_that_is_killed_has_kept_its_rounds_and_is_resumed(lab: FakeLab, plan_file: Write) -> None:
    lab.configure(run=True)
    for name in ("reached", "go_on"):
        os.mkfifo(lab.work / name)
    # Runs: the user's own, six of the warm-up, six of round 1. The second run of round 2 announces itself and waits.
    script = "echo >> ticks; if [ $(wc -l < ticks) -eq 15 ]; then echo > reached; read line < go_on; fi"
    words = ["try", "--rounds=4", "--store=s", "-o", "out.json", "--plan", str(plan_file("p", "book"))]
    words += ["--", "sh", "-c", script]
    with subprocess.Popen(
        [sys.executable, "-m", "millpond", *words],
        cwd=lab.work,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as victim:
        (lab.work / "reached").read_text()
        victim.send_signal(signal.SIGKILL)
    (lab.work / "go_on").write_text("\n")
    lab.configure()
    (lab.bin / "calls.log").unlink()
    before = everything_below(lab.work / "s")
    assert "24 runs, 6 runs already stored" in lab.run(words[0], "--dry-run", *words[1:]).stdout
    assert everything_below(lab.work / "s") == before
    (lab.bin / "calls.log").unlink()
    done = lab.run(*words)
    assert done.status == 0, done.stderr
    assert len(rounds_run(lab)) == 6 + 3 * 6  # a warm-up again, and the rounds that were not whole
    assert json.loads((lab.work / "out.json").read_text())["rounds"] == 4
    counted = Store(lab.work / "s").query("select run, count(distinct round) n from observations group by run")
    assert sorted(r["n"] for r in counted) == [3, 4]
