# SPDX-License-Identifier: BSL-1.0
"""The options that count events, and the names of the processor's events (`--event`, `list events`).

MEM_LOAD_RETIRED:L3_MISS   a name of libpfm's, [processor::]EVENT[:unit mask]…    millpond-events knows them
taken=0xc4                 a name of the user's own and the processor's code
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from millpond.cells.metrics import COUNTERS
from millpond.system import native, output
from millpond.system.arguments import STDOUT
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.surroundings import USUAL
from millpond_bench.experiments.window_counters import CounterRequest, Counters, PerfControl

PROGRAM = "millpond-events"
SCHEMA = "millpond.events/1"
MOST = 16  # the limit of a suite's program
_CODE = re.compile("0x[0-9a-fA-F]{1,16}")


def label_of(text: str) -> str:
    """The name of an event in results: NAME of NAME=0xCODE. Failure (status 2) for an invalid code."""
    label, sign, code = text.partition("=")
    # libpfm's names have a : or a . before a value: EVENT:c=1.
    has_code = bool(sign) and not set(label) & set(":.")
    if not text or (has_code and not (label and _CODE.fullmatch(code))):
        raise Failure(Status.USAGE, f"--event {text!r} is neither an event (MEM_LOAD_RETIRED:L3_MISS) nor NAME=0xCODE")
    return label if has_code else text


def require_known(events: Sequence[str], taken: Collection[str], *, counters: bool) -> None:
    """Failure (status 2) for an unknown event, or one whose name is taken; before anything is measured.

    `taken`: the metrics of the experiments. An event that only this processor lacks is known: it is null, with the
    reason, in every round.
    """
    labels = [label_of(text) for text in events]
    if len(events) > MOST:
        raise Failure(Status.USAGE, f"--event: {len(events)} events are too many: at most {MOST} fit")
    for label in labels:
        if labels.count(label) > 1:
            raise Failure(Status.USAGE, f"--event {label} is given twice")
        if label in COUNTERS and counters:
            raise Failure(Status.USAGE, f"--counters counts {label} already: leave out --event {label}")
        if label not in COUNTERS and label in taken:
            raise Failure(Status.USAGE, f"--event {label!r}: a metric has that name; choose another")
    named = [text for text, label in zip(events, labels, strict=True) if text == label]
    if named:
        _ask("--resolve", "--", *named)


def listed() -> dict[str, Any]:
    """The events of this machine, from millpond-events."""
    found = json.loads(_ask("--list"))
    if found.get("schema") != SCHEMA:
        raise Failure(Status.ENVIRONMENT, f"{PROGRAM} --list printed no list ({SCHEMA}): build it again")
    return dict(found)


def unavailable() -> dict[str, str]:
    """The counters that `--counters` cannot count on this machine, each with the reason; empty if this is unknown."""
    try:
        found = listed()
    except Failure:
        return {}
    return {each["name"]: each["why_not"] for each in found["named"] if not each["available"]}


def text_of(found: dict[str, Any]) -> str:
    """The list for a terminal: first the events of `--counters`, then every name, with its unit masks."""
    lines = ["Counted by --counters, on every processor:"]
    for each in found["named"]:
        how = f"as {each['counted_as']}" if each["available"] else f"null here: {each['why_not']}"
        lines.append(f"  {each['name']:16}{each['description']}; {how}")
    lines.append(f"For --event, of {', '.join(found['units'])}:")
    for each in found["events"]:
        lines.append(f"  {each['name']}  {each['description']}")
        lines += [f"      :{mask['name']}  {mask['description']}" for mask in each["unit_masks"]]
    return "\n".join(lines)


def counting_of(
    how: Counters | None, events: Sequence[str], control: str | None, taken: Collection[str]
) -> CounterRequest:
    """The requested counters. Failure (status 2) for an unknown event or invalid descriptors."""
    require_known(events, taken, counters=how is not None)
    return CounterRequest(how, tuple(events), PerfControl.given(control) if control is not None else None)


def show_events(json: str | None) -> None:
    """Shows the events of this machine: as JSON if asked, and as lines unless JSON goes to standard output."""
    found = listed()
    output.write_json(found, json)
    if json != STDOUT:
        print(text_of(found))


def _ask(*words: str) -> str:
    done = native.capture([str(native.find(PROGRAM)), *words], USUAL.environment({}))
    if done.status != 0:
        raise native.failure_of(PROGRAM, native.ProcessEnd(done.status, done.said))
    return done.printed
