# SPDX-License-Identifier: BSL-1.0
"""`millpond compare A B --fail-if "peak_bytes > +5%"`: a gate for CI between two stores, or two runs of one store."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.characterise import Json
from millpond.comparison.cell_samples import QUERY_FIELDS, Cells, cells_of
from millpond.comparison.comparing import Comparison
from millpond.comparison.comparing import compare as compare_cells
from millpond.statistics import conditions
from millpond.statistics.conditions import value_text
from millpond.store.store import DEFAULT, Misfit, Store
from millpond.system import output
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.system.wording import percent_text, plural

ROWS_AT_MOST = 40


def command(
    a: Annotated[str, typer.Argument(metavar="A", help="The run, or the store (a folder), to compare with.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run or the store that is judged.")],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION", help='For example "peak_bytes > +5%"; may be repeated. Status 1 on a breach.'
        ),
    ] = None,
    cells: Annotated[str, typer.Option(metavar="TEXT", help="Only cells whose name or workload contains this.")] = "",
    store: Annotated[Path, typer.Option(metavar="DIR", help="Where runs are looked up.")] = DEFAULT,
    json: Json = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Accepted as by every verb; nothing here is random.")] = 1,
) -> int:
    """Compare two runs or two stores, cell by cell; a change inside the noise never fails a condition."""
    del seed
    wanted = [conditions.parse(text) for text in fail_if or []]
    output.prove_writable(json)
    damaged: list[str] = []
    found = compare_cells(_side(a, store, damaged), _side(b, store, damaged), wanted, cells)
    if json is not None:
        output.write_json(found.to_json(), json)
    if json != "-":
        from millpond.drawing import terminal

        print_comparison(found, terminal.console())
    for breach in found.breaches:
        say(f"breached {breach.condition.text!r}: {breach.sentence}")
    for what in damaged:
        say(what)
    return Status.GATE if found.breaches else Status.INPUT if damaged else Status.OK


def _side(text: str, default: Path, damaged: list[str]) -> Cells:
    """The cells of a store, or of one run of the default store; files that cannot be read are named in `damaged`."""
    fields = ", ".join(QUERY_FIELDS)
    folder = Path(text)
    if folder.is_dir():
        store = Store(folder)
        rows = store.query(f"select {fields} from observations order by id")
    else:
        store = Store(default)
        run = _find_run(store, text, default)
        rows = store.query(f"select {fields} from observations where run = ? order by id", [run])
    found = cells_of(text, rows)
    for name in sorted(found.runs):
        advice = store.document("advice", name)
        if advice is not None:
            with suppress(Misfit), store.fitting(("advice", name)):
                found.add_advice(advice)
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
            raise Failure(Status.INPUT, f"{text} is no folder, and no run of {default} either") from failure
        raise


def print_comparison(found: Comparison, out: Console) -> None:
    """The verdict first; then a row for each pair that is gated or that changed."""
    gated = {c.metric for c in found.conditions}
    out.print(Text(_verdict(found)), style="bold red" if found.breaches else "bold")
    for note in found.notes:
        out.print(Text(f"! {note}"), style="yellow")
    shown = [
        (cell, metric, change)
        for (cell, metric), change in sorted(found.changes.items(), key=lambda item: item[0])
        if metric in gated or change.verdict != "inside noise"
    ]
    if shown:
        out.print(_table(found, shown[:ROWS_AT_MOST], len(shown)))
    for workload, subsystem, before, after in found.changed_advice:
        out.print(Text(f"! {subsystem} of {workload}: advice was {before}, and is {after}"), style="yellow")
    for side, alone in (("A", found.only_a), ("B", found.only_b)):
        if alone:
            names = ", ".join(c.text for c in alone[:6]) + (" …" if len(alone) > 6 else "")
            out.print(Text(f"only in {side}: {plural(len(alone), 'cell')} ({names})"))


def _verdict(found: Comparison) -> str:
    pairs = plural(len(found.changes), "pair")
    if found.breaches:
        broken = {b.condition.text for b in found.breaches}
        return f"{plural(len(broken), 'condition')} of {len(found.conditions)} breached ({pairs} compared)"
    changed = sum(c.verdict != "inside noise" for c in found.changes.values())
    words = f"{changed} of {pairs} changed beyond the noise"
    return f"every condition holds; {words}" if found.conditions else words


def _table(found: Comparison, rows: list[Any], total: int) -> Table:
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
        words = [value_text(change.a, unit), value_text(change.b, unit), amount, interval, change.verdict]
        table.add_row(Text(name), metric, *words, style=style)
    if total > len(rows):
        table.caption = f"and {total - len(rows)} more; --json has them all"
    return table
