# SPDX-License-Identifier: BSL-1.0
"""Calls functions on the workers of a cluster, as an Executor: one call a worker at a time, files at hand.

A call whose worker is lost runs again on another one; the third loss gives it up.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from millpond.cluster import worker_station
from millpond.cluster.cluster import Cluster
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.cluster.shipment import Shipment
from millpond.cluster.worker_tasks import LOSSES_MAX, WorkerTasks
from millpond.system.errors import Failure, Status


@dataclass(eq=False)
class _Call:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    future: Future[Any] = field(default_factory=Future)
    losses: int = 0


class ClusterExecutor(Executor):
    """Calls `function(place, *arguments)` on a worker, where `place` is its `Workplace`. Use it as a context.

    `shipment`: the files that the functions need. Functions and arguments travel by pickle; results, too.
    `is_measured`: only workers that are fit to measure, each with its own processors. A thread of its own starts the
    calls; until the context ends, no other thread may use the cluster.
    """

    def __init__(self, cluster: Cluster, shipment: Shipment, *, is_measured: bool = False) -> None:
        self._workers = ReadyWorkers(cluster, shipment, is_measured=is_measured)
        self._tasks = WorkerTasks[_Call](cluster, self._workers)
        self._waiting: deque[_Call] = deque()
        self._ends = threading.Event()
        self._accepting = threading.Lock()
        self._why_ended: Exception | None = None
        self._thread = threading.Thread(target=self._serve, name="calls on a cluster", daemon=True)

    def __enter__(self) -> ClusterExecutor:
        """Prepares the workers. Failure (status 4) if none can serve."""
        self._workers.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self._workers.__exit__(*error)

    @property
    def workers(self) -> int:
        """The number of workers that serve."""
        return len(self._workers.addresses)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Starts a call when a worker is free. Its result raises what the function raises; Failure (status 4) if the
        call ends its workers, the scheduler has gone, or no worker comes for minutes.
        """
        call = _Call(function, arguments)
        with self._accepting:
            if self._why_ended is None:
                self._waiting.append(call)
            else:
                call.future.set_exception(self._why_ended)
        self._tasks.wake()
        return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the executor at once; calls that have not ended are cancelled, whatever the arguments are."""
        self._ends.set()
        self._tasks.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        under_way: set[_Call] = set()
        try:
            while not self._ends.is_set():
                for address in self._tasks.free:
                    if not self._waiting:
                        break
                    call = self._waiting.popleft()
                    under_way.add(call)
                    self._tasks.begin(address, call, "a call", float("inf"), worker_station.call, call.function,
                                      *call.arguments)  # fmt: skip
                for end in self._tasks.ended():
                    call = end.task.subject
                    under_way.remove(call)
                    if end.is_lost:
                        self._lose(call)
                    elif end.error is not None:
                        call.future.set_exception(end.error)
                    else:
                        call.future.set_result(end.value)
        except Exception as error:  # every caller is told
            with self._accepting:
                self._why_ended = error
            for call in [*under_way, *self._waiting]:
                call.future.set_exception(error)
        finally:
            self._tasks.cancel()
            for call in [*under_way, *self._waiting]:
                call.future.cancel()  # has no effect on one that has ended

    def _lose(self, call: _Call) -> None:
        call.losses += 1
        if call.losses < LOSSES_MAX:
            self._waiting.appendleft(call)
            return
        why = f"a call on the cluster was given up: its worker was lost {LOSSES_MAX} times"
        call.future.set_exception(Failure(Status.ENVIRONMENT, why))
