# SPDX-License-Identifier: BSL-1.0
"""bench-library on a terminal: a block for each workload with a line for each comparison, then the bars.

workload         comparison        ours              best peer            ratio (interval)      to ideal    cold
vector_string    kept_multipool    multipool 28.1    boost_pool:kept 34   0.83 (0.81 – 0.84)    1.02        0.91
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.bench_lab import print_table
from millpond.library_bars import Bar
from millpond.library_lines import Line
from millpond.statistics import Summary
from millpond.terminal import console
from millpond.wording import bytes_text

# A sweep has lines by the hundred: of these only the worst stand in the table, JSON has them all.
_MANY = 8


def number_text(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _value(name: str, value: float | None, unit: str) -> str:
    if value is None:
        return f"{name} –" if name else "–"
    return f"{name} {bytes_text(value) if unit == 'bytes' else number_text(value)}"


def _ratio(summary: Summary | None, *, interval: bool = False) -> str:
    if summary is None:
        return ""
    if not interval or summary.n < 2:
        return f"{summary.median:.2f}"
    return f"{summary.median:.2f} ({summary.low:.2f} – {summary.high:.2f})"


def shown(lines: Sequence[Line]) -> list[Line]:
    """The lines for a table: of a comparison that one benchmark makes at very many points, the worst alone."""
    kinds: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        kinds.setdefault((line.benchmark, line.comparison), []).append(line)
    crowded = {kind for kind, found in kinds.items() if len(found) > _MANY and kind[1] in ("step", "against_free_list")}
    worst = {id(max(kinds[kind], key=_size_of_figure)) for kind in crowded}
    return [line for line in lines if (line.benchmark, line.comparison) not in crowded or id(line) in worst]


def _size_of_figure(line: Line) -> float:
    figure = line.to_peer or line.to_ideal
    return figure.median if figure else 0.0


def lines_table(lines: Sequence[Line]) -> Table:
    """All comparisons, a block for each workload."""
    table = Table(title="bench-library, comparisons", title_justify="left", title_style="bold", header_style="bold")
    for heading in ("workload", "comparison", "ours", "best peer", "ratio", "ideal", "to ideal", "cold"):
        right = heading in ("ratio", "to ideal", "cold")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    last = ""
    for line in shown(lines):
        if line.workload != last and last:
            table.add_section()
        name = f"{line.workload}\n  {line.unit}" if line.workload != last else ""
        last = line.workload
        table.add_row(
            Text(name), Text(line.comparison + (f"\n  {line.note}" if line.note else "")),
            Text(_value(line.ours_name, line.ours, line.unit)),
            Text(_value(line.best_peer_name, line.best_peer, line.unit) if line.best_peer_name else ""),
            _ratio(line.to_peer, interval=True),
            Text(_value(line.ideal_name, line.ideal, line.unit) if line.ideal_name else ""),
            _ratio(line.to_ideal), _ratio(line.cold),
        )  # fmt: skip
    return table


def print_results(lines: Sequence[Line], bars: Sequence[Bar], notes: Sequence[str], out: Console | None = None) -> None:
    """Comparisons, bars, notes, on standard output."""
    shown_on = out or console(sys.stdout)
    shown_on.print(lines_table(lines))
    print_table([bar.row() for bar in bars], "bench-library, bars")
    for note in notes:
        shown_on.print(Text(f"! {note}"), style="yellow")
