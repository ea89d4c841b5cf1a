# SPDX-License-Identifier: BSL-1.0
"""Phases that a program marks with millpond/phase.h: in its trace by name and in order; without a recorder, nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from harness import Program, run_bare, run_recorded, traces_of
from trace_reading import ALLOCATE, MARKED, NOTE, Trace, read

PHASES = Program("phases", ("{programs}/phases",))
NOTE_NAME, NOTE_PHASE = 10, 11


def allocations_by_phase(trace: Trace) -> list[tuple[bytes, Counter[int]]]:
    """Returns each stretch of a phase, in order: its name, and how many blocks of each marked size began in it."""
    found: list[tuple[bytes, Counter[int]]] = [(b"", Counter())]
    name = b""
    for event in trace.events_and_notes():
        if event.operation == NOTE and event.bytes == NOTE_NAME:
            name += event.address.to_bytes(8, "little")
        elif event.operation == NOTE and event.bytes == NOTE_PHASE:
            found.append((name[: event.address], Counter()))
            name = b""
        elif event.operation == ALLOCATE and event.bytes in MARKED:
            found[-1][1][event.bytes] += 1
    return found


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, list[tuple[bytes, Counter[int]]]]:
    """Returns the phases of the program's process and of its child (True)."""
    place = tmp_path_factory.mktemp("phases")
    assert run_recorded(PHASES, place / "run", place / "x.mpt").status == 0
    first, child = traces_of(place / "x.mpt")
    return {False: allocations_by_phase(read(first)), True: allocations_by_phase(read(child))}


def test_phases_have_their_events_and_names_in_order(traces: dict[bool, list[tuple[bytes, Counter[int]]]]) -> None:
    assert traces[False] == [
        (b"", {5000: 5}),
        (b"load", {5001: 10}),
        (b'c++: \xff"\n\x1b[31m', {5002: 20}),
        (b"thread", {5003: 33}),
        (b"n" * 255, {5004: 40}),
        (b"load", {5001: 50}),
        (b"", {5007: 60}),
    ]


def test_a_forked_child_begins_without_a_phase(traces: dict[bool, list[tuple[bytes, Counter[int]]]]) -> None:
    assert traces[True] == [(b"", {5005: 7}), (b"child", {5006: 8})]


def test_marks_change_nothing_without_a_recorder(tmp_path: Path) -> None:
    done = run_bare(PHASES, tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, b"", b"")
