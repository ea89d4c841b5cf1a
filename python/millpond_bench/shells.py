# SPDX-License-Identifier: BSL-1.0
"""The verbs `millpond-bench completion SHELL` and `millpond-bench man [FOLDER]`."""

from __future__ import annotations

from millpond.commands.shell_files import print_completion, write_man_pages
from millpond.verbs.requests import CompletionRequest, ManRequest
from millpond_bench.bench_verbs import SUMMARY, VERBS

COMMAND = "millpond-bench"


def completion(request: CompletionRequest) -> None:
    """Prints the completion of a shell."""
    print_completion(request, VERBS, COMMAND)


def man(request: ManRequest) -> None:
    """Writes all man pages to a folder; without one, prints the page of the command."""
    write_man_pages(request, VERBS, COMMAND, SUMMARY)
