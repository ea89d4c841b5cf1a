# SPDX-License-Identifier: BSL-1.0
"""Replays a trace: its heap events on a real allocator, in one fresh process for each round, through millpond-replay.

    TRACE ──prepare──▶ script ──play──▶ CPU, wall, peak, end, faults      recorded, any malloc, a strategy, a plan
                         └─────play──▶ the same of `null`: the loop's own cost, subtracted within the round

A replay predicts the *difference* between two allocators, not the cost of the program, whose own work it does not
repeat. It assumes that each block is written once per cache line after its allocation; the results state this
assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from millpond.cells.cell import Cell, Contender, Control, Malloc, Outcome, Strategy, Trace
from millpond.cells.metrics import REPLAY_METRICS
from millpond.cells.plans import Plan
from millpond.rounds.fresh_process import Padding, killed
from millpond.rounds.interleaved_rounds import Listener, Memory, RoundsRequest, Silence, by_round, run_rounds
from millpond.rounds.replay_data import DiffusionPoint, ReplayedTrace, ReplayRound
from millpond.statistics.order_statistics import Comparison, Summary, compare, judge_family, summarise
from millpond.system import native
from millpond.system.errors import Failure

REPLAY = "millpond-replay"
EXPERIMENT = "replay"
STAGE = "replay"
RECORDED = Control("recorded")
NULL = Control("null")
STRATEGIES = ("multipool", "monotonic", "multipool(monotonic)")
ORDERS = ("total", "dependency")
TOUCH = "each block is written once per cache line after its allocation"
# The metrics to which the loop of a replay contributes, which is subtracted; the others come only from the allocator.
LOOPS_OWN = ("cpu_seconds", "wall_seconds", "peak_bytes", "end_bytes", "page_faults")
METRICS_COMPARED = ("cpu_seconds", "peak_bytes", "end_bytes", "page_faults")
# Next to a cell's order, the pace: events at their times in the trace, so that a malloc which returns pages by the wall
# clock does so as in the program. A round then takes as long as the program did; waits do not count.
PACED = ("pace", "recorded")
_ORDER, _STRATEGY = "order", "strategy"


def replay_cell(
    trace: Path,
    contender: Contender,
    order: str = ORDERS[0],
    strategy: str = "",
    *,
    paced: bool = False,
) -> Cell:
    """A cell for RECORDED, NULL, one of STRATEGIES for every subsystem, a malloc library, or a plan.

    `strategy`: one of STRATEGIES for all pools of the plan, instead of the plan's own. A trial cannot do this.
    """
    parameters = ((_ORDER, order), *(((_STRATEGY, strategy),) if strategy else ()), *((PACED,) if paced else ()))
    return Cell(Trace(str(trace)), contender, parameters)


def replay_cells(
    trace: Path,
    *,
    plans: Sequence[Plan] = (),
    strategies: Sequence[str] = (),
    mallocs: Sequence[Path] = (),
    order: str = ORDERS[0],
    paced: bool = False,
) -> list[Cell]:
    """The contenders of a replay, always with RECORDED, which all are compared with, and NULL."""
    named: list[Contender] = [*map(Strategy, strategies), *(Malloc(str(path), path) for path in mallocs)]
    contenders = [RECORDED, NULL, *dict.fromkeys(named), *plans]
    return [replay_cell(trace, contender, order, paced=paced) for contender in contenders]


class ReplayRunner:
    """Runs rounds of cells of the experiment `replay`: a runner for `interleaved_rounds.run_rounds`. Not thread-safe.

    Scripts lie in `folder`, each prepared once: about 16 bytes per event. `options`: of the preparation.
    `limit_seconds`: a round that takes longer is `killed`.
    """

    def __init__(
        self, folder: Path, seed: int = 1, limit_seconds: float | None = None, options: Sequence[str] = ()
    ) -> None:
        self._folder = folder
        self._options = list(options)
        self._padding = Padding(seed)
        self._scripts: dict[tuple[str, str], tuple[Path, ReplayedTrace]] = {}
        self.limit_seconds = limit_seconds

    def prepare(self, cell: Cell) -> ReplayedTrace:
        """Makes the script of a cell now; returns its description of the trace.

        Failure 2: a plan names a subsystem that the program does not have; 3: no trace, or a plan of another build.
        """
        return self._script(cell)[1]

    def _script(self, cell: Cell) -> tuple[Path, ReplayedTrace]:
        (trace,) = cell.subject.argv
        kind = cell.plan.text() if cell.plan else "per subsystem" if _is_strategy(cell) else "malloc"
        key = (trace, kind)
        if key not in self._scripts:
            self._scripts[key] = self._prepared(trace, cell, len(self._scripts))
        return self._scripts[key]

    def _prepared(self, trace: str, cell: Cell, number: int) -> tuple[Path, ReplayedTrace]:
        script = self._folder / f"{number}.script"
        summary = self._folder / f"{number}.script.json"
        options = list(self._options)
        if cell.plan is not None:
            source = self._folder / f"{number}.plan.json"
            cell.plan.write(source)
            options = ["--plan", str(source), *options]
        elif _is_strategy(cell):
            options.append("--per-subsystem")
        try:
            native.require(REPLAY, [f"--prepare={trace}", *options, "-o", str(script), "--json", str(summary)])
        except Failure as failure:
            if cell.plan is None:
                raise
            message = failure.message.replace(options[1], f"the plan {cell.plan.name!r}")
            raise Failure(failure.status, message) from failure
        return script, ReplayedTrace.read(summary)

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """Runs one round. Failure if it cannot run at all."""
        finished, data = self._play(cell, self._padding.option())
        if dead := killed(cell, stage, number, finished, self.limit_seconds):
            return dead
        if data is None:
            raise native.failure_of(REPLAY, finished)
        values = {m: value for m in REPLAY_METRICS.units if (value := getattr(data, m)) is not None}
        return Outcome(cell, stage, number, values, status=data.status, why=data.why or data.held_why_null)

    def diffusion(self, cell: Cell, points: int) -> tuple[DiffusionPoint, ...]:
        """Live bytes and the bytes of the pages that they touch, at `points` moments of an untimed pass."""
        finished, data = self._play(cell, ["--diffusion", str(points)])
        if data is None:
            raise native.failure_of(REPLAY, finished)
        return data.diffusion

    def _play(self, cell: Cell, options: list[str]) -> tuple[native.ProcessEnd, ReplayRound | None]:
        result = self._folder / "round.json"
        script, _ = self._script(cell)
        parameters = dict(cell.parameters)
        contender = cell.contender
        if isinstance(contender, Malloc):
            chosen = ["--strategy", RECORDED.name, "--malloc", str(contender.path)]
        else:
            chosen = ["--strategy", parameters.get(_STRATEGY, "plan" if cell.plan else contender.name)]
        order = parameters.get(_ORDER, ORDERS[0])
        pace = ["--pace"] if PACED in cell.parameters and "--diffusion" not in options else []
        result.unlink(missing_ok=True)
        finished = native.run(
            REPLAY,
            ["--play", str(script), *chosen, "--order", order, *pace, *options, "--result", str(result)],
            seconds=self.limit_seconds,
        )
        try:
            return finished, ReplayRound.read(result) if finished.status == 0 else None
        except (OSError, ValueError):
            return finished, None


def _is_strategy(cell: Cell) -> bool:
    return isinstance(cell.contender, Strategy)


def replay(
    cells: Sequence[Cell],
    folder: Path,
    *,
    rounds: int,
    deadline: float = float("inf"),
    seed: int = 1,
    listener: Listener | None = None,
    memory: Memory | None = None,
) -> list[Outcome]:
    """Replays these cells in interleaved rounds; returns raw outcomes, with those of NULL. `deadline`: monotonic."""
    return run_rounds(
        cells,
        ReplayRunner(folder, seed),
        listener or Silence(),
        RoundsRequest(stage=STAGE, rounds=rounds, deadline=deadline, seed=seed),
        memory=memory,
    )


def subtract_null(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes minus the loop's own cost in the same round, without those of NULL.

    A round without an outcome of NULL is left out, because nothing can be subtracted.
    """
    null = {_round_of(o): o.values for o in outcomes if o.cell.contender == NULL and o.status == "ok"}
    result = []
    for outcome in outcomes:
        loop = null.get(_round_of(outcome))
        if outcome.cell.contender == NULL or (loop is None and outcome.status == "ok"):
            continue
        values = {m: v - (loop or {}).get(m, 0.0) if m in LOOPS_OWN else v for m, v in outcome.values.items()}
        result.append(replace(outcome, values=values))
    return result


