# SPDX-License-Identifier: BSL-1.0
"""`millpond advise -- PROGRAM ARGS`: the main job. The verb reads its options and lays out what was found."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from millpond.advice import code_writing
from millpond.advice.advice_data import Advice
from millpond.advice.advise_options import Options
from millpond.advice.advise_program import advise
from millpond.advice.findings import Preference
from millpond.advice.inputs import JudgedPlan, advise_on_inputs, judge_again
from millpond.cells.plans import Plan, of_file
from millpond.commands.options import CopyOption, Json, PrepareOption
from millpond.rounds import schedule
from millpond.rounds.preparation import Preparation
from millpond.store.store import DEFAULT, Store
from millpond.system import output
from millpond.system.arguments import CommandLine, bytes_of, program_of
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.new_folders import make_folder
from millpond.system.progress import say


def command(
    context: typer.Context,
    program: Annotated[list[str] | None, typer.Argument(metavar="-- PROGRAM ARGS...", show_default=False)] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="For everything together. Default: what the program needs for a verdict, ten minutes at most.",
        ),
    ] = None,
    process: Annotated[
        int | None, typer.Option(metavar="N", help="Analyse the N-th process, not the one that allocated most.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Where the observations are kept.")] = DEFAULT,
    json: Json = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the report as a page.")] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also write the advised change: a header, a note and a test, in a new folder."
        ),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Advise on several inputs: a line of arguments each, in the place of {}."),
    ] = None,
    goes_on: Annotated[
        bool,
        typer.Option(
            "--continue",
            help="Go on from the earlier advise of the same program in this store: more rounds, until it is decided.",
        ),
    ] = False,
    prefer: Annotated[
        Preference, typer.Option(help="What to advise for; balanced: 1 % of CPU weighs as much as 1 % of peak memory.")
    ] = Preference.BALANCED,
    seed: Annotated[int, typer.Option(metavar="N", help="Decides the order of the rounds.")] = 1,
    prepare: PrepareOption = None,
    cwd_copy: CopyOption = False,
    max_trace: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE", parser=bytes_of, help="Record no more than this. Default: a quarter of the free disk."
        ),
    ] = None,
    references: Annotated[
        bool,
        typer.Option(
            "--references",
            help="First also run it under Valgrind (ten times a run and more): where it misses, what to try first.",
        ),
    ] = False,
) -> None:
    """Say where a local allocator would pay in a program, and how much, or that none does."""
    line: CommandLine = context.obj
    argv = program_of("advise", line, program)
    output.prove_writable(json)
    output.prove_writable(str(html) if html else None)
    if write is not None:
        code_writing.prove_empty(write)
    if goes_on and inputs is not None:
        raise Failure(
            Status.USAGE, "--continue goes on with one command line; without --inputs, name that of one input"
        )
    preparation = Preparation(prepare, cwd_copy)

    def within(words: tuple[str, ...], seconds: float | None) -> Advice:
        return advise(
            words, Options(seconds, process, store, seed, preparation, max_trace, references, prefer, goes_on)
        )

    def again(words: tuple[str, ...], plans: Mapping[str, Plan], seconds: float) -> Mapping[str, JudgedPlan]:
        return judge_again(words, plans, seconds, Store(store), seed, preparation)

    if inputs is None:
        advice = within(argv, budget)
    else:
        advice = advise_on_inputs(
            argv, inputs, schedule.BUDGET_MOST_SECONDS if budget is None else budget, within, again
        )
    if inputs is not None:  # beside the last input's run, which is the one that made it whole
        Store(store).write_document("inputs", advice.inputs[-1].run or "", advice.to_json())
    output.write_json(advice.to_json(), json)
    if html is not None:
        from millpond.report.page import write_report

        write_report(html, [advice], Store(store))
    written = code_writing.write(advice, write) if write is not None else ""
    if json != "-":
        from millpond.report import terminal

        terminal.print_advice(advice, terminal.console())
        if inputs is not None:
            terminal.print_inputs(advice, terminal.console())
    if written:
        say(f"wrote {written}")
    _leave_plan(advice, argv, html, json)


def _leave_plan(advice: Advice, argv: tuple[str, ...], html: Path | None, json: str | None) -> None:
    """Leaves the plan that is better than no change, advised or not, and says how it is run; nothing without one.

    It lies beside the report, or in results/ where no file was asked for. Of several inputs each has its own plan.
    """
    if advice.plan is None or advice.inputs:
        return
    report = html or (Path(json) if json and json != "-" else None)
    name = f"{Path(argv[0]).name}.plan.json"
    folder = report.parent if report else DEFAULT.parent
    try:
        make_folder(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    of_file(advice.plan, name).write(folder / name)
    say(f"the plan, without a change of the source: millpond run --plan {folder / name} -- {shlex.join(argv)}")
