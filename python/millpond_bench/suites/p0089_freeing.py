# SPDX-License-Identifier: BSL-1.0
"""p0089.freeing: section 3, what it costs to free memory against what it costs to allocate it.

The paper states it and has no benchmark of it. Numbers of 8 bytes are allocated one by one and freed in that order, by
the program of another document's suite, which times both by themselves.
"""

from __future__ import annotations

from millpond.cells.metrics import MetricKind
from millpond_bench.experiments.experiment import suite_metrics
from millpond_bench.experiments.experiment_data import ExperimentData, Figure, Part, points, thousands
from millpond_bench.experiments.paper_tables import PaperTables, Tables
from millpond_bench.experiments.run_rules import RunRules
from millpond_bench.suites import suballocator
from millpond_bench.suites.p0089 import EXPERIMENT as OF_DOCUMENT
from millpond_bench.suites.p0089_strategies import ALIASES

EXPERIMENT = OF_DOCUMENT(
    name="p0089.freeing", title="Freeing against allocating", section="3",
    measured="CPU time to free numbers of 8 bytes by that to allocate them, one after the other",
    suite=suballocator.SUITE,
    metrics=suite_metrics(
        {"free_to_allocate": MetricKind.TIME}, allocate_seconds="seconds", deallocate_seconds="seconds",
        free_to_allocate="ratio",
    ),
    data=ExperimentData(
        workload="doubles", figure=Figure("free_to_allocate", "ratio", "free_to_allocate"),
        extra_metrics=("allocate_seconds", "deallocate_seconds"), axes=("count",),
        strategies=(ALIASES["AS1"], ALIASES["AS7"]), aliases=ALIASES,
        parts={
            "quick": (Part(points(count=[100_000])),),
            "standard": (Part(points(count=[100_000, 1_000_000, 10_000_000])),),
            "paper": (Part(points(count=[100_000, 1_000_000, 10_000_000])),),
        },
    ),
    table=PaperTables(
        layout=Tables((), ("count",), "strategy", "numbers", titles=lambda _at: "Freeing / allocating",
                      labels=thousands, own_rows=True),
    ),
    rules=RunRules(needs=suballocator.needs_of_blocks(120)),
)  # fmt: skip
