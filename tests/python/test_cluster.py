# SPDX-License-Identifier: BSL-1.0
"""A cluster runs the same cells as one machine, each once, whatever dies: workers, cells that kill them, the scheduler.

The workers are processes of this machine, and listen on its loopback only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from cluster_recipes import KILLER, REFUSED, SLEEPER, FakeRecipe, FakeRunner, cells_of
from conftest import FakeLab

from millpond.cells.cell import Cell, Outcome, Strategy
from millpond.cluster import cluster as cluster_module
from millpond.cluster.cluster import Cluster, ClusterChoice, open_cluster
from millpond.cluster.cluster_rounds import run_on_cluster
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.cluster.shipment import Shipment
from millpond.cluster.worker_station import WorkerFacts
from millpond.rounds.interleaved_rounds import RoundsRequest, Silence, run_rounds
from millpond.store.observations import Journal
from millpond.store.round_log import RoundLog
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond.system.machine import this_machine

pytestmark = pytest.mark.lengthy
REQUEST = RoundsRequest(stage="s", rounds=3, warm_up=False, seed=5)


def counted(
    cluster: Cluster, cells: list[Cell], recipe: FakeRecipe | None = None, memory: RoundLog | None = None
) -> list[Outcome]:
    recipe = recipe or FakeRecipe()
    return run_on_cluster(cluster, cells, recipe, Silence(), REQUEST, is_measured=False, memory=memory)


def keys(outcomes: list[Outcome]) -> list[tuple[str, int, str, float | None]]:
    return sorted((o.cell.name, o.round, o.status, o.values.get("cpu_seconds") or 0.0) for o in outcomes)


@pytest.fixture
def unexamined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured rounds without an examination of noise, which takes seconds."""
    monkeypatch.setattr(ReadyWorkers, "_quiet", lambda _self, addresses: set(addresses))
    monkeypatch.setattr(Shipment, "with_programs", lambda self, _names: self)
    monkeypatch.setattr(Cluster, "processors_of", lambda _self, _address: (0,))


@pytest.mark.parametrize("warm_up", [False, True])
def test_measured_rounds_are_those_of_one_machine(warm_up: bool, cluster: Cluster, unexamined: None) -> None:
    cells = [*cells_of(4, 3), Cell(cells_of(1, 1)[0].subject, Strategy(REFUSED))]
    request = RoundsRequest(stage="s", rounds=3, warm_up=warm_up, seed=5)
    found = run_on_cluster(cluster, cells, FakeRecipe(), Silence(), request, is_measured=True)
    assert keys(found) == keys(run_rounds(cells, FakeRunner(), Silence(), request))


def test_the_cells_of_a_round_share_a_worker(cluster: Cluster, unexamined: None) -> None:
    found = run_on_cluster(cluster, cells_of(6, 3), FakeRecipe(), Silence(), REQUEST, is_measured=True)
    workers: dict[tuple[str, int], set[float]] = {}
    for outcome in found:
        workers.setdefault((outcome.cell.subject.argv[0], outcome.round), set()).add(outcome.values["process"])
    assert all(len(processes) == 1 for processes in workers.values())
    assert all(outcome.machine for outcome in found)


def test_both_workers_serve_counted_cells(cluster: Cluster) -> None:
    found = counted(cluster, cells_of(20, 1))
    assert len(found) == 60 and len({outcome.values["process"] for outcome in found}) == 2


def test_a_killed_worker_costs_its_round_only(cluster: Cluster) -> None:
    """The first worker dies in the middle; every outcome comes once."""
    killed = []

    class Killer(Silence):
        def step(self) -> None:
            if not killed:
                process = cluster.call(sorted(cluster.facts)[0], os.getpid)
                killed.append(process)
                os.kill(process, signal.SIGKILL)

    cells = cells_of(10, 2)
    found = run_on_cluster(cluster, cells, FakeRecipe(), Killer(), REQUEST, is_measured=False)
    assert keys(found) == keys(run_rounds(cells, FakeRunner(), Silence(), REQUEST))
    assert killed


