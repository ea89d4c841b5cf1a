# SPDX-License-Identifier: BSL-1.0
"""Captures the data references of a program for `advise --references`, and characterises the process of interest.

    program ──millpond-references (Valgrind)──▶ FILE, FILE.PID ──the process of that number──▶ characterisation

A captured run takes ten times as long as a plain one and more. It is not a round: it never runs at the same time as
one, and its time is compared only with the plain run's.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.cells.plans import Plan, read_affinity
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.preparation import NO_PREPARATION, Preparation
from millpond.rounds.recording import CHARACTERISE, read_json, trace_set, trace_size_text
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.progress import report_phase, say
from millpond.system.standard_input import StandardInput
from millpond.system.wording import seconds_text

CAPTURE = "millpond-references"
# A captured run is stopped after so many times a plain run, and never before so many seconds.
TIMES_AT_MOST = 200.0
SECONDS_MIN = 300.0
_OWN = "millpond: "


@dataclass(frozen=True)
class CapturedRun:
    """The result of a capture; in wall-clock seconds, the program under the tool, without it, and the analysis
    afterwards.

    `trace`: the recording of the process of interest. `plans`: candidates that follow from its references.
    """

    characterisation: Characterisation
    seconds: float
    plain_seconds: float
    analysis_seconds: float
    trace: Path | None = None
    plans: tuple[Plan, ...] = ()


def capture(
    program: tuple[str, ...],
    number: int,
    folder: Path,
    stdin: StandardInput,
    preparation: Preparation = NO_PREPARATION,
) -> CapturedRun:
    """Runs the program once plainly and once under the tool, and characterises its process of that number.

    Failure, whose message tells what to install or to do, if there is no Valgrind, if the program takes far too long
    under it, or if its processes are not those of the recording.
    """
    inner = folder.absolute() / "captured"
    inner.mkdir(exist_ok=True)
    file, out = inner / "program.mpt", inner / "characterisation.json"
    argv = preparation.program(program)
    plain_seconds = _run_plainly(argv, folder, stdin, preparation)
    limit = max(SECONDS_MIN, TIMES_AT_MOST * plain_seconds)
    phase = report_phase("capturing references", lambda: trace_size_text(file), limit)
    with preparation.ready(folder) as cwd, stdin.first() as descriptor, phase:
        started = time.monotonic()
        finished = native.run(CAPTURE, ["-o", str(file), "--", *argv], stdin=descriptor, seconds=limit, folder=cwd)
        took = time.monotonic() - started
    if finished.timed_out:
        raise Failure(
            Status.ENVIRONMENT,
            f"the program had not ended after {seconds_text(limit)} under the tool; `millpond record --references "
            "--instructions N` captures a part of it",
        )
    traces = trace_set(file)
    if not traces:
        raise native.failure_of(CAPTURE, finished)
    if len(traces) < number:
        raise Failure(Status.ENVIRONMENT, f"the captured run had no process {number}, which the recording has analysed")
    say("counting misses")
    started = time.monotonic()
    trace, plans = traces[number - 1], inner / "plans"
    plans.mkdir(exist_ok=True)
    native.require(CHARACTERISE, ["--json", str(out), "--plan-out", str(plans), str(trace)])
    try:
        found = Characterisation.from_json(read_json(out))
    except ValueError as error:
        raise Failure(Status.ENVIRONMENT, f"{out.name} is of another version of the laboratory: {error}") from error
    if found.trace.stopped_early:
        raise Failure(Status.ENVIRONMENT, _why_partial(finished.said))
    if found.references is None:
        raise Failure(Status.ENVIRONMENT, "the captured trace holds no references")
    return CapturedRun(found, took, plain_seconds, time.monotonic() - started, trace, tuple(read_affinity(plans)))


def _why_partial(said: str) -> str:
    """The last message of an incomplete capture. A part of a run ranks no candidates."""
    lines = [line.removeprefix(_OWN) for line in said.splitlines() if line.startswith(_OWN)]
    return "only a part of the program's run was captured, so candidates cannot be ranked" + (
        f": {lines[-1]}" if lines else ""
    )


def _run_plainly(argv: Sequence[str], folder: Path, stdin: StandardInput, preparation: Preparation) -> float:
    """The seconds of one run without any tool, its output dropped, for comparison."""
    with preparation.ready(folder) as cwd, stdin.first() as descriptor:
        started = time.monotonic()
        try:
            subprocess.run(
                argv, stdin=descriptor, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd=cwd,
                env=user_environment(),
            )  # fmt: skip
        except OSError as error:
            raise Failure(Status.PROGRAM, f"cannot start {argv[0]}: {error.strerror or error}") from error
        return time.monotonic() - started
