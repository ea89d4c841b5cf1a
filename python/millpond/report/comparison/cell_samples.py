# SPDX-License-Identifier: BSL-1.0
"""Groups observations into samples of cells, so that two runs can be compared cell by cell.

    rows of a run ──▶ the cell's key (workload, parameters, plan or contender, subsystem) × metric ──▶ values by run

Properties of a run (its stage, its program's end, its build) are not part of a cell's key: a gate compares yesterday's
build with today's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from millpond.statistics.unpaired import Sample
from millpond.store.observations import Observation

# Parameters that differ between two runs of one cell. All others in `parameters` distinguish cells.
_OF_THE_RUN = {"seed", "trace"}
# Judging rounds are separate from choosing rounds: a contender chosen for being fast was also lucky.
_BEST_STAGES = ("judging", "trial")
_SAME_EXPERIMENT = {"advise": "trial"}


@dataclass(frozen=True, order=True)
class CellKey:
    """The key of a cell. Equal keys in two runs are the same cell."""

    experiment: str
    program: str
    arguments: tuple[str, ...]
    subsystem: str
    contender: str
    parameters: str
    state: str

    @property
    def workload(self) -> str:
        return " ".join([self.program, *self.arguments])

    @property
    def text(self) -> str:
        """Returns the cell in a few words, without its workload."""
        of = f"subsystem {self.subsystem}" if self.contender == "recorded" and self.subsystem else self.contender
        own = [f"{name} {value}" for name, value in json.loads(self.parameters).items()]
        return of + (f" ({', '.join(own)})" if own else "")


@dataclass
class Cells:
    """The observations of one side, by cell and metric."""

    name: str
    runs: set[str] = field(default_factory=set)
    machines: set[str] = field(default_factory=set)
    policies: set[str] = field(default_factory=set)
    samples: dict[tuple[CellKey, str], Sample] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    failed: dict[CellKey, str] = field(default_factory=dict)
    advice: dict[tuple[str, str], str] = field(default_factory=dict)  # workload, subsystem → the best strategy

    def add_advice(self, document: Mapping[str, Any]) -> None:
        """Adds an advice's best strategy for each subsystem; of several for one workload the last counts."""
        program, *arguments = document["program"]["argv"]
        workload = " ".join([PurePath(program).name, *map(str, arguments)])
        self.advice.update({(workload, str(row["name"])): str(row["best"]) for row in document["subsystems"]})

    @property
    def keys(self) -> set[CellKey]:
        return {cell for cell, _ in self.samples} | set(self.failed)

    @property
    def metrics(self) -> set[str]:
        return set(self.units)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "runs": sorted(self.runs),
            "machines": sorted(self.machines),
            "cells": len(self.keys),
            "observations": sum(len(s.values) for s in self.samples.values()),
        }


def key_of(row: Observation) -> CellKey:
    """Returns the cell of an observation."""
    argv = json.loads(row.subject or "[]") or [row.workload]
    own = {k: v for k, v in json.loads(row.parameters).items() if k not in _OF_THE_RUN}
    return CellKey(
        experiment=_SAME_EXPERIMENT.get(row.experiment, row.experiment),
        program=str(argv[0]),
        arguments=tuple(map(str, argv[1:])),
        subsystem="" if row.plan else row.subsystem or "",
        contender=_plan_text(row.plan) if row.plan else row.label,
        parameters=json.dumps(own, sort_keys=True),
        state=f"{row.heap_state}, {row.pass_}",
    )


def _plan_text(plan: str) -> str:
    """Returns only the routes, sorted: a plan for another build of the program counts as the same plan."""
    routes = sorted(
        f"{'+'.join(sorted(r['subsystems']))} in {r['strategy']}{' on huge pages' if r.get('huge_pages') else ''}"
        f"{' for ' + json.dumps(r['scope'], sort_keys=True) if r.get('scope') else ''}"
        for r in json.loads(plan).get("routes", [])
    )
    return "plan " + ("; ".join(routes) or "empty")


def cells_of(name: str, rows: Iterable[Observation]) -> Cells:
    """Groups observations by cell, metric and run. Leaves out warm-up rounds, and the rounds that chose a plan if
    others judged it.
    """
    found = Cells(name)
    values: dict[tuple[CellKey, str], dict[str, dict[str, list[float]]]] = {}
    counted: dict[tuple[CellKey, str], bool] = {}
    for row in rows:
        stage = row.stage or ""
        if stage and not row.round:
            continue
        cell = key_of(row)
        found.runs.add(row.run)
        found.machines.add(str(row.machine))
        found.policies.add(str(row.page_policy))
        found.units[row.metric] = row.unit
        if row.status != "ok":
            found.failed.setdefault(cell, f"{row.status}: {row.why_null or 'no reason is kept'}")
        elif row.value is not None:
            at = (cell, row.metric)
            counted[at] = counted.get(at, True) and row.kind in ("counted", "simulated")
            values.setdefault(at, {}).setdefault(stage, {}).setdefault(row.run, []).append(row.value)
    for at, stages in values.items():
        best = [s for s in _BEST_STAGES if s in stages] or list(stages)
        runs: dict[str, list[float]] = {}
        for stage in best:
            for run, some in stages[stage].items():
                runs.setdefault(run, []).extend(some)
        found.samples[at] = Sample(tuple(tuple(v) for _, v in sorted(runs.items())), counted[at])
    return found
