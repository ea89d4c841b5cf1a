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

_USED = re.compile(r"(\d+) blocks in \d+ bytes, (\d+) free in \d+ bytes, (\d+) bytes used,")
# A line for the allocator, and one for the general allocator behind its lists.
_COUNTED = re.compile(
    r"millpond [^:]+: (\d+) allocations of (\d+) bytes in (\d+), (\d+) frees"
    r"(?:, (\d+) blocks searched.*?(?:, (\d+) insertions into (\d+) nodes on (\d+) pages)?$)?",
    re.MULTILINE,
)
# What the groups of such a line are, to be added up over both.
_SUMS = ("allocated", "requested_bytes", "granted_bytes", "freed", "examined", "insertions", "relinked_nodes",
         "relinked_pages")  # fmt: skip


@dataclass(frozen=True)
class AllocatorStatistics:
    """The memory that an allocator took from the system, its objects, and the free blocks that it examined to allocate
    them; None for what it does not report.

    `insertions` into doubly linked lists wrote the links of `relinked_nodes`: blocks and heads of lists, on
    `relinked_pages`. `requested_bytes` of all objects were served by blocks of `granted_bytes`. `blocks` exist at the
    end, free ones too.
    """

    heap_bytes: int | None = None
    allocated: int | None = None
    freed: int | None = None
    examined: int | None = None
    insertions: int | None = None
    relinked_nodes: int | None = None
    relinked_pages: int | None = None
    requested_bytes: int | None = None
    granted_bytes: int | None = None
    blocks: int | None = None

    @property
    def lost_bytes(self) -> int | None:
        """The bytes of blocks that were not requested: tags, and what rounding loses."""
        return None if self.granted_bytes is None else self.granted_bytes - (self.requested_bytes or 0)


def statistics_in(said: str) -> AllocatorStatistics:
    """The statistics in a program's standard error, of the program itself: it ends after its children. O(text)."""
    usages = list(_USED.finditer(said))
    if not usages:
        return AllocatorStatistics()
    used = usages[-1]
    counted = _COUNTED.findall(said, used.end())
    sums = {name: sum(int(line[i] or 0) for line in counted) for i, name in enumerate(_SUMS)} if counted else {}
    return AllocatorStatistics(heap_bytes=int(used[3]), blocks=int(used[1]) + int(used[2]), **sums)


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
