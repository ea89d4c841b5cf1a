# SPDX-License-Identifier: BSL-1.0
"""Judges the chosen contenders in fresh rounds. The rounds that chose a contender are not used to judge it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from millpond.advice import effects
from millpond.advice.advice_rounds import JUDGED_METRICS, AdviceRounds
from millpond.advice.judged_cells import most_important_first, roles_of_mallocs
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.looks import Looks
from millpond.advice.screened_program import ScreenedProgram, TriedPlan
from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.cells.plans import Plan
from millpond.rounds import schedule
from millpond.rounds.interleaved_rounds import RoundsRequest, Work, by_round, measured_rounds
from millpond.rounds.noise import Spread
from millpond.system.progress import say
from millpond.system.wording import plural, seconds_text

# A run can take a fifth of the expected time, so a continued judgement is limited by time, not by rounds.
_QUICKER_AT_MOST = 5


@dataclass(frozen=True)
class _Contenders:
    """The cells of a judgement: `singles` are the plans of single subsystems, `mallocs` are by name."""

    cells: list[Cell]
    singles: list[Plan]
    mallocs: dict[str, Cell]


def judge(screened: ScreenedProgram, rounds: AdviceRounds) -> JudgedProgram:
    """Runs the judging rounds; returns the effects, those of the plan with clearly the least CPU."""
    chosen = screened.plans[0] if screened.plans else None
    contenders = _contenders(screened, chosen, rounds)
    cells, singles = contenders.cells, contenders.singles
    if len(cells) < 2:
        why = "not tried: no subsystem is large enough, and this machine has no other malloc"
        return JudgedProgram(screened, why_not_judged=why)
    there = Work.of(cells, stage="judging", rounds=sys.maxsize, memory=rounds.log).recalled()
    looks = rounds.kept.steps.further_looks(measured_rounds(there), goes_on=rounds.goes_on)
    if not there and schedule.judging(rounds.left_seconds, rounds.run_seconds, len(cells)) == 0:
        need = seconds_text(len(cells) * rounds.run_seconds)
        why = f"not tried: one round takes about {need}, more than the rest of the budget"
        return JudgedProgram(screened, why_not_judged=why)
    rounds.kept.advance(judged=len(cells))

    def split(
        so_far: Sequence[Outcome], plan: Plan | None, alone: list[Plan]
    ) -> tuple[effects.Effects, effects.Effects]:
        by_malloc = roles_of_mallocs(so_far, rounds.bare, contenders.mallocs)
        spent = looks.look(measured_rounds(so_far))
        return effects.split(so_far, rounds.program, plan, alone, by_malloc, looks=spent)

    left_seconds, started = rounds.end - time.monotonic(), time.monotonic()
    outcomes = _judging_rounds(
        cells, looks, left_seconds, lambda so_far: effects.is_decided(*split(so_far, chosen, singles)), rounds
    )
    each_seconds = (time.monotonic() - started) / max(1, len(outcomes) - len(there))
    outcomes, notes = _looked_at(outcomes, looks)
    by_effect, alone = split(outcomes, chosen, singles)
    best = effects.clearly_best(chosen, singles, by_effect, alone)
    if chosen is not None and best is not chosen:
        # The choosing rounds were few and noisy, so the advice follows the fresh rounds.
        singles = list(dict.fromkeys([chosen, *singles]))
        by_effect, alone = split(outcomes, best, singles)
    count = measured_rounds(outcomes)
    rounds.kept.advance(
        looks=looks.made, spent=looks.look(count), judged_rounds=count, decided=effects.is_decided(by_effect, alone)
    )
    bare = Spread.each({m: list(by_round(outcomes, rounds.bare, m).values()) for m in JUDGED_METRICS})
    roles = roles_of_mallocs(outcomes, rounds.bare, contenders.mallocs)
    verdict_seconds = schedule.FEWEST_VERDICT_ROUNDS * len(cells) * each_seconds
    return JudgedProgram(
        screened, best, by_effect, _evidence(by_effect, best, roles, rounds),
        tried_alone=_tried_alone(singles, alone, rounds),
        judged_mallocs={n: alone[Malloc(n).label] for n in contenders.mallocs if Malloc(n).label in alone},
        best_malloc=roles.get("malloc", ""),
        plan_against_malloc=alone.get(effects.AGAINST_MALLOC, {}),
        rounds=count, bare=bare, whole={metric: spread.median for metric, spread in bare.items()},
        verdict_seconds=verdict_seconds, verdict_lacks_seconds=verdict_seconds - left_seconds,
        notes=(*rounds.failures, *notes),
    )  # fmt: skip


def _contenders(screened: ScreenedProgram, chosen: Plan | None, rounds: AdviceRounds) -> _Contenders:
    """Returns the contenders that time allows, or those of an earlier run's judgement."""
    by_role = effects.roles(rounds.program, chosen)
    by_name = {name: rounds.malloc(name) for name in screened.best}
    cells = most_important_first(rounds.program, by_role, screened.plans, list(by_name.values()))
    steps = rounds.kept.steps
    before = steps.judged if steps.chosen is not None else None
    least = schedule.JUDGED_AT_LEAST if chosen else schedule.JUDGED_WITHOUT_PLAN
    cells = cells[: before or schedule.judged(rounds.left_seconds, rounds.run_seconds, len(cells), least)]
    singles = [p for p in screened.plans if p.alone and rounds.plan(p) in cells]
    return _Contenders(cells, singles, {name: cell for name, cell in by_name.items() if cell in cells})


