# SPDX-License-Identifier: BSL-1.0
"""What a report is made of: a case for each run of `advise`, with everything that the store keeps of that run.

    STORE ──▶ runs of advise ──▶ the latest of each workload ──▶ Case(advice, characterisation, replay, observations)

What a store does not keep (an older run, a damaged file) is None or empty; whoever shows a case says so.
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
from millpond.store.observations import Observation
from millpond.store.store import Misfit, Store
from millpond.system.errors import Failure, Status
from millpond.system.records import decode

# A run of advise; one that made no observations is known by its document.
EXPERIMENTS = ("advise", "advice")
Made = TypeVar("Made")
SHOWN_AT_MOST = 80  # subsystems of a case whose details are read
_NAMES = "select name from subsystems where run = ? order by position"
_DETAILS = "select detail from subsystems where run = ? and list_contains(?, name) order by position"


@dataclass(frozen=True)
class ShownRow:
    """A row of an advice, with all that was characterised of the subsystem."""

    row: Row
    detail: Subsystem

    def to_json(self) -> dict[str, Any]:
        return {**self.detail.to_json(), **self.row.to_json()}


@dataclass(frozen=True)
class Case:
    """One run of `advise`. Only the advice is always there.

    `characterisation` holds the subsystems that were asked for; `names` has all of them, for whoever counts from the
    first (the map of the heap does).
    """

    advice: Advice
    characterisation: Characterisation | None = None
    names: Sequence[str] = field(default=(), repr=False)
    observations: Sequence[Observation] = field(default=(), repr=False)
    kind: str = "advice"  # of document, and under which run it is kept
    kept_as: str = ""
    outcome: Builds | None = None  # of `compare --after`: how its prediction came out

    @property
    def came_out(self) -> PredictionOutcome | None:
        """How the prediction came out; None where no changed build was compared."""
        return None if self.outcome is None else PredictionOutcome.of(self.outcome)

    @property
    def run(self) -> str:
        return self.advice.run or ""

    @property
    def replay(self) -> Replay | None:
        return self.advice.replay

    @property
    def inputs(self) -> Sequence[InputAdvice]:
        """What was found for each input, where the advice is on several; the run of each is a case of its own."""
        return self.advice.inputs

    @property
    def argv(self) -> tuple[str, ...]:
        """The program as it was started."""
        return self.advice.program.argv

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return Path(self.argv[0]).name if self.argv and self.argv[0] else "program"

    @cached_property
    def rounds(self) -> PairedRounds:
        """Every measured round of the run."""
        return PairedRounds(self.observations)

    @cached_property
    def trace(self) -> RecordedTrace:
        """What is known of the trace; the characterisation's figures where it is kept."""
        return self.characterisation.trace if self.characterisation else RecordedTrace.of(self.advice.trace)

    @cached_property
    def subsystems(self) -> list[ShownRow]:
        """Rows of the advice with what was characterised beside them: the advised first, then by bytes."""
        known = {s.name: s for s in (self.characterisation.subsystems if self.characterisation else ())}
        return [ShownRow(row, known.get(row.name) or Subsystem(name=row.name)) for row in by_importance(self.advice)]

    def to_json(self) -> dict[str, Any]:
        """The case as plain data: the advice, all that is known of each subsystem, every round of the effects."""
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
    """The rows of an advice: the advised first, then by bytes."""
    return sorted(advice.subsystems, key=lambda row: (not row.pays, -(row.bytes or 0)))


def of_run(store: Store, run: str, advice: Advice, whole: bool = False) -> Case:
    """The case of a run whose advice is at hand; `whole`: with every subsystem, not only those a page has room for."""
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
        outcome=_made_of(store, OUTCOMES, run, Builds.from_json),
    )


