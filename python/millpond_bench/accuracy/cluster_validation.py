# SPDX-License-Identifier: BSL-1.0
"""Runs a validation on a cluster: a program a worker, all its rounds on that worker.

Real programs and mallocs do not travel; inputs are made on each worker, at the same path where it can be written.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from millpond.cluster.cluster import Cluster
from millpond.cluster.cluster_executor import ClusterExecutor
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.system.errors import Failure
from millpond.system.progress import saying_about
from millpond_bench.programs import inputs_folder


class Validator(Protocol):
    """The results of a validation so far. It travels by pickle."""

    inputs: Path
    notes: list[str]

    def require_known(self, names: Sequence[str]) -> None: ...

    def part(self) -> Self: ...

    def take_in(self, part: Self) -> None: ...

    def run(self, names: Sequence[str], deadline: float = float("inf")) -> None: ...


@dataclass(frozen=True)
class ValidationOnCluster:
    """Validates programs on the workers of a cluster. `shipment`: what a validation takes along."""

    cluster: Cluster
    shipment: Shipment

    def run(self, work: Validator, names: Sequence[str], budget_seconds: float) -> None:
        """Adds the results of the programs to `work`; each program has the same share of the time.

        A program whose worker fails becomes a note. Failure: 2 for an unknown name, 4 if no worker can serve.
        """
        work.require_known(names)
        with ClusterExecutor(self.cluster, self.shipment, is_measured=True) as executor:
            seconds = budget_seconds / math.ceil(len(names) / executor.workers)
            inputs = work.inputs.resolve()
            calls = [executor.submit(_validate, work.part(), inputs, name, seconds) for name in names]
            for name, call in zip(names, calls, strict=True):
                try:
                    work.take_in(call.result())
                except Failure as failure:
                    work.notes.append(f"{name}: {failure.message}")
        work.notes += self.cluster.notes


def _validate(place: Workplace, work: Validator, inputs: Path, name: str, seconds: float) -> Validator:
    work.inputs = inputs_folder.on_worker(place, inputs)
    with saying_about(name):
        work.run([name], time.monotonic() + seconds)
    return work
