# SPDX-License-Identifier: BSL-1.0
"""The rounds of one `advise`: which plans are tried, which are judged, and what stands behind each figure.

bare run ─▶ choosing: each candidate against looked_up ─▶ combining: the helpers together against the best alone
         ─▶ judging, on fresh rounds: every control, the chosen plan, the other helpers alone
"""

from __future__ import annotations

import time
from typing import Any

from millpond.advice.advice import Findings
from millpond.advice.effects import (
    COSTS,
    NET,
    PAIRS,
    compare_cells,
    control_cells,
    helpful,
    most_promising,
    plan_cell,
    screen,
    split,
    substantial,
)
from millpond.advice.rows import Tried
from millpond.cells.cell import Cell
from millpond.cells.plans import Plan, combine
from millpond.execution import schedule
from millpond.execution.laboratory import Laboratory, describe, time_limit
from millpond.execution.noise import rounds_json
from millpond.execution.rounds import Listener, by_round, measured_rounds, run_rounds
from millpond.store.round_log import RoundLog
from millpond.system.progress import ProgressReport, say
from millpond.system.wording import plural, seconds_text

_JUDGED_METRICS = ("cpu_seconds", "peak_bytes")


class Advising:
    """The rounds of one `advise`: fills in the findings; every outcome is kept in the log as it comes."""

    def __init__(self, found: Findings, log: RoundLog, laboratory: Laboratory, deadline: float, seed: int) -> None:
        self._found = found
        self._log = log
        self._journal = log.journal
        self._laboratory = laboratory
        self._deadline = deadline
        self._seed = seed
        self._program = found.program
        self._run_seconds = 0.0
        self._listener: Listener = ProgressReport()

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
        bare = self._laboratory.run_bare(Cell(self._program, "bare"))
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
            found.notes.append(
                f"the program {describe(*recorded)} when it was recorded, and {describe(bare.exit_status, 0)} by itself"
            )
        self._laboratory.look_up(found.candidates or [self._empty_plan()])
        self._judge(self._choose())

    def _empty_plan(self) -> Plan:
        """Routes nothing, and tells the controls which of the processes they are about."""
        process = self._found.process.summary.get("process", {})
        return Plan("empty", str(process.get("executable") or ""), str(process.get("build_id") or ""), ())

    def _choose(self) -> list[Plan]:
        """The plans to judge: the one to be advised first, then the single ones that it is made of."""
        found = self._found
        spending = schedule.choosing(self._left(), self._run_seconds, len(found.candidates))
        candidates = found.candidates[: spending.candidates]
        if not spending.choosing_rounds:
            return candidates[:1]
        cells = [Cell(self._program, "looked_up"), *(plan_cell(self._program, p) for p in candidates)]
        say(f"choosing among {plural(len(candidates), 'candidate')}")
        # Runs are often quicker than expected: more rounds than planned, as long as the judgement keeps its time.
        judgement = schedule.seconds_of_judgement(self._run_seconds, spending.choosing_rounds)
        started = time.monotonic()
        outcomes = run_rounds(
            cells, self._laboratory, self._listener, stage="choosing", rounds=schedule.CHOOSING_ROUNDS,
            deadline=self._deadline - judgement, at_least=spending.choosing_rounds, seed=self._seed,
            memory=self._log,
        )  # fmt: skip
        self._run_seconds = (time.monotonic() - started) / max(1, len(outcomes))
        self._note_failures(outcomes)
        screened = screen(outcomes, self._program, candidates)
        by_name = {p.name: p for p in candidates}
        for name, comparisons in screened.items():
            evidence = self._journal.evidence(
                "choosing", [cells[0], plan_cell(self._program, by_name[name])], _JUDGED_METRICS
            )
            found.tried[name] = Tried(by_name[name], comparisons, evidence, judged=False)
        names = helpful(screened)
        helpers = [by_name[name] for name in names]
        if not helpers:
            best = most_promising(screened)
            return [by_name[best]] if best else []
        joined = [by_name[name] for name in substantial(screened, names)]
        chosen = self._best_of(joined) if len(joined) > 1 else joined[0]
        others = [h for h in helpers if h is not chosen]
        return [chosen, *others[: schedule.helpers(self._left(), self._run_seconds, len(others))]]

    def _best_of(self, helpers: list[Plan]) -> Plan:
        """Those that helped, together, unless the best of them alone is faster: what helps alone may not add up."""
        together = combine(helpers, "together")
        rounds = schedule.combining(self._left(), self._run_seconds, len(helpers))
        if rounds == 0:
            return together
        cells = [plan_cell(self._program, p) for p in (together, helpers[0])]
        outcomes = run_rounds(
            cells, self._laboratory, self._listener, stage="combining", rounds=rounds, deadline=self._deadline,
            seed=self._seed + 2, warm_up=False, memory=self._log,
        )  # fmt: skip
        self._note_failures(outcomes)
        compared = compare_cells(outcomes, cells[0], cells[1], "cpu_seconds")
        slower = compared is not None and compared.ratio.median >= 1.01 and compared.p <= 0.15
        return helpers[0] if slower or compared is None else together

    def _judge(self, plans: list[Plan]) -> None:
        """Fresh rounds of the controls and the chosen plans: nothing that chose a plan is used to judge it."""
        found = self._found
        chosen = plans[0] if plans else None
        cells = [*control_cells(self._program), *(plan_cell(self._program, p) for p in plans)]
        rounds = schedule.judging(self._left(), self._run_seconds, len(cells))
        if rounds == 0:
            need = seconds_text(len(cells) * self._run_seconds)
            found.why_no_trial = f"not tried: one round takes about {need}, more than is left of the budget"
            return
        say(f"judging {plural(len(cells), 'contender')}, {plural(rounds, 'round')}")
        outcomes = run_rounds(
            cells, self._laboratory, self._listener, stage="judging", rounds=rounds, deadline=self._deadline,
            seed=self._seed + 1, warm_up=False, memory=self._log,
        )  # fmt: skip
        self._note_failures(outcomes)
        found.chosen = chosen
        found.rounds = measured_rounds(outcomes)
        if found.rounds < schedule.VERDICT_ROUNDS:
            found.notes.append(
                f"the budget allowed {plural(found.rounds, 'judging round')}, fewer than the "
                f"{schedule.VERDICT_ROUNDS} that a verdict should rest on"
            )
        by_metric = {m: list(by_round(outcomes, cells[0], m).values()) for m in _JUDGED_METRICS}
        found.bare = rounds_json(by_metric)
        found.whole = {metric: rounds["median"] for metric, rounds in found.bare.items()}
        singles = [p for p in plans if p.alone]
        found.effects, alone = split(outcomes, self._program, chosen, singles)
        self._point_at_evidence(cells, chosen, singles, alone)

    def _point_at_evidence(
        self, cells: list[Cell], chosen: Plan | None, singles: list[Plan], alone: dict[str, Any]
    ) -> None:
        by_variant = {c.variant: c for c in cells}
        if chosen is not None:
            by_variant["plan"] = plan_cell(self._program, chosen)
        involved = {name: list(pair) for name, pair in (PAIRS | COSTS).items()} | {
            NET: ["plan", "looked_up", "shared", "empty"]
        }
        for name in self._found.effects:
            behind = [by_variant[v] for v in involved[name]]
            self._found.evidence[name] = self._journal.evidence("judging", behind, _JUDGED_METRICS)
        for plan in singles:
            if plan.name in alone:
                behind = [by_variant["looked_up"], plan_cell(self._program, plan)]
                evidence = self._journal.evidence("judging", behind, _JUDGED_METRICS)
                self._found.tried[plan.name] = Tried(plan, alone[plan.name], evidence, judged=True)

    def _note_failures(self, outcomes: list[Any]) -> None:
        failures = sorted({f"{o.cell.name} {o.why}; its rounds are not compared" for o in outcomes if o.status != "ok"})
        self._found.notes += [f for f in failures if f not in self._found.notes]
