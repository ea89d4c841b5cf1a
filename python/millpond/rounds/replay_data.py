# SPDX-License-Identifier: BSL-1.0
"""The documents of a replay: the output of millpond-replay, and that of `millpond trace replay`.

ReplayedTrace                            "millpond.replay.script/1": a trace prepared for replay
ReplayRound ── DiffusionPoint            "millpond.replay.round/1"
ReplayResult ── ReplayContender ── …     "millpond.replay/1"
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from millpond.cells.plan_file import PlanFile
from millpond.rounds.characterisation import Damage
from millpond.statistics.order_statistics import Comparison, MetricSummary, Summary
from millpond.system.records import NONE, NULL, Record

Schema = Literal["millpond.replay/1"]
SCHEMA: Schema = "millpond.replay/1"


class ReplayedTrace(Record, frozen=True):
    """A trace as described by its script."""

    path: str = field(default_factory=str)
    events: int = field(default_factory=int)
    allocations: int = field(default_factory=int)
    frees: int = field(default_factory=int)
    reallocations: int = field(default_factory=int)
    peak_live_bytes: int = field(default_factory=int)
    peak_live_objects: int = field(default_factory=int)
    end_live_bytes: int = field(default_factory=int)
    end_live_objects: int = field(default_factory=int)
    unmatched: int = field(default_factory=int)
    lost_frees: int = field(default_factory=int)
    mended: int = field(default_factory=int)
    lost: int = field(default_factory=int)
    threads: int = field(default_factory=int)
    span_seconds: float = field(default_factory=float)
    cpu_seconds: float = field(default_factory=float)
    malloc_provider: str = field(default_factory=str)
    damages: tuple[Damage, ...] = field(default_factory=NONE)
    partial: str | None = None  # why the trace ends early


class DiffusionPoint(Record, frozen=True):
    """Live bytes, and the bytes of the pages that they touch, at one moment of a replay."""

    event_share: float
    time_seconds: float
    live_bytes: int
    page_bytes: int


class ReplayRound(Record, frozen=True):
    """One round: its metrics (`cells.metrics.REPLAY_METRICS`), or the points of an untimed pass."""

    status: str = "ok"
    why: str = ""
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    peak_bytes: float | None = None
    end_bytes: float | None = None
    peak_live_bytes: float | None = None
    held_bytes: float | None = None
    held_why_null: str = ""
    page_faults: float | None = None
    diffusion: tuple[DiffusionPoint, ...] = ()


class ErrorNote(Record, frozen=True):
    """The error of replay, in documents that rest on a replay."""

    validated: bool = field(default_factory=bool)
    run: str | None = field(default_factory=NULL)
    programs: int = field(default_factory=int)
    values: dict[str, float] = field(default_factory=lambda: {})
    sentence: str = field(default_factory=str)


class WidenedComparison(Comparison, frozen=True, kw_only=True):
    """A comparison, and its savings with the error of replay in their interval, if the whole is known."""

    saved_widened: Summary | None = field(default_factory=NULL)


class ReplayContender(Record, frozen=True):
    """One contender's rounds by metric, without the loop's own cost, and their comparison with the recorded malloc."""

    name: str
    variant: str
    plan: PlanFile | None
    metrics: dict[str, MetricSummary]
    against_recorded: dict[str, WidenedComparison]


class ReplayResult(Record, frozen=True, kw_only=True):
    """A trace on its contenders. `loop`: the cost of the null loop; `diffusion`: by contender, if it was asked for."""

    schema: Schema = field(default_factory=lambda: SCHEMA)
    trace: ReplayedTrace
    machine: str
    order: str
    paced: bool
    assumes: str
    rounds: int
    contenders: tuple[ReplayContender, ...]
    loop: dict[str, MetricSummary]
    error: ErrorNote
    notes: tuple[str, ...]
    diffusion: dict[str, tuple[DiffusionPoint, ...]] | None = None
