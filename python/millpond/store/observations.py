# SPDX-License-Identifier: BSL-1.0
"""Observations: every value of every round, counted or measured, as rows of one relation ("millpond.observation/2").

A `Journal` collects the rows of one run, and returns the ids of the rows that support a figure as its evidence.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from msgspec import Meta, field
from msgspec.structs import replace

from millpond import __version__
from millpond.cells.cell import LITTER, Cell, ComputedContender, Malloc, Outcome, Workload
from millpond.cells.metrics import COUNTERS, EVENTS, TRIAL_METRICS, Metrics
from millpond.cells.plans import Plan
from millpond.system.any_bytes import kept
from millpond.system.clock import utc_now
from millpond.system.input_file import parse_json
from millpond.system.machine import Machine, this_machine
from millpond.system.records import NULL, Record

SCHEMA = "millpond.observation/2"
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Observation(Record, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """One value of one round. Its fields are the columns of the relation, in their order; required ones are never
    null.

    `subject` (a list of words), `parameters` (an object) and `plan` are JSON texts.
    """

    schema: str | None = SCHEMA
    id: str
    run: str
    experiment: str
    workload: str | None = None
    subject_kind: str | None = None
    subject: str | None = None
    contender_kind: str | None = None
    contender: str | None = None
    parameters: str
    plan: str | None = None
    subsystem: str | None = None
    stage: str | None = None
    heap_state: str | None = None
    page_policy: str | None = None
    pass_: str | None = field(name="pass", default=None)
    metric: str
    unit: str
    value: float | None = None
    why_null: str | None = None
    status: str
    exit_status: Whole | None = None
    signal: Whole | None = None
    kind: str
    round: Whole
    machine: str | None = None
    program: str | None = None
    compiler: str | None = None
    version: str | None = None
    time_utc: str

    def __post_init__(self) -> None:
        """Raises ValueError, or the error of a wrong type, if a text does not hold what it must."""
        require_texts(self.parameters, self.subject, self.plan)

    @property
    def cell(self) -> tuple[str | None, ...]:
        """The columns that identify its cell."""
        return (self.subject_kind, self.subject, self.contender_kind, self.contender, self.plan, self.parameters)

    @property
    def label(self) -> str:
        """The name of its contender in tables."""
        name = self.contender or ""
        if self.contender_kind == Plan.kind:
            return Plan(name, "", "", ()).label
        return Malloc(name).label if self.contender_kind == Malloc.kind else name


FIELDS = Observation.__struct_encode_fields__


class RunFacts(Record, frozen=True):
    """The facts about a whole run, kept next to its rows."""

    run: str
    experiment: str
    workload: str
    machine: str
    fingerprint: str
    version: str
    seed: int | None = field(default_factory=NULL)
    subject: str = field(default_factory=str)

    def is_same(self, other: RunFacts) -> bool:
        """True if this run may continue the other one."""
        return replace(self, run="", workload="", machine="") == replace(other, run="", workload="", machine="")


@lru_cache(maxsize=1024)
def require_texts(parameters: str, subject: str | None, plan: str | None) -> None:
    """Raises ValueError, or the error of a wrong type, unless these are valid values of the JSON columns."""
    if not isinstance(parse_json(parameters), dict):
        raise ValueError("its column parameters does not hold a JSON object")
    words = parse_json(subject) if subject is not None else []
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("its column subject does not hold a list of words")
    for route in parse_json(plan)["routes"] if plan is not None else ():
        if not isinstance(route["strategy"], str) or not all(isinstance(name, str) for name in route["subsystems"]):
            raise ValueError("its column plan does not hold a plan")


_COUNTED = ("page_faults", "major_faults", "units", *COUNTERS)


@dataclass(frozen=True)
class Programs:
    """For a run whose cells use several programs: the builder and the identity of each cell's program."""

    compiler_of: Callable[[Cell], str | None]
    identity_of: Callable[[Cell], str]


