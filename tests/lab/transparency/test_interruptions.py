# SPDX-License-Identifier: BSL-1.0
"""An interrupted verb ends at once with one line. It leaves no process and no temporary folder, even if killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import BIN, PROGRAMS, REPOSITORY

from millpond.system.process_tree import descendants_of, process_facts
from tiers import mostly_more

# A program and its child, both of which ignore signals that would end them.
STUBBORN = "trap '' TERM HUP INT; echo begun > begun; sleep 1000 & sleep 1000; sleep 1000"


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


@pytest.fixture
def verb(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        (tmp_path / "tmp").mkdir()
        where = {"MILLPOND_BIN": str(BIN), "PYTHONPATH": str(REPOSITORY / "python"), "TMPDIR": str(tmp_path / "tmp")}
        argv = [sys.executable, "-m", "millpond", *words]
        child = subprocess.Popen(argv, cwd=tmp_path, env={**os.environ, **where}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def all_ended(processes: dict[int, int]) -> bool:
    return not any(process_facts(p)[1:] == (since,) for p, since in processes.items())


@pytest.mark.parametrize(
    "number", mostly_more([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], "SIGTERM", "SIGKILL")
)
def test_interrupted_advice_leaves_nothing(
    number: signal.Signals, verb: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    command = ("sh", "-c", STUBBORN) if number != signal.SIGKILL else ("sleep", "1000")
    child = verb("advise", "--", *command)
    wait_until(lambda: len(descendants_of(child.pid)) >= (3 if number != signal.SIGKILL else 2))
    if number != signal.SIGKILL:
        wait_until((tmp_path / "begun").exists)
    processes = descendants_of(child.pid)
    child.send_signal(number)
    said = child.communicate(timeout=60)[1].decode()
    assert child.returncode == -number
    wait_until(lambda: all_ended(processes))
    if number == signal.SIGKILL:
        return
    assert "Traceback" not in said
    lines = said.splitlines()
    assert lines[-1] == f"millpond: stopped by {number.name}; no results were kept"
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "results").exists()


def test_an_interrupted_trial_reports_the_rounds_it_keeps(
    verb: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    program = str(PROGRAMS / "calls")
    routes = [{"subsystems": ["*"], "pool": "all", "strategy": "synchronized(multipool)"}]
    plan = {"schema": "millpond.plan/1", "program": {"path": program, "build_id": ""}, "routes": routes}
    (tmp_path / "a.plan.json").write_text(json.dumps(plan))
    child = verb("try", "--rounds=100000", "--store=store", "--plan=a.plan.json", "--", program)

    def outcomes() -> int:  # first lines describe runs; 20 outcomes are over a round
        files = (tmp_path / "store").glob("observations/.*.rounds")
        return sum(len(file.read_bytes().splitlines()) - 1 for file in files)

    wait_until(lambda: outcomes() > 20 or child.poll() is not None)
    child.send_signal(signal.SIGTERM)
    said = child.communicate(timeout=60)[1].decode()
    assert child.returncode == -signal.SIGTERM, said
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert last.startswith("millpond: stopped by SIGTERM; ") and "continues from there" in last, said
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_endless_program_is_stopped_without_a_verdict(
    verb: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    endless = "trap 'echo asked > asked; exit 0' INT; while :; do :; done"
    child = verb("advise", "--budget=5", "-o", "advice.json", "--store=store", "--", "sh", "-c", endless)
    said = child.communicate(timeout=120)[1].decode()
    assert child.returncode == 0, said
    advice = json.loads((tmp_path / "advice.json").read_text())
    assert advice["verdict"].startswith("No verdict: the program had not ended after 2.00 s of recording")
    assert (tmp_path / "asked").exists(), "it was stopped as its user would stop it"
    assert advice["rounds"] == 0 and advice["choice"]["kind"] == "undecided"
