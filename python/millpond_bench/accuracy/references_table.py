# SPDX-License-Identifier: BSL-1.0
"""The tables of `millpond-bench validate --with references`: the errors, then every count and ratio,
predicted and true.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.doctor.references_error import (
    COVERED,
    FEWEST_PROGRAMS,
    PredictedCount,
    PredictedSeconds,
    ProgramRanks,
    ReferencesValidation,
    SecondsSummary,
)
from millpond.rounds.predicted_misses import MEDIAN_PERCENT, WORST_PERCENT
from millpond.system.wording import count_text, plural

_NAMES = {"misses": "misses", "page_faults": "page faults"}


def print_references(document: ReferencesValidation, out: Console) -> None:
    """Prints the errors of each metric and their bars, then a row for each prediction."""
    for metric, found in document.summary.items():
        line = (
            f"{_NAMES[metric]}: the median error is {found.median_percent:.2f} % and the worst "
            f"{found.worst_percent:.1f} % in {plural(found.rows, 'row')} of {plural(found.programs, 'program')}; "
            f"{'within' if found.holds else 'not within'} {MEDIAN_PERCENT:.0f} % in the median and "
            f"{WORST_PERCENT:.0f} % at worst ({found.within} rows are)"
        )
        out.print(Text(line), style="bold" if found.holds else "bold yellow")
    if document.seconds_summary is not None:
        out.print(Text(_seconds_line(document.seconds_summary)), style="bold")
        if document.seconds_summary.programs < FEWEST_PROGRAMS:
            few = f"! {plural(document.seconds_summary.programs, 'program')}: kept but not used: at least "
            out.print(Text(f"{few}{FEWEST_PROGRAMS} are needed"), style="yellow")
    for note in document.notes:
        out.print(Text(f"! {note}"), style="yellow")
    if document.counts:
        out.print(_counts(document.counts))
    if document.seconds:
        out.print(_seconds(document.seconds, document.ranks))


def _seconds_line(found: SecondsSummary) -> str:
    line = (
        f"CPU relative to glibc: the median error of {plural(found.ratios, 'ratio')} is {found.median_percent:.1f} % "
        f"and the worst {found.worst_percent:.0f} %; ± {100 * found.half_width:.1f} % of a predicted ratio is the "
        f"interval for {100 * COVERED:.0f} % of the programs"
    )
    if found.coverage is None:
        return line
    return f"{line}; fitted without one program, it contains {found.covered} of the {found.checked} ratios left out"


def _table(title: str, headings: Sequence[str], words: int) -> Table:
    """A table with `words` columns of text, followed by columns of figures."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < words else "right", overflow="fold")
    return table


def _counts(rows: Sequence[PredictedCount]) -> Table:
    headings = ("program", "malloc", "cache", "predicted", "Cachegrind", "error", "worst", "over environments",
                "environments", "within")  # fmt: skip
    table = _table("Misses and page faults, predicted and under Cachegrind", headings, 3)
    for row in rows:
        table.add_row(
            Text(row.program), Text(row.malloc), row.cache, count_text(round(row.predicted)),
            count_text(round(row.truth)), f"{row.error_percent:.2f} %", f"{row.worst_percent:.2f} %",
            f"± {row.spread_percent:.1f} %", str(len(row.environments)), "yes" if row.holds else "no",
            style=None if row.holds else "yellow",
        )  # fmt: skip
    return table


def _seconds(rows: Sequence[PredictedSeconds], ranks: Sequence[ProgramRanks]) -> Table:
    headings = ("program", "malloc", "predicted", "measured", "predicted by glibc's", "measured by glibc's", "error",
                "rank correlation")  # fmt: skip
    table = _table("CPU, predicted from one recording and measured", headings, 2)
    correlations = {each.program: each.rank_correlation for each in ranks}
    shown: set[str] = set()
    for row in rows:
        correlation = correlations.get(row.program)
        measured = row.measured_ratio
        table.add_row(
            Text(row.program), Text(row.malloc), f"{row.predicted:.3f} s", f"{row.measured.median:.3f} s",
            "–" if row.predicted_ratio is None else f"{row.predicted_ratio:.3f}",
            "–" if measured is None else f"{measured.median:.3f} ({measured.low:.3f} to {measured.high:.3f})",
            "–" if row.error_percent is None else f"{row.error_percent:+.1f} %",
            "" if row.program in shown else "–" if correlation is None else f"{correlation:.2f}",
        )  # fmt: skip
        shown.add(row.program)
    return table
