# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trace show TRACE`: shows a recorded program's memory use by subsystem, as a table and as JSON;
with --merge, that of many processes together.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from millpond.advice.missing_symbols import missing_symbols
from millpond.cluster.cluster import ClusterChoice, opened
from millpond.cluster.trace_executor import TraceExecutor
from millpond.commands.writing import prove_all, write_documents, write_form
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.fleet import MergedTraces, merge_traces, traces_of
from millpond.rounds.fleet_data import SCHEMA, Fleet
from millpond.rounds.recording import CHARACTERISE, FURTHER, read_json
from millpond.store.store_files import parquet_bytes
from millpond.system import native
from millpond.system.debug_files import use_debug_files
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import sealed
from millpond.system.progress import ProgressReport, say
from millpond.system.temporary import temporary_folder
from millpond.system.wording import plural
from millpond.verbs.trace_requests import ShowRequest
from millpond.verbs.values import places, takes_stdout

_MERGED_FORMS = ("parquet",)
_SINGLE_FORMS = ("plans", "scopes")
_NAMED_AT_MOST = 10  # files in an error, and warnings on standard error


def show(request: ShowRequest) -> None:
    """Groups a trace's allocations into subsystems; shows their density, locality, lifetimes and legality."""
    use_debug_files(request.debug_dir, request.sysroot)
    _refuse_wrong_forms(request)
    words = [f"--cache={request.simulate}"] if request.simulate else []
    words += [f"--window={request.window}"] if request.window else []
    words += ["--damaged"] if request.damaged else []
    if request.merge:
        prove_all(request.out)
        _show_merged(request, words)
    else:
        prove_all([one for one in request.out if one.form not in _SINGLE_FORMS])
        _show_single(request, words)


def _refuse_wrong_forms(request: ShowRequest) -> None:
    """Failure (status 2) for an output or a trace that needs --merge, or that does not go with it."""
    wrong = [one for one in request.out if one.form in (_SINGLE_FORMS if request.merge else _MERGED_FORMS)]
    if wrong:
        why = "is of one trace: leave --merge out" if request.merge else "is of many traces: add --merge"
        raise Failure(Status.USAGE, f"-o {wrong[0].place} {why}")
    if (request.cluster or request.workers) and not request.merge:
        raise Failure(Status.USAGE, "--cluster and --workers are for many traces: add --merge")
    if len(request.others) > 1 and not request.merge:
        raise Failure(Status.USAGE, f"unexpected argument {str(request.others[1])!r}: --merge shows several traces")


def _show_single(request: ShowRequest, words: list[str]) -> None:
    words = [*words, *(f"--plan-out={place}" for place in places(request.out, "plans"))]
    words += [f"--scopes-out={place}" for place in places(request.out, "scopes")]
    words += [f"--observed={request.observed}"] if request.observed else []
    with temporary_folder() as folder:
        out = folder / "characterisation.json"
        said = native.require(CHARACTERISE, [*FURTHER, "--json", str(out), *words, "--", str(request.trace)])
        data = read_json(out)
    sys.stderr.write(said)
    known = Characterisation.from_json(data)
    if symbols := missing_symbols(known.trace):
        data["symbols"] = symbols.to_json()
    _write_single(request, known, data)


def _write_single(request: ShowRequest, known: Characterisation, data: dict[str, Any]) -> None:
    """Writes every form of one trace, and prints the answer unless standard output is taken."""
    from millpond.report import markdown, page, terminal
    from millpond.report.views.run_view import ANSWER, MARKDOWN, PAGE, characterisation_section

    write_documents(request.out, data)
    for place in places(request.out, "html"):
        write_form(page.render_fitting([characterisation_section(known, PAGE)], "Memory use of a program"), place)
    for place in places(request.out, "markdown"):
        write_form(markdown.render_section(characterisation_section(known, MARKDOWN)), place)
    if not takes_stdout(request.out):
        terminal.print_fitting((characterisation_section(known, rows) for rows in ANSWER), terminal.console())


def _show_merged(request: ShowRequest, options: Sequence[str]) -> None:
    """Merges the traces of a request and writes every form. `options`: those of millpond-characterise.

    Failure (status 3), which names the files, if one is damaged or not a trace; with --damaged it is left out, and
    only no trace at all is a failure.
    """
    traces = traces_of([str(one) for one in (request.trace, *request.others)])
    with opened(ClusterChoice(request.cluster, request.workers)) as cluster, ExitStack() as stack:
        executor = stack.enter_context(TraceExecutor(cluster)) if cluster else None
        # Workers of another machine have another working folder.
        seen = [one.absolute() for one in traces] if request.cluster else traces
        merged = merge_traces(seen, options, ProgressReport(), executor)
    if merged.unusable and not (request.damaged and merged.rows):
        raise Failure(Status.INPUT, _refusal(merged, len(traces), is_left_out=request.damaged))
    _warn([*merged.said, *(f"millpond: left out: {one.why}" for one in merged.unusable)])
    fleet = merged.rows.fleet(merged.unusable)
    for place in places(request.out, "parquet"):
        write_form(_parquet(merged), place)
    if any(one.form == "json" for one in request.out):
        write_documents(request.out, sealed(fleet.to_json()))
    _write_reports(request, fleet)


def _refusal(merged: MergedTraces, traces: int, *, is_left_out: bool) -> str:
    found = [one.why for one in merged.unusable]
    if traces == 1:
        return found[0]
    more = [f"and {len(found) - _NAMED_AT_MOST} more"] if len(found) > _NAMED_AT_MOST else []
    named = "; ".join([*found[:_NAMED_AT_MOST], *more])
    if is_left_out:
        return f"no trace can be used: {named}"
    return f"{len(found)} of {plural(traces, 'trace')} cannot be merged; --damaged uses what can be read: {named}"


def _warn(lines: Sequence[str]) -> None:
    for line in lines[:_NAMED_AT_MOST]:
        print(line, file=sys.stderr)
    if len(lines) > _NAMED_AT_MOST:
        say(f"and {len(lines) - _NAMED_AT_MOST} more warnings; the JSON has all (`limits`, `unusable`)")


def _parquet(merged: MergedTraces) -> bytes:
    about = {"schema": SCHEMA, "unusable": [one.to_json() for one in merged.unusable]}
    return parquet_bytes(merged.rows.table(), about)


def _write_reports(request: ShowRequest, fleet: Fleet) -> None:
    """Writes the pages and the Markdown, and prints the answer unless standard output is taken."""
    from millpond.report import markdown, page, terminal
    from millpond.report.views.fleet_view import ANSWER, MARKDOWN, PAGE, fleet_section

    for place in places(request.out, "html"):
        sections = (fleet_section(fleet, detail) for detail in PAGE)
        write_form(page.render_fitting(sections, "Memory use of many processes"), place)
    for place in places(request.out, "markdown"):
        write_form(markdown.render_section(fleet_section(fleet, MARKDOWN)), place)
    if not takes_stdout(request.out):
        terminal.print_fitting((fleet_section(fleet, detail) for detail in ANSWER), terminal.console())
