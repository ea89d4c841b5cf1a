# SPDX-License-Identifier: BSL-1.0
"""Runs one program bare, recorded and under a trial, each in its own folder, and returns the visible outcome.

bare     program                               ─┐
record   millpond-record -o FILE -- program     ├─▶ Outcome: standard output and error, status or signal, files
trial    millpond-trial --round … -- program   ─┘
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or REPOSITORY / "build" / "release" / "bin").absolute()
PROGRAMS = BIN.parent / "test_programs"
RECORD = BIN / "millpond-record"
TRIAL = BIN / "millpond-trial"
LIMIT_SECONDS = 120


@dataclass(frozen=True)
class Program:
    """A program, its standard input, its environment, and the parts of its outcome that vary.

    `command` may contain {programs}, the folder of the test programs. `prepare` are files written before it starts.
    `ignore`: files (or folders) that differ from one bare run to the next.
    """

    name: str
    command: tuple[str, ...]
    stdin: bytes = b""
    prepare: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()

    def argv(self) -> list[str]:
        return [word.replace("{programs}", str(PROGRAMS)) for word in self.command]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program. A negative status is the signal that ended it."""

    stdout: bytes
    stderr: bytes
    status: int
    files: Mapping[str, bytes]


def missing(program: Program) -> str:
    """Returns the reason why this program cannot run here; empty if it can."""
    first = program.argv()[0]
    return "" if shutil.which(first) else f"{first} is not here"


def environment_of(program: Program) -> dict[str, str]:
    """Returns the environment, the same for every kind of run, without variables of the test's interpreter."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LD_LIBRARY_PATH") if key in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC", **program.environment}


def make_folder(program: Program, place: Path) -> Path:
    """Makes the program's folder with its files. Its name is always `work`, because some programs print it."""
    folder = place / "work"
    folder.mkdir(parents=True)
    for name, content in program.prepare.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def files_in(folder: Path, ignore: Sequence[str] = ()) -> dict[str, bytes]:
    """Returns every file below `folder` with its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not any(name == i or name.startswith(i + "/") for i in ignore):
            found[name] = path.read_bytes()
    return found


def run(argv: Sequence[str], program: Program, place: Path) -> Outcome:
    """Runs `argv` as `program` in a fresh folder below `place`."""
    folder = make_folder(program, place)
    done = subprocess.run(
        argv, cwd=folder, env=environment_of(program), input=program.stdin, capture_output=True, timeout=LIMIT_SECONDS,
        check=False,
    )  # fmt: skip
    return Outcome(done.stdout, done.stderr, done.returncode, files_in(folder, program.ignore))


def run_bare(program: Program, place: Path) -> Outcome:
    return run(program.argv(), program, place)


def run_recorded(program: Program, place: Path, trace: Path, options: Sequence[str] = ()) -> Outcome:
    return run([str(RECORD), "-o", str(trace), *options, "--", *program.argv()], program, place)


def traces_of(trace: Path) -> list[Path]:
    """Returns the traces of a recording: FILE, FILE.PID, FILE.PID.IMAGE. Fails if one is unfinished."""
    left = sorted(trace.parent.glob(trace.name + "*"))
    unfinished = [path.name for path in left if ".partial" in path.name or path.is_dir()]
    assert not unfinished, f"the recording left {unfinished}"
    return left


def run_round(program: Program, place: Path, variant: str, routes: Path | None = None) -> Outcome:
    """Runs one round of `millpond-trial`. Output goes through files; the status comes from the result."""
    folder = make_folder(program, place)
    result, stdin, stdout, stderr = (place / name for name in ("result.json", "stdin", "stdout", "stderr"))
    stdin.write_bytes(program.stdin)
    chosen = ["--routes", str(routes)] if routes else []
    streams = ["--stdin", str(stdin), "--stdout", str(stdout), "--stderr", str(stderr)]
    argv = [str(TRIAL), "--round", variant, *chosen, "--result", str(result), *streams, "--", *program.argv()]
    done = subprocess.run(
        argv, cwd=folder, env=environment_of(program), capture_output=True, timeout=LIMIT_SECONDS, check=False
    )
    assert result.exists(), f"millpond-trial wrote no result: status {done.returncode}, {done.stderr.decode()}"
    said = json.loads(result.read_text())
    status = -said["signal"] if said["signal"] else said["exit_status"]
    return Outcome(stdout.read_bytes(), stderr.read_bytes(), status, files_in(folder, program.ignore))
