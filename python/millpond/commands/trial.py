# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trial --plan FILE -- PROGRAM ARGS`: runs the program under a plan and under every control.

The first, bare run is the user's: its input and output are the program's own, and this verb exits as it does. The later
rounds run on the same input with their output dropped; their table goes to standard error. With a store, rounds of an
earlier identical run are not repeated.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.advice.effects import control_cell, control_cells, plan_cell, split_all
from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import OF_A_PROCESS
from millpond.cells.plans import Plan, merged, read_all
from millpond.commands import options
from millpond.rounds.fresh_process import describe
from millpond.rounds.grids import GridOptions, forecast, listing, notes_on_rounds, select, show, stored_seconds
from millpond.rounds.interleaved_rounds import RoundsRequest, Shard, Work, measured_rounds, metric_summaries, run_rounds
from millpond.rounds.preparation import Preparation
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.rounds.trial_data import TrialContender, TrialPlan, TrialProgram, TrialResult
from millpond.rounds.trial_rounds import TRIAL, Laboratory, time_limit
from millpond.store.observations import Journal
from millpond.store.round_log import RoundLog, logged, subject_of
from millpond.store.store import Store
from millpond.system import machine, native, output
from millpond.system.arguments import CommandLine, program_of
from millpond.system.errors import Failure, ProgramExit, Status
from millpond.system.progress import ProgressReport, say
from millpond.system.standard_input import StandardInput
from millpond.system.temporary import temporary_folder
from millpond.system.wording import plural

STAGE = "trial"


def command(
    context: typer.Context,
    program: Annotated[list[str] | None, typer.Argument(metavar="-- PROGRAM ARGS...", show_default=False)] = None,
    plan: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A plan to try; may be repeated.")] = None,
    budget: options.BudgetOption = None,
    rounds: options.RoundsOption = VERDICT_ROUNDS,
    json: options.Json = None,
    store: options.StoreOption = None,
    seed: options.SeedOption = 1,
    list_only: options.ListOption = False,
    dry_run: options.DryRunOption = False,
    cells: options.CellsOption = None,
    shard: options.ShardOption = None,
    prepare: options.PrepareOption = None,
    cwd_copy: options.CopyOption = False,
) -> None:
    """Run a program under a plan and under the controls, interleaved; exit as the program does."""
    line: CommandLine = context.obj
    argv = program_of("trial", line, program)
    if not plan:
        raise Failure(
            Status.USAGE, "no --plan is given; `millpond characterise --plan-out DIR TRACE` writes candidate plans"
        )
    plans = read_all(plan)
    grid = GridOptions.given(list_only, dry_run, cells, shard)
    grid.require_store(store)
    with_controls = [p for plan in plans for p in (plan, merged(plan)) if p is not None]
    contenders = select([*control_cells(argv), *(plan_cell(argv, p) for p in with_controls)], grid.filters)
    output.prove_writable(json)
    deadline = time.monotonic() + budget if budget is not None else float("inf")
    with temporary_folder() as folder:
        preparation = Preparation(prepare, cwd_copy)
        kept = Store(store) if store else None
        trial = Trial(argv, plans, contenders, folder, rounds, deadline, seed, kept, preparation)
        if grid.list_only or grid.dry_run:
            show(listing("trial", contenders) if grid.list_only else trial.forecast(grid.shard), json)
            return
        result, ended = trial.run(grid.shard)
    output.write_json(result.to_json(), json)
    from millpond.report import terminal
    from millpond.report.views.run_view import trial_section

    if result.contenders:
        terminal.print_section(trial_section(result), terminal.console(sys.stderr))
    raise ProgramExit(ended.exit_status, ended.signal)


