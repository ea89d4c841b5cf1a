# SPDX-License-Identifier: BSL-1.0
"""Runs rounds of cells on a cluster: each free worker gets a group's round, whose outcomes are kept when it is whole.

    next round ─▶ free worker ─▶ whole ─▶ kept, once
        ▲             └─ lost ─▶ runs again on another worker; then cell by cell, to find the one that kills workers
        └── a worker that comes later is examined, gets the files, and serves

The same cells as `interleaved_rounds.run_rounds` and `counted_rounds.run_counted` run on one machine. A ratio pairs
values of one round of one worker.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from millpond.cells.cell import Cell, Outcome
from millpond.cluster import worker_station
from millpond.cluster.cluster import Cluster
from millpond.cluster.dispatch import Dispatch, GroupRound
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.cluster.worker_tasks import LOSSES_MAX, TaskEnd, WorkerTasks
from millpond.cluster.workplace import RunnerRecipe
from millpond.rounds.interleaved_rounds import Group, Listener, Memory, RoundsRequest, Work, measured_rounds, order_of
from millpond.system.wording import plural


def run_on_cluster(
    cluster: Cluster, cells: Sequence[Cell], recipe: RunnerRecipe, listener: Listener, request: RoundsRequest, *,
    is_measured: bool, memory: Memory | None = None, seconds_of: Callable[[Cell], float] | None = None,
) -> list[Outcome]:  # fmt: skip
    """Returns all outcomes: those recalled from earlier runs, then the new ones as their rounds became whole.

    `is_measured`: pairs stay on one worker, on quiet machines of one kind; otherwise each cell runs by itself,
    anywhere. `seconds_of`: the expected time of a cell's round, by which long ones run first. Failure: that of a
    runner; or status 4 if the scheduler is gone, or no worker comes for minutes.
    """
    work = Work.of(cells, stage=request.stage, rounds=request.rounds, shard=request.shard, memory=memory,
                   paired=is_measured)  # fmt: skip
    outcomes = work.recalled()
    runs = work.runs(warm_up=request.warm_up)
    if not runs or request.is_answered(measured_rounds(outcomes), outcomes):
        return outcomes
    warmed = {outcome.cell for outcome in outcomes if outcome.round == 0}
    with ReadyWorkers(cluster, recipe.shipment(), recipe, is_measured=is_measured) as workers:
        listener.begin(f"{request.stage} on {plural(len(workers.addresses), 'worker')}", runs)
        try:
            for ended in _ClusterRun(cluster, workers, recipe, request, work, seconds_of).ended_rounds(outcomes):
                for outcome in ended.outcomes:
                    if outcome.cell not in ended.group.alive or (outcome.round == 0 and outcome.cell in warmed):
                        continue  # killed meanwhile, in another round; or another worker's warm-up
                    if outcome.round == 0:
                        warmed.add(outcome.cell)
                    if memory is not None:
                        memory.keep(outcome)
                    outcomes.append(outcome)
                    listener.step()
                for outcome in ended.outcomes:
                    ended.group.bury(outcome)
        finally:
            listener.end()
    return outcomes


@dataclass(frozen=True)
class _EndedRound:
    """The outcomes of a group's whole round, and of a warm-up before it; or of a cell that is given up."""

    group: Group
    outcomes: list[Outcome]


@dataclass
class _Round:
    """A group's round on one worker: the cells under way, and those that wait until they have ended."""

    of: GroupRound
    cells: list[Cell]
    waiting: list[Cell]
    began_at: float
    ended: list[Outcome] = field(default_factory=list)


class _ClusterRun:
    """The state of one call: what runs where, and which groups and cells have lost workers."""

    def __init__(
        self, cluster: Cluster, workers: ReadyWorkers, recipe: RunnerRecipe, request: RoundsRequest, work: Work,
        seconds_of: Callable[[Cell], float] | None,
    ) -> None:  # fmt: skip
        self._recipe = recipe
        self._request = request
        self._may_end_early = bool(request.looks) or request.deadline != float("inf")
        numbers = range(1, request.rounds + 1)
        self._dispatch = Dispatch(work, numbers, request.seed, None if self._may_end_early else seconds_of)
        self._tasks = WorkerTasks[_Round](cluster, workers)
        self._group_kills: Counter[int] = Counter()
        self._cell_kills: Counter[Cell] = Counter()

    def ended_rounds(self, outcomes: Sequence[Outcome]) -> Iterator[_EndedRound]:
        """Each whole round, as it ends. The caller adds it to `outcomes` before it asks for the next one."""
        longest = 0.0
        try:
            while self._goes_on(outcomes, longest):
                for end in self._tasks.ended():
                    ended = self._lose(end.task.subject) if end.is_lost else self._end(end)
                    if ended is not None:
                        longest = max(longest, time.monotonic() - end.task.subject.began_at)
                        yield ended
        finally:
            self._tasks.cancel()

    def _goes_on(self, outcomes: Sequence[Outcome], longest: float) -> bool:
        """Starts a round on each free worker. False if all rounds have ended."""
        if self._may_end_early:
            begun = measured_rounds(outcomes)
            if self._request.is_over(begun, longest) or self._request.is_answered(begun, outcomes):
                self._dispatch.drop()
        for address in self._tasks.free:
            taken = self._dispatch.next()
            if taken is None:
                break
            cells = order_of(taken.group.alive, self._request.seed, taken.number)
            # A group that has lost a worker goes cell by cell, so that the one that kills workers is found.
            first = 1 if self._group_kills[taken.group.index] else len(cells)
            self._submit(address, _Round(taken, cells[:first], cells[first:], time.monotonic()))
        return bool(len(self._tasks) or len(self._dispatch))

    def _submit(self, address: str, taken: _Round) -> None:
        warm_up = self._request.warm_up
        limit = sum(self._recipe.limit_seconds(cell) for cell in taken.cells)
        self._tasks.begin(
            address, taken, f"a round of {taken.cells[0].name}", 2 * limit if warm_up else limit,
            worker_station.run_group, taken.cells, self._request.stage, taken.of.number, warm_up,
        )  # fmt: skip

    def _end(self, end: TaskEnd[_Round]) -> _EndedRound | None:
        """The round that has ended, if it is whole. Otherwise it goes on with its next cell."""
        if end.error is not None:
            raise end.error
        taken, outcomes = end.task.subject, end.value
        taken.ended += [*outcomes.warm_up, *outcomes.outcomes]
        if taken.waiting:
            taken.cells, taken.waiting = taken.waiting[:1], taken.waiting[1:]
            self._submit(end.task.address, taken)
            return None
        return _EndedRound(taken.of.group, taken.ended)

    def _lose(self, lost: _Round) -> _EndedRound | None:
        """Has the round of a lost worker run again. Returns the end of a cell that has killed too many workers."""
        group = lost.of.group
        self._dispatch.give_back(lost.of)
        self._group_kills[group.index] += 1
        if len(lost.cells) > 1:
            return None
        [culprit] = lost.cells
        self._cell_kills[culprit] += 1
        # A kill of the whole group, whose cell is unknown, counts against the cell that repeats it.
        unknown = self._group_kills[group.index] - sum(self._cell_kills[cell] for cell in group.alive)
        if self._cell_kills[culprit] + unknown < LOSSES_MAX:
            return None
        why = f"its worker was lost {LOSSES_MAX} times"
        return _EndedRound(group, [Outcome.failed(culprit, self._request.stage, lost.of.number, "killed", why)])
