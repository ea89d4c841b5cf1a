# SPDX-License-Identifier: BSL-1.0
"""Experiments on direct captures: one capture of a program on an allocator has the values of many points.

cell (program, allocator) ── captured once a round (rounds/study_captures.py) ──▶ values ─┬─ unfold ─▶ points (cache)
                                                                                          └─ unfold ─▶ points (memory)

Several experiments of the document read the same captures: they are kept in one place for all of them, the store that
was named, or a folder that lives as long as this process. An experiment differs from another by the points that it
makes of a capture, its figure and its statements.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from millpond.cells.cell import Cell, Outcome
from millpond.rounds.interleaved_rounds import Runner
from millpond.store.observations import Journal, Programs
from millpond.store.round_log import logged
from millpond.store.store import Store
from millpond.system.machine import this_machine
from millpond.system.temporary import temporary_folder
from millpond_bench.experiments.experiment import Needs, Parameters, Place, Published, PublishedSpec
from millpond_bench.experiments.result_table import PublishedTable
from millpond_bench.experiments.suite_rounds import SuiteProgram
from millpond_bench.programs import study_captures
from millpond_bench.runs.experiment_run import PLACE
from millpond_bench.runs.published_run import PublishedRun

Values = Mapping[str, float]
_JOURNAL = "grunwald1993.captures"


@dataclass(frozen=True, eq=False, kw_only=True)
class StudySpec(PublishedSpec):
    """`unfold`: from the values of one capture, and those of the baseline's of the same program and round (None where
    there is none), the parameters and the values of each of its points.

    `figures`: the document's own, by metric; "" is the experiment's figure. `runner`: what makes a round's values,
    thread-safe, given a folder of its own and the one of the inputs. `lacking`: why cells cannot be run here.
    `identity`: what tells the programs of a cell from other builds.
    """

    runner: Callable[[Path, Path], Runner] = study_captures.CaptureRunner
    lacking: Callable[[list[Cell]], dict[Cell, str]] = study_captures.lacking
    identity: Callable[[Cell], str] = study_captures.identity_of

    unfold: Callable[[Values, Values | None], Iterable[tuple[Parameters, Values]]]
    figures: Callable[[], Mapping[str, Iterable[Published]]] = field(default=dict)

    @cache  # noqa: B019 (an experiment lives as long as the program)
    def printed(self, metric: str = "") -> dict[Place, Published]:
        return {(one.point, one.strategy): one for one in self.figures().get(metric, ())}


class StudyRun(PublishedRun):
    """One experiment of the study with the captures that were chosen of it."""

    spec: StudySpec
    source = "what captures took where this was laid out"
    paired = False  # counts, the same whatever runs beside

    @property
    def programs(self) -> list[SuiteProgram]:
        """None: the programs are the system's."""
        return []

    def built_by(self, cell: Cell) -> str | None:
        return None

    def require(self) -> None:
        """Failure (status 4) where nothing can be captured. Effects: cells whose program or allocator is not here are
        left out, with the reason.
        """
        missing = self.spec.lacking(self.cells)
        self.left_out += dict.fromkeys(missing.values())
        self.cells = [cell for cell in self.cells if cell not in missing]

    @cached_property
    def journal(self) -> Journal:  # type: ignore[override]
        programs = Programs(lambda _: None, cache(self.spec.identity))
        return Journal(_JOURNAL, ("millpond", "bench", _JOURNAL), metrics=self.spec.metrics,
                       seed=self.request.seed, programs=programs)  # fmt: skip

    def measure(self) -> None:
        """Captures what no experiment has captured yet; no round is warmed up, and none is timed."""
        store = self.request.store or _store_of_this_process()
        store.prepare()
        with temporary_folder() as folder, logged(store, self.journal, resume=True) as log:
            runner = self.spec.runner(folder, (PLACE / "inputs").resolve())
            self.outcomes = self.run_cells(runner, log, self.cells)

    @cached_property
    def results(self) -> PublishedTable:
        bases = {
            (one.cell.parameters, one.round): one.values
            for one in self.outcomes
            if one.status == "ok" and one.cell.contender.name == self.spec.baseline
        }
        outcomes = [
            each for one in self.outcomes for each in self._unfolded(one, bases.get((one.cell.parameters, one.round)))
        ]
        return PublishedTable(self.spec, list(dict.fromkeys(each.cell for each in outcomes)), outcomes)

    def _unfolded(self, outcome: Outcome, base: Values | None) -> list[Outcome]:
        """The outcomes of a capture's points; one that failed is the same at no point in particular."""
        if outcome.status != "ok":
            return [outcome]
        return [
            replace(outcome, cell=replace(outcome.cell, parameters=(*outcome.cell.parameters, *more)), values=dict(own))
            for more, own in self.spec.unfold(outcome.values, base)
        ]

    def forecast(self) -> dict[str, Any]:
        """Captures are made on all processors at once. Those that an experiment before this one makes in the same run
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


@cache
def _store_of_this_process() -> Store:
    stack = ExitStack()
    atexit.register(stack.close)
    return Store(Path(stack.enter_context(temporary_folder())) / "captures")
