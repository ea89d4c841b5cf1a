# SPDX-License-Identifier: BSL-1.0
"""Runs the rounds of cells on a noisy machine: interleaved, in changing order, in fresh processes, within a budget.

    warm-up    A B C   x y      round 0: stored, never in a verdict
    round 1    y x   B C A      every cell once a round, so that a slow minute affects all of them equally;
    round 2    C A B   x y      cells that are compared with one another (a group) run next to each other;
      …                         both orders are shuffled by the seed, so that no contender always follows the same one;
                                stops after `rounds`, or if the next whole round would pass the deadline

The runner decides what a round does (`trial_rounds.Laboratory`, a function in tests). The memory
(`round_log.RoundLog`) holds the results of earlier runs and receives outcomes as they come. Pairs stay pairs: of an
earlier run only a group's whole rounds count, and a shard consists of whole rounds too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import asdict

from millpond.cells.cell import Cell, Outcome
from millpond.statistics.order_statistics import MetricSummary, summarise
from millpond.system.errors import Failure, Status


class Runner(Protocol):
    """Runs one round of one cell."""

    def run(self, cell: Cell, stage: str, number: int) -> Outcome: ...


class Listener(Protocol):
    """Receives the progress of the rounds."""

    def begin(self, what: str, total: int) -> None: ...

    def step(self) -> None: ...

    def end(self) -> None: ...


class Silence:
    """A listener that prints nothing."""

    def begin(self, what: str, total: int) -> None: ...

    def step(self) -> None: ...

    def end(self) -> None: ...


class Memory(Protocol):
    """Recalls the outcomes of earlier runs of these rounds, and keeps new outcomes as they come."""

    def recall(self, cells: Sequence[Cell], stage: str) -> list[list[Outcome]]: ...

    def keep(self, outcome: Outcome) -> None: ...


@dataclass(frozen=True)
class Shard:
    """Part `number` of `of` equal parts of a grid, one for each machine. The unit is one round of one group.

    So contenders that are compared run on one machine and in one minute; every machine warms up by itself. All shards
    must get the same cells, rounds and seed. `1/1` is the whole grid.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parses `2/5`. Failure (status 2) for anything else."""
        number, _, of = text.partition("/")
        if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
            return cls(int(number), int(of))
        raise Failure(Status.USAGE, f"--shard {text!r} is not a part; write i/n, for example 1/3, 2/3 and 3/3")

    def has(self, group: int, number: int) -> bool:
        """True if round `number` (from 1) of the group with that index belongs to this part."""
        return (group + number - 1) % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


WHOLE = Shard()
# Parameters that distinguish contenders; all others describe the subject that contenders are compared on. (`sf`: the
# access after shuffling is compared with the access before.)
_OF_CONTENDERS = ("strategy", "toolchain", "malloc", "twin", "sf")


def groups_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Groups the cells that are compared with one another: those of one subject with one set of parameters."""
    found: dict[object, list[Cell]] = {}
    for cell in cells:
        shared = tuple(pair for pair in cell.parameters if pair[0] not in _OF_CONTENDERS)
        found.setdefault((cell.subject, shared), []).append(cell)
    return list(found.values())


def order_of(cells: Sequence[Cell], seed: int, number: int) -> list[Cell]:
    """The order of round `number`: a permutation from the seed."""
    order = list(cells)
    random.Random(f"{seed}/{number}").shuffle(order)
    return order


@dataclass
class Group:
    """The state of cells that are compared: the cells that still run, and the rounds that need not run again."""

    index: int
    alive: list[Cell]
    whole: dict[int, list[Outcome]] = field(default_factory=dict)

    def recall(self, earlier: Sequence[Sequence[Outcome]]) -> None:
        """Takes over the whole rounds of earlier runs, oldest run first. Leaves out cells that were killed in one."""
        cells, dead = set(self.alive), set[Cell]()
        for outcomes in earlier:
            by_number: dict[int, dict[Cell, Outcome]] = {}
            for outcome in outcomes:
                if outcome.cell in cells:
                    by_number.setdefault(outcome.round, {})[outcome.cell] = outcome
            expected = set(cells)
            for number, found in sorted(by_number.items()):
                if number > 0 and expected and expected <= found.keys():
                    self.whole.setdefault(number, list(found.values()))
                killed = [outcome for outcome in found.values() if outcome.status != "ok"]
                if number == 0 and killed:
                    self.whole.setdefault(0, []).extend(killed)
                expected -= {outcome.cell for outcome in killed}
                dead |= {outcome.cell for outcome in killed}
        self.alive = [cell for cell in self.alive if cell not in dead]

    def bury(self, outcome: Outcome) -> None:
        """Drops a cell whose program was killed from the later rounds."""
        if outcome.status != "ok":
            self.alive = [cell for cell in self.alive if cell != outcome.cell]


