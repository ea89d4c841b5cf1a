# SPDX-License-Identifier: BSL-1.0
"""The call tree of a trace ("millpond.contexts/1"): written by millpond-characterise, kept by the store.

nodes [parent, function, subsystem, counts…]     parents come before their children, numbers begin at 1, 0 is no
parent
    1 main ─┬─ 2 read ── 4 grow
            └─ 3 sort
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import field

from millpond.system.records import NULL, Record

SCHEMA = "millpond.contexts/1"
COUNTS = ("objects", "bytes", "live_objects", "live_bytes")
_FIRST_COUNT = 3  # of a node: parent, function, subsystem, then the counts
_NOBODY = "(no subsystem)"
Node = tuple[int, int, int, int, int, int, int]


class CallTree(Record, frozen=True):
    """The call contexts of a run with their allocations; node i + 1 is `nodes[i]`.

    `peak_bytes`: the bytes of each node itself that are live at the peak of the program; empty in older files. Of a
    sampled trace, counts are estimates: `intervals` has 95 % intervals of each node itself, of its bytes and of those
    live at the end; `unseen` the upper ends of allocations and bytes for a context of which the sample has nothing.
    """

    schema: str = field(default_factory=lambda: SCHEMA)
    functions: tuple[str, ...] = field(default_factory=tuple)
    subsystems: tuple[str, ...] = field(default_factory=tuple)
    nodes: tuple[Node, ...] = field(default_factory=tuple)
    peak_bytes: tuple[int, ...] = ()
    intervals: tuple[tuple[int, int, int, int], ...] = ()
    unseen: tuple[int, int] | None = field(default_factory=NULL)

    def allocating(self) -> Iterator[int]:
        """The nodes, by number from 1, that allocated something themselves."""
        return (i for i, node in enumerate(self.nodes, 1) if any(node[_FIRST_COUNT:]))

    def stack(self, number: int) -> list[int]:
        """Function numbers of a node's stack, the outermost first. O(depth)."""
        found = []
        while number:
            node = self.nodes[number - 1]
            found.append(node[1])
            number = node[0]
        return found[::-1]

    def count(self, number: int, what: str) -> int:
        """One of COUNTS of a node itself, without its children."""
        return self.nodes[number - 1][_FIRST_COUNT + COUNTS.index(what)]

    def subsystem(self, number: int) -> str:
        """The name of the subsystem that a node's allocations belong to."""
        index = self.nodes[number - 1][2]
        return self.subsystems[index] if index >= 0 else _NOBODY
