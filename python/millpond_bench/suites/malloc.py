# SPDX-License-Identifier: BSL-1.0
"""Our malloc compared with the mallocs of this machine, as data. See docs/results/measured/mallocs.md."""

from __future__ import annotations

from millpond.cells.metrics import Metrics
from millpond_bench.laboratory.bench_mallocs import SUITE, steps
from millpond_bench.programs.more_real_programs import PROGRAMS
from millpond_bench.runs.steps_run import StepsSpec

# The libraries besides the multipool.
LIBRARIES = (
    "first_fit",
    "gnu_gxx",
    "bsd",
    "gnu_local",
    "quick_fit",
    "best_fit",
    "binary_buddy",
    "fibonacci_buddy",
    "size_map",
)
METRICS = Metrics(
    {"cpu_seconds": "seconds", "wall_seconds": "seconds", "peak_bytes": "bytes", "page_faults": "faults",
     "slope_share": "share"},
    is_open=True,
)  # fmt: skip
MALLOC = StepsSpec(
    name="malloc", title="Our malloc and others", metrics=METRICS, rounds={"quick": 3, "standard": 11, "paper": 11},
    measured="CPU, wall time, peak memory and page faults of programs on each malloc, and growth under stress",
    seconds=100.0, steps=lambda: steps(PROGRAMS, LIBRARIES), malloc_suite=SUITE,
    at_paper_scale=tuple(f"stress {name}" for name in LIBRARIES),
)  # fmt: skip
