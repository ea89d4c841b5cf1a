# SPDX-License-Identifier: BSL-1.0
"""Recording does not disturb a process, whatever it does to itself, and its events are in its trace.

If that is impossible, one line names the process without a trace and the reason.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from harness import PROGRAMS, RECORD, Program, run_bare, run_recorded, traces_of
from test_recording import counted, said
from trace_reading import read

from tiers import mostly_more

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may")


def children(mode: str, *words: str) -> Program:
    return Program(f"children-{mode}", ("{programs}/children", mode, *words))


@pytest.mark.parametrize(
    "mode",
    [*mostly_more(["_fork", "clone", "many", "chain", "thread_first", "clone_thread_first", "descriptors",
                   "file_limit", "filter"], "_fork", "chain", "thread_first"),
     pytest.param("chroot", marks=NEEDS_ROOT), pytest.param("user", marks=(NEEDS_ROOT, pytest.mark.more))],
)  # fmt: skip
def test_each_process_has_the_events_that_it_made(mode: str, tmp_path: Path) -> None:
    program, trace = children(mode), tmp_path / "t.mpt"
    bare, recorded = run_bare(program, tmp_path / "bare"), run_recorded(program, tmp_path, trace)
    assert recorded.status == bare.status == 0
    assert recorded.stderr == bare.stderr
    assert sorted(recorded.stdout.splitlines()) == sorted(bare.stdout.splitlines())
    found = Counter(counted(read(path)) for path in traces_of(trace))
    found.pop((0, 0, 0), None)  # a shell, or a process before its exec
    assert found == Counter(said(recorded.stdout))


@pytest.mark.parametrize("mode", mostly_more(["streams", "handler", "handler_back", "handler_fork"], "handler_back"))
def test_no_fork_hangs(mode: str, tmp_path: Path) -> None:
    program = children(mode, "30")
    recorded, bare = run_recorded(program, tmp_path, tmp_path / "t.mpt"), run_bare(program, tmp_path / "bare")
    lost = [read(path).end_number(4) for path in traces_of(tmp_path / "t.mpt")]
    # A child that returns from the handler into a heap call has lost that call, and says so.
    assert max(lost) <= (1 if mode == "handler_back" else 0)
    told = [line for line in recorded.stderr.splitlines() if line.startswith(b"millpond: ")]
    assert len(told) == sum(lost) and all(b"a signal handler forked" in line for line in told), told
    others = b"".join(line for line in recorded.stderr.splitlines(keepends=True) if line.rstrip() not in told)
    assert (recorded.status, recorded.stdout, others) == (bare.status, bare.stdout, bare.stderr)


def test_an_unseen_system_call_filter_is_explained_with_a_remedy(tmp_path: Path) -> None:
    # Enough events for more than one slot.
    program = children("filter_raw", "60000")
    assert run_bare(program, tmp_path / "bare").status == 0
    killed = run_recorded(program, tmp_path / "a", tmp_path / "a.mpt")
    assert b"SIGSYS" in killed.stderr and b"--ahead" in killed.stderr
    recorded = run_recorded(program, tmp_path / "b", tmp_path / "b.mpt", ["--ahead", "64MB"])
    assert recorded.status == 0 and recorded.stderr == b""
    assert counted(read(tmp_path / "b.mpt")) == said(recorded.stdout)[0]


def test_exhausted_ahead_mapping_is_reported(tmp_path: Path) -> None:
    recorded = run_recorded(children("filter", "60000"), tmp_path, tmp_path / "t.mpt", ["--ahead", "400KB"])
    trace = read(tmp_path / "t.mpt")
    assert recorded.status == 4 and b"--ahead" in recorded.stderr
    assert said(recorded.stdout)[0][0] == 120000, "the program was disturbed"
    assert 0 < trace.end_number(4) < 240000 and counted(trace)[0] > 0


def test_processes_that_outlive_the_program_are_finished_later(tmp_path: Path) -> None:
    """The daemon has its first event after the program has ended. It ends when a file appears."""
    trace, sign = tmp_path / "t.mpt", tmp_path / "sign"
    argv = [str(RECORD), "-o", str(trace), "--", str(PROGRAMS / "children"), "daemon", "100", str(sign)]
    with (tmp_path / "out").open("wb") as stdout, (tmp_path / "error").open("wb") as stderr:
        recorded = subprocess.run(argv, stdout=stdout, stderr=stderr, timeout=60, check=False)
    line = (tmp_path / "error").read_text()
    assert recorded.returncode == 4
    assert "still run" in line and "--finish" in line
    pid = int(line.split("(")[1].split(")")[0])
    assert counted(read(trace)) == (100, 100, 0)
    first = trace.read_bytes()
    daemon = os.pidfd_open(pid)
    unfinished = subprocess.run([str(RECORD), "--finish", str(trace)], capture_output=True, timeout=60, check=False)
    assert unfinished.returncode == 4, "it still runs"
    sign.touch()
    select.select([daemon], [], [])
    os.close(daemon)
    finished = subprocess.run([str(RECORD), "--finish", str(trace)], capture_output=True, timeout=60, check=False)
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert [path.name for path in traces_of(trace)] == ["t.mpt", f"t.mpt.{pid}"]
    assert trace.read_bytes() == first
    assert counted(read(tmp_path / f"t.mpt.{pid}")) == (100, 100, 0)


@pytest.mark.parametrize("name", ["own_malloc", "hidden_malloc"])
def test_a_malloc_inside_the_executable_is_reported(name: str, tmp_path: Path) -> None:
    recorded = run_recorded(Program(name, (f"{{programs}}/{name}",)), tmp_path, tmp_path / "t.mpt")
    assert recorded.status == 3, "the program's own"
    lines = recorded.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("millpond: process ")
    assert name in lines[0] and "linked into the executable" in lines[0]


@NEEDS_ROOT
def test_a_full_disk_keeps_room_for_the_recorded_trace(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mount.returncode != 0:
        pytest.skip("cannot mount a small file system here")
    try:
        program = Program("many", ("{programs}/threads", "together", "100000"))
        recorded = run_recorded(program, tmp_path, disk / "t.mpt")
        bare = run_bare(program, tmp_path / "bare")
        assert (recorded.stdout, recorded.status) == (bare.stdout, 4)
        assert b"No space left" in recorded.stderr
        assert [path.name for path in disk.iterdir()] == ["t.mpt"]
        trace = read(disk / "t.mpt")
        kept = sum(len(stream) for stream in trace.streams.values())
        assert kept > 100_000, "the disk has room for more than that"
        allocations, frees, _ = said(recorded.stdout)[0]
        assert kept + trace.end_number(4) >= allocations + frees
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_address_limit_ends_at_most_the_recording(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))"
    program = Program("limited", (sys.executable, "-c", limit + "; print(len([i for i in range(10**5)]))"))
    recorded = run_recorded(program, tmp_path, tmp_path / "t.mpt")
    assert recorded == run_bare(program, tmp_path / "bare")
