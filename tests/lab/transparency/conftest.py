# SPDX-License-Identifier: BSL-1.0
"""Fixtures of this folder: each program is run bare once and recorded once, for all comparisons."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness
from attaching import SERVED, RunningProgram, Starter
from harness import Outcome, Program
from sleeping import Sleeper


def pytest_sessionstart(session: pytest.Session) -> None:
    absent = [path.name for path in (harness.RECORD, harness.PROGRAMS) if not path.exists()]
    if absent:
        why = f"{', '.join(absent)} not built for {harness.BIN}: build first, or set MILLPOND_BIN"
        pytest.exit(why, returncode=4)


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Program], Outcome]:
    """Returns the outcome of a program that runs bare."""
    known: dict[str, Outcome] = {}

    def run(program: Program) -> Outcome:
        if why := harness.missing(program):
            pytest.skip(why)
        if program.name not in known:
            known[program.name] = harness.run_bare(program, tmp_path_factory.mktemp("bare"))
        return known[program.name]

    return run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Program], tuple[Outcome, list[Path]]]:
    """Returns the outcome of a recorded program, and the traces of its processes, its own first."""
    known: dict[str, tuple[Outcome, list[Path]]] = {}

    def run(program: Program) -> tuple[Outcome, list[Path]]:
        if why := harness.missing(program):
            pytest.skip(why)
        if program.name not in known:
            place = tmp_path_factory.mktemp("recorded")
            (place / "traces").mkdir()
            trace = place / "traces" / "trace.mpt"
            outcome = harness.run_recorded(program, place, trace)
            known[program.name] = (outcome, harness.traces_of(trace))
        return known[program.name]

    return run


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Callable[..., Sleeper]]:
    """Returns a function that starts a program asleep; all are killed in the end."""
    made: list[Sleeper] = []

    def make(*options: str, **more: object) -> Sleeper:
        made.append(Sleeper(tmp_path, *options, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Starter]:
    """Returns a function that starts a program, by default `served`, and waits until that runs; all are killed in the
    end.
    """
    made: list[RunningProgram] = []

    def start(*command: str) -> RunningProgram:
        made.append(RunningProgram(tmp_path, command or SERVED))
        if not command:
            made[-1].tell("a 0")
        return made[-1]

    yield start
    for one in made:
        one.close()
