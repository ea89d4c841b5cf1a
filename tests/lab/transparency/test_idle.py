# SPDX-License-Identifier: BSL-1.0
"""A recording that begins asleep: each stretch between start and stop is a whole trace, and nothing else is recorded.

The test tells the program `served` what to do, line by line, and so knows what each trace must hold.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from harness import BIN, LIMIT_SECONDS
from sleeping import ASKED, Sleeper, counts, exit_status, is_valid, stopped_early
from trace_reading import ALLOCATE, FREE, read


def test_each_stretch_is_a_whole_trace(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("a 100")
    one.control("start")
    one.tell("a 20", "f 7")
    (first,) = one.control("stop")
    one.tell("a 300", "f 300")
    one.control("start")
    one.tell("a 5")
    (second,) = one.control("stop")
    assert one.end("x 3") == (3, "")
    assert one.files() == ["t-1.mpt", "t-2.mpt"] == [first.name, second.name]
    assert (counts(first), counts(second)) == ((20, 7, 0), (5, 0, 0))
    assert all(is_valid(path) and stopped_early(path) == ASKED for path in (first, second))


def test_objects_from_before_a_stretch_are_unknown(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("a 50")
    one.control("start")
    one.tell("r 10", "f 50")  # each reallocation ends an unknown object and begins a known one
    (trace,) = one.control("stop")
    one.end("x 0")
    done = subprocess.run([str(BIN / "millpond-characterise"), str(trace)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["trace"]
    assert (found["unmatched_frees"], found["clean"]) == (50, True)
    assert found["partial"] == "the recording was ended on request, before the program ended"


def test_a_snapshot_ends_a_trace_and_begins_the_next(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.tell("a 30")
    (first,) = one.control("snapshot")
    one.tell("a 4", "f 3")
    (second,) = one.control("snapshot")
    one.tell("a 2")
    assert one.end("x 9") == (9, "")
    third = one.folder / "t-3.mpt"
    assert [counts(path) for path in (first, second, third)] == [(30, 0, 0), (4, 3, 0), (2, 0, 0)]
    assert all(map(is_valid, (first, second, third)))
    assert [exit_status(path) for path in (first, second, third)] == ["-1", "-1", "9"]


def test_a_program_that_ends_asleep_leaves_no_file(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("a 1000", "f 1000")
    assert one.end("x 42") == (42, "millpond: the program ended asleep, so no trace was written\n")
    assert one.files() == []
    assert list((one.run / "millpond").iterdir()) == []


def test_the_end_of_the_program_ends_the_last_stretch(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.tell("a 12")
    assert one.end("x 4") == (4, "")
    assert counts(one.folder / "t-1.mpt") == (12, 0, 0)
    assert stopped_early(one.folder / "t-1.mpt") == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_killed_program_loses_nothing(number: int, sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.tell("a 500", "f 20")
    status, _ = one.end(f"k {number}")
    assert status == -number
    assert counts(one.folder / "t-1.mpt") == (500, 20, 0)
    assert is_valid(one.folder / "t-1.mpt")


def test_requests_that_do_not_fit_are_refused(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    for word in ("stop", "snapshot"):
        status, traces, said = one.ask(word)
        assert (status, traces) == (2, []) and "is not recorded now: start" in said
    one.control("start")
    status, _, said = one.ask("start")
    assert status == 2 and "is recorded already" in said
    one.tell("a 3")
    assert [counts(path) for path in one.control("stop")] == [(3, 0, 0)]
    assert one.ask("pause")[0] == 2


def test_a_stretch_without_allocations_writes_no_trace(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    status, traces, said = one.ask("stop")
    assert (status, traces) == (0, []) and "did not allocate while it was recorded" in said
    one.control("start")
    one.tell("a 1")
    assert [path.name for path in one.control("stop")] == ["t-1.mpt"]
    assert one.end("x 0") == (0, "")


def test_threads_from_before_are_recorded(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("w 8", "A 100")
    sizes = (10, 20, 30)
    for size in sizes:
        one.control("start")
        one.tell(f"A {size}", "F 0")
        one.control("stop")
    one.control("start")
    one.tell("A 3", "J 0", "w 2", "A 5", "F 0", "J 0")
    one.control("stop")
    assert one.end("x 0") == (0, "")
    for n, size in enumerate(sizes, 1):
        trace = one.folder / f"t-{n}.mpt"
        assert counts(trace) == (8 * size, 8 * size, 0)
        assert sum(1 for stream in read(trace).streams.values() if stream) >= 8
    assert counts(one.folder / "t-4.mpt") == (34, 10, 0)
    assert all(is_valid(one.folder / f"t-{n}.mpt") for n in range(1, 5))


def test_stretches_of_busy_threads_are_whole(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("g 4")
    traces = []
    for _ in range(5):
        for word in ("start", "snapshot", "snapshot", "stop"):
            traces += one.control(word)
            one.tell("a 1")
    one.tell("G 0")
    assert one.end("x 0") == (0, "")
    assert len(traces) == 15
    for path in traces:
        assert is_valid(path)
        trace = read(path)
        for stream in trace.streams.values():  # a thread has one object at a time, and may begin with a free
            events = [event for event in stream if event.operation in (ALLOCATE, FREE)]
            assert all(a.operation != b.operation for a, b in pairwise(events))
            assert all(event.context < len(trace.frames) for event in stream)


def test_many_stretches_do_not_keep_their_memory(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("w 4")

    def cycle() -> int:
        one.control("start")
        one.tell("A 50", "F 0", "a 10", "f 10")
        one.control("stop")
        with Path(f"/proc/{one.pid}/maps").open(encoding="utf-8") as maps:
            return sum(1 for _ in maps)

    mappings = [cycle() for _ in range(30)]
    # The C library may add an arena for each thread at any time, but not a mapping for every second stretch.
    assert mappings[-1] <= mappings[3] + 13, mappings
    one.end("x 0")
    assert len(one.files()) == 30


def test_forked_children_are_recorded_while_awake(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("c 10", "p 1", "C 20")
    one.control("start")
    one.tell("C 30", "c 40", "a 5")
    (first,) = one.control("stop")
    one.tell("C 50")
    one.control("start")
    one.tell("C 60")
    status, traces, said = one.ask("stop")
    assert (status, said) == (0, "")
    one.tell("p 0")
    assert one.end("x 0") == (0, "")
    children = sorted(counts(path) for path in one.folder.glob("t-1.mpt.*"))
    assert counts(first) == (5, 0, 0)
    assert children == [(30, 30, 0), (40, 40, 0)]
    assert [counts(path) for path in one.folder.glob("t-2.mpt.*")] == [(60, 60, 0)]
    assert [path.name for path in traces] == ["t-2.mpt"]  # the set's name, though the program itself was quiet


def test_a_program_that_becomes_another_sleeps_on(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("a 10")
    one.send("e 0")
    one.tell("a 20")
    one.control("start")
    one.tell("a 3")
    one.send("e 0")
    one.tell("a 4")
    one.control("stop")
    assert one.end("x 0") == (0, "")
    assert [counts(one.folder / name) for name in one.files()] == [(3, 0, 0), (4, 0, 0)]


def test_children_that_are_left_go_on_asleep(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.send("a 7", "d 5", "a 9")
    assert [one.stdout.readline() for _ in range(3)] == ["ok\n"] * 3
    assert one.recorder.wait(LIMIT_SECONDS) == 5
    assert "they are recorded no more" in one.stderr.readline()
    one.tell("a 1000", "f 2000")  # it still serves
    one.send("x 0")
    assert "t.mpt.partial" not in one.files()
    assert counts(one.folder / "t-1.mpt") == (7, 0, 0)


def test_a_program_that_restricts_itself_asleep_lives_on(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("a 1", "z 3")  # the C library makes a call at its first allocation
    one.control("start")
    one.tell("a 10", "f 5")
    status, traces, said = one.ask("stop")
    assert (status, traces) == (0, []) and "so no trace was written" in said
    status, said = one.end("x 6")
    assert status == 6 and "it forbade itself system calls" in said


def test_a_program_that_restricts_itself_awake_is_recorded(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.tell("a 1", "z 30", "a 20")
    (trace,) = one.control("stop")
    one.tell("a 10")
    assert counts(trace) == (51, 0, 0)
    assert one.end("x 6")[0] == 6
