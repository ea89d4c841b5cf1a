# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond report [STORE]`: reports the stored results as a page, text, data, or a file for another tool.

    html text json markdown      the latest run of each workload, each a section; --run picks one
    results                      the results of `bench` on papers' statements, as a folder of pages
    csv                          the observations of one run, or its subsystems (--relation)
    pprof collapsed speedscope   the call tree of one run
    chrome                       live bytes and pages over time of one run

The format follows from the name given by -o; without one the report goes to the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from millpond.commands.options import Json, Verbose
from millpond.report import cases as report_cases
from millpond.report.cases import Case
from millpond.store.check import WRONG_DATA
from millpond.store.run_contents import RunContents
from millpond.store.store import DEFAULT, Store
from millpond.system import extensions, output
from millpond.system.any_bytes import shown
from millpond.system.errors import Failure, Status


class Format(StrEnum):
    """The formats of a report."""

    HTML = "html"
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    PPROF = "pprof"
    COLLAPSED = "collapsed"
    SPEEDSCOPE = "speedscope"
    CHROME = "chrome"
    RESULTS = "results"


class Weight(StrEnum):
    """The meaning of a collapsed stack's width."""

    BYTES = "bytes"
    OBJECTS = "objects"
    LIVE_BYTES = "live_bytes"


class Relation(StrEnum):
    """The meaning of a row of the CSV."""

    OBSERVATIONS = "observations"
    SUBSYSTEMS = "subsystems"


# The longest matching ending decides.
ENDINGS = {
    ".html": Format.HTML, ".htm": Format.HTML, ".txt": Format.TEXT, ".md": Format.MARKDOWN, ".csv": Format.CSV,
    ".json": Format.JSON, ".pb.gz": Format.PPROF, ".folded": Format.COLLAPSED,
    ".speedscope.json": Format.SPEEDSCOPE, ".chrome.json": Format.CHROME,
}  # fmt: skip


def command(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[STORE]", help="The store to report; the same as --store.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="The folder with the runs.")] = DEFAULT,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="One run: its id, the start of its id, or `latest`.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = None,
    form: Annotated[Format | None, typer.Option("--format", help="Default: derived from FILE's name.")] = None,
    weight: Annotated[Weight, typer.Option(help="The unit of a collapsed stack.")] = Weight.BYTES,
    relation: Annotated[Relation, typer.Option(help="The rows of the CSV.")] = Relation.OBSERVATIONS,
    json: Json = None,
    verbose: Verbose = False,
    seed: Annotated[int, typer.Option(metavar="N", help="No effect: a report has nothing random.")] = 1,
) -> None:
    """Report the stored results of `advise` or `bench`: a page, text, JSON, Markdown, or a file for another tool."""
    del seed
    if json is not None:
        if out is not None or form is not None:
            raise Failure(Status.USAGE, "--json means --format json -o FILE: give only one of them")
        out, form = Path(json), Format.JSON
    chosen = format_of(out, form)
    source = Store(folder or store)
    if not source.folder.is_dir():
        verb = "bench EXPERIMENT" if chosen is Format.RESULTS else "advise"
        raise Failure(Status.INPUT, f"there is no store {source.folder}; `millpond {verb} --store DIR` makes one")
    if chosen is Format.RESULTS:
        _write_results(source, out)
        return
    output.prove_writable(str(out) if out else None)
    if form is None and out is None:
        from millpond.report import terminal
        from millpond.report.answer_text import Places

        cases, *notes, _ = _reported(source, chosen, run)
        if verbose:
            terminal.print_cases(cases, terminal.console(), *notes)
        else:
            kept_in = "" if source.folder == DEFAULT else str(source.folder)
            terminal.print_answer(cases, terminal.console(), Places(store=kept_in), *notes)
    else:
        write_out(_make(source, chosen, run, weight, relation), out)
    source.finish()


def _write_results(store: Store, folder: Path | None) -> None:
    """Writes the store's results on papers' statements to a folder, and merges them with the results already there."""
    if folder is None or (folder.exists() and not folder.is_dir()):
        raise Failure(Status.USAGE, "--format results writes several files: give -o FOLDER, such as docs/results")
    if not extensions.part("write_results", "--format results")(store, folder):
        raise Failure(
            Status.INPUT,
            f"the store {store.folder} has no verdicts on statements; `millpond bench EXPERIMENT --store DIR` stores "
            "those of whole experiments",
        )
    store.finish()


