# SPDX-License-Identifier: BSL-1.0
"""`millpond advise -- PROGRAM ARGS`: the main job, from an unmodified program to a verdict with its evidence.

record ─▶ the process that allocated most ─▶ characterise ─▶ candidate plans
       ─▶ choosing rounds: each large subsystem alone ─▶ those that helped, together
       ─▶ judging rounds, fresh: every control, the chosen plan, the helpers alone ─▶ verdict
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond import machine, output, recording, schedule
from millpond.advice import Findings, document
from millpond.arguments import CommandLine, program_of
from millpond.cells import Cell
from millpond.characterise import Json
from millpond.effects import NET, PAIRS, control_cells, helpful, most_promising, plan_cell, screen, split
from millpond.execution import Listener, measured_rounds, run_rounds
from millpond.laboratory import Laboratory, describe
from millpond.observations import Journal
from millpond.plans import Plan, combine
from millpond.progress import ProgressReport, say
from millpond.rows import Tried
from millpond.standard_input import StandardInput
from millpond.store import DEFAULT, Store
from millpond.trial import time_limit
from millpond.wording import plural, seconds_text

_JUDGED_METRICS = ("cpu_seconds", "peak_bytes")


@dataclass(frozen=True)
class Options:
    """What the user decides. `budget_seconds` is for everything, recording included; `process` is a number from 1."""

    budget_seconds: float = 120.0
    process: int | None = None
    store: Path = DEFAULT
    seed: int = 1


def command(
    context: typer.Context,
    program: Annotated[list[str] | None, typer.Argument(metavar="-- PROGRAM ARGS...", show_default=False)] = None,
    budget: Annotated[float, typer.Option(metavar="SECONDS", min=0.0, help="For everything together.")] = 120.0,
    process: Annotated[
        int | None, typer.Option(metavar="N", help="Analyse the N-th process, not the one that allocated most.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Where the observations are kept.")] = DEFAULT,
    json: Json = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the tables as a page.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Decides the order of the rounds.")] = 1,
) -> None:
    """Say where a local allocator would pay in a program, and how much, or that none does."""
    line: CommandLine = context.obj
    argv = program_of("advise", line, program)
    output.prove_writable(json)
    output.prove_writable(str(html) if html else None)
    advice = advise(argv, Options(budget, process, store, seed))
    if json is not None:
        output.write_json(advice, json)
    if html is not None:
        from millpond.report import write_report

        write_report(html, [advice])
    if json != "-":
        from millpond import terminal

        terminal.print_advice(advice, terminal.console())


def advise(program: tuple[str, ...], options: Options) -> dict[str, Any]:
    """The whole job; returns the advice ("millpond.advice/1"). Failure (shared statuses) where it cannot be done."""
    deadline = time.monotonic() + options.budget_seconds
    store = Store(options.store)
    store.prepare()
    with tempfile.TemporaryDirectory(prefix="millpond-") as name:
        folder = Path(name)
        stdin = StandardInput(folder)
        say(f"recording {program[0]}")
        found = _record(program, folder, stdin, options)
        journal = Journal("advise", program)
        _note_counts(found, journal)
        if not found.why_no_trial:
            Advising(found, journal, Laboratory(folder, program, stdin, options.seed), deadline, options.seed).run()
        if journal.rows:
            store.write(journal)
        return {**document(found), "machine": str(machine.this_machine()), "run": journal.run, "seed": options.seed}


def _record(program: tuple[str, ...], folder: Path, stdin: StandardInput, options: Options) -> Findings:
    recorded = recording.record(program, folder, stdin)
    chosen = recording.choose(recorded.processes, options.process)
    found = Findings(program, recorded, chosen)
    if not chosen.summary.get("trace", {}).get("events"):
        found.why_no_trial = "not tried: the program has no heap events"
        return found
    found.characterisation, found.candidates = recording.characterise(chosen, folder)
    if recorded.signal:
        how = describe(recorded.exit_status, recorded.signal)
        found.why_no_trial = f"not tried: the program {how}, so that its runs cannot be compared"
    elif not found.candidates:
        found.notes.append("no subsystem is large enough to be tried alone")
    return found


def _note_counts(found: Findings, journal: Journal) -> None:
    """Makes observations of what the trace says of each subsystem, so that rows can point at them."""
    for s in found.characterisation.get("subsystems", []):
        name = s["name"]
        ids = [
            journal.add_counted(name, metric, unit, s.get(metric), "counted")
            for metric, unit in (("events", "events"), ("bytes", "bytes"), ("peak_live_bytes", "bytes"))
        ]
        for letter, d in (s.get("dvluc") or {}).items():
            kind, why = d.get("kind") or "estimated", d.get("why_null") or ""
            ids.append(journal.add_counted(name, letter, "share", d.get("value"), kind, why))
        found.counted[name] = ids


class Advising:
    """The rounds of one `advise`: fills in the findings and the journal."""

    def __init__(self, found: Findings, journal: Journal, laboratory: Laboratory, deadline: float, seed: int) -> None:
        self._found = found
        self._journal = journal
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
        self._journal.add_outcomes([bare])
        seconds = time.monotonic() - started
        self._run_seconds = schedule.seconds_of_run(seconds)
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
        say(f"choosing among {plural(len(candidates), 'candidate')}, {plural(spending.choosing_rounds, 'round')}")
        started = time.monotonic()
        outcomes = run_rounds(
            cells, self._laboratory, self._listener, stage="choosing", rounds=spending.choosing_rounds,
            deadline=self._deadline, seed=self._seed,
        )  # fmt: skip
        self._run_seconds = (time.monotonic() - started) / max(1, len(outcomes))
        self._journal.add_outcomes(outcomes)
        self._note_failures(outcomes)
        screened = screen(outcomes, self._program, candidates, self._seed)
        by_name = {p.name: p for p in candidates}
        for name, comparisons in screened.items():
            evidence = self._journal.evidence(
                "choosing", [cells[0], plan_cell(self._program, by_name[name])], _JUDGED_METRICS
            )
            found.tried[name] = Tried(by_name[name], comparisons, evidence, judged=False)
        helpers = [by_name[name] for name in helpful(screened)]
        if not helpers:
            best = most_promising(screened)
            return [by_name[best]] if best else []
        room = schedule.helpers(self._left(), self._run_seconds, len(helpers))
        together = combine(helpers, "together") if len(helpers) > 1 else helpers[0]
        return [together, *(h for h in helpers[:room] if h is not together)]

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
            seed=self._seed + 1, warm_up=False,
        )  # fmt: skip
        self._journal.add_outcomes(outcomes)
        self._note_failures(outcomes)
        found.chosen = chosen
        found.rounds = measured_rounds(outcomes)
        if found.rounds < schedule.VERDICT_ROUNDS:
            found.notes.append(
                f"the budget allowed {plural(found.rounds, 'judging round')}, fewer than the "
                f"{schedule.VERDICT_ROUNDS} that a verdict should rest on"
            )
        singles = [p for p in plans if p.alone]
        found.effects, alone = split(outcomes, self._program, chosen, singles, self._seed)
        self._point_at_evidence(cells, chosen, singles, alone)

    def _point_at_evidence(
        self, cells: list[Cell], chosen: Plan | None, singles: list[Plan], alone: dict[str, Any]
    ) -> None:
        by_variant = {c.variant: c for c in cells}
        if chosen is not None:
            by_variant["plan"] = plan_cell(self._program, chosen)
        involved = {name: list(pair) for name, pair in PAIRS.items()} | {NET: ["plan", "looked_up", "shared", "empty"]}
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
