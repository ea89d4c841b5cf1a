# SPDX-License-Identifier: BSL-1.0
"""A run of steps that measure whole programs of ours: each step makes bars, and keeps their rounds.

A bar that could not be measured is missed and has the reason: the others still count. Steps are not resumed: each run
measures all of its own, and the store keeps those of earlier runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from millpond.cells.cell import Cell, Control, Program, Workload
from millpond.rounds.interleaved_rounds import WHOLE
from millpond.store.observations import Journal
from millpond.store.round_log import logged
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.system.temporary import temporary_folder
from millpond_bench.claims.claims import Verdict, missing_bar
from millpond_bench.experiments.bench_document import StepRow, SummaryRow
from millpond_bench.experiments.experiment import ExperimentSpec
from millpond_bench.experiments.given_libraries import confirm_malloc
from millpond_bench.experiments.run_rules import Needs
from millpond_bench.laboratory.bench_rows import Bench, Step
from millpond_bench.runs.experiment_run import PLACE, ExperimentRun, RunRequest


@dataclass(frozen=True, eq=False, kw_only=True)
class StepsSpec(ExperimentSpec):
    """An experiment of steps. `steps`: by name; some need a program. `seconds`: about the time of each.

    `at_paper_scale`: steps that only the largest scale has. `malloc_suite`: the program that proves that a malloc of
    the user's is used; empty if the steps take none.
    """

    steps: Callable[[], Mapping[str, Step]]
    seconds: float
    at_paper_scale: tuple[str, ...] = ()
    malloc_suite: str = ""

    def cells(self, scale: str) -> list[Cell]:
        """One cell for each step."""
        names = [name for name in self.steps() if scale == "paper" or name not in self.at_paper_scale]
        return [Cell(Program(("millpond", "bench", self.name)), Control(name)) for name in names]


class StepsRun(ExperimentRun):
    """One experiment of steps with its chosen steps."""

    spec: StepsSpec

    def __init__(self, spec: StepsSpec, cells: Sequence[Cell], request: RunRequest) -> None:
        if request.shard != WHOLE:
            raise Failure(Status.USAGE, f"{spec.name} consists of steps; --shard works only for experiments of cells")
        super().__init__(spec, cells, request)
        self.needs = {cell: Needs(spec.seconds, 0) for cell in cells}
        self._bars: list[Verdict] = []

    @cached_property
    def journal(self) -> Journal:  # type: ignore[override]
        name = self.spec.name
        return Journal(name, ("millpond", "bench", name), metrics=self.spec.metrics, seed=self.request.seed)

    def require(self) -> None:
        """Failure (status 4) for a malloc of the user's on which programs do not run. A step whose program is missing
        becomes a bar with this reason.
        """
        for malloc in self.request.mallocs:
            confirm_malloc(malloc, self.spec.malloc_suite)

    def rounds_of(self, cell: Cell) -> int:
        """One: a step has its rounds inside."""
        return 1

    def earlier_rounds(self) -> None:
        return None

    def parameters(self) -> tuple[str, ...]:
        return ("row",)

    def measure(self) -> None:
        names = {cell.contender.name for cell in self.cells}
        steps = [(name, step) for name, step in self.spec.steps().items() if name in names]
        PLACE.mkdir(parents=True, exist_ok=True)
        with temporary_folder(PLACE) as folder:
            place = self.request.store or Store(folder / "store")
            place.prepare()
            quick = self.request.scale == "quick"
            rounds, inputs = self.request.rounds_of(self.spec), PLACE / "inputs"
            bench = Bench(folder, inputs, rounds, quick, self.request.seed, self.request.mallocs)
            with logged(place, self.journal) as log:
                for bar in measure(steps, bench):
                    self._bars.append(bar)
                    for outcome in bar.outcomes:
                        cell = replace(outcome.cell, subject=Workload(bar.workload), parameters=(("row", bar.name),))
                        self.outcomes.append(replace(outcome, cell=cell))
                        log.keep(self.outcomes[-1])

    @property
    def bars(self) -> list[Verdict]:
        return self._bars

    def summary(self) -> list[SummaryRow]:
        return [
            StepRow(workload=bar.workload, comparison=bar.name, **(bar.ours.to_json() if bar.ours else {}))
            for bar in self._bars
        ]

    def print_results(self) -> None:
        """Prints nothing: there are only bars."""


def measure(steps: Sequence[tuple[str, Step]], bench: Bench) -> Iterator[Verdict]:
    """The bars of all steps, as they are made. A step that fails becomes a bar with the reason."""
    for number, (name, step) in enumerate(steps, 1):
        started = time.monotonic()
        try:
            found = step(bench)
        except Failure as failure:
            found = [missing_bar(name, failure.message)]
        say(f"{number} of {len(steps)}, {time.monotonic() - started:.0f} s: " + "; ".join(bar.short() for bar in found))
        yield from found
