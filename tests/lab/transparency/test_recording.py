# SPDX-License-Identifier: BSL-1.0
"""A recorded program behaves as a bare one, and its trace holds exactly its events."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import PROGRAMS, Outcome, Program, run_bare, run_recorded
from real_programs import REAL_PROGRAMS
from special_programs import COUNTED, FAMILY_PROGRAMS, LIMITED, SPECIAL_PROGRAMS, counted, said
from trace_reading import ALLOCATE, read

Bare = Callable[[Program], Outcome]
Recorded = Callable[[Program], tuple[Outcome, list[Path]]]


def by_name(programs: list[Program]) -> pytest.MarkDecorator:
    """Parametrizes a test over programs. All real ones except gawk, sqlite3 and threads are marked `more`."""
    left = {each.name for each in REAL_PROGRAMS} - {"gawk", "sqlite3", "threads"}
    values = [
        pytest.param(each, marks=pytest.mark.more if each.name in left else (), id=each.name) for each in programs
    ]
    return pytest.mark.parametrize("program", values)


@by_name([*REAL_PROGRAMS, *SPECIAL_PROGRAMS])
def test_recording_changes_nothing_visible(program: Program, bare: Bare, recorded: Recorded) -> None:
    outcome, traces = recorded(program)
    assert outcome == bare(program)
    assert traces[0].name == "trace.mpt"


@by_name([*REAL_PROGRAMS, *SPECIAL_PROGRAMS])
def test_every_trace_is_whole_and_follows_the_specification(program: Program, recorded: Recorded) -> None:
    for path in recorded(program)[1]:
        subprocess.run(["zstd", "-tq", str(path)], check=True)
        trace = read(path)
        assert trace.process and trace.end
        assert trace.end_number(4) == 0, "events were lost"
        assert trace.end_number(9) == len(trace.frames) - 1


@by_name(COUNTED)
def test_the_trace_holds_as_many_events_as_the_program_made(program: Program, recorded: Recorded) -> None:
    outcome, traces = recorded(program)
    assert [counted(read(path)) for path in traces] == said(outcome.stdout)


@by_name(FAMILY_PROGRAMS)
def test_each_process_has_a_trace_with_as_many_events_as_it_made(program: Program, recorded: Recorded) -> None:
    outcome, traces = recorded(program)
    # Shells and `cat` have traces too, without a marked event; so have processes which only forked and exec'd.
    found = Counter(counted(read(path)) for path in traces)
    found.pop((0, 0, 0), None)
    assert found == Counter(said(outcome.stdout))


@pytest.mark.parametrize("mode", ["exit", "abort", "segfault", "kill"])
def test_the_end_of_the_program_is_in_its_trace(mode: str, recorded: Recorded) -> None:
    outcome, traces = recorded(Program(f"endings-{mode}", ("{programs}/endings", mode)))
    trace = read(traces[0])
    assert (trace.end_number(1), -trace.end_number(2)) == (max(outcome.status, 0), min(outcome.status, 0))
    assert trace.end_number(5) == (mode == "exit"), "only an orderly end is called clean"


def test_a_program_without_heap_events_leaves_a_trace_without_events(recorded: Recorded) -> None:
    outcome, traces = recorded(Program("quiet", ("{programs}/quiet",)))
    assert outcome.status == 0
    assert [list(read(path).events()) for path in traces] == [[]]


def test_contexts_tell_deep_recursion_apart(recorded: Recorded) -> None:
    trace = read(recorded(Program("stacks-recursion", ("{programs}/stacks", "recursion")))[1][0])
    allocations = (event for event in trace.events() if event.operation == ALLOCATE and event.bytes >= 5000)
    depths = {trace.depth(event.context) for event in allocations}
    assert len(depths) >= 32, "a stack may be cut, but not to a few frames"


def test_the_users_own_preloaded_library_still_stands_in_front(recorded: Recorded) -> None:
    environment = {"LD_PRELOAD": str(PROGRAMS / "early_library.so")}
    outcome, traces = recorded(Program("early-preloaded", ("{programs}/early",), environment=environment))
    allocations, frees, _ = said(outcome.stdout)[0]
    assert counted(read(traces[0])) == (allocations + 100, frees + 100, 0), "the library's own objects belong to it"


def test_recording_stops_at_max_bytes_and_the_program_does_not(tmp_path: Path) -> None:
    program = Program("many", ("{programs}/threads", "together", "100000"))
    path = tmp_path / "t.mpt"
    outcome = run_recorded(program, tmp_path, path, ["--max-trace", "100000"])
    bare = run_bare(program, tmp_path / "bare")
    assert (outcome.stdout, outcome.status) == (bare.stdout, bare.status)
    assert outcome.stderr.startswith(b"millpond: --max-trace was reached"), "it is said"
    trace = read(path)
    assert trace.end_number(6) == 1
    assert 0 < counted(trace)[0] < said(outcome.stdout)[0][0]


def test_a_programs_file_size_limit_does_not_limit_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.mpt"
    outcome = run_recorded(LIMITED, tmp_path, path)
    assert outcome == run_bare(LIMITED, tmp_path / "bare")
    assert counted(read(path)) == said(outcome.stdout)[0]


def test_check_contexts_changes_nothing_visible(tmp_path: Path) -> None:
    program = Program("together", ("{programs}/threads", "together"))
    path = tmp_path / "t.mpt"
    outcome = run_recorded(program, tmp_path, path, ["--check-contexts"])
    assert outcome == run_bare(program, tmp_path / "bare")
    trace = read(path)
    assert trace.end_number(7) >= sum(len(stream) for stream in trace.streams.values()) // 200
    assert counted(trace) == said(outcome.stdout)[0]
