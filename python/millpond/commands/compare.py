# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond compare`: compares two runs, stores or traces, as a gate for CI; or two builds of a program.

compare A B --fail-if "peak_bytes > +5%"     compares stored observations
compare A.mpt B.mpt --fail-if "new context > 1MB"     compares traces
compare --after NEW PROGRAM ARGS...          runs both builds, and shows the advice's prediction
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.advice.prediction_outcome import WORDS, Builds, PredictionOutcome
from millpond.cells.metrics import REPLAY_METRICS, TRIAL_METRICS
from millpond.commands.writing import prove_all, write_documents, write_form
from millpond.report.comparison.builds import BuildComparisonRequest, command_after, compare_builds
from millpond.report.comparison.cell_samples import Cells, cells_of
from millpond.report.comparison.store_changes import StoreComparison
from millpond.report.comparison.store_changes import compare as compare_cells
from millpond.report.comparison.trace_changes import compare_traces, require_known
from millpond.report.views.short_text import wrapped
from millpond.rounds.preparation import Preparation
from millpond.rounds.recording import grouped
from millpond.statistics import conditions
from millpond.statistics.conditions import value_text
from millpond.statistics.order_statistics import BEYOND_NOISE
from millpond.store.store import Store
from millpond.system import extensions
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import sealed
from millpond.system.progress import say
from millpond.system.temporary import temporary_folder
from millpond.system.wording import percent_text, plural
from millpond.verbs.requests import CompareRequest
from millpond.verbs.values import places, takes_stdout

ROWS_AT_MOST = 40


def compare(request: CompareRequest) -> int:
    """Compares two runs or two stores, cell by cell, two traces, or two builds of a program.

    Status 1: a condition is breached.
    """
    if request.after is None and len(request.sides) == 2 and all(Path(side).is_file() for side in request.sides):
        return _compare_traces(request, *map(Path, request.sides))
    if any(one.form != "json" for one in request.out):
        raise Failure(Status.USAGE, "only a comparison of two traces is written as a page or as Markdown")
    if request.after is None:
        return _compare_runs(request, *_two(request.sides))
    if request.fail_if or request.cells:
        raise Failure(Status.USAGE, "--fail-if and --cells are for two runs (A B), not for two builds (--after)")
    if not request.sides:
        raise Failure(Status.USAGE, "no program is given: write millpond compare --after NEW PROGRAM [ARGS]...")
    prove_all(request.out)
    with temporary_folder() as folder:
        preparation = Preparation(request.prepare, request.cwd_copy)
        changed = command_after(request.after, request.sides)
        builds, damaged = compare_builds(
            BuildComparisonRequest(request.sides, changed, request.rounds, request.store, request.seed, preparation),
            folder,
        )
    write_documents(request.out, builds.to_json())
    if not takes_stdout(request.out):
        from millpond.report import terminal

        print_builds(builds, terminal.console())
    for what in damaged:
        say(what)
    return Status.INPUT if damaged else Status.OK


def _two(sides: Sequence[str]) -> tuple[str, str]:
    if len(sides) == 2:
        return sides[0], sides[1]
    raise Failure(
        Status.USAGE,
        f"{plural(len(sides), 'side')} given: `millpond compare A B` compares two runs, stores or traces, "
        "`millpond compare --after NEW PROGRAM ARGS...` compares two builds",
    )


def _compare_traces(request: CompareRequest, a: Path, b: Path) -> int:
    from millpond.report import markdown, page, terminal
    from millpond.report.views.trace_change_view import ANSWER, MARKDOWN, PAGE, trace_change_section

    if request.cells:
        raise Failure(Status.USAGE, "--cells is for two runs or stores, not for two traces")
    prove_all(request.out)
    wanted = [conditions.parse(text) for text in request.fail_if]
    require_known(wanted)
    say(f"grouping the allocations of {a} and {b}")
    with temporary_folder() as one, temporary_folder() as other, ThreadPoolExecutor(2) as executor:
        before, after = executor.map(grouped, (a, b), (one, other))
    found = compare_traces(before, after, wanted)
    write_documents(request.out, sealed(found.to_json()))
    for place in places(request.out, "html"):
        write_form(page.render_fitting([trace_change_section(found, PAGE)], "Change of allocations"), place)
    for place in places(request.out, "markdown"):
        write_form(markdown.render_section(trace_change_section(found, MARKDOWN)), place)
    if not takes_stdout(request.out):
        terminal.print_fitting((trace_change_section(found, detail) for detail in ANSWER), terminal.console())
    return Status.GATE if found.breaches else Status.OK


def known_metrics() -> dict[str, str]:
    """Returns every metric that a store may have, with its unit."""
    declared = [TRIAL_METRICS, REPLAY_METRICS, *extensions.metrics()]
    return {metric: unit for metrics in declared for metric, unit in metrics.units.items()}


def _compare_runs(request: CompareRequest, a: str, b: str) -> int:
    prove_all(request.out)
    wanted = [conditions.parse(text) for text in request.fail_if]
    damaged: list[str] = []
    before, after = (_side(text, request.store, damaged) for text in (a, b))
    found = compare_cells(before, after, wanted, "".join(request.cells[-1:]), known_metrics())
    write_documents(request.out, found.to_json())
    if not takes_stdout(request.out):
        from millpond.report import terminal

        print_comparison(found, terminal.console())
    for breach in found.breaches:
        say(f"breached {breach.condition.text!r}: {breach.sentence}")
    for what in damaged:
        say(what)
    return Status.GATE if found.breaches else Status.INPUT if damaged else Status.OK


