# SPDX-License-Identifier: BSL-1.0
"""The place on a worker where a run works, and the recipe that makes a runner there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from millpond.cells.cell import Cell, Malloc, Trace
from millpond.cluster.shipment import Shipment
from millpond.rounds.interleaved_rounds import Runner

Made = TypeVar("Made")


@dataclass(frozen=True)
class Workplace:
    """The place where a runner works: a folder of its own, and the shipped files, by their paths on the conductor.

    `ends` is closed when the run leaves this worker.
    """

    folder: Path
    places: dict[str, Path]
    ends: ExitStack = field(default_factory=ExitStack, compare=False)
    _made: dict[object, Any] = field(default_factory=dict, compare=False)

    def once(self, key: object, make: Callable[[ExitStack], Made]) -> Made:
        """The value that `make` made for this key at its first call in this run; it has `ends` for what it opens."""
        if key not in self._made:
            self._made[key] = make(self.ends)
        return self._made[key]  # type: ignore[no-any-return]

    def located(self, path: Path | str) -> Path:
        """The path here of a file of the conductor; the same path if it was not shipped."""
        return self.places.get(str(Path(path).absolute()), Path(path))

    def located_cell(self, cell: Cell) -> Cell:
        """The cell with the paths here of its trace and its malloc library."""
        if isinstance(cell.subject, Trace):
            cell = replace(cell, subject=Trace(str(self.located(cell.subject.path))))
        malloc = cell.contender
        if isinstance(malloc, Malloc) and malloc.path is not None:
            cell = replace(cell, contender=replace(malloc, path=self.located(malloc.path)))
        return cell


class RunnerRecipe(Protocol):
    """Makes a runner on the machine that uses it. A frozen value that travels by pickle."""

    def shipment(self) -> Shipment:
        """The files that the runner needs. Called on the conductor only."""

    def limit_seconds(self, cell: Cell) -> float:
        """The time after which a round of the cell is taken for hung, and its worker is ended."""

    def runner(self, place: Workplace) -> Runner:
        """The runner. Failure if this machine cannot run it."""
