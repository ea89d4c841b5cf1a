# SPDX-License-Identifier: BSL-1.0
"""The costs of allocators in instructions, counted exactly, and in memory: figure 1 of Grunwald 1993.

    under callgrind         instructions in all, and those that lie in the allocator's library
    with MILLPOND_STATS=1   objects allocated and freed, and the size of the heap at the end, which is its largest

The paper's five allocators come first, then classes of bounded waste, classes chosen from another input of the program
(CUSTOMALLOC), these with an arena for short-lived call sites, and the C library. If i386 programs are available
(programs/grunwald1993_i386.py), the five, bounded waste and the C library are counted in these as well: built for 32
bits, with words of 4 bytes like the paper's. Nothing here is a time, so one run of each is exact, and they run on all
processors at once.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

from millpond.advice.synthesis import ArenaUse, Synthesis
from millpond.cells.cell import Malloc
from millpond.rounds.mallocs import OWN_MALLOC, preloaded
from millpond.rounds.real_program import RealProgram
from millpond.system import callgrind
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.machine import this_machine
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_advice import run_verb
from millpond_bench.laboratory.bench_mallocs import library_of
from millpond_bench.laboratory.bench_rows import Bench, Step, observed
from millpond_bench.programs import i386_programs
from millpond_bench.programs.allocator_statistics import statistics_in
from millpond_bench.programs.grunwald1993_programs import StudyProgram
from millpond_bench.tables import grunwald1993_tables

# The paper's allocators.
STUDIED = tuple(grunwald1993_tables.ALIASES.values())
CHOSEN, CHOSEN_ARENA = "synthesized", "synthesized_arena"
# Classes of bounded waste.
BOUNDED = "size_map"
# Closer pairs of the paper are not compared.
_CLEAR = 1.01


@dataclass(frozen=True)
class AllocatorCost:
    """The cost of one program on one allocator. `own`: instructions in the allocator's library; None for the C
    library's.

    `heap_bytes`, `allocated`, `freed`: None if the allocator does not report them.
    """

    instructions: int
    own: int | None
    heap_bytes: int | None
    allocated: int | None
    freed: int | None

    @property
    def share(self) -> float | None:
        return None if self.own is None else self.own / self.instructions


def costs(of: StudyProgram) -> Step:
    """The rows of one program: figure 1, the paper's order, and the result of chosen classes on another input."""

    def step(bench: Bench) -> list[Verdict]:
        program = of.measured(bench.inputs)
        chosen = _chosen_for(of, bench)
        mallocs = {name: library_of(name) for name in (*STUDIED, BOUNDED)}
        mallocs |= {malloc.name: malloc for malloc in (*chosen.mallocs, OWN_MALLOC)}
        found = _costs(program, mallocs.values(), bench)
        name = program.name
        rows = [_row(name, allocator, cost) for allocator, cost in found.items()]
        rows.append(_order(name, of.stands_for, found))
        five = [found[each] for each in STUDIED]
        least = min(each.instructions for each in five)
        leanest = min(each.heap_bytes or 0 for each in five)
        for malloc, source in ((CHOSEN, "classes chosen on another input"), (BOUNDED, "classes of bounded waste")):
            what = f"{name}: {source}, by the least of the five"
            # The paper's claim is about classes from measurements.
            limit = 1.0 if malloc == CHOSEN else None
            ours = found[malloc]
            rows.append(bar_of(f"{what}: instructions", name, "×", ours.instructions / least, limit))
            if ours.heap_bytes is not None:
                rows.append(bar_of(f"{what}: heap", name, "×", ours.heap_bytes / leanest, limit))
        what = f"{name}: classes chosen on another input, by"
        for malloc, other in ((OWN_MALLOC.name, "glibc"), (BOUNDED, "bounded waste")):
            ratio = found[CHOSEN].instructions / found[malloc].instructions
            rows.append(bar_of(f"{what} {other}: instructions", name, "×", ratio))
        return [*rows, *_arena_rows(name, found, chosen.arena)]

    return step


