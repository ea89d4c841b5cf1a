# SPDX-License-Identifier: BSL-1.0
"""Prints the results of experiments on a terminal.

published      a line for each strategy: ours and the paper's ratio to the baseline; then the claims
counted        … and the counts in the windows of its cells, for each unit of work; working sets in all
comparisons    a block for each workload with a line for each comparison:

vector_string    kept_multipool    multipool 28.1    boost_pool:kept 34   0.83 (0.81 – 0.84)    1.02        0.91

bars           a line for each
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.cells.cell import MALLOC, SURROUNDINGS, TOOLCHAIN
from millpond.report.terminal import console
from millpond.statistics.order_statistics import Summary
from millpond.system.machine import this_machine
from millpond.system.wording import bytes_text, plural
from millpond_bench.claims.claims import BROKEN, HOLDS, UNDECIDED, VERDICTS, Verdict, number_text
from millpond_bench.claims.verdicts import FEWEST_ROUNDS
from millpond_bench.experiments.bench_document import PublishedRow
from millpond_bench.experiments.result_table import PublishedTable, ResultRow
from millpond_bench.tables.quantities import short_text

_PEAK = "peak_bytes"
_USUAL = f"{SURROUNDINGS[TOOLCHAIN]}, {SURROUNDINGS[MALLOC]}"
_NONE = "–"
_LONGEST_LABEL = 36
# A sweep has hundreds of lines: the table shows only the worst of them, JSON has all.
_MANY = 8


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)


def print_published(results: PublishedTable, claims: Sequence[Verdict], figures_only: str = "") -> None:
    """Prints the strategies, and the number of the paper's statements that hold, on standard output.

    `figures_only`: a sentence for a run without verdicts, which is printed first.
    """
    shown_on = console(sys.stdout)
    if figures_only:
        shown_on.print(Text(figures_only))
    shown_on.print(_strategies(results))
    if results.headings:
        shown_on.print(_by_strategy(results))
    if claims:
        words = f"{plural(len(claims), 'statement')}, with their figures, are on the page and in the JSON."
        shown_on.print(Text(words if figures_only else claims_line(claims)))


def print_together(document: str, claims: Sequence[Verdict]) -> None:
    """Prints the number of a paper's statements that hold, over all of its experiments that ran."""
    console(sys.stdout).print(Text(f"{document}, judged together: {claims_line(claims)}"))


def claims_line(claims: Sequence[Verdict]) -> str:
    """`12 of 18 statements hold; 2 do not: weaker 1, opposite 1; undecided 3, not measured 1`.

    On the paper's own allocators and on ours, if any statement has two verdicts; the others count in both.
    """
    if not any(claim.on_documents for claim in claims):
        return _counted_claims(claims)
    on_documents = _counted_claims([claim.on_documents or claim for claim in claims])
    return f"On the paper's allocators {on_documents}. On ours {_counted_claims(claims)}"


def _counted_claims(claims: Sequence[Verdict]) -> str:
    counted = Counter(claim.verdict for claim in claims)
    how = ", ".join(f"{name} {counted[name]}" for name in VERDICTS if name in BROKEN and counted[name])
    broken = sum(counted[name] for name in BROKEN)
    parts = [f"{counted[HOLDS]} of {plural(len(claims), 'statement')} hold"]
    parts += [f"{broken} {'does' if broken == 1 else 'do'} not: {how}"] if broken else []
    others = [name for name in VERDICTS if name not in (HOLDS, *BROKEN) and counted[name]]
    short = {c.ours.n for c in claims if c.verdict == UNDECIDED and c.ours and c.ours.n < FEWEST_ROUNDS}
    few = f" ({plural(min(short), 'round')}, a verdict needs {FEWEST_ROUNDS})" if short else ""
    parts += (
        [", ".join(f"{name} {counted[name]}{few if name == UNDECIDED else ''}" for name in others)] if others else []
    )
    return "; ".join(parts)