class Journal:
    """The observations of one run of one verb, in the order in which they were made.

    `metrics`: the metrics of an outcome's rows. `seed` and `subject` (what was measured: see `round_log.subject_of`)
    hold for the whole run; a later run with the same may continue this one. `programs`: if the cells use several
    programs. `machine`: the machine whose rounds these are; this one if it is not given.
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
        machine: Machine | None = None,
    ) -> None:
        stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
        self.run = f"{stamp}-{secrets.token_hex(4)}"
        self.rows: list[Observation] = []
        self._experiment = experiment
        self._workload = kept(" ".join(workload))
        self._compiler = compiler
        self._metrics = metrics
        self._seed = seed
        self._subject = subject
        self.programs = programs
        self._machine = machine or this_machine()
        self._ids: dict[tuple[str, str, str], list[str]] = {}

    def about(self) -> RunFacts:
        """The facts about the run as a whole."""
        machine = self._machine
        return RunFacts(
            self.run, self._experiment, self._workload, str(machine), machine.fingerprint, __version__, self._seed,
            self._subject,
        )  # fmt: skip

    def head(self, schema: str) -> dict[str, Any]:
        """The beginning of a document about the run."""
        return {
            "schema": schema,
            "run": self.run,
            "machine": str(self._machine),
            "version": __version__,
            "time_utc": utc_now(),
        }

    def rows_with_recalled(
        self, outcomes: Iterable[Outcome], began: str, parameters: Collection[str]
    ) -> list[dict[str, Any]]:
        """The rows of the recalled outcomes of an earlier run, before `began`, followed by the new rows.

        Of their parameters only `parameters` are kept.
        """
        earlier = Journal(
            self._experiment, [self._workload], self._compiler, metrics=self._metrics, programs=self.programs,
            machine=self._machine,
        )  # fmt: skip
        earlier.add_outcomes(outcome for outcome in outcomes if outcome.time_utc < began)
        return [
            {**row.to_json(), "parameters": {k: v for k, v in json.loads(row.parameters).items() if k in parameters}}
            for row in [*earlier.rows, *self.rows]
        ]

    def add_outcomes(self, outcomes: Iterable[Outcome], metrics: Metrics | None = None) -> None:
        """Adds a row for each metric of each outcome; a metric that is absent is null, with the reason.

        `metrics`: if these outcomes have other metrics than the run.
        """
        declared = metrics or self._metrics
        for outcome in outcomes:
            for metric, unit in declared.of(outcome).items():
                self._add_outcome(outcome, metric, unit, declared)

    def _add_outcome(self, outcome: Outcome, metric: str, unit: str, declared: Metrics) -> None:
        cell = outcome.cell
        value = outcome.values.get(metric)
        added = self._add(
            **columns_of(cell),
            workload=cell.subject.name if isinstance(cell.subject, Workload) else self._workload,
            subsystem=cell.plan.alone if cell.plan else None,
            stage=outcome.stage,
            heap_state=heap_state(cell),
            page_policy="huge" if cell.contender.name == "shared_huge" else self._machine.page_policy,
            pass_="warm" if declared.is_warm(metric) else "cold",
            metric=metric,
            unit=unit,
            value=value,
            why_null=None if value is not None else _why_null(outcome, metric),
            status=outcome.status,
            exit_status=outcome.exit_status,
            signal=outcome.signal,
            kind=outcome.kind or _kind(cell, metric, unit, declared),
            round=outcome.round,
            program=self.programs.identity_of(cell) if self.programs else None,
            compiler=self.programs.compiler_of(cell) if self.programs else self._compiler,
            machine=outcome.machine or str(self._machine),
            time_utc=outcome.time_utc,
        )
        if outcome.round > 0 and outcome.status == "ok" and value is not None:
            self._ids.setdefault((outcome.stage, cell.name, metric), []).append(added.id)

    def add_counted(self, subsystem: str, metric: str, unit: str, value: float | None, kind: str, why: str = "") -> str:
        """Adds a figure about a subsystem from the trace; returns its id."""
        return self._add(
            workload=self._workload,
            contender_kind="control",
            contender="recorded",
            parameters="{}",
            subsystem=subsystem,
            heap_state="fresh",
            page_policy=self._machine.page_policy,
            machine=str(self._machine),
            pass_="cold",
            metric=metric,
            unit=unit,
            value=value,
            why_null=None if value is not None else why or "unknown",
            status="ok",
            kind=kind,
            round=0,
            compiler=self._compiler,
            time_utc=utc_now(),
        ).id

    def _add(self, **columns: Any) -> Observation:
        row = Observation(
            id=f"{self.run}:{len(self.rows):06d}", run=self.run, experiment=self._experiment,
            version=__version__, **columns,
        )  # fmt: skip
        self.rows.append(row)
        return row

    def take_in(self, rows: Iterable[Observation]) -> None:
        """Adds the rows of a part of this run that another journal took down. They are no evidence."""
        for row in rows:
            self.rows.append(replace(row, id=f"{self.run}:{len(self.rows):06d}", run=self.run))

    def evidence(self, stage: str, cells: Iterable[Cell], metrics: Iterable[str]) -> list[str]:
        """The ids of the measured rounds that support a comparison of these cells in these metrics."""
        wanted = list(metrics)
        return [i for cell in cells for metric in wanted for i in self._ids.get((stage, cell.name, metric), [])]


def _kind(cell: Cell, metric: str, unit: str, declared: Metrics) -> str:
    if isinstance(cell.contender, ComputedContender):
        return "computed"
    if metric in declared.estimated:
        return "estimated"
    return "counted" if metric in _COUNTED or unit == EVENTS else "measured"


def columns_of(cell: Cell) -> dict[str, str | None]:
    """The columns that identify a cell, in the order of `Observation.cell`."""
    return {
        "subject_kind": cell.subject.kind,
        "subject": kept(json.dumps(list(cell.subject.argv), ensure_ascii=False)),
        "contender_kind": cell.contender.kind,
        "contender": cell.contender.name,
        "plan": cell.plan.text() if cell.plan else None,
        "parameters": json.dumps(dict(cell.parameters), sort_keys=True),
    }


def _why_null(outcome: Outcome, metric: str) -> str:
    return outcome.absent.get(metric) or outcome.why or "not measured on this machine"


def heap_state(cell: Cell) -> str:
    """The state of the heap when the cell begins: `fresh`, or `littered:F`."""
    litter = dict(cell.parameters).get(LITTER)
    return f"littered:{litter}" if litter else "fresh"