def i386_costs(programs: Mapping[str, StudyProgram], names: Sequence[str]) -> Step:
    """Figure 1 and the paper's order for i386 programs; one row with the reason if there are none."""

    def step(bench: Bench) -> list[Verdict]:
        try:
            i386_programs.require()
            mallocs = [*(i386_programs.library_of(name) for name in (*STUDIED, BOUNDED)), OWN_MALLOC]
        except Failure as failure:
            return [bar_of("i386 programs", "", "", None, note=f"not measured: {failure.message}")]
        rows: list[Verdict] = []
        for name in names:
            try:
                rows += _i386_rows(programs[name], mallocs, bench)
            except Failure as failure:
                rows.append(missing_bar(f"{name} i386", failure.message))
        return rows

    return step


def _i386_rows(of: StudyProgram, mallocs: Sequence[Malloc], bench: Bench) -> list[Verdict]:
    program = i386_programs.for_i386(of.measured(bench.inputs))
    package = i386_programs.package_of(program)
    found = _costs(program, mallocs, bench)
    rows = [_row(program.name, allocator, cost, package) for allocator, cost in found.items()]
    return [*rows, _order(program.name, of.stands_for, found)]


@dataclass(frozen=True)
class ChosenAllocators:
    """Allocators from a recording of the other input: classes, the same with an arena, and the accuracy of its call
    sites.
    """

    mallocs: tuple[Malloc, ...]
    arena: ArenaUse | None  # on the measured input; None: no call site is worth an arena


def _chosen_for(of: StudyProgram, bench: Bench) -> ChosenAllocators:
    """Builds allocators with classes chosen from a recording of the other input."""
    folder = bench.folder.resolve()
    bench.record(of.trained(bench.inputs))
    trained = folder / "trained.mpt"
    bench.trace.replace(trained)
    bench.record(of.measured(bench.inputs))
    made: list[Malloc] = []
    for name, options in ((CHOSEN, ()), (CHOSEN_ARENA, ("--with", "arena"))):
        header, library = folder / f"{name}.hpp", folder / f"lib{name}.so"
        for old in (header, library):
            old.unlink(missing_ok=True)
        told = folder / "chosen.json"
        run_verb(["synthesize", str(trained), "--on", str(bench.trace), "-o", str(header), "-o", f"malloc:{library}",
                  "-o", f"json:{told}", *options])  # fmt: skip
        found = Synthesis.from_json(json.loads(told.read_text(encoding="utf-8")))
        if found.has_arena or not options:
            made.append(Malloc(name, library))
    return ChosenAllocators(tuple(made), found.traces[-1].arena)


def _arena_rows(name: str, found: Mapping[str, AllocatorCost], arena: ArenaUse | None) -> list[Verdict]:
    """The effects of an arena for short-lived call sites, on an input that it was not made from."""
    if arena is None or CHOSEN_ARENA not in found:
        return []
    wrong = f"{100 * arena.predicted_share:.1f} % of all bytes are predicted, {arena.objects} objects"
    wrong += f"; pinned: {arena.most_pinned_bytes / 1024:.0f} KiB at most"
    ours, without = found[CHOSEN_ARENA], found[CHOSEN]
    rows = [
        bar_of(f"{name}: bytes predicted to be short-lived that were not", name, "%", 100 * arena.wrong_share,
               note=wrong),
        bar_of(f"{name}: an arena for short-lived sites, by none: instructions", name, "×",
               ours.instructions / without.instructions),
    ]  # fmt: skip
    if ours.heap_bytes and without.heap_bytes:
        what = f"{name}: an arena for short-lived sites, by none: heap"
        rows.append(bar_of(what, name, "×", ours.heap_bytes / without.heap_bytes))
    return rows


