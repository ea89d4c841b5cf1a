# SPDX-License-Identifier: BSL-1.0
"""A recorded program cannot be told from a bare one, and its trace holds exactly what it did."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness import PROGRAMS, Outcome, Program, missing, run_bare, run_recorded, traces_of
from real_programs import REAL_PROGRAMS
from special_programs import COUNTED, FAMILY_PROGRAMS, SPECIAL_PROGRAMS
from trace_reading import ALLOCATE, Trace, count_marked, read

KINDS = ("allocations", "frees", "reallocations")


def by_name(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.name)


def record(program: Program, place: Path, *options: str) -> tuple[Outcome, list[Path]]:
    if why := missing(program):
        pytest.skip(why)
    (place / "traces").mkdir()
    outcome = run_recorded(program, place / "recorded", place / "traces" / "trace.mpt", options)
    return outcome, traces_of(place / "traces" / "trace.mpt")


def said(stdout: bytes) -> list[tuple[int, ...]]:
    """What the processes of a program counted, one tuple of (allocations, frees, reallocations) each."""
    numbers = [line.rsplit(b" ", 1) for line in stdout.splitlines()]
    values = [int(value) for name, value in numbers if name.decode() in KINDS]
    return [tuple(values[i : i + 3]) for i in range(0, len(values), 3)]


def counted(trace: Trace) -> tuple[int, ...]:
    counts = count_marked(trace)
    return tuple(counts[kind] for kind in KINDS)


@by_name([*REAL_PROGRAMS, *SPECIAL_PROGRAMS])
def test_what_the_world_sees_is_unchanged(program: Program, tmp_path: Path) -> None:
    recorded, traces = record(program, tmp_path)
    assert recorded == run_bare(program, tmp_path / "bare")
    assert traces[0].name == "trace.mpt"


@by_name([*REAL_PROGRAMS, *SPECIAL_PROGRAMS])
def test_every_trace_is_whole_and_follows_the_specification(program: Program, tmp_path: Path) -> None:
    _, traces = record(program, tmp_path)
    for path in traces:
        subprocess.run(["zstd", "-tq", str(path)], check=True)
        trace = read(path)
        assert trace.process and trace.end
        assert trace.end_number(4) == 0, "events were lost"
        assert trace.end_number(9) == len(trace.frames) - 1


@by_name(COUNTED)
def test_the_trace_holds_as_many_events_as_the_program_made(program: Program, tmp_path: Path) -> None:
    recorded, traces = record(program, tmp_path)
    assert [counted(read(path)) for path in traces] == said(recorded.stdout)


@by_name(FAMILY_PROGRAMS)
def test_each_process_has_a_trace_with_as_many_events_as_it_made(program: Program, tmp_path: Path) -> None:
    recorded, traces = record(program, tmp_path)
    # Shells and `cat` have traces too, without a marked event; so have processes which only forked and exec'd.
    found = Counter(counted(read(path)) for path in traces)
    found.pop((0, 0, 0), None)
    assert found == Counter(said(recorded.stdout))


@pytest.mark.parametrize("mode", ["exit", "abort", "segfault", "kill"])
def test_the_end_of_the_program_is_in_its_trace(mode: str, tmp_path: Path) -> None:
    outcome, traces = record(Program(mode, ("{programs}/endings", mode)), tmp_path)
    trace = read(traces[0])
    assert (trace.end_number(1), -trace.end_number(2)) == (max(outcome.status, 0), min(outcome.status, 0))
    assert trace.end_number(5) == (mode == "exit"), "only an orderly end is called clean"


def test_a_program_without_heap_events_leaves_a_trace_without_events(tmp_path: Path) -> None:
    outcome, traces = record(Program("quiet", ("{programs}/quiet",)), tmp_path)
    assert outcome.status == 0
    assert [list(read(path).events()) for path in traces] == [[]]


def test_contexts_tell_deep_recursion_apart(tmp_path: Path) -> None:
    _, traces = record(Program("recursion", ("{programs}/stacks", "recursion")), tmp_path)
    trace = read(traces[0])
    allocations = (event for event in trace.events() if event.operation == ALLOCATE and event.bytes >= 5000)
    depths = {trace.depth(event.context) for event in allocations}
    assert len(depths) >= 32, "a stack may be cut, but not to a few frames"


def test_the_users_own_preloaded_library_still_stands_in_front(tmp_path: Path) -> None:
    environment = {"LD_PRELOAD": str(PROGRAMS / "early_library.so")}
    recorded, traces = record(Program("early", ("{programs}/early",), environment=environment), tmp_path)
    allocations, frees, _ = said(recorded.stdout)[0]
    assert counted(read(traces[0])) == (allocations + 100, frees + 100, 0), "the library's own objects belong to it"


def test_recording_stops_at_max_bytes_and_the_program_does_not(tmp_path: Path) -> None:
    program = Program("many", ("{programs}/threads", "together", "100000"))
    recorded, traces = record(program, tmp_path, "--max-bytes", "100000")
    assert recorded.stdout == run_bare(program, tmp_path / "bare").stdout
    assert recorded.status == 0
    trace = read(traces[0])
    assert trace.end_number(6) == 1
    assert 0 < counted(trace)[0] < said(recorded.stdout)[0][0]


def test_check_contexts_changes_nothing_that_the_world_sees(tmp_path: Path) -> None:
    program = Program("together", ("{programs}/threads", "together"))
    recorded, traces = record(program, tmp_path, "--check-contexts")
    assert recorded == run_bare(program, tmp_path / "bare")
    trace = read(traces[0])
    assert trace.end_number(7) >= sum(len(stream) for stream in trace.streams.values()) // 200
    assert counted(trace) == said(recorded.stdout)[0]
