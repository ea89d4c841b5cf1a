# SPDX-License-Identifier: BSL-1.0
"""Runs the rounds of cells that are counted, not timed. Other processes do not change counts, so it uses all
processors.

    processor 1    A  C    x ...      cells in the order given, each on the next free processor;
    processor 2    B    y  z ...      a round begins when the last one has ended

There is no warm-up, no changing order and no pairs: each outcome of an earlier run counts by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import as_completed

from millpond.cells.cell import Cell, Outcome
from millpond.rounds.interleaved_rounds import Listener, Memory, RoundsRequest, Runner, Work
from millpond.system.worker_threads import worker_threads


def run_counted(
    cells: Sequence[Cell],
    runner: Runner,
    listener: Listener,
    request: RoundsRequest,
    *,
    memory: Memory | None = None,
    processors: int | None = None,
) -> list[Outcome]:
    """Returns all outcomes: those recalled from earlier runs, then the new ones as they came. `runner` must be
    thread-safe.

    Of the request, stage, rounds and shard count. `processors`: the number of simultaneous runs; None for all
    processors of this process. A cell whose program was killed is left out of the later rounds. An exception of the
    runner ends the run, when the started rounds have ended.
    """
    work = Work.of(cells, stage=request.stage, rounds=request.rounds, shard=request.shard, memory=memory, paired=False)
    outcomes = work.recalled()
    runs = work.runs(warm_up=False)
    if not runs:
        return outcomes
    listener.begin(request.stage, runs)
    try:
        with worker_threads(processors) as pool:
            for number in range(1, request.rounds + 1):
                due = {cell: group for group in work.groups if number in work.numbers(group) for cell in group.alive}
                under_way = [pool.submit(runner.run, cell, request.stage, number) for cell in due]
                for ended in as_completed(under_way):
                    outcome = ended.result()
                    if memory is not None:
                        memory.keep(outcome)
                    outcomes.append(outcome)
                    due[outcome.cell].bury(outcome)
                    listener.step()
    finally:
        listener.end()
    return outcomes
