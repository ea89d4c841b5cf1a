# SPDX-License-Identifier: BSL-1.0
"""The verbs `millpond completion SHELL` and `millpond man [FOLDER]`: files for shells and for man."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.system import output
from millpond.system.errors import cannot_write
from millpond.verbs import table
from millpond.verbs.completions import SHELLS
from millpond.verbs.man_pages import pages
from millpond.verbs.option import Verb
from millpond.verbs.requests import CompletionRequest, ManRequest

COMMAND = "millpond"


def completion(request: CompletionRequest) -> None:
    """Prints the completion of a shell."""
    print_completion(request, table.VERBS, COMMAND)


def man(request: ManRequest) -> None:
    """Writes all man pages to a folder; without one, prints the page of the command."""
    write_man_pages(request, table.VERBS, COMMAND, table.SUMMARY)


def print_completion(request: CompletionRequest, verbs: Sequence[Verb], command: str) -> None:
    """Prints the completion of a shell for a command with these verbs."""
    print(SHELLS[request.shell](verbs, command), end="")


def write_man_pages(request: ManRequest, verbs: Sequence[Verb], command: str, summary: str) -> None:
    """Writes the man pages of a command with these verbs, or prints its first. Failure (status 4) if it cannot."""
    found = pages(verbs, command, summary)
    if request.folder is None:
        print(found[f"{command}.1"], end="")
        return
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(request.folder, error) from error
    for name, text in found.items():
        output.write_text(request.folder / name, text)
    print(f"{len(found)} pages are in {request.folder}")
