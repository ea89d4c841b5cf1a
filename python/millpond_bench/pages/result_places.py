# SPDX-License-Identifier: BSL-1.0
"""The files of `millpond-bench run`: results, page, rounds for other tools, verdicts for other people.

as soon as an experiment has run    results/bench/NAME.json, NAME.html       unless -o names a file of that form
when all have run                   what -o names, all experiments in one file
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from millpond.commands.writing import write_form
from millpond.system import output
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.private_names import PrivateNames
from millpond.system.progress import say
from millpond.verbs.values import STDOUT, Output, places, takes_stdout
from millpond_bench.pages import contribution, kept_results
from millpond_bench.runs.experiment_run import PLACE, ExperimentRun
from millpond_bench.runs.published_run import PublishedRun
from millpond_bench.runs.run_document import document, write


class Places:
    """The paths of the results; by default below results/bench, a file for each experiment."""

    def __init__(self, outputs: Sequence[Output], names: Sequence[str]) -> None:
        self._outputs = outputs
        self._json, self._pages = places(outputs, "json"), places(outputs, "html")
        self._names = names

    @property
    def takes_stdout(self) -> bool:
        """True if standard output is taken by a document."""
        return takes_stdout(self._outputs)

    def prove_writable(self) -> None:
        """Failure (status 4) if a path cannot be written: before hours of rounds, not after them."""
        for one in self._outputs:
            output.prove_writable(one.place)
        endings = [ending for given, ending in ((self._json, "json"), (self._pages, "html")) if not given]
        if endings:
            try:
                PLACE.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise cannot_write(PLACE, error) from error
        for target in [str(PLACE / f"{name}.{ending}") for name in self._names for ending in endings]:
            output.prove_writable(target)

    def write_one(self, run: ExperimentRun) -> None:
        """Writes the files of one experiment as soon as it has run."""
        name = run.spec.name
        if not self._json:
            write(document([run]), str(PLACE / f"{name}.json"))
        if not self._pages:
            self._write_page([run], PLACE / f"{name}.html")

    def write_all(self, runs: Sequence[ExperimentRun]) -> None:
        """Writes the files with names from the user: all experiments in one file."""
        for place in self._json:
            write(document(runs), place)
        for place in self._pages:
            self._write_page(runs, Path(place))
        for place in places(self._outputs, "google"):
            from millpond_bench.pages import export_google

            output.write_json(export_google.document(runs), place)
        names = ", ".join(self._json or [str(PLACE / f"{n}.json") for n in self._names])
        sys.stdout.flush()
        say(f"all rounds are in {'standard output' if STDOUT in self._json else names}")

    def write_contributions(self, runs: Sequence[ExperimentRun], options: str) -> None:
        """Writes the verdicts for other people, if asked. Failure (status 3) if these experiments have no statements.

        `options`: as for `kept_results.results_of`.
        """
        asked = places(self._outputs, "contribution")
        if not asked:
            return
        published = [run for run in runs if isinstance(run, PublishedRun)]
        results = [one for run in published if (one := kept_results.results_of(run, options))]
        if not results:
            raise Failure(Status.INPUT, f"{', '.join(self._names)}: no statement of a paper, so no contribution")
        text = contribution.packed(results, PrivateNames.of_this_process())
        for place in asked:
            write_form(text, place)
            say(f"the contribution is {place}; it names no host, user or folder")

    @staticmethod
    def _write_page(runs: Sequence[ExperimentRun], path: Path) -> None:
        from millpond_bench.pages import experiment_page

        output.write_text(path, experiment_page.render(runs))
        say(f"the page is {path}")