def _strategies(results: PublishedTable) -> Table:
    """Ratios to the baseline, ours and the paper's: the geometric mean over the points that have one.

    If some cells run in other environments than usual, each environment has its rows below a heading.
    """
    experiment, figure = results.experiment, results.experiment.data.figure
    table = _table(f"{experiment.name}, {experiment.title}: {figure.name} against {experiment.data.baseline}")
    rows = results.summary()
    table.add_column("strategy", no_wrap=True)
    for heading in ("points", "here", "published", "peak"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=len(heading))
    groups: dict[str, dict[str, list[PublishedRow]]] = {}
    for row in rows:
        groups.setdefault(_around(row), {}).setdefault(row.strategy, []).append(row)
    for around, strategies in groups.items():
        if len(groups) > 1 or around != _USUAL:
            table.add_section()
            table.add_row(Text(around, style="italic"))
        for strategy, own in strategies.items():
            label = _label(experiment.data.alias(strategy) or "", strategy)
            table.add_row(Text(label), *_figures(own, figure.name))
    return table


def _label(alias: str, strategy: str) -> str:
    """The paper's label with our name, if both fit on a line of 80 columns; else the label, if there is one."""
    both = f"{alias} {strategy}".strip()
    return both if len(both) <= _LONGEST_LABEL else alias or strategy


def _figures(rows: Sequence[PublishedRow], figure: str) -> list[str]:
    """The number of points, our ratio and the paper's, and the bytes, of one strategy."""
    own = [row for row in rows if row.metric == figure]
    ours = [row.ratio_to_baseline for row in own if row.ratio_to_baseline]
    theirs = [row.published_ratio for row in own if row.published_ratio and row.ratio_to_baseline]
    peaks = [row.median for row in rows if row.metric == _PEAK and row.median is not None]
    return [str(len(ours)), _mean(ours), _mean(theirs), bytes_text(max(peaks)) if peaks else "–"]


def _around(row: PublishedRow) -> str:
    """The environment of a row's program: `clang, tcmalloc`."""
    return f"{row.toolchain}, {row.malloc}"


def _mean(ratios: Sequence[float]) -> str:
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else "–"


def _by_strategy(results: PublishedTable) -> Table:
    """The counters: the mean over the points that have a value."""
    experiment, names = results.experiment, results.headings
    how = ", simulated" if any(outcome.kind == "simulated" for outcome in results.outcomes) else ""
    table = _table(
        f"{experiment.name}: counted in the window{how}, for each unit of work (working sets: in all), "
        "mean over the points"
    )
    for heading in ("strategy", "", *names):
        left = heading in ("strategy", "")
        table.add_column(Text(heading), justify="left" if left else "right", overflow="fold", no_wrap=left)
    for strategy in dict.fromkeys(cell.contender.name for cell in results.cells):
        points = [results.counted(cell) for cell in results.cells if cell.contender.name == strategy]
        means = [[value for point in points if (value := point[name]) is not None] for name in names]
        words = [short_text(statistics.fmean(some)) if some else _NONE for some in means]
        table.add_row(Text(strategy), experiment.data.alias(strategy) or "", *words)
    return table


def print_rows(rows: Sequence[ResultRow]) -> None:
    """Prints comparisons on standard output."""
    blocks: dict[str, list[ResultRow]] = {}
    for row in shown(rows):
        blocks.setdefault(row.benchmark, []).append(row)
    for block in blocks.values():
        console(sys.stdout).print(benchmark_table(block))


def shown(lines: Sequence[ResultRow]) -> list[ResultRow]:
    """The lines for a table: of a comparison that one benchmark makes at very many points, only the worst."""
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
    table = _table(f"{lines[0].benchmark}, {times}")
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


def print_bars(bars: Sequence[Verdict], title: str) -> None:
    """Prints one line for each bar on standard output."""
    table = Table(title=f"{title}, {this_machine()}", title_justify="left", caption_justify="left")
    for heading in ("what", "figure", "interval", "bar", "holds"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for bar in bars:
        figure, interval = bar.figure_text()
        holds = "" if bar.holds is None else "yes" if bar.holds else "[bold red]no[/]"
        note = bar.note_text()
        table.add_row(bar.name + (f"\n  {note}" if note else ""), figure, interval, bar.limit_text(), holds)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
