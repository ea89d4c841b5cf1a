# SPDX-License-Identifier: BSL-1.0
"""Experiments on direct captures: one capture of a program on an allocator has the values of many points.

    cell (program, allocator) ── captured once a round (programs/grunwald1993_captures.py) ──▶ values
    values ─┬─ unfold ─▶ points (cache)
            └─ unfold ─▶ points (memory)

Several experiments of the paper read the same captures. These are kept in one place for all of them: the store, or a
folder that lives as long as this process. Experiments differ by the points that they make of a capture, their figure
and their statements.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from millpond.cells.cell import Cell, Outcome
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.rounds.interleaved_rounds import Runner
from millpond.store.observations import Journal, Programs
from millpond.store.round_log import logged
from millpond.store.store import Store
from millpond.system.machine import this_machine
from millpond.system.temporary import temporary_folder
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import Parameters
from millpond_bench.experiments.result_table import PublishedTable
from millpond_bench.experiments.run_rules import Needs
from millpond_bench.experiments.suite_rounds import SuiteProgram
from millpond_bench.programs import grunwald1993_captures, inputs_folder
from millpond_bench.runs.experiment_run import PLACE
from millpond_bench.runs.published_run import PublishedRun

Values = Mapping[str, float]
_JOURNAL = "grunwald1993.captures"
_NATIVE = ("millpond-record", "millpond-references", "millpond-simulate", "millpond-characterise", "millpond-probe")
_LIMIT_SECONDS = 3 * 3600.0


@dataclass(frozen=True)
class CaptureRecipe:
    """Makes a runner of captures on a worker, which makes the inputs there.

    `kind`: the class of the runner, as in `CaptureSpec`. `inputs`: their folder on the conductor. `programs`: of the
    system, which run.
    """

    kind: Callable[[Path, Path], Runner]
    inputs: Path
    programs: tuple[Path, ...]

    def shipment(self) -> Shipment:
        """The capturing tool with its library, and what reads its traces."""
        return Shipment.of(_NATIVE, system=self.programs, with_libraries=True)

    def limit_seconds(self, cell: Cell) -> float:
        return _LIMIT_SECONDS

    def runner(self, place: Workplace) -> Runner:
        # A folder with a name of the same length as the conductor's, since programs run in it.
        folder = place.ends.enter_context(temporary_folder())
        return self.kind(folder, inputs_folder.on_worker(place, self.inputs))


@dataclass(frozen=True, eq=False, kw_only=True)
class CaptureSpec(PublishedSpec):
    """`unfold`: makes the parameters and the values of each point from the values of one capture, and those of the
    baseline's capture of the same program and round (None if it does not exist).

    `runner`: computes a round's values, thread-safe, from a folder of its own and the folder of the inputs. `lacking`:
    why cells cannot be run here. `identity`: tells the programs of a cell from other builds. `once`: cells of which one
    round is enough, because statements ask only for their counts, or for nothing.
    """

    runner: Callable[[Path, Path], Runner] = grunwald1993_captures.CaptureRunner
    lacking: Callable[[list[Cell]], dict[Cell, str]] = grunwald1993_captures.lacking
    identity: Callable[[Cell], str] = grunwald1993_captures.identity_of
    travels: bool = True
    once: Callable[[Cell], bool] = lambda _: False

    unfold: Callable[[Values, Values | None], Iterable[tuple[Parameters, Values]]]


class CaptureRun(PublishedRun):
    """One experiment of the study with its chosen captures."""

    spec: CaptureSpec
    source = "captures on the reference machine"
    paired = False  # counts do not depend on what else runs

    @property
    def programs(self) -> list[SuiteProgram]:
        """No programs of ours: they belong to the system."""
        return []

    def built_by(self, cell: Cell) -> str | None:
        return None

    def require(self) -> None:
        """Failure (status 4) if nothing can be captured. Effects: leaves out cells whose program or allocator is
        absent, with the reason.
        """
        missing = self.spec.lacking(self.cells)
        self.left_out += dict.fromkeys(missing.values())
        self.cells = [cell for cell in self.cells if cell not in missing]

    @cached_property
    def journal(self) -> Journal:  # type: ignore[override]
        programs = Programs(lambda _: None, cache(self.spec.identity))
        return Journal(_JOURNAL, ("millpond", "bench", _JOURNAL), metrics=self.spec.metrics,
                       seed=self.request.seed, programs=programs)  # fmt: skip

    def rounds_of(self, cell: Cell) -> int:
        """One for cells whose misses no statement asks for, unless the user named a number."""
        return 1 if self.request.rounds is None and self.spec.once(cell) else super().rounds_of(cell)

    def measure(self) -> None:
        """Makes the captures that no experiment has made yet; there are no warm-up rounds, and none is timed."""
        store = self.request.store or _store_of_this_process()
        store.prepare()
        with temporary_folder() as folder, logged(store, self.journal, resume=True) as log:
            runner = self.spec.runner(folder, _inputs())
            self.outcomes = self.run_cells(runner, self._recipe(), log, self.cells)

    def _recipe(self) -> CaptureRecipe | None:
        if not self.spec.travels:
            return None
        programs = {Path(grunwald1993_captures.program_path(cell)).resolve() for cell in self.cells}
        return CaptureRecipe(self.spec.runner, _inputs(), tuple(sorted(programs)))

    @cached_property
    def results(self) -> PublishedTable:
        bases = {
            (one.cell.parameters, one.round): one.values
            for one in self.outcomes
            if one.status == "ok" and one.cell.contender.name == self.spec.data.baseline
        }
        outcomes = [
            each for one in self.outcomes for each in self._unfolded(one, bases.get((one.cell.parameters, one.round)))
        ]
        return PublishedTable(self.spec, list(dict.fromkeys(each.cell for each in outcomes)), outcomes)

    def _unfolded(self, outcome: Outcome, base: Values | None) -> list[Outcome]:
        """The outcomes of a capture's points; a failed one has no point in particular."""
        if outcome.status != "ok":
            return [outcome]
        return [
            replace(outcome, cell=replace(outcome.cell, parameters=(*outcome.cell.parameters, *more)), values=dict(own))
            for more, own in self.spec.unfold(outcome.values, base)
        ]

    def forecast(self) -> dict[str, Any]:
        """The forecast. Captures run on all processors at once. Those that an earlier experiment makes in the same run
        take no time again.
        """
        beside = this_machine().cores
        self.needs = {
            cell: Needs(0.0 if cell in _told else need.seconds / beside, need.bytes * beside)
            for cell, need in self.needs.items()
        }
        _told.update(self.cells)
        return super().forecast()


_told: set[Cell] = set()


def _inputs() -> Path:
    return (PLACE / "inputs").resolve()


@cache
def _store_of_this_process() -> Store:
    stack = ExitStack()
    atexit.register(stack.close)
    return Store(Path(stack.enter_context(temporary_folder())) / "captures")
