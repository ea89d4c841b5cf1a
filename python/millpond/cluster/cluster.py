# SPDX-License-Identifier: BSL-1.0
"""The connection to a Dask cluster, and the workers that serve.

    with open_cluster(ClusterChoice("tcp://HOST:8786")) as cluster: …      a cluster that runs already
    with open_cluster(ClusterChoice(workers=2)) as cluster: …              one on this machine, for as long as the block

A worker that cannot serve is left out by name, with the reason: another version of Millpond or Python, or, for
measured rounds, another kind of machine or fewer processors than workers. Not thread-safe.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from platform import python_version
from typing import TYPE_CHECKING, Any

from millpond import __version__
from millpond.cluster import worker_station
from millpond.cluster.worker_station import WorkerFacts
from millpond.system.errors import Failure, Status
from millpond.system.machine import Machine, this_machine
from millpond.system.progress import say
from millpond.system.wording import plural

if TYPE_CHECKING:
    from distributed import Client, Future

# The resource by which a worker takes one task of ours at a time; workers of a cluster may announce it.
RESOURCE = "measure"
_CONNECT_SECONDS = 10.0
_FIRST_WORKER_SECONDS = 30.0
_NEVER = "365 days"


@dataclass(frozen=True)
class ClusterChoice:
    """The user's choice: the address of a scheduler, or a number of workers on this machine; neither: no cluster."""

    address: str | None = None
    workers: int | None = None

    def __bool__(self) -> bool:
        return bool(self.address or self.workers)


NO_CLUSTER = ClusterChoice()


