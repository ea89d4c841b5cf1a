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
from pathlib import Path

from msgspec.structs import replace

from millpond.advice import merged
from millpond.advice.advice_data import NOTHING, Advice, Row
from millpond.advice.document import saved_by
from millpond.advice.effects import METRICS_COMPARED, compare_net, control_cell, plan_cell, saves_memory, saves_time
from millpond.cells.plans import Plan, of_file
from millpond.rounds.interleaved_rounds import RoundsRequest, run_rounds
from millpond.rounds.preparation import NO_PREPARATION, Preparation
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


def advise_on_inputs(
    program: tuple[str, ...],
    path: Path,
    budget_seconds: float,
    advise: Adviser,
    judge: Judge,
    clock: Callable[[], float] = time.monotonic,
) -> Advice:
    """Returns the advice for all inputs of `path` together. Each input has its share of the remaining time. A Failure
    names its line.
    """
    inputs = read_inputs(path)
    commands = [command_of(program, given) for given in inputs]
    begin = clock()
    first = begin + budget_seconds * (FIRST_SHARE if len(inputs) > 1 else 1.0)
    advices = []
    with _same_standard_input() as again:
        for number, (given, command) in enumerate(zip(inputs, commands, strict=True)):
            say(f"input {number + 1} of {len(inputs)}: {given.text}")
            again()
            share = max(0.0, first - clock()) / (len(inputs) - number)
            try:
                advices.append(advise(command, share))
            except Failure as failure:
                raise Failure(failure.status, f"{path}, line {given.line}: {failure.message}") from failure
        questions = merged.open_questions(advices)
        for number, (index, asked) in enumerate(sorted(questions.items())):
            say(f"judging {plural(len(asked), 'plan')} of other inputs on input {index + 1}")
            again()
            share = max(0.0, begin + budget_seconds - clock()) / (len(questions) - number)
            advices[index] = _settle(advices[index], asked, commands[index], share, judge)
    return merged.merge(program, [(given.line, given.arguments) for given in inputs], advices)


def _settle(
    advice: Advice, asked: Mapping[str, tuple[int, Row]], command: tuple[str, ...], seconds: float, judge: Judge
) -> Advice:
    """Returns the advice on one input with the rows of `asked` updated by fresh rounds; unchanged if that fails."""
    plans = {name: of_file(row.plan, f"input {where + 1}, {name}") for name, (where, row) in asked.items() if row.plan}
    try:
        judged = judge(command, plans, seconds)
    except Failure as failure:
        notes = (*advice.notes, f"plans of other inputs were not judged: {failure.message}")
        return replace(advice, notes=notes)
    rows = []
    for row in advice.subsystems:
        if row.name in judged:
            where, paying = asked[row.name]
            row = settled(row, judged[row.name], paying.best, plans[row.name], where + 1)  # noqa: PLW2901
        rows.append(row)
    return replace(advice, subsystems=tuple(rows))


@contextmanager
def _same_standard_input() -> Iterator[Callable[[], None]]:
    """Gives a file on standard input to every program from its current position; gives a stream to none of them."""
    try:
        regular = stat.S_ISREG(os.fstat(_STDIN).st_mode)
        place = os.lseek(_STDIN, 0, os.SEEK_CUR) if regular else 0
    except OSError:
        yield lambda: None
        return
    if regular:
        yield lambda: _rewind(place)
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


def judge_again(
    program: tuple[str, ...], plans: Mapping[str, Plan], seconds: float, store: Store, seed: int,
    preparation: Preparation = NO_PREPARATION,
) -> dict[str, JudgedPlan]:  # fmt: skip
    """Judges each plan on this input; returns results by the given names, or nothing if not even one round fits.

    The rounds are kept as a run of their own. Failure if the program cannot be run, or lacks a plan's subsystem.
    """
    deadline = time.monotonic() + seconds
    with temporary_folder() as folder:
        laboratory = Laboratory(folder, program, StandardInput(folder), seed, preparation)
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
    store.write(journal)
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
