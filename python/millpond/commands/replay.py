# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trace replay TRACE`: replays a program's heap events on real allocators."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.cells.metrics import REPLAY_METRICS
from millpond.cells.plans import read_all
from millpond.cluster.cluster import Cluster, ClusterChoice, opened
from millpond.cluster.cluster_rounds import run_on_cluster
from millpond.cluster.replay_recipe import ReplayRecipe
from millpond.commands.writing import prove_all, show_grid, write_documents
from millpond.doctor.replay_error import NOT_VALIDATED, ReplayError, replay_error, widen
from millpond.rounds.grids import GridOptions, forecast, notes_on_rounds, select
from millpond.rounds.interleaved_rounds import (
    RoundsRequest,
    Shard,
    Work,
    by_round,
    measured_rounds,
    metric_summaries,
    run_rounds,
)
from millpond.rounds.mallocs import find_mallocs
from millpond.rounds.replay_data import ReplayContender, ReplayedTrace, ReplayResult, WidenedComparison
from millpond.rounds.replay_rounds import (
    EXPERIMENT,
    NULL,
    PACED,
    RECORDED,
    REPLAY,
    STAGE,
    STRATEGIES,
    TOUCH,
    ReplayRunner,
    against_recorded,
    replay_cells,
    subtract_null,
)
from millpond.statistics.order_statistics import Comparison, summarise
from millpond.store.observations import Journal
from millpond.store.round_log import RoundLog, logged, subject_of
from millpond.store.store import Store
from millpond.system import machine, native
from millpond.system.errors import Failure, Status
from millpond.system.input_file import require_regular, why_unreadable
from millpond.system.progress import ProgressReport
from millpond.system.temporary import temporary_folder
from millpond.system.wording import plural
from millpond.verbs.trace_requests import ReplayRequest
from millpond.verbs.values import takes_stdout

# A longer round counts as hung.
_PATIENCE_SECONDS, _SLOWEST_SECONDS_AN_EVENT = 60.0, 10e-6


def replay(request: ReplayRequest) -> None:
    """Replays a trace's heap events on real allocators and compares them with the recorded one."""
    deadline = time.monotonic() + request.budget if request.budget is not None else float("inf")
    grid = GridOptions.given(False, request.dry_run, request.cells, request.shard)
    grid.require_store(request.store)
    contenders = _contenders(request)
    if grid.filters:
        chosen = select(contenders, grid.filters)
        contenders = [c for c in contenders if c in chosen or c.contender in (RECORDED, NULL)]
    prove_all(request.out)
    with temporary_folder() as folder, opened(ClusterChoice(request.cluster, request.workers)) as cluster:
        accepted = ("--damaged",) if request.damaged else ()
        kept_in = Store(request.store) if request.store else None
        run = ReplayRun(
            request.trace, contenders, folder, request.rounds, deadline, request.seed, kept_in, accepted, cluster
        )
        if grid.dry_run:
            show_grid(run.forecast(grid.shard), request.out)
            return
        result = run.run(grid.shard, request.diffusion)
    write_documents(request.out, result.to_json())
    if not takes_stdout(request.out):
        from millpond.report import terminal
        from millpond.report.views.replay_view import result_section

        terminal.print_section(result_section(result), terminal.console())


def _contenders(request: ReplayRequest) -> list[Cell]:
    """Returns the contenders that the user names; by default every strategy and every malloc library of this
    machine.
    """
    strategies = list(request.strategy)
    trace = request.trace
    for name in strategies:
        if name not in STRATEGIES:
            raise Failure(Status.USAGE, f"unknown strategy {name!r}; the strategies are {', '.join(STRATEGIES)}")
    try:
        require_regular(trace)
    except FileNotFoundError as error:
        advice = f"`millpond trace record -o {trace} PROGRAM` writes one"
        raise Failure(Status.INPUT, f"there is no trace {trace}; {advice}") from error
    except OSError as error:
        raise Failure(Status.INPUT, f"cannot read the trace {trace}: {why_unreadable(error)}") from error
    here = {m.name: m.path for m in find_mallocs()[0] if m.path is not None}
    libraries = [_library(name, here) for name in request.malloc]
    if not (request.plan or strategies or request.malloc):
        strategies, libraries = list(STRATEGIES), list(here.values())
    return replay_cells(
        trace.absolute(), plans=read_all(list(request.plan)), strategies=strategies, mallocs=libraries,
        order="dependency" if request.order == "dependency" else "total", paced=request.order == "paced",
    )  # fmt: skip


def _library(name: str, here: dict[str, Path]) -> Path:
    if name in here:
        return here[name]
    path = Path(name).absolute()
    if not path.is_file():
        known = f"; this machine has {', '.join(here)}" if here else ""
        raise Failure(Status.INPUT, f"there is no malloc library {name}{known}")
    return path


