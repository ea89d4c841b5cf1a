# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond advise PROGRAM ARGS`: runs the advice, prints and writes the results."""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from millpond.advice import advise_program, code_writing
from millpond.advice.advice_data import Advice
from millpond.advice.advise_options import Options, Preference
from millpond.advice.cluster_inputs import inputs_on_cluster
from millpond.advice.inputs import InputAdviser, OneAfterTheOther, advise_on_inputs, commands_on, judge_again
from millpond.cells.plans import of_file
from millpond.cluster.cluster import ClusterChoice, opened
from millpond.commands.writing import prove_all, write_documents, write_form
from millpond.rounds import schedule
from millpond.rounds.fleet_data import Fleet, read_fleet
from millpond.rounds.load import Load
from millpond.rounds.preparation import Preparation
from millpond.store.store import DEFAULT, Store
from millpond.system.debug_files import setting_words, use_debug_files
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.new_folders import make_folder
from millpond.system.progress import say
from millpond.verbs.requests import AdviseRequest
from millpond.verbs.values import STDOUT, Output, takes_stdout


def advise(request: AdviseRequest) -> None:
    """Finds out where a local allocator would make a program faster or smaller, and by how much."""
    if not request.program or not request.program[0]:
        raise Failure(Status.USAGE, "no program is given: write millpond advise [OPTIONS] PROGRAM [ARGS]...")
    use_debug_files(request.debug_dir, request.sysroot)
    prove_all(request.out)
    if request.write is not None:
        code_writing.prove_empty(request.write)
    if request.goes_on and request.inputs is not None:
        raise Failure(
            Status.USAGE, "--continue works with one command line: give the command line of one input, without --inputs"
        )
    if (request.cluster or request.workers) and request.inputs is None:
        raise Failure(Status.USAGE, "--cluster and --workers are for several inputs: add --inputs FILE")
    _prove_load(request)
    advice = _advice_of(request, None if request.fleet is None else read_fleet(request.fleet))
    store = Store(request.store)
    if request.inputs is not None:  # stored under the last input's run, which completed it
        store.write_document("inputs", advice.inputs[-1].run or "", advice.to_json())
    write_documents(request.out, advice.to_json())
    page = _write_reports(request, advice, store)
    written = code_writing.write(advice, request.write) if request.write is not None else ""
    plan = _leave_plan(advice, request)
    if not takes_stdout(request.out):
        _print(request, advice, store, page, plan)
    if written:
        say(f"wrote {written}")
    if plan:
        run = f"{setting_words()}millpond run --plan {plan} {shlex.join(request.program)}"
        say(f"to use the plan without a change of the source: {run}")


def _prove_load(request: AdviseRequest) -> None:
    """Failure (status 2) for options that do not go with a load, or that need one."""
    if request.load is None and request.rate is not None:
        raise Failure(Status.USAGE, "--rate finds the rate of a load: add --load COMMAND")
    others = (("--inputs", request.inputs is not None), ("--with references", "references" in request.extras))
    for word, is_given in others:
        if request.load is not None and is_given:
            raise Failure(Status.USAGE, f"--load and {word} do not go together: leave one of them out")


def _print(request: AdviseRequest, advice: Advice, store: Store, page: Path | None, plan: Path | None) -> None:
    from millpond.report import terminal
    from millpond.report.answer_text import ResultFiles
    from millpond.report.cases import cases_of

    cases, out = cases_of([advice], store), terminal.console()
    if request.is_verbose:
        terminal.print_cases(cases, out)
        return
    json = next((one.place for one in request.out if one.form == "json"), "")
    kept_in = "" if request.store == DEFAULT else str(request.store)
    terminal.print_answer(cases, out, ResultFiles(str(page or ""), str(plan or ""), json, kept_in))


def _advice_of(request: AdviseRequest, fleet: Fleet | None) -> Advice:
    """The advice on the program, on one input or on several."""
    options = Options(
        budget_seconds=request.budget,
        process=request.process,
        store=request.store,
        seed=request.seed,
        preparation=Preparation(request.prepare, request.cwd_copy),
        trace_bytes=request.max_trace,
        references="references" in request.extras,
        prefer=Preference(request.prefer),
        goes_on=request.goes_on,
        fleet=fleet,
        load=None if request.load is None else Load(request.load, request.rate),
    )
    if request.inputs is None:
        return advise_program.advise(request.program, options)
    seconds = schedule.BUDGET_MOST_SECONDS if request.budget is None else request.budget
    started = time.monotonic()
    with opened(ClusterChoice(request.cluster, request.workers)) as cluster, ExitStack() as stack:
        adviser: InputAdviser = OneAfterTheOther(
            lambda words, given: advise_program.advise(words, replace(options, budget_seconds=given)),
            lambda words, plans, given: judge_again(words, plans, replace(options, budget_seconds=given)),
        )
        if cluster is not None:
            commands_on(request.program, request.inputs)  # fails before the workers are examined
            adviser = stack.enter_context(inputs_on_cluster(cluster, request.program[0], options))
        left = max(0.0, seconds - (time.monotonic() - started))  # workers take time to start
        advice = advise_on_inputs(request.program, request.inputs, left, adviser)
        return structs.replace(advice, notes=(*advice.notes, *(cluster.notes if cluster is not None else ())))


def _write_reports(request: AdviseRequest, advice: Advice, store: Store) -> Path | None:
    """Writes the requested reports, or a page in results/ if no file was requested. Returns the first page's place."""
    name = f"{Path(request.program[0]).name}.html"
    wanted = [one for one in request.out if one.form != "json"]
    if not request.out:
        wanted = [Output(str(_made(DEFAULT.parent) / name), "html")]
    if not wanted:
        return None
    from millpond.report import markdown, page, terminal
    from millpond.report.cases import cases_of

    cases = cases_of([advice], store)
    renderers = {"html": page.render, "markdown": markdown.render, "text": terminal.render}
    for one in wanted:
        write_form(renderers[one.form](cases), one.place)
    return next((one.path for one in wanted if one.form == "html" and one.place != STDOUT), None)


def _made(folder: Path) -> Path:
    """Returns the folder, made if it does not exist. Failure (status 4) if it cannot be made."""
    try:
        make_folder(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def _leave_plan(advice: Advice, request: AdviseRequest) -> Path | None:
    """Writes the plan that is better than no change, advised or not, and returns its place; None without one.

    The plan goes next to the first report, or to results/ if no file was requested. With several inputs, each has its
    own plan.
    """
    if advice.plan is None or advice.inputs:
        return None
    name = f"{Path(request.program[0]).name}.plan.json"
    written = [one for one in request.out if one.place != STDOUT]
    first = next((one for one in written if one.form == "html"), written[0] if written else None)
    folder = _made(first.path.parent if first else DEFAULT.parent)
    of_file(advice.plan, name).write(folder / name)
    return folder / name
