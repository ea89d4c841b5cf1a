# SPDX-License-Identifier: BSL-1.0
"""Runs the rounds of one `advise`: chooses contenders, judges them in fresh rounds, and records the evidence.

choosing: each candidate plan and each malloc of this machine against the unchanged program
─▶ combining: the plans that helped, together, against the best single one
─▶ judging, on fresh rounds: the chosen plan, the best two mallocs, ours and huge pages, one pool for all
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from millpond.advice import effects, screening
from millpond.advice.advice_state import KeptState, NamedPlan
from millpond.advice.bare_run import BareRun
from millpond.advice.findings import Findings, TriedPlan
from millpond.advice.judged_cells import most_important_first, roles_of_mallocs
from millpond.advice.layout_prediction import mallocs_in_order
from millpond.advice.looks import Looks
from millpond.advice.verdict import quick_estimate
from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.cells.plans import Plan, combine, without_repeats
from millpond.rounds import mallocs, schedule
from millpond.rounds.interleaved_rounds import Listener, RoundsRequest, Work, by_round, measured_rounds, run_rounds
from millpond.rounds.noise import Spread
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.statistics.order_statistics import Comparison
from millpond.store.round_log import RoundLog
from millpond.system.progress import ProgressReport, say
from millpond.system.wording import plural, seconds_text

# The number of combinations of the best helpers that are compared before a judgement, besides all together.
_COMBINED_AT_MOST = 4
# A run can take a fifth of the expected time, so a continued judgement is limited by time, not by rounds.
_QUICKER_AT_MOST = 5
_JUDGED_METRICS = ("cpu_seconds", "peak_bytes")


class AdviceRounds:
    """The rounds of one `advise`. Fills in the findings, and logs every outcome as it comes."""

    def __init__(
        self, found: Findings, log: RoundLog, laboratory: Laboratory, deadline: float, end: float, seed: int,
        kept: KeptState, *, goes_on: bool = False,
    ) -> None:  # fmt: skip
        """`deadline`: when the rounds are to end. `end`: the latest time for further rounds if a verdict lacks them.
        `kept`: the state of an earlier run, updated at each step. `goes_on`: add as many rounds to an existing
        judgement as the time allows.
        """
        self._end = end
        self._kept = kept
        self._goes_on = goes_on
        self._found = found
        self._log = log
        self._journal = log.journal
        self._laboratory = laboratory
        self._deadline = deadline
        self._seed = seed
        self._program = found.program
        self._run_seconds = 0.0
        self._listener: Listener = ProgressReport(deadline)
        tried, found.absent_mallocs = mallocs.contenders()
        found.mallocs = {m.name: m for m in tried}

    def _left(self) -> float:
        return self._deadline - time.monotonic()

    def run(self, bare: BareRun) -> None:
        """Chooses, then judges. `bare` is the run of the unchanged program."""
        found = self._found
        self._run_seconds = schedule.seconds_of_run(bare.seconds)
        self._laboratory.limit_seconds = time_limit(bare.seconds)
        self._laboratory.expected = (bare.exit_status, 0)
        prepare = self._laboratory.look_up if self._kept.steps.chosen is None else self._laboratory.look_up_before_first
        prepare(found.candidates or [self._empty_plan()])
        self._judge(*self._choose())

    def _bare(self) -> Cell:
        return effects.control_cell(self._program, "bare")

    def _malloc(self, name: str) -> Cell:
        return effects.malloc_cell(self._program, self._found.mallocs[name])

    def _empty_plan(self) -> Plan:
        """Returns a plan that routes nothing. It tells the controls which process to measure."""
        process = self._found.process.summary.process
        return Plan("empty", process.executable or "", process.build_id or "", ())

    def _choose(self) -> tuple[list[Plan], list[str]]:
        """Returns the contenders to judge: the plan to advise, then the single plans in it; and the best mallocs."""
        found = self._found
        if found.bound:
            return [], [mallocs.HUGE]
        predicted = found.references.predicted if found.references else None
        names = mallocs_in_order(list(found.mallocs), predicted) if predicted else list(found.mallocs)
        others = 1 + len(names) + (1 if found.candidates else 0)
        spending = schedule.choosing(self._left(), self._run_seconds, len(found.candidates), others)
        steps = self._kept.steps
        found.arenas = {counts.pool: counts for counts in steps.arenas}
        candidates = found.candidates[: spending.candidates if steps.candidates is None else steps.candidates]
        unchosen = not spending.choosing_rounds and steps.candidates is None
        if left_out := len(found.candidates) - (min(len(candidates), 1) if unchosen else len(candidates)):
            found.notes.append(f"{plural(left_out, 'candidate')} had no time to be tried; --budget SECONDS gives more")
        if unchosen:
            return candidates[:1], list(dict.fromkeys([*self._always_judged(), *names]))[:2]
        self._kept.advance(candidates=len(candidates))
        cells = [self._bare(), *(self._malloc(n) for n in names)]
        if candidates:
            cells += [
                effects.control_cell(self._program, "looked_up"),
                *(effects.plan_cell(self._program, p) for p in candidates),
            ]
        if steps.chosen is None:
            say(f"choosing among {plural(len(candidates), 'candidate')} and {plural(len(names), 'malloc')}")
        # Runs are often faster than expected: run more rounds than planned if the judgement still has its time.
        started = time.monotonic()
        outcomes = run_rounds(
            cells,
            self._laboratory,
            self._listener,
            RoundsRequest(
                stage="choosing",
                rounds=steps.choosing_rounds or schedule.CHOOSING_ROUNDS,
                deadline=self._deadline
                - schedule.seconds_of_judgement(self._run_seconds, spending.judged, spending.verdict_rounds),
                at_least=steps.choosing_rounds or spending.choosing_rounds,
                seed=self._seed,
                warm_up=False,
            ),
            memory=self._log,
        )
        self._adopt(outcomes, "choosing")
        self._run_seconds = max((time.monotonic() - started) / max(1, len(outcomes)), self._slow_seconds(outcomes))
        self._note_failures(outcomes)
        self._note_arenas(outcomes)
        self._kept.advance(choosing_rounds=measured_rounds(outcomes), arenas=tuple(found.arenas.values()))
        screened, found.screened_mallocs = screening.screen(outcomes, self._program, candidates, names)
        if estimate := quick_estimate(screened, found.screened_mallocs):
            say(f"quick estimate, {plural(measured_rounds(outcomes), 'round')}: {estimate}")
        by_name = {p.name: p for p in candidates}
        for name, comparisons in screened.items():
            behind = [*self._behind_net(), effects.plan_cell(self._program, by_name[name])]
            evidence = self._journal.evidence("choosing", behind, _JUDGED_METRICS)
            found.tried[name] = TriedPlan(by_name[name], comparisons, evidence, judged=False)
        best = screening.best_mallocs(found.screened_mallocs, self._always_judged())
        if steps.chosen is not None:
            found.unjudged = steps.unjudged
            return [plan.unpacked for plan in steps.chosen], list(steps.mallocs)
        plans = self._plans_to_judge(candidates, screened)
        chosen = tuple(NamedPlan.of(plan) for plan in plans)
        self._kept.advance(chosen=chosen, mallocs=tuple(best), unjudged=found.unjudged)
        return plans, best

    def _plans_to_judge(self, candidates: list[Plan], screened: dict[str, dict[str, Comparison]]) -> list[Plan]:
        """Returns the plan to advise, then the single plans in it."""
        found = self._found
        by_name = {p.name: p for p in candidates}
        barred = {pool for pool, counts in found.arenas.items() if not counts.may_be_proposed}
        excluded = {p.name for p in candidates if any(r.pool in barred for r in p.routes)}
        screened = {name: comparisons for name, comparisons in screened.items() if name not in excluded}
        helping = screening.helpful(screened)
        helpers = [by_name[name] for name in helping]
        if not helpers:
            promising = screening.most_promising(screened)
            if promising is None or self._has_time_for_plan():
                return [by_name[promising]] if promising else []
            # Rounds of a plan that looked no better would take the time for a verdict on the mallocs.
            found.unjudged = promising
            return []
        joined = without_repeats([by_name[name] for name in screening.substantial(screened, helping)])
        chosen = self._best_of(joined) if len(joined) > 1 else joined[0]
        rest = [h for h in helpers if h is not chosen]
        return [chosen, *rest[: schedule.helpers(self._left(), self._run_seconds, len(rest))]]

    def _always_judged(self) -> list[str]:
        """Returns the mallocs that need no change of the source and no installation: ours, and the C library's own."""
        return [name for name in (mallocs.OURS, mallocs.HUGE) if name in self._found.mallocs]

    def _has_time_for_plan(self) -> bool:
        left = self._end - time.monotonic()
        return schedule.judging(left, self._run_seconds, schedule.JUDGED_AT_LEAST) >= schedule.FEWEST_VERDICT_ROUNDS

    def _slow_seconds(self, outcomes: list[Outcome]) -> float:
        """Returns the length of a round of the contenders that every judgement has. Most mallocs are faster, so they do
        not count.
        """
        slow = [v for cell in self._behind_net() for v in by_round(outcomes, cell, "wall_seconds").values()]
        return sum(slow) / len(slow) if slow else 0.0

    def _behind_net(self) -> list[Cell]:
        return [self._bare(), effects.control_cell(self._program, "looked_up")]

    def _best_of(self, helpers: list[Plan]) -> Plan:
        """Returns the best combination of the helpers: the best one, the best two together, and so on; gains may not
        add up.

        Takes the largest combination that is at most 1 % slower than any other. Without time to compare them it takes
        all together; with little time it compares only that with the best one.
        """
        together = combine(helpers, "together")
        between = [combine(helpers[:n], f"best {n}") for n in range(2, min(len(helpers), _COMBINED_AT_MOST))]
        plans = [helpers[0], *between, together]
        rounds = schedule.combining(self._left(), self._run_seconds, len(helpers), len(plans))
        if rounds == 0:
            plans = [helpers[0], together]
            rounds = schedule.combining(self._left(), self._run_seconds, len(helpers))
        if rounds == 0:
            return together
        cells = [effects.plan_cell(self._program, p) for p in plans]
        outcomes = run_rounds(
            [*self._behind_net(), *cells],
            self._laboratory,
            self._listener,
            RoundsRequest(
                stage="combining", rounds=rounds, deadline=self._deadline, seed=self._seed + 2, warm_up=False
            ),
            memory=self._log,
        )
        self._adopt(outcomes, "combining")
        self._note_failures(outcomes)
        compared = [(p, effects.compare_net(outcomes, self._program, p, "cpu_seconds")) for p in plans]
        ratios = [(p, c.median) for p, c in compared if c is not None]
        least = min((ratio for _, ratio in ratios), default=0.0)
        return next((p for p, ratio in reversed(ratios) if ratio < least + 0.01), together)

    def _judge(self, plans: list[Plan], best: list[str]) -> None:
        """Judges the chosen contenders in fresh rounds. The rounds that chose a contender are not used to judge it."""
        found = self._found
        chosen = plans[0] if plans else None
        by_role = effects.roles(self._program, chosen)
        cells = most_important_first(self._program, by_role, plans, [self._malloc(name) for name in best])
        if len(cells) < 2:
            found.why_no_trial = "not tried: no subsystem is large enough, and this machine has no other malloc"
            return
        least = schedule.JUDGED_AT_LEAST if chosen else schedule.JUDGED_WITHOUT_PLAN
        steps = self._kept.steps
        judged_before = steps.judged if steps.chosen is not None else None
        cells = cells[: judged_before or schedule.judged(self._left(), self._run_seconds, len(cells), least)]
        singles = [p for p in plans if p.alone and effects.plan_cell(self._program, p) in cells]
        best = [name for name in best if self._malloc(name) in cells]
        by_name = {name: self._malloc(name) for name in best}
        there = Work.of(cells, stage="judging", rounds=sys.maxsize, memory=self._log).recalled()
        looks = steps.further_looks(measured_rounds(there), goes_on=self._goes_on)
        if not there and schedule.judging(self._left(), self._run_seconds, len(cells)) == 0:
            need = seconds_text(len(cells) * self._run_seconds)
            found.why_no_trial = f"not tried: one round takes about {need}, more than the rest of the budget"
            return
        self._kept.advance(judged=len(cells))

        def split(
            so_far: Sequence[Outcome], plan: Plan | None, alone: list[Plan]
        ) -> tuple[effects.Effects, effects.Effects]:
            by_malloc = roles_of_mallocs(so_far, self._bare(), by_name)
            spent = looks.look(measured_rounds(so_far))
            return effects.split(so_far, self._program, plan, alone, by_malloc, looks=spent)

        outcomes = self._judging_rounds(
            cells, looks, len(there), lambda so_far: effects.is_decided(*split(so_far, chosen, singles))
        )
        self._note_failures(outcomes)
        outcomes = self._looked_at(outcomes, looks)
        found.rounds = measured_rounds(outcomes)
        by_metric = {m: list(by_round(outcomes, cells[0], m).values()) for m in _JUDGED_METRICS}
        found.bare = Spread.each(by_metric)
        found.whole = {metric: rounds.median for metric, rounds in found.bare.items()}
        judged = roles_of_mallocs(outcomes, self._bare(), by_name)
        found.effects, alone = split(outcomes, chosen, singles)
        found.chosen = effects.clearly_best(chosen, singles, found.effects, alone)
        if chosen is not None and found.chosen is not chosen:
            # The choosing rounds were few and noisy, so the advice follows the fresh rounds.
            singles = list(dict.fromkeys([chosen, *singles]))
            by_role = effects.roles(self._program, found.chosen)
            found.effects, alone = split(outcomes, found.chosen, singles)
        self._kept.advance(
            looks=looks.made, spent=looks.look(found.rounds), judged_rounds=found.rounds,
            decided=effects.is_decided(found.effects, alone),
        )  # fmt: skip
        found.plan_against_malloc = alone.pop(effects.AGAINST_MALLOC, {})
        found.judged_mallocs = {n: alone[Malloc(n).label] for n in best if Malloc(n).label in alone}
        found.best_malloc = judged.get("malloc", "")
        self._point_at_evidence(by_role, singles, alone, judged)

    def _judging_rounds(
        self, cells: list[Cell], looks: Looks, there: int, is_decided: Callable[[Sequence[Outcome]], bool]
    ) -> list[Outcome]:
        """Runs the rounds of a judgement. `there`: the number of outcomes from earlier runs."""
        # Runs are often faster than expected: run as many rounds as fit. A verdict comes before replays.
        left = self._end - time.monotonic()
        room = schedule.judging(left, self._run_seconds, len(cells))
        enough = schedule.rounds_in(left, self._run_seconds, len(cells)) * _QUICKER_AT_MOST
        rounds = min(looks.rounds, looks.there + enough) if looks.continues else looks.rounds
        least = max(schedule.FEWEST_VERDICT_ROUNDS, min(room, schedule.VERDICT_ROUNDS))
        if rounds > looks.there:
            at_most = f"at most {plural(rounds, 'round')}"
            many = f"continuing after {plural(looks.there, 'round')}" if looks.there else at_most
            say(f"judging {plural(len(cells), 'contender')}, {many}")
            self._laboratory.look_up_now()
        started = time.monotonic()
        outcomes = run_rounds(
            cells,
            self._laboratory,
            self._listener,
            RoundsRequest(
                stage="judging",
                rounds=rounds,
                deadline=self._deadline,
                at_least=least,
                at_least_until=float("inf") if room >= schedule.FEWEST_VERDICT_ROUNDS else self._end,
                seed=self._seed + 1,
                warm_up=False,
                looks=looks.numbers,
                is_decided=is_decided,
            ),
            memory=self._log,
        )
        each_seconds = (time.monotonic() - started) / max(1, len(outcomes) - there)
        self._found.verdict_seconds = schedule.FEWEST_VERDICT_ROUNDS * len(cells) * each_seconds
        self._found.verdict_lacks_seconds = self._found.verdict_seconds - left
        self._adopt(outcomes, "judging")
        return outcomes

    def _looked_at(self, outcomes: list[Outcome], looks: Looks) -> list[Outcome]:
        """Returns the rounds on which the verdict rests. A note gives the number of rounds kept for the next look."""
        numbers = sorted({o.round for o in outcomes if o.round > 0})
        judged = set(numbers[: looks.judged(len(numbers))])
        after = next((n for n in looks.numbers if n > len(numbers)), 0)
        if len(judged) < len(numbers) and after:
            kept = plural(len(numbers) - len(judged), "round")
            note = f"{kept} more are kept for later: the verdict changes after {after} at the earliest"
            self._found.notes.append(note)
        return [o for o in outcomes if o.round in judged or o.round == 0]

    def _adopt(self, outcomes: list[Outcome], stage: str) -> None:
        """Copies the rounds of earlier runs into this run's file, and notes their number."""
        copied = self._log.adopt(outcomes)
        if copied:
            self._found.earlier[stage] = copied
            say(f"{plural(copied, 'round')} of {stage} from earlier runs")

    def _point_at_evidence(
        self, by_role: dict[str, Cell], singles: list[Plan], alone: effects.Effects, judged: dict[str, str]
    ) -> None:
        cells = by_role | {role: self._malloc(name) for role, name in judged.items()}
        involved = {name: list(pair) for name, pair in (effects.PAIRS | effects.COSTS).items()} | {
            effects.NET: list(effects.BEHIND_NET),
            effects.LOOK_UP_EXTRA: ["looked_up", "bare"],
            effects.POOL_EXTRA: ["plan", "bare"],
        }
        for name in self._found.effects:
            behind = [cells[role] for role in involved[name]]
            self._found.evidence[name] = self._journal.evidence("judging", behind, _JUDGED_METRICS)
        for plan in singles:
            if plan.name in alone:
                behind = [*self._behind_net(), effects.plan_cell(self._program, plan)]
                evidence = self._journal.evidence("judging", behind, _JUDGED_METRICS)
                self._found.tried[plan.name] = TriedPlan(plan, alone[plan.name], evidence, judged=True)

    def _note_arenas(self, outcomes: list[Outcome]) -> None:
        """Notes how often arenas were reset, and the pools that would have held much more memory than was alive in
        them.
        """
        for counts in (pool for outcome in outcomes for pool in outcome.pools):
            before = self._found.arenas.get(counts.pool)
            if before is None or before.may_be_proposed:
                self._found.arenas[counts.pool] = counts

    def _note_failures(self, outcomes: list[Outcome]) -> None:
        failures = sorted({f"{o.cell.name} {o.why}; its rounds are not compared" for o in outcomes if o.status != "ok"})
        self._found.notes += [f for f in failures if f not in self._found.notes]
