# SPDX-License-Identifier: BSL-1.0
"""Converts observations of version 1 ("millpond.observation/1") to the current version.

strategy                                       ─┐
parameters {argv, variant, plan_name, stage,   ─┼▶ subject, contender, stage, exit_status, signal, program:
            exit_status, signal, program, …}   ─┘  columns of their own; the rest stays in `parameters`
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from millpond.store.observations import FIELDS, SCHEMA, Observation

SCHEMA_1 = "millpond.observation/1"
FIELDS_1 = (
    "schema", "id", "run", "experiment", "workload", "parameters", "plan", "strategy", "subsystem", "heap_state",
    "page_policy", "pass", "metric", "unit", "value", "why_null", "status", "kind", "round", "machine", "compiler",
    "version", "time_utc",
)  # fmt: skip

_CONTROLS = ("bare", "empty", "shared", "shared_huge", "looked_up", "recorded", "null", "before", "after")
# Experiments whose subjects were a command line or a trace; all others had a suite's workload.
_PROGRAMS, _TRACES = ("advise", "trial", "mallocs", "builds", "validation"), ("replay",)
_OF_THE_ROW = ("argv", "variant", "plan_name", "stage", "exit_status", "signal", "program")


def observation_of(row: object) -> Observation:
    """The observation in plain data of either version. ValueError if they are invalid."""
    try:
        if isinstance(row, dict) and row.get("schema") == SCHEMA_1:
            return of_version_1(row)
        return Observation.from_json(row)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not an observation: {error}") from error


def of_version_1(row: Mapping[str, Any]) -> Observation:
    """The observation in an old row. Raises ValueError, TypeError or KeyError if it is not a row of version 1."""
    known = json.loads(_columns(row["parameters"] or "{}", row["strategy"], str(row["experiment"])))
    return Observation.from_json({name: {**row, **known, "schema": SCHEMA}.get(name) for name in FIELDS})


@lru_cache(maxsize=1024)
def _columns(parameters: str, strategy: str | None, experiment: str) -> str:
    """The values that become columns, as JSON, because many rows have the same."""
    found = json.loads(parameters)
    if not isinstance(found, dict):
        raise ValueError("its column parameters does not hold a JSON object")
    own = {name: value for name, value in found.items() if name not in _OF_THE_ROW}
    variant = found.get("variant")
    kind, name = _contender(variant or strategy, found.get("plan_name"), own, experiment)
    argv = found.get("argv")
    replayed = experiment in _TRACES or own.get("predictor") == "replay" or found.get("stage") == "predicted"
    of_program = experiment in _PROGRAMS or experiment.startswith("bench-lab")
    return json.dumps({
        "subject_kind": None if argv is None else "trace" if replayed else "program" if of_program else "workload",
        "subject": None if argv is None else json.dumps(argv, ensure_ascii=False),
        "contender_kind": kind,
        "contender": name,
        "stage": found.get("stage"),
        "exit_status": found.get("exit_status"),
        "signal": found.get("signal"),
        "program": found.get("program"),
        "parameters": json.dumps(own, sort_keys=True),
    })  # fmt: skip


def _contender(
    variant: str | None, plan_name: str | None, own: dict[str, Any], experiment: str
) -> tuple[str | None, str | None]:
    """The kind and name of the contender. Effects: takes the name of a malloc out of the cell's own parameters."""
    if variant is None:
        return None, None
    if variant == "plan":
        return "plan", plan_name
    is_program = experiment in _PROGRAMS
    if variant == "malloc" and is_program:
        return "malloc", own.pop("malloc", None)
    if "/" in variant or (variant == "glibc" and is_program):
        return "malloc", own.pop("malloc", variant) if is_program else variant
    if experiment == "validation":
        own.pop("malloc", None)
    return "control" if variant in _CONTROLS else "strategy", variant
