# SPDX-License-Identifier: BSL-1.0
"""The tasks under way on the workers of a cluster, one a worker, and which of them have ended or were lost.

    begin(free worker, …) ─▶ under way ─┬─▶ ended: its value, or the error that it raised
                               │        └─▶ lost: its worker has gone, or comes back as another process
                               └─ late ─▶ its worker is ended ─▶ lost

The conductor keeps all state: a worker, or the whole cluster, may go at any time. What is lost may begin again on
another worker; whoever begins tasks decides how often.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millpond.cluster import worker_station
from millpond.cluster.cluster import Cluster
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.system.progress import say

if TYPE_CHECKING:
    from distributed import Future

LOSSES_MAX = 3  # after which what has ended its workers is given up
# A worker's nanny starts it again in seconds; a cluster manager may need minutes for a new one.
PATIENCE_SECONDS = 300.0
_POLL_SECONDS = 0.5
_FETCH_SECONDS = 5.0
Subject = TypeVar("Subject")


@dataclass(frozen=True, eq=False)
class WorkerTask(Generic[Subject]):
    """A task on a worker. `subject`: what its owner knows it by; `name`: in messages; times of `time.monotonic`."""

    subject: Subject
    name: str
    address: str
    began_at: float
    ends_at: float
    future: Future


@dataclass(frozen=True)
class TaskEnd(Generic[Subject]):
    """The end of a task: the value, or the error of its function; neither if it was lost with its worker."""

    task: WorkerTask[Subject]
    is_lost: bool = False
    value: Any = None
    error: BaseException | None = None


class WorkerTasks(Generic[Subject]):
    """The tasks under way. `wake` may be called by any thread, all else by one."""

    def __init__(self, cluster: Cluster, workers: ReadyWorkers) -> None:
        self._cluster = cluster
        self._workers = workers
        self._under_way: dict[str, WorkerTask[Subject]] = {}
        self._results: SimpleQueue[WorkerTask[Subject] | None] = SimpleQueue()
        self._had_worker_at = time.monotonic()

    def __len__(self) -> int:
        return len(self._under_way)

    @property
    def free(self) -> list[str]:
        """The workers without a task."""
        return sorted(self._workers.addresses - self._under_way.keys())

    def begin(
        self, address: str, subject: Subject, name: str, limit_seconds: float, function: Callable[..., Any],
        *arguments: Any,
    ) -> None:  # fmt: skip
        """Starts a task on a free worker, which is ended if the task has not ended after the limit."""
        now = time.monotonic()
        future = self._cluster.submit(address, function, self._workers.session, *arguments)
        task = WorkerTask(subject, name, address, now, now + limit_seconds, future)
        self._under_way[address] = task
        future.add_done_callback(lambda _: self._results.put(task))

    def wake(self) -> None:
        """Has a waiting `ended` return at once."""
        self._results.put(None)

    def ended(self) -> list[TaskEnd[Subject]]:
        """Waits a little. Returns the tasks that have ended or were lost meanwhile.

        Failure (status 4) if the scheduler is gone, or no worker comes for minutes.
        """
        now = time.monotonic()
        if self._workers.addresses:
            self._had_worker_at = now
        elif now - self._had_worker_at > PATIENCE_SECONDS:
            raise self._workers.none_left()
        try:
            task = self._results.get(timeout=_POLL_SECONDS)
        except Empty:
            return self._watch()
        if task is None or self._under_way.get(task.address) is not task:
            return []  # it was lost before it ended
        return [self._end(task)]

    def cancel(self) -> None:
        """Forgets all tasks; what has begun on a worker goes on there until it is left."""
        for task in self._under_way.values():
            task.future.cancel()
        self._under_way.clear()

    def _end(self, task: WorkerTask[Subject]) -> TaskEnd[Subject]:
        if task.future.status in ("cancelled", "lost"):
            self._cluster.require_scheduler()
            return self._lose(task)
        error = task.future.exception()
        if error is not None:
            from distributed.scheduler import KilledWorker

            if isinstance(error, worker_station.StationGone | KilledWorker):
                return self._lose(task)
            del self._under_way[task.address]
            return TaskEnd(task, error=error)
        while True:
            try:
                value = task.future.result(timeout=_FETCH_SECONDS)
            except TimeoutError:  # Dask waits for the worker to come back, which it never does under this address
                self._workers.refresh()
                if task.address not in self._workers.addresses:
                    task.future.cancel()
                    return self._lose(task)
            else:
                del self._under_way[task.address]
                return TaskEnd(task, value=value)

    def _lose(self, task: WorkerTask[Subject]) -> TaskEnd[Subject]:
        say(f"lost the worker {task.address} with {task.name}")
        self._under_way.pop(task.address, None)
        self._workers.forget(task.address)
        return TaskEnd(task, is_lost=True)

    def _watch(self) -> list[TaskEnd[Subject]]:
        """Notices workers that have gone, come, or take too long."""
        now = time.monotonic()
        for address, task in self._under_way.items():
            if now > task.ends_at:
                say(f"{task.name} has not ended in time: the worker {address} is ended")
                self._cluster.end_worker(address)
        self._workers.refresh()
        gone = [t for t in self._under_way.values() if t.address not in self._workers.addresses or now > t.ends_at]
        return [self._lose(task) for task in gone]
