# SPDX-License-Identifier: BSL-1.0
"""The options that select a part of a grid, and a forecast of the cost of a grid.

--dry-run         the cells, their runs and the seconds that they will take; nothing is written or kept
--cells FILTER    only cells whose name fits (a shell pattern; may be repeated)
--shard i/n       one of n equal parts, for n machines; see `interleaved_rounds.Shard`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from millpond.cells.cell import Cell
from millpond.rounds.interleaved_rounds import WHOLE, Shard, Work
from millpond.rounds.schedule import VERDICT_ROUNDS, seconds_of_run
from millpond.store.store import Store
from millpond.system import output
from millpond.system.arguments import STDOUT
from millpond.system.errors import Failure, Status
from millpond.system.machine import this_machine
from millpond.system.wording import bytes_text, plural, seconds_text

SCHEMA = "millpond.grid/2"
_NAMES_AT_MOST = 12


@dataclass(frozen=True)
class GridOptions:
    """The user's selection from a grid."""

    list_only: bool = False
    dry_run: bool = False
    filters: tuple[str, ...] = ()
    shard: Shard = WHOLE

    @classmethod
    def given(cls, list_only: bool, dry_run: bool, filters: Sequence[str] | None, shard: str | None) -> GridOptions:
        """Reads the command line's options. Failure (status 2) for an invalid shard."""
        return cls(list_only, dry_run, tuple(filters or ()), Shard.parse(shard) if shard else WHOLE)

    def require_store(self, store: object) -> None:
        """Failure (status 2) if the rounds of a part would not be kept."""
        if self.shard != WHOLE and store is None and not (self.list_only or self.dry_run):
            raise Failure(Status.USAGE, f"--shard {self.shard} needs --store DIR: a part is useless unless it is kept")


def select(cells: Sequence[Cell], filters: Sequence[str]) -> list[Cell]:
    """The cells that match any of the filters, in their order; all without filters. Failure (2) for a filter without a
    match.
    """
    for text in filters:
        if not any(_fits(cell, text) for cell in cells):
            raise Failure(Status.USAGE, f"--cells {text!r} matches no cell; {_there_are(cells, text)}")
    return [c for c in cells if not filters or any(_fits(c, text) for text in filters)]


def _there_are(cells: Sequence[Cell], text: str) -> str:
    """All names, or of many the ones most similar to the filter: a grid may have thousands."""
    names = list(dict.fromkeys(cell.name for cell in cells))
    if len(names) <= _NAMES_AT_MOST:
        return f"the cells are {', '.join(names)}"
    alike = get_close_matches(text, names, _NAMES_AT_MOST, cutoff=0.0)
    return f"of the {len(names)} cells that --dry-run shows, the most similar are {', '.join(alike)}"


def _fits(cell: Cell, text: str) -> bool:
    return cell.name == text or fnmatchcase(cell.name, text)


def stored_seconds(store: Store | None, workload: str) -> tuple[float, int] | None:
    """The median wall time of the stored bare rounds of a workload on this machine, and their number; None without
    any.
    """
    if store is None or not store.files("observations"):
        return None
    sql = (
        "select median(value) as middle, count(*) n from observations where metric = 'wall_seconds' and status = 'ok' "
        "and contender = 'bare' and workload = ? and machine = ?"
    )
    (found,) = store.query(sql, [workload, str(this_machine())])
    return (float(found["middle"]), int(found["n"])) if found["n"] else None


def listing(experiment: str, cells: Sequence[Cell]) -> dict[str, Any]:
    """The cells of a grid as data."""
    return {"schema": SCHEMA, "experiment": experiment, "cells": [_described(cell) for cell in cells]}


def _described(cell: Cell) -> dict[str, Any]:
    return {"name": cell.name, **cell.to_json()}


