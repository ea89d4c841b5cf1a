# SPDX-License-Identifier: BSL-1.0
"""Implements `advise --inputs FILE -- PROGRAM {}`: advises on each line's arguments, and merges the results.

    small.txt            ─▶ advise ─▶ document 1 ─┐
    # a comment                                   ├─▶ one document: merged.merge
    -n 3 "large one.txt" ─▶ advise ─▶ document 2 ─┘

Each input is recorded, tried and judged by itself, with its share of the budget. A plan that pays on one input and is
not settled on another is then judged there in fresh rounds:

    input 1   book: pays             ─▶ its plan ─▶ input 2   bare, looked_up, plan: fresh rounds ─▶ pays there too?
    input 2   book: not tried, or nothing while choosing

A plan pays if it is better than the unchanged program beyond the noise, without the trial's own costs.
"""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec.structs import replace

from millpond.advice import merged
from millpond.advice.advice_data import NOTHING, Advice, Row
from millpond.advice.advise_options import Options
from millpond.advice.document import saved_by
from millpond.advice.effects import METRICS_COMPARED, compare_net, control_cell, plan_cell, saves_memory, saves_time
from millpond.cells.plans import Plan, of_file
from millpond.rounds.interleaved_rounds import RoundsRequest, run_rounds
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.statistics.order_statistics import Comparison, judge_family
from millpond.store.observations import Journal
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond.system.input_file import read_bytes, why_unreadable
from millpond.system.progress import ProgressReport, say
from millpond.system.standard_input import StandardInput
from millpond.system.temporary import temporary_folder
from millpond.system.wording import effect_text, plural

PLACE = "{}"
Answer = TypeVar("Answer")
_STDIN = 0
# The share of the budget for the inputs' own advice; the rest settles plans that pay on some of them only.
FIRST_SHARE = 0.75
STAGE = "judging"


@dataclass(frozen=True)
class JudgedPlan:
    """A plan on one input: its net effect, by metric, and the rounds behind it."""

    net: Mapping[str, Comparison]
    rounds: int
    evidence: Sequence[str]

    @property
    def pays(self) -> bool:
        """True if it pays by the same rule as a subsystem's own pool in `advise`."""
        return saves_time(self.net) or saves_memory(self.net)


# Advises on one command line within the given seconds; returns the advice.
Adviser = Callable[[tuple[str, ...], float], Advice]
# Judges plans, by subsystem, on one command line within the given seconds.
Judge = Callable[[tuple[str, ...], Mapping[str, Plan], float], Mapping[str, JudgedPlan]]


@dataclass(frozen=True)
class Input:
    """The arguments of one line of the file, and the line's number."""

    line: int
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        return shlex.join(self.arguments)


@dataclass(frozen=True)
class InputCommand:
    """The program's command line for one input, and the input's number, from 1."""

    number: int
    given: Input
    words: tuple[str, ...]


class InputAdviser(Protocol):
    """Advises on inputs and judges plans on them, in the order given or at the same time."""

    def advise(self, commands: Sequence[InputCommand], seconds: float) -> list[Advice | Failure]:
        """Returns the advice on each input, or its failure, in their order; ends with the first failure."""

    def judge(
        self, questions: Sequence[tuple[InputCommand, Mapping[str, Plan]]], seconds: float
    ) -> list[Mapping[str, JudgedPlan] | Failure]:
        """Returns for each input the results of its plans, or its failure, in their order."""


@dataclass(frozen=True)
class OneAfterTheOther:
    """An `InputAdviser` of one machine: each input has its share of the time that is left."""

    advise_one: Adviser
    judge_one: Judge
    clock: Callable[[], float] = time.monotonic

    def advise(self, commands: Sequence[InputCommand], seconds: float) -> list[Advice | Failure]:
        calls = [
            (f"input {one.number} of {len(commands)}: {one.given.text}", partial(self.advise_one, one.words))
            for one in commands
        ]
        found = list[Advice | Failure]()
        for answer in self._in_turn(calls, seconds):
            found.append(answer)
            if isinstance(answer, Failure):
                break
        return found

    def judge(
        self, questions: Sequence[tuple[InputCommand, Mapping[str, Plan]]], seconds: float
    ) -> list[Mapping[str, JudgedPlan] | Failure]:
        calls = [
            (f"judging {plural(len(plans), 'plan')} of other inputs on input {one.number}",
             partial(self.judge_one, one.words, plans))
            for one, plans in questions
        ]  # fmt: skip
        return list(self._in_turn(calls, seconds))

    def _in_turn(
        self, calls: Sequence[tuple[str, Callable[[float], Answer]]], seconds: float
    ) -> Iterator[Answer | Failure]:
        """Makes each call, announced by its words, with its share of the time that is left."""
        end = self.clock() + seconds
        with _same_standard_input() as again:
            for at, (words, call) in enumerate(calls):
                say(words)
                again()
                share = max(0.0, end - self.clock()) / (len(calls) - at)
                try:
                    answer: Answer | Failure = call(share)
                except Failure as failure:
                    answer = failure
                yield answer


