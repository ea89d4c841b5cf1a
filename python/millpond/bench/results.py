# SPDX-License-Identifier: BSL-1.0
"""What every benchmark makes of its rounds: figures against their bars, a table, one document ("millpond.bench/1").

Row ── figure, limit ──▶ holds      rows ──▶ table on standard output      document ──▶ results/bench/NAME.json
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from millpond.statistics.order_statistics import Summary
from millpond.system import output
from millpond.system.arguments import STDOUT
from millpond.system.clock import utc_now
from millpond.system.machine import this_machine

SCHEMA = "millpond.bench/1"
PLACE = Path("results/bench")


@dataclass(frozen=True)
class Value:
    """One observed value of a row."""

    contender: str
    round: int
    metric: str
    unit: str
    value: float
    kind: Literal["measured", "counted"] = "measured"
    time_utc: str = field(default_factory=utc_now)


@dataclass(frozen=True)
class Row:
    """A figure, and the limit that its median must keep (`at_least`: must reach). Without a limit: reported only.

    `kept`: whether the row holds, where more than its figure decides that.
    """

    name: str
    workload: str
    unit: str
    figure: Summary | None
    limit: float | None = None
    at_least: bool = False
    note: str = ""
    values: tuple[Value, ...] = ()
    kept: bool | None = None

    @classmethod
    def missing(cls, name: str, why: str) -> Row:
        """A row that could not be measured: it does not hold, and says why."""
        return cls(name, "", "", None, 0.0, note=f"not measured: {why}")

    @property
    def holds(self) -> bool | None:
        if self.limit is None:
            return None
        if self.kept is not None:
            return self.kept
        if self.figure is None:
            return False
        return self.figure.median >= self.limit if self.at_least else self.figure.median <= self.limit

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "limit": self.limit, "at_least": self.at_least, "unit": self.unit,
            "figure": self.figure.to_json() if self.figure else None, "holds": self.holds, "note": self.note,
        }  # fmt: skip

    def summary_json(self) -> dict[str, Any]:
        return {"workload": self.workload, "comparison": self.name, **(self.figure.to_json() if self.figure else {})}

    def limit_text(self) -> str:
        if self.limit is None:
            return "none"
        return self._text(self.limit, "≥ " if self.at_least else "≤ ") if self.figure else ""

    def figure_text(self) -> tuple[str, str]:
        """The median with its unit, and the interval."""
        if self.figure is None:
            return "", ""
        interval = f"{self._number(self.figure.low)} – {self._number(self.figure.high)}" if self.figure.n > 1 else ""
        return self._text(self.figure.median), interval

    def short(self) -> str:
        return f"{self.name}: {self.figure_text()[0] or self.note}"

    def _number(self, value: float) -> str:
        return f"{value:.3g}" if value < 100 else f"{value:.0f}"

    def _text(self, value: float, sign: str = "") -> str:
        return f"{sign}{self._number(value)} {self.unit}"


def print_table(rows: list[Row], title: str = "bench-lab") -> None:
    """One line a row, on standard output."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{title}, {this_machine()}", title_justify="left", caption_justify="left")
    for heading in ("what", "figure", "interval", "bar", "holds"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for row in rows:
        figure, interval = row.figure_text()
        holds = "" if row.holds is None else "yes" if row.holds else "[bold red]no[/]"
        table.add_row(row.name + (f"\n  {row.note}" if row.note else ""), figure, interval, row.limit_text(), holds)
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def write(document: dict[str, Any], target: str) -> None:
    """Writes the document whole or not at all: for a reader, but an observation a line, of which there are many."""
    head = output.json_text({**document, "observations": []}).rstrip().removesuffix("[]\n}")
    rows = ",\n".join(output.json_text(row, compact=True).rstrip() for row in document["observations"])
    text = f"{head}[\n{rows}\n]\n}}\n" if rows else f"{head}[]\n}}\n"
    if target == STDOUT:
        sys.stdout.write(text)
    else:
        output.write_text(Path(target), text)
