# SPDX-License-Identifier: BSL-1.0
"""The contents of a report: a case for each run of `advise`, with everything that the store has of that run.

    STORE ──▶ runs of advise ──▶ the latest of each workload ──▶ Case(advice, characterisation, replay, observations)

Data that a store lacks (an older run, a damaged file) is None or empty; the reports say so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from millpond.advice.advice_data import Advice, InputAdvice, Replay, Row
from millpond.advice.prediction_outcome import KIND as OUTCOMES
from millpond.advice.prediction_outcome import Builds, PredictionOutcome
from millpond.report.paired_rounds import PairedRounds
from millpond.rounds.characterisation import Characterisation, RecordedTrace, Subsystem
from millpond.store.call_tree import CallTree
from millpond.store.observations import Observation
from millpond.store.store import Misfit, Store
from millpond.system.errors import Failure, Status
from millpond.system.records import decode

# A run of advise; a run without observations is known by its document.
EXPERIMENTS = ("advise", "advice")
Made = TypeVar("Made")
SHOWN_AT_MOST = 80  # the number of subsystems whose details are read
_NAMES = "select name from subsystems where run = ? order by position"
_DETAILS = "select detail from subsystems where run = ? and list_contains(?, name) order by position"


@dataclass(frozen=True)
class ShownRow:
    """A row of an advice, with the subsystem's characterisation."""

    row: Row
    detail: Subsystem

    def to_json(self) -> dict[str, Any]:
        return {**self.detail.to_json(), **self.row.to_json()}


@dataclass(frozen=True)
class Case:
    """One run of `advise`. Only the advice always exists.

    `characterisation` has the requested subsystems; `names` has all of them, because the heap map counts from the
    first.
    """

    advice: Advice
    characterisation: Characterisation | None = None
    names: Sequence[str] = field(default=(), repr=False)
    observations: Sequence[Observation] = field(default=(), repr=False)
    kind: str = "advice"  # the kind of document, and the run under which it is stored
    kept_as: str = ""
    contexts: CallTree | None = field(default=None, repr=False)  # the calls that led to allocations
    outcome: Builds | None = None  # from `compare --after`: the outcome of the prediction

    @property
    def came_out(self) -> PredictionOutcome | None:
        """Returns the outcome of the prediction; None if no changed build was compared."""
        return None if self.outcome is None else PredictionOutcome.of(self.outcome)

    @property
    def run(self) -> str:
        return self.advice.run or ""

    @property
    def replay(self) -> Replay | None:
        return self.advice.replay

    @property
    def inputs(self) -> Sequence[InputAdvice]:
        """Returns the result for each input, if the advice is on several; the run of each is a case of its own."""
        return self.advice.inputs

    @property
    def argv(self) -> tuple[str, ...]:
        """Returns the program's argv."""
        return self.advice.program.argv

    @property
    def name(self) -> str:
        """Returns the program's name without its folder."""
        return Path(self.argv[0]).name if self.argv and self.argv[0] else "program"

    @cached_property
    def rounds(self) -> PairedRounds:
        """Returns every measured round of the run."""
        return PairedRounds(self.observations)

    @cached_property
    def trace(self) -> RecordedTrace:
        """Returns the trace's summary; the characterisation's figures if they are stored."""
        return self.characterisation.trace if self.characterisation else RecordedTrace.of(self.advice.trace)

    @cached_property
    def subsystems(self) -> list[ShownRow]:
        """Returns the advice's rows with their characterisation: the advised first, then by bytes."""
        known = {s.name: s for s in (self.characterisation.subsystems if self.characterisation else ())}
        return [ShownRow(row, known.get(row.name) or Subsystem(name=row.name)) for row in by_importance(self.advice)]

    def to_json(self) -> dict[str, Any]:
        """Returns the case as plain data: the advice, all facts of each subsystem, every round of the effects."""
        characterised = self.characterisation.to_json() if self.characterisation else {}
        return {
            "run": self.run,
            "advice": {**self.advice.to_json(), "subsystems": [shown.to_json() for shown in self.subsystems]},
            "characterisation": {k: v for k, v in characterised.items() if k != "subsystems"} or None,
            "replay": self.replay.to_json() if self.replay else None,
            "outcome": self.outcome.to_json() if self.outcome else None,
            "rounds": {
                name: [r.to_json() for r in self.rounds.ratios(effect.of_, effect.against or "")]
                for name, effect in self.advice.every_effect.items()
                if effect.n and effect.of_
            },
        }


def by_importance(advice: Advice) -> list[Row]:
    """Returns the rows of an advice: the advised first, then by bytes."""
    return sorted(advice.subsystems, key=lambda row: (not row.pays, -(row.bytes or 0)))


def of_run(store: Store, run: str, advice: Advice, whole: bool = False) -> Case:
    """Returns the case of a run with this advice; `whole`: with every subsystem, not only those that fit on a page."""
    rest = store.document("characterisation", run)
    names = [str(row["name"]) for row in store.query(_NAMES, [run])] if rest is not None else []
    shown = by_importance(advice)[: None if whole else SHOWN_AT_MOST]
    characterised = _characterised(store, run, rest or {}, [row.name for row in shown]) if names else None
    return Case(
        replace(advice, run=advice.run or run),
        characterised,
        names if characterised else (),
        store.observations(run) if store.files("observations") else [],
        kept_as=run,
        contexts=store.contexts(run),
        outcome=_made_of(store, OUTCOMES, run, Builds.from_json),
    )


