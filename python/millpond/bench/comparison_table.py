# SPDX-License-Identifier: BSL-1.0
"""Comparisons on a terminal: a block for each workload with a line for each comparison.

workload         comparison        ours              best peer            ratio (interval)      to ideal    cold
vector_string    kept_multipool    multipool 28.1    boost_pool:kept 34   0.83 (0.81 – 0.84)    1.02        0.91
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.bench.result_table import ResultRow
from millpond.report.terminal import console
from millpond.statistics.order_statistics import Summary
from millpond.system.wording import bytes_text

# A sweep has lines by the hundred: of these only the worst stand in the table, JSON has them all.
_MANY = 8


def number_text(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return bytes_text(value) if unit == "bytes" else number_text(value)


def _ratio(summary: Summary | None, *, interval: bool = False) -> str:
    if summary is None:
        return ""
    if not interval or summary.n < 2:
        return f"{summary.median:.2f}"
    return f"{summary.median:.2f} ({summary.low:.2f} – {summary.high:.2f})"


def shown(lines: Sequence[ResultRow]) -> list[ResultRow]:
    """The lines for a table: of a comparison that one benchmark makes at very many points, the worst alone."""
    kinds: dict[tuple[str, str], list[ResultRow]] = {}
    for line in lines:
        kinds.setdefault((line.benchmark, line.comparison), []).append(line)
    crowded = {kind for kind, found in kinds.items() if len(found) > _MANY and kind[1] in ("step", "against_free_list")}
    worst = {id(max(kinds[kind], key=_size_of_figure)) for kind in crowded}
    return [line for line in lines if (line.benchmark, line.comparison) not in crowded or id(line) in worst]


def _size_of_figure(line: ResultRow) -> float:
    figure = line.to_peer or line.to_ideal
    return figure.median if figure else 0.0


def benchmark_table(lines: Sequence[ResultRow]) -> Table:
    """The comparisons of one benchmark, a block for each point."""
    times = next((line.unit for line in lines if line.unit != "bytes"), "")
    table = Table(title=f"{lines[0].benchmark}, {times}", title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for heading in ("", "comparison", "ours", "", "best peer", "", "ratio", "ideal", "to ideal", "cold"):
        named = heading in ("comparison", "ours", "best peer") or not table.columns
        table.add_column(heading, justify="left" if named else "right", no_wrap=True)
    last = ""
    for line in lines:
        point = line.workload.removeprefix(line.benchmark).strip(" ,")
        if point != last and last:
            table.add_section()
        table.add_row(
            Text(point if point != last else ""), Text(line.comparison), Text(line.ours_name),
            _value(line.ours, line.unit), Text(line.best_peer_name), _value(line.best_peer, line.unit),
            _ratio(line.to_peer, interval=True), _value(line.ideal, line.unit), _ratio(line.to_ideal),
            _ratio(line.cold),
        )  # fmt: skip
        last = point
    return table


def print_rows(rows: Sequence[ResultRow], out: Console | None = None) -> None:
    """Comparisons, on standard output."""
    shown_on = out or console(sys.stdout)
    blocks: dict[str, list[ResultRow]] = {}
    for row in shown(rows):
        blocks.setdefault(row.benchmark, []).append(row)
    for block in blocks.values():
        shown_on.print(benchmark_table(block))
