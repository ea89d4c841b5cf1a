# SPDX-License-Identifier: BSL-1.0
"""Captures the data references of a program for `advise --references`, and characterises the process that matters.

program ──millpond-references (Valgrind)──▶ FILE, FILE.PID ──the process of that number──▶ characterisation

A captured run takes ten times as long as a plain one and more. It is no round: it never runs beside one, and no time of
it is compared with anything but the plain run's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from millpond.rounds.characterisation import Characterisation
from millpond.rounds.preparation import NO_PREPARATION, Preparation
from millpond.rounds.recording import CHARACTERISE, read_json, trace_set
from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond.system.standard_input import StandardInput
from millpond.system.wording import seconds_text

CAPTURE = "millpond-references"


@dataclass(frozen=True)
class CapturedRun:
    """What a capture found, how long the program took under the tool, and the analysis afterwards."""

    characterisation: Characterisation
    seconds: float
    analysis_seconds: float


def capture(
    program: tuple[str, ...],
    number: int,
    folder: Path,
    stdin: StandardInput,
    seconds: float,
    preparation: Preparation = NO_PREPARATION,
) -> CapturedRun:
    """Runs the program once under the tool and characterises its process of that number.

    Failure, whose message says what to install or to do, where there is no Valgrind, the program has not ended after
    `seconds`, or its processes are not those of the recording.
    """
    inner = folder.absolute() / "captured"
    inner.mkdir(exist_ok=True)
    file, out = inner / "program.mpt", inner / "characterisation.json"
    argv = preparation.program(program)
    with preparation.ready(folder) as cwd, stdin.first() as descriptor:
        started = time.monotonic()
        finished = native.run(CAPTURE, ["-o", str(file), "--", *argv], stdin=descriptor, seconds=seconds, folder=cwd)
        took = time.monotonic() - started
    if finished.timed_out:
        raise Failure(
            Status.ENVIRONMENT,
            f"the program had not ended after {seconds_text(seconds)} under the tool; `millpond record --references "
            "--instructions N` captures a part of it",
        )
    traces = trace_set(file)
    if not traces:
        raise native.failure_of(CAPTURE, finished)
    if len(traces) < number:
        raise Failure(Status.ENVIRONMENT, f"the captured run had no process {number}, which the recording has analysed")
    started = time.monotonic()
    native.require(CHARACTERISE, ["--json", str(out), str(traces[number - 1])])
    try:
        found = Characterisation.from_json(read_json(out))
    except ValueError as error:
        raise Failure(Status.ENVIRONMENT, f"{out.name} is of another version of the laboratory: {error}") from error
    if found.references is None:
        raise Failure(Status.ENVIRONMENT, "the captured trace holds no references")
    return CapturedRun(found, took, time.monotonic() - started)
