# SPDX-License-Identifier: BSL-1.0
"""Prints the result of `millpond trace replay` as a table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from millpond.report.terminal import print_warnings, titled_table
from millpond.rounds.replay_data import ReplayResult, WidenedComparison
from millpond.statistics.order_statistics import BEYOND_NOISE, MetricSummary
from millpond.system.wording import bytes_text, count_text, plural, seconds_text


def print_replay(result: ReplayResult, out: Console) -> None:
    """Prints a row for each contender: its cost, without the replay loop's own, and its difference from the recorded
    malloc.
    """
    trace = result.trace
    out.print(Text(trace.path), style="bold")
    facts = [
        f"{count_text(trace.events)} heap events",
        f"{bytes_text(trace.peak_live_bytes)} live at the peak",
        plural(trace.threads or 1, "thread"),
        f"{result.order} order",
        result.assumes,
    ]
    out.print(Text(", ".join(facts)))
    columns = ("contender", "CPU", "saves", "peak resident", "saves", "at the end", "held", "faults")
    table = titled_table(f"{plural(result.rounds, 'round')} of each", *columns)
    for contender in result.contenders:
        m, versus = contender.metrics, contender.against_recorded
        table.add_row(
            Text(_short(contender.name)),
            seconds_text(_median(m, "cpu_seconds")),
            _saves(versus.get("cpu_seconds")),
            bytes_text(_median(m, "peak_bytes")),
            _saves(versus.get("peak_bytes")),
            bytes_text(_median(m, "end_bytes")),
            bytes_text(_median(m, "held_bytes")),
            count_text(_median(m, "page_faults")),
        )
    out.print(table)
    print_warnings([*result.notes, result.error.sentence], out)


def _short(name: str) -> str:
    """Returns a malloc library's file name."""
    return Path(name).name if name.startswith("/") else name


def _median(metrics: dict[str, MetricSummary], name: str) -> float | None:
    return metrics[name].median if name in metrics else None


def _saves(versus: WidenedComparison | None) -> str:
    """Returns the saving against the recorded malloc, or its verdict if it is no change; marks *inside
    replay's error*.
    """
    if not versus:
        return "–"
    saved, widened = versus.saved, versus.saved_widened
    if saved.verdict not in BEYOND_NOISE:
        return saved.verdict
    show = seconds_text if versus.metric.endswith("seconds") else bytes_text
    text = f"{'-' if saved.median < 0 else ''}{show(abs(saved.median))}"
    return f"{text}, inside replay's error" if widened and widened.low <= 0 <= widened.high else text
