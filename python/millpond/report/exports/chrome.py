# SPDX-License-Identifier: BSL-1.0
"""Exports live bytes and the pages they touch over time, as counters in Chrome's trace-event format (also for
Perfetto).

Each subsystem has two counters, because a viewer stacks the series of one counter, and live bytes lie *on* their pages.
`otherData` gives the number of subsystems that are left out.
"""

from __future__ import annotations

from typing import Any

from millpond.rounds.characterisation import Characterisation
from millpond.store.run_contents import RunContents
from millpond.system import output
from millpond.system.errors import Failure, Status

SUBSYSTEMS_AT_MOST = 200  # the largest; a viewer shows a track for each counter


def counters(run: RunContents) -> str:
    """Returns the trace of one run. Failure (status 3) if it has no characterisation."""
    data = run.characterisation
    if data is None:
        raise Failure(Status.INPUT, f"run {run.run} has no characterisation; `millpond advise` stores one")
    return output.json_text(trace_events(Characterisation.from_json(data)), compact=True)


def trace_events(data: Characterisation) -> dict[str, Any]:
    """Returns a characterisation as trace events, ordered by time. Times are microseconds since the first event."""
    number = data.process.pid or 1
    found: list[dict[str, Any]] = []
    largest = sorted(data.subsystems, key=lambda s: -(s.peak_live_bytes or 0))
    for subsystem in largest[:SUBSYSTEMS_AT_MOST]:
        for point in subsystem.diffusion:
            for words, value in (("live bytes", point.live_bytes), ("page bytes", point.page_bytes)):
                found.append({
                    "name": f"{subsystem.name}: {words}", "cat": "heap", "ph": "C", "pid": number, "tid": 0,
                    "ts": round(1e6 * point.time_seconds, 3), "args": {"bytes": int(value)},
                })  # fmt: skip
    found.sort(key=lambda event: float(event["ts"]))
    named = {"name": "process_name", "ph": "M", "pid": number, "tid": 0, "args": {"name": data.process.words}}
    rest = largest[SUBSYSTEMS_AT_MOST:]
    left_out = {
        "subsystems": len(rest),
        "peak_live_bytes_at_most": max((s.peak_live_bytes or 0 for s in rest), default=0),
    }
    return {"traceEvents": [named, *found], "displayTimeUnit": "ms", "otherData": {"left_out": left_out}}
