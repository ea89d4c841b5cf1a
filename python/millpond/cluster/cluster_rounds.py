# SPDX-License-Identifier: BSL-1.0
"""Runs rounds of cells on a cluster: each free worker gets a group's round, whose outcomes are kept when it is whole.

    next round ─▶ free worker ─▶ whole ─▶ kept, once
        ▲             ├─ lost ─▶ runs again on another worker; then cell by cell, to find the one that kills workers
        │             └─ late ─▶ its worker is ended ─▶ lost
        └── a worker that comes later is examined, gets the files, and serves

The same cells as `interleaved_rounds.run_rounds` and `counted_rounds.run_counted` run on one machine. A ratio pairs
values of one round of one worker. The conductor keeps all state: a worker, or the whole cluster, may go at any time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from millpond.cells.cell import Cell, Outcome
from millpond.cluster import worker_station
from millpond.cluster.cluster import Cluster
from millpond.cluster.dispatch import Dispatch, GroupRound
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.cluster.worker_station import GroupEnd, RunnerRecipe
from millpond.rounds.interleaved_rounds import Group, Listener, Memory, RoundsRequest, Work, measured_rounds, order_of
from millpond.system.progress import say
from millpond.system.wording import plural

if TYPE_CHECKING:
    from distributed import Future

_POLL_SECONDS = 0.5
_FETCH_SECONDS = 5.0
# A worker's nanny starts it again in seconds; a cluster manager may need minutes for a new one.
PATIENCE_SECONDS = 300.0
_KILLS_MAX = 3


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
class _Task:
    """A group's round on one worker: the cells that were submitted, and those that wait until they have ended."""

    of: GroupRound
    address: str
    cells: list[Cell]
    waiting: list[Cell]
    began_at: float
    ends_at: float = 0.0
    future: Future | None = None
    ended: list[Outcome] = field(default_factory=list)


