# SPDX-License-Identifier: BSL-1.0
"""Observations as samples of cells: what two runs have in common, and the values that each of them has for it.

    rows of a run ──▶ what the cell is (workload, parameters, plan or contender, subsystem) × metric ──▶ values by run

What a run says of itself (its stage, how its program ended, which build of it ran) is no part of what a cell is:
a gate compares yesterday's build with today's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from millpond.statistics.unpaired import Sample
from millpond.store.observations import Observation

# What differs between two runs of one cell. Everything else in `parameters` tells cells apart.
_OF_THE_RUN = {"seed", "trace"}
# Rounds that judged are kept apart from those that chose: what was chosen for being quick was lucky, too.
_BEST_STAGES = ("judging", "trial")
_SAME_EXPERIMENT = {"advise": "trial"}


@dataclass(frozen=True, order=True)
class CellKey:
    """What makes two cells of two runs the same."""

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
        """The cell in a few words, without its workload."""
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
    advice: dict[tuple[str, str], str] = field(default_factory=dict)  # workload, subsystem → what is best for it

    def add_advice(self, document: Mapping[str, Any]) -> None:
        """Takes what an advice says of each subsystem; of several for one workload the last counts."""
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
    """The cell that an observation belongs to."""
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
    """The routes alone, in one order: a plan of another build of the program is the same plan."""
    routes = sorted(
        f"{'+'.join(sorted(r['subsystems']))} in {r['strategy']}{' on huge pages' if r.get('huge_pages') else ''}"
        f"{' for ' + json.dumps(r['scope'], sort_keys=True) if r.get('scope') else ''}"
        for r in json.loads(plan).get("routes", [])
    )
    return "plan " + ("; ".join(routes) or "empty")


def cells_of(name: str, rows: Iterable[Observation]) -> Cells:
    """Groups observations by cell, metric and run. Warm-up rounds are left out; so are rounds that chose a plan,
    wherever others judged it."""
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
