# SPDX-License-Identifier: BSL-1.0
"""Chooses the contenders to judge: a few rounds of every candidate plan and of every malloc of this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millpond.advice import effects, screening
from millpond.advice.advice_rounds import AdviceRounds
from millpond.advice.advice_state import NamedPlan
from millpond.advice.layout_prediction import mallocs_in_order
from millpond.advice.recorded_program import RecordedProgram
from millpond.advice.screened_program import ScreenedProgram, TriedPlan
from millpond.advice.verdict_text import quick_estimate
from millpond.cells.cell import Cell, Outcome, PoolCounts
from millpond.cells.metrics import speed_of
from millpond.cells.plans import Plan, combine, without_repeats
from millpond.rounds import mallocs, schedule
from millpond.rounds.interleaved_rounds import RoundsRequest, by_round, measured_rounds
from millpond.statistics.order_statistics import Comparison
from millpond.system.progress import say
from millpond.system.wording import plural

# The number of combinations of the best helpers that are compared before a judgement, besides all together.
_COMBINED_AT_MOST = 4

_Comparisons = Mapping[str, Mapping[str, Comparison]]


@dataclass(frozen=True)
class _Candidates:
    """The plans that time allows, in the order of their promise, and the names of the mallocs."""

    plans: tuple[Plan, ...]
    mallocs: tuple[str, ...]
    spending: schedule.Schedule
    notes: tuple[str, ...]


def choose(recorded: RecordedProgram, rounds: AdviceRounds) -> ScreenedProgram:
    """Runs the choosing rounds; returns the plans and the mallocs to judge. Uses the choice of an earlier run."""
    nothing = ScreenedProgram(recorded, mallocs=rounds.mallocs, absent_mallocs=rounds.absent_mallocs)
    if recorded.bound:
        return replace(nothing, best=(mallocs.HUGE,))
    candidates = _candidates(recorded, rounds)
    if not candidates.spending.choosing_rounds and rounds.kept.steps.candidates is None:
        best = tuple(dict.fromkeys([*rounds.always_judged, *candidates.mallocs]))[:2]
        return replace(nothing, plans=candidates.plans, best=best, notes=candidates.notes)
    rounds.kept.advance(candidates=len(candidates.plans))
    outcomes = _choosing_rounds(candidates, rounds)
    arenas = _arenas(rounds.kept.steps.arenas, outcomes)
    rounds.kept.advance(choosing_rounds=measured_rounds(outcomes), arenas=tuple(arenas.values()))
    plans, others = screening.screen(outcomes, rounds.program, candidates.plans, candidates.mallocs)
    if estimate := quick_estimate(plans, others):
        say(f"quick estimate, {plural(measured_rounds(outcomes), 'round')}: {estimate}")
    steps = rounds.kept.steps
    if steps.chosen is None:
        to_judge, unjudged = _plans_to_judge(candidates.plans, plans, arenas, rounds)
        best = tuple(screening.best_mallocs(others, rounds.always_judged))
        rounds.kept.advance(chosen=tuple(map(NamedPlan.of, to_judge)), mallocs=best, unjudged=unjudged)
    else:
        to_judge, unjudged, best = [plan.unpacked for plan in steps.chosen], steps.unjudged, steps.mallocs
    return replace(
        nothing, plans=tuple(to_judge), best=best, tried=_tried(candidates.plans, plans, rounds),
        screened_mallocs=others, arenas=arenas, unjudged=unjudged, notes=(*candidates.notes, *rounds.failures),
    )  # fmt: skip


def _candidates(recorded: RecordedProgram, rounds: AdviceRounds) -> _Candidates:
    predicted = recorded.references.predicted if recorded.references else None
    names = mallocs_in_order(list(rounds.mallocs), predicted) if predicted else list(rounds.mallocs)
    others = 1 + len(names) + (1 if recorded.candidates else 0)
    spending = schedule.choosing(rounds.left_seconds, rounds.run_seconds, len(recorded.candidates), others)
    before = rounds.kept.steps.candidates
    count = spending.candidates if before is None else before
    if not spending.choosing_rounds and before is None:
        count = min(count, 1)
    plans = recorded.candidates[:count]
    left_out = len(recorded.candidates) - len(plans)
    why = f"{plural(left_out, 'candidate')} had no time to be tried; --budget SECONDS gives more"
    return _Candidates(plans, tuple(names), spending, (why,) if left_out else ())


def _choosing_rounds(candidates: _Candidates, rounds: AdviceRounds) -> list[Outcome]:
    steps, spending = rounds.kept.steps, candidates.spending
    cells = [rounds.bare, *map(rounds.malloc, candidates.mallocs)]
    if candidates.plans:
        cells += [*rounds.behind_net[1:], *map(rounds.plan, candidates.plans)]
    if steps.chosen is None:
        counts = (plural(len(candidates.plans), "candidate"), plural(len(candidates.mallocs), "malloc"))
        say(f"choosing among {' and '.join(counts)}")
    # Runs are often faster than expected: run more rounds than planned if the judgement still has its time. If they are
    # slower, as when other work begins meanwhile, the judgement keeps its time, and a few rounds have to do.
    least = min(spending.choosing_rounds, schedule.FEWEST_CHOOSING_ROUNDS)
    judgement = schedule.seconds_of_judgement(rounds.run_seconds, spending.judged, spending.verdict_rounds)
    started = time.monotonic()
    request = RoundsRequest(
        stage="choosing",
        rounds=steps.choosing_rounds or schedule.CHOOSING_ROUNDS,
        deadline=rounds.deadline - judgement,
        at_least=steps.choosing_rounds or least,
        seed=rounds.seed,
        warm_up=False,
    )
    outcomes = rounds.run(cells, request)
    each_seconds = (time.monotonic() - started) / max(1, len(outcomes))
    rounds.run_seconds = max(each_seconds, _slow_seconds(outcomes, rounds.behind_net))
    return outcomes


def _slow_seconds(outcomes: Sequence[Outcome], cells: Sequence[Cell]) -> float:
    """Returns the length of a round of the contenders that every judgement has. Most mallocs are faster, so they do not
    count.
    """
    slow = [v for cell in cells for v in by_round(outcomes, cell, "wall_seconds").values()]
    return sum(slow) / len(slow) if slow else 0.0


def _arenas(before: Sequence[PoolCounts], outcomes: Sequence[Outcome]) -> dict[str, PoolCounts]:
    """Returns how often arenas were reset; of a pool that once held much more memory than was alive in it, that run."""
    arenas = {counts.pool: counts for counts in before}
    for counts in (pool for outcome in outcomes for pool in outcome.pools):
        known = arenas.get(counts.pool)
        if known is None or known.may_be_proposed:
            arenas[counts.pool] = counts
    return arenas


def _tried(plans: Sequence[Plan], screened: _Comparisons, rounds: AdviceRounds) -> dict[str, TriedPlan]:
    by_name = {p.name: p for p in plans}
    return {
        name: TriedPlan(
            by_name[name], comparisons,
            rounds.evidence("choosing", [*rounds.behind_net, rounds.plan(by_name[name])]), judged=False,
        )
        for name, comparisons in screened.items()
    }  # fmt: skip


def _plans_to_judge(
    candidates: Sequence[Plan], screened: _Comparisons, arenas: Mapping[str, PoolCounts], rounds: AdviceRounds
) -> tuple[list[Plan], str]:
    """Returns the plan to judge, then the single plans in it; and the name of the best plan if none is judged."""
    by_name = {p.name: p for p in candidates}
    barred = {pool for pool, counts in arenas.items() if not counts.may_be_proposed}
    excluded = {p.name for p in candidates if any(r.pool in barred for r in p.routes)}
    screened = {name: comparisons for name, comparisons in screened.items() if name not in excluded}
    helping = screening.helpful(screened)
    helpers = [by_name[name] for name in helping]
    if not helpers:
        promising = screening.most_promising(screened)
        if promising is None or rounds.has_time_for_plan():
            return [by_name[promising]] if promising else [], ""
        # Rounds of a plan that looked no better would take the time for a verdict on the mallocs.
        return [], promising
    joined = without_repeats([by_name[name] for name in screening.substantial(screened, helping)])
    chosen = _best_of(joined, rounds) if len(joined) > 1 else joined[0]
    rest = [h for h in helpers if h is not chosen]
    return [chosen, *rest[: schedule.helpers(rounds.left_seconds, rounds.run_seconds, len(rest))]], ""


def _best_of(helpers: list[Plan], rounds: AdviceRounds) -> Plan:
    """Returns the best combination of the helpers: the best one, the best two together, and so on; gains may not add
    up.

    Takes the largest combination that is at most 1 % slower than any other. Without time to compare them it takes all
    together; with little time it compares only that with the best one.
    """
    together = combine(helpers, "together")
    between = [combine(helpers[:n], f"best {n}") for n in range(2, min(len(helpers), _COMBINED_AT_MOST))]
    plans = [helpers[0], *between, together]
    count = schedule.combining(rounds.left_seconds, rounds.run_seconds, len(helpers), len(plans))
    if count == 0:
        plans = [helpers[0], together]
        count = schedule.combining(rounds.left_seconds, rounds.run_seconds, len(helpers))
    if count == 0:
        return together
    outcomes = rounds.run(
        [*rounds.behind_net, *map(rounds.plan, plans)],
        RoundsRequest(
            stage="combining", rounds=count, deadline=rounds.deadline, seed=rounds.seed + 2, warm_up=False
        ),
    )  # fmt: skip
    metric = speed_of({metric for outcome in outcomes for metric in outcome.values})
    compared = [(p, effects.compare_net(outcomes, rounds.program, p, metric)) for p in plans]
    ratios = [(p, c.median) for p, c in compared if c is not None]
    least = min((ratio for _, ratio in ratios), default=0.0)
    return next((p for p, ratio in reversed(ratios) if ratio < least + 0.01), together)
