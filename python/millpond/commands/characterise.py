# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond characterise TRACE`: shows a recorded program's memory use by subsystem, as a table and
as JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.commands.options import DAMAGED, DamagedOption, Json
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.recording import CHARACTERISE, read_json
from millpond.system import native, output
from millpond.system.temporary import temporary_folder


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace written by `millpond record`.")],
    json: Json = None,
    plan_out: Annotated[
        Path | None, typer.Option("--plan-out", metavar="DIR", help="Write candidate plans into this folder.")
    ] = None,
    observed: Annotated[
        Path | None,
        typer.Option(metavar="TRACE", help="Take legality from this trace, written by `record --scopes`."),
    ] = None,
    scopes_out: Annotated[
        Path | None,
        typer.Option("--scopes-out", metavar="FILE", help="Write the functions that `record --scopes` should observe."),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DESCRIPTION",
            help="If the trace has references, simulate this cache: attributed:line=64,size=32K,ways=8.",
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="WINDOW",
            help="Measure D, V, U and C over a part: events=FROM:TO, seconds=FROM:TO or scope=FUNCTION (if observed). "
            "Default: each subsystem while its objects are live.",
        ),
    ] = None,
    damaged: DamagedOption = False,
) -> None:
    """Group a trace's allocations into subsystems; show their density, locality, lifetimes and legality."""
    output.prove_writable(json)
    with temporary_folder() as folder:
        out = folder / "characterisation.json"
        words = [f"--plan-out={plan_out}"] if plan_out else []
        words += [f"--observed={observed}"] if observed else []
        words += [f"--scopes-out={scopes_out}"] if scopes_out else []
        words += [f"--cache={cache}"] if cache else []
        words += [f"--window={window}"] if window else []
        words += [DAMAGED] if damaged else []
        said = native.require(CHARACTERISE, ["--json", str(out), *words, "--", str(trace)])
        data = read_json(out)
    if said:
        typer.echo(said, err=True, nl=False)
    output.write_json(data, json)
    if json != "-":
        from millpond.report import terminal
        from millpond.report.views.run_view import characterisation_section

        terminal.print_section(characterisation_section(Characterisation.from_json(data)), terminal.console())
