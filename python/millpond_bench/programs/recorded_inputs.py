# SPDX-License-Identifier: BSL-1.0
"""Recordings of the study's programs, and commands that use them in a program's own surroundings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from millpond.rounds.real_program import RealProgram
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status

RECORDER = "millpond-record"


def record(program: RealProgram, trace: Path) -> None:
    """Records a run of the program. Failure (4) if it fails, or the recorder is missing."""
    run_for(program, [str(native.find(RECORDER)), "-o", str(trace), "--", *program.command])


def run_for(program: RealProgram, command: list[str]) -> None:
    """Runs a command with the program's input, environment and folder. Failure (4) if it fails."""
    with (program.stdin or Path(os.devnull)).open("rb") as stdin:
        done = subprocess.run(
            command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, cwd=program.folder,
            env={**user_environment(), **program.environment},
        )  # fmt: skip
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise Failure(Status.ENVIRONMENT, f"{Path(command[0]).name} failed for {program.name}: {said}")
