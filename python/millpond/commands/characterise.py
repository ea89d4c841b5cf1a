# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trace show TRACE`: shows a recorded program's memory use by subsystem, as a table and as JSON;
with --merge, that of many processes together.
"""

from __future__ import annotations

import sys

from millpond.advice.missing_symbols import missing_symbols
from millpond.commands.merged_traces import show_merged
from millpond.commands.writing import prove_all, write_documents
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.recording import CHARACTERISE, read_json
from millpond.system import native
from millpond.system.debug_files import use_debug_files
from millpond.system.errors import Failure, Status
from millpond.system.temporary import temporary_folder
from millpond.verbs.trace_requests import ShowRequest
from millpond.verbs.values import places, takes_stdout

_MERGED_FORMS = ("parquet", "html", "markdown")
_SINGLE_FORMS = ("plans", "scopes")


def show(request: ShowRequest) -> None:
    """Groups a trace's allocations into subsystems; shows their density, locality, lifetimes and legality."""
    use_debug_files(request.debug_dir, request.sysroot)
    _refuse_wrong_forms(request)
    words = [f"--cache={request.simulate}"] if request.simulate else []
    words += [f"--window={request.window}"] if request.window else []
    words += ["--damaged"] if request.damaged else []
    if request.merge:
        prove_all(request.out)
        show_merged(request, words)
    else:
        prove_all([one for one in request.out if one.form == "json"])
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
        said = native.require(CHARACTERISE, ["--json", str(out), *words, "--", str(request.trace)])
        data = read_json(out)
    sys.stderr.write(said)
    known = Characterisation.from_json(data)
    if symbols := missing_symbols(known.trace):
        data["symbols"] = symbols.to_json()
    write_documents(request.out, data)
    if not takes_stdout(request.out):
        from millpond.report import terminal
        from millpond.report.views.run_view import characterisation_section

        terminal.print_section(characterisation_section(known), terminal.console())
