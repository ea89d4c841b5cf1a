# SPDX-License-Identifier: BSL-1.0
"""The metrics of an experiment, with their units. Each experiment declares its own, and its stored rows follow them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from millpond.cells.cell import Outcome

# Events of a measured window, if they were asked for: metric → unit. Only those in user space; misses are of reads.
COUNTERS = {
    "instructions": "instructions",
    "cycles": "cycles",
    "l1d_loads": "loads",
    "stores": "stores",
    "l1d_misses": "misses",
    "llc_loads": "loads",
    "llc_misses": "misses",
    "stalled_cycles": "cycles",
    "l1d_stall_cycles": "cycles",
    "branch_misses": "misses",
    "dtlb_misses": "misses",
    "page_walks": "walks",
    "working_set_lines": "lines",
    "working_set_pages": "pages",
}
# These are sizes of a whole window: they do not grow with the units of work done in it.
WORKING_SETS = ("working_set_lines", "working_set_pages")
# Of a littered heap that is drawn: the share of each line that is held, by its offset.
HEAP_TAKEN = "heap_taken"
# The unit of an event that the user named: any name that is not a metric's.
EVENTS = "events"
# Suffix of a counter's name: the share of the window for which the processor counted it, if less than all of it.
RUNNING = ":running_share"


class MetricKind(StrEnum):
    """The source of a metric's values: a clock, the processor's events, the kernel's page faults, a recording, or else
    what the program or the kernel counts.
    """

    TIME = "time"
    EVENT = "event"
    FAULTS = "faults"
    RECORDED = "recorded"
    COUNT = "count"


@dataclass(frozen=True, eq=False)
class Metrics:
    """Metric → unit. All of them are better when smaller.

    `optional`: metrics that get a row only in outcomes that have them. `is_open`: an outcome gets rows for the metrics
    that it has, and one for the first metric if it has none; undeclared names are events (EVENTS). `step_ns:4096` is
    step 4096 of the series `step_ns`. `warm`: metrics of passes after the first; all others are of a fresh process
    that works once. `estimated`: metrics that are neither measured nor counted. `kinds`: of metrics whose unit does not
    tell their kind, such as quotients of times.
    """

    units: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    is_open: bool = False
    warm: frozenset[str] = frozenset()
    estimated: frozenset[str] = frozenset()
    kinds: Mapping[str, MetricKind] = field(default_factory=dict)

    def unit(self, metric: str) -> str:
        """The unit of a metric; `events` if it was not declared."""
        if metric.endswith(RUNNING):
            return "share"
        return self.units.get(metric) or self.units.get(metric.partition(":")[0], EVENTS)

    def of(self, outcome: Outcome) -> dict[str, str]:
        """The metrics for which an outcome has a row, with their units; null if it has no value."""
        if not self.is_open:
            return {m: unit for m, unit in self.units.items() if m not in self.optional or m in outcome.values}
        have = [*outcome.values, *outcome.absent]
        return {metric: self.unit(metric) for metric in have or list(self.units)[:1]}

    def kind(self, metric: str) -> MetricKind:
        """The kind of a metric: as declared, or by its unit."""
        unit = self.unit(metric)
        if metric in self.kinds:
            return self.kinds[metric]
        if self.is_counter(metric):
            return MetricKind.EVENT
        if unit == "ns" or unit.startswith("seconds"):
            return MetricKind.TIME
        return MetricKind.FAULTS if unit == "faults" else MetricKind.COUNT

    def is_warm(self, metric: str) -> bool:
        """True if the metric is of passes after the first."""
        return metric.partition(":")[0] in self.warm

    def is_counter(self, metric: str) -> bool:
        """True if the metric is an event of a window, counted by the processor or simulated."""
        return metric in COUNTERS or (self.is_open and self.unit(metric) == EVENTS)

    def counted_in(self, outcomes: Iterable[Outcome]) -> list[str]:
        """The counters for which outcomes have a value or a reason: COUNTERS first, then the user's events."""
        have = dict.fromkeys(name for o in outcomes for name in (*o.values, *o.absent) if self.is_counter(name))
        return [*(name for name in COUNTERS if name in have), *(name for name in have if name not in COUNTERS)]


# The figures of a whole process, whichever experiment measures it.
OF_A_PROCESS = {
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "page_faults": "faults",
    "major_faults": "faults",
}
PROCESS_METRICS = Metrics(OF_A_PROCESS)
# Of a server under a load: the seconds for one unit of the load's work, such as a request; the reciprocal of the
# throughput, so that less is better here too. Latencies are in the unit that the load prints.
UNIT_SECONDS = "unit_seconds"
LATENCIES = {"p50": "latency_p50", "p99": "latency_p99"}
# The mean of its resident memory.
MEAN_BYTES = "mean_bytes"
OF_A_LOAD = {UNIT_SECONDS: "seconds", MEAN_BYTES: "bytes", **dict.fromkeys(LATENCIES.values(), "latency")}
# A verdict on speed goes by the first of these metrics that its rounds have.
SPEEDS = (UNIT_SECONDS, "cpu_seconds")


def speed_of(metrics: Container[str]) -> str:
    """The metric of these by which a verdict on speed goes: CPU time, unless there is a load."""
    return next((metric for metric in SPEEDS if metric in metrics), SPEEDS[-1])


# For a round under a plan: an estimate of the CPU time that its pools took beyond the library's pools.
POOL_COST = "pool_cost_seconds"
# … and an estimate of the bytes that the observation of function calls took.
POOL_COST_BYTES = "pool_cost_bytes"
# For a round that looks up owners: an estimate of the least CPU time that so many look-ups take.
LOOK_UP_COST = "look_up_cost_seconds"
# Both costs for a unit of the load's work, where a server is driven by one.
POOL_COST_OF_UNIT, LOOK_UP_COST_OF_UNIT = "pool_cost_unit_seconds", "look_up_cost_unit_seconds"
_COSTS = {
    POOL_COST: "seconds", POOL_COST_BYTES: "bytes", LOOK_UP_COST: "seconds", POOL_COST_OF_UNIT: "seconds",
    LOOK_UP_COST_OF_UNIT: "seconds",
}  # fmt: skip
TRIAL_METRICS = Metrics(
    {**OF_A_PROCESS, **OF_A_LOAD, **_COSTS}, optional=frozenset({*OF_A_LOAD, *_COSTS}), estimated=frozenset(_COSTS)
)
REPLAY_METRICS = Metrics({
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "end_bytes": "bytes",
    "peak_live_bytes": "bytes",
    "held_bytes": "bytes",
    "page_faults": "faults",
})  # fmt: skip
