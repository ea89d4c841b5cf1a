# SPDX-License-Identifier: BSL-1.0
"""Options that several verbs have, or that a verb takes from another room, as annotated types for Typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    str | None, typer.Option("--json", metavar="[=FILE]", help="Write JSON to FILE, or alone to standard output.")
]
ListOption = Annotated[bool, typer.Option("--list", help="Show the cells and run nothing.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the cells and what they would cost; write nothing, keep nothing.")
]
CellsOption = Annotated[
    list[str] | None,
    typer.Option("--cells", metavar="FILTER", help="Only cells whose name fits, as `plan:*`; may be repeated."),
]
ShardOption = Annotated[
    str | None, typer.Option("--shard", metavar="I/N", help="One of N parts, each for a machine of its own.")
]
BudgetOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0.0, help="At most this long, but one round at least.")
]
RoundsOption = Annotated[int, typer.Option(metavar="N", min=1, help="Measured rounds of each.")]
StoreOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the observations of all rounds here.")]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Decides the order; another one measures anew.")]
DAMAGED = "--damaged"
DamagedOption = Annotated[
    bool, typer.Option(DAMAGED, help="Go on with what is left of a damaged trace; without it that is refused.")
]
PrepareOption = Annotated[
    str | None, typer.Option(metavar="COMMAND", help="The shell runs this before each run, off the clock.")
]
CopyOption = Annotated[
    bool, typer.Option("--cwd-copy", help="Run each time in a fresh copy of the working folder, at most 1 GB.")
]