@dataclass
class ReplayRun:
    """A replay of one trace: its contenders and options, and the runner of its rounds."""

    trace: Path
    cells: list[Cell]
    folder: Path
    rounds: int
    deadline: float
    seed: int
    store: Store | None
    options: tuple[str, ...] = ()  # of the preparation
    cluster: Cluster | None = None

    def __post_init__(self) -> None:
        self._runner = ReplayRunner(self.folder, self.seed, options=self.options)

    def _journal(self) -> Journal:
        subject = subject_of((str(self.trace.absolute()),), [native.find(REPLAY), self.trace])
        return Journal(EXPERIMENT, (str(self.trace),), metrics=REPLAY_METRICS, seed=self.seed, subject=subject,
                       machine=self.cluster.machine if self.cluster else None)  # fmt: skip

    def forecast(self, shard: Shard) -> dict[str, Any]:
        """Forecasts the remaining rounds and their time, from one round on the recorded malloc. Stores nothing."""
        recorded = self.cells[0]
        self._runner.prepare(recorded)
        started = time.monotonic()
        self._runner.run(recorded, STAGE, 0)
        seconds = time.monotonic() - started
        log = RoundLog(self.store, self._journal(), resume=True) if self.store else None
        work = Work.of(self.cells, stage=STAGE, rounds=self.rounds, shard=shard, memory=log)
        return forecast(EXPERIMENT, work, warm_up=True, bare_seconds=seconds, source="one round on the recorded malloc")

    def run(self, shard: Shard, diffusion: int) -> ReplayResult:
        """Runs all rounds; returns the result and stores it."""
        if self.store is not None:
            self.store.prepare()
        summaries = [self._runner.prepare(cell) for cell in self.cells]  # a wrong plan fails here, before any round
        self._runner.limit_seconds = _PATIENCE_SECONDS + _SLOWEST_SECONDS_AN_EVENT * summaries[0].events
        if PACED in self.cells[0].parameters:
            self._runner.limit_seconds += 2 * summaries[0].span_seconds
        journal = self._journal()
        with logged(self.store, journal, resume=True) if self.store else nullcontext() as log:
            request = RoundsRequest(
                stage=STAGE, rounds=self.rounds, deadline=self.deadline, seed=self.seed, shard=shard
            )
            if self.cluster is not None:
                outcomes = run_on_cluster(
                    self.cluster, self.cells, self._recipe(), ProgressReport(), request, is_measured=True, memory=log
                )
            else:
                outcomes = run_rounds(self.cells, self._runner, ProgressReport(), request, memory=log)
        result = self._document(summaries[0], outcomes, self._notes(outcomes, summaries, shard))
        if diffusion:
            points = {c.name: self._runner.diffusion(c, diffusion) for c in self.cells if c.contender != NULL}
            result = replace(result, diffusion=points)
        if self.store is not None:
            self.store.write_document(EXPERIMENT, journal.run, result.to_json())
        return result

    def _recipe(self) -> ReplayRecipe:
        libraries = (cell.contender.path for cell in self.cells if isinstance(cell.contender, Malloc))
        files = (self.trace.absolute(), *filter(None, libraries))
        return ReplayRecipe(files, self.seed, self._runner.limit_seconds or _PATIENCE_SECONDS, self.options)

    def _notes(self, outcomes: list[Outcome], summaries: list[ReplayedTrace], shard: Shard) -> list[str]:
        notes = notes_on_rounds(measured_rounds(outcomes), self.rounds, shard)
        notes += [*(self.cluster.notes if self.cluster else ()), *_about_trace(summaries[0])]
        notes += [
            f"{c.plan.name} requests huge pages: a replay leaves that to the system's own policy"
            for c in self.cells
            if c.plan and any(r.huge_pages for r in c.plan.routes)
        ]
        return notes + sorted({f"{o.cell.name} {o.why}" for o in outcomes if o.status != "ok"})

    def _document(self, trace: ReplayedTrace, outcomes: list[Outcome], notes: list[str]) -> ReplayResult:
        subtracted = subtract_null(outcomes)
        compared = against_recorded(subtracted, self.cells)
        error = replay_error(self.store) if self.store else NOT_VALIDATED
        recorded, null = self.cells[0], self.cells[1]
        peaks = list(by_round(subtracted, recorded, "peak_bytes").values())
        whole = {"cpu_seconds": trace.cpu_seconds, "peak_bytes": summarise(peaks).median if peaks else 0.0}
        units = REPLAY_METRICS.units
        return ReplayResult(
            trace=replace(trace, path=str(self.trace)),
            machine=str(self.cluster.machine if self.cluster else machine.this_machine()),
            order=dict(recorded.parameters)["order"],
            paced=PACED in recorded.parameters,
            assumes=TOUCH,
            rounds=measured_rounds(outcomes),
            contenders=tuple(
                ReplayContender(
                    cell.name,
                    "plan" if cell.plan else cell.contender.name,
                    cell.plan.file if cell.plan else None,
                    metric_summaries(subtracted, cell, units),
                    {m: _widened(c, error, whole) for (of, m), c in compared.items() if of == cell},
                )
                for cell in self.cells
                if cell != null
            ),
            loop=metric_summaries(outcomes, null, units),
            error=error.note,
            notes=tuple(notes),
        )


def _about_trace(trace: ReplayedTrace) -> list[str]:
    found = []
    if trace.lost:
        found.append(f"{plural(trace.lost, 'event')} of the trace are lost and not replayed")
    if trace.unmatched:
        found.append(f"{plural(trace.unmatched, 'free')} of objects from before the trace are not replayed")
    if trace.partial:
        found.append(f"partial: {trace.partial}")
    if trace.damages:
        places = plural(len(trace.damages), "place")
        found.append(f"the trace is damaged in {places}, the first at {trace.damages[0].offset}")
    return found


def _widened(comparison: Comparison, error: ReplayError, whole: dict[str, float]) -> WidenedComparison:
    """Returns the comparison with the error of replay added to the interval of its saving, if the whole is known."""
    size = whole.get(comparison.metric, 0.0)
    widened = widen(comparison.saved, error.of(comparison.metric) * size) if size > 0.0 else None
    return WidenedComparison(**asdict(comparison), saved_widened=widened)
