# SPDX-License-Identifier: BSL-1.0
"""`millpond replay TRACE`: a recorded program's heap events on real allocators, against the recorded one."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import REPLAY_METRICS
from millpond.cells.plans import read_all
from millpond.commands.options import (
    BudgetOption,
    CellsOption,
    DryRunOption,
    Json,
    ListOption,
    RoundsOption,
    SeedOption,
    ShardOption,
    StoreOption,
)
from millpond.doctor.replay_error import NOT_VALIDATED, ReplayError, replay_error, widen
from millpond.rounds.grids import GridOptions, forecast, listing, notes_on_rounds, select, show
from millpond.rounds.interleaved_rounds import Shard, Work, by_round, measured_rounds, run_rounds
from millpond.rounds.mallocs import find_mallocs
from millpond.rounds.replay_rounds import (
    EXPERIMENT,
    NULL,
    ORDERS,
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
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.statistics.order_statistics import Comparison, summarise
from millpond.store.observations import Journal
from millpond.store.round_log import RoundLog, logged, subject_of
from millpond.store.store import Store
from millpond.system import machine, native, output
from millpond.system.errors import Failure, Status
from millpond.system.input_file import require_regular, why_unreadable
from millpond.system.progress import ProgressReport
from millpond.system.temporary import temporary_folder
from millpond.system.wording import plural

SCHEMA = "millpond.replay/1"
# A round that takes longer counts as hung.
_PATIENCE_SECONDS, _SLOWEST_SECONDS_AN_EVENT = 60.0, 10e-6


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace that `millpond record` has written.")],
    plan: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A plan; may be repeated.")] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"For every subsystem by itself: {', '.join(STRATEGIES)}; may be repeated."),
    ] = None,
    malloc: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A malloc library, or jemalloc, mimalloc, tcmalloc; may be repeated."),
    ] = None,
    order: Annotated[
        str, typer.Option(metavar="total|dependency", help="One thread for all, or each thread by itself.")
    ] = ORDERS[0],
    pace: Annotated[
        bool, typer.Option("--pace", help="Play events at their times in the trace: as long as the program ran.")
    ] = False,
    diffusion: Annotated[
        int, typer.Option(metavar="N", min=0, max=1000, help="Survey the pages of live objects N times, too.")
    ] = 0,
    budget: BudgetOption = None,
    rounds: RoundsOption = VERDICT_ROUNDS,
    json: Json = None,
    store: StoreOption = None,
    seed: SeedOption = 1,
    list_only: ListOption = False,
    dry_run: DryRunOption = False,
    cells: CellsOption = None,
    shard: ShardOption = None,
) -> None:
    """Play a trace's heap events on real allocators and compare them with the recorded one."""
    deadline = time.monotonic() + budget if budget is not None else float("inf")
    if pace and order != ORDERS[0]:
        raise Failure(Status.USAGE, "--pace is for the total order: there is one clock")
    if order not in ORDERS:
        raise Failure(Status.USAGE, f"--order {order!r} is not one of {', '.join(ORDERS)}")
    grid = GridOptions.given(list_only, dry_run, cells, shard)
    grid.require_store(store)
    contenders = _contenders(trace, plan or [], strategy or [], malloc or [], order, pace)
    if grid.filters:
        chosen = select(contenders, grid.filters)
        contenders = [c for c in contenders if c in chosen or c.contender in (RECORDED, NULL)]
    output.prove_writable(json)
    with temporary_folder() as folder:
        replay = ReplayRun(trace, contenders, folder, rounds, deadline, seed, Store(store) if store else None)
        if grid.list_only or grid.dry_run:
            show(listing(EXPERIMENT, contenders) if grid.list_only else replay.forecast(grid.shard), json)
            return
        result = replay.run(grid.shard, diffusion)
    if json is not None:
        output.write_json(result, json)
    if json != "-":
        from millpond.report import replay_table, terminal

        replay_table.print_replay(result, terminal.console(sys.stdout))


