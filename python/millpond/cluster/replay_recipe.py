# SPDX-License-Identifier: BSL-1.0
"""The recipe for replaying a trace on a worker: the trace and malloc libraries travel; scripts are made there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millpond.cells.cell import Cell
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.rounds.replay_rounds import REPLAY, ReplayRunner


@dataclass(frozen=True)
class ReplayRecipe:
    """Makes a `ReplayRunner`. `files`: the trace and the malloc libraries. Others: as `ReplayRunner` takes them."""

    files: tuple[Path, ...]
    seed: int
    limit: float
    options: tuple[str, ...]

    def shipment(self) -> Shipment:
        return Shipment.of((REPLAY,), self.files, with_libraries=True)

    def limit_seconds(self, cell: Cell) -> float:
        return 2 * self.limit

    def runner(self, place: Workplace) -> ReplayRunner:
        return ReplayRunner(place.folder, self.seed, self.limit, self.options)