def _judging_rounds(
    cells: list[Cell], looks: Looks, left_seconds: float, is_decided: Callable[[Sequence[Outcome]], bool],
    rounds: AdviceRounds,
) -> list[Outcome]:  # fmt: skip
    """Runs the rounds of a judgement. A verdict comes before replays."""
    # Runs are often faster than expected: run as many rounds as fit.
    room = schedule.judging(left_seconds, rounds.run_seconds, len(cells))
    enough = schedule.rounds_in(left_seconds, rounds.run_seconds, len(cells)) * _QUICKER_AT_MOST
    count = min(looks.rounds, looks.there + enough) if looks.continues else looks.rounds
    if count > looks.there:
        at_most = f"at most {plural(count, 'round')}"
        many = f"continuing after {plural(looks.there, 'round')}" if looks.there else at_most
        say(f"judging {plural(len(cells), 'contender')}, {many}")
        rounds.laboratory.look_up_now()
    return rounds.run(
        cells,
        RoundsRequest(
            stage="judging",
            rounds=count,
            deadline=rounds.deadline,
            at_least=max(schedule.FEWEST_VERDICT_ROUNDS, min(room, schedule.VERDICT_ROUNDS)),
            at_least_until=float("inf") if room >= schedule.FEWEST_VERDICT_ROUNDS else rounds.end,
            seed=rounds.seed + 1,
            warm_up=False,
            looks=looks.numbers,
            is_decided=is_decided,
        ),
    )


def _looked_at(outcomes: list[Outcome], looks: Looks) -> tuple[list[Outcome], tuple[str, ...]]:
    """Returns the rounds on which the verdict rests. A note gives the number of rounds kept for the next look."""
    numbers = sorted({o.round for o in outcomes if o.round > 0})
    judged = set(numbers[: looks.judged(len(numbers))])
    after = next((n for n in looks.numbers if n > len(numbers)), 0)
    notes = []
    if len(judged) < len(numbers) and after:
        kept = plural(len(numbers) - len(judged), "round")
        notes.append(f"{kept} more are kept for later: the verdict changes after {after} at the earliest")
    return [o for o in outcomes if o.round in judged or o.round == 0], tuple(notes)


def _evidence(
    by_effect: effects.Effects, plan: Plan | None, mallocs: Mapping[str, str], rounds: AdviceRounds
) -> dict[str, list[str]]:
    """Returns the observations behind each effect."""
    cells = effects.roles(rounds.program, plan) | {role: rounds.malloc(name) for role, name in mallocs.items()}
    involved = {name: list(pair) for name, pair in (effects.PAIRS | effects.COSTS).items()} | {
        effects.NET: list(effects.BEHIND_NET),
        effects.LOOK_UP_EXTRA: ["looked_up", "bare"],
        effects.POOL_EXTRA: ["plan", "bare"],
    }
    return {name: rounds.evidence("judging", [cells[role] for role in involved[name]]) for name in by_effect}


def _tried_alone(plans: Sequence[Plan], alone: effects.Effects, rounds: AdviceRounds) -> dict[str, TriedPlan]:
    return {
        plan.name: TriedPlan(
            plan, alone[plan.name], rounds.evidence("judging", [*rounds.behind_net, rounds.plan(plan)]), judged=True
        )
        for plan in plans
        if plan.name in alone
    }
