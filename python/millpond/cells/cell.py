# SPDX-License-Identifier: BSL-1.0
"""A cell: what runs (its subject), who takes a turn at it (the contender), and parameters that tell cells apart.

    Cell ── subject     Program  a command line          a trial, a malloc, a build
         │              Trace    a recorded program      a replay
         │              Workload of a suite's program    a benchmark
         ├─ contender   Control, Strategy, Malloc, Plan  (ComputedContender: from the rounds of others, never run)
         └─ parameters  name, value

Cells are data: frozen, comparable, and they serialise, so that a run can be stored, resumed or sent to another machine.
**Each round of a cell is one fresh process**; what one round gave is an `Outcome`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from millpond.cells.plans import Plan
from millpond.system.clock import utc_now
from millpond.system.environment import preload_setting
from millpond.system.machine_facts import Place
from millpond.system.records import Record

CONTROLS = ("bare", "empty", "shared", "shared_huge", "looked_up")
# A parameter of a suite's cell next to those of its workload: the share of a heap that was littered before the
# workload.
LITTER = "litter"
# Parameters of the environment of a cell's program (experiments/surroundings.py), which the program is not told: the
# compiler, the malloc that it runs on, whether that malloc keeps all freed memory, and the last level of cache where
# counters are simulated. SURROUNDINGS has the values of a cell without these parameters. No experiment may use one of
# these names for an axis of its own.
TOOLCHAIN, MALLOC, KEPT, LAST_LEVEL = "toolchain", "malloc", "kept", "last_level"
SURROUNDINGS = {TOOLCHAIN: "release", MALLOC: "glibc", KEPT: "0", LAST_LEVEL: "own"}


@dataclass(frozen=True)
class Program:
    """A command line, as the user gave it."""

    argv: tuple[str, ...]
    kind: ClassVar[str] = "program"


@dataclass(frozen=True)
class Trace:
    """A recorded program."""

    path: str
    kind: ClassVar[str] = "trace"

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.path,)


@dataclass(frozen=True)
class Workload:
    """A workload of a suite's program."""

    name: str
    kind: ClassVar[str] = "workload"

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.name,)


Subject = Program | Trace | Workload


@dataclass(frozen=True)
class PlainContender:
    """A contender that only its name describes. `label`: its name in tables."""

    name: str

    @property
    def label(self) -> str:
        return self.name


class Control(PlainContender):
    """A contender that others are compared with: one of CONTROLS in a trial, `recorded` and `null` in a replay, …"""

    kind: ClassVar[str] = "control"


class Strategy(PlainContender):
    """A strategy of a suite's workload, by its canonical name: an allocator with binding and disposal, or another
    variant.
    """

    kind: ClassVar[str] = "strategy"


@dataclass(frozen=True)
class Malloc:
    """A malloc that a program can run on. Two of one name are the same contender.

    `path`: its library; None for the C library's own, which is not preloaded. `tunables`: NAME=VALUE, what else is set
    in the program's environment; empty for nothing.
    """

    name: str
    path: Path | None = field(default=None, compare=False)
    tunables: str = field(default="", compare=False)
    kind: ClassVar[str] = "malloc"

    @property
    def label(self) -> str:
        """`malloc:NAME`, or the path of a library that has no other name."""
        return self.name if "/" in self.name else f"malloc:{self.name}"

    @property
    def place(self) -> Place:
        """The name and the path of its library."""
        return Place(self.name, str(self.path) if self.path else None)

    @property
    def setting(self) -> str:
        """NAME=VALUE that makes a program run on it, after the libraries that the user preloads; empty if nothing is
        needed.
        """
        return self.tunables if self.path is None else preload_setting(str(self.path))


class ComputedContender(PlainContender):
    """A contender that never ran: its values are made from those of others in the same round."""

    kind: ClassVar[str] = "computed"

    @classmethod
    def without_look_up(cls, label: str) -> ComputedContender:
        """The contender for a plan with that label, less what only a trial costs."""
        return cls(f"{label} without look-up")


Contender = Control | Strategy | Malloc | Plan | ComputedContender


@dataclass(frozen=True)
class Cell:
    """One contender on one subject. `name` is unique within a run of one experiment."""

    subject: Subject
    contender: Contender
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def plan(self) -> Plan | None:
        """The contender if it is a plan, else None."""
        return self.contender if isinstance(self.contender, Plan) else None

    @property
    def name(self) -> str:
        """The contender's label; for a workload, its name and its parameters come first."""
        if not isinstance(self.subject, Workload):
            return self.contender.label
        return "/".join([self.subject.name, *(f"{k}={v}" for k, v in self.parameters), self.contender.label])

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data."""
        return {
            "subject": {"kind": self.subject.kind, "words": list(self.subject.argv)},
            "contender": {"kind": self.contender.kind, "name": self.contender.name},
            "plan": self.plan.to_json() if self.plan else None,
            "parameters": dict(self.parameters),
        }


class PoolCounts(Record, frozen=True):
    """The counts of one round for a pool that serves malloc.

    `calls`: the observed calls of an arena's function; `outlived_calls`: the calls among them that ended before all
    their objects. `capped_bytes` and `capped_live_bytes`: the bytes that an arena held when it had to stop, and the
    live bytes among them; 0 if no arena had to.
    """

    pool: str
    allocations: int = 0
    resets: int = 0
    calls: int = 0
    outlived_calls: int = 0
    capped_bytes: int = 0
    capped_live_bytes: int = 0

    @property
    def may_be_proposed(self) -> bool:
        """True if no arena held too much memory for its live bytes, and no object was seen to outlive its call."""
        return not self.capped_bytes and not self.outlived_calls


@dataclass(frozen=True)
class Outcome:
    """The result of one round of one cell. `values` holds the metrics that were measured, in their units.

    `status`: ok; killed (it ended otherwise than the bare program, or by our time limit); refused (it never started).
    Round 0 is the warm-up: stored, never used in a verdict. `stage` tells rounds that choose a plan from rounds that
    judge it. `absent`: metrics that were wanted and are null, and why. `kind`: the kind of all its values, unless they
    are counted or measured.
    """

    cell: Cell
    stage: str
    round: int
    values: dict[str, float] = field(compare=False)
    time_utc: str = field(default_factory=utc_now)
    status: str = "ok"
    why: str = ""
    exit_status: int = 0
    signal: int = 0
    pools: tuple[PoolCounts, ...] = field(default=(), compare=False)
    absent: dict[str, str] = field(default_factory=dict, compare=False)
    kind: str = ""
    machine: str = field(default="", compare=False)
    checksum: str = field(default="", compare=False)

    @classmethod
    def failed(cls, cell: Cell, stage: str, number: int, status: str, why: str, signal: int = 0) -> Outcome:
        """A round without values: `killed`, `refused`, `bad_alloc`."""
        return cls(cell, stage, number, {}, status=status, why=why, signal=signal)