def _run(command: list[str], program: RealProgram, more: Mapping[str, str]) -> str:
    """The standard error of the program. Failure (4) if it does not end well."""
    with (program.stdin or Path(os.devnull)).open("rb") as stdin:
        done = subprocess.run(
            command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, cwd=program.folder,
            env={**user_environment(), **program.environment, **more},
        )  # fmt: skip
    said = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"{program.name} ended with {done.returncode}: {said.strip()[-300:]}")
    return said


def _costs(program: RealProgram, mallocs: Iterable[Malloc], bench: Bench) -> dict[str, AllocatorCost]:
    """The costs by the allocator's name."""
    mallocs = list(mallocs)
    with ThreadPoolExecutor(this_machine().cores) as pool:
        found = pool.map(lambda malloc: _cost(program, malloc, bench), mallocs)
        return {malloc.name: cost for malloc, cost in zip(mallocs, found, strict=True)}


def _cost(program: RealProgram, malloc: Malloc, bench: Bench) -> AllocatorCost:
    profile = bench.folder.resolve() / f"{malloc.name}.callgrind"
    preload = {} if malloc.path is None else {"LD_PRELOAD": str(malloc.path)}
    under = [callgrind.find_valgrind(), "-q", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    _run([*under, *program.command], program, preload)
    by_file = callgrind.instructions_by_file(profile)
    own = None if malloc.path is None else by_file.get(str(malloc.path), 0)
    if own == 0:
        raise Failure(Status.ENVIRONMENT, f"{program.name} did not run on {malloc.name}")
    said = _run(preloaded(program.command, malloc), program, {"MILLPOND_STATS": "1"})
    told = statistics_in(said)
    return AllocatorCost(sum(by_file.values()), own, told.heap_bytes, told.allocated, told.freed)


def _row(program: str, allocator: str, cost: AllocatorCost, package: str = "") -> Verdict:
    facts = [f"{cost.instructions / 1e6:.1f} M instructions in all"]
    if cost.heap_bytes is not None:
        facts.append(f"a heap of {cost.heap_bytes / 1024:.0f} KiB")
    if cost.allocated is not None:
        facts.append(f"{cost.allocated} objects allocated, {cost.freed} freed")
    if package:
        facts.append(f"Debian's i386 {package}")
    values = {"instructions": cost.instructions, "own_instructions": cost.own, "heap_bytes": cost.heap_bytes}
    outcomes = tuple(
        observed(allocator, 1, metric, float(value), kind="counted")
        for metric, value in values.items() if value is not None
    )  # fmt: skip
    figure = None if cost.share is None else 100 * cost.share
    return bar_of(f"{program} on {allocator}: share in allocation", program, "%", figure, note="; ".join(facts),
                  outcomes=outcomes)  # fmt: skip


def _order(program: str, stands_for: str, found: Mapping[str, AllocatorCost]) -> Verdict:
    """The share of the paper's pairs of allocators that have the same order here, by instructions in all."""
    published = _base_times(stands_for)
    swapped, clear = [], 0
    for one, other in combinations(STUDIED, 2):
        fast, slow = sorted((one, other), key=lambda each: published[each])
        if published[slow] < _CLEAR * published[fast]:
            continue
        clear += 1
        if found[fast].instructions >= found[slow].instructions:
            swapped.append(f"{fast} before {slow}")
    note = f"{clear} pairs of {stands_for} differ there by 1 % or more"
    note += f"; not here: {', '.join(swapped)}" if swapped else ""
    return bar_of(f"{program}: pairs in the document's order", program, "%", 100 * (1 - len(swapped) / max(1, clear)),
                  100, at_least=True, note=note)  # fmt: skip


@cache
def _base_times(program: str) -> dict[str, float]:
    """Seconds without cache misses from the paper's tables 4 and 5, which differ by rounding: their mean."""
    found: dict[str, list[float]] = {}
    for (name, allocator, _), (base, _) in grunwald1993_tables.times().items():
        if name == program:
            found.setdefault(allocator, []).append(base)
    return {allocator: sum(each) / len(each) for allocator, each in found.items()}
