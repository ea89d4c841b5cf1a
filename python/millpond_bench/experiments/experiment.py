# SPDX-License-Identifier: BSL-1.0
"""Experiments as data. The code that runs, judges or draws them does not depend on any particular one.

ExperimentSpec ── name, suite, metrics, claims                 what all have
PublishedSpec  ── data    axes, strategies, figure, parts  ──▶ the cells of a scale ── rounds ──▶ our figures
               ── table   columns of its CSV, layout       ──▶ the paper's own figures ─────────▶ next to ours
               ── rules   needs, memory limit, optional    ──▶ the processes that run
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

from millpond.cells.cell import LAST_LEVEL, MALLOC, SURROUNDINGS, TOOLCHAIN
from millpond.cells.metrics import COUNTERS, HEAP_TAKEN, MetricKind, Metrics
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond_bench.experiments.experiment_data import ExperimentData, Place
from millpond_bench.experiments.paper_tables import PaperTables
from millpond_bench.experiments.run_rules import RunRules

# `shape`: a paper's whole grid with less work at each point, for papers whose own work takes weeks.
SCALES = ("quick", "standard", "shape", "paper")
STANDARD = "standard"
ROUNDS = {"quick": 3, STANDARD: VERDICT_ROUNDS, "paper": 3}

# The values that every suite's program prints for a round, in any workload.
_OF_A_ROUND = {
    "cpu_seconds": "seconds",
    "wall_seconds": "seconds",
    "peak_bytes": "bytes",
    "end_bytes": "bytes",
    "held_bytes": "bytes",
    "page_faults": "faults",
    "units": "units",
    HEAP_TAKEN: "share",
    **COUNTERS,
}

Value = TypeVar("Value")


def at_scale(values: Mapping[str, Value], scale: str) -> Value:
    """The value for a scale; for `shape` without a value of its own, that of standard."""
    return values[scale] if scale in values or scale not in SCALES else values[STANDARD]


def suite_metrics(kinds: Mapping[str, MetricKind] | None = None, **more: str) -> Metrics:
    """The metrics of a suite: those of every round, and its own by name and unit. `kinds`: as in `Metrics`."""
    return Metrics({**_OF_A_ROUND, **more}, is_open=True, kinds=kinds or {})


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentSpec:
    """The data that every experiment has.

    `claims`: its statements in `claims/`, or its bars; empty if it has none there. `suite`: the program that runs its
    cells. `rounds`: the number for each cell, by scale. `fewest_rounds`: the least for a verdict. `source` and
    `machine`: a paper's title, and the machine that it used. `notes`: caveats for the reader.
    """

    name: str
    title: str
    measured: str
    metrics: Metrics
    section: str = ""
    suite: str = ""
    claims: str = ""
    source: str = ""
    machine: str = ""
    rounds: Mapping[str, int] = field(default_factory=lambda: ROUNDS)
    fewest_rounds: int = VERDICT_ROUNDS
    notes: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The paper's name: `p0089` of `p0089.1`."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedSpec(ExperimentSpec):
    """A published experiment: the points that it measures, the paper's tables, and the rules of a run."""

    data: ExperimentData
    table: PaperTables
    rules: RunRules

    @cache  # noqa: B019 (an experiment lives as long as the program)
    def published_values(self, metric: str = "") -> dict[Place, float]:
        """The paper's figures that are numbers, in our units."""
        return self.table.published_values(self.data.baseline, metric)


def surrounded(experiment: PublishedSpec, **under: tuple[str, ...]) -> PublishedSpec:
    """The experiment with these axes for its program's environment, and a table for each of their values.

    An axis that it has already gets these values. The paper's figures are next to ours under all of them.
    """
    data, layout = experiment.data, experiment.table.layout
    new = tuple(name for name in under if name not in data.axes)

    def titles(at: Mapping[str, int | str]) -> str:
        around = [word for name in new if name in at and (word := _around(name, at[name]))]
        return ", ".join([layout.titles(at), *around])

    split = replace(layout, split=(*layout.split, *new), titles=titles)
    return replace(
        experiment,
        data=replace(data, axes=(*data.axes, *new), under={**data.under, **under}),
        table=replace(experiment.table, layout=split),
    )


def _around(name: str, value: int | str) -> str:
    """The environment for the title of a table; empty for the usual one."""
    words = {TOOLCHAIN: "by {}", MALLOC: "on {}", LAST_LEVEL: "last level of {}"}
    return words.get(name, f"{name} {{}}").format(value) if value != SURROUNDINGS.get(name) else ""
