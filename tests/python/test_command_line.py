# SPDX-License-Identifier: BSL-1.0
"""Every error has its status and one line that begins `millpond:`; no file is half-written."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import FakeLab

from millpond.system import native, process_tree

SUBSYSTEMS = [{"name": "book"}, {"name": "printer"}]


def the_line(stderr: str) -> str:
    progress = ("recording", "grouping", "first estimate", "a run takes")
    lines = [text for text in stderr.splitlines() if text.startswith("millpond:")]
    (line,) = [text for text in lines if not text.removeprefix("millpond: ").startswith(progress)]
    return line


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["advise"], "no program"),
        (["advise", "--"], "no program"),
        (["advise", "", "x"], "no program"),
        (["advise", "--budget", "many", "--", "prog"], "--budget"),
        (["advise", "--budget", "-1", "--", "prog"], "--budget"),
        (["advise", "--nonsense", "--", "prog"], "--nonsense"),
        (["try", "--", "prog"], "--plan"),
        (["try", "--rounds", "0", "--plan", "p", "--", "prog"], "--rounds"),
        (["trace", "show"], "TRACE"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_is_status_2_with_one_line(lab: FakeLab, words: list[str], reason: str) -> None:
    done = lab.run(*words)
    assert done.status == 2
    assert reason in the_line(done.stderr)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("step", "status"), [("record", 5), ("record", 4), ("characterise", 3), ("compile", 3), ("round", 4)]
)
def test_advise_passes_on_the_failure_of_a_native_program(lab: FakeLab, step: str, status: int) -> None:
    lab.configure(events=10, subsystems=SUBSYSTEMS, fails={step: [status, f"{step} cannot: try another"]})
    done = lab.run("advise", "-o", "out.json", "--", "prog")
    assert done.status == status
    assert the_line(done.stderr) == f"millpond: {step} cannot: try another"
    assert not (lab.work / "out.json").exists()
    assert not list(lab.work.glob("results/store/observations/*"))


def test_characterise_passes_the_status_and_the_words_on(lab: FakeLab) -> None:
    lab.configure(fails={"characterise": [3, "x.mpt: damaged at offset 12"]})
    done = lab.run("trace", "show", "x.mpt", "-o", "out.json")
    assert (done.status, the_line(done.stderr)) == (3, "millpond: x.mpt: damaged at offset 12")
    assert not (lab.work / "out.json").exists()


@pytest.mark.parametrize(("step", "status"), [("survey", 5), ("compile", 2), ("compile", 3), ("round", 4)])
def test_trial_passes_on_the_failure_of_a_native_program(
    lab: FakeLab, plan_file: Callable[..., Path], step: str, status: int
) -> None:
    lab.configure(fails={step: [status, "the reason"]})
    done = lab.run("try", "--plan", str(plan_file("p", "book")), "--", "prog")
    assert done.status == status
    assert the_line(done.stderr) == "millpond: the reason"


def test_a_missing_plan_is_missing_input(lab: FakeLab) -> None:
    done = lab.run("try", "--plan", "none.plan.json", "--", "prog")
    assert done.status == 3
    assert "none.plan.json" in the_line(done.stderr)


def test_two_plans_of_one_name_are_a_usage_failure(lab: FakeLab, plan_file: Callable[..., Path]) -> None:
    path = str(plan_file("p", "book"))
    done = lab.run("try", "--plan", path, "--plan", path, "--", "prog")
    assert done.status == 2
    assert "'p'" in the_line(done.stderr)


def test_native_programs_that_are_missing_are_an_environment_failure(lab: FakeLab) -> None:
    for name in ("record", "characterise"):
        (lab.bin / f"millpond-{name}").unlink()
        words = ["show", "x.mpt"] if name == "characterise" else ["record", "-o", "x.mpt", "--", "prog"]
        done = lab.run("trace", *words)
        assert done.status == 4
        assert f"millpond-{name} is missing" in the_line(done.stderr)
        assert str(lab.bin) in the_line(done.stderr)


@pytest.mark.parametrize("option", ["-onone/out.json", "-onone/out.html", "--store=/dev/null/store", "-ojson:/"])
def test_a_place_that_cannot_be_written_fails_before_the_program_runs(lab: FakeLab, option: str) -> None:
    lab.configure(events=10, subsystems=SUBSYSTEMS, run=True)
    done = lab.run("advise", option, "--", "touch", "ran")
    assert done.status == 4
    assert "cannot write" in the_line(done.stderr)
    assert not (lab.work / "ran").exists()


def test_a_full_disk_is_an_environment_failure(lab: FakeLab) -> None:
    done = lab.run("advise", "-o", "/dev/full", "--", "prog")
    assert done.status == 4
    assert "No space left on device; free some space" in the_line(done.stderr)


def test_json_goes_only_to_standard_output_or_to_the_file(lab: FakeLab) -> None:
    lab.configure(events=10, subsystems=SUBSYSTEMS)
    (lab.work / "x.mpt").write_text("0")
    alone = lab.run("trace", "show", "x.mpt", "--json")
    assert json.loads(alone.stdout)["schema"] == "millpond.characterisation/1"
    both = lab.run("trace", "show", "-o", "out.json", "x.mpt")
    assert json.loads((lab.work / "out.json").read_text()) == json.loads(alone.stdout)
    assert "book" in both.stdout
    assert "{" not in both.stdout


@pytest.mark.lengthy
def test_a_closed_output_pipe_is_not_an_error(lab: FakeLab) -> None:
    lab.configure(events=10, subsystems=[{"name": f"s{i}"} for i in range(3000)])
    (lab.work / "x.mpt").write_text("0")
    reading, writing = os.pipe()
    os.close(reading)
    done = lab.run_apart("trace", "show", "x.mpt", "--json", stdout=writing)
    os.close(writing)
    assert (done.status, done.stderr) == (0, "")


def test_help_and_version_name_the_verbs(lab: FakeLab) -> None:
    text = lab.run("--help").stdout
    assert all(verb in text for verb in ("record", "show", "try", "advise"))
    assert lab.run("--version").stdout.strip()
    assert "-o FILE" in lab.run("trace", "record", "--help").stdout


@contextmanager
def interrupted_program(trap: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A native program `waits` that handles SIGINT by `trap`, which may write to the file yielded; we get one SIGINT
    when it waits for it.
    """
    heard = folder / "heard"
    program = folder / "waits"
    lines = ("#!/bin/sh", f"trap '{trap.format(heard=heard)}' INT", f": > {heard}", "while :; do sleep 0.01; done")
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    monkeypatch.setenv("MILLPOND_BIN", str(folder))

    us = threading.get_ident()

    def waits_for_it() -> bool:  # before that we would be interrupted ourselves
        frame = sys._current_frames().get(us)
        while frame is not None and frame.f_code.co_name != "communicate":
            frame = frame.f_back
        return frame is not None

    def interrupt() -> None:
        while not (heard.exists() and waits_for_it()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    yield heard
    sender.join()


@pytest.mark.usefixtures("interruptible")
def test_the_first_interruption_goes_to_the_recorded_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, which ends by it, hears it once; we are not interrupted."""
    before = signal.getsignal(signal.SIGINT)
    trap = "echo x >> {heard}; exit 3"
    with interrupted_program(trap, tmp_path, monkeypatch) as heard, native.interrupts_passed_on() as passed:
        ended = native.run("waits", [])
    assert (ended.status, passed, heard.read_text()) == (3, [signal.SIGINT], "x\n")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("interruptible")
def test_a_program_that_ignores_the_interruption_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When its grace is over we are interrupted as by a second Ctrl-C, and it ends with us."""
    monkeypatch.setattr(native, "PROGRAM_GRACE_SECONDS", 0.2)
    monkeypatch.setattr(native, "_PATIENCE_SECONDS", 0.1)
    others = process_tree.descendants_of(os.getpid())
    with (
        pytest.raises(KeyboardInterrupt),
        interrupted_program("", tmp_path, monkeypatch),
        native.interrupts_passed_on() as passed,
    ):
        native.run("waits", [])
    assert passed == [signal.SIGINT]
    assert process_tree.descendants_of(os.getpid()) == others
