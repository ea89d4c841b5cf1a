# SPDX-License-Identifier: BSL-1.0
"""Blocks that no pointer reaches at the end of a program that is recorded with --scan."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import BIN, LIMIT_SECONDS, PROGRAMS, RECORD, traces_of
from sleeping import Sleeper, is_valid
from trace_reading import ALLOCATE, FREE, NOTE, read

NOTE_SCANNED, NOTE_UNREACHED = 12, 13
STATUS = 3
# By size: a cycle, a pointer in an unreadable page, one in a freed block, one behind the end, and plain leaks.
LOST = Counter({5120: 1, 5136: 1, 5216: 1, 5248: 1, 5264: 1, 5152: 3, 0: 1})
REACHABLE = {5008, 5024, 5040, 5056, 5072, 5088, 5104, 5168, 5184, 5200, 5232}


def record(folder: Path, *words: str, options: tuple[str, ...] = ("--scan",)) -> list[Path]:
    """Records the program; returns its traces."""
    argv = [str(RECORD), *options, "-o", str(folder / "t.mpt"), "--", str(PROGRAMS / "lost_blocks"), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
    assert (done.returncode, done.stderr) == (STATUS, "")
    return traces_of(folder / "t.mpt")


def scanned(trace: Path) -> tuple[int | None, Counter[int], set[int]]:
    """Returns the number of blocks that a scan saw (None: no scan), the sizes of the lost ones, and of the others."""
    assert is_valid(trace)
    live: dict[int, int] = {}
    lost: Counter[int] = Counter()
    seen = None
    for event in read(trace).events_and_notes():
        if event.operation == ALLOCATE:
            live[event.address] = event.bytes
        elif event.operation == FREE:
            live.pop(event.address, None)
        elif event.operation == NOTE and event.bytes == NOTE_SCANNED:
            seen = event.address
        elif event.operation == NOTE and event.bytes == NOTE_UNREACHED:
            lost[live.pop(event.address)] += 1
    return seen, lost, set(live.values())


@pytest.mark.parametrize("words", [(), ("child",)])
def test_blocks_are_reached_by_every_kind_of_root(words: tuple[str, ...], tmp_path: Path) -> None:
    traces = record(tmp_path, *words)
    assert len(traces) == 1 + len(words)
    for trace in traces:
        seen, lost, reachable = scanned(trace)
        assert seen is not None and seen >= lost.total() + len(REACHABLE)
        assert lost == LOST
        assert reachable >= REACHABLE


def test_an_end_without_handlers_has_no_scan(tmp_path: Path) -> None:
    (trace,) = record(tmp_path, "_exit")
    assert scanned(trace)[:2] == (None, Counter())


def test_without_the_option_nothing_is_scanned(tmp_path: Path) -> None:
    (trace,) = record(tmp_path, options=())
    assert scanned(trace)[:2] == (None, Counter())


def left(trace: Path) -> dict[str, object]:
    argv = [str(BIN / "millpond-characterise"), "--patterns", str(trace)]
    return json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)["left"]  # type: ignore[no-any-return]


def test_lost_bytes_are_counted_by_place(tmp_path: Path) -> None:
    (trace,) = record(tmp_path)
    found = left(trace)
    assert (found["lost_objects"], found["lost_bytes"]) == (LOST.total(), sum(n * size for size, n in LOST.items()))
    rows = found["rows"]
    assert isinstance(rows, list)
    lost = {row["place"]["function"].split("::")[-1].split("(")[0]: row["lost_objects"] for row in rows}
    assert {name: lost[name] for name in ("lose", "lose_cycle", "make_chain", "keep")} == {
        "lose": 4, "lose_cycle": 2, "make_chain": 0, "keep": 0,
    }  # fmt: skip


def test_lost_bytes_are_unknown_without_a_scan(tmp_path: Path) -> None:
    (trace,) = record(tmp_path, options=())
    found = left(trace)
    assert (found["lost_objects"], found["lost_bytes"]) == (None, None)


def test_a_killed_recorder_does_not_hold_the_program(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper("--scan", is_idle=False)
    one.tell("a 50")
    one.recorder.kill()
    one.recorder.wait(LIMIT_SECONDS)
    one.send("x 0")
    assert one.stdout.read() == ""  # until the program has ended


def test_a_stretch_at_the_end_is_scanned(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper("--scan")
    one.control("start")
    one.tell("a 20")
    assert one.end("x 7") == (7, "")
    seen, lost, _ = scanned(one.folder / "t-1.mpt")
    assert (seen, lost) == (20, Counter())  # an array of the program has them all


def test_a_program_asleep_ends_without_a_scan(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper("--scan")
    one.control("start")
    one.tell("a 20")
    (trace,) = one.control("stop")
    assert one.end("x 7") == (7, "")
    assert scanned(trace)[:2] == (None, Counter())
