# SPDX-License-Identifier: BSL-1.0
"""The study of Grunwald, Zorn and Henderson (1993), as data. See docs/reference/benchmarks.md.

grunwald1993.cost   figure 1 and columns of table 2: instructions in allocation, heap and objects; chosen classes
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond.cells.metrics import Metrics
from millpond_bench.laboratory.bench_costs import costs, i386_costs
from millpond_bench.laboratory.bench_rows import Step
from millpond_bench.programs.grunwald1993_programs import PROGRAMS
from millpond_bench.runs.steps_run import StepsSpec

METRICS = Metrics(
    {"instructions": "instructions", "own_instructions": "instructions", "heap_bytes": "bytes"}, is_open=True
)
# The programs that the paper measured, and that Debian has for i386.
I386_PROGRAMS = ("gawk", "gs small", "gs text", "gs curves", "make")


def _steps() -> Mapping[str, Step]:
    published = {name: costs(program) for name, program in PROGRAMS.items() if program.stands_for}
    return {**published, "i386": i386_costs(PROGRAMS, I386_PROGRAMS)}


COST = StepsSpec(
    name="grunwald1993.cost", title="What the allocators of 1993 cost", metrics=METRICS,
    rounds={"quick": 1, "standard": 1, "paper": 1}, fewest_rounds=1, section="3.1",
    source="Grunwald, Zorn and Henderson, Improving the cache locality of memory allocation, PLDI 1993",
    measured="Instructions in allocation, exact by callgrind, and heaps of programs of today on each allocator",
    seconds=150.0, steps=_steps,
)  # fmt: skip
EXPERIMENTS = (COST,)
