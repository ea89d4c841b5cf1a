# SPDX-License-Identifier: BSL-1.0
"""Compares two stores or two runs: pairs cells, judges the changes together, and checks the conditions.

    A ─observations─▶ samples by (cell, metric) ─┐ paired by key: workload, parameters, plan or
    B ─observations─▶ samples by (cell, metric) ─┘ contender, subsystem ─▶ changes ─▶ verdicts ─▶ breaches

All noisy metrics of the gate are judged as one family, so a gate over many cells fails no more often than one over few.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from millpond.report.comparison.cell_samples import CellKey, Cells
from millpond.statistics.conditions import Condition, change_text
from millpond.statistics.order_statistics import NO_DIFFERENCE, NOT_SETTLED
from millpond.statistics.unpaired import DRIFT, Sample, UnpairedChange, change, judge_family
from millpond.system.errors import Failure, Status

SCHEMA = "millpond.compare/1"
_TIMES = {"cpu_seconds", "wall_seconds"}


@dataclass(frozen=True)
class Breach:
    """A condition that a cell breached, as a sentence."""

    condition: Condition
    cell: CellKey
    sentence: str


@dataclass(frozen=True)
class StoreComparison:
    """All pairs with their changes, the breaches among them, and notes for the reader."""

    a: Cells
    b: Cells
    changes: Mapping[tuple[CellKey, str], UnpairedChange]
    conditions: Sequence[Condition]
    breaches: Sequence[Breach]
    only_a: Sequence[CellKey]
    only_b: Sequence[CellKey]
    notes: Sequence[str]

    @property
    def changed_advice(self) -> list[tuple[str, str, str, str]]:
        """Returns workload, subsystem, and the best strategy in A and in B, where these differ."""
        both = sorted(self.a.advice.keys() & self.b.advice.keys())
        return [
            (*key, self.a.advice[key], self.b.advice[key]) for key in both if self.a.advice[key] != self.b.advice[key]
        ]

    @property
    def unchanged(self) -> int:
        """Returns the number of pairs whose interval contains no change."""
        return sum(
            found.difference.low <= 0.0 <= found.difference.high
            if found.ratio is None
            else found.ratio.low <= 1.0 <= found.ratio.high
            for found in self.changes.values()
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the whole comparison ("millpond.compare/1")."""
        return {
            "schema": SCHEMA,
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "pairs": [
                {**_cell_json(cell), "metric": metric, "unit": self.b.units[metric], **found.to_json()}
                for (cell, metric), found in sorted(self.changes.items(), key=lambda item: item[0])
            ],
            "conditions": [
                {
                    "condition": c.text,
                    "metric": c.metric,
                    "limit": c.limit,
                    "unit": c.unit,
                    "breached": any(b.condition is c for b in self.breaches),
                    "breaches": [{**_cell_json(b.cell), "sentence": b.sentence} for b in self.breaches
                                 if b.condition is c],
                }
                for c in self.conditions
            ],
            "breached": bool(self.breaches),
            "summary": {
                "pairs": len(self.changes),
                "no_difference": sum(c.verdict == NO_DIFFERENCE for c in self.changes.values()),
                "not_settled": sum(c.verdict == NOT_SETTLED for c in self.changes.values()),
                "interval_contains_no_change": self.unchanged,
            },
            "advice": {
                "compared": len(self.a.advice.keys() & self.b.advice.keys()),
                "changed": [
                    {"workload": workload, "subsystem": subsystem, "a": before, "b": after}
                    for workload, subsystem, before, after in self.changed_advice
                ],
            },
            "only_in_a": [_cell_json(c) for c in self.only_a],
            "only_in_b": [_cell_json(c) for c in self.only_b],
            "notes": list(self.notes),
        }  # fmt: skip


def _cell_json(cell: CellKey) -> dict[str, Any]:
    return {
        "workload": cell.workload,
        "cell": cell.text,
        "subsystem": cell.subsystem or None,
        "parameters": json.loads(cell.parameters),
    }


def compare(
    a: Cells, b: Cells, conditions: Sequence[Condition], only: str = "", known: Mapping[str, str] | None = None
) -> StoreComparison:
    """Pairs the cells, judges the changes and checks the conditions. `only`: cells whose text contains it.

    Failure: 2 for a metric that neither side nor Millpond knows, 3 if nothing is in common.
    """
    _require_known(conditions, {**(known or {}), **a.units, **b.units})
    b, renamed = _under_the_names_of(a, b)

    def wanted(cells: Set[CellKey]) -> list[CellKey]:
        return sorted(cell for cell in cells if only in cell.text or only in cell.workload)

    common = wanted(a.keys & b.keys)
    pairs = [at for at in a.samples if at in b.samples and at[0] in set(common)]
    if not pairs:
        raise Failure(Status.INPUT, _nothing_in_common(a, b, only))
    changes = _judged(
        {at: _change(at[1], a.samples[at], b.samples[at]) for at in pairs}, {c.metric for c in conditions}
    )
    _require_compared(conditions, changes)
    breaches = [x for c in conditions for x in _breaches(c, changes, a, b, common)]
    return StoreComparison(
        a, b, changes, conditions, breaches,
        wanted(a.keys - b.keys), wanted(b.keys - a.keys),
        [*renamed, *_notes(a, b, conditions, changes)],
    )  # fmt: skip


