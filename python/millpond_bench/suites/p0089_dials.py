# SPDX-License-Identifier: BSL-1.0
"""p0089.dials: a benchmark that P0089R0 found hard to invent (section 6): one workload, a dial for each dimension.

One dial at a time is turned around a centre. lab/suites/p0089/dials_shape.hpp explains the dials. A test of the
laboratory checks that the results of `millpond trace show` follow them. There are no published figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from millpond.cells.metrics import MetricKind
from millpond_bench.experiments.experiment import suite_metrics
from millpond_bench.experiments.experiment_data import Figure, Parameters, Part, points
from millpond_bench.experiments.paper_tables import PaperTables, Tables
from millpond_bench.experiments.run_rules import RunRules
from millpond_bench.pages import suite_charts
from millpond_bench.runs.extra_runs import DIMENSIONS, LOCALITY, RECORDED
from millpond_bench.suites.p0089 import DATA, EXTRA_METRICS
from millpond_bench.suites.p0089 import EXPERIMENT as OF_DOCUMENT
from millpond_bench.suites.p0089_needs import dials as needs
from millpond_bench.suites.p0089_strategies import ALIASES, LOCKED, OF_2015

DIALS = ("density", "variation", "locality", "utilization", "contention")
CENTRE: Mapping[str, int] = {"density": 400, "variation": 800, "locality": 500, "utilization": 100, "contention": 0}
# Thousandths, the smallest first. Two threads at the centre's density cannot contend more than the last value.
SETTINGS: Mapping[str, tuple[int, ...]] = {
    "density": (50, 200, 400, 700, 950),
    "variation": (0, 500, 800, 900, 950),
    "locality": (100, 300, 500, 800, 950),
    "utilization": (10, 50, 100, 300, 900),
    "contention": (0, 40, 80, 120, 160),
}
# The measured dimensions of the program, recorded under AS1: shares of 1.
_RECORDED = (*DIMENSIONS, LOCALITY)
METRICS = suite_metrics(dict.fromkeys(_RECORDED, MetricKind.RECORDED), **dict.fromkeys(_RECORDED, "share"))


def turned(dial: str, settings: tuple[int, ...], log2_operations: int) -> tuple[Parameters, ...]:
    """One dial at these settings, the others at the centre. A single thread has no contention."""
    axes = {name: settings if name == dial else (CENTRE[name],) for name in DIALS}
    return points(**axes, threads=[2 if dial == "contention" else 1], log2_operations=[log2_operations])


def _parts(log2_operations: int, step: int = 1) -> tuple[Part, ...]:
    made = [point for dial in DIALS for point in turned(dial, SETTINGS[dial][::step], log2_operations)]
    return (Part(tuple(dict.fromkeys(made))),)


def _label(name: str, value: int | str) -> str:
    return f"{name[0].upper()} {int(value) / 10:g} %" if name in DIALS else str(value)


EXPERIMENT = OF_DOCUMENT(
    name="p0089.dials", title="A dial for each dimension", section="6",
    measured="CPU seconds for the same work under each strategy, one dial of D, V, L, U and C turned at a time",
    metrics=METRICS,
    data=DATA(
        workload="dials", figure=Figure("cpu_seconds", "seconds", "cpu_seconds"),
        extra_metrics=(*EXTRA_METRICS, *DIMENSIONS, LOCALITY), axes=(*DIALS, "threads"), free=("log2_operations",),
        strategies=tuple(ALIASES[name] for name in ("AS1", "AS3", "AS7", "AS11")),
        parts={"quick": _parts(18, 2), "standard": _parts(20), "paper": _parts(22)},
        extra_strategies=(LOCKED["AS7s"], OF_2015["AS7-2015"]),
    ),
    table=PaperTables(
        layout=Tables(("threads",), DIALS, "strategy", "dials", True,
                      titles=lambda at: "one thread" if at["threads"] == 1 else f"{at['threads']} threads",
                      labels=_label),
        tabulate=partial(suite_charts.dials, DIALS, CENTRE),
    ),
    rules=RunRules(needs=needs, extra_runs=(RECORDED,)),
    notes=("The dimensions are measured once, in the program recorded under AS1; it counts L itself.",
           "Nothing was published of this: the document names it as what it would have liked to have.",
           "D is a share of the work in which a pair of allocation and free counts as 20 accesses to memory: what the "
           "global allocator takes. A strategy that takes less has a lower density of its own."),
)  # fmt: skip