def _round_of(outcome: Outcome) -> tuple[object, ...]:
    return outcome.stage, outcome.round, outcome.cell.subject, outcome.cell.parameters


def predicted_difference(outcomes: Sequence[Outcome], of: Cell, against: Cell, metric: str) -> Summary | None:
    """`of` minus `against`, paired within rounds, in the metric's unit; None if no round has both.

    The loop's own cost is in both, so it does not matter whether it has been subtracted.
    """
    left, right = by_round(outcomes, of, metric), by_round(outcomes, against, metric)
    both = sorted(left.keys() & right.keys())
    return summarise([left[i] - right[i] for i in both]) if both else None


def against_recorded(subtracted: Sequence[Outcome], cells: Sequence[Cell]) -> dict[tuple[Cell, str], Comparison]:
    """Each contender against RECORDED of the same trace and order, by cell and metric, judged together by metric."""
    found: dict[tuple[Cell, str], Comparison] = {}
    for metric in METRICS_COMPARED:
        family: dict[tuple[Cell, str], Comparison] = {}
        for cell in cells:
            base = replace(cell, contender=RECORDED)
            if cell in (base, replace(base, contender=NULL)):
                continue
            left, right = by_round(subtracted, cell, metric), by_round(subtracted, base, metric)
            both = sorted(left.keys() & right.keys())
            of, against = [left[i] for i in both], [right[i] for i in both]
            comparison = compare(metric, cell.name, RECORDED.name, of, against)
            if comparison is not None:
                family[cell, metric] = comparison
        found.update(judge_family(family))
    return found
