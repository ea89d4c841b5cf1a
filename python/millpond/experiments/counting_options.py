# SPDX-License-Identifier: BSL-1.0
"""The options of `millpond bench` that say what is counted in the measured windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from millpond.experiments import event_names
from millpond.experiments.perf_control import PerfControl
from millpond.experiments.window_counters import Counters, Counting
from millpond.system import output
from millpond.system.arguments import STDOUT

CountersOption = Annotated[
    Counters | None,
    typer.Option(
        metavar="[=simulated]",
        help="Also count instructions, loads, misses and stalled cycles; simulated: under callgrind, once a cell.",
    ),
]
EventOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Also count that event, as MEM_LOAD_RETIRED:L3_MISS; may be repeated."),
]
PerfControlOption = Annotated[
    str | None,
    typer.Option(metavar="CTL,ACK", help="Tell an outer perf stat --control fd:CTL,ACK when to count."),
]
ListEventsOption = Annotated[bool, typer.Option("--list-events", help="Show what --event can name here.")]


def counting_of(how: Counters | None, events: Sequence[str], control: str | None) -> Counting:
    """What is to be counted. Failure (status 2) for an event that nobody knows, or descriptors that are none."""
    event_names.require_known(events, counters=how is not None)
    return Counting(how, tuple(events), PerfControl.given(control) if control is not None else None)


def show_events(json: str | None) -> None:
    """The events of this machine: as JSON, and as lines unless JSON takes their place."""
    found = event_names.listed()
    if json is not None:
        output.write_json(found, json)
    if json != STDOUT:
        print(event_names.text_of(found))
