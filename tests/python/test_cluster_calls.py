# SPDX-License-Identifier: BSL-1.0
"""Calls on the workers of a cluster: files are where functions look for them, and Dask's settings are not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from millpond.cluster import worker_station
from millpond.cluster.cluster import Cluster
from millpond.cluster.cluster_executor import ClusterExecutor
from millpond.cluster.shipment import Shipment
from millpond.cluster.trace_executor import TraceExecutor
from millpond.cluster.worker_tasks import WorkerTasks
from millpond.system import process_tree
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status

pytestmark = pytest.mark.lengthy


def test_an_executor_calls_functions_where_files_are(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")

    def content(place: object, path: str) -> bytes:
        return place.located(path).read_bytes()  # type: ignore[attr-defined,no-any-return]

    with ClusterExecutor(cluster, Shipment.of((), [file])) as executor:
        calls = [executor.submit(content, str(file)) for _ in range(5)]
        assert [call.result(timeout=60) for call in calls] == [b"content"] * 5


def test_a_call_runs_again_when_its_worker_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    """Also when both workers are lost at the same time, and come again as other processes."""
    first = tmp_path / "first"

    def work(_place: object, number: int) -> tuple[int, int]:
        try:
            (first.parent / f"first{number}").touch(exist_ok=False)
        except FileExistsError:
            return number, os.getpid()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    with ClusterExecutor(cluster, Shipment((), ())) as executor:
        calls = [executor.submit(work, number) for number in range(3)]
        assert [call.result(timeout=120)[0] for call in calls] == [0, 1, 2]


@pytest.mark.more
def test_a_call_that_ends_its_workers_is_given_up(cluster: Cluster) -> None:
    with ClusterExecutor(cluster, Shipment((), ())) as executor:
        killer = executor.submit(lambda _place: os.kill(os.getpid(), signal.SIGKILL))
        healthy = executor.submit(lambda _place: "answer")
        assert healthy.result(timeout=120) == "answer"
        with pytest.raises(Failure, match="given up: its worker was lost 3 times"):
            killer.result(timeout=120)


def test_calls_that_have_not_ended_are_cancelled(cluster: Cluster, tmp_path: Path) -> None:
    end = tmp_path / "end"

    def wait(_place: object) -> None:
        while not end.exists():
            time.sleep(0.01)

    with ClusterExecutor(cluster, Shipment((), ())) as executor:
        calls = [executor.submit(wait) for _ in range(5)]
    end.touch()
    assert all(call.cancelled() for call in calls)


def test_after_an_end_of_the_cluster_every_call_fails(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_self: object) -> list[object]:
        raise Failure(Status.ENVIRONMENT, "the scheduler does not answer any more")

    with ClusterExecutor(cluster, Shipment((), ())) as executor:
        monkeypatch.setattr(WorkerTasks, "ended", gone)
        for call in [executor.submit(str), executor.submit(str)]:
            with pytest.raises(Failure, match="does not answer any more"):
                call.result(timeout=60)
        with pytest.raises(Failure, match="does not answer any more"):
            executor.submit(str).result(timeout=60)


def test_traces_are_read_where_workers_see_them(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shipment, "of", lambda _programs: Shipment((), ()))
    trace = tmp_path / "x.mpt"
    trace.write_bytes(b"content")
    with TraceExecutor(cluster) as executor:
        seen, unseen = executor.submit(Path.read_bytes, trace), executor.submit(Path.read_bytes, tmp_path / "y.mpt")
        assert seen.result(timeout=60) == b"content"
        with pytest.raises(Failure, match=r"does not see .*y\.mpt: put the traces on a file system"):
            unseen.result(timeout=60)


_WAITING = """
import sys, time
from pathlib import Path
from millpond.cluster.cluster import ClusterChoice, open_cluster
from millpond.cluster.cluster_executor import ClusterExecutor
from millpond.cluster.shipment import Shipment

def wait(_place, folder):
    (Path(folder) / "begun").touch()
    while not (Path(folder) / "end").exists():
        time.sleep(0.01)

try:
    with open_cluster(ClusterChoice(workers=1)) as cluster, ClusterExecutor(cluster, Shipment((), ())) as executor:
        executor.submit(wait, sys.argv[1]).result()
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


@pytest.mark.more
def test_ctrl_c_of_a_terminal_ends_workers_quietly(tmp_path: Path) -> None:
    """It goes to all processes of the terminal; only the conductor answers."""
    command = [sys.executable, "-X", "faulthandler", "-c", _WAITING, str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True)
    while not (tmp_path / "begun").exists() and process.poll() is None:
        time.sleep(0.05)
    said = _said_after_ctrl_c(process)
    (tmp_path / "end").touch()
    assert process.returncode == 1 and "interrupted" in said, said
    assert "Traceback" not in said


def _said_after_ctrl_c(process: subprocess.Popen[str]) -> str:
    """Ends a session as a user does. A signal that another thread of the conductor takes wakes its main thread only at
    the next one, so it is sent again; a conductor that still waits shows its stacks.
    """
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGABRT):
        os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=60)[1]
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[1]


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS", "PYTHONHASHSEED", "__DASK_PARENT_PID"])
def test_programs_do_not_get_the_settings_of_dask(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A nanny sets MALLOC_TRIM_THRESHOLD_, which changes what is measured. Afterwards the worker has it again."""
    import dask.config

    value = str(dask.config.get("distributed.nanny.pre-spawn-environ").get(name, "6640"))
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(worker_station, "_new_folder", lambda: tmp_path / "worker")
    monkeypatch.setattr(process_tree, "kill_descendants", lambda: None)
    worker_station.lacking("session", Shipment((), ()))
    assert name not in os.environ
    worker_station.leave("session")
    assert os.environ[name] == value


def test_programs_get_one_environment_here_and_on_workers(cluster: Cluster) -> None:
    """Dask sets variables here, too, and again when it starts a worker again."""
    with ClusterExecutor(cluster, Shipment((), ())) as executor:
        there = executor.submit(_environment).result(timeout=60)
    cluster.refresh()
    of_dask = {"MALLOC_TRIM_THRESHOLD_", "PYTHONHASHSEED", "__DASK_PARENT_PID", "DASK_INTERNAL_INHERIT_CONFIG"}
    assert not of_dask & (there.keys() | user_environment().keys())


def _environment(_place: object) -> dict[str, str]:
    return user_environment()
