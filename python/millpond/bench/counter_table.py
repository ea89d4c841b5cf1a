# SPDX-License-Identifier: BSL-1.0
"""What was counted in the windows of an experiment's cells, for the terminal and for the page.

terminal   a row for each strategy: for each unit of work, the mean over the points that have a value
page       a row for each cell
"""

from __future__ import annotations

import statistics

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from millpond.bench.look import text_of
from millpond.bench.result_table import PublishedTable

_NONE = "–"


def headings(results: PublishedTable) -> list[str]:
    """The counters that have a value anywhere, by name. Why others have none stands in the notes."""
    return [name for name in results.counters if any(name in outcome.values for outcome in results.outcomes)]


def is_simulated(results: PublishedTable) -> bool:
    """Whether any of them is a simulator's."""
    return any(outcome.kind == "simulated" for outcome in results.outcomes)


def by_strategy(results: PublishedTable) -> Table:
    """The table of the terminal."""
    experiment, names = results.experiment, headings(results)
    how = ", simulated" if is_simulated(results) else ""
    table = Table(title=f"{experiment.name}: counted in the window{how}, for each unit of work, mean over the points",
                  title_justify="left", title_style="bold", box=SIMPLE_HEAD)  # fmt: skip
    for heading in ("strategy", "", *names):
        left = heading in ("strategy", "")
        table.add_column(Text(heading), justify="left" if left else "right", overflow="fold", no_wrap=left)
    for strategy in dict.fromkeys(cell.contender.name for cell in results.cells):
        points = [results.counted(cell) for cell in results.cells if cell.contender.name == strategy]
        means = [[value for point in points if (value := point[name]) is not None] for name in names]
        words = [text_of(statistics.fmean(some)) if some else _NONE for some in means]
        table.add_row(Text(strategy), experiment.alias(strategy) or "", *words)
    return table


def by_cell(results: PublishedTable) -> list[tuple[str, list[str]]]:
    """The rows of the page: a cell's name, and its counters in the order of the headings."""
    names, rows = headings(results), []
    for cell in results.cells:
        counted = results.counted(cell)
        found = [counted[name] for name in names]
        if any(value is not None for value in found):
            rows.append((cell.name, [_NONE if value is None else text_of(value) for value in found]))
    return rows
