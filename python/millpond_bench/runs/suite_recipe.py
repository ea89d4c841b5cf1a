# SPDX-License-Identifier: BSL-1.0
"""The recipe for a suite's rounds on a worker: the suite's programs and mallocs travel, toolchain builds do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millpond.cells.cell import Cell
from millpond.cells.metrics import Metrics
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.suite_rounds import Launch, SuiteRunner
from millpond_bench.experiments.window_counters import CounterRequest


@dataclass(frozen=True)
class SuiteRecipe:
    """Makes a `SuiteRunner` on a worker. `launches`: of each cell. Others: as `SuiteRunner` takes them."""

    program: str
    metrics: Metrics
    seed: int
    refused: Mapping[Cell, str]
    seconds: Mapping[Cell, float]
    room_bytes: int
    counting: CounterRequest
    launches: Mapping[Cell, Launch]

    def shipment(self) -> Shipment:
        """The programs and mallocs. Failure (status 2) for what cannot travel."""
        around = [launch.around for launch in self.launches.values()]
        built = next((each.toolchain for each in around if each.toolchain), "")
        if built:
            raise Failure(
                Status.USAGE, f"programs built by {built} do not travel: run --toolchain on the machine that has them"
            )
        if self.counting.control is not None:
            raise Failure(Status.USAGE, "--perf-control needs a perf of this machine: it does not go with a cluster")
        programs = [each.program(self.program).name for each in around]
        return Shipment.of(programs, [path for each in around if (path := each.library())])

    def limit_seconds(self, cell: Cell) -> float:
        return 2 * SuiteRunner.patience_seconds(self.seconds.get(cell, 0.0))

    def runner(self, place: Workplace) -> SuiteRunner:
        launches = {cell: _located(launch, place) for cell, launch in self.launches.items()}
        return SuiteRunner(self.program, self.metrics, self.seed, self.refused, self.seconds, self.room_bytes,
                           counting=self.counting, launch=launches.__getitem__)  # fmt: skip


def _located(launch: Launch, place: Workplace) -> Launch:
    library = launch.around.library()
    return launch if library is None else replace(launch, around=replace(launch.around, path=place.located(library)))