def _contenders(
    trace: Path, plans: list[Path], strategies: list[str], mallocs: list[str], order: str, paced: bool
) -> list[Cell]:
    """What the user names; without a name, every strategy and every malloc library that is here."""
    for name in strategies:
        if name not in STRATEGIES:
            raise Failure(Status.USAGE, f"unknown strategy {name!r}; the strategies are {', '.join(STRATEGIES)}")
    try:
        require_regular(trace)
    except FileNotFoundError as error:
        advice = f"`millpond record -o {trace} -- PROGRAM` writes one"
        raise Failure(Status.INPUT, f"there is no trace {trace}; {advice}") from error
    except OSError as error:
        raise Failure(Status.INPUT, f"cannot read the trace {trace}: {why_unreadable(error)}") from error
    here = {m.name: m.path for m in find_mallocs()[0] if m.path is not None}
    libraries = [_library(name, here) for name in mallocs]
    if not (plans or strategies or mallocs):
        strategies, libraries = list(STRATEGIES), list(here.values())
    return replay_cells(
        trace.absolute(), plans=read_all(plans), strategies=strategies, mallocs=libraries,
        order=order, paced=paced,
    )  # fmt: skip


def _library(name: str, here: dict[str, Path]) -> Path:
    if name in here:
        return here[name]
    path = Path(name).absolute()
    if not path.is_file():
        known = f"; of those known by name there are {', '.join(here)}" if here else ""
        raise Failure(Status.INPUT, f"there is no malloc library {name}{known}")
    return path