@dataclass
class Trial:
    """A trial of one program under its controls and plans: its options, and its laboratory."""

    argv: tuple[str, ...]
    plans: list[Plan]
    cells: list[Cell]
    folder: Path
    rounds: int
    deadline: float
    seed: int
    store: Store | None
    preparation: Preparation

    def __post_init__(self) -> None:
        self._stdin = StandardInput(self.folder)
        self._laboratory = Laboratory(self.folder, self.argv, self._stdin, self.seed, self.preparation)

    def _journal(self) -> Journal:
        """Returns the journal of a run that may continue an earlier identical one. The input must have been read."""
        tools = [native.find(TRIAL), native.libraries(TRIAL) / "libmillpond-trial.so"]
        subject = subject_of((*self.argv, *self.preparation.options()), tools, self._stdin.path)
        return Journal("trial", self.argv, seed=self.seed, subject=subject)

    def forecast(self, shard: Shard) -> dict[str, Any]:
        """Forecasts the remaining rounds and their time, from stored rounds or from one bare run. Writes nothing."""
        bare = control_cell(self.argv, "bare")
        found = stored_seconds(self.store, " ".join(self.argv))
        source = f"{plural(found[1], 'stored round')} of the bare program" if found else "one bare run"
        started = time.monotonic()
        if found is None or self._stdin.is_stream:
            self._laboratory.rehearse(bare)
        seconds = found[0] if found else time.monotonic() - started
        log = RoundLog(self.store, self._journal(), resume=True) if self.store else None
        work = Work.of(self.cells, stage=STAGE, rounds=self.rounds, shard=shard, memory=log)
        return forecast("trial", work, warm_up=True, bare_seconds=seconds, source=source)

    def run(self, shard: Shard) -> tuple[TrialResult, Outcome]:
        """Makes the user's own run, then the rounds; returns the result ("millpond.trial/1"), and the program's end."""
        laboratory = self._laboratory
        if self.store is not None:
            self.store.prepare()
        laboratory.look_up(self.plans)  # a wrong plan fails here, before the user sees any output of the program
        started = time.monotonic()
        bare = laboratory.run_through(control_cell(self.argv, "bare"))
        seconds = time.monotonic() - started
        if bare.signal:
            say(f"the program {describe(bare.exit_status, bare.signal)} without any plan: there is nothing to compare")
            return _document(self.argv, bare, [], self.plans, [], self.seed, []), bare
        laboratory.expected = (bare.exit_status, 0)
        laboratory.limit_seconds = time_limit(seconds)
        outcomes, earlier = self._run_rounds(shard, seconds)
        notes = self._notes(outcomes, shard, earlier)
        return _document(self.argv, bare, self.cells, self.plans, outcomes, self.seed, notes), bare

    def _run_rounds(self, shard: Shard, seconds: float) -> tuple[list[Outcome], int]:
        """Returns all outcomes, and the number of rounds from earlier runs among them."""
        # If time is short, the discarded round is dropped first: the bare run has warmed the machine.
        warm_up = self.deadline - time.monotonic() > 3 * len(self.cells) * seconds
        with logged(self.store, self._journal(), resume=True) if self.store else nullcontext() as log:
            outcomes = run_rounds(
                self.cells,
                self._laboratory,
                ProgressReport(),
                RoundsRequest(
                    stage=STAGE,
                    rounds=self.rounds,
                    deadline=self.deadline,
                    seed=self.seed,
                    warm_up=warm_up,
                    shard=shard,
                ),
                memory=log,
            )
            return outcomes, len({o.round for o in outcomes if o.round > 0} - log.rounds) if log else 0

    def _notes(self, outcomes: list[Outcome], shard: Shard, earlier: int) -> list[str]:
        notes = notes_on_rounds(measured_rounds(outcomes), self.rounds, shard)
        if earlier:
            notes.append(f"{plural(earlier, 'round')} of earlier runs in the store; another --seed measures again")
        notes += [f"left out of the store: {skipped}" for skipped in (self.store.skipped if self.store else [])]
        return notes + sorted({f"{o.cell.name} {o.why}" for o in outcomes if o.status != "ok"})


def _document(
    argv: tuple[str, ...], bare: Outcome, cells: list[Cell], plans: list[Plan], outcomes: list[Outcome], seed: int,
    notes: list[str],
) -> TrialResult:  # fmt: skip
    effects = split_all(outcomes, argv, plans) if cells else {}
    return TrialResult(
        program=TrialProgram(argv, bare.exit_status, bare.signal),
        machine=str(machine.this_machine()),
        rounds=measured_rounds(outcomes),
        seed=seed,
        contenders=tuple(
            TrialContender(c.name, "plan" if c.plan else c.contender.name, metric_summaries(outcomes, c, OF_A_PROCESS))
            for c in cells
        ),
        plans=tuple(TrialPlan(p.name, p.file, effects[p.name]) for p in (plans if cells else [])),
        notes=tuple(notes),
    )
