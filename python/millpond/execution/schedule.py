# SPDX-License-Identifier: BSL-1.0
"""How `advise` spends its seconds: first it chooses among the contenders, then it judges the choice on fresh rounds.

    budget  ├─ record, characterise ─┤├────── choosing ──────┤├─ combining ─┤├─────────── judging ───────────┤
                                       bare, looked_up,        helpers:       bare, looked_up, the plan, the plan
                                       mallocs, candidates     all or one     in one pool, two mallocs, helpers

Rounds that chose a contender never judge it: the best of several noisy figures looks better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass

VERDICT_ROUNDS = 11
MOST_ROUNDS = 31
CHOOSING_ROUNDS = 7
FEWEST_CHOOSING_ROUNDS = 3
HELPERS_AT_MOST = 4
# bare, looked_up, the plan, the plan in one pool, two mallocs
JUDGED = 6

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


def choosing(budget_seconds: float, run_seconds: float, candidates: int, others: int) -> Schedule:
    """How many candidates can be tried besides `others`, and in how many rounds, with a judgement behind them.

    The warm-up round counts too. Fewer rounds rather than fewer candidates, down to FEWEST_CHOOSING_ROUNDS.
    """
    room = int(budget_seconds / run_seconds) - VERDICT_ROUNDS * JUDGED
    for rounds in range(CHOOSING_ROUNDS, FEWEST_CHOOSING_ROUNDS - 1, -1):
        if room // (rounds + 1) - others >= candidates:
            return Schedule(candidates, rounds)
    tried = room // (FEWEST_CHOOSING_ROUNDS + 1) - others
    if tried > 0:
        return Schedule(tried, FEWEST_CHOOSING_ROUNDS)
    return Schedule(min(candidates, 1), 0)


def seconds_of_judgement(run_seconds: float) -> float:
    """What choosing must leave: a whole judgement."""
    return VERDICT_ROUNDS * JUDGED * run_seconds


def combining(left_seconds: float, run_seconds: float, helpful: int) -> int:
    """How many rounds compare the helpers together with the best of them alone; 0 where that would cost the verdict."""
    room = int(left_seconds / run_seconds) - VERDICT_ROUNDS * (JUDGED + min(helpful, HELPERS_AT_MOST))
    return max(0, min(CHOOSING_ROUNDS, room // 2)) if room // 2 >= FEWEST_CHOOSING_ROUNDS else 0


def judging(left_seconds: float, run_seconds: float, contenders: int) -> int:
    """How many judging rounds fit into what is left: VERDICT_ROUNDS or more where possible, 0 where none fits."""
    return max(0, min(int(left_seconds / (contenders * run_seconds)), MOST_ROUNDS))


def helpers(left_seconds: float, run_seconds: float, helpful: int) -> int:
    """How many helpful candidates can also be judged alone without costing the verdict its rounds."""
    room = int(left_seconds / (VERDICT_ROUNDS * run_seconds)) - JUDGED
    return max(0, min(helpful, room, HELPERS_AT_MOST))
