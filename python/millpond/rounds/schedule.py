# SPDX-License-Identifier: BSL-1.0
"""How `advise` spends its seconds: first it chooses among the contenders, then it judges the choice on fresh rounds.

    budget  ├─ record, characterise ─┤├────── choosing ──────┤├─ combining ─┤├─────────── judging ───────────┤
                                       bare, looked_up,        helpers:       bare, a malloc, looked_up, the plan;
                                       mallocs, candidates     all or one     then another malloc, the plan in one
                                                                              pool, helpers, as far as time goes

Rounds that chose a contender never judge it: the best of several noisy figures looks better than it is. Where time is
short, a choice on one round of everything is worth more than a judgement of what nobody chose, and a judgement of few
rounds more than none: a slow program has a verdict from FEWEST_VERDICT_ROUNDS on.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.statistics.order_statistics import FEWEST

VERDICT_ROUNDS = 11
# With less there is no verdict.
FEWEST_VERDICT_ROUNDS = FEWEST
# Fewer rounds than VERDICT_ROUNDS, but no fewer than these, rather than a contender less that is always judged.
FEW_VERDICT_ROUNDS = 6
# After so many judging rounds it is looked whether the question is decided. Time may end them in between, which makes
# no look more.
LOOKS = (VERDICT_ROUNDS, 16, 21, 31)
MOST_ROUNDS = LOOKS[-1]
CHOOSING_ROUNDS = 7
FEWEST_CHOOSING_ROUNDS = 3  # with a whole judgement behind them
HELPERS_AT_MOST = 4
# bare, the best malloc, looked_up, the plan, our malloc, the C library's on huge pages
JUDGED = 6
FEWEST_JUDGING_ROUNDS = 3  # below that, nothing is chosen
# The first four of them: no verdict on a plan without these. And the first two: none on a malloc.
JUDGED_AT_LEAST = 4
JUDGED_WITHOUT_PLAN = 2

# Of what is left after the recording, for another one that observes scopes.
OBSERVING_SHARE = 0.2
# What that is expected to take, with all that follows from it, where the first recording took 1.
_OBSERVED_FOR_RECORDED = 1.5

# A budget that nobody gave follows the program, between these: a judgement of so many contenders in so many rounds, and
# a share for replays and for what turns out slower.
BUDGET_LEAST_SECONDS, BUDGET_MOST_SECONDS = 60.0, 600.0
# The least for the rounds where only huge pages are judged: rounds stop as soon as the question is decided.
BUDGET_WITHOUT_PLAN_SECONDS = 10.0
_FOLLOWING_CONTENDERS, _FOLLOWING_ROUNDS, _FOLLOWING_SHARE = 8, 21, 0.8
_OBSERVING_RUNS = 3

# A run under a plan takes longer than a bare one: contexts are looked up, and the process is started by another.
_SLOWER = 1.1
_START_SECONDS = 0.01


@dataclass(frozen=True)
class Schedule:
    """`candidates` are tried in `choosing_rounds` rounds each (0: there is no time to choose, the first is taken).

    `judged`: for how many contenders a judgement is left time, in `verdict_rounds` rounds.
    """

    candidates: int
    choosing_rounds: int
    judged: int
    verdict_rounds: int = VERDICT_ROUNDS


def budget(spent_seconds: float, run_seconds: float, contenders: int) -> float:
    """What a program is given where the user does not say: time to choose among so many contenders, and to judge."""
    runs = _OBSERVING_RUNS + FEWEST_CHOOSING_ROUNDS * contenders + _FOLLOWING_CONTENDERS * _FOLLOWING_ROUNDS
    wanted = (spent_seconds + runs * run_seconds) / _FOLLOWING_SHARE
    return min(BUDGET_MOST_SECONDS, max(BUDGET_LEAST_SECONDS, wanted))


def seconds_of_run(bare_seconds: float) -> float:
    """What one round of one contender is expected to take, before any has been seen."""
    return bare_seconds * _SLOWER + _START_SECONDS


def observing(left_seconds: float, bare_seconds: float, recorded_seconds: float) -> float:
    """How long a recording that observes scopes may take; 0 where that would be expected to cost the verdict.

    Runs count as what a bare one takes: where that matters, half of the contenders are quicker.
    """
    share = OBSERVING_SHARE * left_seconds
    expected = _OBSERVED_FOR_RECORDED * recorded_seconds
    needed = seconds_of_judgement(bare_seconds, JUDGED_AT_LEAST, FEWEST_VERDICT_ROUNDS)
    return share if expected <= share and left_seconds - expected >= needed else 0.0


def choosing(budget_seconds: float, run_seconds: float, candidates: int, others: int) -> Schedule:
    """How many candidates can be tried besides `others`, and in how many rounds, with a judgement behind them.

    Fewer choosing rounds rather than a smaller judgement, that rather than fewer rounds of it, that rather than fewer
    candidates.
    """
    runs = int(budget_seconds / run_seconds)
    for judged, fewest in ((JUDGED, FEWEST_CHOOSING_ROUNDS), (JUDGED_AT_LEAST, 1)):
        room = runs - VERDICT_ROUNDS * judged
        for rounds in range(CHOOSING_ROUNDS, fewest - 1, -1):
            if room // rounds - others >= candidates:
                return Schedule(candidates, rounds, judged)
    for verdict_rounds in (FEW_VERDICT_ROUNDS, FEWEST_VERDICT_ROUNDS):
        for judged in (JUDGED, JUDGED_AT_LEAST):
            if runs - verdict_rounds * judged - others >= candidates:
                return Schedule(candidates, 1, judged, verdict_rounds)
    tried = runs - FEWEST_VERDICT_ROUNDS * JUDGED_AT_LEAST - others
    if tried > 0:
        return Schedule(tried, 1, JUDGED_AT_LEAST, FEWEST_VERDICT_ROUNDS)
    # Too little for a verdict: what can be said so far had better be of the best than of whatever comes first.
    if runs >= others + candidates + FEWEST_JUDGING_ROUNDS * JUDGED_AT_LEAST:
        return Schedule(candidates, 1, JUDGED_AT_LEAST, FEWEST_JUDGING_ROUNDS)
    return Schedule(min(candidates, 1), 0, JUDGED_AT_LEAST, FEWEST_VERDICT_ROUNDS)


def seconds_of_judgement(run_seconds: float, judged: int = JUDGED, rounds: int = VERDICT_ROUNDS) -> float:
    """What choosing must leave: a judgement of so many contenders."""
    return rounds * judged * run_seconds


def judged(left_seconds: float, run_seconds: float, wanted: int, least: int = JUDGED_AT_LEAST) -> int:
    """How many contenders of `wanted`, the most important first, are judged: no fewer than a verdict needs.

    JUDGED of them where FEW_VERDICT_ROUNDS fit, more only where VERDICT_ROUNDS do.
    """
    whole, few = (int(left_seconds / (rounds * run_seconds)) for rounds in (VERDICT_ROUNDS, FEW_VERDICT_ROUNDS))
    return min(wanted, max(least, whole, min(few, JUDGED)))


def combining(left_seconds: float, run_seconds: float, helpful: int, plans: int = 2) -> int:
    """How many rounds compare `plans` combinations of helpers with one another; 0 where that would cost the verdict."""
    room = int(left_seconds / run_seconds) - VERDICT_ROUNDS * (JUDGED + min(helpful, HELPERS_AT_MOST))
    return max(0, min(CHOOSING_ROUNDS, room // plans)) if room // plans >= FEWEST_CHOOSING_ROUNDS else 0


def judging(left_seconds: float, run_seconds: float, contenders: int) -> int:
    """How many judging rounds fit into what is left: VERDICT_ROUNDS or more where possible, 0 where none fits."""
    return max(0, min(int(left_seconds / (contenders * run_seconds)), MOST_ROUNDS))


def rounds_in(left_seconds: float, run_seconds: float, contenders: int) -> int:
    """How many rounds of so many contenders take so long, one at least."""
    return max(1, int(left_seconds / (contenders * run_seconds)))


def helpers(left_seconds: float, run_seconds: float, helpful: int) -> int:
    """How many helpful candidates can also be judged alone without costing the verdict its rounds."""
    room = int(left_seconds / (VERDICT_ROUNDS * run_seconds)) - JUDGED
    return max(0, min(helpful, room, HELPERS_AT_MOST))
