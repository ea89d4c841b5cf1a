# SPDX-License-Identifier: BSL-1.0
"""Capturing and simulating data references, as data: its cost and its accuracy.

Figures: docs/results/measured/references.md.
"""

from __future__ import annotations

from millpond.cells.metrics import Metrics
from millpond_bench.laboratory.bench_references import STEPS
from millpond_bench.runs.steps_run import StepsSpec

METRICS = Metrics(
    {"cpu_seconds": "seconds", "stored_bytes": "bytes", "peak_bytes": "bytes", "references_a_second": "1/s",
     "misses": "references"},
    is_open=True,
)  # fmt: skip
REFERENCES = StepsSpec(
    name="references", title="Capturing and simulating data references", metrics=METRICS,
    rounds={"quick": 3, "standard": 11, "paper": 11},
    measured="CPU, bytes and memory of captures and simulators, and their misses against Cachegrind's",
    seconds=90.0, steps=lambda: STEPS,
)  # fmt: skip
