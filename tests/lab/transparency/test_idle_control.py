# SPDX-License-Identifier: BSL-1.0
"""Control of a recording that begins asleep: who may ask, what is refused, and what a failure leaves."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import LIMIT_SECONDS, RECORD
from sleeping import LIMIT, Sleeper, counts, stopped_early

PR_SET_CHILD_SUBREAPER = 36


def test_the_socket_is_private(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    folder = one.run / "millpond"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == [str(one.pid)]
    assert stat.S_ISSOCK((folder / str(one.pid)).stat().st_mode)


def test_an_open_run_folder_is_not_used(tmp_path: Path) -> None:
    run = tmp_path / "run" / "millpond"
    run.mkdir(parents=True)
    run.chmod(0o755)
    one = Sleeper(tmp_path)
    try:
        assert list(run.iterdir()) == []  # it took the other folder
        one.control("start")
        assert one.end("x 0")[0] == 0
    finally:
        one.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_is_refused(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    folder = one.run / "millpond"
    folder.chmod(0o755)  # so that the folder does not refuse
    (folder / str(one.pid)).chmod(0o777)
    opened, other = os.open(folder, os.O_PATH), os.fork()
    if other == 0:
        os.setresuid(65534, 65534, 65534)
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.connect(f"/proc/self/fd/{opened}/{one.pid}")
        client.send(b"start")
        os._exit(0 if client.recv(9) == b"" else 1)
    assert os.waitpid(other, 0)[1] == 0
    os.close(opened)
    folder.chmod(0o700)
    status, _, said = one.ask("stop")
    assert status == 2 and "is not recorded now" in said


def test_a_silent_client_does_not_block_others(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = os.open(one.run / "millpond", os.O_PATH)
    silent.connect(f"/proc/self/fd/{folder}/{one.pid}")
    os.close(folder)
    one.control("start")
    silent.close()


def test_an_unknown_program_is_named(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    status, _, said = one.ask("start", pid=one.recorder.pid)
    assert status == 3 and f"process {one.recorder.pid} is not a program that you record" in said


def test_a_socket_of_a_killed_recorder_is_stale(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.tell("a 6")
    one.recorder.kill()
    one.recorder.wait(LIMIT_SECONDS)
    status, _, said = one.ask("stop")
    assert status == 3 and "the recorder of process" in said and "--finish" in said
    one.tell("a 7")  # the program goes on
    argv = [str(RECORD), "--finish", str(one.folder / "t.mpt")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr
    assert counts(one.folder / "t-1.mpt") == (13, 0, 0)
    one.tell("a 8")
    one.send("x 0")
    assert one.files() == ["t-1.mpt"]


@pytest.fixture
def adopts_orphans() -> Iterator[None]:
    """Makes a program whose recorder was killed a child of ours, to be waited for."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def record_another(one: Sleeper) -> None:
    argv = [str(RECORD), "-o", str(one.folder / "another.mpt"), "--", "true"]
    subprocess.run(argv, check=True, env=one.environment, timeout=LIMIT_SECONDS)


@pytest.mark.usefixtures("adopts_orphans")
def test_an_abandoned_socket_goes_once_its_program_ended(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    left = one.run / "millpond" / str(one.pid)
    one.recorder.kill()
    one.recorder.wait(LIMIT_SECONDS)
    record_another(one)
    assert left.exists()  # it lets `control` say what became of the recorder
    one.send("x 0")
    os.waitpid(one.pid, 0)
    (left.parent / "notes").write_text("not a socket", "utf-8")
    record_another(one)
    assert [path.name for path in left.parent.iterdir()] == ["notes"]


def test_finish_leaves_a_living_recording(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.tell("a 5")
    argv = [str(RECORD), "--finish", str(one.folder / "t.mpt")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
    assert done.returncode == 4 and "its recorder still runs" in done.stderr
    one.tell("a 6")
    assert [counts(path) for path in one.control("stop")] == [(11, 0, 0)]


def test_names_of_others_are_left_and_old_traces_replaced(sleeper: Callable[..., Sleeper], tmp_path: Path) -> None:
    first = sleeper()
    for _ in range(3):
        first.control("start")
        first.tell("a 1", "c 2")
        first.control("stop")
    first.end("x 0")
    (tmp_path / "t-2.mpt").write_bytes(b"not a trace")
    second = sleeper()
    for _ in range(2):
        second.control("start")
        second.tell("a 5")
        second.control("stop")
    assert second.end("x 0") == (0, "")
    assert (tmp_path / "t-2.mpt").read_bytes() == b"not a trace"
    assert second.files() == ["t-1.mpt", "t-2.mpt", "t-3.mpt"]
    assert (counts(tmp_path / "t-1.mpt"), counts(tmp_path / "t-3.mpt")) == ((5, 0, 0), (5, 0, 0))


def test_a_stretch_that_cannot_be_written_is_kept(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper()
    one.control("start")
    one.tell("a 8")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(one.recorder.pid, resource.RLIMIT_FSIZE, (100, limit[1]))
    status, traces, said = one.ask("stop")
    assert (status, traces) == (4, []) and "cannot write the trace" in said and "the next stop" in said
    resource.prlimit(one.recorder.pid, resource.RLIMIT_FSIZE, limit)
    one.control("start")
    one.tell("a 3")
    assert [counts(path) for path in one.control("stop")] == [(8, 0, 0), (3, 0, 0)]
    assert one.end("x 0") == (0, "")


def test_a_limit_bounds_each_stretch(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper("--max-trace", "300000")
    for _ in range(2):
        one.control("start")
        for _ in range(40):
            one.tell("a 2000", "f 2000")
        status, (trace,), said = one.ask("stop")
        assert status == 0 and "--max-trace was reached" in said
        assert stopped_early(trace) == LIMIT
    assert one.end("x 0")[0] == 0