def _characterised(store: Store, run: str, rest: dict[str, Any], names: list[str]) -> Characterisation | None:
    """The characterisation with the subsystems of these names; None, and the file blamed, where it does not fit."""
    with suppress(Misfit):
        with store.fitting(("subsystems", run)):
            details = [json.loads(row["detail"]) for row in store.query(_DETAILS, [run, names])]
            subsystems = decode(tuple[Subsystem, ...], details)
        with store.fitting(("characterisation", run)):
            return replace(Characterisation.from_json(rest), subsystems=subsystems)
    return None


def _made_of(store: Store, kind: str, run: str, make: Callable[[dict[str, Any]], Made]) -> Made | None:
    """What `make` makes of a document; None where the store keeps none, or it does not fit."""
    found = store.document(kind, run)
    if found is not None:
        with suppress(Misfit), store.fitting((kind, run)):
            return make(found)
    return None


def load(store: Store, run: str | None, whole: bool = False) -> list[Case]:
    """The run that was asked for, or the latest of each workload; the newest first. `whole`: see `of_run`.

    Failure (status 3) where the run is unknown or keeps no advice, and where no run of the store does. Advice that does
    not have the form of one is among what the store has skipped.
    """
    if run is not None:
        found = store.find_run(run)
        case = _kept(store, found.run, whole)
        if not case:
            raise Failure(
                Status.INPUT,
                f"run {found.run} ({found.experiment}) has no readable advice; `millpond advise` writes one. "
                "What any run has: --format csv",
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
            Status.INPUT, f"the store {store.folder} holds no advice; `millpond advise --store` writes it{skipped}"
        )
    return [case for found in cases.values() for case in found]


def _kept(store: Store, run: str, whole: bool) -> list[Case]:
    """The case of a run, if its advice is kept and fits; advice on several inputs that the run completed is first."""
    case = _made_of(store, "advice", run, lambda data: of_run(store, run, Advice.from_json(data), whole))
    if case is None:
        return []
    merged = _made_of(store, "inputs", run, lambda data: Case(Advice.from_json(data), kind="inputs", kept_as=run))
    return [merged, case] if merged else [case]


def missing(store: Store, cases: Sequence[Case], *, all_runs: bool = True) -> list[str]:
    """What the store once kept of these cases and keeps no longer, a sentence each, with what that means.

    `all_runs`: also runs of advise that keep observations and no advice, which are no case at all.
    """
    found = [line for case in cases if case.run and not case.inputs for line in _missing_of(store, case)]
    for case in cases:
        found += [
            f"advice/{of.run}.json.gz is gone: what was found for input {of.number} is here in short only"
            for of in case.inputs
            if of.run and not store.has("advice", of.run)
        ]
    known = {run.run for run in store.runs() if run.experiment in EXPERIMENTS} if all_runs else set()
    found += [
        f"advice/{run}.json.gz is gone or was never written (the run was ended): run {run} is not in this report"
        for run in sorted(known)
        if not store.has("advice", run)
    ]
    return found


# What a run of advise that analysed a trace keeps beside its advice, and what a report lacks without it.
_PARTS = (
    ("observations", "the rounds cannot be shown, and no figure can be checked"),
    ("subsystems", "lifetimes, sizes, witnesses and the map of the heap are not shown"),
    ("characterisation", "lifetimes, sizes, witnesses and the map of the heap are not shown"),
    ("contexts", "the call tree cannot be exported"),
)


def _missing_of(store: Store, case: Case) -> list[str]:
    if not case.advice.subsystems:
        return []  # a program without heap events: nothing else was ever kept
    return [
        f"{store.place(kind, case.run)} is gone: of run {case.run} {meaning}"
        for kind, meaning in _PARTS
        if not store.has(kind, case.run)
    ]


def latest(store: Store, run: str | None) -> str:
    """The id of the run that --run names, or of the latest run of advise. Failure (status 3) where there is none."""
    if run is not None:
        return str(store.find_run(run).run)
    ids = [known.run for known in store.runs() if known.experiment in EXPERIMENTS]
    if not ids:
        raise Failure(Status.INPUT, f"the store {store.folder} holds no run of advise; --run names another run")
    return str(ids[-1])
