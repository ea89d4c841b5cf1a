# SPDX-License-Identifier: BSL-1.0
"""Bars: figures against limits that they must keep, for experiments whose rounds are an answer by yes or no.

    claims/library.toml ─▶ Claim ── its rows (comparison × point) ── a figure each ── figure of the bar: the worst row's
                                                                                  └── holds: every row does
    a step of the laboratory ──▶ Bar ── figure, limit ──▶ holds

A figure is the median over the rounds; the interval stands beside it. A bar whose rows were not asked for is left out;
a row that was asked for and could not be measured does not hold.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from millpond.bench.claim_rules import Claim, geometric_mean, load, per_round
from millpond.bench.experiment import place_of
from millpond.bench.result_table import ResultRow
from millpond.cells.cell import Outcome
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system.machine import this_machine

# The kernel counts resident pages in batches of so many for each processor: less than that is not seen.
RESOLUTION_BYTES = 64 * 4096
_MISSED_SHOWN = 6


@dataclass(frozen=True)
class Bar:
    """A figure, and the limit that its median must keep (`at_least`: must reach). Without a limit: reported only.

    `kept`: whether the bar holds, where more than its figure decides that. `rows`: those that it is about; the figure
    is then the worst one's: one that does not hold before all that do. `outcomes`: the rounds behind it.
    """

    name: str
    workload: str
    unit: str
    figure: Summary | None
    limit: float | None = None
    at_least: bool = False
    note: str = ""
    kept: bool | None = None
    also: str = ""
    worst: str = ""
    rows: tuple[ResultRow, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @classmethod
    def missing(cls, name: str, why: str) -> Bar:
        """A bar whose figure could not be measured: it does not hold, and says why."""
        return cls(name, "", "", None, 0.0, note=f"not measured: {why}")

    @property
    def holds(self) -> bool | None:
        """None without a limit."""
        if self.limit is None or self.kept is not None:
            return self.kept
        if self.figure is None:
            return False
        return self.figure.median >= self.limit if self.at_least else self.figure.median <= self.limit

    def to_json(self) -> dict[str, Any]:
        """As the benchmark's document has it; and every row."""
        return {
            "name": self.name, "limit": self.limit, "at_least": self.at_least, "unit": self.unit, "also": self.also,
            "figure": self.figure.to_json() if self.figure else None, "holds": self.holds, "note": self.note,
            "worst": self.worst, "lines_that_hold": sum(row.holds is True for row in self.rows),
            "lines": [row.judged_json() for row in self.rows],
        }  # fmt: skip

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

    def note_text(self) -> str:
        """What a reader must know beside the figure: of several rows, how many hold, and which do not."""
        if len(self.rows) < 2:
            return self.note or self.worst
        missed = [row for row in self.rows if not row.holds]
        more = f" and {len(missed) - _MISSED_SHOWN} more" if len(missed) > _MISSED_SHOWN else ""
        notes = [f"worst: {self.worst}", f"{len(self.rows) - len(missed)} of {len(self.rows)} hold"]
        notes += [f"missed: {', '.join(row.judged_text() for row in missed[:_MISSED_SHOWN])}{more}"] if missed else []
        return "; ".join(notes)

    def short(self) -> str:
        return f"{self.name}: {self.figure_text()[0] or self.note}"

    def _number(self, value: float) -> str:
        return f"{value:.3g}" if value < 100 else f"{value:.0f}"

    def _text(self, value: float, sign: str = "") -> str:
        return f"{sign}{self._number(value)} {self.unit}"


