# SPDX-License-Identifier: BSL-1.0
"""Processes of this machine, as /proc shows them: their parents, their start times, and their ends."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def kill_descendants() -> None:
    """Kills every process that this one and its children have started."""
    kill_each(descendants_of(os.getpid()))


def kill_each(started: Mapping[int, int]) -> None:
    """Kills the processes that are still the same by their start time."""
    for process, since in started.items():
        if process_facts(process)[1:] == (since,):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)


def process_facts(process: int) -> tuple[int, ...]:
    """The parent and the start time of a process; empty if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ()
    return () if fields[0] == "Z" else (int(fields[1]), int(fields[19]))


def descendants_of(root: int) -> dict[int, int]:
    """Every living process that this one and its children have started, with its start time."""
    facts = {int(p.name): process_facts(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdecimal()}
    found: dict[int, int] = {}
    parents = {root}
    while parents:
        children = {p: f[1] for p, f in facts.items() if f and f[0] in parents and p not in found}
        found |= children
        parents = set(children)
    return found


def children_cpu_seconds() -> float:
    """The CPU time of all children of this process that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
