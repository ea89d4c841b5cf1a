# SPDX-License-Identifier: BSL-1.0
"""Exports a run's call tree as stacks: collapsed stacks (flame graphs) and speedscope.

1 main ─┬─ 2 read ── 4 grow   512 B      ──▶   main;read;grow 512
        └─ 3 sort             64 B             main;sort 64
"""

from __future__ import annotations

import re

from millpond import __version__
from millpond.store.call_tree import CallTree
from millpond.store.run_contents import RunContents
from millpond.system import output
from millpond.system.errors import Failure, Status


def tree_of(run: RunContents) -> CallTree:
    """Returns the stored call tree of a run. Failure (status 3) if it is missing or broken."""
    tree = run.call_tree
    if tree is None:
        raise Failure(Status.INPUT, f"run {run.run} has no readable call stacks; `millpond advise` stores them")
    if any(not 0 <= node[0] <= i for i, node in enumerate(tree.nodes)):
        raise Failure(Status.INPUT, f"the call tree of run {run.run} is damaged: a child comes before its parent")
    return tree


def collapsed(tree: CallTree, weight: str = "bytes") -> str:
    """Returns a line for each stack that allocated: `outermost;…;innermost WEIGHT`. O(nodes × depth)."""
    names = [_frame(name) for name in tree.functions]
    lines = []
    for number in tree.allocating():
        value = tree.count(number, weight)
        if value:
            lines.append(f"{';'.join(names[f] for f in tree.stack(number))} {value}")
    return "".join(f"{line}\n" for line in lines)


def _frame(name: str) -> str:
    """Returns a function's name without the characters that separate frames and lines."""
    return re.sub(r"\s+", " ", name.replace(";", ":")).strip() or "?"


def speedscope(tree: CallTree, run: str) -> str:
    """Returns profiles of bytes and objects, allocated and live at the end, in speedscope's file format."""
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
        "name": f"millpond {run}",
        "exporter": f"millpond {__version__}",
    }, compact=True)  # fmt: skip