def read_inputs(path: Path) -> list[Input]:
    """Returns the inputs of a file: one line of arguments each, split as by a shell. Skips blank lines and those with
    #.

    Failure (status 3) for a file that cannot be read or has no inputs, and for a line that a shell could not split.
    """
    try:
        lines = read_bytes(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        advice = "it must be a text file with one line of arguments for each input"
        raise Failure(Status.INPUT, f"cannot read the inputs {path}: {why_unreadable(error)}; {advice}") from error
    if any("\0" in line for line in lines):
        raise Failure(Status.INPUT, f"the inputs {path} have a zero character, which no argument can have")
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(Input(number, tuple(shlex.split(line))))
        except ValueError as error:
            what = f"{error}".lower().rstrip(".")
            raise Failure(Status.INPUT, f"{path}, line {number}: {what} in {line.strip()!r}") from error
    if not found:
        raise Failure(Status.INPUT, f"{path} has no inputs: it needs one line of arguments for each input")
    return found


def command_of(program: Sequence[str], given: Input) -> tuple[str, ...]:
    """Returns the program's words with `{}` replaced: a word `{}` by all arguments, one inside a word by the only one.

    Failure: 2 if the program has no `{}`; 3 if the line has several arguments and `{}` is inside a word.
    """
    if not any(PLACE in word for word in program):
        words = shlex.join(program)
        raise Failure(Status.USAGE, f"--inputs needs {PLACE} in place of a line's arguments: -- {words} {PLACE}")
    result: list[str] = []
    for word in program:
        if word == PLACE:
            result.extend(given.arguments)
        elif PLACE not in word:
            result.append(word)
        elif len(given.arguments) == 1:
            result.append(word.replace(PLACE, given.arguments[0]))
        else:
            raise Failure(
                Status.INPUT,
                f"line {given.line} has {len(given.arguments)} arguments, but {word!r} takes only one: "
                "quote them, or make {} a word of its own",
            )
    return tuple(result)


def commands_on(program: Sequence[str], path: Path) -> list[InputCommand]:
    """Returns the command line of each input of a file. Failure: as `read_inputs` and `command_of`."""
    return [InputCommand(n, given, command_of(program, given)) for n, given in enumerate(read_inputs(path), 1)]


def advise_on_inputs(
    program: tuple[str, ...],
    path: Path,
    budget_seconds: float,
    adviser: InputAdviser,
    clock: Callable[[], float] = time.monotonic,
) -> Advice:
    """Returns the advice for all inputs of `path` together. A Failure names its line."""
    commands = commands_on(program, path)
    begin = clock()
    advices = []
    answers = adviser.advise(commands, budget_seconds * (FIRST_SHARE if len(commands) > 1 else 1.0))
    for command, found in zip(commands, answers, strict=False):  # the first failure is the last answer
        if isinstance(found, Failure):
            raise Failure(found.status, f"{path}, line {command.given.line}: {found.message}") from found
        advices.append(found)
    questions = sorted(merged.open_questions(advices).items())
    plans = [(commands[index], _plans(asked)) for index, asked in questions]
    results = adviser.judge(plans, max(0.0, begin + budget_seconds - clock())) if plans else []
    for (index, asked), (_, own), judged in zip(questions, plans, results, strict=True):
        advices[index] = _settle(advices[index], asked, own, judged)
    return merged.merge(program, [(c.given.line, c.given.arguments) for c in commands], advices)


def _plans(asked: Mapping[str, tuple[int, Row]]) -> dict[str, Plan]:
    """Returns the plans that are to be judged, by subsystem, each named after the input on which it paid."""
    return {name: of_file(row.plan, f"input {where + 1}, {name}") for name, (where, row) in asked.items() if row.plan}


def _settle(
    advice: Advice, asked: Mapping[str, tuple[int, Row]], plans: Mapping[str, Plan],
    judged: Mapping[str, JudgedPlan] | Failure,
) -> Advice:  # fmt: skip
    """Returns the advice on one input with the rows of `asked` updated by fresh rounds; with a note without any."""
    if isinstance(judged, Failure):
        return replace(advice, notes=(*advice.notes, f"plans of other inputs were not judged: {judged.message}"))
    rows = []
    for row in advice.subsystems:
        if row.name in judged:
            where, paying = asked[row.name]
            row = settled(row, judged[row.name], paying.best, plans[row.name], where + 1)  # noqa: PLW2901
        rows.append(row)
    return replace(advice, subsystems=tuple(rows))


@contextmanager
def _same_standard_input() -> Iterator[Callable[[], None]]:
    """Gives a file on standard input to every program from its current position, which it has again in the end; gives a
    stream to none of them.
    """
    try:
        regular = stat.S_ISREG(os.fstat(_STDIN).st_mode)
        place = os.lseek(_STDIN, 0, os.SEEK_CUR) if regular else 0
    except OSError:
        yield lambda: None
        return
    if regular:
        try:
            yield lambda: _rewind(place)
        finally:
            _rewind(place)
        return
    saved, nothing = os.dup(_STDIN), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    try:
        yield lambda: None
    finally:
        os.dup2(saved, _STDIN)
        os.close(saved)
        os.close(nothing)


def _rewind(place: int) -> None:
    os.lseek(_STDIN, place, os.SEEK_SET)


def judge_again(program: tuple[str, ...], plans: Mapping[str, Plan], options: Options) -> dict[str, JudgedPlan]:
    """Judges each plan on this input within the budget of `options`; returns results by the given names, or nothing if
    not even one round fits.

    The rounds are kept as a run of their own. Failure if the program cannot be run, or lacks a plan's subsystem.
    """
    seed = options.seed
    deadline = time.monotonic() + (options.budget_seconds or 0.0)
    with temporary_folder() as folder:
        laboratory = Laboratory(folder, program, StandardInput(folder), seed, options.preparation)
        started = time.monotonic()
        bare = laboratory.run_bare(control_cell(program, "bare"))
        laboratory.expected = (bare.exit_status, bare.signal)
        laboratory.limit_seconds = time_limit(time.monotonic() - started)
        if bare.signal:
            return {}
        laboratory.look_up(list(plans.values()))
        cells = {n: plan_cell(program, p) for n, p in plans.items()}
        controls = [control_cell(program, "bare"), control_cell(program, "looked_up")]
        outcomes = run_rounds(
            [*controls, *cells.values()],
            laboratory,
            ProgressReport(),
            RoundsRequest(stage=STAGE, rounds=VERDICT_ROUNDS, deadline=deadline, seed=seed, warm_up=False),
        )
    journal = Journal("advise", program, seed=seed)
    journal.add_outcomes(outcomes)
    Store(options.store).write(journal)
    compared: dict[str, dict[str, Comparison]] = {name: {} for name in plans}
    for metric in METRICS_COMPARED:
        family = {n: c for n, p in plans.items() if (c := compare_net(outcomes, program, p, metric)) is not None}
        for name, comparison in judge_family(family).items():
            compared[name][metric] = comparison
    return {
        name: JudgedPlan(
            compared[name], len({o.round for o in outcomes if o.cell == cell}),
            journal.evidence(STAGE, [*controls, cell], ("cpu_seconds", "peak_bytes")),
        )
        for name, cell in cells.items()
    }  # fmt: skip


def settled(row: Row, judged: JudgedPlan, strategy: str, plan: Plan, number: int) -> Row:
    """Returns a subsystem's row of one input, updated by fresh rounds of the plan that paid on input `number`."""
    cpu = judged.net.get("cpu_seconds")
    if cpu is None:
        return row
    return replace(
        row,
        best=strategy if judged.pays else NOTHING,
        plan=plan.file if judged.pays else None,
        saves_cpu_seconds=saved_by(cpu),
        saves_bytes=saved_by(judged.net.get("peak_bytes")),
        reason=f"the plan of input {number} on {plural(judged.rounds, 'fresh round')}: {effect_text(cpu)} CPU",
        evidence=(*row.evidence, *judged.evidence),
    )
