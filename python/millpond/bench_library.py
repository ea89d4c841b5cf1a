# SPDX-License-Identifier: BSL-1.0
"""`make bench-library`: our allocators against every peer, as tables and as results/bench/library.json.

    python -m millpond.bench_library [--scale quick|standard|paper] [--cells FILTER] [--peer NAME=PATH] …

    peers ──▶ grid of cells ──▶ rounds, interleaved, a fresh process each ──▶ comparisons ──▶ bars ──▶ table, JSON

What each row means, and how a figure is made, is in docs/benchmarks.md. A missing peer fails the run before anything is
measured (status 4). Exit status: 0 every bar holds, 1 one does not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millpond.bench.library.bars import Bar, bars_of
from millpond.bench.library.comparisons import lines_of
from millpond.bench.library.grid import BAR_ROUNDS, EXPERIMENT, METRICS, SCALES, Grid, grid_of, sizes_given
from millpond.bench.library.library_contenders import COUNTED, HARDENED, HARDENED_SUITE, KEPT, SUITE, Suite, read_suite
from millpond.bench.library.library_rounds import POINT, SuiteRunner, require_loadable
from millpond.bench.library.lines import Line, Rounds
from millpond.bench.results import PLACE, SCHEMA, write
from millpond.cells.cell import Cell, Outcome
from millpond.rounds.grids import GridOptions, forecast, listing, select, show
from millpond.rounds.interleaved_rounds import WHOLE, Work, measured_rounds, run_rounds
from millpond.store.observations import Journal
from millpond.store.round_log import RoundLog, logged_anyway, subject_of
from millpond.store.store import Store
from millpond.system import callgrind, native, output
from millpond.system.arguments import STDOUT
from millpond.system.clock import utc_now
from millpond.system.errors import Failure, Status
from millpond.system.progress import ProgressReport, say
from millpond.system.wording import plural

STAGE = "bench"


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m millpond.bench_library", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--scale", choices=SCALES, default="standard", help="how much is measured (default: standard)")
    parser.add_argument("--list", action="store_true", help="show the cells and run nothing")
    parser.add_argument("--dry-run", action="store_true", help="show the cells and what they would cost; run nothing")
    parser.add_argument("--cells", action="append", metavar="FILTER",
                        help="only cells whose name fits, as 'vector_string/*'; may be repeated")  # fmt: skip
    parser.add_argument("--shard", metavar="I/N", help="one of N parts, each for a machine of its own; needs --store")
    parser.add_argument("--peer", action="append", metavar="NAME=PATH", default=[],
                        help="another malloc library, or an adapter for an allocator class; repeatable")  # fmt: skip
    parser.add_argument("--json", default=str(PLACE / "library.json"), metavar="FILE", help="where the JSON goes")
    parser.add_argument("--rounds", type=_positive, metavar="N", help="measured rounds of each cell")
    parser.add_argument("--sizes", action="append", metavar="WORKLOAD=N,N", default=[],
                        help="other sizes of a workload, as vector_string=5000,2^13; repeatable")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="decides order and string seeds (N and N + 1)")
    parser.add_argument("--store", type=Path, metavar="DIR", help="keep all rounds here; a later run goes on from them")
    return parser.parse_args(words)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rounds")
    return int(text)


def main(words: list[str] | None = None) -> int:
    """Measures, prints, writes. The status says whether every bar holds."""
    try:
        return _run(_options(words))
    except Failure as failure:
        say(failure.message)
        return failure.status


def _run(chosen: argparse.Namespace) -> int:
    options = GridOptions.given(chosen.list, chosen.dry_run, chosen.cells, chosen.shard)
    options.require_store(chosen.store)
    suite = read_suite(chosen.peer)
    sizes = sizes_given(chosen.sizes)
    grid = grid_of(chosen.scale, suite, rounds=chosen.rounds, seed=chosen.seed, sizes=sizes)
    grid = grid.only(select(grid.cells, options.filters))
    store = Store(chosen.store) if chosen.store else None
    bench = BenchLibrary(suite, grid, options, chosen.seed, store)
    if options.list_only or options.dry_run:
        show(listing(EXPERIMENT, grid.cells) if options.list_only else bench.forecast(), None)
        return Status.OK
    bench.require()
    Path(chosen.json).parent.mkdir(parents=True, exist_ok=True)
    output.prove_writable(chosen.json)
    outcomes = bench.measure()
    lines, bars = bench.judge(outcomes)
    notes = bench.notes(outcomes)
    if chosen.json != STDOUT:
        from millpond.bench.library.library_table import print_results

        print_results(lines, bars, notes)
    write(bench.document(outcomes, lines, bars, notes), chosen.json)
    say(f"all rounds are in {'standard output' if chosen.json == STDOUT else chosen.json}")
    # A part of the rounds judges nothing: whoever has all parts does.
    held = options.shard != WHOLE or all(bar.holds for bar in bars)
    return Status.OK if held else Status.GATE


class BenchLibrary:
    """One run: the grid, who takes part, and where rounds are kept. Not thread-safe."""

    def __init__(self, suite: Suite, grid: Grid, options: GridOptions, seed: int, store: Store | None) -> None:
        self._suite = suite
        self._grid = grid
        self._options = options
        self._seed = seed
        self._store = store
        programs = [native.find(SUITE), *self._hardened()]
        libraries = [Path(c.path) for c in suite.contenders.values() if c.path]
        subject = subject_of([str(programs[0])], [*programs, *libraries])
        self.journal = Journal(
            EXPERIMENT, ("millpond", "bench", "library"), metrics=METRICS, seed=seed, subject=subject
        )
        self._began = utc_now()

    def _hardened(self) -> list[Path]:
        wanted = any(cell.contender.name == HARDENED for cell in self._grid.cells)
        return [native.find(HARDENED_SUITE)] if wanted else []

    def require(self) -> None:
        """Failure (status 4) for whatever is missing, before anything is measured."""
        self._suite.require_peers()
        require_loadable(self._suite.contenders.values())
        if any(cell.subject.words[0] in COUNTED for cell in self._grid.cells):
            callgrind.find_valgrind()

    def forecast(self) -> dict[str, Any]:
        """What is left to run and how long that takes: all passes as one grid. Writes nothing."""
        log = RoundLog(self._store, self.journal, resume=True) if self._store else None
        found = []
        for one in self._grid.passes:
            work = Work.of(one.cells, stage=STAGE, rounds=one.rounds, shard=self._options.shard, memory=log)
            found.append(forecast(EXPERIMENT, work, warm_up=False, source="what processes took where this was laid out",
                                  seconds_of=self._grid.seconds.__getitem__))  # fmt: skip
        whole = {**found[0], "cells": [cell for grid in found for cell in grid["cells"]]}
        summed = ("runs", "stored_runs", "estimated_seconds")
        return {**whole, **{key: sum(grid[key] for grid in found) for key in summed}}

    def measure(self) -> list[Outcome]:
        """All rounds of all passes. With a store, rounds that an earlier run has left are not run again."""
        runner = SuiteRunner(self._suite.contenders, self._seed)
        outcomes: list[Outcome] = []
        with logged_anyway(self._store, self.journal) as log:
            for one in self._grid.passes:
                outcomes += run_rounds(
                    one.cells, runner, ProgressReport(), stage=STAGE, rounds=one.rounds, seed=self._seed,
                    warm_up=False, memory=log, shard=self._options.shard,
                )  # fmt: skip
        return runner.without_other_work(outcomes)

    def judge(self, outcomes: Sequence[Outcome]) -> tuple[list[Line], list[Bar]]:
        """The lines of the summary, and the bars."""
        units = {name: workload.unit for name, workload in self._suite.workloads.items()}
        cells: list[Cell] = self._grid.cells
        lines = lines_of(cells, outcomes, self._suite.contenders, units)
        return lines, bars_of(lines, cells, Rounds.of(outcomes))

    def notes(self, outcomes: Sequence[Outcome]) -> list[str]:
        """What a reader must know beside the figures."""
        notes = sorted({f"{o.cell.name}: {o.why}" for o in outcomes if o.status != "ok"})
        if self._options.shard != WHOLE:
            notes.append(f"part {self._options.shard} of the rounds: copy the parts into one store to see the whole")
        elif 0 < measured_rounds(outcomes) < BAR_ROUNDS:
            rounds = plural(measured_rounds(outcomes), "round")
            notes.append(f"{rounds}: a bar should rest on {BAR_ROUNDS}")
        return notes

    def document(
        self, outcomes: Sequence[Outcome], lines: Sequence[Line], bars: Sequence[Bar], notes: Sequence[str]
    ) -> dict[str, Any]:
        """The benchmark schema."""
        return {
            **self.journal.head(SCHEMA),
            "seed": self._seed,
            "peers": [c.to_json() for c in self._suite.peers() if not c.name.endswith(KEPT)],
            "notes": list(notes),
            "bars": [bar.to_json() for bar in bars],
            "summary": [line.to_json() for line in lines],
            "observations": self.journal.rows_with_recalled(outcomes, self._began, POINT),
        }


if __name__ == "__main__":
    sys.exit(main())
