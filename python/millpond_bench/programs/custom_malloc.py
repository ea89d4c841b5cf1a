# SPDX-License-Identifier: BSL-1.0
"""CUSTOMALLOC of Grunwald 1993 (section 1): a malloc whose size classes are chosen from a recording of the program.

the smaller input ─ millpond-record ─▶ trace ─ millpond synthesize ─▶ library, measured on the other input
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from millpond.rounds.real_program import RealProgram
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status

NAME = "custom_malloc"
RECORDER = "millpond-record"


def build(trained: RealProgram, folder: Path) -> Path:
    """The library for a program, recorded on this input. `folder`: new, for the recording and the sources.

    Failure (4) if it cannot be recorded, or its malloc cannot be built: that takes a compiler.
    """
    folder.mkdir(parents=True)
    trace, library = folder / "trained.mpt", folder / f"lib{NAME}.so"
    _run([str(native.find(RECORDER)), "-o", str(trace), "--", *trained.command], trained)
    _run([sys.executable, "-m", "millpond", "synthesize", str(trace), "-o", str(folder / f"{NAME}.hpp"),
          "-o", f"malloc:{library}"], trained)  # fmt: skip
    trace.unlink()
    return library


def _run(command: list[str], program: RealProgram) -> None:
    with (program.stdin or Path(os.devnull)).open("rb") as stdin:
        done = subprocess.run(
            command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, cwd=program.folder,
            env={**user_environment(), **program.environment},
        )  # fmt: skip
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise Failure(Status.ENVIRONMENT, f"no {NAME} for {program.name}: {said}")
