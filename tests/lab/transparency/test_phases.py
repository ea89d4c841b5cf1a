# SPDX-License-Identifier: BSL-1.0
"""Phases that a program marks with millpond/phase.h: in its trace by name and in order; without a recorder, nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from harness import BIN, Program, run_bare, run_recorded, traces_of
from trace_reading import allocations_by_phase, read

PHASES = Program("phases", ("{programs}/phases",))


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Returns the traces of the program's process and of its child."""
    place = tmp_path_factory.mktemp("phases")
    assert run_recorded(PHASES, place / "run", place / "x.mpt").status == 0
    return traces_of(place / "x.mpt")


def test_phases_have_their_events_and_names_in_order(traces: list[Path]) -> None:
    assert allocations_by_phase(read(traces[0])) == [
        (b"", {5000: 5}),
        (b"load", {5001: 10}),
        (b'c++: \xff"\n\x1b[31m', {5002: 20}),
        (b"thread", {5003: 33}),
        (b"n" * 255, {5004: 40}),
        (b"load", {5001: 50}),
        (b"", {5007: 60}),
    ]


def test_a_forked_child_begins_without_a_phase(traces: list[Path]) -> None:
    assert allocations_by_phase(read(traces[1])) == [(b"", {5005: 7}), (b"child", {5006: 8})]


def test_marks_change_nothing_without_a_recorder(tmp_path: Path) -> None:
    done = run_bare(PHASES, tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, b"", b"")


def test_objects_are_counted_by_marked_phase(traces: list[Path]) -> None:
    done = subprocess.run(
        [str(BIN / "millpond-characterise"), "--phases", str(traces[0])], capture_output=True, check=True
    )
    found = json.loads(done.stdout)["phases"]
    assert found["method"] == "marks"
    phases = {phase["name"]: phase for phase in found["phases"]}
    assert [len(phases), phases["load"]["stretches"], phases["load"]["first_event"]] == [5, 2, 11]
    load = next(s for s in phases["load"]["subsystems"] if s["name"] == "use")
    assert [load[key] for key in ("objects", "bytes", "outliving", "stretch_bytes_max")] == [60, 300060, 0, 250050]
