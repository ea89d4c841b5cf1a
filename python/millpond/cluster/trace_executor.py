# SPDX-License-Identifier: BSL-1.0
"""An executor whose calls read one trace each, on the workers of a cluster. Traces do not travel.

Hundreds of traces are more than is worth sending: they lie on a file system that the workers share.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from millpond.cluster.cluster import Cluster
from millpond.cluster.cluster_executor import ClusterExecutor
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.rounds.recording import CHARACTERISE
from millpond.system.errors import Failure, Status


class TraceExecutor(ClusterExecutor):
    """Calls `function(trace, *arguments)` on a worker. Use it as a context.

    Failure (status 4) of a call whose worker does not see the trace.
    """

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, Shipment.of((CHARACTERISE,)))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Starts a call; the first argument is the trace's path."""
        return super().submit(_at_trace, function, *arguments)


def _at_trace(_place: Workplace, function: Callable[..., Any], trace: Path, *arguments: Any) -> Any:
    if not trace.is_file():
        raise Failure(
            Status.ENVIRONMENT,
            f"a worker does not see {trace}: put the traces on a file system that the workers share, at the same path",
        )
    return function(trace, *arguments)