@dataclass
class Cluster:
    """A connected cluster: its client, and of each worker by its address its facts, its noise if that was measured (the
    largest relative difference in CPU time of two equal contenders), or the reason why it is left out.
    """

    client: Client
    facts: dict[str, WorkerFacts] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    noise: dict[str, float] = field(default_factory=dict)
    _is_local: bool = False
    _announcing: set[str] = field(default_factory=set)
    _places: dict[str, list[str | None]] = field(default_factory=dict)  # the workers of each machine, by their share
    _environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def restore_environment(self) -> None:
        """Takes back what Dask's nannies set in this process: programs that it runs would inherit it."""
        if os.environ != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)

    def refresh(self) -> set[str]:
        """Examines workers that have come. Returns the addresses of all that live and may serve.

        Failure (status 4) if the scheduler does not answer.
        """
        self.restore_environment()
        resources = self._ask_scheduler(_resources_of_workers)
        alive = set(resources)
        self._announcing = {address for address in alive if RESOURCE in resources[address]}
        for address in sorted(alive - self.facts.keys() - self.left_out.keys()):
            self._examine(address)
        return alive & self.facts.keys()

    def leave_out(self, address: str, why: str) -> None:
        """Uses this worker no more, and says so."""
        self.facts.pop(address, None)
        self.left_out[address] = why
        say(f"left out the worker {address}: {why}")

    @property
    def notes(self) -> list[str]:
        """The facts about the workers that a reader of measured figures needs."""
        found = [f"the worker {address} was left out: {why}" for address, why in self.left_out.items()]
        floors = sorted(self.noise[address] for address in self.facts if address in self.noise)
        if floors:
            found.append(
                f"measured on {plural(len(floors), 'worker')} of one kind of machine; the CPU time of two equal "
                f"contenders differed by {percent(floors[0])} to {percent(floors[-1])} there"
            )
        return found

    @property
    def machine(self) -> Machine:
        """The machine for which measured rounds hold: one of the kind that most workers have; of equal kinds, ours."""
        kinds = Counter(facts.machine.kind for facts in self.facts.values())
        if not kinds:
            return this_machine()
        ours = this_machine().kind
        best = max(kinds, key=lambda kind: (kinds[kind], kind == ours, kind))
        return next(facts.machine for facts in self.facts.values() if facts.machine.kind == best)

    def processors_of(self, address: str) -> tuple[int, ...]:
        """The worker's share of its machine's processors; empty if there are fewer than workers.

        A worker keeps its share; one that comes later gets that of one that has gone.
        """
        facts = self.facts[address]
        places = self._places.setdefault(facts.host, [])
        places[:] = [one if one in self.facts else None for one in places]
        waiting = sorted(a for a, other in self.facts.items() if other.host == facts.host and a not in places)
        for one in waiting:
            if None in places:
                places[places.index(None)] = one
            else:
                places.append(one)
        return facts.processors[places.index(address) :: len(places)]

    def call(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function in the process of a worker, next to its task. Raises what it raises; OSError if the worker
        is gone.
        """
        found = self.client.run(function, *arguments, workers=[address], on_error="return").get(address)
        if isinstance(found, Exception):
            raise found
        return found

    def submit(self, address: str, function: Callable[..., Any], *arguments: Any) -> Future:
        """Starts a task on that worker, and on no other."""
        resources = {RESOURCE: 1} if address in self._announcing else None
        return self.client.submit(
            function, *arguments, workers=[address], allow_other_workers=False, pure=False, resources=resources
        )

    def end_worker(self, address: str) -> None:
        """Ends the process of a worker, which its nanny starts again."""
        with suppress(Exception):
            self.client.restart_workers([address], timeout=_CONNECT_SECONDS, raise_for_error=False)

    def _ask_scheduler(self, question: Callable[..., Any], **arguments: Any) -> Any:
        self.require_scheduler()
        try:
            return self.client.run_on_scheduler(question, **arguments)
        except (OSError, TimeoutError) as error:
            raise self.lost() from error

    def require_scheduler(self) -> None:
        """Failure (status 4) if the connection to the scheduler is lost."""
        if self.client.status != "running":
            raise self.lost()

    def lost(self) -> Failure:
        """The failure for a scheduler that has gone."""
        where = self.client.scheduler.address if self.client.scheduler else "its address"
        return Failure(Status.ENVIRONMENT, f"the scheduler at {where} does not answer any more")

    def _examine(self, address: str) -> None:
        def version() -> str | None:  # of no module of ours, so that it travels to a worker without Millpond
            try:
                from millpond import __version__ as found
            except ImportError:
                return None
            return found

        try:
            found = self.call(address, version)
            if found != __version__:
                has = f"it has Millpond {found}" if found else "Millpond is not installed there"
                self.leave_out(address, f"{has}, and this is {__version__}: `pip install millpond[cluster]`")
                return
            if self._is_local:
                self.call(address, worker_station.leave_interrupts)
            facts: WorkerFacts = self.call(address, worker_station.examine)
        except OSError:
            return  # it has just gone
        if facts.python.split(".")[:2] != python_version().split(".")[:2]:
            self.leave_out(address, f"it has Python {facts.python}, and this is {python_version()}")
            return
        self.facts[address] = facts


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _resources_of_workers(dask_scheduler: Any) -> dict[str, set[str]]:
    """The resources that each worker announces. Runs in the scheduler."""
    return {address: set(worker.resources) for address, worker in dask_scheduler.workers.items()}


@contextmanager
def open_cluster(choice: ClusterChoice) -> Iterator[Cluster]:
    """Connects to a cluster, or starts one on this machine, which ends with the block.

    Failure: status 4 if Dask is not installed, or no scheduler or worker answers; 2 if both were asked for.
    """
    if choice.address and choice.workers:
        raise Failure(Status.USAGE, "--cluster and --workers do not go together: a cluster has its own workers")
    if find_spec("distributed") is None:
        raise Failure(
            Status.ENVIRONMENT, "running on a cluster needs Dask: install it with `pip install millpond[cluster]`"
        )
    environment = dict(os.environ)
    with _client(choice) as client:
        cluster = Cluster(client, _environment=environment, _is_local=not choice.address)
        deadline = time.monotonic() + _FIRST_WORKER_SECONDS
        while not cluster.refresh():  # workers may be starting
            if cluster.left_out or time.monotonic() > deadline:
                raise Failure(Status.ENVIRONMENT, _no_worker(cluster.left_out))
            time.sleep(0.5)
        _announce(cluster)
        try:
            yield cluster
        finally:
            cluster.restore_environment()


@contextmanager
def opened(choice: ClusterChoice) -> Iterator[Cluster | None]:
    """The cluster of the user's choice, as `open_cluster`; None if there is no choice."""
    if not choice:
        yield None
        return
    with open_cluster(choice) as cluster:
        yield cluster


def _no_worker(left_out: dict[str, str]) -> str:
    if not left_out:
        return "the cluster has no worker: start one with `dask worker ADDRESS --nthreads 1`"
    return f"no worker of the cluster can serve: {next(iter(left_out.values()))}"


@contextmanager
def _client(choice: ClusterChoice) -> Iterator[Client]:
    import dask.config
    from distributed import Client, LocalCluster

    # What matters is said by us, in one line; Dask's loggers print stacks when a scheduler dies.
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    if choice.address:
        try:
            client = Client(choice.address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise Failure(
                Status.ENVIRONMENT,
                f"no scheduler answers at {choice.address}: start one with `dask scheduler`, and give the address that "
                "it prints",
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=_CONNECT_SECONDS)
        return
    with (
        # A local cluster closes a nanny for good whose worker was lost some seconds ago and is starting again.
        dask.config.set({"distributed.deploy.lost-worker-timeout": _NEVER}),
        LocalCluster(
            n_workers=choice.workers, threads_per_worker=1, processes=True, host="127.0.0.1", resources={RESOURCE: 1},
            dashboard_address="127.0.0.1:0", silence_logs=50,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):  # fmt: skip
        local.wait_for_workers(choice.workers)
        yield client


def _announce(cluster: Cluster) -> None:
    workers = plural(len(cluster.facts), "worker")
    machines = plural(len({facts.host for facts in cluster.facts.values()}), "machine")
    board = f"; dashboard {cluster.client.dashboard_link}" if find_spec("bokeh") else ""  # which draws it
    say(f"running on {workers} of {machines}{board}")
