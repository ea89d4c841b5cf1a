# SPDX-License-Identifier: BSL-1.0
"""One round of one cell of a published experiment: a fresh process of the suite's program, and what it printed.

    env … millpond-p0089-suite --workload W --contender C --PARAMETER VALUE … --seed N  ──▶ one line of JSON ──▶ Outcome

What a strategy cannot do is a value: `bad_alloc` where memory ran out, `refused` where it would have, by what the cell
needs and the machine has. What a process needs of memory is never tried out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.bench import window_counters
from millpond.bench.surroundings import Surroundings, said
from millpond.bench.window_counters import UNCOUNTED, Counting
from millpond.cells.cell import MALLOC, SURROUNDINGS, TOOLCHAIN, Cell, Outcome
from millpond.cells.checksums import Checksums
from millpond.cells.metrics import Metrics
from millpond.rounds.fresh_process import Padding, killed
from millpond.system import native
from millpond.system.errors import Failure, Status

SCHEMA = "millpond.suite/2"
_LEAST_PATIENCE_SECONDS = 120.0
_SLOWER = 30.0
# What the program says of a strategy that ran out of memory, or saw beforehand that it would.
_BAD_ALLOC, _PREDICTED = "bad_alloc", "predicted_bad_alloc"


@dataclass(frozen=True)
class SuiteProgram:
    """What a suite's program says of itself. `strategies`: those of each workload, by their canonical names.

    `malloc`: the library that its malloc is in.
    """

    name: str
    around: Surroundings
    compiler: str
    standard_library: str
    malloc: str
    strategies: Mapping[str, frozenset[str]]

    @property
    def built_by(self) -> str:
        """`g++ 12.2.0, libstdc++ 12`."""
        return ", ".join(filter(None, (self.compiler, self.standard_library)))

    def require(self, cells: Sequence[Cell]) -> None:
        """Failure (status 4) for the first cell that the program has no workload or strategy for."""
        for cell in cells:
            (name,) = cell.subject.words
            known = self.strategies.get(name)
            if known is None:
                have = ", ".join(self.strategies)
                raise Failure(
                    Status.ENVIRONMENT,
                    f"{self.name} has no workload {cell.subject.words[0]}; it has {have}: build it anew",
                )
            if cell.contender.name not in known:
                raise Failure(
                    Status.ENVIRONMENT,
                    f"{self.name} has no {cell.contender.name} for {cell.subject.words[0]}: build it anew",
                )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "compiler": self.compiler, "standard_library": self.standard_library,
            "toolchain": self.around.toolchain or SURROUNDINGS[TOOLCHAIN],
            "malloc": self.around.malloc or SURROUNDINGS[MALLOC], "malloc_library": self.malloc or None,
            "kept": self.around.kept,
        }  # fmt: skip


def read_suite(name: str, aliases: Mapping[str, str], around: Surroundings) -> SuiteProgram:
    """Asks the program for its list. Failure (status 4) where it is missing or has none, or runs on another malloc."""
    done = native.capture([str(around.program(name)), "--list"], around.environment({}))
    listed = _json_of(done)
    if done.status != 0 or listed is None or listed.get("schema") != SCHEMA:
        raise Failure(Status.ENVIRONMENT, _said(done) or f"{name} --list gave no list ({SCHEMA})")
    malloc = str(listed.get("malloc") or "")
    around.confirm(name, malloc)
    return SuiteProgram(
        name,
        around,
        str(listed.get("compiler") or ""),
        str(listed.get("standard_library") or ""),
        malloc,
        {w["name"]: frozenset(aliases.get(s, s) for s in w["contenders"]) for w in listed["workloads"]},
    )


class ExperimentRunner:
    """A runner for `interleaved_rounds.run_rounds`. Not thread-safe: the environment's size comes from one sequence.

    `refused`: cells that are not run, and why. `seconds`: what a process of a cell is expected to take. `room_bytes`:
    the memory that there is; the program, too, does not run what it knows to need more. `counting`: by the processor.
    """

    def __init__(
        self,
        program: str,
        metrics: Metrics,
        seed: int,
        refused: Mapping[Cell, str],
        seconds: Mapping[Cell, float],
        room_bytes: int,
        *,
        counting: Counting = UNCOUNTED,
    ) -> None:
        self._program = program
        self._metrics = metrics
        self._room_bytes = room_bytes
        self._counting = counting
        self._seed = seed
        self._refused = refused
        self._seconds = seconds
        self._padding = Padding(seed)
        self._checksums = Checksums()

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """One round. Failure where the program itself refuses; a strategy that dies or runs on gives `killed`."""
        if cell in self._refused:
            return Outcome.failed(cell, stage, number, "refused", self._refused[cell])
        patience = max(_LEAST_PATIENCE_SECONDS, _SLOWER * self._seconds.get(cell, 0.0))
        around, counting = Surroundings.of(cell), self._counting
        environment = around.environment(self._padding.environment())
        done = native.capture([*self.argv(cell), *counting.words], environment, seconds=patience,
                              descriptors=counting.descriptors)  # fmt: skip
        if dead := killed(cell, stage, number, done, patience):
            return dead
        printed = self._printed(done)
        around.confirm(self._program, str(printed.get("malloc") or ""))
        return self._outcome(cell, stage, number, printed)

    def without_other_work(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes, `killed` where a strategy did not compute what most of those at the same point did."""
        return self._checksums.without_other_work(outcomes)

    def argv(self, cell: Cell) -> list[str]:
        """The command line of a round, without what is counted."""
        options = [word for name, value in said(cell.parameters) for word in (f"--{name}", value)]
        program = Surroundings.of(cell).program(self._program)
        return [str(program), "--workload", cell.subject.words[0], "--contender", cell.contender.name, *options,
                "--seed", str(self._seed), "--memory-limit-bytes", str(self._room_bytes)]  # fmt: skip

    def _printed(self, done: native.Captured) -> dict[str, Any]:
        printed = _json_of(done)
        if done.status == 0 and printed is not None and printed.get("schema") == SCHEMA:
            return printed
        status = Status(done.status) if done.status in (2, 3, 4, 5) else Status.ENVIRONMENT
        raise Failure(status, f"{self._program}: {_said(done) or 'it printed no result'}")

    def _outcome(self, cell: Cell, stage: str, number: int, printed: Mapping[str, Any]) -> Outcome:
        status = str(printed.get("status") or "ok")
        if status == _PREDICTED:
            return Outcome.failed(cell, stage, number, "refused", "it would need more memory than there is")
        if status == _BAD_ALLOC:
            return Outcome.failed(cell, stage, number, _BAD_ALLOC, "ran out of memory")
        if status != "ok":
            return Outcome.failed(cell, stage, number, "killed", status)
        if printed.get("checksum") is not None:
            self._checksums.add(cell, str(printed["checksum"]))
        values = values_of(printed, self._metrics)
        counted, absent = window_counters.read(printed)
        return Outcome(cell, stage, number, values | counted, absent=absent)


def values_of(printed: Mapping[str, Any], metrics: Metrics) -> dict[str, float]:
    """The values that a suite's program printed of a round, by the names of the store; without those that are null."""
    return {
        name: float(value)
        for name, value in printed["metrics"].items()
        if metrics.is_declared(name) and isinstance(value, int | float)
    }


def _json_of(done: native.Captured) -> dict[str, Any] | None:
    try:
        printed = json.loads(done.printed)
    except ValueError:
        return None
    return printed if isinstance(printed, dict) else None


def _said(done: native.Captured) -> str:
    return done.said.strip().removeprefix("millpond: ")[-500:]
