# SPDX-License-Identifier: BSL-1.0
"""How `advise` spends its seconds: first it chooses among the candidates, then it judges the choice on fresh rounds.

    budget  ├─ record, characterise ─┤├── choosing ──┤├───────────── judging ─────────────┤
                                       looked_up       5 controls, the chosen plan,
                                       + candidates    the helpers alone

Rounds that chose a plan never judge it: the best of several noisy figures looks better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.cells import CONTROLS

VERDICT_ROUNDS = 11
MOST_ROUNDS = 31
CHOOSING_ROUNDS = 7
FEWEST_CHOOSING_ROUNDS = 5
HELPERS_AT_MOST = 4

# A run under a plan takes longer than a bare one: contexts are looked up, and the process is started by another.
_SLOWER = 1.35
_START_SECONDS = 0.01


@dataclass(frozen=True)
class Schedule:
    """`candidates` are tried in `choosing_rounds` rounds each (0: there is no time to choose, the first is taken)."""

    candidates: int
    choosing_rounds: int


def seconds_of_run(bare_seconds: float) -> float:
    """What one round of one contender is expected to take."""
    return bare_seconds * _SLOWER + _START_SECONDS


def choosing(budget_seconds: float, bare_seconds: float, candidates: int) -> Schedule:
    """How many candidates can be tried, and in how many rounds, so that a full judgement still fits behind them."""
    if candidates <= 1:
        return Schedule(candidates, 0)
    run = seconds_of_run(bare_seconds)
    judgement = VERDICT_ROUNDS * (len(CONTROLS) + 2) * run
    left = max(budget_seconds - judgement, 0.0)
    for rounds in range(CHOOSING_ROUNDS, FEWEST_CHOOSING_ROUNDS - 1, -1):
        affordable = int(left / run / (rounds + 1)) - 1
        if affordable >= candidates or (rounds == FEWEST_CHOOSING_ROUNDS and affordable >= 2):
            return Schedule(min(candidates, affordable), rounds)
    return Schedule(1, 0)


def judging(left_seconds: float, bare_seconds: float, contenders: int) -> int:
    """How many judging rounds fit into what is left: VERDICT_ROUNDS or more where possible, 0 where none fits."""
    affordable = int(left_seconds / (contenders * seconds_of_run(bare_seconds)))
    return max(0, min(affordable, MOST_ROUNDS))


def helpers(left_seconds: float, bare_seconds: float, helpful: int) -> int:
    """How many helpful candidates can also be judged alone without costing the verdict its rounds."""
    run = seconds_of_run(bare_seconds)
    room = int(left_seconds / (VERDICT_ROUNDS * run)) - len(CONTROLS) - 1
    return max(0, min(helpful, room, HELPERS_AT_MOST))