@pytest.mark.more
def test_a_cell_that_kills_its_workers_is_given_up(cluster: Cluster, unexamined: None) -> None:
    """It is recorded as killed once, and the others of its group have all their rounds."""
    healthy = cells_of(2, 2)
    killer = Cell(healthy[0].subject, Strategy(KILLER))
    found = run_on_cluster(cluster, [*healthy, killer], FakeRecipe(), Silence(), REQUEST, is_measured=True)
    assert keys([o for o in found if o.cell != killer]) == keys(run_rounds(healthy, FakeRunner(), Silence(), REQUEST))
    [given_up] = [o for o in found if o.cell == killer]
    assert given_up.status == "killed" and "3 times" in given_up.why


@pytest.mark.more
def test_a_hung_round_is_ended_by_its_limit(cluster: Cluster) -> None:
    healthy = cells_of(2, 1)
    sleeper = Cell(healthy[0].subject, Strategy(SLEEPER))
    found = counted(cluster, [*healthy, sleeper])
    [given_up] = [o for o in found if o.cell == sleeper]
    assert given_up.status == "killed"
    assert len(found) == 3 * len(healthy) + 1


def test_each_outcome_is_kept_once_and_resumed(cluster: Cluster, tmp_path: Path) -> None:
    cells = cells_of(5, 2)
    store = Store(tmp_path / "store")
    store.prepare()
    kept = []
    for _ in range(2):
        log = RoundLog(store, Journal("x", ("x",), seed=5, machine=cluster.machine), resume=True)
        found = counted(cluster, cells, memory=log)
        assert len(found) == 30
        kept.append(len({(*row.cell, row.round) for row in log.journal.rows}))
        log.finish()
    assert kept == [30, 0]


def test_a_failure_on_a_worker_ends_the_run_with_its_words(cluster: Cluster) -> None:
    class FailingRunner(FakeRunner):
        def run(self, cell: Cell, stage: str, number: int) -> Outcome:
            raise Failure(Status.INPUT, "the trace is damaged")

    class FailingRecipe(FakeRecipe):
        def runner(self, place: object) -> FakeRunner:
            return FailingRunner()

    with pytest.raises(Failure, match="the trace is damaged") as failed:
        counted(cluster, cells_of(1, 1), FailingRecipe())
    assert failed.value.status == Status.INPUT


def test_noisy_workers_are_left_out_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class FakeFuture:
        def __init__(self, floor: float) -> None:
            self._floor = floor

        def result(self, timeout: float) -> float:
            return self._floor

    floors = {"a": 0.02, "b": 0.03, "c": 0.09, "d": 0.5}
    found = Cluster(None)  # type: ignore[arg-type]
    monkeypatch.setattr(found, "submit", lambda address, *_: FakeFuture(floors[address]))
    workers = ReadyWorkers(found, Shipment((), ()), FakeRecipe())
    assert workers._quiet(list(floors)) == {"a", "b", "c"}
    assert "left out the worker d: two equal contenders differ by 50" in capsys.readouterr().err
    found.facts = dict.fromkeys("abc")  # type: ignore[arg-type]
    assert found.notes[0].startswith("the worker d was left out: ") and "measured on 3 workers" in found.notes[1]


def test_a_worker_that_comes_again_gets_the_free_processor() -> None:
    """Whatever its address is: no two workers of a machine share a processor."""
    machine = this_machine()
    for again in "ac":  # before and behind the one that stays
        found = Cluster(None)  # type: ignore[arg-type]
        found.facts = {name: WorkerFacts("host", machine, "", "", (4, 7)) for name in ("b", "bb")}
        gone, stays = found.processors_of("b"), found.processors_of("bb")
        found.facts[again] = found.facts.pop("b")
        assert found.processors_of("bb") == stays != gone == found.processors_of(again)


def test_another_version_of_millpond_is_left_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster_module, "__version__", "99.0")
    other = Cluster(cluster.client)
    assert other.refresh() == set()
    assert "and this is 99.0: `pip install millpond[cluster]`" in capsys.readouterr().err


