# SPDX-License-Identifier: BSL-1.0
"""Calls functions on the workers of a cluster, as an Executor: one call a worker at a time, files at hand.

A call whose worker dies runs again on another one, by Dask, up to three times.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from millpond.cluster import worker_station
from millpond.cluster.cluster import Cluster
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.cluster.shipment import Shipment

_RETRIES = 3


class ClusterExecutor(Executor):
    """Calls `function(place, *arguments)` on a worker, where `place` is its `Workplace`. Use it as a context.

    `shipment`: the files that the functions need. Functions and arguments travel by pickle; results, too.
    """

    def __init__(self, cluster: Cluster, shipment: Shipment) -> None:
        self._cluster = cluster
        self._workers = ReadyWorkers(cluster, shipment)
        self._executor: Executor | None = None

    def __enter__(self) -> ClusterExecutor:
        """Prepares the workers. Failure (status 4) if none can serve."""
        self._workers.__enter__()
        self._executor = self._cluster.client.get_executor(
            workers=sorted(self._workers.addresses), allow_other_workers=False, retries=_RETRIES, pure=False
        )
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown(wait=False)
        self._workers.__exit__(*error)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Starts a call. Its result raises what the function raises; of Dask, KilledWorker if it kills workers."""
        assert self._executor is not None, "use it as a context"
        return self._executor.submit(worker_station.call, self._workers.session, function, *arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the executor: with `wait` when all calls have ended, otherwise at once, whatever `cancel_futures` is."""
        if self._executor is not None:
            self._executor.shutdown(wait=wait)
            self._executor = None
