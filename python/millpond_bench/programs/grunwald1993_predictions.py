# SPDX-License-Identifier: BSL-1.0
"""Predicts the counts of the captures of Grunwald 1993 from one recording of each program.

    program on glibc ──recorded──▶ calls, played on X ──▶ predicted misses ┐
    program on X     ──recorded──▶ misses of a direct run                 ─┴─▶ values of a round

A round is one size of the environment, the same for both runs (rounds/predicted_misses.py). For glibc itself the
recording is made on our multipool.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import Metrics
from millpond.rounds.capture_tools import one_tool_folder
from millpond.rounds.layouts import layout_of
from millpond.rounds.predicted_misses import CACHES, OTHER, RECORDED_ON, SizedEnvironment, misses_of
from millpond_bench.programs.grunwald1993_captures import program_of

# Caches by the parameter of a point: KiB of a direct-mapped cache with lines of 32 bytes, and today's first level.
SHAPES = {f"{cache.kibibytes}" if cache.ways == 1 else f"{cache.kibibytes}, 8 ways": cache for cache in CACHES}
METRICS = Metrics(
    {f"{kind}_{name}": "references" for kind in ("predicted", "direct") for name in SHAPES}, is_open=True
)  # fmt: skip


class _Kept(threading.local):
    """A thread's recording, with its program and round."""

    of: tuple[object, int] | None = None
    environment: SizedEnvironment | None = None


@dataclass
class PredictionRunner:
    """A runner for `counted_rounds.run_counted`. Thread-safe.

    Each thread keeps its recording of a program, in `folder`, until another program or round comes.
    """

    folder: Path
    inputs: Path
    _kept: _Kept = field(default_factory=_Kept, repr=False)

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """One prediction. Failure (4) if a tool is missing, or the program cannot be recorded or played."""
        environment = self._environment_of(cell, number)
        layout = layout_of(cell.contender.name)
        recorded_on = layout_of(OTHER if layout.name == RECORDED_ON else RECORDED_ON)
        predicted = environment.predict(recorded_on, layout)
        direct = environment.simulate_recorded(layout)
        values = {
            f"{kind}_{name}": float(misses_of(simulation, shape))
            for kind, simulation in (("predicted", predicted), ("direct", direct))
            for name, shape in SHAPES.items()
        }
        return Outcome(cell, stage, number, values, kind="simulated")

    def _environment_of(self, cell: Cell, number: int) -> SizedEnvironment:
        of = (cell.parameters, number)
        kept = self._kept
        if kept.environment is None or kept.of != of:
            if kept.environment is not None:
                shutil.rmtree(kept.environment.folder.parent, ignore_errors=True)
            place = Path(tempfile.mkdtemp(dir=self.folder))
            workload = program_of(cell, self.inputs, place)
            kept.environment = SizedEnvironment(workload, one_tool_folder(place), number, place)
            kept.of = of
        return kept.environment
