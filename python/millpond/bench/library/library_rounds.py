# SPDX-License-Identifier: BSL-1.0
"""One round of one cell of bench-library: a fresh process of the suite's program, and the values that it printed.

    env [LD_PRELOAD=…] millpond-library-suite --workload W --contender C --size N …  ──▶ one line of JSON ──▶ Outcome
    valgrind --tool=callgrind … --instructions N, and 3 N: half the difference over N ──▶ instructions of one unit

The environment has a new size in each round: the stack's position alone moves small caches. What tunes a malloc is
taken out of it, so that a default is a default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millpond.bench.experiment_rounds import values_of
from millpond.bench.library.grid import METRICS
from millpond.bench.library.library_contenders import COUNTED, Contender, clean_environment
from millpond.cells.cell import Cell, Outcome
from millpond.cells.checksums import Checksums
from millpond.rounds.fresh_process import Padding, killed
from millpond.system import callgrind, native
from millpond.system.errors import Failure, Status

POINT = ("size", "af", "sf", "threads", "seed", "units")
_PATIENCE_SECONDS = 120.0
# Instructions are the difference between two runs that differ in length alone.
_COUNTS = (1000, 3000)
# What the suite keeps out of line to be counted alone, with all that it calls, without the loop around it.
_COUNTED_FUNCTIONS = ("pair_type_binding", "pair_base_binding", "construct_empty_once", "counted_slot_pair")
_NOT_LOADED = "cannot be preloaded"


class SuiteRunner:
    """A runner for `interleaved_rounds.run_rounds`. Not thread-safe: the environment's size comes from one sequence."""

    def __init__(self, contenders: Mapping[str, Contender], seed: int) -> None:
        self._contenders = contenders
        self._padding = Padding(seed)
        self._checksums = Checksums()

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """One round. Failure where the program itself refuses; a contender that dies or runs on gives `killed`."""
        contender = self._contenders[cell.contender.name]
        if cell.subject.words[0] in COUNTED:
            return self._counted(cell, contender, stage, number)
        done = self._start(_argv(cell, contender), contender)
        if dead := killed(cell, stage, number, done, _PATIENCE_SECONDS):
            return dead
        printed = _result_of(done, contender)
        status = str(printed.get("status") or "ok")
        if status != "ok":
            return Outcome.failed(cell, stage, number, status, status)
        if printed.get("checksum") is not None:
            self._checksums.add(cell, str(printed["checksum"]))
        return Outcome(cell, stage, number, values_of(printed, METRICS))

    def without_other_work(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes, `killed` where a contender did not compute what most of those at the same point did."""
        return self._checksums.without_other_work(outcomes)

    def _start(self, argv: list[str], contender: Contender) -> native.Captured:
        environment = clean_environment({**dict(contender.environment), **self._padding.environment()})
        return native.capture(argv, environment, seconds=_PATIENCE_SECONDS)

    def _counted(self, cell: Cell, contender: Contender, stage: str, number: int) -> Outcome:
        valgrind = callgrind.command(f"*{function}*" for function in _COUNTED_FUNCTIONS)
        collected = []
        for count in _COUNTS:
            done = self._start([*valgrind, *_argv(cell, contender), "--instructions", str(count)], contender)
            found = callgrind.collected(done.said) if done.status == 0 else {}
            if not found:
                said = "it took too long" if done.timed_out else done.said.strip()[-300:]
                return Outcome.failed(cell, stage, number, "killed", f"instructions could not be counted: {said}")
            collected.append(found["Ir"])
        value = (collected[1] - collected[0]) / (_COUNTS[1] - _COUNTS[0])
        return Outcome(cell, stage, number, {"instructions": value})


def _argv(cell: Cell, contender: Contender) -> list[str]:
    program = str(native.find(contender.program))
    workload = COUNTED.get(cell.subject.words[0], cell.subject.words[0])
    options = [word for name, value in cell.parameters for word in (f"--{name}", value)]
    return [program, "--workload", workload, "--contender", contender.asked, *options, *contender.options]


def require_loadable(contenders: Iterable[Contender]) -> None:
    """Failure (status 4) that names the first library that cannot be preloaded: before anything is measured."""
    for contender in contenders:
        environment = dict(contender.environment)
        if "LD_PRELOAD" in environment:
            done = native.capture([str(native.find(contender.program)), "--list"], clean_environment(environment))
            _result_of(done, contender)


def _result_of(done: native.Captured, contender: Contender) -> dict[str, Any]:
    """What a round printed. Failure where it printed nothing of use, or ran on another malloc than it should have."""
    if _NOT_LOADED in done.said:
        said = done.said.strip()[-300:]
        raise Failure(Status.ENVIRONMENT, f"{contender.name}: {contender.path} cannot be preloaded: {said}")
    try:
        printed = json.loads(done.printed)
    except ValueError:
        printed = None
    if done.status != 0 or not isinstance(printed, dict):
        what = done.said.strip().removeprefix("millpond: ")[-500:] or "it printed no result"
        raise Failure(
            Status(done.status) if done.status in (2, 3, 4, 5) else Status.ENVIRONMENT,
            f"{contender.program} for {contender.name}: {what}",
        )
    return printed
