# SPDX-License-Identifier: BSL-1.0
"""Compares two builds of a program, before and after a change: interleaved rounds, and the advice's prediction.

    BEFORE ARGS ─┐ once each: do they end the same way, with the same output?
    AFTER ARGS  ─┴▶ rounds in changing order, a fresh process each ─▶ CPU, peak, wall, faults: after / before
    store ──▶ the latest advice on BEFORE (its build-id, or its path; its arguments) ──▶ predicted

The rounds are observations of the experiment `builds`. The document is stored with the advice, or without one under the
run of the rounds.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as record_with

from millpond.advice.advice_data import Advice, change_of
from millpond.advice.effects import METRICS_COMPARED
from millpond.advice.prediction_outcome import (
    KIND,
    SCHEMA,
    WORDS,
    Builds,
    BuildSide,
    OutcomeLine,
    PredictionOutcome,
    SameOutput,
    prediction_of,
)
from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.cells.metrics import PROCESS_METRICS
from millpond.rounds.fresh_process import describe
from millpond.rounds.interleaved_rounds import RoundsRequest, by_round, measured_rounds, run_rounds
from millpond.rounds.preparation import Preparation
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.statistics.order_statistics import Comparison, compare, judge_family
from millpond.store.observations import Journal
from millpond.store.round_log import logged
from millpond.store.store import Store
from millpond.system.any_bytes import kept, system_form
from millpond.system.build_id import build_id_of
from millpond.system.errors import Failure, Status
from millpond.system.progress import ProgressReport
from millpond.system.standard_input import StandardInput

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class BuildComparisonRequest:
    """The user's request: two command lines, the number of rounds, and the store."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    rounds: int
    store: Path
    seed: int
    preparation: Preparation

    def cell(self, side: str) -> Cell:
        return Cell(Program(self.before), Control(side))


def command_after(text: str, before: Sequence[str]) -> tuple[str, ...]:
    """Returns the command line of `--after`: one word is a program that gets BEFORE's arguments, more are all of it.

    Failure (status 2) if it cannot be parsed.
    """
    if Path(text).is_file():  # its name may have a space
        return (text, *before[1:])
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Failure(Status.USAGE, f"--after {text!r} is not a command line: {error}") from error
    if not words:
        raise Failure(Status.USAGE, "--after is empty; give the changed build, for example --after build-new/program")
    return (words[0], *(words[1:] or before[1:]))


def compare_builds(request: BuildComparisonRequest, folder: Path) -> tuple[Builds, list[str]]:
    """Runs both builds; returns the document ("millpond.builds/1"), and a line for each skipped file of the store.

    Temporary files go to `folder`. Failure: 2 for a program that does not exist, 3 for builds that end differently.
    """
    for argv in (request.before, request.after):
        if shutil.which(argv[0]) is None:
            raise Failure(Status.USAGE, f"there is no program {argv[0]!r} that can be run")
    store = Store(request.store)
    store.prepare()
    advice, why_none = find_advice(store, request.before)
    runner = _Builds(request, folder)
    output = runner.rehearse()
    journal = Journal("builds", request.before, metrics=PROCESS_METRICS, seed=request.seed)
    with logged(store, journal) as log:
        outcomes = run_rounds(
            [request.cell(BEFORE), request.cell(AFTER)],
            runner,
            ProgressReport(),
            RoundsRequest(stage="judging", rounds=request.rounds, seed=request.seed),
            memory=log,
        )
    measured = _measured(request, outcomes)
    if "cpu_seconds" not in measured:
        why = next((o.why for o in outcomes if o.status != "ok"), "no round has a value of both")
        raise Failure(Status.INPUT, f"the builds cannot be compared: {why}")
    prediction = prediction_of(advice) if advice else None
    if advice and prediction is None:
        why_none = f"the advice of run {advice.run} judged no plan and no malloc; give it a larger --budget"
    builds = Builds(
        **{**journal.head(SCHEMA), "schema": SCHEMA},
        seed=request.seed,
        before=_side(request.before),
        after=_side(request.after),
        rounds=measured_rounds(outcomes),
        output=output,
        prediction=prediction,
        why_no_prediction=None if prediction else why_none,
        measured={metric: change_of(found) for metric, found in measured.items()},
        evidence=tuple(journal.evidence("judging", [request.cell(BEFORE), request.cell(AFTER)], measured)),
    )
    lines = tuple(OutcomeLine(line.metric, line.meets, line.sentence) for line in PredictionOutcome.of(builds).lines)
    builds = record_with(builds, came_out=lines)
    store.write_document(KIND, prediction.run if prediction else journal.run, builds.to_json())
    return builds, [f"skipped {skipped}" for skipped in store.skipped]


