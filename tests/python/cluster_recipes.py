# SPDX-License-Identifier: BSL-1.0
"""Recipes for tests of clusters: runners without native programs, which kill or keep their worker if a cell says so."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from millpond.cells.cell import Cell, Outcome, Strategy, Workload
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace

KILLER, SLEEPER, REFUSED = "killer", "sleeper", "refused"


def cells_of(groups: int, contenders: int) -> list[Cell]:
    return [
        Cell(Workload(f"w{group}"), Strategy(f"c{contender}"))
        for group in range(groups)
        for contender in range(contenders)
    ]


class FakeRunner:
    """A runner whose value is made from the cell and the round; `killer` ends its process, `sleeper` never ends."""

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        if cell.contender.name == KILLER:
            os.kill(os.getpid(), signal.SIGKILL)
        while cell.contender.name == SLEEPER:
            time.sleep(0.01)
        if cell.contender.name == REFUSED:
            return Outcome.failed(cell, stage, number, "refused", "it would not fit")
        value = float(sum(map(ord, cell.name)) * 100 + number)
        return Outcome(cell, stage, number, {"cpu_seconds": value, "process": os.getpid()})


@dataclass(frozen=True)
class FakeRecipe:
    """Makes a `FakeRunner`. `limit`: the time limit in seconds of a `sleeper`'s round."""

    limit: float = 2.0

    def shipment(self) -> Shipment:
        return Shipment((), ())

    def limit_seconds(self, cell: Cell) -> float:
        return self.limit if cell.contender.name == SLEEPER else 600.0

    def runner(self, place: Workplace) -> FakeRunner:
        return FakeRunner()
