# SPDX-License-Identifier: BSL-1.0
"""Every round as Google Benchmark JSON, so that its compare.py and other tools can read it.

    cell ─▶ family    round ─▶ repetition, its metrics as counters    several rounds ─▶ mean, median, stddev as well

compare.py divides the times of all entries and takes their logarithms, whatever else an entry holds. So a round
without times is not an entry: failed rounds are under `failed`, and the simulated counters of a cell are in each of
its rounds, as `simulated_…`.
"""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from millpond.cells.cell import Cell, Outcome
from millpond.system.clock import utc_now
from millpond.system.machine import this_machine
from millpond_bench.runs.experiment_run import ExperimentRun

_SCHEMA_VERSION = 1
_CPU, _WALL = "cpu_seconds", "wall_seconds"
_SIMULATED = "simulated"
_TIMES = ("real_time", "cpu_time")
_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean, "median": statistics.median, "stddev": statistics.stdev,
}  # fmt: skip


def document(runs: Sequence[ExperimentRun]) -> dict[str, Any]:
    """The context, an entry for each measured round, and the failed rounds; all rounds of a cell have the same name."""
    outcomes = [outcome for one in runs for outcome in one.outcomes if outcome.round > 0]
    families: dict[Cell, list[Outcome]] = {cell: [] for one in runs for cell in one.cells}
    for outcome in outcomes:
        families[outcome.cell].append(outcome)
    return {
        "context": {
            "date": utc_now(),
            "host_name": platform.node(),
            "executable": ", ".join(dict.fromkeys(one.spec.suite for one in runs)),
            "num_cpus": this_machine().cores,
            "load_avg": list(os.getloadavg()),
            "json_schema_version": _SCHEMA_VERSION,
            "machine": str(this_machine()),
        },
        "benchmarks": [entry for n, cell in enumerate(families) for entry in _entries(cell, n, families[cell])],
        "failed": [_failed(outcome) for outcome in outcomes if outcome.status != "ok"],
    }


def _entries(cell: Cell, family: int, outcomes: Sequence[Outcome]) -> Iterator[dict[str, Any]]:
    own = [outcome for outcome in outcomes if outcome.status == "ok"]
    rounds = [_figures(outcome) for outcome in own if {_CPU, _WALL} <= outcome.values.keys()]
    counted = {f"{_SIMULATED}_{k}": v for o in own if o.kind == _SIMULATED for k, v in o.values.items()}
    head = {"run_name": cell.name, "family_index": family, "per_family_instance_index": 0, "repetitions": len(rounds),
            "threads": int(dict(cell.parameters).get("threads", 1)), "time_unit": "us"}  # fmt: skip
    for index, figures in enumerate(rounds):
        known = {"name": cell.name, "run_type": "iteration", "repetition_index": index, "iterations": 1, **head}
        yield {**figures, **counted, **known}
    if len(rounds) < 2:
        return
    for name, value_of in _AGGREGATES.items():
        known = {"name": f"{cell.name}_{name}", "run_type": "aggregate", "aggregate_name": name,
                 "aggregate_unit": "time", "iterations": len(rounds), **head}  # fmt: skip
        yield {**{key: value_of([figures[key] for figures in rounds]) for key in _in_all(rounds)}, **known}


def _figures(outcome: Outcome) -> dict[str, float]:
    """The times of the whole round in microseconds, then all other values in their own units."""
    times = dict(zip(_TIMES, (1e6 * outcome.values[_WALL], 1e6 * outcome.values[_CPU]), strict=True))
    return times | {key: value for key, value in outcome.values.items() if key not in (_CPU, _WALL)}


def _in_all(rounds: Sequence[Mapping[str, float]]) -> list[str]:
    return [key for key in rounds[0] if all(key in figures for figures in rounds)]


def _failed(outcome: Outcome) -> dict[str, Any]:
    return {"name": outcome.cell.name, "run_name": outcome.cell.name, "run_type": "iteration",
            "error_occurred": True, "error_message": outcome.why or outcome.status}  # fmt: skip