class _ClusterRun:
    """The state of one call: what runs where, and which groups and cells have lost workers."""

    def __init__(
        self, cluster: Cluster, workers: ReadyWorkers, recipe: RunnerRecipe, request: RoundsRequest, work: Work,
        seconds_of: Callable[[Cell], float] | None,
    ) -> None:  # fmt: skip
        self._cluster = cluster
        self._workers = workers
        self._recipe = recipe
        self._request = request
        self._may_end_early = bool(request.looks) or request.deadline != float("inf")
        numbers = range(1, request.rounds + 1)
        self._dispatch = Dispatch(work, numbers, request.seed, None if self._may_end_early else seconds_of)
        self._under_way: dict[str, _Task] = {}
        self._results: SimpleQueue[_Task] = SimpleQueue()
        self._group_kills: Counter[int] = Counter()
        self._cell_kills: Counter[Cell] = Counter()

    def ended_rounds(self, outcomes: Sequence[Outcome]) -> Iterator[_EndedRound]:
        """Each whole round, as it ends. The caller adds it to `outcomes` before it asks for the next one."""
        longest = 0.0
        had_worker_at = time.monotonic()
        try:
            while self._goes_on(outcomes, longest):
                now = time.monotonic()
                if self._workers.addresses:
                    had_worker_at = now
                elif now - had_worker_at > PATIENCE_SECONDS:
                    raise self._workers.none_left()
                try:
                    task = self._results.get(timeout=_POLL_SECONDS)
                except Empty:
                    yield from self._watch()
                    continue
                if self._under_way.get(task.address) is not task:
                    continue  # it was lost before it ended
                ended = self._end(task)
                if ended is not None:
                    longest = max(longest, now - task.began_at)
                    yield ended
        finally:
            for task in self._under_way.values():
                if task.future is not None:
                    task.future.cancel()

    def _goes_on(self, outcomes: Sequence[Outcome], longest: float) -> bool:
        """Starts a round on each free worker. False if all rounds have ended."""
        if self._may_end_early:
            begun = measured_rounds(outcomes)
            if self._request.is_over(begun, longest) or self._request.is_answered(begun, outcomes):
                self._dispatch.drop()
        for address in sorted(self._workers.addresses - self._under_way.keys()):
            taken = self._dispatch.next()
            if taken is None:
                break
            cells = order_of(taken.group.alive, self._request.seed, taken.number)
            # A group that has lost a worker goes cell by cell, so that the one that kills workers is found.
            first = 1 if self._group_kills[taken.group.index] else len(cells)
            task = _Task(taken, address, cells[:first], cells[first:], time.monotonic())
            self._under_way[address] = task
            self._submit(task)
        return bool(self._under_way or len(self._dispatch))

    def _submit(self, task: _Task) -> None:
        warm_up = self._request.warm_up
        limit = sum(self._recipe.limit_seconds(cell) for cell in task.cells)
        task.ends_at = time.monotonic() + (2 * limit if warm_up else limit)
        task.future = self._cluster.submit(
            task.address, worker_station.run_group, self._workers.session, task.cells, self._request.stage,
            task.of.number, warm_up,
        )  # fmt: skip
        task.future.add_done_callback(lambda _: self._results.put(task))

    def _end(self, task: _Task) -> _EndedRound | None:
        """The round of a submission that has ended, if it is whole. Otherwise it goes on with its next cell, or runs
        again elsewhere.
        """
        future = task.future
        assert future is not None
        if future.status in ("cancelled", "lost"):
            self._cluster.require_scheduler()
            return self._lose(task)
        error = future.exception()
        if error is not None:
            from distributed.scheduler import KilledWorker

            if isinstance(error, worker_station.StationGone | KilledWorker):
                return self._lose(task)
            raise error
        end = self._fetch(task, future)
        if end is None:
            return self._lose(task)
        task.ended += [*end.warm_up, *end.outcomes]
        if task.waiting:
            task.cells, task.waiting = task.waiting[:1], task.waiting[1:]
            self._submit(task)
            return None
        del self._under_way[task.address]
        return _EndedRound(task.of.group, task.ended)

    def _fetch(self, task: _Task, future: Future) -> GroupEnd | None:
        """The result of a submission; None if its worker has gone, and the result with it."""
        while True:
            try:
                end: GroupEnd = future.result(timeout=_FETCH_SECONDS)
                return end
            except TimeoutError:  # Dask waits for the worker to come back, which it never does under this address
                self._workers.refresh()
                if task.address not in self._workers.addresses:
                    future.cancel()
                    return None

    def _lose(self, task: _Task) -> _EndedRound | None:
        """Has the round of a lost worker run again. Returns the end of a cell that has killed too many workers."""
        group = task.of.group
        say(f"lost the worker {task.address}: its round runs again")
        self._under_way.pop(task.address, None)
        self._workers.forget(task.address)
        self._dispatch.give_back(task.of)
        self._group_kills[group.index] += 1
        if len(task.cells) > 1:
            return None
        [culprit] = task.cells
        self._cell_kills[culprit] += 1
        # A kill of the whole group, whose cell is unknown, counts against the cell that repeats it.
        unknown = self._group_kills[group.index] - sum(self._cell_kills[cell] for cell in group.alive)
        if self._cell_kills[culprit] + unknown < _KILLS_MAX:
            return None
        why = f"its worker was lost {_KILLS_MAX} times"
        return _EndedRound(group, [Outcome.failed(culprit, self._request.stage, task.of.number, "killed", why)])

    def _watch(self) -> Iterator[_EndedRound]:
        """Notices workers that have gone, come, or take too long."""
        now = time.monotonic()
        for address, task in list(self._under_way.items()):
            if now > task.ends_at:
                say(f"a round of {task.cells[0].name} has not ended in time: the worker {address} is ended")
                self._cluster.end_worker(address)
        self._workers.refresh()
        for address, task in list(self._under_way.items()):
            if (address not in self._workers.addresses or now > task.ends_at) and (ended := self._lose(task)):
                yield ended