def _change(metric: str, a: Sample, b: Sample) -> UnpairedChange:
    return change(a, b, drift=DRIFT if metric in _TIMES else 0.0)


def _judged(
    changes: dict[tuple[CellKey, str], UnpairedChange], gated: set[str]
) -> dict[tuple[CellKey, str], UnpairedChange]:
    """Judges the gated metrics as one family, since any of them can fail the gate; each other metric is its
    own family.
    """
    families: dict[str, dict[tuple[CellKey, str], UnpairedChange]] = {}
    for at, found in changes.items():
        families.setdefault("" if at[1] in gated else at[1], {})[at] = found
    return {at: found for family in families.values() for at, found in judge_family(family).items()}


def _breaches(
    condition: Condition,
    changes: Mapping[tuple[CellKey, str], UnpairedChange],
    a: Cells,
    b: Cells,
    common: Sequence[CellKey],
) -> list[Breach]:
    found = []
    for cell in common:
        at = (cell, condition.metric)
        where = f"{condition.metric} of {cell.text} ({cell.workload})"
        if at in changes and condition.breached_by(changes[at], b.units[condition.metric]):
            how = change_text(changes[at], b.units[condition.metric])
            found.append(Breach(condition, cell, f"{where}: {how}, beyond {condition.limit_text()}"))
        elif at in a.samples and at not in b.samples and cell in b.failed:
            found.append(Breach(condition, cell, f"{where} has no value in B: {b.failed[cell]}"))
    return found


def _require_known(conditions: Sequence[Condition], units: Mapping[str, str]) -> None:
    for condition in conditions:
        if condition.metric not in units:
            raise Failure(
                Status.USAGE,
                f"--fail-if {condition.text!r}: no metric is called {condition.metric!r}; "
                f"the metrics are {', '.join(sorted(units))}",
            )
        condition.limit_in(units[condition.metric])


def _require_compared(conditions: Sequence[Condition], changes: Mapping[tuple[CellKey, str], UnpairedChange]) -> None:
    metrics = {metric for _, metric in changes}
    for condition in conditions:
        if condition.metric not in metrics:
            raise Failure(
                Status.INPUT,
                f"--fail-if {condition.text!r}: no pair has {condition.metric}; "
                f"the compared metrics are {', '.join(sorted(metrics))}",
            )


def _under_the_names_of(a: Cells, b: Cells) -> tuple[Cells, list[str]]:
    """Returns B with the program names of A, if both call one program by different paths: two builds lie in two
    folders.
    """
    if {c.program for c in a.keys} & {c.program for c in b.keys}:
        return b, []
    names: dict[str, str] = {}
    for program in sorted({c.program for c in b.keys}):
        same = {c.program for c in a.keys if PurePath(c.program).name == PurePath(program).name}
        if len(same) == 1:
            names[program] = same.pop()
    if not names or len(set(names.values())) != len(names):
        return b, []

    def renamed(cell: CellKey) -> CellKey:
        return replace(cell, program=names.get(cell.program, cell.program))

    return replace(
        b,
        samples={(renamed(cell), metric): sample for (cell, metric), sample in b.samples.items()},
        failed={renamed(cell): why for cell, why in b.failed.items()},
    ), [f"{theirs} of B is compared with {ours} of A, because the names are equal" for theirs, ours in names.items()]


def _nothing_in_common(a: Cells, b: Cells, only: str) -> str:
    def has(side: str, cells: Cells) -> str:
        some = sorted({c.workload for c in cells.keys})
        shown = "; ".join(repr(w[:80]) for w in some[:3]) + (f" and {len(some) - 3} more" if len(some) > 3 else "")
        kinds = sorted({c.contender for c in cells.keys})
        return f"{side} ({cells.name}) has {shown or 'nothing'} ({', '.join(kinds[:6]) or 'no cells'})"

    asked = f" among cells whose name contains {only!r}" if only else ""
    return f"nothing in common to compare{asked}: {has('A', a)}; {has('B', b)}"


def _notes(
    a: Cells, b: Cells, conditions: Sequence[Condition], changes: Mapping[tuple[CellKey, str], UnpairedChange]
) -> list[str]:
    notes = []
    timed = any(metric in _TIMES for _, metric in changes)
    if a.machines != b.machines:
        words = f"different machines: A on {' and '.join(sorted(a.machines))}; B on {' and '.join(sorted(b.machines))}"
        notes.append(words + ("; their times say nothing about the program" if timed else ""))
    elif timed and min(len(a.runs), len(b.runs)) == 1:
        notes.append(
            "whole runs of the same program differ: intervals of times are widened by the usual difference on a "
            "quiet machine; several runs a side show the difference on this one"
        )
    noisy = {metric for (_, metric), found in changes.items() if not found.exact}
    notes += [
        f"{c.text!r}: a change of less than 1 % of a measured value always counts as noise"
        for c in conditions
        if c.below_noise and c.metric in noisy
    ]
    short = sorted({c.text for (c, m), f in changes.items() if not f.exact and min(f.a.n, f.b.n) in (2, 3)})
    if short:
        notes.append(f"with fewer than 4 rounds a side, no change is beyond the noise: {', '.join(short[:5])}")
    failed = [(c, why) for c, why in sorted(b.failed.items()) if c not in a.failed]
    notes += [f"{c.text} failed in B: {why}" for c, why in failed]
    return notes
