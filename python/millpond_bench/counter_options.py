# SPDX-License-Identifier: BSL-1.0
"""Options of `millpond bench` that select what is counted, as annotated types for Typer."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond_bench.experiments.window_counters import Counters

CountersOption = Annotated[
    Counters | None,
    typer.Option(
        metavar="[=simulated]",
        help="Also count instructions, loads, misses and stalled cycles; =simulated: once per cell, in callgrind.",
    ),
]
EventOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Also count this event, e.g. MEM_LOAD_RETIRED:L3_MISS; may be repeated."),
]
PerfControlOption = Annotated[
    str | None,
    typer.Option(metavar="CTL,ACK", help="Tell an outer `perf stat --control fd:CTL,ACK` when to count."),
]
ListEventsOption = Annotated[
    bool, typer.Option("--list-events", help="List the events that --event accepts on this machine.")
]
