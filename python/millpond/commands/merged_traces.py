# SPDX-License-Identifier: BSL-1.0
"""Shows many traces as one, for `millpond trace show --merge`: the traces, their rows, and each form of the result."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from millpond.cluster.cluster import ClusterChoice, opened
from millpond.cluster.trace_executor import TraceExecutor
from millpond.commands.writing import write_documents, write_form
from millpond.rounds.fleet import MergedTraces, merge_traces, traces_of
from millpond.rounds.fleet_data import SCHEMA, Fleet
from millpond.store.store_files import write_parquet
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import sealed
from millpond.system.progress import ProgressReport, say
from millpond.system.temporary import temporary_folder
from millpond.system.wording import plural
from millpond.verbs.trace_requests import ShowRequest
from millpond.verbs.values import places, takes_stdout

_NAMED_AT_MOST = 10  # files in an error, and warnings on standard error


def show_merged(request: ShowRequest, options: Sequence[str]) -> None:
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
    with temporary_folder() as folder:
        path = folder / "fleet.parquet"
        about = {"schema": SCHEMA, "unusable": [one.to_json() for one in merged.unusable]}
        write_parquet(path, merged.rows.table(), about)
        return path.read_bytes()


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
