# SPDX-License-Identifier: BSL-1.0
"""The metrics of an experiment with their units: each experiment declares its own, and its journal writes by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millpond.cells.cell import Outcome

# Events of a window, where they were asked for: metric → unit. Of user space; misses are of reads.
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
# Those of a whole window, however many units of work are done in it.
WORKING_SETS = ("working_set_lines", "working_set_pages")
# Of a littered heap that is pictured: the share of each line that is held, by its offset.
HEAP_TAKEN = "heap_taken"
# The unit of an event that the user named: any name that is no metric's.
EVENTS = "events"
# Behind a counter's name: the share of the window for which the processor counted it, where that is not all.
RUNNING = ":running_share"


@dataclass(frozen=True, eq=False)
class Metrics:
    """Metric → unit. All of them are better when smaller.

    `optional`: those of which only outcomes that have one get a row. `is_open`: an outcome has rows of what it has, and
    of the first metric where it has nothing; names that are not declared are events (EVENTS). `step_ns:4096` is step
    4096 of the series `step_ns`. `warm`: those of passes behind the first; elsewhere a fresh process works once.
    `estimated`: those that are neither measured nor counted.
    """

    units: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    is_open: bool = False
    warm: frozenset[str] = frozenset()
    estimated: frozenset[str] = frozenset()

    def unit(self, metric: str) -> str:
        """The unit of a metric; `events` for what was not declared."""
        if metric.endswith(RUNNING):
            return "share"
        return self.units.get(metric) or self.units.get(metric.partition(":")[0], EVENTS)

    def of(self, outcome: Outcome) -> dict[str, str]:
        """The metrics that an outcome has a row for, with their units; null where it has no value."""
        if not self.is_open:
            return {m: unit for m, unit in self.units.items() if m not in self.optional or m in outcome.values}
        have = [*outcome.values, *outcome.absent]
        return {metric: self.unit(metric) for metric in have or list(self.units)[:1]}

    def is_warm(self, metric: str) -> bool:
        """Whether passes behind the first gave it."""
        return metric.partition(":")[0] in self.warm

    def is_counter(self, metric: str) -> bool:
        """Whether it is an event of a window, by the processor or simulated."""
        return metric in COUNTERS or (self.is_open and self.unit(metric) == EVENTS)

    def counted_in(self, outcomes: Iterable[Outcome]) -> list[str]:
        """The counters that outcomes have a value or a reason for: COUNTERS first, then the user's events."""
        have = dict.fromkeys(name for o in outcomes for name in (*o.values, *o.absent) if self.is_counter(name))
        return [*(name for name in COUNTERS if name in have), *(name for name in have if name not in COUNTERS)]


# What a whole process takes, whichever experiment measures it.
OF_A_PROCESS = {
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "page_faults": "faults",
    "major_faults": "faults",
}
PROCESS_METRICS = Metrics(OF_A_PROCESS)
# Of a round under a plan: the CPU that its pools took beyond what the library's would have taken, as estimated.
POOL_COST = "pool_cost_seconds"
# … and the bytes of what observes calls of functions, as estimated.
POOL_COST_BYTES = "pool_cost_bytes"
# Of a round that looks up who allocates: the CPU that so many look-ups take at least, as estimated.
LOOK_UP_COST = "look_up_cost_seconds"
_COSTS = {POOL_COST: "seconds", POOL_COST_BYTES: "bytes", LOOK_UP_COST: "seconds"}
TRIAL_METRICS = Metrics({**OF_A_PROCESS, **_COSTS}, optional=frozenset(_COSTS), estimated=frozenset(_COSTS))
REPLAY_METRICS = Metrics({
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "end_bytes": "bytes",
    "peak_live_bytes": "bytes",
    "held_bytes": "bytes",
    "page_faults": "faults",
})  # fmt: skip