@dataclass(frozen=True)
class Work:
    """The plan of a grid before its first round: the rounds to run, and the rounds that earlier runs have."""

    groups: list[Group]
    rounds: int
    shard: Shard

    @classmethod
    def of(
        cls, cells: Sequence[Cell], *, stage: str, rounds: int, shard: Shard = WHOLE, memory: Memory | None = None,
        paired: bool = True,
    ) -> Work:  # fmt: skip
        """Asks the memory for stored outcomes. Not `paired`: each cell is a group of its own."""
        alone = [[cell] for cell in dict.fromkeys(cells)]
        groups = [Group(index, members) for index, members in enumerate(groups_of(cells) if paired else alone)]
        earlier = memory.recall(cells, stage) if memory else []
        for group in groups:
            group.recall(earlier)
        return cls(groups, rounds, shard)

    def numbers(self, group: Group) -> list[int]:
        """The measured rounds that this group still needs here."""
        wanted = (n for n in range(1, self.rounds + 1) if n not in group.whole and self.shard.has(group.index, n))
        return list(wanted) if group.alive else []

    def runs(self, *, warm_up: bool) -> int:
        """The number of processes that will be started, if none is killed and time suffices."""
        return sum(len(self.numbers(g)) * len(g.alive) for g in self.groups) + sum(
            len(g.alive) for g in self.groups if warm_up and self.numbers(g)
        )

    def recalled(self) -> list[Outcome]:
        """The outcomes of earlier runs that count, in the order of their rounds."""
        kept = ((n, g.index, o) for g in self.groups for n, found in g.whole.items() if n <= self.rounds for o in found)
        return [outcome for _, _, outcome in sorted(kept, key=lambda item: item[:2])]

    def due(self, number: int, seed: int) -> list[Group]:
        """The groups that run in round `number`, in an order from the seed; in round 0, all that still need rounds."""
        due = [g for g in self.groups if (number in self.numbers(g) if number else self.numbers(g))]
        random.Random(f"groups {seed}/{number}").shuffle(due)
        return due


@dataclass(frozen=True, kw_only=True)
class RoundsRequest:
    """The rounds that are wanted, and when they end.

    `deadline` is in seconds of `clock`; the first `at_least` measured rounds run even past it, up to `at_least_until`,
    and one runs always. After each number of measured rounds in `looks` the rounds end if `is_decided`. `warm_up`: a
    round 0 that no verdict uses.
    """

    stage: str
    rounds: int
    deadline: float = float("inf")
    seed: int = 0
    warm_up: bool = True
    at_least: int = 1
    at_least_until: float = float("inf")
    shard: Shard = WHOLE
    looks: Sequence[int] = ()
    is_decided: Callable[[Sequence[Outcome]], bool] = lambda _: False
    clock: Callable[[], float] = time.monotonic

    def numbers(self) -> range:
        """The numbers of the rounds, with that of the warm-up."""
        return range(0 if self.warm_up else 1, self.rounds + 1)

    def is_over(self, begun: int, longest_seconds: float) -> bool:
        """True if no further round may start: `begun` measured rounds have, and the longest took so many seconds."""
        end = self.deadline if begun >= self.at_least else self.at_least_until
        return begun > 0 and self.clock() + longest_seconds > end

    def is_answered(self, begun: int, outcomes: Sequence[Outcome]) -> bool:
        """True if these rounds are looked at, and the question is decided."""
        return begun in self.looks and self.is_decided(outcomes)


def run_rounds(
    cells: Sequence[Cell], runner: Runner, listener: Listener, request: RoundsRequest, *, memory: Memory | None = None
) -> list[Outcome]:
    """Returns all outcomes: those recalled from earlier runs, then the new ones in the order in which they ran.

    A cell whose program was killed is left out of the later rounds: they would teach nothing more, and they are not
    cheap.
    """
    work = Work.of(cells, stage=request.stage, rounds=request.rounds, shard=request.shard, memory=memory)
    outcomes = work.recalled()
    runs = work.runs(warm_up=request.warm_up)
    begun = measured_rounds(outcomes)
    if not runs or request.is_answered(begun, outcomes):
        return outcomes
    longest = 0.0
    listener.begin(request.stage, runs)
    try:
        for number in request.numbers():
            due = work.due(number, request.seed)
            if due and request.is_over(begun, longest):
                break
            started = request.clock()
            for group in due:
                for cell in order_of(group.alive, request.seed, number):
                    outcome = runner.run(cell, request.stage, number)
                    if memory is not None:
                        memory.keep(outcome)
                    outcomes.append(outcome)
                    group.bury(outcome)
                    listener.step()
            begun += bool(due and number)
            longest = max(longest, request.clock() - started)
            if due and request.is_answered(begun, outcomes):
                break
    finally:
        listener.end()
    return outcomes


def measured_rounds(outcomes: Sequence[Outcome]) -> int:
    """The number of measured rounds that were begun, without the warm-up."""
    return len({o.round for o in outcomes if o.round > 0})


def by_round(outcomes: Sequence[Outcome], cell: Cell, metric: str) -> dict[int, float]:
    """The values of a cell in the measured rounds in which it was ok and has the metric."""
    return {
        o.round: o.values[metric]
        for o in outcomes
        if o.cell == cell and o.round > 0 and o.status == "ok" and metric in o.values
    }


def metric_summaries(outcomes: Sequence[Outcome], cell: Cell, units: Mapping[str, str]) -> dict[str, MetricSummary]:
    """The summary of a cell's measured rounds for each metric; `units`: the metrics with their units. Metrics without
    a value are left out.
    """
    values = {m: list(by_round(outcomes, cell, m).values()) for m in units}
    return {m: MetricSummary(**asdict(summarise(v)), unit=units[m]) for m, v in values.items() if v}
