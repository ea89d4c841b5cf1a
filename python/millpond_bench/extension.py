# SPDX-License-Identifier: BSL-1.0
"""The functions that this package adds to `millpond` (millpond.system.extensions).

Each imports its modules when it is called, so that finding the functions costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millpond.cells.metrics import Metrics
    from millpond.store.store import Store
    from millpond_bench.pages.contributed_report import ContributedReport

DOCUMENTS = {
    "millpond.bench.1": "millpond_bench.experiments.bench_document:BenchDocument",
    "millpond.contribution.1": "millpond_bench.pages.contribution:Contribution",
    "millpond.matrix.1": "millpond_bench.pages.statement_matrix:StatementMatrix",
    "millpond.results.1": "millpond_bench.pages.kept_results:KeptResults",
}


def metrics() -> list[Metrics]:
    """The metrics of all experiments, with their units."""
    from millpond_bench.suites.every_experiment import EXPERIMENTS

    return [experiment.metrics for experiment in EXPERIMENTS]


def write_results(store: Store, folder: Path) -> bool:
    """Writes the verdicts on papers' statements that a store keeps, merged with those in the folder.

    False if the store has none. Failure (status 4) if the folder cannot be written.
    """
    from millpond_bench.pages import kept_results, results_page

    results = kept_results.in_store(store)
    if results:
        results_page.write(folder, kept_results.merged([*kept_results.in_folder(folder), *results]))
    return bool(results)


def pack_results(store: Store) -> str:
    """The verdicts that a store keeps as a contribution, which names no host, user or folder; empty without any."""
    from millpond.system.private_names import PrivateNames
    from millpond_bench.pages import contribution, kept_results

    results = kept_results.in_store(store)
    return contribution.packed(results, PrivateNames.of_this_process()) if results else ""


def report_on_contributions(paths: Sequence[Path]) -> ContributedReport:
    """The report on contributions. Failure (status 3), which names each that is refused."""
    from millpond_bench.pages.contributed_report import ContributedReport

    return ContributedReport(paths)


def main(words: list[str]) -> int:
    """Runs the command line of millpond-bench (for words of an earlier version)."""
    from millpond_bench import bench_cli

    return bench_cli.main(words)
