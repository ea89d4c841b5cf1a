# SPDX-License-Identifier: BSL-1.0
"""`millpond trial --plan FILE -- PROGRAM ARGS`: the unmodified program under a plan, against every control.

The first, bare run is the user's: its input and output are the program's own, and this verb exits as it does. The
rounds behind it run on the same input with their output dropped; their table goes to standard error.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond import machine, output
from millpond.arguments import CommandLine, program_of
from millpond.cells import METRICS, Cell, Outcome
from millpond.characterise import Json
from millpond.effects import control_cells, plan_cell, split
from millpond.errors import Failure, ProgramEnded, Status
from millpond.execution import by_round, measured_rounds, run_rounds
from millpond.laboratory import Laboratory, describe
from millpond.observations import Journal
from millpond.plans import Plan, read, with_rest
from millpond.progress import ProgressReport, say
from millpond.schedule import VERDICT_ROUNDS
from millpond.standard_input import StandardInput
from millpond.statistics import summarise
from millpond.store import Store
from millpond.wording import plural

SCHEMA = "millpond.trial/1"
_SLOWEST = 20.0
_PATIENCE_SECONDS = 60.0


def time_limit(bare_seconds: float) -> float:
    """How long one round may take before it counts as hung, in seconds."""
    return _PATIENCE_SECONDS + _SLOWEST * bare_seconds


def command(
    context: typer.Context,
    program: Annotated[list[str] | None, typer.Argument(metavar="-- PROGRAM ARGS...", show_default=False)] = None,
    plan: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A plan to try; may be repeated.")] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.0, help="At most this long, but one round at least.")
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", min=1, help="Measured rounds of each.")] = VERDICT_ROUNDS,
    json: Json = None,
    store: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the observations of all rounds here.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Decides the order of the rounds.")] = 1,
) -> None:
    """Run a program under a plan and under the controls, interleaved; exit as the program does."""
    line: CommandLine = context.obj
    argv = program_of("trial", line, program)
    if not plan:
        raise Failure(
            Status.USAGE, "no --plan is given; `millpond characterise --plan-out DIR TRACE` writes candidate plans"
        )
    plans = _distinct([read(path) for path in plan])
    output.prove_writable(json)
    if store is not None:
        Store(store).prepare()
    deadline = time.monotonic() + budget if budget is not None else float("inf")
    with tempfile.TemporaryDirectory(prefix="millpond-") as folder:
        result, ended = _trial(argv, plans, Path(folder), rounds, deadline, seed, store)
    if json is not None:
        output.write_json(result, json)
    from millpond import terminal

    if result["contenders"]:
        terminal.print_trial(result, terminal.console(sys.stderr))
    raise ProgramEnded(ended.exit_status, ended.signal)


def _distinct(plans: list[Plan]) -> list[Plan]:
    names = [p.name for p in plans]
    for name in names:
        if names.count(name) > 1:
            raise Failure(Status.USAGE, f"two plans are called {name!r}; give their files different names")
    return plans


def _trial(
    argv: tuple[str, ...], plans: list[Plan], folder: Path, rounds: int, deadline: float, seed: int, store: Path | None
) -> tuple[dict[str, Any], Outcome]:
    stdin = StandardInput(folder)
    laboratory = Laboratory(folder, argv, stdin, seed)
    laboratory.look_up(plans)  # a wrong plan fails here, before the user sees any output of the program
    started = time.monotonic()
    bare = laboratory.run_through(Cell(argv, "bare"))
    seconds = time.monotonic() - started
    if bare.signal:
        say(f"the program {describe(bare.exit_status, bare.signal)} by itself: there is nothing to compare")
        return _document(argv, bare, [], plans, [], seed, []), bare
    laboratory.expected = (bare.exit_status, 0)
    laboratory.limit_seconds = time_limit(seconds)
    cells = [*control_cells(argv), *(plan_cell(argv, p) for p in plans)]
    # Where time is short, the discarded round is the first thing to go: the bare run has warmed the machine.
    warm_up = deadline - time.monotonic() > 3 * len(cells) * seconds
    outcomes = run_rounds(
        cells, laboratory, ProgressReport(), stage="trial", rounds=rounds, deadline=deadline, seed=seed, warm_up=warm_up
    )
    ran = measured_rounds(outcomes)
    notes = [] if ran >= rounds else [f"the budget allowed {plural(ran, 'round')} of {rounds}"]
    if ran < VERDICT_ROUNDS:
        notes.append(f"{plural(ran, 'round')}: fewer than the {VERDICT_ROUNDS} that a verdict should rest on")
    notes += [
        f"{p.name} leaves what it does not name with the program's own malloc: its placement counts that change too"
        for p in plans
        if p.routes and with_rest(p) != p
    ]
    notes += sorted({f"{o.cell.name} {o.why}" for o in outcomes if o.status != "ok"})
    if store is not None:
        journal = Journal("trial", argv)
        journal.add_outcomes(outcomes)
        Store(store).write(journal)
    return _document(argv, bare, cells, plans, outcomes, seed, notes), bare


def _document(
    argv: tuple[str, ...], bare: Outcome, cells: list[Cell], plans: list[Plan], outcomes: list[Outcome], seed: int,
    notes: list[str],
) -> dict[str, Any]:  # fmt: skip
    def metrics(cell: Cell) -> dict[str, Any]:
        values = {m: list(by_round(outcomes, cell, m).values()) for m in METRICS}
        return {m: {**summarise(v, seed=seed).to_json(), "unit": METRICS[m]} for m, v in values.items() if v}

    return {
        "schema": SCHEMA,
        "program": {"argv": list(argv), "exit": bare.exit_status, "signal": bare.signal},
        "machine": str(machine.this_machine()),
        "rounds": measured_rounds(outcomes),
        "contenders": [{"name": c.name, "variant": c.variant, "metrics": metrics(c)} for c in cells],
        "plans": [
            {
                "name": p.name,
                "plan": p.to_json(),
                "effects": {
                    name: {metric: c.to_json() for metric, c in found.items()}
                    for name, found in split(outcomes, argv, p, [], seed)[0].items()
                },
            }
            for p in (plans if cells else [])
        ],
        "notes": notes,
    }
