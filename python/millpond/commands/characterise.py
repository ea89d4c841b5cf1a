# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trace show TRACE`: shows a recorded program's memory use by subsystem, as a table and as JSON."""

from __future__ import annotations

import sys

from millpond.advice.missing_symbols import missing_symbols
from millpond.commands.writing import prove_all, write_documents
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.recording import CHARACTERISE, read_json
from millpond.system import native
from millpond.system.debug_files import use_debug_files
from millpond.system.temporary import temporary_folder
from millpond.verbs.trace_requests import ShowRequest
from millpond.verbs.values import places, takes_stdout


def show(request: ShowRequest) -> None:
    """Groups a trace's allocations into subsystems; shows their density, locality, lifetimes and legality."""
    use_debug_files(request.debug_dir, request.sysroot)
    prove_all([one for one in request.out if one.form == "json"])
    words = [f"--plan-out={place}" for place in places(request.out, "plans")]
    words += [f"--scopes-out={place}" for place in places(request.out, "scopes")]
    words += [f"--observed={request.observed}"] if request.observed else []
    words += [f"--cache={request.simulate}"] if request.simulate else []
    words += [f"--window={request.window}"] if request.window else []
    words += ["--damaged"] if request.damaged else []
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
