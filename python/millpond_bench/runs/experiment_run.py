# SPDX-License-Identifier: BSL-1.0
"""One run of one experiment of any kind: its cells, its rounds, and their results.

    require ──▶ measure: rounds, interleaved, a fresh process each ──▶ bars, claims, summary, notes ──▶ document, page

A part of the rounds (`--shard`) is not judged: this needs all parts together.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.cluster.cluster import Cluster
from millpond.cluster.cluster_rounds import run_on_cluster
from millpond.cluster.dispatch import OVERHEAD_SECONDS, Dispatch, simulated_seconds
from millpond.cluster.workplace import RunnerRecipe
from millpond.rounds.grids import forecast, notes_on_rounds
from millpond.rounds.interleaved_rounds import WHOLE, RoundsRequest, Runner, Shard, Work, measured_rounds, run_rounds
from millpond.store.observations import Journal, Programs
from millpond.store.round_log import RoundLog, logged_anyway, subject_of
from millpond.store.store import Store
from millpond.system.clock import utc_now
from millpond.system.machine import this_machine
from millpond.system.machine_facts import memory_limit
from millpond.system.progress import ProgressReport
from millpond.system.wording import plural
from millpond_bench.claims.claims import Verdict
from millpond_bench.claims.verdicts import FEWEST_ROUNDS
from millpond_bench.experiments.bench_document import (
    ExperimentRecord,
    ObservationRow,
    Peer,
    SummaryRow,
)
from millpond_bench.experiments.experiment import ExperimentSpec, at_scale
from millpond_bench.experiments.result_table import ResultRow
from millpond_bench.experiments.run_rules import Needs
from millpond_bench.experiments.suite_rounds import Launch, SuiteProgram, SuiteRunner
from millpond_bench.experiments.window_counters import UNCOUNTED, CounterRequest
from millpond_bench.programs.checksums import without_other_work
from millpond_bench.programs.counted_rounds import run_counted
from millpond_bench.runs.suite_recipe import SuiteRecipe

STAGE = "bench"
PLACE = Path("results/bench")
# The share of the memory that the system and this process may use themselves.
_SHARE_OF_MEMORY = 0.85


def memory_bytes() -> int:
    """The memory that this machine, or its container, can give to a process."""
    whole = this_machine().memory_bytes
    return int(_SHARE_OF_MEMORY * min(whole, memory_limit() or whole))


@dataclass(frozen=True)
class RunRequest:
    """The user's request for a run, the same for all experiments. `rounds`: replaces the scale's own number.

    `room_bytes`: the memory that a process may have. `named`: toolchains and mallocs that the user named: if one of
    them is missing, nothing is measured. `cluster`: runs the rounds; this machine does without one. `workers`:
    their number in a forecast. `mallocs`: the user's own libraries.
    """

    scale: str
    rounds: int | None
    seed: int
    shard: Shard
    store: Store | None
    room_bytes: int
    counting: CounterRequest = UNCOUNTED
    named: frozenset[str] = frozenset()
    cluster: Cluster | None = None
    workers: int | None = None
    mallocs: tuple[Malloc, ...] = ()

    def rounds_of(self, spec: ExperimentSpec) -> int:
        return self.rounds or at_scale(spec.rounds, self.scale)


class ExperimentRun(ABC):
    """One experiment with its chosen cells. `needs`: the cost of a process of a cell, if known.

    `refused`: cells that are not run, and why. `source`: the origin of `needs`.
    """

    journal: Journal
    source = "measurements on the reference machine"
    # True if rounds of different cells are compared. False for counts, which are made on all processors at once.
    paired = True

    def __init__(self, spec: ExperimentSpec, cells: Sequence[Cell], request: RunRequest) -> None:
        self.spec = spec
        self.cells = list(cells)
        self.request = request
        self.outcomes: list[Outcome] = []
        self.needs: dict[Cell, Needs] = {}
        self.refused: dict[Cell, str] = {}
        self.began = utc_now()

    @abstractmethod
    def require(self) -> None:
        """Failure (status 4) for a missing part, before anything is measured."""

    @abstractmethod
    def measure(self) -> None:
        """Effects: all rounds, into `outcomes`. With a store, rounds of an earlier run are not run again."""

    @abstractmethod
    def print_results(self) -> None:
        """Prints tables on standard output."""

    def rounds_of(self, cell: Cell) -> int:
        """The number of measured rounds of a cell."""
        return self.request.rounds_of(self.spec)

    @property
    def fewest_rounds(self) -> int:
        """The number of rounds that verdicts should rest on."""
        return self.spec.fewest_rounds

    def passes(self, cells: Sequence[Cell]) -> list[tuple[int, list[Cell]]]:
        """The cells by their number of rounds, the highest first."""
        found: dict[int, list[Cell]] = {}
        for cell in cells:
            found.setdefault(self.rounds_of(cell), []).append(cell)
        return sorted(found.items(), reverse=True)

    def run_cells(
        self, runner: Runner, recipe: RunnerRecipe | None, log: RoundLog, cells: Sequence[Cell]
    ) -> list[Outcome]:
        """The rounds of these cells, in one run for each number of rounds: on the cluster if there is one and a recipe,
        otherwise by `runner`.
        """
        wanted = RoundsRequest(stage=STAGE, rounds=0, seed=self.request.seed, warm_up=False, shard=self.request.shard)
        outcomes: list[Outcome] = []
        for rounds, own in self.passes(cells):
            request, progress = replace(wanted, rounds=rounds), _NamedProgress(self.spec.name)
            if self.request.cluster is not None and recipe is not None:
                outcomes += run_on_cluster(
                    self.request.cluster, own, recipe, progress, request, is_measured=self.paired, memory=log,
                    seconds_of=self._expected_seconds,
                )  # fmt: skip
            else:
                run = run_rounds if self.paired else run_counted
                outcomes += run(own, runner, progress, request, memory=log)
        return outcomes

    def _expected_seconds(self, cell: Cell) -> float:
        return 0.0 if cell in self.refused or cell not in self.needs else self.needs[cell].seconds

    def earlier_rounds(self) -> RoundLog | None:
        """The store's log of earlier rounds."""
        return RoundLog(self.request.store, self.journal, resume=True) if self.request.store else None

    def forecast(self) -> dict[str, Any]:
        """The runs left, their duration, the memory that they need, and the cells that are refused. Writes nothing."""
        log = self.earlier_rounds()
        seconds = {cell: 0.0 if cell in self.refused else need.seconds for cell, need in self.needs.items()}
        found = []
        for rounds, cells in self.passes(self.cells) or [(0, [])]:
            work = Work.of(cells, stage=STAGE, rounds=rounds, shard=self.request.shard, memory=log, paired=self.paired)
            found.append(forecast(self.spec.name, work, warm_up=False, source=self.source,
                                  seconds_of=seconds.__getitem__))  # fmt: skip
        rows = [row for grid in found for row in grid["cells"]]
        by_name = {cell.name: cell for cell in self.cells}
        for row in rows:
            cell = by_name[row["name"]]
            row |= {"seconds": seconds[cell], "refused": self.refused.get(cell)}
            if self.needs[cell].bytes:
                row["bytes"] = self.needs[cell].bytes
            row["runs"] = 0 if cell in self.refused else row["runs"]
        most = max((need.bytes for cell, need in self.needs.items() if cell not in self.refused), default=0)
        summed = {key: sum(grid[key] for grid in found) for key in ("stored_runs", "estimated_seconds")}
        if self.request.workers:
            summed |= {"workers": self.request.workers, "cluster_seconds": self._cluster_seconds(log, seconds)}
        return {**found[0], "cells": rows, **summed, "runs": sum(row["runs"] for row in rows),
                **({"bytes": most} if most else {})}  # fmt: skip

    def _cluster_seconds(self, log: RoundLog | None, seconds: Mapping[Cell, float]) -> float:
        """The time of all rounds on that many workers, simulated with the rule by which a cluster gets them."""
        total = 0.0
        for rounds, cells in self.passes(self.cells):
            work = Work.of(cells, stage=STAGE, rounds=rounds, shard=self.request.shard, memory=log, paired=self.paired)
            dispatch = Dispatch(work, range(1, rounds + 1), self.request.seed, seconds.__getitem__)
            total += simulated_seconds(dispatch, self.request.workers or 1, seconds.__getitem__, OVERHEAD_SECONDS)
        return total

    @property
    def bars(self) -> list[Verdict]:
        return []

    @property
    def claims(self) -> list[Verdict]:
        return []

    @property
    def figures_only(self) -> str:
        """A sentence for a run that shows figures without verdicts, with the command that gives verdicts; else empty.

        This is every run of quick scale, and one with too few rounds for any verdict.
        """
        rounds, scale = self.request.rounds_of(self.spec), self.request.scale
        if not self.claims or (scale != "quick" and rounds >= FEWEST_ROUNDS):
            return ""
        if scale == "quick":
            command = f"millpond-bench run {self.spec.name} --scale standard"
            return f"Quick scale shows figures, without verdicts. `{command}` gives verdicts."
        if any(claim.holds is not None for claim in self.claims):
            return ""
        return (
            f"{plural(rounds, 'round').capitalize()} show figures, without verdicts. `millpond-bench run "
            f"{self.spec.name} --scale {scale} --rounds {FEWEST_ROUNDS}` gives verdicts."
        )

    @property
    def rows(self) -> list[ResultRow]:
        """Comparisons at points."""
        return []

    @property
    def holds(self) -> bool:
        """True if no bar was missed."""
        return self.request.shard != WHOLE or all(bar.holds is not False for bar in self.bars)

    @property
    def programs(self) -> list[SuiteProgram]:
        """The programs that run the cells."""
        return []

    @property
    def peers(self) -> list[Peer]:
        """The contenders that ours are compared with, for the document."""
        return []

    @property
    def notes(self) -> list[str]:
        """Caveats for a reader of the figures."""
        ran = measured_rounds(self.outcomes)
        failed: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            if outcome.status != "ok":
                failed.setdefault(outcome.why or outcome.status, []).append(outcome.cell.name)
        unique = {why: list(dict.fromkeys(names)) for why, names in failed.items()}
        return [
            *self.spec.notes,
            *(self.request.cluster.notes if self.request.cluster else ()),
            *notes_on_rounds(ran, ran, self.request.shard, self.fewest_rounds),
            *(f"{names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {w}" for w, names in unique.items()),
        ]

    def summary(self) -> Sequence[SummaryRow]:
        """The rows of the document."""
        return [row.record() for row in self.rows]

    def parameters(self) -> Collection[str]:
        """Names of the cells' own parameters."""
        return {key for cell in self.cells for key, _ in cell.parameters}

    def observations(self) -> list[ObservationRow]:
        """Every value behind the figures: of this run, and of the earlier runs whose rounds it reused."""
        found = self.journal.rows_with_recalled(self.outcomes, self.began, self.parameters())
        return [ObservationRow.from_json(row) for row in found]

    def show(self) -> None:
        """Prints tables, bars and notes on standard output."""
        from millpond.report.terminal import console, print_warnings

        self.print_results()
        if self.bars:
            from millpond_bench.tables.terminal_table import print_bars

            print_bars(self.bars, f"{self.spec.name}, bars")
        print_warnings(self.notes, console(sys.stdout))

    def record(self) -> ExperimentRecord:
        """The record of the experiment for the document."""
        spec, programs = self.spec, tuple(program.record() for program in self.programs)
        return ExperimentRecord(
            name=spec.name, title=spec.title, section=spec.section, measured=spec.measured, run=self.journal.run,
            rounds=measured_rounds(self.outcomes), suite=programs[0] if programs else None, programs=programs,
        )  # fmt: skip


