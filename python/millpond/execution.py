# SPDX-License-Identifier: BSL-1.0
"""Runs the rounds of cells on a noisy machine: interleaved, in changing order, in fresh processes, within a budget.

    warm-up    A B C      round 0: stored, never in a verdict
    round 1    B C A      every contender once a round, so that a slow minute hits all of them alike;
    round 2    C A B      the order is shuffled by the seed, so that no contender always follows the same one
      …                   stops after `rounds`, or where the next whole round would pass the deadline

What a round is made of is the runner's business (`laboratory.Laboratory` in earnest, a function in tests).
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Protocol

from millpond.cells import Cell, Outcome


class Runner(Protocol):
    """Runs one round of one cell."""

    def run(self, cell: Cell, stage: str, number: int) -> Outcome: ...


class Listener(Protocol):
    """Is told how far the rounds are."""

    def begin(self, what: str, total: int) -> None: ...

    def step(self) -> None: ...

    def end(self) -> None: ...


def order_of(cells: Sequence[Cell], seed: int, number: int) -> list[Cell]:
    """The order of round `number`: a permutation that the seed decides."""
    order = list(cells)
    random.Random(f"{seed}/{number}").shuffle(order)
    return order


def run_rounds(
    cells: Sequence[Cell],
    runner: Runner,
    listener: Listener,
    *,
    stage: str,
    rounds: int,
    deadline: float = float("inf"),
    seed: int = 0,
    warm_up: bool = True,
    at_least: int = 1,
    clock: object = time.monotonic,
) -> list[Outcome]:
    """All outcomes in the order in which they ran.

    `deadline` is in seconds of `clock`; the first `at_least` measured rounds run even past it. A cell whose program was
    killed is left out of the later rounds: there is nothing more to learn from it, and its rounds are not cheap.
    """
    now = clock if callable(clock) else time.monotonic
    outcomes: list[Outcome] = []
    alive = list(cells)
    longest = 0.0
    first = 0 if warm_up else 1
    listener.begin(stage, (rounds + 1 - first) * len(alive))
    try:
        for number in range(first, rounds + 1):
            if number > max(at_least, first) and now() + longest > deadline:
                break
            started = now()
            for cell in order_of(alive, seed, number):
                outcomes.append(runner.run(cell, stage, number))
                listener.step()
            longest = max(longest, now() - started)
            alive = [c for c in alive if not any(o.cell == c and o.status != "ok" for o in outcomes)]
            if not alive:
                break
    finally:
        listener.end()
    return outcomes


def measured_rounds(outcomes: Sequence[Outcome]) -> int:
    """How many measured rounds (the warm-up is none) were begun."""
    return len({o.round for o in outcomes if o.round > 0})


def by_round(outcomes: Sequence[Outcome], cell: Cell, metric: str) -> dict[int, float]:
    """The values of a cell in the measured rounds in which it was ok and has the metric."""
    return {
        o.round: o.values[metric]
        for o in outcomes
        if o.cell == cell and o.round > 0 and o.status == "ok" and metric in o.values
    }