def _side(text: str, default: Path, damaged: list[str]) -> Cells:
    """Returns the cells of a store, or of one run of the default store; adds unreadable files to `damaged`."""
    is_store = Path(text).is_dir()
    store = Store(Path(text) if is_store else default)
    runs = store.load_measured(None if is_store else _find_run(store, text, default))
    found = cells_of(text, (row for run in runs for row in run.observations))
    for run in runs:
        if run.run in found.runs:
            run.made("advice", found.add_advice)
    for skipped in store.skipped:
        line = f"skipped {skipped.path}: {skipped.reason}"
        if line not in damaged:
            damaged.append(line)
    return found


def _find_run(store: Store, text: str, default: Path) -> str:
    try:
        return store.find_run(text).run
    except Failure as failure:
        if "/" in text:
            raise Failure(Status.INPUT, f"{text} is neither a folder nor a run in {default}") from failure
        raise


def print_comparison(found: StoreComparison, out: Console) -> None:
    """Prints the verdict first, then a row for each pair that is gated or that changed."""
    gated = {c.metric for c in found.conditions}
    out.print(Text(_verdict(found)), style="bold red" if found.breaches else "bold")
    for note in found.notes:
        out.print(Text(f"! {note}"), style="yellow")
    shown = [
        (cell, metric, change)
        for (cell, metric), change in sorted(found.changes.items(), key=lambda item: item[0])
        if metric in gated or change.verdict in BEYOND_NOISE
    ]
    if shown:
        out.print(_table(found, shown[:ROWS_AT_MOST], len(shown)))
    for workload, subsystem, before, after in found.changed_advice:
        out.print(Text(f"! {subsystem} of {workload}: the advice was {before} and is now {after}"), style="yellow")
    for side, alone in (("A", found.only_a), ("B", found.only_b)):
        if alone:
            names = ", ".join(c.text for c in alone[:6]) + (" …" if len(alone) > 6 else "")
            out.print(Text(f"only in {side}: {plural(len(alone), 'cell')} ({names})"))


def _verdict(found: StoreComparison) -> str:
    pairs = plural(len(found.changes), "pair")
    if found.breaches:
        broken = {b.condition.text for b in found.breaches}
        return f"{plural(len(broken), 'condition')} of {len(found.conditions)} breached ({pairs} compared)"
    changed = sum(c.verdict in BEYOND_NOISE for c in found.changes.values())
    words = f"{changed} of {pairs} changed beyond the noise"
    return f"every condition holds; {words}" if found.conditions else words


def _table(found: StoreComparison, rows: list[Any], total: int) -> Table:
    table = Table(title="A → B", title_justify="left", title_style="bold", header_style="bold")
    for heading in ("cell", "metric", "A", "B", "change", "interval", "verdict"):
        table.add_column(heading, justify="left" if heading in ("cell", "metric") else "right", overflow="fold")
    several = len({cell.workload for cell, _ in found.changes}) > 1
    breached = {(b.cell, b.condition.metric) for b in found.breaches}
    for cell, metric, change in rows:
        unit, ratio = found.b.units[metric], change.ratio
        name = f"{cell.workload[:60]}: {cell.text}" if several else cell.text
        interval = "counted" if change.exact else "–"
        if ratio is not None and not change.exact:
            interval = f"{percent_text(ratio.low)} to {percent_text(ratio.high)}"
        amount = percent_text(ratio.median) if ratio else value_text(change.difference.median, unit)
        style = "bold red" if (cell, metric) in breached else None
        words = [value_text(change.a.median, unit), value_text(change.b.median, unit), amount, interval, change.verdict]
        table.add_row(Text(name), metric, *words, style=style)
    if total > len(rows):
        table.caption = f"and {total - len(rows)} more; -o FILE.json has them all"
    return table


def print_builds(builds: Builds, out: Console) -> None:
    """Prints the sentences first, then both metrics: predicted and measured."""
    found = PredictionOutcome.of(builds)
    for line in found.lines:
        out.print(Text("\n".join(wrapped(line.sentence, out.width))), style="bold")
    out.print(Text(f"Output: {builds.output.words}."), style=None if builds.output.same else "yellow")
    if builds.prediction is None:
        out.print(Text(f"! no prediction: {builds.why_no_prediction}"), style="yellow")
    table = Table(title=found.heading, title_justify="left", title_style="bold", header_style="bold")
    for heading in ("what", "predicted", "came out", "intervals meet"):
        table.add_column(heading, justify="left" if heading == "what" else "right", overflow="fold")
    for line in found.lines:
        meets = "–" if line.meets is None else "yes" if line.meets else "no"
        table.add_row(WORDS[line.metric], line.predicted_text, line.measured_text, meets)
    out.print(table)
    if builds.prediction is not None and builds.prediction.words:
        out.print(Text(f"Predicted for {builds.prediction.words} (run {builds.prediction.run})."))
