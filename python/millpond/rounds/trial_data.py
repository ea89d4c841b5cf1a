# SPDX-License-Identifier: BSL-1.0
"""The documents of a trial: millpond-trial's result for one round, and the output of `millpond try`.

RoundResult ── Router ── PoolCounts      "millpond.round/1"; PairCosts: "millpond.pair_costs/1"
TrialResult ─┬─ TrialContender           "millpond.trial/1": each contender by itself
             └─ TrialPlan                each plan against the controls
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from millpond.cells.cell import PoolCounts
from millpond.cells.plan_file import PlanFile
from millpond.statistics.order_statistics import Comparison, MetricSummary
from millpond.system.records import NONE, Record

Schema = Literal["millpond.trial/1"]
SCHEMA: Schema = "millpond.trial/1"


class PassedCalls(Record, frozen=True):
    """Calls of malloc that were passed on to the program's own malloc. `unrouted`: a look-up found no pool."""

    unrouted: int = 0


class Router(Record, frozen=True):
    """The counts of the exchanged malloc, over the processes that had it."""

    processes: int = 0
    passed: PassedCalls = PassedCalls()
    pools: tuple[PoolCounts, ...] = ()


class RoundResult(Record, frozen=True):
    """One round: its metrics (`cells.metrics.OF_A_PROCESS`), and how the program ended; 0 is no signal."""

    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    peak_bytes: float | None = None
    page_faults: float | None = None
    major_faults: float | None = None
    exit_status: int | None = None
    signal: int | None = None
    router: Router | None = None  # null for a bare round


class PairCosts(Record, frozen=True):
    """The extra cost of a trial, compared with a change of the source: of a pair of calls by strategy, of a look-up of
    an owner, and of observing a call.

    A value for each round.
    """

    seconds: dict[str, tuple[float, ...]]
    look_up_seconds: tuple[float, ...] = ()
    call_seconds: tuple[float, ...] = ()
    call_bytes: tuple[float, ...] = ()


class TrialProgram(Record, frozen=True):
    """The program as it was started, and how it ended."""

    argv: tuple[str, ...]
    exit: int
    signal: int


class TrialContender(Record, frozen=True):
    """One contender's rounds, by metric."""

    name: str
    variant: str
    metrics: dict[str, MetricSummary]


class TrialPlan(Record, frozen=True):
    """A plan and its comparisons with the controls: effect → metric → comparison."""

    name: str
    plan: PlanFile
    effects: dict[str, dict[str, Comparison]]


class TrialResult(Record, frozen=True, kw_only=True):
    """A program under its controls and plans."""

    schema: Schema = field(default_factory=lambda: SCHEMA)
    program: TrialProgram
    machine: str
    rounds: int
    seed: int
    contenders: tuple[TrialContender, ...] = field(default_factory=NONE)
    plans: tuple[TrialPlan, ...] = field(default_factory=NONE)
    notes: tuple[str, ...] = field(default_factory=NONE)
