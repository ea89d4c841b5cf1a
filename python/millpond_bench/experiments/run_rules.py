# SPDX-License-Identifier: BSL-1.0
"""The rules by which the processes of a published experiment run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Needs:
    """The approximate cost of one process of a cell on the reference machine."""

    seconds: float
    bytes: int


@dataclass(frozen=True, eq=False, kw_only=True)
class RunRules:
    """The needs and limits of a run. Its readers start processes, and estimate their costs.

    `needs`: of a cell's parameters and strategy. `optional`: strategies that a program may have been built without; it
    then runs without them. `memory_bytes`: the address space that each process may have; `writable_bytes`: the memory
    that it may write to, without what is only reserved; 0 for no limit. `builds`: parameters that choose a build:
    `optimisation` 0 is PROGRAM-O0, which the program starts itself unless it is emulated. `extra_runs`: one more run of
    some cells, for other values.
    """

    needs: Callable[[Mapping[str, str], str], Needs]
    optional: tuple[str, ...] = ()
    memory_bytes: int = 0
    writable_bytes: int = 0
    builds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    extra_runs: tuple[Any, ...] = ()  # extra_runs.ExtraRun
