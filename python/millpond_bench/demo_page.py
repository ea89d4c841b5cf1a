# SPDX-License-Identifier: BSL-1.0
"""`make demo`: advises on a real program and on `examples/request_server`, and writes both reports on one page.

    xmllint queries a text that is made here    a real program, with an unknown verdict
    examples/request_server                     builds a tree for each request, and drops it
    examples/request_server_changed             the same after the change: does it confirm the prediction?

Results: results/demo/report.html, and the advice on each as JSON next to it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from millpond.advice.advise_options import Options
from millpond.advice.advise_program import advise
from millpond.commands.compare import print_builds
from millpond.report import terminal
from millpond.report.answer_text import ResultFiles
from millpond.report.cases import cases_of
from millpond.report.comparison.builds import BuildComparisonRequest, compare_builds
from millpond.report.page import render
from millpond.rounds.preparation import NO_PREPARATION
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.store.store import DEFAULT, Store
from millpond.system import native, output
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.system.temporary import temporary_folder
from millpond_bench.programs import more_real_programs

PLACE = Path("results/demo")
ITEMS = 20_000
REQUESTS = 20_000
BUDGET_SECONDS = 25.0


def demonstrate(options: argparse.Namespace) -> None:
    """Advises on both programs and writes the page."""
    try:
        PLACE.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(Status.ENVIRONMENT, f"cannot make {PLACE}: {error.strerror}") from error
    server, changed = (str(native.find(f"request_server{form}")) for form in ("", "_changed"))
    requests = ("--repeats", str(options.requests), "--seed", str(options.seed))
    xmllint = more_real_programs.xmllint(PLACE, options.items).command
    programs = {"xmllint": xmllint, "request_server": (server, *requests)}
    advices = []
    for name, program in programs.items():
        say(f"{name}: at most {options.budget:.0f} s")
        advice = advise(program, Options(options.budget, seed=options.seed))
        output.write_json(advice.to_json(), str(PLACE / f"{name}.json"))
        places = ResultFiles(page=str(PLACE / "report.html"), json=str(PLACE / f"{name}.json"))
        terminal.print_answer(cases_of([advice], Store(DEFAULT)), terminal.console(), places)
        print()
        advices.append(advice)
    _show_change((server, *requests), (changed, *requests), options.seed)
    output.write_text(PLACE / "report.html", render(cases_of(advices, Store(DEFAULT))))
    print(f"The page: {PLACE / 'report.html'}; as JSON: " + ", ".join(str(PLACE / f"{name}.json") for name in programs))


def _show_change(before: tuple[str, ...], after: tuple[str, ...], seed: int) -> None:
    """Runs both builds, and prints the prediction next to the measured change."""
    say("request_server after the change: an arena for each request")
    with temporary_folder() as folder:
        found, _ = compare_builds(
            BuildComparisonRequest(before, after, VERDICT_ROUNDS, DEFAULT, seed, NO_PREPARATION), folder
        )
    print_builds(found, terminal.console())
    print()


def main() -> int:
    """Runs the demonstration; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m millpond_bench.demo_page", description="Advise on xmllint and on examples/request_server."
    )
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds for each program")
    parser.add_argument("--items", type=int, default=ITEMS, help="items of the text that xmllint reads")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="requests of examples/request_server")
    parser.add_argument("--seed", type=int, default=1)
    try:
        demonstrate(parser.parse_args())
    except Failure as failure:
        print(f"millpond: {failure.message}", file=sys.stderr)
        return failure.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
