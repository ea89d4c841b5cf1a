# SPDX-License-Identifier: BSL-1.0
"""`millpond report [STORE]`: what the store keeps of `advise`, as a page, as text, as data, or for another tool.

    html text json markdown      the latest run of each workload, each a section; --run picks one
    results                      what `bench` has found of documents' statements, as a folder of pages
    csv                          the observations of one run, or its subsystems (--relation)
    pprof collapsed speedscope   the call tree of one run
    chrome                       live bytes and pages over time of one run

The format follows from the name behind -o; without one the report goes to the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from millpond.commands.options import Json
from millpond.report import cases as report_cases
from millpond.report.cases import Case
from millpond.store.store import DEFAULT, WRONG_DATA, Misfit, Store
from millpond.system import extensions, output
from millpond.system.any_bytes import shown
from millpond.system.errors import Failure, Status


class Format(StrEnum):
    """What a report can be written as."""

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
    """What the width of a collapsed stack means."""

    BYTES = "bytes"
    OBJECTS = "objects"
    LIVE_BYTES = "live_bytes"


class Relation(StrEnum):
    """What a row of the CSV is."""

    OBSERVATIONS = "observations"
    SUBSYSTEMS = "subsystems"


# The longest ending that fits decides.
ENDINGS = {
    ".html": Format.HTML, ".htm": Format.HTML, ".txt": Format.TEXT, ".md": Format.MARKDOWN, ".csv": Format.CSV,
    ".json": Format.JSON, ".pb.gz": Format.PPROF, ".folded": Format.COLLAPSED,
    ".speedscope.json": Format.SPEEDSCOPE, ".chrome.json": Format.CHROME,
}  # fmt: skip


def command(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[STORE]", help="The store to report; --store says the same.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Where the runs are kept.")] = DEFAULT,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="One run: its id, the beginning of it, or `latest`.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the report goes.")] = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="Follows from FILE's name where it is left out.")
    ] = None,
    weight: Annotated[Weight, typer.Option(help="What a collapsed stack counts.")] = Weight.BYTES,
    relation: Annotated[Relation, typer.Option(help="What a row of the CSV is.")] = Relation.OBSERVATIONS,
    json: Json = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Accepted as by every verb; nothing here is random.")] = 1,
) -> None:
    """Report what `advise` or `bench` has found and kept: a page, text, JSON, Markdown, or a file for another tool."""
    del seed
    if json is not None:
        if out is not None or form is not None:
            raise Failure(Status.USAGE, "--json is short for --format json -o FILE: give one of them")
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
    if chosen is Format.TEXT and out is None:
        from millpond.report import terminal

        cases, _ = _reported(source, chosen, run)
        terminal.print_cases(cases, terminal.console(), *_notes(source, cases, run))
    else:
        write_out(_make(source, chosen, run, weight, relation), out)
    source.finish()


def _write_results(store: Store, folder: Path | None) -> None:
    """Writes what the store has of papers' statements to a folder, with what that has already."""
    if folder is None or (folder.exists() and not folder.is_dir()):
        raise Failure(Status.USAGE, "--format results writes several files: -o FOLDER, as docs/results")
    if not extensions.part("write_results", "--format results")(store, folder):
        raise Failure(
            Status.INPUT,
            f"the store {store.folder} has no verdicts on statements; `millpond bench EXPERIMENT --store DIR` keeps "
            "them, of whole experiments",
        )
    store.finish()


def format_of(out: Path | None, form: Format | None) -> Format:
    """The format that was asked for, else that of the name, else text. Failure (status 2) for an unknown name."""
    if form is not None or out is None:
        return form or Format.TEXT
    fitting = [ending for ending in ENDINGS if out.name.endswith(ending)]
    if fitting:
        return ENDINGS[max(fitting, key=len)]
    if str(out) == "-" or (out.exists() and not out.is_file()):
        return Format.TEXT
    raise Failure(Status.USAGE, f"the name {out.name!r} tells no format ({', '.join(ENDINGS)}); --format names one")


def _make(store: Store, chosen: Format, run: str | None, weight: Weight, relation: Relation) -> str | bytes:
    from millpond.report.exports import chrome, csv, pprof, stacks

    exports: dict[Format, Callable[[str], str | bytes]] = {
        Format.CSV: lambda of: csv.table(store, of, str(relation)),
        Format.PPROF: lambda of: pprof.profile(stacks.tree_of(store, of), of),
        Format.COLLAPSED: lambda of: stacks.collapsed(stacks.tree_of(store, of), str(weight)),
        Format.SPEEDSCOPE: lambda of: stacks.speedscope(stacks.tree_of(store, of), of),
        Format.CHROME: lambda of: chrome.counters(store, of),
    }
    if chosen in exports:
        of = report_cases.latest(store, run)
        try:
            return exports[chosen](of)
        except Failure as failure:
            damaged = [str(skipped) for skipped in store.skipped if skipped.path.name.startswith(of)]
            raise Failure(failure.status, "; ".join([failure.message, *damaged])) from failure
        except WRONG_DATA as error:
            raise Failure(
                Status.INPUT,
                f"what the store {store.folder} keeps of run {of} is damaged, or of another version: no {chosen} can "
                f"be made of it ({type(error).__name__} {' '.join(str(error).split())[:80]}); `millpond advise` again",
            ) from error
    return _reported(store, chosen, run)[1]


def document(chosen: Format, cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """The report itself in one of its four forms. `damaged`, `missing`: what the store could not give."""
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


def _reported(store: Store, chosen: Format, run: str | None) -> tuple[list[Case], str]:
    """The cases that can be reported, and the report of them; a file that does not fit is then among the skipped ones.

    Failure (status 3) where no case is left.
    """
    cases = report_cases.load(store, run, chosen is Format.JSON)
    try:
        return cases, document(chosen, cases, *_notes(store, cases, run))
    except WRONG_DATA:  # somewhere: found out only now, for it costs each case once more
        fitting = [case for found in cases for case in _fitting(store, chosen, found)]
    if not fitting:
        raise Failure(Status.INPUT, f"nothing can be reported: {'; '.join(map(str, store.skipped))}")
    return fitting, document(chosen, fitting, *_notes(store, fitting, run))


def _fitting(store: Store, chosen: Format, case: Case) -> list[Case]:
    """The case, as far as it can be reported: without its characterisation where that is at fault, else not at all."""
    with suppress(Misfit), store.fitting(*([("characterisation", case.run)] if case.characterisation else [])):
        document(chosen, [case])
        return [case]
    reduced = replace(case, characterisation=None, names=())
    try:
        document(chosen, [reduced])
        return [reduced]
    except WRONG_DATA as error:
        store.forgive("characterisation", case.run)
        store.blame(case.kind, case.kept_as, error)
        return []


def _notes(store: Store, cases: Sequence[Case], run: str | None) -> tuple[list[str], list[str]]:
    """The files that were skipped, and those that are gone."""
    return [str(s) for s in store.skipped], report_cases.missing(store, cases, all_runs=run is None)


def write_out(content: str | bytes, out: Path | None) -> None:
    """Writes to the file, or to standard output where there is none or it is `-`."""
    if out is not None and str(out) != "-":
        output.write_bytes(out, content.encode() if isinstance(content, str) else content)
        return
    output.print_bytes(content.encode() if isinstance(content, str) else content)
