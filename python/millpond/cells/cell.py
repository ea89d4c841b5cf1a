# SPDX-License-Identifier: BSL-1.0
"""A cell: one workload, one set of parameters, one variant (and, for the variant `plan`, one plan).

Cells are data: frozen, comparable, and they serialise, so that a run can be stored, resumed or sent to another machine.
**Each round of a cell is one fresh process**; what one round gave is an `Outcome`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from millpond.cells.plans import Plan

CONTROLS = ("bare", "empty", "shared", "shared_huge", "looked_up")
# A malloc of this machine in the place of the program's own; the parameters `malloc` and `set` say which, and how.
PRELOADED = "malloc"
VARIANTS = (*CONTROLS, PRELOADED, "plan")

# Of a round under a plan: the CPU that its pools took beyond what the library's would have taken, as estimated.
POOL_COST = "pool_cost_seconds"
# … and the bytes of what observes calls of functions, as estimated.
POOL_COST_BYTES = "pool_cost_bytes"
_POOL_COSTS = (POOL_COST, POOL_COST_BYTES)
# What a round of a trial measures: metric of the observation → its unit. All of them are better when smaller.
METRICS = {
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "page_faults": "faults",
    "major_faults": "faults",
}
# The same for every experiment that runs cells. A new experiment adds a line here and a runner.
METRICS_OF = {
    "trial": {**METRICS, POOL_COST: "seconds", POOL_COST_BYTES: "bytes"},
    "replay": {
        "cpu_seconds": "seconds",
        "wall_seconds": "seconds",
        "peak_bytes": "bytes",
        "end_bytes": "bytes",
        "peak_live_bytes": "bytes",
        "held_bytes": "bytes",
        "page_faults": "faults",
    },
    "mallocs": METRICS,
    "builds": METRICS,
    "bench": {"cpu_seconds": "seconds", "own_cpu_seconds": "seconds", "wall_seconds": "seconds", "peak_bytes": "bytes"},
    "library": {
        "warm_ns": "ns",
        "cold_ns": "ns",
        "wall_ns": "ns",
        "before_ns": "ns",
        "after_ns": "ns",
        "step_ns": "ns",
        "pause_ns": "ns",
        "resident_bytes": "bytes",
        "peak_bytes": "bytes",
        "end_bytes": "bytes",
        "held_bytes": "bytes",
        "touched_bytes": "bytes",
        "left_bytes": "bytes",
        "page_faults": "faults",
        "instructions": "instructions",
    },
}
# Events of a window, where they were asked for: metric → unit. Of user space; misses are of reads.
COUNTERS = {
    "instructions": "instructions",
    "cycles": "cycles",
    "l1d_loads": "loads",
    "l1d_misses": "misses",
    "llc_misses": "misses",
    "stalled_cycles": "cycles",
    "branch_misses": "misses",
    "dtlb_misses": "misses",
    "page_walks": "walks",
}
# The unit of an event that the user named: any name that is no metric's.
EVENTS = "events"
# Behind a counter's name: the share of the window for which the processor counted it, where that is not all.
RUNNING = ":running_share"
# What every program of a published experiment prints of a round; each document's own follows.
_ROUND_METRICS = {
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "end_bytes": "bytes",
    "held_bytes": "bytes",
    "page_faults": "faults",
    "units": "units",
    **COUNTERS,
}
P0089 = (
    *(f"p0089.{n}" for n in range(1, 5)),
    "p0089.dials",
    "p0089.anomalies",
    *(f"p0089.anomalies.{what}" for what in ("spike", "virtual", "clang")),
)
_P0089_METRICS = {
    **_ROUND_METRICS,
    "shuffle_seconds": "seconds",
    "access_seconds": "seconds",
    "blocks_each": "blocks",
}
METRICS_OF |= dict.fromkeys(P0089, _P0089_METRICS)
METRICS_OF["unique_chars"] = _ROUND_METRICS
SUBALLOCATOR = ("suballocator.1", "suballocator.2", "suballocator.3")
_SUBALLOCATOR_METRICS = {
    **_ROUND_METRICS,
    "allocate_seconds": "seconds",
    "deallocate_seconds": "seconds",
    "free_from_last_seconds": "seconds",
    "free_from_first_seconds": "seconds",
    "free_odd_seconds": "seconds",
    "free_and_allocate_odd_seconds": "seconds",
    "fill_seconds": "seconds",
    "clear_seconds": "seconds",
    "elements_bytes": "bytes",
    "freed_bytes": "bytes",
    "full_bytes": "bytes",
    "empty_bytes": "bytes",
    "kept_share": "share",
}
METRICS_OF |= dict.fromkeys(SUBALLOCATOR, _SUBALLOCATOR_METRICS)
RESERVE_COMMIT = tuple(f"reserve_commit.{n}" for n in range(1, 6))
_RESERVE_COMMIT_METRICS = {
    **_ROUND_METRICS,
    **{f"{m}_seconds": "seconds" for m in ("destroy", "touch", "give", "again", "both")},
    **{f"{m}_bytes": "bytes" for m in ("capacity", "committed", "touched", "given")},
    **{f"{m}_ns": "ns" for m in ("clock", "p50", "p90", "p99", "p99_9", "p99_99", "longest")},
    **{f"{m}_ns": "ns" for m in ("step_p50", "step_longest", "plain_p50", "plain_longest")},
    **dict.fromkeys(("step_seconds", "commit_seconds"), "seconds"),
    **dict.fromkeys(("used_share", "slow_step_share", "given_share"), "share"),
    **dict.fromkeys(("peak_to_end", "mode_ratio", "moves_an_element"), "ratio"),
    **{name: name for name in ("slow", "steps", "commits", "populates")},
}
METRICS_OF |= dict.fromkeys(RESERVE_COMMIT, _RESERVE_COMMIT_METRICS)
# Suites: every workload of theirs has metrics of its own, and a program that measures its passes by itself.
SUITES = ("library", *P0089, "unique_chars", *SUBALLOCATOR, *RESERVE_COMMIT)
# What a cell has besides its workload's own parameters: the share of a heap that was littered before it.
LITTER = "litter"
# And what surrounds its program and is not said to it (bench/surroundings.py): who compiled it, the malloc that
# it runs on, whether that keeps all memory that was ever freed. What is true of a cell without the parameter.
TOOLCHAIN, MALLOC, KEPT = "toolchain", "malloc", "kept"
SURROUNDINGS = {TOOLCHAIN: "release", MALLOC: "glibc", KEPT: "0"}


@dataclass(frozen=True)
class Cell:
    """One contender. `name` is unique within a run of one experiment: the variant, `malloc:NAME` or `plan:NAME`.

    Variants of a trial are VARIANTS. Of a replay: a strategy, or the path of a malloc library; with a plan, the plan
    decides. Of `mallocs`: the path of the malloc library that is preloaded. Of `bench`: the contender's name. Of
    `builds`: `before` or `after`. Of a suite: the contender's name too, and `name` has the workload and its parameters
    before it.
    """

    workload: tuple[str, ...]
    variant: str
    plan: Plan | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    experiment: str = "trial"

    def __post_init__(self) -> None:
        if self.experiment not in METRICS_OF:
            raise ValueError(f"unknown experiment {self.experiment!r}; there are {', '.join(METRICS_OF)}")
        if self.experiment == "trial" and self.variant not in VARIANTS:
            raise ValueError(f"unknown variant {self.variant!r}; the variants are {', '.join(VARIANTS)}")
        if (self.variant == "plan") != (self.plan is not None):
            raise ValueError("a plan belongs to the variant `plan`, and to no other")

    @property
    def name(self) -> str:
        if self.experiment in SUITES:
            return "/".join([*self.workload, *(f"{key}={value}" for key, value in self.parameters), self.variant])
        if self.variant == PRELOADED:
            return f"{PRELOADED}:{dict(self.parameters)[MALLOC]}"
        return self.variant if self.plan is None else f"plan:{self.plan.name}"

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data."""
        return {
            "workload": list(self.workload),
            "variant": self.variant,
            "plan": self.plan.to_json() if self.plan else None,
            "plan_name": self.plan.name if self.plan else None,
            "parameters": dict(self.parameters),
            "experiment": self.experiment,
        }


