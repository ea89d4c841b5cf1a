# SPDX-License-Identifier: BSL-1.0
"""Predicts by replay the plans that a trial runs, as a second figure, and strategies that no trial can run.

    trial    the program under a plan       − under the shared pool, contexts looked up    allocation and traversal
    replay   its trace on the plan's pools  − on the shared pool                           only allocation
             its trace on a monotonic for one subsystem − on a multipool for it            no trial can run these

A replay knows the program's allocations but not its other accesses, so the effect of placement on traversals is
missing. Every interval is widened by replay's error on this machine. If trial and replay disagree, the trial counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from millpond.advice.advice_data import PREDICTED, WHOLE_PLAN, Estimate, PlanPrediction, Replay
from millpond.cells.cell import Cell, Outcome, Program
from millpond.cells.metrics import REPLAY_METRICS
from millpond.cells.plan_file import REST
from millpond.cells.plans import Plan
from millpond.doctor.replay_error import ReplayError, widen
from millpond.rounds.interleaved_rounds import Listener, RoundsRequest, measured_rounds, run_rounds
from millpond.rounds.replay_rounds import (
    ORDERS,
    RECORDED,
    STAGE,
    STRATEGIES,
    TOUCH,
    ReplayRunner,
    predicted_difference,
    replay_cell,
)
from millpond.statistics.order_statistics import Summary
from millpond.store.round_log import RoundLog
from millpond.system.wording import bytes_text, plural, seconds_text

ROUNDS = 7
# The largest share of an advice's budget for replays.
BUDGET_SHARE = 0.15
# A script takes this many bytes of disk for each event, and each plan has one; all of them must fit into the limit.
_SCRIPT_BYTES_AN_EVENT, _SCRIPTS_BYTES_AT_MOST = 16, 2 << 30
_PLANS_AT_MOST = 5
_STRATEGIES_FOR = 3
_POOL, *_ONLY_REPLAYED = STRATEGIES
# The cost of an event in a round, with decoding and page faults, and the fixed cost of a round: for budgets only.
_SECONDS_AN_EVENT, _SECONDS_A_ROUND = 0.3e-6, 0.03


def not_replayed(why: str) -> Replay:
    """Returns an empty prediction with the reason."""
    return Replay(why_null=why, assumes=TOUCH)


def expected_seconds(events: int, plans: int) -> float:
    """Returns about how long `predict` takes for a trace with this many events."""
    cells = 1 + min(plans, _PLANS_AT_MOST) + min(plans, _STRATEGIES_FOR) * len(STRATEGIES)
    return (ROUNDS + 2) * cells * _round_seconds(events)


def _round_seconds(events: int) -> float:
    """Returns about how long one round of one contender takes."""
    return events * _SECONDS_AN_EVENT + _SECONDS_A_ROUND


def agree(measured: Summary, predicted: Summary) -> bool:
    """True if the two intervals of one saving meet."""
    return measured.low <= predicted.high and predicted.low <= measured.high


def disagreement(metric: str, predicted: Summary) -> str:
    """Returns the note for a subsystem whose intervals of trial and replay do not meet."""
    amount = seconds_text(predicted.median) + " of CPU" if metric == "cpu_seconds" else bytes_text(predicted.median)
    return f"replay, which leaves out traversals, predicts {amount}: the advice follows the trial"


def predict(
    program: Sequence[str],
    trace: Path,
    plans: Sequence[Plan],
    whole: Mapping[str, float],
    error: ReplayError,
    *,
    folder: Path,
    listener: Listener,
    deadline: float,
    seed: int,
    events: int,
    threads: int = 1,
    log: RoundLog | None = None,
) -> Replay:
    """Replays the trace under each plan and under the strategies that no trial runs. O(plans · events) a round.

    `whole`: the program's total by metric, because the error is a share of it. Observations name `program` as their
    workload. `deadline`: of `time.monotonic`. Failure if the laboratory itself cannot replay.
    """
    plans = [p for p in plans if p.routes and not p.special][:_PLANS_AT_MOST]  # a replay cannot follow calls or owners
    if not plans:
        return not_replayed("no plan was tried")
    if events * _SCRIPT_BYTES_AN_EVENT * (1 + len(plans) + _STRATEGIES_FOR) > _SCRIPTS_BYTES_AT_MOST:
        return not_replayed("the trace is too long for a replay of every plan; `millpond trace replay` replays one")
    order = ORDERS[0] if threads <= 1 else ORDERS[1]
    pairs = _pairs(trace, plans, order)
    cells = list(dict.fromkeys(cell for _, of, against in pairs for cell in (of, against)))
    # At least a warm-up and one round must fit.
    if time.monotonic() + 2 * len(cells) * _round_seconds(events) > deadline:
        return not_replayed("the budget had no time for replays; give more with --budget")
    runner = ReplayRunner(folder, seed)
    outcomes = run_rounds(
        cells, runner, listener, RoundsRequest(stage=STAGE, rounds=ROUNDS, deadline=deadline, seed=seed)
    )
    evidence = _keep(outcomes, program, log)
    found = tuple(
        PlanPrediction(
            strategy=dict(of.parameters).get("strategy", WHOLE_PLAN), plan=plan.name, **saves,
            evidence=(*evidence[of], *evidence[against]),
        )
        for plan, of, against in pairs
        if (saves := _saves(outcomes, of, against, whole, error))
    )  # fmt: skip
    return Replay(rounds=measured_rounds(outcomes), assumes=TOUCH, error=error.note, predictions=found)


def _pairs(trace: Path, plans: Sequence[Plan], order: str) -> list[tuple[Plan, Cell, Cell]]:
    """Returns each contender to predict, with its baseline."""
    recorded = replay_cell(trace, RECORDED, order=order)
    pairs = [(plan, replay_cell(trace, plan, order), recorded) for plan in plans]
    for plan in [p for p in plans if p.alone][:_STRATEGIES_FOR]:
        alone = replace(plan, routes=tuple(r for r in plan.routes if REST not in r.subsystems))
        base = replay_cell(trace, replace(alone, name=f"{plan.name} as {_POOL}"), order, _POOL)
        for strategy in _ONLY_REPLAYED:
            named = replace(alone, name=f"{plan.name} as {strategy}")
            pairs.append((plan, replay_cell(trace, named, order, strategy), base))
    return pairs


def _saves(
    outcomes: Sequence[Outcome], of: Cell, against: Cell, whole: Mapping[str, float], error: ReplayError
) -> dict[str, Estimate]:
    saves = {}
    for metric, name in PREDICTED.items():
        found = predicted_difference(outcomes, against, of, metric)
        if found is not None:
            saves[name] = Estimate.of(widen(found, error.of(metric) * whole.get(metric, 0.0)))
    return saves


def _keep(outcomes: Sequence[Outcome], program: Sequence[str], log: RoundLog | None) -> dict[Cell, list[str]]:
    """Stores the outcomes as observations of the program, and returns the ids behind each contender."""
    ids: dict[Cell, list[str]] = {o.cell: [] for o in outcomes}
    if log is None:
        return ids
    for outcome in outcomes:
        cell = replace(
            outcome.cell,
            subject=Program(tuple(program)),
            parameters=(*outcome.cell.parameters, ("predictor", "replay")),
        )
        log.keep(replace(outcome, cell=cell), REPLAY_METRICS)
        if outcome.round > 0:
            ids[outcome.cell] = log.journal.evidence(STAGE, [cell], PREDICTED)
    return ids


def agreement_note(replay: Replay) -> str:
    """Returns one sentence: what was replayed, and how reliable it is."""
    if not replay.rounds:
        return f"replay: {replay.why_null}"
    trust = replay.error.sentence if replay.error else ""
    return f"replay: {plural(replay.rounds, 'round')} of {plural(len(replay.predictions), 'figure')}; {trust}"