class ReplayRun:
    """One trace on its contenders: what was asked for, and the runner of its rounds."""

    def __init__(
        self, trace: Path, cells: list[Cell], folder: Path, rounds: int, deadline: float, seed: int, store: Store | None
    ) -> None:
        self._trace = trace
        self._cells = cells
        self._rounds = rounds
        self._deadline = deadline
        self._seed = seed
        self._store = store
        self._runner = ReplayRunner(folder, seed)

    def _journal(self) -> Journal:
        subject = subject_of((str(self._trace.absolute()),), [native.find(REPLAY), self._trace])
        return Journal(EXPERIMENT, (str(self._trace),), metrics=REPLAY_METRICS, seed=self._seed, subject=subject)

    def forecast(self, shard: Shard) -> dict[str, Any]:
        """What is left to run and how long it takes, from one round on the recorded malloc. Keeps nothing."""
        recorded = self._cells[0]
        self._runner.prepare(recorded)
        started = time.monotonic()
        self._runner.run(recorded, STAGE, 0)
        seconds = time.monotonic() - started
        log = RoundLog(self._store, self._journal(), resume=True) if self._store else None
        work = Work.of(self._cells, stage=STAGE, rounds=self._rounds, shard=shard, memory=log)
        return forecast(EXPERIMENT, work, warm_up=True, bare_seconds=seconds, source="one round on the recorded malloc")

    def run(self, shard: Shard, diffusion: int) -> dict[str, Any]:
        """All rounds; the result ("millpond.replay/1"), which the store keeps, too."""
        if self._store is not None:
            self._store.prepare()
        summaries = [self._runner.prepare(cell) for cell in self._cells]  # a wrong plan fails here, before any round
        self._runner.limit_seconds = _PATIENCE_SECONDS + _SLOWEST_SECONDS_AN_EVENT * float(summaries[0]["events"])
        if PACED in self._cells[0].parameters:
            self._runner.limit_seconds += 2 * float(summaries[0].get("span_seconds") or 0.0)
        journal = self._journal()
        with logged(self._store, journal, resume=True) if self._store else nullcontext() as log:
            outcomes = run_rounds(
                self._cells, self._runner, ProgressReport(), stage=STAGE, rounds=self._rounds, deadline=self._deadline,
                seed=self._seed, memory=log, shard=shard,
            )  # fmt: skip
        result = self._document(summaries[0], outcomes, self._notes(outcomes, summaries, shard))
        if diffusion:
            result["diffusion"] = {
                c.name: self._runner.diffusion(c, diffusion) for c in self._cells if c.contender != NULL
            }
        if self._store is not None:
            self._store.write_document(EXPERIMENT, journal.run, result)
        return result

    def _notes(self, outcomes: list[Outcome], summaries: list[dict[str, Any]], shard: Shard) -> list[str]:
        notes = notes_on_rounds(measured_rounds(outcomes), self._rounds, shard)
        notes += _about_trace(summaries[0])
        notes += [
            f"{c.plan.name} asks for huge pages: a replay leaves that to the system's own policy"
            for c in self._cells
            if c.plan and any(r.huge_pages for r in c.plan.routes)
        ]
        return notes + sorted({f"{o.cell.name} {o.why}" for o in outcomes if o.status != "ok"})

    def _document(self, summary: dict[str, Any], outcomes: list[Outcome], notes: list[str]) -> dict[str, Any]:
        subtracted = subtract_null(outcomes)
        compared = against_recorded(subtracted, self._cells)
        error = replay_error(self._store) if self._store else NOT_VALIDATED
        recorded, null = self._cells[0], self._cells[1]
        peaks = list(by_round(subtracted, recorded, "peak_bytes").values())
        whole = {
            "cpu_seconds": float(summary.get("cpu_seconds") or 0.0),
            "peak_bytes": summarise(peaks).median if peaks else 0.0,
        }
        contenders = []
        for cell in self._cells:
            if cell == null:
                continue
            versus = {m: c for (of, m), c in compared.items() if of == cell}
            contenders.append(
                {
                    "name": cell.name,
                    "variant": "plan" if cell.plan else cell.contender.name,
                    "plan": cell.plan.to_json() if cell.plan else None,
                    "metrics": _metrics(subtracted, cell),
                    "against_recorded": {m: _widened(c, error, whole) for m, c in versus.items()},
                }
            )
        return {
            "schema": SCHEMA,
            "trace": {"path": str(self._trace), **{k: v for k, v in summary.items() if k not in _NOT_OF_TRACE}},
            "machine": str(machine.this_machine()),
            "order": dict(recorded.parameters)["order"],
            "paced": PACED in recorded.parameters,
            "assumes": TOUCH,
            "rounds": measured_rounds(outcomes),
            "contenders": contenders,
            "loop": _metrics(outcomes, null),
            "error": error.to_json(),
            "notes": notes,
        }


_NOT_OF_TRACE = ("schema", "trace", "pools", "records", "slots")


def _about_trace(summary: dict[str, Any]) -> list[str]:
    found = []
    if summary.get("lost"):
        found.append(f"{plural(int(summary['lost']), 'event')} of the trace are lost: what they did is not replayed")
    if summary.get("unmatched"):
        found.append(f"{plural(int(summary['unmatched']), 'free')} of objects from before the trace are not replayed")
    damages = summary.get("damages") or []
    if damages:
        found.append(f"the trace is damaged in {plural(len(damages), 'place')}, the first at {damages[0]['offset']}")
    return found


def _metrics(outcomes: Sequence[Outcome], cell: Cell) -> dict[str, Any]:
    units = REPLAY_METRICS.units
    values = {m: list(by_round(outcomes, cell, m).values()) for m in units}
    return {m: {**summarise(v).to_json(), "unit": units[m]} for m, v in values.items() if v}


def _widened(comparison: Comparison, error: ReplayError, whole: dict[str, float]) -> dict[str, Any]:
    """A comparison, and what it saves with the error of replay in its interval, where what is whole is known."""
    metric = comparison.metric
    size = whole.get(metric, 0.0)
    widened = widen(comparison.saved, error.of(metric) * size).to_json() if size > 0.0 else None
    return {**comparison.to_json(), "saved_widened": widened}
