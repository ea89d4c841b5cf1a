# SPDX-License-Identifier: BSL-1.0
"""CUSTOMALLOC of Grunwald 1993 (section 1): a malloc whose size classes are chosen from a recording of the program.

the smaller input ─ millpond-record ─▶ trace ─ millpond synthesize ─▶ library, measured on the other input
"""

from __future__ import annotations

import sys
from pathlib import Path

from millpond.rounds.real_program import RealProgram
from millpond_bench.programs.recorded_inputs import record, run_for

NAME = "custom_malloc"


def build(trained: RealProgram, folder: Path) -> Path:
    """The library for a program, recorded on this input. `folder`: new, for the recording and the sources.

    Failure (4) if it cannot be recorded, or its malloc cannot be built: that takes a compiler.
    """
    folder.mkdir(parents=True)
    trace, library = folder / "trained.mpt", folder / f"lib{NAME}.so"
    record(trained, trace)
    run_for(trained, [sys.executable, "-m", "millpond", "synthesize", str(trace), "-o", str(folder / f"{NAME}.hpp"),
                      "-o", f"malloc:{library}"])  # fmt: skip
    trace.unlink()
    return library