def forecast(
    experiment: str, work: Work, *, warm_up: bool, source: str, bare_seconds: float = 0.0,
    seconds_of: Callable[[Cell], float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The runs that a grid still needs, and their duration by `seconds_of`, or else as if every run were bare."""
    rows = []
    each_seconds = seconds_of or (lambda _: seconds_of_run(bare_seconds))
    seconds = 0.0
    for group in work.groups:
        numbers = work.numbers(group)
        each = len(numbers) + (1 if warm_up and numbers else 0)
        rows += [{**_described(cell), "group": group.index, "runs": each} for cell in group.alive]
        seconds += each * sum(map(each_seconds, group.alive))
    runs = sum(row["runs"] for row in rows)
    return {
        "schema": SCHEMA,
        "experiment": experiment,
        "cells": rows,
        "rounds": work.rounds,
        "shard": str(work.shard),
        "runs": runs,
        "stored_runs": len(work.recalled()),
        "estimated_seconds": seconds,
        "estimated_from": source,
    }


def text_of(grid: dict[str, Any]) -> str:
    """A listing or a forecast as lines for a terminal."""
    counted = "runs" in grid
    width = max((len(cell["name"]) for cell in grid["cells"]), default=0)
    lines = [
        f"{c['name']:{width}}  {plural(c['runs'], 'run')}{_needs_text(c)}" if counted else c["name"]
        for c in grid["cells"]
    ]
    if counted:
        part = "" if grid["shard"] == str(WHOLE) else f", part {grid['shard']}"
        stored = f", {plural(grid['stored_runs'], 'run')} already stored" if grid["stored_runs"] else ""
        seconds = seconds_text(grid["estimated_seconds"])
        lines.append(
            f"{plural(grid['rounds'], 'round')}{part}: {plural(grid['runs'], 'run')}{stored}, about {seconds} "
            f"(from {grid['estimated_from']}){_memory_text(grid)}{_workers_text(grid)}"
        )
    return "\n".join(lines)


def _needs_text(cell: Mapping[str, Any]) -> str:
    """The cost of one process of a cell, if it is known beforehand."""
    if cell.get("refused"):
        return f", refused: {cell['refused']}"
    simulated = f", and {cell['simulated_runs']} under callgrind" if cell.get("simulated_runs") else ""
    memory = f", {bytes_text(cell['bytes'])}" if "bytes" in cell else ""
    return f" of {seconds_text(cell['seconds'])}{memory}{simulated}" if "seconds" in cell else ""


def _workers_text(grid: Mapping[str, Any]) -> str:
    """The time on a number of workers, and the share of it in which they work."""
    if not grid.get("cluster_seconds"):
        return ""
    used = grid["estimated_seconds"] / grid["workers"] / grid["cluster_seconds"]
    seconds = seconds_text(grid["cluster_seconds"])
    return f"; on {plural(grid['workers'], 'worker')} about {seconds}, of which they work {100 * used:.0f} %"


def _memory_text(grid: Mapping[str, Any]) -> str:
    refused = sum(bool(cell.get("refused")) for cell in grid["cells"])
    more = f"; {plural(refused, 'cell')} refused, because memory is too small" if refused else ""
    return f", at most {bytes_text(grid['bytes'])} of memory{more}" if "bytes" in grid else ""


def show(grid: dict[str, Any], json: str | None) -> None:
    """Writes a listing or a forecast: as JSON if asked, and as lines unless JSON goes to standard output."""
    show_all([grid], json)


def show_all(grids: Sequence[dict[str, Any]], json: str | None) -> None:
    """The same for several: in JSON a single grid is an object, several are a list."""
    output.write_json(grids[0] if len(grids) == 1 else {"schema": SCHEMA, "grids": list(grids)}, json)
    if json != STDOUT:
        print("\n".join(map(text_of, grids)))


def notes_on_rounds(ran: int, asked: int, shard: Shard, fewest: int = VERDICT_ROUNDS) -> list[str]:
    """Caveats for a reader if fewer rounds ran than were asked for, or than a verdict should rest on."""
    wanted = sum(shard.has(0, n) for n in range(1, asked + 1))
    notes = [] if ran >= wanted else [f"the budget allowed {plural(ran, 'round')} of {wanted}"]
    if shard != WHOLE:
        notes.append(f"only part {shard} of the rounds: copy all parts into one store for the full result")
    elif ran < fewest:
        notes.append(f"{plural(ran, 'round')}: a verdict should rest on at least {fewest}")
    return notes
