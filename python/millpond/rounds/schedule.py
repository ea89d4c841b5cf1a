# SPDX-License-Identifier: BSL-1.0
"""Divides the budget of `advise`: first it chooses among the contenders, then it judges the choice on fresh rounds.

    budget  ├─ record, characterise ─┤├────── choosing ──────┤├─ combining ─┤├─────────── judging ───────────┤
                                       bare, looked_up,        helpers:       bare, a malloc, looked_up, the plan;
                                       mallocs, candidates     all or one     then another malloc, the plan in one
                                                                              pool, helpers, as far as time goes

Rounds that chose a contender never judge it: the best of several noisy figures looks better than it is. If time is
short, one choosing round of all contenders has priority over a judgement of an arbitrary one, and a judgement of few
rounds over none: a slow program gets a verdict from FEWEST_VERDICT_ROUNDS on.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.statistics.order_statistics import FEWEST

VERDICT_ROUNDS = 11
# With fewer rounds there is no verdict.
FEWEST_VERDICT_ROUNDS = FEWEST
# Rather than drop a contender that is always judged, judge with fewer rounds than VERDICT_ROUNDS, down to this number.
FEW_VERDICT_ROUNDS = 6
# After each of these numbers of judging rounds, the judgement ends if the question is decided. If time ends it in
# between, this is not another look.
LOOKS = (VERDICT_ROUNDS, 16, 21, 31)
MOST_ROUNDS = LOOKS[-1]
CHOOSING_ROUNDS = 7
FEWEST_CHOOSING_ROUNDS = 3  # if a whole judgement follows
HELPERS_AT_MOST = 4
# bare, the best malloc, looked_up, the plan, our malloc, the C library's on huge pages
JUDGED = 6
FEWEST_JUDGING_ROUNDS = 3  # with fewer, nothing is chosen
# The first four of JUDGED: without these, there is no verdict on a plan; without the first two, none on a malloc.
JUDGED_AT_LEAST = 4
JUDGED_WITHOUT_PLAN = 2

# The share of the time left after the recording for a second one that observes scopes.
OBSERVING_SHARE = 0.2
# The expected time of that, with all that follows from it, relative to the first recording.
_OBSERVED_FOR_RECORDED = 1.5

# If the user gives no budget, it follows from the program, between these limits: a judgement of so many contenders in
# so many rounds, and a share for replays and for slower runs.
BUDGET_LEAST_SECONDS, BUDGET_MOST_SECONDS = 60.0, 600.0
# The least for the rounds where only huge pages are judged: rounds stop as soon as the question is decided.
BUDGET_WITHOUT_PLAN_SECONDS = 10.0
_FOLLOWING_CONTENDERS, _FOLLOWING_ROUNDS, _FOLLOWING_SHARE = 8, 21, 0.8
_OBSERVING_RUNS = 3

# A run under a plan takes longer than a bare one: contexts are looked up, and another process starts it.
_SLOWER = 1.1
_START_SECONDS = 0.01


@dataclass(frozen=True)
class Schedule:
    """`candidates` are tried in `choosing_rounds` rounds each (0: there is no time to choose, and the first is taken).

    `judged`: the number of contenders for whose judgement time is left, in `verdict_rounds` rounds.
    """

    candidates: int
    choosing_rounds: int
    judged: int
    verdict_rounds: int = VERDICT_ROUNDS


def budget(spent_seconds: float, run_seconds: float, contenders: int) -> float:
    """The default budget of a program: time to choose among that many contenders, and to judge."""
    runs = _OBSERVING_RUNS + FEWEST_CHOOSING_ROUNDS * contenders + _FOLLOWING_CONTENDERS * _FOLLOWING_ROUNDS
    wanted = (spent_seconds + runs * run_seconds) / _FOLLOWING_SHARE
    return min(BUDGET_MOST_SECONDS, max(BUDGET_LEAST_SECONDS, wanted))


def seconds_of_run(bare_seconds: float) -> float:
    """The expected time of one round of one contender, before any has run."""
    return bare_seconds * _SLOWER + _START_SECONDS


def observing(left_seconds: float, bare_seconds: float, recorded_seconds: float) -> float:
    """The time limit of a recording that observes scopes; 0 if it would probably cost the verdict.

    Each run counts as long as a bare one: where time is short, half of the contenders are quicker.
    """
    share = OBSERVING_SHARE * left_seconds
    expected = _OBSERVED_FOR_RECORDED * recorded_seconds
    needed = seconds_of_judgement(bare_seconds, JUDGED_AT_LEAST, FEWEST_VERDICT_ROUNDS)
    return share if expected <= share and left_seconds - expected >= needed else 0.0


def choosing(budget_seconds: float, run_seconds: float, candidates: int, others: int) -> Schedule:
    """The number of candidates that can be tried besides `others`, and of their rounds, if a judgement follows.

    If time is short, it reduces first the choosing rounds, then the contenders judged, then their rounds, then the
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
    # Too little time for a verdict: a first statement about the best contender is better than one about an arbitrary
    # one.
    if runs >= others + candidates + FEWEST_JUDGING_ROUNDS * JUDGED_AT_LEAST:
        return Schedule(candidates, 1, JUDGED_AT_LEAST, FEWEST_JUDGING_ROUNDS)
    return Schedule(min(candidates, 1), 0, JUDGED_AT_LEAST, FEWEST_VERDICT_ROUNDS)


def seconds_of_judgement(run_seconds: float, judged: int = JUDGED, rounds: int = VERDICT_ROUNDS) -> float:
    """The time that choosing must leave for a judgement of that many contenders."""
    return rounds * judged * run_seconds


def judged(left_seconds: float, run_seconds: float, wanted: int, least: int = JUDGED_AT_LEAST) -> int:
    """The number of contenders that are judged, of `wanted`, the most important first: no fewer than a verdict needs.

    JUDGED of them if FEW_VERDICT_ROUNDS fit, more only if VERDICT_ROUNDS do.
    """
    whole, few = (int(left_seconds / (rounds * run_seconds)) for rounds in (VERDICT_ROUNDS, FEW_VERDICT_ROUNDS))
    return min(wanted, max(least, whole, min(few, JUDGED)))


def combining(left_seconds: float, run_seconds: float, helpful: int, plans: int = 2) -> int:
    """The number of rounds that compare `plans` combinations of helpers with one another; 0 if that would cost the
    verdict.
    """
    room = int(left_seconds / run_seconds) - VERDICT_ROUNDS * (JUDGED + min(helpful, HELPERS_AT_MOST))
    return max(0, min(CHOOSING_ROUNDS, room // plans)) if room // plans >= FEWEST_CHOOSING_ROUNDS else 0


def judging(left_seconds: float, run_seconds: float, contenders: int) -> int:
    """The number of judging rounds that fit into the time left: VERDICT_ROUNDS or more if possible, 0 if none fits."""
    return max(0, min(int(left_seconds / (contenders * run_seconds)), MOST_ROUNDS))


def rounds_in(left_seconds: float, run_seconds: float, contenders: int) -> int:
    """The number of rounds of that many contenders that fit into the time, at least one."""
    return max(1, int(left_seconds / (contenders * run_seconds)))


def helpers(left_seconds: float, run_seconds: float, helpful: int) -> int:
    """The number of helpful candidates that can also be judged separately without costing the verdict its rounds."""
    room = int(left_seconds / (VERDICT_ROUNDS * run_seconds)) - JUDGED
    return max(0, min(helpful, room, HELPERS_AT_MOST))