def format_of(out: Path | None, form: Format | None) -> Format:
    """Returns the requested format, or that of the name, or text. Failure (status 2) for an unknown name."""
    if form is not None or out is None:
        return form or Format.TEXT
    fitting = [ending for ending in ENDINGS if out.name.endswith(ending)]
    if fitting:
        return ENDINGS[max(fitting, key=len)]
    if str(out) == "-" or (out.exists() and not out.is_file()):
        return Format.TEXT
    raise Failure(Status.USAGE, f"the ending of {out.name!r} is no known format ({', '.join(ENDINGS)}); give --format")


def _make(store: Store, chosen: Format, run: str | None, weight: Weight, relation: Relation) -> str | bytes:
    from millpond.report.exports import chrome, csv, pprof, stacks

    exports: dict[Format, Callable[[RunContents], str | bytes]] = {
        Format.CSV: lambda of: csv.table(of, str(relation)),
        Format.PPROF: lambda of: pprof.profile(stacks.tree_of(of), of.run),
        Format.COLLAPSED: lambda of: stacks.collapsed(stacks.tree_of(of), str(weight)),
        Format.SPEEDSCOPE: lambda of: stacks.speedscope(stacks.tree_of(of), of.run),
        Format.CHROME: chrome.counters,
    }
    if chosen in exports:
        of = report_cases.latest(store, run)
        try:
            return exports[chosen](of)
        except Failure as failure:
            damaged = [str(skipped) for skipped in store.skipped if skipped.path.name.startswith(of.run)]
            raise Failure(failure.status, "; ".join([failure.message, *damaged])) from failure
        except WRONG_DATA as error:
            raise Failure(
                Status.INPUT,
                f"run {of.run} of the store {store.folder} is damaged or of another version, so no {chosen} can be "
                f"made of it ({type(error).__name__} {' '.join(str(error).split())[:80]}); `millpond advise` again",
            ) from error
    return _reported(store, chosen, run)[-1]


def document(chosen: Format, cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """Returns the report in one of its four forms. `damaged`, `missing`: files that the store could not provide."""
    from millpond.report import markdown, page, terminal

    if chosen is Format.HTML:
        return shown(page.render(cases, damaged, missing))
    if chosen is Format.MARKDOWN:
        return shown(markdown.render(cases, damaged, missing))
    if chosen is Format.JSON:
        return output.json_text({
            "schema": "millpond.report/1", "skipped": list(damaged), "missing": list(missing),
            "cases": [c.to_json() for c in cases],
        })  # fmt: skip
    return shown(terminal.render(cases, damaged, missing))


def _reported(store: Store, chosen: Format, run: str | None) -> tuple[list[Case], list[str], list[str], str]:
    """Returns the cases that can be reported, the skipped files, the missing ones, and the report. A file that does
    not fit becomes a skipped one.

    Failure (status 3) if no case is left.
    """
    cases, stopped = report_cases.load(store, run, chosen is Format.JSON)

    def reported(cases: list[Case]) -> tuple[list[Case], list[str], list[str], str]:
        in_order = sorted(cases, key=lambda case: bool(case.inputs))
        missing = [*(line for case in in_order for line in case.missing), *stopped]
        damaged = [str(skipped) for skipped in store.skipped]
        return cases, damaged, missing, document(chosen, cases, damaged, missing)

    try:
        return reported(cases)
    except WRONG_DATA:  # in some case; finding it takes a second pass over all cases
        fitting = [case for found in cases for case in _fitting(store, chosen, found)]
    if not fitting:
        raise Failure(Status.INPUT, f"nothing can be reported: {'; '.join(map(str, store.skipped))}")
    return reported(fitting)


def _fitting(store: Store, chosen: Format, case: Case) -> list[Case]:
    """Returns the case as far as it can be reported: without a faulty characterisation, or not at all."""
    faults = []
    for tried in (case, replace(case, characterisation=None, names=())):
        try:
            document(chosen, [tried])
        except WRONG_DATA as error:
            faults.append(error)
            continue
        if faults:
            store.blame("characterisation", case.run, faults[0])
        return [tried]
    store.blame(case.kind, case.kept_as, faults[-1])
    return []


def write_out(content: str | bytes, out: Path | None) -> None:
    """Writes to the file, or to standard output if it is None or `-`."""
    if out is not None and str(out) != "-":
        output.write_bytes(out, content.encode() if isinstance(content, str) else content)
        return
    output.print_bytes(content.encode() if isinstance(content, str) else content)
