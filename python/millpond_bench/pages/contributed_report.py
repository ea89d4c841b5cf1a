# SPDX-License-Identifier: BSL-1.0
"""The report on contributions: a matrix of all of them, or their results merged into a folder of kept results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millpond.report import terminal
from millpond.system.progress import say
from millpond_bench.pages import kept_results, matrix_page, results_page
from millpond_bench.pages.contribution import read_all
from millpond_bench.pages.statement_matrix import matrix_of


class ContributedReport:
    """Contributions, read and merged. Belongs to one thread."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Reads all files. Failure (status 3), which names each that is refused; says which repeat another one."""
        self._found = read_all(paths)
        for line in self._found.repeated:
            say(f"{line}: it counts once")
        self._matrix = matrix_of(self._found.results, self._found.digests, self._found.left_out)

    def render(self, form: str) -> str:
        """Returns the matrix as `html`, `markdown`, `text` or `json`."""
        return matrix_page.render(self._matrix, form)

    def show(self) -> None:
        """Prints the matrix on the terminal."""
        matrix_page.print_matrix(self._matrix, terminal.console())

    def write_results(self, folder: Path) -> None:
        """Merges the results into a folder of kept results. Failure (status 3 or 4) leaves it as it was, or whole."""
        results_page.write(folder, kept_results.merged([*kept_results.in_folder(folder), *self._found.results]))
