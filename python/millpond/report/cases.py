# SPDX-License-Identifier: BSL-1.0
"""The contents of a report: a case for each run of `advise`, with everything that the store has of that run.

    Store.load(run) ──▶ RunContents ──▶ case_of ──▶ Case(advice, characterisation, replay, observations) ──▶ forms

`load` takes one run, or the latest run of advise of each workload.

Data that a store lacks (an older run, a damaged file) is None or empty; the reports say so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from millpond.advice.advice_data import Advice, InputAdvice, Replay, Row
from millpond.advice.prediction_outcome import KIND as OUTCOMES
from millpond.advice.prediction_outcome import Builds, PredictionOutcome
from millpond.report.paired_rounds import PairedRounds
from millpond.rounds.characterisation import Characterisation, RecordedTrace, Subsystem
from millpond.store.call_tree import CallTree
from millpond.store.check import WRONG_DATA, place
from millpond.store.observations import Observation
from millpond.store.run_contents import RunContents
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond.system.records import decode

# A run of advise; a run without observations is known by its document.
EXPERIMENTS = ("advise", "advice")
SHOWN_AT_MOST = 80  # the number of subsystems whose details are read


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
    missing: Sequence[str] = ()  # a sentence for each file that is not in the store, with the consequence
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
    """Returns the rows of an advice: the advised first, then by their share in the fleet, then by bytes."""
    return sorted(advice.subsystems, key=lambda row: (not row.pays, -(row.fleet_share or 0), -(row.bytes or 0)))


def case_of(contents: RunContents, advice: Advice, whole: bool = False) -> Case:
    """Returns the case of a run with this advice; `whole`: with every subsystem, not only those that fit on a page."""
    shown = by_importance(advice)[: None if whole else SHOWN_AT_MOST]
    characterised = _characterised(contents, {row.name for row in shown})
    return Case(
        replace(advice, run=advice.run or contents.run),
        characterised,
        [str(row["name"]) for row in contents.subsystems or ()] if characterised else (),
        contents.observations,
        kept_as=contents.run,
        contexts=_contexts(contents),
        missing=_missing_of(contents) if advice.subsystems else (),  # without heap events nothing else is stored
        outcome=contents.made(OUTCOMES, Builds.from_json),
    )


def cases_of(advices: Sequence[Advice], store: Store | None) -> list[Case]:
    """Returns the cases of these advices, with the data that `store` has of their runs."""
    return [case_of(store.load(a.run), a) if store and a.run and not a.inputs else Case(a) for a in advices]


def _contexts(contents: RunContents) -> CallTree | None:
    """Returns the call tree of a run; None if it has none that fits."""
    with suppress(*WRONG_DATA):
        return contents.call_tree
    return None


def _characterised(contents: RunContents, names: Collection[str]) -> Characterisation | None:
    """Returns the characterisation of the named subsystems; None if the run has none that fits."""
    if "characterisation" not in contents.documents or not contents.subsystems:
        return None

    def details(rows: list[dict[str, Any]]) -> tuple[Subsystem, ...]:
        return decode(tuple[Subsystem, ...], [json.loads(row["detail"]) for row in rows if row["name"] in names])

    subsystems = contents.made("subsystems", details)
    rest = contents.made("characterisation", Characterisation.from_json) if subsystems is not None else None
    return replace(rest, subsystems=subsystems) if rest else None


def load(store: Store, run: str | None, whole: bool = False) -> tuple[list[Case], list[str]]:
    """Returns the cases of the requested run, or of the latest of each workload (the newest first), and a sentence for
    each run without a case. `whole`: see `case_of`.

    Failure (status 3) if the run is unknown or has no advice, and if no run of the store has any. Advice in a wrong
    form is among the store's skipped files.
    """
    if run is not None:
        found = store.find_run(run)
        case = _cases_of(store, found.run, whole)
        if not case:
            raise Failure(
                Status.INPUT,
                f"run {found.run} ({found.experiment}) has no readable advice; `millpond advise` writes one. "
                "Every run can be exported by -o FILE.csv",
            )
        return case, []
    cases: dict[str, list[Case]] = {}
    runs = [known for known in store.runs() if known.experiment in EXPERIMENTS]
    for known in reversed(runs):
        case = _cases_of(store, known.run, whole) if known.workload not in cases else []
        if case:
            cases[known.workload] = case
    if not cases:
        skipped = "".join(f"; not read: {one}" for one in store.skipped)
        raise Failure(
            Status.INPUT, f"the store {store.folder} has no advice; `millpond advise --store` writes it{skipped}"
        )
    stopped = [
        f"{place('advice', run)} is not in the store (the run was perhaps stopped): run {run} is not in this report"
        for run in sorted(known.run for known in runs)
        if not store.has("advice", run)
    ]
    return [case for found in cases.values() for case in found], stopped


def _cases_of(store: Store, run: str, whole: bool) -> list[Case]:
    """Returns the case of a run, if its advice is stored and fits; first the advice on several inputs that the run
    completed.
    """
    contents = store.load(run)
    case = contents.made("advice", lambda data: case_of(contents, Advice.from_json(data), whole))
    merged = contents.made("inputs", Advice.from_json) if case else None
    cases = [case] if case else []
    if merged:
        missing = [
            f"{place('advice', of.run)} is not in the store: this report has only a summary of input {of.number}"
            for of in merged.inputs
            if of.run and not store.has("advice", of.run)
        ]
        cases.insert(0, Case(merged, kind="inputs", kept_as=run, missing=missing))
    return cases


# The data that a run of advise stores with its advice, and the consequence if a file is missing.
_PARTS = (
    ("observations", "the rounds cannot be shown, and no figure can be checked"),
    ("subsystems", "lifetimes, sizes, witnesses and the map of the heap are not shown"),
    ("characterisation", "lifetimes, sizes, witnesses and the map of the heap are not shown"),
    ("contexts", "the call tree is not shown, and cannot be exported"),
)


def _missing_of(contents: RunContents) -> list[str]:
    return [
        f"{place(kind, contents.run)} is not in the store: for run {contents.run}, {meaning}"
        for kind, meaning in _PARTS
        if kind not in contents.kinds
    ]


def latest(store: Store, run: str | None) -> RunContents:
    """Returns the contents of the run given by --run, or of the latest run of advise. Failure (status 3) without
    one.
    """
    if run is not None:
        return store.load(store.find_run(run).run)
    ids = [known.run for known in store.runs() if known.experiment in EXPERIMENTS]
    if not ids:
        raise Failure(Status.INPUT, f"the store {store.folder} has no run of advise; give another run by --run")
    return store.load(ids[-1])
