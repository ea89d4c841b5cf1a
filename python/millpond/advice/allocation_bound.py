# SPDX-License-Identifier: BSL-1.0
"""Finds programs that allocate too little for any allocator to matter, from the recording and without a trial.

events × the largest cost of an event  <  1 % of the CPU     malloc and free cannot be made much faster
objects at the peak, a cache line each, fit a second level   nor can their placement
live bytes at the peak                                       if there are many, huge pages are judged
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.rounds.characterisation import Characterisation, RecordedTrace
from millpond.statistics.order_statistics import MINIMUM_EFFECT
from millpond.system.wording import count_text, seconds_text

# An allocation or a free that misses the cache everywhere.
_EVENT_SECONDS = 250e-9
# The recorder's cost besides its events: to start, and to finish a small trace.
_RECORDER_START_SECONDS = 0.05
_OBJECTS_AT_MOST = (1 << 20) // 64
# The memory that a translation buffer of 1 500 entries covers with small pages.
_HEAP_BYTES_AT_MOST = 6 << 20


@dataclass(frozen=True)
class AllocationBound:
    """The upper bound of an allocator's effect. `cpu_seconds`: of the program, without the recorder's cost."""

    events: int
    cpu_seconds: float
    objects: int
    heap_bytes: int

    @property
    def huge_pages_may_matter(self) -> bool:
        """True if the heap is large enough for huge pages, even with few blocks."""
        return self.heap_bytes > _HEAP_BYTES_AT_MOST

    @property
    def words(self) -> str:
        """Returns `31.6 k heap events take less than 1 % of 3.90 s of CPU, and its objects, at most 12 k at a
        time, are too few …`.
        """
        return (
            f"{count_text(self.events)} heap {'event takes' if self.events == 1 else 'events take'} less than "
            f"{100 * MINIMUM_EFFECT:.0f} % of {seconds_text(self.cpu_seconds)} of CPU, and its objects, at most "
            f"{count_text(self.objects)} at a time, are too few for their placement to matter"
        )


def bound_of(trace: RecordedTrace, recording_cpu_seconds: float = 0.0) -> AllocationBound | None:
    """Returns the bound of a program for which no allocator can matter; None if one may matter, or if too little is
    known.

    `recording_cpu_seconds`: of the whole recording; the trace has a thread's CPU time only up to its last event.
    """
    known = (trace.events, trace.cpu_seconds, trace.peak_live_objects, trace.peak_live_bytes)
    if trace.stopped_early or trace.lost or any(value is None for value in known):
        return None
    whole = max(trace.cpu_seconds or 0.0, recording_cpu_seconds - _RECORDER_START_SECONDS)
    events, cpu_seconds = trace.events or 0, whole - (trace.recorder_seconds or 0.0)
    few_objects = (trace.peak_live_objects or 0) <= _OBJECTS_AT_MOST
    if not few_objects or events * _EVENT_SECONDS >= MINIMUM_EFFECT * cpu_seconds:
        return None
    return AllocationBound(events, cpu_seconds, trace.peak_live_objects or 0, trace.peak_live_bytes or 0)


def first_estimate(recorded: Characterisation, run_cpu_seconds: float) -> str:
    """Returns a first estimate from the recording, for a program that takes so much CPU without a recorder.

    It is the share of malloc and free in the CPU, from the operations that the recorder timed, so the most that a
    faster allocator saves by itself. The lower figure leaves out reading the clock and waiting.
    """
    most = sum(s.operation_seconds or 0.0 for s in recorded.subsystems)
    least = sum(float((s.dimension("D").absolute or {}).get("at_least") or 0.0) for s in recorded.subsystems)
    low, high = (min(100 * seconds / max(run_cpu_seconds, 1e-9), 100) for seconds in (min(least, most), most))
    share = f"{high:.0f}" if f"{low:.0f}" == f"{high:.0f}" else f"{low:.0f} to {high:.0f}"
    return (
        f"first estimate: {count_text(recorded.trace.events)} heap events; malloc and free take {share} % of the "
        f"{seconds_text(run_cpu_seconds)} of CPU, and better placement may save more"
    )