def test_without_dask_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "find_spec", lambda _name: None)
    with pytest.raises(Failure, match=r"needs Dask: .*pip install millpond\[cluster\]") as failed:
        open_cluster(ClusterChoice(workers=2)).__enter__()
    assert failed.value.status == Status.ENVIRONMENT


def test_a_cluster_and_workers_do_not_go_together() -> None:
    with pytest.raises(Failure, match="--cluster and --workers"):
        open_cluster(ClusterChoice("tcp://127.0.0.1:1", 2)).__enter__()


def test_one_simulation_does_not_go_to_a_cluster(lab: FakeLab) -> None:
    done = lab.run("trace", "simulate", "x.mpt", "--workers", "2")
    assert done.status == Status.USAGE and "add -o FILE.html" in done.stderr


def test_an_address_without_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_CONNECT_SECONDS", 0.5)
    with pytest.raises(Failure, match=r"no scheduler answers at tcp://127\.0\.0\.1:1"):
        open_cluster(ClusterChoice("tcp://127.0.0.1:1")).__enter__()


def test_a_dead_scheduler_leaves_whole_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second cluster goes on from what the store has."""
    store = Store(tmp_path / "store")
    store.prepare()
    cells = cells_of(20, 1)
    with RunningScheduler(tmp_path) as (address, end):

        class Killer(Silence):
            steps = 0

            def step(self) -> None:
                Killer.steps += 1
                if Killer.steps == 10:
                    end()

        log = RoundLog(store, Journal("x", ("x",), seed=5), resume=True)
        with pytest.raises(Failure, match="does not answer any more"), open_cluster(ClusterChoice(address)) as found:
            run_on_cluster(found, cells, FakeRecipe(), Killer(), REQUEST, is_measured=False, memory=log)
        first = {(*row.cell, row.round) for row in log.journal.rows}
        log.finish()
    assert 10 <= len(first) < 60
    with open_cluster(ClusterChoice(workers=1)) as found:
        log = RoundLog(store, Journal("x", ("x",), seed=5), resume=True)
        assert len(counted(found, cells, memory=log)) == 60
        second = {(*row.cell, row.round) for row in log.journal.rows}
    assert not first & second and len(first | second) == 60


class RunningScheduler:
    """A scheduler and a worker in processes of their own: their address, and what kills the scheduler."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "scheduler.json"
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> tuple[str, Callable[[], None]]:
        import json

        shared = ["--scheduler-file", str(self._file), "--host", "127.0.0.1"]
        self._start("distributed.cli.dask_scheduler", [*shared, "--port", "0", "--no-dashboard"])
        for _ in range(3000):
            if self._file.exists() and self._file.stat().st_size:
                break
            time.sleep(0.02)
        self._start("distributed.cli.dask_worker", [*shared, "--nthreads", "1", "--no-nanny"])
        return json.loads(self._file.read_text())["address"], self._started[0].kill

    def _start(self, module: str, words: list[str]) -> None:
        call = f"from {module} import main; main()"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # workers read this file's recipes
        self._started.append(subprocess.Popen([sys.executable, "-c", call, *words], env=environment,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))  # fmt: skip

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
            process.wait()


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_leaves_no_process_on_a_worker(cluster: Cluster) -> None:
    """Ctrl-C in the middle of a native program: it has ended when the run has."""

    class WaitingRunner(FakeRunner):
        def run(self, cell: Cell, stage: str, number: int) -> Outcome:
            subprocess.run(["sleep", "1000"], check=False)
            return Outcome(cell, stage, number, {})

    class WaitingRecipe(FakeRecipe):
        def runner(self, place: object) -> FakeRunner:
            return WaitingRunner()

    def sleeps() -> list[str]:
        return subprocess.run(
            ["pgrep", "-x", "-P", ",".join(map(str, processes)), "sleep"], capture_output=True, text=True, check=False
        ).stdout.split()

    cluster.refresh()
    processes = [cluster.call(address, os.getpid) for address in cluster.facts]

    def interrupt() -> None:
        while not sleeps():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        counted(cluster, cells_of(4, 1), WaitingRecipe())
    sender.join()
    assert sleeps() == []