def _side(argv: Sequence[str]) -> BuildSide:
    return BuildSide(tuple(argv), _build_id(argv[0]) or None)


def _build_id(program: str) -> str:
    found = shutil.which(program)
    return build_id_of(Path(found)) if found else ""


def _measured(request: BuildComparisonRequest, outcomes: Sequence[Outcome]) -> dict[str, Comparison]:
    family = {}
    for metric in METRICS_COMPARED:
        before, after = (by_round(outcomes, request.cell(side), metric) for side in (BEFORE, AFTER))
        both = sorted(before.keys() & after.keys())
        found = compare(metric, AFTER, BEFORE, [after[n] for n in both], [before[n] for n in both])
        if found:
            family[metric] = found
    judged = judge_family({m: c for m, c in family.items() if m in WORDS})
    return family | judged


class _Builds:
    """A runner with a laboratory for each side, on one standard input."""

    def __init__(self, request: BuildComparisonRequest, folder: Path) -> None:
        self._request = request
        self._folder = folder
        stdin = StandardInput(folder)
        self._programs = {BEFORE: request.before, AFTER: request.after}
        self._laboratories = {
            side: Laboratory(folder, argv, stdin, request.seed, request.preparation)
            for side, argv in self._programs.items()
        }

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        side = cell.contender.name
        return replace(self._laboratories[side].run(self._bare(side), stage, number), cell=cell)

    def _bare(self, side: str) -> Cell:
        return Cell(Program(self._programs[side]), Control("bare"))

    def rehearse(self) -> SameOutput:
        """Runs both once, before any round; returns whether their output is the same. Failure (3) if they end
        differently.
        """
        started = time.monotonic()
        ended, first = self._output(BEFORE, first=True)
        limit = time_limit(time.monotonic() - started)
        for laboratory in self._laboratories.values():
            laboratory.expected, laboratory.limit_seconds = ended, limit
        if ended[1]:
            how = describe(*ended)
            raise Failure(Status.INPUT, f"{self._request.before[0]} {how}: there is nothing to compare")
        ended_after, other = self._output(AFTER)
        if ended_after != ended:
            raise Failure(
                Status.INPUT,
                f"{self._request.before[0]} {describe(*ended)}, but {self._request.after[0]} "
                f"{describe(*ended_after)}: they do not do the same work, so their rounds cannot be compared",
            )
        if first == other:
            return SameOutput(True, "both builds print the same")
        _, again = self._output(BEFORE)
        if again != first:
            words = "the program's output differs from run to run, so it cannot show whether the change kept it"
            return SameOutput(None, words)
        return SameOutput(False, "the builds print different output: they do not do the same work")

    def _output(self, side: str, *, first: bool = False) -> tuple[tuple[int, int], str]:
        path = self._folder / "output"
        outcome = self._laboratories[side].run_into(self._bare(side), path, first=first)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return (0 if outcome.signal else outcome.exit_status, outcome.signal), digest


def find_advice(store: Store, program: Sequence[str]) -> tuple[Advice | None, str]:
    """Returns the latest advice on this build of the program with these arguments, else on its path; or a reason."""
    build = _build_id(program[0])
    others: Advice | None = None
    for run, advice in store.records("advice", Advice.from_json):
        if not advice.program.argv or advice.program.argv[1:] != tuple(map(kept, program[1:])):
            continue
        advised = _advised_build(store.load(run).documents.get("characterisation"), advice)
        if build and advised == build:
            return advice, ""
        same_place = _place(system_form(advice.program.argv[0])) == _place(program[0])
        if others is None and same_place and not (build and advised):
            others = advice
    if others is not None:
        return others, ""
    command = shlex.join(["millpond", "advise", "--store", str(store.folder), "--", *program])
    return None, f"the store {store.folder} has no advice on this build and these arguments; `{command}` makes one"


def _advised_build(characterisation: Mapping[str, Any] | None, advice: Advice) -> str:
    process = (characterisation or {}).get("process")
    found = process.get("build_id") if isinstance(process, dict) else None
    return str(found or (advice.plan_tried.program.build_id if advice.plan_tried else ""))


def _place(program: str) -> str:
    found = shutil.which(program)
    return str(Path(found).resolve()) if found else program
