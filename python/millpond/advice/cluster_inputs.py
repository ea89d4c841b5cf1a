# SPDX-License-Identifier: BSL-1.0
"""Advises on several inputs on a cluster: an input a worker, at the same time.

    conductor                                worker, pinned to its processors
    command, options, standard input ──────▶ advise, in a store of its own
    store ◀── advice, files of that store ── observations/RUN.parquet, advice/RUN.json.gz …

All rounds of an input run on one worker, so only figures of one machine are paired. The program does not travel: it
must be the same file on each worker, and the folder in which it runs must exist there.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from millpond.advice import advise_program
from millpond.advice.advice_data import Advice
from millpond.advice.advise_options import Options
from millpond.advice.class_score import CAPTURE, REPLAY, SIMULATE
from millpond.advice.inputs import InputAdviser, InputCommand, JudgedPlan, judge_again
from millpond.advice.layout_prediction import PROBE
from millpond.cells.plans import Plan
from millpond.cluster.cluster import Cluster
from millpond.cluster.cluster_executor import ClusterExecutor
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.rounds.layouts import LAYOUT, PLAYER
from millpond.rounds.recording import CHARACTERISE, RECORD, TRACE
from millpond.rounds.trial_rounds import TRIAL
from millpond.store.store import Store
from millpond.system import debug_files
from millpond.system.errors import Failure, Status
from millpond.system.progress import say, saying_about
from millpond.system.standard_input import StandardInput
from millpond.system.temporary import temporary_folder

_PROGRAMS = (RECORD, CHARACTERISE, TRACE, TRIAL, REPLAY, PROBE, CAPTURE, SIMULATE, LAYOUT, PLAYER)
_STDIN = 0
Answer = TypeVar("Answer")


@contextmanager
def inputs_on_cluster(cluster: Cluster, program: str, options: Options) -> Iterator[InputAdviser]:
    """An adviser for the inputs of one program. What workers store goes into the store of `options`.

    Failure (status 4) if no worker can serve.
    """
    found = shutil.which(program)
    with temporary_folder() as folder:
        spooled = StandardInput(folder).path
        shipment = Shipment.of(_PROGRAMS, [spooled], system=[Path(found)] if found else [], with_libraries=True)
        with ClusterExecutor(cluster, shipment, is_measured=True) as executor:
            yield _InputsOnCluster(executor, options, CallPlace(Path.cwd(), spooled, debug_files.settings()))


@dataclass(frozen=True)
class CallPlace:
    """The place of a call, as on the conductor: the working directory, the path there of a file with the standard
    input, and the variables of debug files.
    """

    folder: Path
    standard_input: Path
    variables: dict[str, str]


@dataclass(frozen=True)
class _InputsOnCluster:
    """With fewer workers than inputs, some work on several in turn. Each input has the same share of the time."""

    executor: ClusterExecutor
    options: Options
    at: CallPlace

    def advise(self, commands: Sequence[InputCommand], seconds: float) -> list[Advice | Failure]:
        for command in commands:
            say(f"input {command.number} of {len(commands)}: {command.given.text}")
        options = self._sharing(len(commands), seconds)
        return self._answers([(one, _advise, (one.words, options)) for one in commands])

    def judge(
        self, questions: Sequence[tuple[InputCommand, Mapping[str, Plan]]], seconds: float
    ) -> list[Mapping[str, JudgedPlan] | Failure]:
        options = self._sharing(len(questions), seconds)
        return self._answers([(one, _judge, (one.words, dict(plans), options)) for one, plans in questions])

    def _sharing(self, inputs: int, seconds: float) -> Options:
        """The options of one input, with its share of the time."""
        return replace(self.options, budget_seconds=seconds / math.ceil(inputs / self.executor.workers))

    def _answers(
        self, calls: Sequence[tuple[InputCommand, Callable[..., Answer], tuple[object, ...]]]
    ) -> list[Answer | Failure]:
        store = Store(self.options.store)
        futures = [
            self.executor.submit(_at_work, command.number, self.at, function, *arguments)
            for command, function, arguments in calls
        ]
        return [_kept(future, store) for future in futures]


def _kept(future: Future[tuple[Answer, dict[str, bytes]]], store: Store) -> Answer | Failure:
    try:
        answer, files = future.result()
    except Failure as failure:
        return failure
    store.take_in(files)
    return answer


def _at_work(
    place: Workplace, number: int, at: CallPlace, function: Callable[..., Answer], *arguments: object
) -> tuple[Answer, dict[str, bytes]]:
    """Calls `function(*arguments, store)` for an input. Returns its answer and the files of the store."""
    os.environ.update(at.variables)
    with (
        temporary_folder(place.folder) as folder,
        _working_in(at.folder),
        _standard_input(place.located(at.standard_input)),
        saying_about(f"input {number}"),
    ):
        store = folder / "store"
        return function(*arguments, store), Store(store).contents()


def _advise(words: tuple[str, ...], options: Options, store: Path) -> Advice:
    return advise_program.advise(words, replace(options, store=store))


def _judge(
    words: tuple[str, ...], plans: Mapping[str, Plan], options: Options, store: Path
) -> Mapping[str, JudgedPlan]:
    return judge_again(words, plans, replace(options, store=store))


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    usual = Path.cwd()
    try:
        os.chdir(folder)
    except OSError as error:
        raise Failure(
            Status.ENVIRONMENT,
            f"a worker does not see the folder {folder}: put it on a file system that the workers share",
        ) from error
    try:
        yield
    finally:
        os.chdir(usual)


@contextmanager
def _standard_input(file: Path) -> Iterator[None]:
    """Has a file on descriptor 0, which the program's runs read."""
    saved = os.dup(_STDIN)
    opened = os.open(file, os.O_RDONLY)
    os.dup2(opened, _STDIN)
    os.close(opened)
    try:
        yield
    finally:
        os.dup2(saved, _STDIN)
        os.close(saved)
