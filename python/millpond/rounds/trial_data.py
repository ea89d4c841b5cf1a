# SPDX-License-Identifier: BSL-1.0
"""The documents of a trial: what millpond-trial writes of one round, and what `millpond trial` prints of all.

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


class Passed(Record, frozen=True):
    """Calls of malloc that went on to the program's own. `unrouted`: after a look-up, to no pool."""

    unrouted: int = 0


class Router(Record, frozen=True):
    """What malloc counted in the processes that it was exchanged in."""

    processes: int = 0
    passed: Passed = Passed()
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
    router: Router | None = None  # of a bare round


class PairCosts(Record, frozen=True):
    """What a pair of calls costs here beyond what it costs in the source, by strategy; and what a look-up of an owner,
    and observing a call, does.

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
    """A plan, and what the controls say of it: effect → metric → comparison."""

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
