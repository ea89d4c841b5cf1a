# SPDX-License-Identifier: BSL-1.0
"""The table of `advise --inputs`: what each input showed, and where advice holds only in some."""

from __future__ import annotations

import shlex
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.system.wording import effect_text, plural


def print_inputs(advice: dict[str, Any], out: Console) -> None:
    """A row for each input; then the warnings."""
    inputs = advice["inputs"]
    table = Table(title=plural(len(inputs), "input"), title_justify="left", title_style="bold", header_style="bold")
    for heading in ("N", "arguments", "a faster malloc", "placement", "by itself"):
        table.add_column(heading, overflow="fold")
    for given in inputs:
        effects = given["effects"]
        table.add_row(
            str(given["number"]),
            Text(shlex.join(given["arguments"])),
            effect_text(effects.get("faster_malloc")),
            effect_text(effects.get("placement")),
            Text(given["verdict"]),
        )
    out.print(table)
    for row in advice["subsystems"]:
        if row.get("warning"):
            out.print(Text(f"! {row['name']}: {row['warning']}"), style="yellow")