def cases_of(advices: Sequence[Advice], store: Store | None) -> list[Case]:
    """Returns the cases of these advices, with the data that `store` has of their runs."""
    return [of_run(store, a.run, a) if store and a.run and not a.inputs else Case(a) for a in advices]


def _characterised(store: Store, run: str, rest: dict[str, Any], names: list[str]) -> Characterisation | None:
    """Returns the characterisation of the named subsystems; None, and the file is blamed, if it does not fit."""
    with suppress(Misfit):
        with store.fitting(("subsystems", run)):
            details = [json.loads(row["detail"]) for row in store.query(_DETAILS, [run, names])]
            subsystems = decode(tuple[Subsystem, ...], details)
        with store.fitting(("characterisation", run)):
            return replace(Characterisation.from_json(rest), subsystems=subsystems)
    return None


def _made_of(store: Store, kind: str, run: str, make: Callable[[dict[str, Any]], Made]) -> Made | None:
    """Returns `make` of a document; None if the store lacks it, or it does not fit."""
    found = store.document(kind, run)
    if found is not None:
        with suppress(Misfit), store.fitting((kind, run)):
            return make(found)
    return None


def load(store: Store, run: str | None, whole: bool = False) -> list[Case]:
    """Returns the requested run, or the latest of each workload; the newest first. `whole`: see `of_run`.

    Failure (status 3) if the run is unknown or has no advice, and if no run of the store has any. Advice in a wrong
    form is among the store's skipped files.
    """
    if run is not None:
        found = store.find_run(run)
        case = _kept(store, found.run, whole)
        if not case:
            raise Failure(
                Status.INPUT,
                f"run {found.run} ({found.experiment}) has no readable advice; `millpond advise` writes one. "
                "Every run can be exported by --format csv",
            )
        return case
    cases: dict[str, list[Case]] = {}
    for known in reversed(store.runs()):
        if known.experiment not in EXPERIMENTS or known.workload in cases:
            continue
        case = _kept(store, known.run, whole)
        if case:
            cases[known.workload] = case
    if not cases:
        skipped = "".join(f"; not read: {one}" for one in store.skipped)
        raise Failure(
            Status.INPUT, f"the store {store.folder} has no advice; `millpond advise --store` writes it{skipped}"
        )
    return [case for found in cases.values() for case in found]


def _kept(store: Store, run: str, whole: bool) -> list[Case]:
    """Returns the case of a run, if its advice is stored and fits; first the advice on several inputs that the run
    completed.
    """
    case = _made_of(store, "advice", run, lambda data: of_run(store, run, Advice.from_json(data), whole))
    if case is None:
        return []
    merged = _made_of(store, "inputs", run, lambda data: Case(Advice.from_json(data), kind="inputs", kept_as=run))
    return [merged, case] if merged else [case]


def missing(store: Store, cases: Sequence[Case], *, all_runs: bool = True) -> list[str]:
    """Names the files of these cases that are missing from the store, a sentence each, with the consequence.

    `all_runs`: also runs of advise with observations but no advice, which are no cases.
    """
    found = [line for case in cases if case.run and not case.inputs for line in _missing_of(store, case)]
    for case in cases:
        found += [
            f"advice/{of.run}.json.gz is not in the store: this report has only a summary of input {of.number}"
            for of in case.inputs
            if of.run and not store.has("advice", of.run)
        ]
    known = {run.run for run in store.runs() if run.experiment in EXPERIMENTS} if all_runs else set()
    found += [
        f"advice/{run}.json.gz is not in the store (the run was perhaps stopped): run {run} is not in this report"
        for run in sorted(known)
        if not store.has("advice", run)
    ]
    return found


# The data that a run of advise stores with its advice, and the consequence if a file is missing.
_PARTS = (
    ("observations", "the rounds cannot be shown, and no figure can be checked"),
    ("subsystems", "lifetimes, sizes, witnesses and the map of the heap are not shown"),
    ("characterisation", "lifetimes, sizes, witnesses and the map of the heap are not shown"),
    ("contexts", "the call tree is not shown, and cannot be exported"),
)


def _missing_of(store: Store, case: Case) -> list[str]:
    if not case.advice.subsystems:
        return []  # a program without heap events: nothing else is stored
    return [
        f"{store.place(kind, case.run)} is not in the store: for run {case.run}, {meaning}"
        for kind, meaning in _PARTS
        if not store.has(kind, case.run)
    ]


def latest(store: Store, run: str | None) -> str:
    """Returns the id of the run given by --run, or of the latest run of advise. Failure (status 3) without one."""
    if run is not None:
        return str(store.find_run(run).run)
    ids = [known.run for known in store.runs() if known.experiment in EXPERIMENTS]
    if not ids:
        raise Failure(Status.INPUT, f"the store {store.folder} has no run of advise; give another run by --run")
    return str(ids[-1])
