# SPDX-License-Identifier: BSL-1.0
"""Extra runs: one more process of some cells, after all rounds, for looks that would disturb a measured round.

    --picture-heap                          a littered heap, line by line                  heap_taken:OFFSET
    millpond-record … ─▶ characterise       dimensions of the workload's allocations       measured_density …

An outcome is always ok, because the cell has been measured; a missing value has a reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from millpond.cells.cell import LITTER, Cell, Outcome
from millpond.cells.metrics import HEAP_TAKEN
from millpond.rounds.interleaved_rounds import Runner
from millpond.system import native
from millpond.system.temporary import temporary_folder
from millpond_bench.experiments.surroundings import Surroundings

_LEAST_PATIENCE_SECONDS = 300.0
_SLOWER = 100.0
# The names of the dimensions in a document of millpond-characterise.
DIMENSIONS = {
    "measured_density": "D", "measured_variation": "V", "measured_utilization": "U", "measured_contention": "C",
}  # fmt: skip
LOCALITY = "measured_locality"
_RINGS = "rings"

Argv = Mapping[Cell, Sequence[str]]
Look = Callable[[Sequence[str], Mapping[str, str], float], Mapping[str, float]]


@dataclass(frozen=True)
class ExtraRun:
    """One more process of each cell of the baseline that `takes` selects.

    `slowdown`: its duration relative to a round. `runner`: made from the command lines of the cells' rounds, and their
    expected seconds.
    """

    stage: str
    slowdown: float
    runner: Callable[[Argv, Mapping[Cell, float]], Runner]
    takes: Callable[[Cell], bool] = field(default=lambda _cell: True)


class LookRunner:
    """A runner for `interleaved_rounds.run_rounds`: `look` returns the values, of `metrics`, or the reason why there
    are none.

    `look` gets a round's command line, its environment and the time limit in seconds, and raises `LookupError`.
    """

    def __init__(self, metrics: Sequence[str], look: Look, argv_of: Argv, seconds: Mapping[Cell, float]) -> None:
        self._metrics, self._look = metrics, look
        self._argv_of, self._seconds = argv_of, seconds

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """Runs one process."""
        patience = max(_LEAST_PATIENCE_SECONDS, _SLOWER * self._seconds.get(cell, 0.0))
        environment = Surroundings.of(cell).environment({})
        try:
            values = self._look(self._argv_of[cell], environment, patience)
        except LookupError as error:
            return Outcome(cell, stage, number, {}, absent=dict.fromkeys(self._metrics, str(error.args[0])))
        return Outcome(cell, stage, number, dict(values))


def _picture(argv: Sequence[str], environment: Mapping[str, str], patience: float) -> Mapping[str, float]:
    printed = _figures(native.capture([*argv, "--picture-heap"], environment, seconds=patience))
    values = {name: value for name, value in printed.items() if name.partition(":")[0] == HEAP_TAKEN and ":" in name}
    if not values:
        raise LookupError("the program printed no picture of the heap: build it again")
    return values


HEAP_PICTURE = ExtraRun(
    "heap", 1.0, partial(LookRunner, (HEAP_TAKEN,), _picture), lambda cell: LITTER in dict(cell.parameters)
)


def _dimensions(argv: Sequence[str], environment: Mapping[str, str], patience: float) -> Mapping[str, float]:
    """D, V, U and C of the blocks that the dials' rings allocate, from a recording; L as counted by the program
    itself.
    """
    with temporary_folder() as folder:
        trace = folder / "trace.mpt"
        record = [str(native.find("millpond-record")), "-o", str(trace), "--", *argv]
        printed = _figures(native.capture(record, environment, seconds=patience))
        characterise = [str(native.find("millpond-characterise")), "--group", f"{_RINGS}=*visitor*", str(trace)]
        subsystem = _subsystem(native.capture(characterise, environment, seconds=patience), trace)
    found = {name: (subsystem.get(letter) or {}).get("value") for name, letter in DIMENSIONS.items()}
    inside, lines, transitions = (printed.get(name) for name in ("accesses", "lines", "transitions"))
    if inside is not None and lines is not None and transitions is not None and inside + lines * transitions > 0.0:
        found[LOCALITY] = inside / (inside + lines * transitions)
    return {name: float(value) for name, value in found.items() if value is not None}


def _subsystem(done: native.ProgramOutput, trace: Path) -> Mapping[str, Any]:
    """The dimensions of the rings. LookupError if they are not in the output."""
    try:
        subsystems = json.loads(done.printed)["subsystems"]
        return dict(next(one["dvluc"] for one in subsystems if one["name"] == _RINGS))
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise LookupError(f"{trace.name} has no characterised rings: {done.said.strip()[-200:]}") from error


RECORDED = ExtraRun("recorded", 40.0, partial(LookRunner, (*DIMENSIONS, LOCALITY), _dimensions))


def _figures(done: native.ProgramOutput) -> dict[str, float]:
    """Every number that a round printed, metrics or not. LookupError if it printed no round."""
    try:
        printed = json.loads(done.printed) if done.status == 0 else {}
        both = {**(printed.get("details") or {}), **(printed.get("metrics") or {})}
    except (ValueError, AttributeError) as error:
        raise LookupError(f"it printed no round: {done.said.strip()[-200:]}") from error
    if not both:
        raise LookupError(f"it failed:  {done.said.strip()[-200:]}")
    return {name: float(value) for name, value in both.items() if isinstance(value, int | float)}
