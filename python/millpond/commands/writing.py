# SPDX-License-Identifier: BSL-1.0
"""Writes the JSON documents that `-o` names; shared by the verbs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millpond.system import output
from millpond.system.any_bytes import shown
from millpond.verbs.values import STDOUT, Output, places, takes_stdout


def prove_all(outputs: Sequence[Output]) -> None:
    """Raises now the failure (status 4) that writing one of the files later would meet."""
    for one in outputs:
        output.prove_writable(one.place)


def write_documents(outputs: Sequence[Output], document: Any) -> None:
    """Writes the document to each place that gets JSON. Failure (status 4) if one cannot be written."""
    for place in places(outputs, "json"):
        output.write_json(document, place)


def write_form(content: str | bytes, place: str) -> None:
    """Writes a report to a file, or to standard output. Failure (status 4) if it cannot be written."""
    data = shown(content).encode() if isinstance(content, str) else content
    if place == STDOUT:
        output.print_bytes(data)
    else:
        output.write_bytes(Path(place), data)


def show_grid(grid: dict[str, Any], outputs: Sequence[Output]) -> None:
    """Writes a forecast as JSON where asked, and as lines unless standard output is taken."""
    from millpond.rounds.grids import text_of

    write_documents(outputs, grid)
    if not takes_stdout(outputs):
        print(text_of(grid))