def print_bars(bars: Sequence[Bar], title: str) -> None:
    """One line a bar, on standard output."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{title}, {this_machine()}", title_justify="left", caption_justify="left")
    for heading in ("what", "figure", "interval", "bar", "holds"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for bar in bars:
        figure, interval = bar.figure_text()
        holds = "" if bar.holds is None else "yes" if bar.holds else "[bold red]no[/]"
        note = bar.note_text()
        table.add_row(bar.name + (f"\n  {note}" if note else ""), figure, interval, bar.limit_text(), holds)
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def bars_of(claims: str, rows: Sequence[ResultRow]) -> list[Bar]:
    """Every bar of a file that the rows are about, in its order. O(claims × rows)."""
    return [bar for claim in load(claims) if (bar := judge_rows(claim, rows)) is not None]


def judge_rows(claim: Claim, rows: Sequence[ResultRow]) -> Bar | None:
    """The bar over its rows; None where there is no row that it is about."""
    about = [row for row in rows if _is_about(claim, row)]
    if claim.kind == "ratio":
        return _mean_bar(claim, about) if about else None
    if claim.kind == "growth":
        return _growth_bar(claim, about)
    judged = [_judged(claim, row) for row in about]
    if not judged:
        return None
    worst = max(judged, key=lambda j: (not j.holds, j.figure.median if j.figure else -1.0 if j.holds else math.inf))
    against = f" against {worst.best_peer_name}" if worst.best_peer_name else ""
    where = f"{worst.workload}, {worst.ours_name}{against}"
    return Bar(claim.statement, where, claim.unit, worst.figure, claim.high, kept=all(j.holds for j in judged),
               also=_also(claim), worst=where, rows=tuple(judged))  # fmt: skip


def _judged(claim: Claim, row: ResultRow) -> ResultRow:
    """The row with its figure and whether that holds."""
    figure = _figure(claim, row)
    # Without a peer to be held against there is nothing to keep; a contender of ours that failed is another matter.
    free = not claim.against and row.ours is not None and not row.best_peer_name
    return replace(row, figure=figure, holds=free if figure is None else _keeps(claim, row, figure))


def _is_about(claim: Claim, row: ResultRow) -> bool:
    at = (("benchmark", row.benchmark), *((name, place_of(value)) for name, value in row.parameters.items()))
    return any(fnmatchcase(row.comparison, name) for name in claim.of) and claim.matches(at)


def _figure(claim: Claim, row: ResultRow) -> Summary | None:
    """The ratio to the best peer; against `ideal` that to the ideal, against `nothing` our own number."""
    if claim.against == ("nothing",):
        return summarise([row.ours]) if row.ours is not None else None
    return row.to_ideal if claim.against == ("ideal",) else row.to_peer


def _keeps(claim: Claim, row: ResultRow, figure: Summary) -> bool:
    """The limit itself, or what is as good."""
    if figure.median <= claim.high or (claim.or_noise and figure.low <= claim.high):
        return True
    if claim.or_ideal and row.to_ideal is not None:
        return row.to_ideal.median <= claim.or_ideal
    if claim.or_unseen == "more":
        return None not in (row.ours, row.best_peer) and (row.ours or 0) - (row.best_peer or 0) <= RESOLUTION_BYTES
    return claim.or_unseen == "in all" and row.ours is not None and row.ours <= RESOLUTION_BYTES


def _also(claim: Claim) -> str:
    """In words."""
    unseen = {"more": f"or ≤ {RESOLUTION_BYTES // 1024} KiB more", "in all": f"or ≤ {RESOLUTION_BYTES // 1024} KiB"}
    ideal = f"or ≤ {claim.or_ideal} × the ideal" if claim.or_ideal else ""
    noise = "or inside the noise" if claim.or_noise else ""
    return claim.also or ideal or noise or unseen.get(claim.or_unseen, "")


def _mean_bar(claim: Claim, rows: Sequence[ResultRow]) -> Bar:
    """The geometric mean over the rows within each round; a row that could not be measured does not hold."""
    means = per_round([row.pairs for row in rows if row.pairs], geometric_mean)
    figure = summarise(means) if means else None
    whole = all(row.pairs for row in rows)
    what = f"the geometric mean of {len(rows)} rows" + ("" if whole else "; some could not be measured")
    holds = figure is not None and whole and figure.median <= claim.high
    return Bar(claim.statement, what, claim.unit, figure, claim.high, kept=holds, worst=what)


def _growth_bar(claim: Claim, rows: Sequence[ResultRow]) -> Bar | None:
    """Ours at the highest value of `axis` against that at the lowest; None where not both were asked."""
    by_place = {int(row.parameters[claim.axis]): row.ours for row in rows}
    first, last = (by_place[pick(by_place)] for pick in (min, max)) if len(by_place) > 1 else (None, None)
    if not first or last is None:
        return None
    return Bar(claim.statement, "", claim.unit, summarise([last / first]), claim.high)
