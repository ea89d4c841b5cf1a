# SPDX-License-Identifier: BSL-1.0
"""The table of `advise --inputs`: what each input showed, and where advice holds only in some."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.advice.advice_data import Advice
from millpond.system.wording import effect_text, plural


def print_inputs(advice: Advice, out: Console) -> None:
    """A row for each input; then the warnings."""
    table = Table(
        title=plural(len(advice.inputs), "input"), title_justify="left", title_style="bold", header_style="bold"
    )
    for heading in ("N", "arguments", "a faster malloc", "placement", "by itself"):
        table.add_column(heading, overflow="fold")
    for given in advice.inputs:
        table.add_row(
            str(given.number),
            Text(shlex.join(given.arguments)),
            effect_text(given.effects.get("faster_malloc")),
            effect_text(given.effects.get("placement")),
            Text(given.verdict),
        )
    out.print(table)
    for row in advice.subsystems:
        if row.warning:
            out.print(Text(f"! {row.name}: {row.warning}"), style="yellow")
