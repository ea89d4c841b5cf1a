# SPDX-License-Identifier: BSL-1.0
"""The call tree of a run as stacks for other tools: collapsed stacks (flame graphs), speedscope.

contexts of the store: nodes [parent, function, subsystem, counts…]     parents come before their children
    1 main ─┬─ 2 read ── 4 grow   512 B      ──▶   main;read;grow 512
            └─ 3 sort             64 B             main;sort 64
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from millpond import __version__
from millpond.store.store import Store
from millpond.system import output
from millpond.system.errors import Failure, Status

COUNTS = ("objects", "bytes", "live_objects", "live_bytes")
_FIRST_COUNT = 3  # of a node: parent, function, subsystem, then the counts
_NOBODY = "(no subsystem)"


@dataclass(frozen=True)
class Tree:
    """The call tree of one run. `nodes` as the store has them; node i + 1 is `nodes[i]`."""

    run: str
    functions: Sequence[str]
    subsystems: Sequence[str]
    nodes: Sequence[Sequence[int]] = field(repr=False)

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
        return int(self.nodes[number - 1][_FIRST_COUNT + COUNTS.index(what)])

    def subsystem(self, number: int) -> str:
        """The name of the subsystem that a node's allocations belong to."""
        index = self.nodes[number - 1][2]
        return self.subsystems[index] if index >= 0 else _NOBODY


def tree_of(store: Store, run: str) -> Tree:
    """The call tree that the store keeps of a run. Failure (status 3) where it keeps none, or a broken one."""
    data = store.contexts(run)
    if data is None:
        raise Failure(Status.INPUT, f"run {run} keeps no call stacks that can be read; `millpond advise` keeps them")
    return tree_from(run, data)


def tree_from(run: str, data: dict[str, Any]) -> Tree:
    """The tree in "millpond.contexts/1". Failure (status 3) where a parent does not come before its child."""
    nodes = data["nodes"]
    if any(not 0 <= node[0] <= i for i, node in enumerate(nodes)):
        raise Failure(Status.INPUT, f"the call tree of run {run} is damaged: a child comes before its parent")
    return Tree(run, data["functions"], data["subsystems"], nodes)


def collapsed(tree: Tree, weight: str = "bytes") -> str:
    """A line for each stack that allocated: `outermost;…;innermost WEIGHT`. O(nodes × depth)."""
    names = [_frame(name) for name in tree.functions]
    lines = []
    for number in tree.allocating():
        value = tree.count(number, weight)
        if value:
            lines.append(f"{';'.join(names[f] for f in tree.stack(number))} {value}")
    return "".join(f"{line}\n" for line in lines)


def _frame(name: str) -> str:
    """A function's name without what separates frames and lines."""
    return re.sub(r"\s+", " ", name.replace(";", ":")).strip() or "?"


def speedscope(tree: Tree) -> str:
    """A profile each for bytes and objects, allocated and live at the end, by speedscope's file format."""
    numbers = list(tree.allocating())
    stacks = {n: tree.stack(n) for n in numbers}
    profiles = []
    for what, unit, name in (
        ("bytes", "bytes", "bytes allocated"),
        ("objects", "none", "objects allocated"),
        ("live_bytes", "bytes", "bytes live at the end"),
        ("live_objects", "none", "objects live at the end"),
    ):
        chosen = [n for n in numbers if tree.count(n, what)]
        weights = [tree.count(n, what) for n in chosen]
        profiles.append({
            "type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": sum(weights),
            "samples": [stacks[n] for n in chosen], "weights": weights,
        })  # fmt: skip
    return output.json_text({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name} for name in tree.functions]},
        "profiles": profiles,
        "activeProfileIndex": 0,
        "name": f"millpond {tree.run}",
        "exporter": f"millpond {__version__}",
    }, compact=True)  # fmt: skip
