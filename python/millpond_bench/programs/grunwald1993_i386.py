# SPDX-License-Identifier: BSL-1.0
"""Grunwald 1993 with words of 4 bytes: Debian's i386 programs on the classic allocators built for 32 bits, under
Cachegrind.

    cell (program, allocator) ──valgrind --tool=cachegrind, a run for each cache──▶ instructions, references, misses

Words and pointers have 4 bytes, two tags 8, as in the paper. Our capturing tool is for x86-64, so each cache takes a
run of its own. A round is one size of the environment, as in programs/grunwald1993_captures.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.cells.metrics import Metrics
from millpond.rounds.capture_tools import CacheShape, cachegrind_counts
from millpond.rounds.layouts import Layout
from millpond.rounds.mallocs import GLIBC, OWN_MALLOC
from millpond.rounds.real_program import RealProgram
from millpond.store.round_log import subject_of
from millpond.system.errors import Failure
from millpond.system.temporary import temporary_folder
from millpond_bench.programs import i386_programs
from millpond_bench.programs.allocator_statistics import statistics_of
from millpond_bench.programs.grunwald1993_captures import environment_of, executable_of, program_of

CACHES = (CacheShape(16, 1, 32), CacheShape(64, 1, 32))
METRICS = Metrics(
    {"instructions_executed": "instructions", "references": "references", "objects_allocated": "objects",
     **{f"misses_32_{cache.kibibytes}": "references" for cache in CACHES}},
    is_open=True,
)  # fmt: skip


def lacking(cells: list[Cell]) -> dict[Cell, str]:
    """The reasons for cells that cannot be counted here: i386 programs and allocators are optional."""
    try:
        i386_programs.require()
    except Failure as failure:
        return dict.fromkeys(cells, failure.message)
    missing = {}
    for cell in cells:
        try:
            _malloc_of(cell)
            i386_programs.require_unpacked(executable_of(cell))
        except Failure as failure:
            missing[cell] = failure.message
    return missing


def identity_of(cell: Cell) -> str:
    """Identifies counts of this cell by build; empty if a part is missing."""
    try:
        library = _malloc_of(cell).path
    except Failure:
        return ""
    programs = i386_programs.folder() / "programs" / "packages.txt"
    return subject_of(["cachegrind", str(programs), str(library or "")], [programs])


def _malloc_of(cell: Cell) -> Malloc:
    name = cell.contender.name
    return OWN_MALLOC if name == GLIBC else i386_programs.library_of(name)


@dataclass
class I386Runner:
    """A runner for `counted_rounds.run_counted`. Thread-safe."""

    folder: Path
    inputs: Path

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """One run for each cache. A program that fails gives `killed`."""
        with temporary_folder(self.folder) as own:
            return self._counted(cell, stage, number, i386_programs.for_i386(program_of(cell, self.inputs, own)))

    def _counted(self, cell: Cell, stage: str, number: int, workload: RealProgram) -> Outcome:
        malloc = _malloc_of(cell)
        environment = environment_of(workload, Layout(malloc.name, malloc.path), number)
        preload = {"LD_PRELOAD": str(malloc.path)} if malloc.path else {}
        try:
            found = {cache: cachegrind_counts(workload, {**environment, **preload}, cache) for cache in CACHES}
        except Failure as failure:
            return Outcome.failed(cell, stage, number, "killed", failure.message)
        first = found[CACHES[0]]
        values = {"instructions_executed": first.instructions, "references": first.references}
        values |= {f"misses_32_{cache.kibibytes}": counts.misses for cache, counts in found.items()}
        objects = statistics_of(workload, malloc.path).allocated
        values |= {} if objects is None else {"objects_allocated": objects}
        return Outcome(
            cell, stage, number, {name: float(value) for name, value in values.items()}, kind="simulated"
        )  # fmt: skip
