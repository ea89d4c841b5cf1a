# SPDX-License-Identifier: BSL-1.0
"""Phases marked from outside by `millpond trace control PID mark NAME`: in the trace of every recorded process."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import BIN, LIMIT_SECONDS, RECORD
from sleeping import Sleeper, counts, is_valid
from trace_reading import allocations_by_phase, read

UNTIMED = 15  # events without a time of their own, behind one that has one, while the process has one thread
Phases = list[tuple[bytes, int]]


def phases(path: Path) -> Phases:
    """Returns the marked phases of a trace with the number of allocations in each."""
    assert is_valid(path)
    return [(name, blocks.total()) for name, blocks in allocations_by_phase(read(path))]


@pytest.mark.parametrize("is_idle", [False, True], ids=["recording", "stretch"])
def test_a_mark_is_exact_once_there_are_threads(is_idle: bool, sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=is_idle)
    one.tell("w 2")
    if is_idle:
        one.control("start")
    one.tell("a 10", "A 3")
    one.mark("load")
    one.tell("A 20", "a 5")
    one.mark("")
    one.tell("a 7")
    one.mark("load")
    one.tell("a 1")
    assert one.end("x 0") == (0, "")
    trace = one.folder / ("t-1.mpt" if is_idle else "t.mpt")
    assert phases(trace) == [(b"", 16), (b"load", 45), (b"", 7), (b"load", 1)]


def test_a_mark_is_at_most_15_events_late_with_one_thread(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    one.tell("a 1000")
    one.mark("serve")
    one.tell("a 500")
    one.end("x 0")
    (before, early), (name, late) = phases(one.folder / "t.mpt")
    assert (before, name, early + late) == (b"", b"serve", 1500)
    assert 1000 <= early <= 1000 + UNTIMED


@pytest.mark.parametrize("name", ["x", "n" * 255, "-o", 'c++: \xff"\n\x1b[31m', "ünï 🜁"])
def test_names_are_those_of_a_mark_inside(name: str, sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    one.mark(name)
    one.tell("a 20")
    one.end("x 0")
    assert phases(one.folder / "t.mpt")[-1][0] == name.encode()


def test_of_a_longer_name_the_rest_is_dropped(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    one.mark("n" * 256)
    one.end("x 0")
    assert phases(one.folder / "t.mpt")[-1][0] == b"n" * 255


def test_children_are_marked_and_later_ones_begin_without(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    one.tell("w 1", "p 1", "C 30", "c 4")
    one.mark("load")
    one.tell("C 20", "c 6", "p 0")
    one.end("x 0")
    children = sorted((phases(path) for path in one.folder.glob("t.mpt.*")), key=len)
    assert sorted(children[:2]) == [[(b"", 4)], [(b"", 6)]]  # of which one had ended, and one began later
    (before, after) = children[2]
    assert (before[0], after[0], before[1] + after[1]) == (b"", b"load", 50)
    assert phases(one.folder / "t.mpt")[-1][0] == b"load"


def test_a_mark_waits_for_the_first_event_of_a_stretch(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    for names in (["load"], ["load", "serve"]):
        one.control("start")
        for name in names:
            one.mark(name)
        one.tell("a 40")
        one.control("stop")
    one.control("start")
    one.mark("end")
    one.tell("a 3")
    assert one.end("x 0") == (0, "")
    assert phases(one.folder / "t-1.mpt") == [(b"", 0), (b"load", 40)]
    assert phases(one.folder / "t-2.mpt") == [(b"", 0), (b"load", 0), (b"serve", 40)]
    assert phases(one.folder / "t-3.mpt") == [(b"", 0), (b"end", 3)]


def test_a_mark_belongs_to_its_stretch(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.tell("w 1")
    one.control("start")
    one.tell("a 5")
    one.mark("load")
    one.tell("a 6")
    (first,) = one.control("snapshot")
    one.tell("a 7")
    (second,) = one.control("stop")
    one.end("x 0")
    assert [phases(first), phases(second)] == [[(b"", 5), (b"load", 6)], [(b"", 7)]]


def test_the_mark_is_no_thread_of_the_program(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    one.tell("w 2", "A 50")
    one.mark("load")
    one.tell("A 60")
    one.end("x 0")
    done = subprocess.run(
        [str(BIN / "millpond-characterise"), "--phases", str(one.folder / "t.mpt")], capture_output=True, check=True
    )
    found = json.loads(done.stdout)
    assert (found["trace"]["threads"], found["phases"]["method"]) == (3, "marks")
    assert [phase["name"] for phase in found["phases"]["phases"]] == ["", "load"]


def test_the_summary_of_a_trace_lists_its_phases(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    one.tell("w 1", "a 10")
    one.mark("load")
    one.tell("a 20", "f 5")
    one.mark("load")
    one.mark('"\n')
    one.tell("a 4")
    one.end("x 0")
    argv = [str(BIN / "millpond-trace"), "info", str(one.folder / "t.mpt")]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^phase (.+) tick=(\d+) first_event=(\d+) events=(\d+)$", said, re.MULTILINE)
    assert [(name, int(events)) for name, _, _, events in found][:2] == [('"load"', 25), ('"load"', 0)]
    (*_, (name, _, first, _)) = found
    assert name == r'"\x22\x0a"' and int(first) == int(found[0][2]) + 25
    assert sorted(int(tick) for _, tick, _, _ in found) == [int(tick) for _, tick, _, _ in found]


def test_a_killed_recorder_keeps_marks(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    one.tell("w 1", "a 5")
    one.mark("load")
    one.tell("a 6")
    one.recorder.kill()
    one.recorder.wait(LIMIT_SECONDS)
    status, _, said = one.ask("mark", "serve")
    assert status == 3 and "was killed" in said
    one.send("x 0")
    one.stdout.read()  # the program has ended
    argv = [str(RECORD), "--finish", str(one.folder / "t.mpt")]
    subprocess.run(argv, capture_output=True, check=True, timeout=LIMIT_SECONDS)
    assert phases(one.folder / "t.mpt") == [(b"", 5), (b"load", 6)]


def test_requests_that_do_not_fit_are_refused(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    status, _, said = one.ask("mark", "load")
    assert status == 2 and "is not recorded now: start begins a trace" in said
    assert one.ask("mark")[0] == one.ask("mark", "a", "b")[0] == 2
    one.tell("a 30")
    assert one.end("x 0")[0] == 0


@pytest.mark.parametrize("word", ["start", "stop", "snapshot"])
def test_only_marks_reach_a_recording_that_never_sleeps(word: str, sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(is_idle=False)
    status, traces, said = one.ask(word)
    assert (status, traces) == (2, []) and "recorded from its start to its end" in said
    one.tell("a 8")
    assert one.end("x 0") == (0, "")
    assert counts(one.folder / "t.mpt") == (8, 0, 0)


def test_marks_end_with_the_limit_of_the_trace(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper("--max-trace", "300000", is_idle=False)
    for _ in range(60):
        one.tell("a 2000", "f 2000")
    status, _, said = one.ask("mark", "load")
    assert status == 4 and "--max-trace was reached" in said
    one.end("x 0")
