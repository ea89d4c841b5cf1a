# SPDX-License-Identifier: BSL-1.0
"""The options that several verbs share, as annotated types for Typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    str | None, typer.Option("--json", metavar="[=FILE]", help="Write JSON to FILE; without FILE, print only JSON.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the tables and the reasons, not only the answer.")]
ListOption = Annotated[bool, typer.Option("--list", help="Show the cells and run nothing.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the cells and their expected cost; store nothing.")]
CellsOption = Annotated[
    list[str] | None,
    typer.Option("--cells", metavar="FILTER", help="Only cells whose name matches, such as `plan:*`; may be repeated."),
]
ShardOption = Annotated[
    str | None, typer.Option("--shard", metavar="I/N", help="Run part I of N; each part may run on another machine.")
]
BudgetOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0.0, help="Time limit; at least one round is run.")
]
RoundsOption = Annotated[int, typer.Option(metavar="N", min=1, help="Measured rounds of each cell.")]
StoreOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Store the observations of all rounds here.")]
SeedOption = Annotated[
    int, typer.Option(metavar="N", help="Seed for the order of the rounds; a new seed measures again.")
]
DAMAGED = "--damaged"
DamagedOption = Annotated[
    bool, typer.Option(DAMAGED, help="Use the readable part of a damaged trace, which is an error otherwise.")
]
PrepareOption = Annotated[
    str | None, typer.Option(metavar="COMMAND", help="Shell command to run before each run; it is not measured.")
]
CopyOption = Annotated[
    bool, typer.Option("--cwd-copy", help="Run each time in a fresh copy of the working folder (at most 1 GB).")
]
