# SPDX-License-Identifier: BSL-1.0
"""Lifetimes predicted by call sites (section 5.1 of Grunwald 1993, after Barrett and Zorn): learnt on one input of a
program, and tried on another one.

    smaller input  ── recorded ──▶ sites all of whose objects died soon ─┐
    measured input ── recorded ──▶ the lifetimes of its objects ─────────┴─▶ bytes predicted, rightly and wrongly

An object dies soon if it is freed before 32 KiB more are requested. `millpond synthesize` makes the prediction.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from millpond.advice.synthesis import Synthesis
from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import Metrics
from millpond.store.round_log import subject_of
from millpond.system import native
from millpond.system.errors import Failure
from millpond.system.temporary import temporary_folder
from millpond_bench.programs.grunwald1993_captures import INPUT, MEASURED, PROGRAM, TRAINED, program_of, program_path
from millpond_bench.programs.recorded_inputs import RECORDER, record, run_for

METRICS = Metrics(
    {"objects_allocated": "objects", "requested_bytes": "bytes", "short_bytes": "bytes", "predicted_bytes": "bytes",
     "wrong_bytes": "bytes", "unknown_bytes": "bytes"},
    is_open=True,
)  # fmt: skip


def lacking(cells: list[Cell]) -> dict[Cell, str]:
    """The reasons for cells whose program is not installed. Failure (4) without the recorder."""
    native.find(RECORDER)
    missing = {}
    for cell in cells:
        try:
            program_path(cell)
        except Failure as failure:
            missing[cell] = failure.message
    return missing


def identity_of(cell: Cell) -> str:
    """Identifies predictions for this cell by program and recorder; empty if one is missing."""
    try:
        recorder, program = native.find(RECORDER), program_path(cell)
    except Failure:
        return ""
    return subject_of([program, str(recorder)], [recorder])


@dataclass
class LifetimeRunner:
    """A runner for `counted_rounds.run_counted`. Thread-safe: each round has a folder of its own in `folder`."""

    folder: Path
    inputs: Path

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """Two recordings and a synthesis. A program that cannot be recorded gives `killed`."""
        role = dict(cell.parameters)[PROGRAM]
        with temporary_folder(self.folder) as own:
            traces = {name: own / f"{name}.mpt" for name in (TRAINED, MEASURED)}
            try:
                for name, trace in traces.items():
                    given = Cell(cell.subject, cell.contender, ((PROGRAM, role), (INPUT, name)))
                    program = program_of(given, self.inputs, own / name)
                    record(program, trace)
                run_for(program, [sys.executable, "-m", "millpond", "synthesize", str(traces[TRAINED]),
                                  "--on", str(traces[MEASURED]), "-o", str(own / "found.json")])  # fmt: skip
            except Failure as failure:
                return Outcome.failed(cell, stage, number, "killed", failure.message)
            found = Synthesis.from_json(json.loads((own / "found.json").read_text(encoding="utf-8")))
        return Outcome(cell, stage, number, lifetimes_in(found), kind="counted")


def lifetimes_in(found: Synthesis) -> dict[str, float]:
    """The values of a round: the prediction on the trace that it was not made from."""
    [tried] = [one for one in found.traces if one.held_out]
    counted = {
        "objects_allocated": tried.census.requests, "requested_bytes": tried.lifetimes.bytes,
        "short_bytes": tried.lifetimes.short_bytes, "predicted_bytes": tried.lifetimes.predicted_bytes,
        "wrong_bytes": tried.lifetimes.wrong_bytes, "unknown_bytes": tried.lifetimes.unknown_site_bytes,
    }  # fmt: skip
    return {name: float(value) for name, value in counted.items()}
