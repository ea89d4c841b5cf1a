# SPDX-License-Identifier: BSL-1.0
"""What an experiment has found, on a terminal: each strategy against the baseline here and there, then the claims."""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.bench import counter_table
from millpond.bench.claim_rules import VERDICTS, Verdict
from millpond.bench.result_table import PublishedTable
from millpond.cells.cell import MALLOC, SURROUNDINGS, TOOLCHAIN
from millpond.report.terminal import console
from millpond.system.wording import bytes_text, plural

_PEAK = "peak_bytes"
_USUAL = f"{SURROUNDINGS[TOOLCHAIN]}, {SURROUNDINGS[MALLOC]}"


def print_published(results: PublishedTable, claims: Sequence[Verdict], out: Console | None = None) -> None:
    """The strategies, and how many of the document's statements hold, on standard output."""
    shown_on = out or console(sys.stdout)
    shown_on.print(_strategies(results))
    if counter_table.headings(results):
        shown_on.print(counter_table.by_strategy(results))
    if claims:
        shown_on.print(Text(claims_line(claims)))


def claims_line(claims: Sequence[Verdict]) -> str:
    """`12 of 16 statements hold; undecided 3, not measured 1`."""
    counted = Counter(claim.verdict for claim in claims)
    others = ", ".join(f"{name} {counted[name]}" for name in VERDICTS[1:] if counted[name])
    return f"{counted[VERDICTS[0]]} of {plural(len(claims), 'statement')} hold{f'; {others}' if others else ''}"


def _strategies(results: PublishedTable) -> Table:
    """Ratios to the baseline: the geometric mean over the points that have one, ours and the document's alike.

    Where some cells have other surroundings than usual, each of them has its rows below a heading.
    """
    experiment, figure = results.experiment, results.experiment.figure
    table = Table(title=f"{experiment.name}, {experiment.title}: {figure.name} against {experiment.baseline}",
                  title_justify="left", title_style="bold", box=SIMPLE_HEAD)  # fmt: skip
    rows = results.summary()
    for heading in ("strategy", "", "points", "here", "published there", "peak resident"):
        table.add_column(heading, justify="left" if heading in ("strategy", "") else "right", no_wrap=True)
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        groups.setdefault(_around(row), {}).setdefault(row["strategy"], []).append(row)
    for around, strategies in groups.items():
        if len(groups) > 1 or around != _USUAL:
            table.add_section()
            table.add_row(Text(around, style="italic"))
        for strategy, own in strategies.items():
            table.add_row(Text(strategy), experiment.alias(strategy) or "", *_figures(own, figure.name))
    return table


def _figures(rows: Sequence[Mapping[str, Any]], figure: str) -> list[str]:
    """How many points, ours and the document's ratio, and bytes, of one strategy."""
    own = [row for row in rows if row["metric"] == figure]
    ours = [row["ratio_to_baseline"] for row in own if row["ratio_to_baseline"]]
    theirs = [row["published_ratio"] for row in own if row["published_ratio"] and row["ratio_to_baseline"]]
    peaks = [row["median"] for row in rows if row["metric"] == _PEAK and row["n"]]
    return [str(len(ours)), _mean(ours), _mean(theirs), bytes_text(max(peaks)) if peaks else "–"]


def _around(row: Mapping[str, Any]) -> str:
    """What surrounded the program of a row: `clang, tcmalloc`."""
    return f"{row['toolchain']}, {row['malloc']}"


def _mean(ratios: Sequence[float]) -> str:
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else "–"
