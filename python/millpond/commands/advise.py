# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond advise -- PROGRAM ARGS`: reads its options, runs the advice and prints the results."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from millpond.advice import code_writing
from millpond.advice.advice_data import Advice
from millpond.advice.advise_options import Options, Preference
from millpond.advice.advise_program import advise
from millpond.advice.inputs import JudgedPlan, advise_on_inputs, judge_again
from millpond.cells.plans import Plan, of_file
from millpond.commands.options import CopyOption, Json, PrepareOption, Verbose
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
            help="Time for the whole job. Default: as much as a verdict needs, at most ten minutes.",
        ),
    ] = None,
    process: Annotated[
        int | None, typer.Option(metavar="N", help="Analyse the N-th process, not the one that allocated most.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the observations.")] = DEFAULT,
    json: Json = None,
    verbose: Verbose = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the report as an HTML page.")] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write the advised change to a new folder: a header, a note and a test."),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Advise on several inputs: each line of FILE has arguments that replace {}."),
    ] = None,
    goes_on: Annotated[
        bool,
        typer.Option(
            "--continue",
            help="Continue the earlier advise of the same program in this store with more rounds.",
        ),
    ] = False,
    prefer: Annotated[
        Preference,
        typer.Option(help="The goal; balanced: 1 % of CPU weighs as much as 1 % of peak memory."),
    ] = Preference.BALANCED,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed for the order of the rounds.")] = 1,
    prepare: PrepareOption = None,
    cwd_copy: CopyOption = False,
    max_trace: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE", parser=bytes_of, help="Size limit of the recording. Default: a quarter of the free disk."
        ),
    ] = None,
    references: Annotated[
        bool,
        typer.Option(
            "--references",
            help="First run it under Valgrind (at least ten times slower) to order the trials by its cache misses.",
        ),
    ] = False,
) -> None:
    """Find out where a local allocator would make a program faster or smaller, and by how much."""
    line: CommandLine = context.obj
    argv = program_of("advise", line, program)
    output.prove_writable(json)
    output.prove_writable(str(html) if html else None)
    if write is not None:
        code_writing.prove_empty(write)
    if goes_on and inputs is not None:
        raise Failure(
            Status.USAGE, "--continue works with one command line: give the command line of one input, without --inputs"
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
    if inputs is not None:  # stored under the last input's run, which completed it
        Store(store).write_document("inputs", advice.inputs[-1].run or "", advice.to_json())
    output.write_json(advice.to_json(), json)
    if html is not None:
        from millpond.report.page import write_report

        write_report(html, [advice], Store(store))
    written = code_writing.write(advice, write) if write is not None else ""
    plan = _leave_plan(advice, argv, html, json)
    if json != "-":
        from millpond.report import terminal
        from millpond.report.answer_text import Places
        from millpond.report.cases import cases_of

        cases, out = cases_of([advice], Store(store)), terminal.console()
        if verbose:
            terminal.print_cases(cases, out)
        else:
            kept_in = "" if store == DEFAULT else str(store)
            terminal.print_answer(cases, out, Places(str(html or ""), str(plan or ""), json or "", kept_in))
    if written:
        say(f"wrote {written}")
    if plan:
        say(f"to use the plan without a change of the source: millpond run --plan {plan} -- {shlex.join(argv)}")


def _leave_plan(advice: Advice, argv: tuple[str, ...], html: Path | None, json: str | None) -> Path | None:
    """Writes the plan that is better than no change, advised or not, and returns its place; None without one.

    The plan goes next to the report, or to results/ if no file was requested. With several inputs, each has its own
    plan.
    """
    if advice.plan is None or advice.inputs:
        return None
    report = html or (Path(json) if json and json != "-" else None)
    name = f"{Path(argv[0]).name}.plan.json"
    folder = report.parent if report else DEFAULT.parent
    try:
        make_folder(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    of_file(advice.plan, name).write(folder / name)
    return folder / name