class SuiteRun(ExperimentRun):
    """One experiment whose cells are rounds of a suite's program."""

    @abstractmethod
    def launch(self, cell: Cell) -> Launch:
        """The program's start for a cell."""

    @abstractmethod
    def built_by(self, cell: Cell) -> str | None:
        """The compiler and standard library of the program that runs a cell, from its own output."""

    @cached_property
    def journal(self) -> Journal:  # type: ignore[override]
        spec, identity = self.spec, cache(lambda around: around.identity(spec.suite))
        return Journal(
            spec.name, ("millpond", "bench", spec.name), metrics=spec.metrics, seed=self.request.seed,
            subject=subject_of([spec.suite, *self.request.counting.subject]),
            programs=Programs(self.built_by, lambda cell: identity(self.launch(cell).around)),
            machine=self.request.cluster.machine if self.request.cluster else None,
        )  # fmt: skip

    def measure(self) -> None:
        request, seconds = self.request, {cell: need.seconds for cell, need in self.needs.items()}
        runner = SuiteRunner(self.spec.suite, self.spec.metrics, request.seed, self.refused, seconds,
                             request.room_bytes, counting=request.counting, launch=self.launch)  # fmt: skip
        recipe = SuiteRecipe(self.spec.suite, self.spec.metrics, request.seed, self.refused, seconds,
                             request.room_bytes, request.counting,
                             {cell: self.launch(cell) for cell in self.cells})  # fmt: skip
        with logged_anyway(request.store, self.journal) as log:
            outcomes = self.run_cells(runner, recipe, log, self.cells)
            outcomes += self.more_rounds(runner, outcomes, log)
        self.outcomes = without_other_work(outcomes)

    def more_rounds(self, runner: SuiteRunner, outcomes: Sequence[Outcome], log: RoundLog) -> list[Outcome]:
        """Runs rounds of another kind, after those of all cells."""
        return []


class _NamedProgress(ProgressReport):
    """Progress under the experiment's name rather than the stage's."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def begin(self, what: str, total: int) -> None:
        super().begin(f"{self._name} {what}", total)
