# SPDX-License-Identifier: BSL-1.0
"""`millpond trace record` becomes the recorder: it imports only what it needs, and nothing of Python stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, FakeLab


@pytest.mark.lengthy
def test_no_library_is_imported_before_the_recorder_takes_over(lab: FakeLab) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "millpond", "trace", "record", "-o", "x.mpt", "--", "true"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert (lab.work / "x.mpt").exists()
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert not imported & {"typer", "rich", "numpy", "scipy", "duckdb", "pyarrow", "jinja2"}


@pytest.mark.lengthy
def test_the_status_and_the_words_are_passed_through(lab: FakeLab) -> None:
    lab.configure(run=True)
    done = lab.run_apart(
        "trace", "record", "-o", "x.mpt", "--", "sh", "-c", 'echo "$@"; exit 9', "sh", "a b", "--", "--json"
    )
    assert (done.status, done.stdout) == (9, "a b -- --json\n")


def test_the_programs_signals_and_environment_are_those_of_the_user(lab: FakeLab) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LC_") and k != "LANG"}
    # The recorder is not a Python program, which would ignore the same signals again.
    shell = lab.bin / "millpond-record"
    shell.write_text("#!/bin/sh\ngrep SigIgn /proc/self/status; env | grep LC_CTYPE; exit 0\n")
    done = subprocess.run(
        [sys.executable, "-m", "millpond", "trace", "record", "-o", "x.mpt", "--", "true"],
        env={**environment, "PYTHONPATH": str(ROOT / "python"), "LC_ALL": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    # The parent of the tests may ignore other signals, which stay ignored.
    plain = subprocess.run([str(shell)], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split()[1] == plain.stdout.split()[1]
    assert "LC_CTYPE" not in done.stdout


def test_without_a_program_the_usage_is_shown(lab: FakeLab) -> None:
    done = lab.run("trace", "record")
    assert done.status == 2
    assert "millpond trace record [-o FILE] PROGRAM" in done.stderr


def test_without_a_file_the_trace_has_the_programs_name(lab: FakeLab) -> None:
    done = lab.run_apart("trace", "record", "/bin/true")
    assert (done.status, "true.mpt" in done.stderr) == (0, True)
    assert (lab.work / "true.mpt").exists()


def test_a_recorder_that_cannot_be_started_is_an_environment_failure(lab: FakeLab) -> None:
    recorder: Path = lab.bin / "millpond-record"
    recorder.write_text("#!/none/such\n")
    done = lab.run_apart("trace", "record", "-o", "x.mpt", "--", "true")
    assert done.status == 4
    assert done.stderr.startswith("millpond: cannot start")


def test_references_are_captured_by_their_own_program(lab: FakeLab) -> None:
    capture: Path = lab.bin / "millpond-references"
    capture.write_text('#!/bin/sh\necho "$@"\n')
    capture.chmod(0o755)
    done = lab.run_apart(
        "trace",
        "record",
        "--with",
        "references",
        "-o",
        "x.mpt",
        "--window",
        "instructions=9:",
        "--",
        "true",
        "--references",
    )
    assert (done.status, done.stdout) == (0, "--from 9 -o x.mpt -- true --references\n")


def test_a_repeated_option_takes_no_word_of_the_program(lab: FakeLab) -> None:
    recorder: Path = lab.bin / "millpond-record"
    recorder.write_text('#!/bin/sh\necho "$@"\n')
    done = lab.run_apart("trace", "record", "-o", "x.mpt", "--scope", "parse", "ls", "-d")
    assert (done.status, done.stdout) == (0, "--scope parse -o x.mpt -- ls -d\n")


def _becomes_echo(lab: FakeLab) -> None:
    (lab.bin / "millpond-record").write_text('#!/bin/sh\necho "$@"\n')


def test_a_trace_of_a_running_program_has_its_name(lab: FakeLab) -> None:
    _becomes_echo(lab)
    own = Path("/proc/self/exe").readlink().name
    done = lab.run_apart("trace", "record", "--attach", str(os.getpid()), "--for", "2.5", "--with", "frees")
    assert (done.status, done.stdout) == (0, f"--frees --for 2.5 --attach {os.getpid()} -o {own}.mpt\n")
    assert done.stderr == f"millpond: recording to {own}.mpt (-o FILE chooses another file)\n"


def test_attaching_to_no_process_is_an_input_failure(lab: FakeLab) -> None:
    _becomes_echo(lab)
    ended = subprocess.Popen(["true"])
    ended.wait()
    done = lab.run("trace", "record", "--attach", str(ended.pid))
    assert (done.status, f"there is no process {ended.pid}" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--scope", "parse"], "--scope: start the program with that instead"),
        (["--with", "idle"], "--with idle: start"),
        (["--with", "scan"], "--with scan: start"),
        (["--with", "owners"], "--with owners: start"),
        (["--set", "ahead=1MB"], "--set ahead: start"),
        (["--with", "references"], "--attach does not go with --with references"),
        (["--finish", "x.mpt"], "--attach PID names the program"),
        (["true"], "--attach PID names the program"),
    ],
)
def test_what_a_program_must_be_started_with_is_refused(lab: FakeLab, words: list[str], reason: str) -> None:
    _becomes_echo(lab)
    done = lab.run("trace", "record", "--attach", str(os.getpid()), *words)
    assert (done.status, reason in done.stderr) == (2, True), done.stderr


def test_the_last_minutes_of_a_sample_are_a_ring(lab: FakeLab) -> None:
    recorder: Path = lab.bin / "millpond-record"
    recorder.write_text('#!/bin/sh\necho "$@"\n')
    done = lab.run_apart("trace", "record", "-o", "x.mpt", "--sample", "512KiB", "--window", "last=2.5min", "ls")
    assert (done.status, done.stdout) == (0, "--sample 512KiB --ring 2.5 -o x.mpt -- ls\n")
    process = str(os.getpid())
    ring = ["--sample", "1MB", "--window", "last=1min"]
    done = lab.run_apart("trace", "record", "-o", "x.mpt", "--attach", process, *ring)
    assert (done.status, done.stdout) == (0, f"--sample 1MB --ring 1 --attach {process} -o x.mpt\n")


@pytest.mark.parametrize("words", [("--with", "owners"), ("--with", "frees"), ("--with", "scan"), ("--scope", "f")])
def test_a_sample_goes_with_nothing_that_needs_every_event(lab: FakeLab, words: tuple[str, ...]) -> None:
    done = lab.run_apart("trace", "record", "-o", "x.mpt", "--sample", "1MB", *words, "ls")
    assert done.status == 2
    assert f"--sample does not go with {' '.join(words) if words[0] == '--with' else words[0]}" in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--window", "last=10min"), "needs --sample BYTES"),
        (("--sample", "1MB", "--window", "last=10"), "given once, as last=10min"),
        (("--sample", "1MB", "--window", "last=0min"), "given once, as last=10min"),
        (("--sample", "1MB", "--window", "last=1min", "--window", "last=2min"), "given once, as last=10min"),
        (("--sample", "1MB", "--window", "last=1min", "--with", "idle"), "does not go with --with idle"),
        (("--sample", "1MB", "--window", "last=1min", "--set", "ahead=1MB"), "does not go with --set ahead"),
        (("--with", "references", "--window", "last=1min"), "does not go with --with references"),
    ],
)
def test_a_ring_of_anything_else_is_refused(lab: FakeLab, words: tuple[str, ...], why: str) -> None:
    done = lab.run_apart("trace", "record", "-o", "x.mpt", *words, "ls")
    assert done.status == 2
    assert why in done.stderr
