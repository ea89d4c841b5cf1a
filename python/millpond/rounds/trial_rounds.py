# SPDX-License-Identifier: BSL-1.0
"""Runs single rounds through millpond-trial: one cell, one fresh process, one outcome.

Every round gets the same standard input and an environment of a random size (even the stack's position affects small
caches), and its output is dropped. Only the first run of `trial` shows its output to the user.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from millpond.cells.cell import Cell, Control, Malloc, Outcome, PoolCounts
from millpond.cells.metrics import (
    LOOK_UP_COST,
    LOOK_UP_COST_OF_UNIT,
    OF_A_PROCESS,
    POOL_COST,
    POOL_COST_BYTES,
    POOL_COST_OF_UNIT,
    UNIT_SECONDS,
)
from millpond.cells.plans import Plan
from millpond.rounds.fresh_process import Padding, describe, killed
from millpond.rounds.load import Load
from millpond.rounds.preparation import NO_PREPARATION, Preparation
from millpond.rounds.served_run import LoadFailure, ServedRun
from millpond.rounds.trial_data import PairCosts, RoundResult
from millpond.system import native
from millpond.system.errors import Failure
from millpond.system.standard_input import StandardInput

TRIAL = "millpond-trial"
THROUGH = "through"  # the stage of a run that shows how the program ends; it is not compared
_SLOWEST = 20.0
_PATIENCE_SECONDS = 60.0
_PAIR_COST_ROUNDS = 11  # 0.1 s each


class Laboratory:
    """The place where the rounds of one program run. Temporary files lie in `folder`. Not thread-safe.

    A runner for `interleaved_rounds.run_rounds`. The caller sets `expected` (exit status and signal of the bare
    program) and `limit_seconds` after a bare run: a round that ends otherwise is `killed`, and its values are not
    compared.
    """

    def __init__(
        self,
        folder: Path,
        program: Sequence[str],
        stdin: StandardInput,
        seed: int,
        preparation: Preparation = NO_PREPARATION,
        load: Load | None = None,
    ) -> None:
        self._load = load
        self._folder = folder.absolute()
        self._preparation = preparation
        self._program = tuple(program)
        self._stdin = stdin
        self._padding = Padding(seed)
        self._routes: dict[str, Path] = {}
        self._modules: Path | None = None
        self._looked_up: Plan | None = None
        self._costs = PairCosts({})
        self._unseen: Sequence[Plan] | None = None
        self.expected = (0, 0)
        self.limit_seconds: float | None = None

    def compile(self, plan: Plan) -> Path:
        """Compiles the routes of a plan to address ranges. Failure 2: an unknown subsystem; 3: a plan of another
        build.
        """
        text = plan.text()
        if text not in self._routes:
            if self._modules is None:
                self._modules = self._survey()
            number = len(self._routes)
            source = self._folder / f"{number}.plan.json"
            routes = self._folder / f"{number}.routes"
            plan.write(source)
            try:
                native.require(TRIAL, ["--compile", str(source), "--modules", str(self._modules), "-o", str(routes)])
            except Failure as failure:
                message = failure.message.replace(str(source), f"the plan {plan.name!r}")
                raise Failure(failure.status, message) from failure
            self._routes[text] = routes
        return self._routes[text]

    def _survey(self) -> Path:
        modules = self._folder / "modules"
        argv = self._preparation.program(self._program)
        with self._preparation.ready(self._folder) as cwd, self._stdin.first() as descriptor:
            if self._load is None:
                native.require(TRIAL, ["--survey", str(modules), "--", *argv], stdin=descriptor, folder=cwd)
                return modules
            served = self._served(self._load, cwd, is_measured=False)
            finished = native.run_driven(
                TRIAL, ["--survey", str(modules), "--", *argv], served, stdin=descriptor, folder=cwd
            )
            if finished.status != 0:
                raise native.failure_of(TRIAL, finished)
            served.check_end("ended")
        return modules

    def _served(self, load: Load, folder: Path | None, *, is_measured: bool = True) -> ServedRun:
        return ServedRun(
            load, self._folder / "server.txt", folder, is_measured=is_measured, limit_seconds=self.limit_seconds
        )  # fmt: skip

    def look_up(self, plans: Sequence[Plan]) -> None:
        """Compiles the plans now, before any round, and measures the extra cost of their pools in a trial. The
        controls try the first plan's process and look up its owners.
        """
        for plan in plans:
            self.compile(plan)
        self._looked_up = plans[0] if plans else None
        if any(plan.routes for plan in plans):
            self._costs = PairCosts.from_json(json.loads(native.answer(TRIAL, [f"--pair-costs={_PAIR_COST_ROUNDS}"])))

    def run_through(self, cell: Cell) -> Outcome:
        """The first run of a program: it gets the user's own input and shows its output. Not a measured round."""
        with self._stdin.first() as descriptor:
            return self._run(cell, THROUGH, 0, [], descriptor)

    def run_bare(self, cell: Cell) -> Outcome:
        """A quiet run that shows how the program ends, in any way, and how long it takes. Not a measured round."""
        return self._run(cell, THROUGH, 0, self._quiet(), None)

    def rehearse(self, cell: Cell) -> Outcome:
        """Like `run_bare`, but the first run of all: it reads standard input, and its output is dropped."""
        silent = ["--stdout", os.devnull, "--stderr", os.devnull]
        with self._stdin.first() as descriptor:
            return self._run(cell, THROUGH, 0, silent, descriptor)

    def run_into(self, cell: Cell, output: Path, *, first: bool = False) -> Outcome:
        """Like `run_bare`, with the program's standard output in a file. `first`: the first run of all, like
        `rehearse`.
        """
        streams = ["--stdout", str(output.absolute()), "--stderr", os.devnull]
        output.unlink(missing_ok=True)
        output.touch()
        if not first:
            return self._run(cell, THROUGH, 0, ["--stdin", str(self._stdin.path.absolute()), *streams], None)
        with self._stdin.first() as descriptor:
            return self._run(cell, THROUGH, 0, streams, descriptor)

    def _quiet(self) -> list[str]:
        return ["--stdin", str(self._stdin.path.absolute()), "--stdout", os.devnull, "--stderr", os.devnull]

    def look_up_before_first(self, plans: Sequence[Plan]) -> None:
        """Like `look_up`, but only when the first round runs: a judgement that has all its rounds does not need it."""
        self._unseen = plans

    def look_up_now(self) -> None:
        """Does the look-up that `look_up_before_first` has postponed."""
        if self._unseen is not None:
            plans, self._unseen = self._unseen, None
            self.look_up(plans)

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """Runs one round. Failure if it cannot run at all."""
        self.look_up_now()
        return self._run(cell, stage, number, self._quiet(), None)

    def _run(self, cell: Cell, stage: str, number: int, streams: list[str], descriptor: int | None) -> Outcome:
        result = self._folder / "round.json"
        result.unlink(missing_ok=True)
        malloc = cell.contender if isinstance(cell.contender, Malloc) else None
        setting = ["--set", malloc.setting] if malloc else []
        variant = _variant_of(cell)
        plan = cell.plan or (self._looked_up if variant != "bare" else None)
        routes = ["--routes", str(self.compile(plan))] if plan else []
        argv = self._preparation.program(cell.subject.argv)
        options = ["--round", variant, *setting, *routes, *self._padding.option(), "--result", str(result)]
        if self._load is not None:
            return self._run_served(self._load, cell, stage, number, options, argv)
        command = [*options, *streams, "--", *argv]
        with self._preparation.ready(self._folder) as cwd:
            finished = native.run(
                TRIAL,
                command,
                passing=descriptor is not None,
                seconds=self.limit_seconds,
                folder=cwd,
                **({} if descriptor is None else {"stdin": descriptor}),
            )
        if finished.timed_out and (late := killed(cell, stage, number, finished, self.limit_seconds)):
            return late
        data = read_result(result)
        if data is None:
            failure = native.failure_of(TRIAL, finished)
            # The user has already seen the output that was let through.
            raise Failure(failure.status, "" if descriptor is not None else failure.message)
        return self._outcome(cell, stage, number, data)

    def _run_served(
        self, load: Load, cell: Cell, stage: str, number: int, options: Sequence[str], argv: Sequence[str]
    ) -> Outcome:
        """Runs one round of a server. A load that fails on the unchanged program ends everything; elsewhere it is the
        contender's failure.
        """
        result = self._folder / "round.json"
        with self._preparation.ready(self._folder) as cwd:
            served = self._served(load, cwd)
            output = str(served.output)
            streams = ["--stdin", str(self._stdin.path.absolute()), "--stdout", output, "--stderr", output]
            try:
                finished = native.run_driven(
                    TRIAL, [*options, *streams, "--", *argv], served, seconds=self.limit_seconds, folder=cwd
                )
                data = read_result(result)
                if data is None:
                    raise native.failure_of(TRIAL, finished)
                served.check_end(describe(data.exit_status or 0, data.signal or 0))
            except LoadFailure as failure:
                if _variant_of(cell) == "bare" and not isinstance(cell.contender, Malloc):
                    raise
                return Outcome.failed(cell, stage, number, "killed", failure.message)
        return self._outcome(cell, stage, number, served.as_ended(data), served.values)

    def _outcome(
        self, cell: Cell, stage: str, number: int, data: RoundResult, measured: Mapping[str, float] | None = None
    ) -> Outcome:
        """The outcome of a round. `measured`: metrics of a load, instead of those of the whole process."""
        expected = None if stage == THROUGH else self.expected
        outcome = outcome_of(cell, stage, number, data, expected, "the bare program {}")
        self._add_costs(cell, number, data, outcome)
        return replace(outcome, values=share_costs(outcome.values, measured)) if measured else outcome

    def _add_costs(self, cell: Cell, number: int, data: RoundResult, outcome: Outcome) -> None:
        """Adds the estimates of a trial's own costs."""
        if cell.plan is not None and data.router:
            outcome.values[POOL_COST] = self._pool_cost(cell.plan, outcome.pools, number)
            observes = any(pool.calls for pool in outcome.pools)
            outcome.values[POOL_COST_BYTES] = _in_turn(self._costs.call_bytes, number) if observes else 0.0
        if _variant_of(cell) == "looked_up" and data.router:
            look_ups = data.router.passed.unrouted
            outcome.values[LOOK_UP_COST] = look_ups * _in_turn(self._costs.look_up_seconds, number)

    def _pool_cost(self, plan: Plan, pools: Sequence[PoolCounts], number: int) -> float:
        """The CPU time of pools behind malloc beyond their cost in the source.

        Each round uses another of the machine's measurements, so that their spread is part of every interval.
        """
        strategies = {route.pool: route.strategy for route in plan.routes}
        pairs = {strategy: _in_turn(rounds, number) for strategy, rounds in self._costs.seconds.items()}
        return sum(pool.calls for pool in pools) * _in_turn(self._costs.call_seconds, number) + sum(
            pool.allocations * pairs.get(strategies.get(pool.pool, ""), 0.0) for pool in pools
        )


