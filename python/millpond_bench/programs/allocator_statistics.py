# SPDX-License-Identifier: BSL-1.0
"""The statistics that an allocator of ours writes at a program's end, with MILLPOND_STATS=1."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from millpond.rounds.real_program import RealProgram
from millpond.system.environment import user_environment

_USED = re.compile(r"(\d+) bytes used,")
# A line for the allocator, and one for the general allocator behind its lists.
_COUNTED = re.compile(r"millpond [^:]+: (\d+) allocations of \d+ bytes in \d+, (\d+) frees(?:, (\d+) blocks searched)?")


@dataclass(frozen=True)
class AllocatorStatistics:
    """The memory that an allocator took from the system, its objects, and the free blocks that it examined to allocate
    them; None for what it does not report.
    """

    heap_bytes: int | None = None
    allocated: int | None = None
    freed: int | None = None
    examined: int | None = None


def statistics_in(said: str) -> AllocatorStatistics:
    """The statistics in a program's standard error, of the program itself: it ends after its children. O(text)."""
    usages = list(_USED.finditer(said))
    if not usages:
        return AllocatorStatistics()
    counted = _COUNTED.findall(said, usages[-1].end())
    sums = [sum(int(line[i] or 0) for line in counted) if counted else None for i in range(3)]
    return AllocatorStatistics(int(usages[-1][1]), *sums)


def statistics_of(workload: RealProgram, library: Path | None) -> AllocatorStatistics:
    """The statistics of a run of its own, because an allocator that keeps them executes more instructions.

    `library`: the allocator, preloaded; None for the C library's, which reports nothing.
    """
    if library is None:
        return AllocatorStatistics()
    with (workload.stdin or Path(os.devnull)).open("rb") as stdin:
        done = subprocess.run(
            workload.command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
            cwd=workload.folder, env={**user_environment(), **workload.environment, "MILLPOND_STATS": "1",
                                      "LD_PRELOAD": str(library)},
        )  # fmt: skip
    return statistics_in(done.stderr.decode(errors="replace"))
