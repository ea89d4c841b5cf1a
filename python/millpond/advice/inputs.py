# SPDX-License-Identifier: BSL-1.0
"""`advise --inputs FILE -- PROGRAM {}`: the program on each line's arguments, and what holds for all of them.

    small.txt            ─▶ advise ─▶ document 1 ─┐
    # a comment                                   ├─▶ one document: merged.merge
    -n 3 "large one.txt" ─▶ advise ─▶ document 2 ─┘

Each input is recorded, tried and judged by itself, with its share of the budget. What pays on one input and is not
settled on another is then judged there on fresh rounds, under the same plan.
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
from millpond.advice.advice_data import Advice, Row
from millpond.advice.rejudging import Judged, settled
from millpond.cells.plans import Plan, of_file
from millpond.system.errors import Failure, Status
from millpond.system.input_file import read_bytes, why_unreadable
from millpond.system.progress import say
from millpond.system.wording import plural

PLACE = "{}"
_STDIN = 0

# Advises on one command line within so many seconds; returns the advice.
Adviser = Callable[[tuple[str, ...], float], Advice]
# Judges plans, by subsystem, on one command line within so many seconds.
Judge = Callable[[tuple[str, ...], Mapping[str, Plan], float], Mapping[str, Judged]]

# How much of the budget the inputs' own advice may take; the rest settles what pays on some of them only.
FIRST_SHARE = 0.75


@dataclass(frozen=True)
class Input:
    """The arguments of one line of the file, and its number in it."""

    line: int
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        return shlex.join(self.arguments)


def read_inputs(path: Path) -> list[Input]:
    """The inputs of a file: a line of arguments each, as a shell splits them; blank lines and those with # are none.

    Failure (status 3) for a file that cannot be read or has no inputs, and for a line that is no list of words.
    """
    try:
        lines = read_bytes(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        advice = "a text file with a line of arguments for each input is needed"
        raise Failure(Status.INPUT, f"cannot read the inputs {path}: {why_unreadable(error)}; {advice}") from error
    if any("\0" in line for line in lines):
        raise Failure(Status.INPUT, f"the inputs {path} hold a zero character, which no argument can have")
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
        raise Failure(Status.INPUT, f"{path} has no inputs: a line of arguments each is needed")
    return found


def command_of(program: Sequence[str], given: Input) -> tuple[str, ...]:
    """The program's words with `{}` replaced: as a word of its own by all arguments, inside a word by the only one.

    Failure: 2 where the program has no `{}`; 3 where the line has several arguments and `{}` stands inside a word.
    """
    if not any(PLACE in word for word in program):
        words = shlex.join(program)
        raise Failure(Status.USAGE, f"--inputs needs {PLACE} where the arguments of a line belong: -- {words} {PLACE}")
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
                f"line {given.line} has {len(given.arguments)} arguments, and {word!r} has room for one: "
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
    """The advice for all inputs of `path` together; what fails names its line. Each has its share of what is left."""
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
    """The advice on one input with the rows of `asked` as fresh rounds have them; as it was where that fails."""
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
    """A file on standard input is given to every program from where it stands; what can be read once only, to none."""
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
