# SPDX-License-Identifier: BSL-1.0
"""How `advise` spends its seconds: first it chooses among the candidates, then it judges the choice on fresh rounds.

    budget  ├─ record, characterise ─┤├── choosing ──┤├─ combining ─┤├──────────── judging ────────────┤
                                       looked_up       helpers:       5 controls, the chosen plan,
                                       + candidates    all or one     the other helpers alone

Rounds that chose a plan never judge it: the best of several noisy figures looks better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.cells.cell import CONTROLS

VERDICT_ROUNDS = 11
MOST_ROUNDS = 31
CHOOSING_ROUNDS = 7
FEWEST_CHOOSING_ROUNDS = 5
HELPERS_AT_MOST = 4

# Where the budget is short, fewer rounds choose and judge; a verdict from so few needs a large effect, and says so.
SHORT_VERDICT_ROUNDS = 8
SHORT_CHOOSING_ROUNDS = 3
_WORTH_CHOOSING = 3

# A run under a plan takes longer than a bare one: contexts are looked up, and the process is started by another.
_SLOWER = 1.35
_START_SECONDS = 0.01


@dataclass(frozen=True)
class Schedule:
    """`candidates` are tried in `choosing_rounds` rounds each (0: there is no time to choose, the first is taken)."""

    candidates: int
    choosing_rounds: int


def seconds_of_run(bare_seconds: float) -> float:
    """What one round of one contender is expected to take, before any has been seen."""
    return bare_seconds * _SLOWER + _START_SECONDS


def choosing(budget_seconds: float, run_seconds: float, candidates: int) -> Schedule:
    """How many candidates can be tried, and in how many rounds, so that a judgement still fits behind them.

    The warm-up round counts too. With a full judgement behind it where there is room, else with a short one.
    """
    if candidates <= 1:
        return Schedule(candidates, 0)
    affordable = int(budget_seconds / run_seconds)
    left = affordable - VERDICT_ROUNDS * (len(CONTROLS) + 2)
    for rounds in range(CHOOSING_ROUNDS, FEWEST_CHOOSING_ROUNDS - 1, -1):
        if left // (rounds + 1) - 1 >= candidates:
            return Schedule(candidates, rounds)
    for reserved, rounds in (
        (VERDICT_ROUNDS * (len(CONTROLS) + 2), FEWEST_CHOOSING_ROUNDS),
        (SHORT_VERDICT_ROUNDS * (len(CONTROLS) + 1), SHORT_CHOOSING_ROUNDS),
    ):
        tried = (affordable - reserved) // (rounds + 1) - 1
        if tried >= min(candidates, _WORTH_CHOOSING):
            return Schedule(min(candidates, tried), rounds)
    return Schedule(1, 0)


def seconds_of_judgement(run_seconds: float, rounds: int) -> float:
    """What choosing must leave: a whole judgement, or a short one where only short choosing (`rounds`) fitted."""
    if rounds < FEWEST_CHOOSING_ROUNDS:
        return SHORT_VERDICT_ROUNDS * (len(CONTROLS) + 1) * run_seconds
    return VERDICT_ROUNDS * (len(CONTROLS) + 2) * run_seconds


def combining(left_seconds: float, run_seconds: float, helpful: int) -> int:
    """How many rounds compare the helpers together with the best of them alone; 0 where that would cost the verdict."""
    contenders = len(CONTROLS) + 1 + min(helpful, HELPERS_AT_MOST)
    room = int(left_seconds / run_seconds) - VERDICT_ROUNDS * contenders
    return max(0, min(CHOOSING_ROUNDS, room // 2)) if room // 2 >= FEWEST_CHOOSING_ROUNDS else 0


def judging(left_seconds: float, run_seconds: float, contenders: int) -> int:
    """How many judging rounds fit into what is left: VERDICT_ROUNDS or more where possible, 0 where none fits."""
    return max(0, min(int(left_seconds / (contenders * run_seconds)), MOST_ROUNDS))


def helpers(left_seconds: float, run_seconds: float, helpful: int) -> int:
    """How many helpful candidates can also be judged alone without costing the verdict its rounds."""
    room = int(left_seconds / (VERDICT_ROUNDS * run_seconds)) - len(CONTROLS) - 1
    return max(0, min(helpful, room, HELPERS_AT_MOST))
