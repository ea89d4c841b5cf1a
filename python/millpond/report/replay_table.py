# SPDX-License-Identifier: BSL-1.0
"""The result of `millpond replay` as a table for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.system.wording import bytes_text, count_text, plural, seconds_text


def print_replay(result: dict[str, Any], out: Console) -> None:
    """A row for each contender: what it took, the loop's own part taken off, and its difference from the recorded."""
    trace = result["trace"]
    out.print(Text(str(trace["path"])), style="bold")
    facts = [
        f"{count_text(trace.get('events'))} heap events",
        f"{bytes_text(trace.get('peak_live_bytes'))} live at the peak",
        plural(int(trace.get("threads") or 1), "thread"),
        f"{result['order']} order",
        str(result["assumes"]),
    ]
    out.print(Text(", ".join(facts)))
    table = Table(
        title=f"{plural(result['rounds'], 'round')} of each", title_justify="left", title_style="bold",
        header_style="bold",
    )  # fmt: skip
    table.add_column("contender", overflow="fold")
    for column in ("CPU", "saves", "peak resident", "saves", "at the end", "held", "faults"):
        table.add_column(column, justify="right", overflow="fold")
    for contender in result["contenders"]:
        m, versus = contender["metrics"], contender["against_recorded"]
        table.add_row(
            Text(_short(contender["name"])),
            seconds_text(_median(m, "cpu_seconds")),
            _saves(versus.get("cpu_seconds")),
            bytes_text(_median(m, "peak_bytes")),
            _saves(versus.get("peak_bytes")),
            bytes_text(_median(m, "end_bytes")),
            bytes_text(_median(m, "held_bytes")),
            count_text(_median(m, "page_faults")),
        )
    out.print(table)
    for note in [*result["notes"], result["error"]["sentence"]]:
        out.print(Text(f"! {note}"), style="yellow")


def _short(name: str) -> str:
    """A malloc library by the name of its file."""
    return Path(name).name if name.startswith("/") else name


def _median(metrics: dict[str, Any], name: str) -> float | None:
    return metrics[name]["median"] if name in metrics else None


def _saves(versus: dict[str, Any] | None) -> str:
    """What is saved against the recorded malloc; `inside noise`, or inside what replay may be wrong by."""
    if not versus:
        return "–"
    saved, widened = versus["saved"], versus.get("saved_widened")
    if saved["verdict"] == "inside noise":
        return "inside noise"
    show = seconds_text if versus["metric"].endswith("seconds") else bytes_text
    text = f"{'-' if saved['median'] < 0 else ''}{show(abs(saved['median']))}"
    return f"{text}, inside replay's error" if widened and widened["low"] <= 0 <= widened["high"] else text
