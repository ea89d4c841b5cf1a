# SPDX-License-Identifier: BSL-1.0
"""The tables of `millpond-bench validate`: the median errors, then each predicted and measured difference."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.doctor.replay_error import FEWEST_PROGRAMS, OF_DIFFERENCE, OF_PROGRAM, Difference, Validation
from millpond.statistics.conditions import value_text
from millpond.statistics.order_statistics import Summary
from millpond.system.wording import plural

_BAR = f"{100 * OF_DIFFERENCE:.0f} % of the difference or {100 * OF_PROGRAM:.0f} % of the program"


def print_validation(document: Validation, out: Console) -> None:
    """Prints the medians, then a row for each program, pair of mallocs and metric."""
    for metric, found in document.summary.items():
        holds = "within" if found.holds else "not within"
        line = (
            f"{metric}: the error of replay is {100 * found.error_of_program:.1f} % of the program (median of "
            f"{plural(found.differences, 'difference')} between mallocs, {plural(found.programs, 'program')}); "
            f"{holds} {_BAR} ({found.within} of them are); intervals are widened by "
            f"{100 * found.widens_by:.1f} % of the program"
        )
        out.print(Text(line), style="bold" if found.holds else "bold yellow")
        if found.undecided:
            words = (
                f"! {found.undecided} of {plural(found.differences, 'difference')} in {metric} were measured "
                "less precisely than the bar: part of their error is the noise of this machine; more --rounds or a "
                "quieter machine would tell"
            )
            out.print(Text(words), style="yellow")
    if 0 < len(document.programs) < FEWEST_PROGRAMS:
        few = f"! {plural(len(document.programs), 'program')}: kept but not used: at least {FEWEST_PROGRAMS} are needed"
        out.print(Text(few), style="yellow")
    for note in document.notes:
        out.print(Text(f"! {note}"), style="yellow")
    if document.differences:
        out.print(_table(document.differences))


def _table(differences: Sequence[Difference]) -> Table:
    table = Table(title="Predicted and measured", title_justify="left", title_style="bold", header_style="bold")
    headings = ("program", "difference", "metric", "measured", "predicted", "error of the difference",
                "error of the program", "within")  # fmt: skip
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < 3 else "right", overflow="fold")
    for d in differences:
        share = d.error_of_difference
        table.add_row(
            Text(d.program),
            Text(f"{d.of} − {d.against}"),
            d.metric,
            _summary_text(d.measured, d.unit),
            _summary_text(d.predicted, d.unit),
            "–" if share is None else f"{100 * share:.0f} %",
            f"{100 * d.error_of_program:.1f} %",
            ("yes" if d.holds else "no") + ("" if d.decided else " ?"),
            style=None if d.holds else "yellow",
        )
    return table


def _summary_text(summary: Summary, unit: str) -> str:
    low, middle, high = (value_text(value, unit) for value in (summary.low, summary.median, summary.high))
    return f"{middle} ({low} to {high})"