@dataclass(frozen=True)
class Outcome:
    """What one round of one cell gave. `values` holds the metrics of METRICS that were measured, in their units.

    `status`: ok; killed (it ended otherwise than the bare program, or by our time limit); refused (it never started).
    Round 0 is the warm-up: stored, never used in a verdict. `stage` keeps choosing and judging apart. `absent`: metrics
    that were wanted and are null, and why. `kind`: that of all its values, where it is neither counted nor measured.
    """

    cell: Cell
    stage: str
    round: int
    values: dict[str, float] = field(compare=False)
    exit_status: int
    signal: int
    status: str
    time_utc: str
    why: str = ""
    router: dict[str, Any] = field(default_factory=dict, compare=False)
    absent: dict[str, str] = field(default_factory=dict, compare=False)
    kind: str = ""


def metrics_of(outcome: Outcome) -> dict[str, str]:
    """The metrics that an outcome has a row for, with their units: all of its experiment, null where one is absent.

    The costs of pools only where there were pools. Of a suite those that it has, and the first where it has none.
    `step_ns:4096` is step 4096 of the metric `step_ns`.
    """
    experiment = outcome.cell.experiment
    units = METRICS_OF[experiment]
    if experiment not in SUITES:
        return {m: unit for m, unit in units.items() if m not in _POOL_COSTS or m in outcome.values}
    have = [*outcome.values, *outcome.absent]
    return {metric: unit_of(experiment, metric) for metric in have or list(units)[:1]}


def unit_of(experiment: str, metric: str) -> str:
    """The unit of a metric; `events` for what is none of the experiment's."""
    units = METRICS_OF[experiment]
    if experiment == "library":
        return units[metric.partition(":")[0]]
    if metric.endswith(RUNNING):
        return "share"
    return units.get(metric, EVENTS)


def counted_in(outcomes: Iterable[Outcome]) -> list[str]:
    """The counters of windows that outcomes have a value or a reason for: COUNTERS first, then the user's events."""
    have = dict.fromkeys(name for o in outcomes for name in (*o.values, *o.absent) if is_counter(o.cell, name))
    return [*(name for name in COUNTERS if name in have), *(name for name in have if name not in COUNTERS)]


def is_counter(cell: Cell, metric: str) -> bool:
    """Whether it is an event of a window, by the processor or simulated."""
    return metric in COUNTERS or (cell.experiment in SUITES and unit_of(cell.experiment, metric) == EVENTS)
