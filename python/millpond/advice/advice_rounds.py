# SPDX-License-Identifier: BSL-1.0
"""The rounds of one `advise`: what is tried, what is judged, and what stands behind each figure.

bare run ─▶ choosing: each candidate plan and each malloc of this machine against the program as it is
         ─▶ combining: the plans that helped together against the best alone
         ─▶ judging, on fresh rounds: the chosen plan, the best two mallocs, ours and huge pages, one pool for all
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from millpond.advice import effects
from millpond.advice.findings import Findings, Tried
from millpond.advice.layout_prediction import mallocs_in_order
from millpond.advice.verdict import quick_estimate
from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.cells.plans import Plan, combine, without_repeats
from millpond.rounds import mallocs, schedule
from millpond.rounds.fresh_process import describe
from millpond.rounds.interleaved_rounds import Listener, by_round, measured_rounds, run_rounds
from millpond.rounds.noise import Spread
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.store.round_log import RoundLog
from millpond.system.progress import ProgressReport, say
from millpond.system.wording import plural, seconds_text

# Combinations of the best helpers that are compared before a judgement, besides all of them.
_COMBINED_AT_MOST = 4
_JUDGED_METRICS = ("cpu_seconds", "peak_bytes")
_CURE = "--prepare COMMAND before each run, or --cwd-copy, gives every run what the first one found"


class Advising:
    """The rounds of one `advise`: fills in the findings; every outcome is kept in the log as it comes."""

    def __init__(
        self, found: Findings, log: RoundLog, laboratory: Laboratory, deadline: float, end: float, seed: int
    ) -> None:
        """`deadline`: when the rounds are to end. `end`: until when they may go on where a verdict lacks rounds."""
        self._end = end
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

    def run(self) -> None:
        """A bare run to learn how the program ends and how long it takes; then choosing, then judging."""
        found = self._found
        if self._left() <= 0:
            took = seconds_text(found.recording.seconds)
            found.why_no_trial = f"not tried: recording took {took}, the whole of the budget; --budget gives more"
            return
        self._laboratory.limit_seconds = time_limit(found.recording.seconds)
        started = time.monotonic()
        bare = self._laboratory.run_bare(self._bare())
        self._log.keep(bare)
        seconds = time.monotonic() - started
        # The recorded run was no quicker: where it was, the machine was busy during this one.
        self._run_seconds = schedule.seconds_of_run(min(seconds, found.recording.seconds))
        self._laboratory.limit_seconds = time_limit(seconds)
        self._laboratory.expected = (bare.exit_status, bare.signal)
        recorded = (found.recording.exit_status, found.recording.signal)
        if bare.signal:
            how = describe(bare.exit_status, bare.signal)
            found.why_no_trial = f"not tried: the program {how}, so that its runs cannot be compared"
            return
        if recorded != (bare.exit_status, bare.signal):
            found.why_no_trial = (
                f"not tried: the program {describe(bare.exit_status, 0)} where the recorded run "
                f"{describe(*recorded)}: a run leaves something behind that changes the next one; {_CURE}"
            )
            return
        self._laboratory.look_up(found.candidates or [self._empty_plan()])
        self._judge(*self._choose())

    def _bare(self) -> Cell:
        return effects.control_cell(self._program, "bare")

    def _malloc(self, name: str) -> Cell:
        return effects.malloc_cell(self._program, self._found.mallocs[name])

    def _empty_plan(self) -> Plan:
        """Routes nothing, and tells the controls which of the processes they are about."""
        process = self._found.process.summary.process
        return Plan("empty", process.executable or "", process.build_id or "", ())

    def _choose(self) -> tuple[list[Plan], list[str]]:
        """What to judge: the plan to be advised, then the single ones that it is made of; and the best mallocs."""
        found = self._found
        if found.bound:
            return [], [mallocs.HUGE]
        predicted = found.references.predicted if found.references else None
        names = mallocs_in_order(list(found.mallocs), predicted) if predicted else list(found.mallocs)
        others = 1 + len(names) + (1 if found.candidates else 0)
        spending = schedule.choosing(self._left(), self._run_seconds, len(found.candidates), others)
        candidates = found.candidates[: spending.candidates]
        if not spending.choosing_rounds:
            return candidates[:1], list(dict.fromkeys([*self._always_judged(), *names]))[:2]
        cells = [self._bare(), *(self._malloc(n) for n in names)]
        if candidates:
            cells += [
                effects.control_cell(self._program, "looked_up"),
                *(effects.plan_cell(self._program, p) for p in candidates),
            ]
        say(f"choosing among {plural(len(candidates), 'candidate')} and {plural(len(names), 'malloc')}")
        # Runs are often quicker than expected: more rounds than planned, as long as the judgement keeps its time.
        started = time.monotonic()
        outcomes = run_rounds(
            cells, self._laboratory, self._listener, stage="choosing", rounds=schedule.CHOOSING_ROUNDS,
            deadline=self._deadline
            - schedule.seconds_of_judgement(self._run_seconds, spending.judged, spending.verdict_rounds),
            at_least=spending.choosing_rounds, seed=self._seed, warm_up=False, memory=self._log,
        )  # fmt: skip
        self._run_seconds = max((time.monotonic() - started) / max(1, len(outcomes)), self._slow_seconds(outcomes))
        self._note_failures(outcomes)
        self._note_arenas(outcomes)
        screened, found.screened_mallocs = effects.screen(outcomes, self._program, candidates, names)
        if estimate := quick_estimate(screened, found.screened_mallocs):
            say(f"quick estimate, {plural(measured_rounds(outcomes), 'round')}: {estimate}")
        by_name = {p.name: p for p in candidates}
        for name, comparisons in screened.items():
            behind = [*self._behind_net(), effects.plan_cell(self._program, by_name[name])]
            evidence = self._journal.evidence("choosing", behind, _JUDGED_METRICS)
            found.tried[name] = Tried(by_name[name], comparisons, evidence, judged=False)
        best = effects.best_mallocs(found.screened_mallocs, self._always_judged())
        barred = {pool for pool, counts in found.arenas.items() if not counts.may_be_proposed}
        excluded = {p.name for p in candidates if any(r.pool in barred for r in p.routes)}
        screened = {name: comparisons for name, comparisons in screened.items() if name not in excluded}
        helping = effects.helpful(screened)
        helpers = [by_name[name] for name in helping]
        if not helpers:
            promising = effects.most_promising(screened)
            if promising is None or self._has_time_for_plan():
                return [by_name[promising]] if promising else [], best
            # Rounds of a plan that looked no better would cost the mallocs their verdict.
            found.unjudged = promising
            return [], best
        joined = without_repeats([by_name[name] for name in effects.substantial(screened, helping)])
        chosen = self._best_of(joined) if len(joined) > 1 else joined[0]
        rest = [h for h in helpers if h is not chosen]
        return [chosen, *rest[: schedule.helpers(self._left(), self._run_seconds, len(rest))]], best

    def _always_judged(self) -> list[str]:
        """What needs no change of the source and no other malloc on the machine: ours, and the C library's own."""
        return [name for name in (mallocs.OURS, mallocs.HUGE) if name in self._found.mallocs]

    def _has_time_for_plan(self) -> bool:
        left = self._end - time.monotonic()
        return schedule.judging(left, self._run_seconds, schedule.JUDGED_AT_LEAST) >= schedule.FEWEST_VERDICT_ROUNDS

    def _slow_seconds(self, outcomes: list[Outcome]) -> float:
        """What a round of those takes that every judgement has: many a malloc is faster, and is not judged."""
        slow = [v for cell in self._behind_net() for v in by_round(outcomes, cell, "wall_seconds").values()]
        return sum(slow) / len(slow) if slow else 0.0

    def _behind_net(self) -> list[Cell]:
        return [self._bare(), effects.control_cell(self._program, "looked_up")]

    def _best_of(self, helpers: list[Plan]) -> Plan:
        """The best alone, the best two together, and so on: what helps alone may not add up.

        Of these the largest that is not slower than any other by a hundredth. Where there is no time to compare them,
        all together; where there is little, only that and the best alone.
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
            [*self._behind_net(), *cells], self._laboratory, self._listener, stage="combining", rounds=rounds,
            deadline=self._deadline, seed=self._seed + 2, warm_up=False, memory=self._log,
        )  # fmt: skip
        self._note_failures(outcomes)
        compared = [(p, effects.compare_net(outcomes, self._program, p, "cpu_seconds")) for p in plans]
        ratios = [(p, c.median) for p, c in compared if c is not None]
        least = min((ratio for _, ratio in ratios), default=0.0)
        return next((p for p, ratio in reversed(ratios) if ratio < least + 0.01), together)

    def _judge(self, plans: list[Plan], best: list[str]) -> None:
        """Fresh rounds of the chosen contenders: nothing that chose one is used to judge it."""
        found = self._found
        chosen = plans[0] if plans else None
        by_role = effects.roles(self._program, chosen)
        cells = self._most_important_first(by_role, plans, best)
        if len(cells) < 2:
            found.why_no_trial = "not tried: no subsystem is large enough, and this machine has no other malloc"
            return
        least = schedule.JUDGED_AT_LEAST if chosen else schedule.JUDGED_WITHOUT_PLAN
        cells = cells[: schedule.judged(self._left(), self._run_seconds, len(cells), least)]
        singles = [p for p in plans if p.alone and effects.plan_cell(self._program, p) in cells]
        best = [name for name in best if self._malloc(name) in cells]
        if schedule.judging(self._left(), self._run_seconds, len(cells)) == 0:
            need = seconds_text(len(cells) * self._run_seconds)
            found.why_no_trial = f"not tried: one round takes about {need}, more than is left of the budget"
            return
        # Runs are often quicker than expected: as many rounds as the time has room for. A verdict comes before replays.
        left = self._end - time.monotonic()
        room = schedule.judging(left, self._run_seconds, len(cells))
        say(f"judging {plural(len(cells), 'contender')}, at most {plural(schedule.MOST_ROUNDS, 'round')}")
        started = time.monotonic()
        outcomes = run_rounds(
            cells, self._laboratory, self._listener, stage="judging", rounds=schedule.MOST_ROUNDS,
            deadline=self._deadline, at_least=max(schedule.FEWEST_VERDICT_ROUNDS, min(room, schedule.VERDICT_ROUNDS)),
            at_least_until=float("inf") if room >= schedule.FEWEST_VERDICT_ROUNDS else self._end,
            seed=self._seed + 1, warm_up=False, memory=self._log, looks=schedule.LOOKS,
            is_decided=lambda so_far: effects.is_decided(*self._split(so_far, chosen, singles, best)),
        )  # fmt: skip
        each_seconds = (time.monotonic() - started) / max(1, len(outcomes))
        found.verdict_seconds = schedule.FEWEST_VERDICT_ROUNDS * len(cells) * each_seconds
        found.verdict_lacks_seconds = found.verdict_seconds - left
        self._note_failures(outcomes)
        found.chosen = chosen
        found.rounds = measured_rounds(outcomes)
        by_metric = {m: list(by_round(outcomes, cells[0], m).values()) for m in _JUDGED_METRICS}
        found.bare = Spread.each(by_metric)
        found.whole = {metric: rounds.median for metric, rounds in found.bare.items()}
        judged = self._roles_of_mallocs(outcomes, best)
        found.effects, alone = self._split(outcomes, chosen, singles, best)
        found.plan_against_malloc = alone.pop(effects.AGAINST_MALLOC, {})
        found.judged_mallocs = {n: alone[Malloc(n).label] for n in best if Malloc(n).label in alone}
        found.best_malloc = judged.get("malloc", "")
        self._point_at_evidence(by_role, chosen, singles, alone, judged)

    def _split(
        self, outcomes: Sequence[Outcome], chosen: Plan | None, singles: list[Plan], best: list[str]
    ) -> tuple[effects.Effects, effects.Effects]:
        by_role = self._roles_of_mallocs(outcomes, best)
        # Below the first look time has ended the rounds, which is the only look then.
        looks = len(schedule.LOOKS) if measured_rounds(outcomes) >= schedule.LOOKS[0] else 1
        return effects.split(outcomes, self._program, chosen, singles, by_role, looks=looks)

    def _roles_of_mallocs(self, outcomes: Sequence[Outcome], best: list[str]) -> dict[str, str]:
        """Role → malloc: the one with the least CPU in the judged rounds is the best; huge pages have a role too."""

        ratios = {
            name: found.median
            for name in best
            if (found := effects.compare_cells(outcomes, self._malloc(name), self._bare(), "cpu_seconds"))
        }
        ranked = sorted(ratios, key=lambda name: ratios[name])
        by_role = {"malloc": ranked[0]} if ranked else {}
        by_role |= {f"malloc {n}": name for n, name in enumerate(ranked[1:], 2)}
        if mallocs.HUGE in ranked:
            by_role["huge"] = mallocs.HUGE
        return by_role

    def _most_important_first(self, by_role: dict[str, Cell], plans: list[Plan], best: list[str]) -> list[Cell]:
        """The contenders of a judgement. Those at the end are left out where time is short."""
        mallocs_cells = [self._malloc(name) for name in best]
        under_plan = [by_role[role] for role in ("looked_up", "plan") if "plan" in by_role]
        cells = [by_role["bare"], *mallocs_cells[:1], *under_plan, *mallocs_cells[1:]]
        cells += [by_role["merged"]] if "merged" in by_role else []
        return cells + [effects.plan_cell(self._program, p) for p in plans[1:]]

    def _point_at_evidence(
        self, by_role: dict[str, Cell], chosen: Plan | None, singles: list[Plan], alone: effects.Effects,
        judged: dict[str, str],
    ) -> None:  # fmt: skip
        cells = by_role | {role: self._malloc(name) for role, name in judged.items()}
        involved = {name: list(pair) for name, pair in (effects.PAIRS | effects.COSTS).items()} | {
            effects.NET: list(effects.BEHIND_NET),
            effects.POOL_EXTRA: ["plan", "bare"],
        }
        for name in self._found.effects:
            behind = [cells[role] for role in involved[name]]
            self._found.evidence[name] = self._journal.evidence("judging", behind, _JUDGED_METRICS)
        for plan in singles:
            if plan.name in alone:
                behind = [*self._behind_net(), effects.plan_cell(self._program, plan)]
                evidence = self._journal.evidence("judging", behind, _JUDGED_METRICS)
                self._found.tried[plan.name] = Tried(plan, alone[plan.name], evidence, judged=True)

    def _note_arenas(self, outcomes: list[Outcome]) -> None:
        """How often arenas were reset, and which pools would have held much more than was alive in them."""
        for counts in (pool for outcome in outcomes for pool in outcome.pools):
            before = self._found.arenas.get(counts.pool)
            if before is None or before.may_be_proposed:
                self._found.arenas[counts.pool] = counts

    def _note_failures(self, outcomes: list[Outcome]) -> None:
        failures = sorted({f"{o.cell.name} {o.why}; its rounds are not compared" for o in outcomes if o.status != "ok"})
        self._found.notes += [f for f in failures if f not in self._found.notes]
