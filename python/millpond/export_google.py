# SPDX-License-Identifier: BSL-1.0
"""Every round in the form of Google Benchmark's JSON, so that its compare.py and whatever else reads that can."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millpond.cells import Cell, Outcome
from millpond.experiment_run import Found
from millpond.machine import this_machine
from millpond.observations import utc_now

_CPU, _WALL = "cpu_seconds", "wall_seconds"


def document(found: Sequence[Found]) -> dict[str, Any]:
    """The context, and an entry for each measured round; one name for the rounds of a cell."""
    machine = this_machine()
    return {
        "context": {
            "date": utc_now(),
            "host_name": platform.node(),
            "executable": ", ".join(dict.fromkeys(one.run.experiment.suite for one in found)),
            "num_cpus": machine.cores,
            "mhz_per_cpu": 0,
            "cpu_scaling_enabled": False,
            "caches": [],
            "load_avg": [],
            "library_build_type": "release",
            "machine": str(machine),
        },
        "benchmarks": [entry for one in found for entry in _entries(one.results.cells, one.outcomes)],
    }


def _entries(cells: Iterable[Cell], outcomes: Sequence[Outcome]) -> Iterable[dict[str, Any]]:
    rounds: dict[Cell, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.round > 0:
            rounds.setdefault(outcome.cell, []).append(outcome)
    for family, cell in enumerate(cells):
        for index, outcome in enumerate(rounds.get(cell, [])):
            yield _entry(cell, family, index, len(rounds[cell]), outcome)


def _entry(cell: Cell, family: int, index: int, repetitions: int, outcome: Outcome) -> dict[str, Any]:
    values: Mapping[str, float] = outcome.values
    known = {
        "name": cell.name, "run_name": cell.name, "run_type": "iteration", "family_index": family,
        "per_family_instance_index": 0, "repetitions": repetitions, "repetition_index": index,
        "threads": int(dict(cell.parameters).get("threads", 1)), "iterations": 1,
    }  # fmt: skip
    # A round that failed has times too, as there: whoever reads the file asks every entry for them.
    times = {"real_time": 1e6 * values.get(_WALL, 0.0), "cpu_time": 1e6 * values.get(_CPU, 0.0), "time_unit": "us"}
    failed = {"error_occurred": True, "error_message": outcome.why or outcome.status} if outcome.status != "ok" else {}
    return {**known, **failed, **times, **{k: v for k, v in values.items() if k not in (_CPU, _WALL)}}
