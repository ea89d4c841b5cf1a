# SPDX-License-Identifier: BSL-1.0
"""Observations: every value of every round, counted or measured, as rows of one relation ("millpond.observation/2").

A `Journal` gathers the rows of one run and knows which of them stand behind a figure: evidence is a list of their ids.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond import __version__
from millpond.cells.cell import LITTER, Cell, Computed, Outcome, Workload
from millpond.cells.metrics import COUNTERS, EVENTS, TRIAL_METRICS, Metrics
from millpond.system.clock import utc_now
from millpond.system.machine import this_machine

SCHEMA = "millpond.observation/2"
FIELDS = (
    "schema", "id", "run", "experiment", "workload", "subject_kind", "subject", "contender_kind", "contender",
    "parameters", "plan", "subsystem", "stage", "heap_state", "page_policy", "pass", "metric", "unit", "value",
    "why_null", "status", "exit_status", "signal", "kind", "round", "machine", "program", "compiler", "version",
    "time_utc",
)  # fmt: skip

_COUNTED = ("page_faults", "major_faults", "units", *COUNTERS)


@dataclass(frozen=True)
class Programs:
    """Of a run whose cells are run by several programs: who built that of a cell, and what tells it from others."""

    compiler_of: Callable[[Cell], str | None]
    identity_of: Callable[[Cell], str]


class Journal:
    """The observations of one run of one verb, in the order in which they were made.

    `metrics`: what outcomes have rows of. `seed` and `subject` (what was measured: see `round_log.subject_of`) are true
    of the whole run; a later run of the same may go on from this one. `programs`: where that is not one program for all
    cells.
    """

    def __init__(
        self,
        experiment: str,
        workload: Sequence[str],
        compiler: str | None = None,
        *,
        metrics: Metrics = TRIAL_METRICS,
        seed: int | None = None,
        subject: str = "",
        programs: Programs | None = None,
    ) -> None:
        stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
        self.run = f"{stamp}-{secrets.token_hex(4)}"
        self.rows: list[dict[str, Any]] = []
        self._experiment = experiment
        self._workload = " ".join(workload)
        self._compiler = compiler
        self._metrics = metrics
        self._seed = seed
        self._subject = subject
        self.programs = programs
        self._ids: dict[tuple[str, str, str], list[str]] = {}

    def about(self) -> dict[str, Any]:
        """What is true of the run as a whole: kept beside its rows."""
        return {
            "run": self.run,
            "experiment": self._experiment,
            "workload": self._workload,
            "machine": str(this_machine()),
            "fingerprint": this_machine().fingerprint,
            "version": __version__,
            "seed": self._seed,
            "subject": self._subject,
        }

    def head(self, schema: str) -> dict[str, Any]:
        """What a document about the run begins with."""
        return {
            "schema": schema,
            "run": self.run,
            "machine": str(this_machine()),
            "version": __version__,
            "time_utc": utc_now(),
        }

    def rows_with_recalled(
        self, outcomes: Iterable[Outcome], began: str, parameters: Collection[str]
    ) -> list[dict[str, Any]]:
        """The rows, behind those of the outcomes that an earlier run has left, before `began`.

        Of their parameters these are kept.
        """
        earlier = Journal(
            self._experiment, [self._workload], self._compiler, metrics=self._metrics, programs=self.programs
        )
        earlier.add_outcomes(outcome for outcome in outcomes if outcome.time_utc < began)
        return [
            {**row, "parameters": {k: v for k, v in json.loads(row["parameters"]).items() if k in parameters}}
            for row in [*earlier.rows, *self.rows]
        ]

    def add_outcomes(self, outcomes: Iterable[Outcome], metrics: Metrics | None = None) -> None:
        """Adds a row for each metric of each outcome; a metric that is absent is null, with the reason.

        `metrics`: where these outcomes have others than the run's.
        """
        declared = metrics or self._metrics
        for outcome in outcomes:
            for metric, unit in declared.of(outcome).items():
                self._add_outcome(outcome, metric, unit, declared)

    def _add_outcome(self, outcome: Outcome, metric: str, unit: str, declared: Metrics) -> None:
        cell = outcome.cell
        value = outcome.values.get(metric)
        identifier = self._add(
            **_of_cell(cell),
            subsystem=cell.plan.alone if cell.plan else None,
            stage=outcome.stage,
            page_policy="huge" if cell.contender.name == "shared_huge" else this_machine().page_policy,
            metric=metric,
            unit=unit,
            value=value,
            why_null=None if value is not None else _why_null(outcome, metric),
            status=outcome.status,
            exit_status=outcome.exit_status,
            signal=outcome.signal,
            kind=outcome.kind or _kind(cell, metric, unit, declared),
            round=outcome.round,
            time_utc=outcome.time_utc,
            **({"workload": cell.subject.name} if isinstance(cell.subject, Workload) else {}),
            **{"pass": "warm" if declared.is_warm(metric) else "cold", "heap_state": heap_state(cell)},
            **({"compiler": self.programs.compiler_of(cell)} if self.programs else {}),
            **({"program": self.programs.identity_of(cell)} if self.programs else {}),
        )
        if outcome.round > 0 and outcome.status == "ok" and value is not None:
            self._ids.setdefault((outcome.stage, cell.name, metric), []).append(identifier)

    def add_counted(self, subsystem: str, metric: str, unit: str, value: float | None, kind: str, why: str = "") -> str:
        """Adds a figure that the trace gave for a subsystem; returns its id."""
        return self._add(
            parameters={},
            contender_kind="control",
            contender="recorded",
            subsystem=subsystem,
            page_policy=this_machine().page_policy,
            metric=metric,
            unit=unit,
            value=value,
            why_null=None if value is not None else why or "unknown",
            status="ok",
            kind=kind,
            round=0,
            time_utc=utc_now(),
        )

    def _add(self, **given: Any) -> str:
        identifier = f"{self.run}:{len(self.rows):06d}"
        row: dict[str, Any] = {
            "schema": SCHEMA,
            "id": identifier,
            "run": self.run,
            "experiment": self._experiment,
            "workload": self._workload,
            "heap_state": "fresh",
            "pass": "cold",
            "machine": str(this_machine()),
            "compiler": self._compiler,
            "version": __version__,
            **given,
        }
        row["parameters"] = json.dumps(row["parameters"], sort_keys=True)
        self.rows.append({field: row.get(field) for field in FIELDS})
        return identifier

    def evidence(self, stage: str, cells: Iterable[Cell], metrics: Iterable[str]) -> list[str]:
        """The ids of the measured rounds behind a comparison of these cells in these metrics."""
        wanted = list(metrics)
        return [i for cell in cells for metric in wanted for i in self._ids.get((stage, cell.name, metric), [])]


def _kind(cell: Cell, metric: str, unit: str, declared: Metrics) -> str:
    if isinstance(cell.contender, Computed):
        return "computed"
    if metric in declared.estimated:
        return "estimated"
    return "counted" if metric in _COUNTED or unit == EVENTS else "measured"


def _of_cell(cell: Cell) -> dict[str, Any]:
    return {
        "subject_kind": cell.subject.kind,
        "subject": json.dumps(list(cell.subject.words), ensure_ascii=False),
        "contender_kind": cell.contender.kind,
        "contender": cell.contender.name,
        "plan": cell.plan.text() if cell.plan else None,
        "parameters": dict(cell.parameters),
    }


def key_of(row: Mapping[str, Any]) -> str:
    """What tells the cell of a row from others."""
    plan = row["plan"]
    return json.dumps([
        row["subject_kind"], row["subject"], row["contender_kind"], row["contender"], plan,
        json.loads(row["parameters"]) if isinstance(row["parameters"], str) else row["parameters"],
    ], sort_keys=True)  # fmt: skip


def key_of_cell(cell: Cell) -> str:
    """The same of a cell."""
    return key_of(_of_cell(cell))


def _why_null(outcome: Outcome, metric: str) -> str:
    return outcome.absent.get(metric) or outcome.why or "not measured on this machine"


def heap_state(cell: Cell) -> str:
    """What the heap is like when the cell begins: `fresh`, or `littered:F`."""
    litter = dict(cell.parameters).get(LITTER)
    return f"littered:{litter}" if litter else "fresh"