def _variant_of(cell: Cell) -> str:
    """The name of this contender for millpond-trial."""
    return cell.contender.name if isinstance(cell.contender, Control) else "plan" if cell.plan else "bare"


def _in_turn(values: Sequence[float], number: int) -> float:
    """The measurement for that round, in turn; 0 without measurements."""
    return values[number % len(values)] if values else 0.0


def share_costs(whole: Mapping[str, float], measured: Mapping[str, float]) -> dict[str, float]:
    """The metrics of a whole process with those of the measured load in their place, and the load's share of a trial's
    costs.

    A trial's costs are counted over the whole process, so the load gets its share of them by CPU time. For a unit of
    work they count as much as they would delay it if the server is what limits the throughput: in the ratio to the
    load's CPU time, or to its wall time if the server was idle for a part of it.
    """
    whole_seconds = whole.get("cpu_seconds", 0.0)
    share = min(1.0, measured["cpu_seconds"] / whole_seconds) if whole_seconds > 0.0 else 1.0
    busy_seconds = max(measured["cpu_seconds"], measured["wall_seconds"])
    values = {**whole, **measured}
    for cost, of_unit in ((POOL_COST, POOL_COST_OF_UNIT), (LOOK_UP_COST, LOOK_UP_COST_OF_UNIT)):
        if cost in values:
            values[cost] *= share
            values[of_unit] = values[cost] / busy_seconds * values[UNIT_SECONDS]
    return values


def time_limit(bare_seconds: float) -> float:
    """The seconds after which a round counts as hung."""
    return _PATIENCE_SECONDS + _SLOWEST * bare_seconds


def outcome_of(
    cell: Cell, stage: str, number: int, data: RoundResult, expected: tuple[int, int] | None, otherwise: str
) -> Outcome:
    """The outcome of a round from its result file. `expected`: exit status and signal; a round that ends otherwise is
    `killed`, and `otherwise` words the reason.
    """
    exit_status, signal = data.exit_status or 0, data.signal or 0
    how = (0 if signal else exit_status, signal)
    status, why = "ok", ""
    if expected is not None and how != expected:
        status, why = "killed", f"{describe(*how)} where {otherwise.format(describe(*expected))}"
    return Outcome(
        cell, stage, number, {m: value for m in OF_A_PROCESS if (value := getattr(data, m)) is not None},
        status=status, why=why, exit_status=exit_status, signal=signal, pools=data.router.pools if data.router else (),
    )  # fmt: skip


def read_result(path: Path) -> RoundResult | None:
    """The result file of a round; None if it does not exist."""
    try:
        return RoundResult.read(path)
    except (OSError, ValueError):
        return None
