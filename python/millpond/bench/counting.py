# SPDX-License-Identifier: BSL-1.0
"""Turns the counting options of `millpond bench` into what is counted, and lists the events of this machine."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from millpond.bench import event_names
from millpond.bench.perf_control import PerfControl
from millpond.bench.window_counters import Counters, Counting
from millpond.system import output
from millpond.system.arguments import STDOUT


def counting_of(how: Counters | None, events: Sequence[str], control: str | None, taken: Collection[str]) -> Counting:
    """What is to be counted. Failure (status 2) for an event that nobody knows, or descriptors that are none."""
    event_names.require_known(events, taken, counters=how is not None)
    return Counting(how, tuple(events), PerfControl.given(control) if control is not None else None)


def show_events(json: str | None) -> None:
    """The events of this machine: as JSON, and as lines unless JSON takes their place."""
    found = event_names.listed()
    if json is not None:
        output.write_json(found, json)
    if json != STDOUT:
        print(event_names.text_of(found))
