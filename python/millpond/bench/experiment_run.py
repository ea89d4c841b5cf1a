# SPDX-License-Identifier: BSL-1.0
"""One run of one published experiment: its cells, what they need, its rounds, and what these amount to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from millpond.bench import window_counters
from millpond.bench.claim_rules import Verdict, judge_all
from millpond.bench.experiment import Experiment, Needs, Parameters, Part
from millpond.bench.experiment_rounds import ExperimentRunner, SuiteProgram, read_suite
from millpond.bench.result_table import Results, published_figures
from millpond.bench.results import SCHEMA
from millpond.bench.surroundings import Surroundings
from millpond.bench.window_counters import UNCOUNTED, Counting
from millpond.cells.cell import LITTER, SURROUNDINGS, Cell, Outcome
from millpond.rounds.grids import forecast, notes_on_rounds
from millpond.rounds.interleaved_rounds import Shard, Work, measured_rounds, run_rounds
from millpond.store.observations import Journal, Programs
from millpond.store.round_log import RoundLog, logged_anyway, subject_of
from millpond.store.store import Store
from millpond.system import callgrind
from millpond.system.clock import utc_now
from millpond.system.errors import Failure
from millpond.system.machine import this_machine
from millpond.system.machine_facts import memory_limit
from millpond.system.progress import ProgressReport
from millpond.system.wording import bytes_text, plural

STAGE = "bench"
# What the system and this process itself may have of the memory.
_SHARE_OF_MEMORY = 0.85


def cells_of(
    experiment: Experiment, scale: str, litter: str, more: Sequence[Parameters] = (),
    around: Sequence[Parameters] = ((),),
) -> list[Cell]:  # fmt: skip
    """The cells of a scale, each once. `more`: points that the user named. `around`: each cell once with each of them,
    in the place of what it has itself."""
    parts = [*experiment.parts[scale], *(Part((point,)) for point in more)]
    littered = ((LITTER, litter),) if litter else ()
    return list(dict.fromkeys(
        cell
        for part in parts
        for each in around
        for cell in experiment.cells(part, (*littered, *each), scale == "paper")
    ))  # fmt: skip


def memory_bytes() -> int:
    """What this machine, or the container around us, lets a process have."""
    whole = this_machine().memory_bytes
    return int(_SHARE_OF_MEMORY * min(whole, memory_limit() or whole))


@dataclass(frozen=True)
class Asked:
    """What the user asked of a run, the same for all experiments."""

    rounds: int
    seed: int
    shard: Shard
    store: Store | None
    counting: Counting = UNCOUNTED
    # Toolchains and mallocs that the user named: without one of them nothing is measured.
    named: frozenset[str] = frozenset()


class Run:
    """One experiment with the cells that were chosen of it."""

    def __init__(self, experiment: Experiment, cells: Sequence[Cell], asked: Asked, room_bytes: int) -> None:
        self.experiment = experiment
        self.cells = list(cells)
        self.left_out: list[str] = []  # what is not measured, each with the reason
        self.missing: dict[str, str] = {}  # toolchains and mallocs that are not here, each with the reason
        self._asked = asked
        self._programs: dict[Surroundings, SuiteProgram] = {}
        self._began = utc_now()
        self._room_bytes = room_bytes
        self.needs = {cell: experiment.needs(dict(cell.parameters), cell.contender.name) for cell in cells}
        self.refused = {cell: reason for cell in cells if (reason := _too_large(self.needs[cell], room_bytes))}

    @property
    def programs(self) -> list[SuiteProgram]:
        """What runs the cells: a program for each of their surroundings. Failure (status 4) where one is missing."""
        return [self._program(around) for around in dict.fromkeys(map(Surroundings.of, self.cells))]

    def built_by(self, cell: Cell) -> str | None:
        """The compiler and standard library of the program that runs a cell, as it says itself."""
        return self._program(Surroundings.of(cell)).built_by or None

    def _program(self, around: Surroundings) -> SuiteProgram:
        if around not in self._programs:
            self._programs[around] = read_suite(self.experiment.suite, self.experiment.aliases, around)
        return self._programs[around]

    def _identity(self, cell: Cell) -> str:
        return Surroundings.of(cell).identity(self.experiment.suite)

    @cached_property
    def journal(self) -> Journal:
        return Journal(
            self.experiment.name, ("millpond", "bench", self.experiment.name), metrics=self.experiment.metrics,
            seed=self._asked.seed,
            subject=subject_of([self.experiment.suite, *self._asked.counting.subject]),
            programs=Programs(self.built_by, cache(self._identity)),
        )  # fmt: skip

    def require(self) -> None:
        """Failure (status 4) where a program is missing or knows less than it should: before anything is measured.

        Effects: strategies that a program need not have, and has not, are left out; and so are cells of the experiment
        whose toolchain or malloc is not here, unless the user named it or nothing would be left.
        """
        by_around: dict[Surroundings, list[Cell]] = {}
        for cell in self.cells:
            by_around.setdefault(Surroundings.of(cell), []).append(cell)
        missing: list[Failure] = []
        kept: set[Cell] = set()
        for around, cells in by_around.items():
            try:
                kept |= self._required(self._program(around), cells)
            except Failure as failure:
                if not str(around) or {around.toolchain, around.malloc} & self._asked.named:
                    raise
                missing.append(failure)
                self.left_out.append(f"{plural(len(cells), 'cell')} under {around}: {failure}")
                self.missing |= dict.fromkeys(filter(None, (around.toolchain, around.malloc)), str(failure))
        if not kept and missing:
            raise missing[0]
        self.cells = [cell for cell in self.cells if cell in kept]
        if self._asked.counting.simulated:
            callgrind.find_valgrind()

    def _required(self, program: SuiteProgram, cells: Sequence[Cell]) -> set[Cell]:
        """The cells, but for strategies that the program need not have. Failure (status 4) for others that it lacks."""
        have = program.strategies.get(self.experiment.workload, frozenset[str]())
        lacks = [
            name for name in self.experiment.optional if name not in have and name in {c.contender.name for c in cells}
        ]
        by = f" by {program.around.toolchain}" if program.around.toolchain else ""
        self.left_out += [f"{name}: the suite's program was built{by} without it" for name in lacks]
        kept = [cell for cell in cells if cell.contender.name not in lacks]
        program.require(kept)
        return set(kept)

    def forecast(self) -> dict[str, Any]:
        """What is left to run, how long that takes, what memory it needs, what is refused. Writes nothing."""
        asked = self._asked
        log = RoundLog(asked.store, self.journal, resume=True) if asked.store else None
        work = Work.of(self.cells, stage=STAGE, rounds=asked.rounds, shard=asked.shard, memory=log)
        seconds = {cell: 0.0 if cell in self.refused else need.seconds for cell, need in self.needs.items()}
        grid = forecast(self.experiment.name, work, warm_up=False, source="what a machine of 2020 takes",
                        seconds_of=seconds.__getitem__)  # fmt: skip
        by_name = {cell.name: cell for cell in self.cells}
        for row in grid["cells"]:
            cell = by_name[row["name"]]
            row |= {"seconds": seconds[cell], "bytes": self.needs[cell].bytes, "refused": self.refused.get(cell)}
            row["runs"] = 0 if cell in self.refused else row["runs"]
        if asked.counting.simulated:
            self._add_simulated(grid, seconds, log)
        grid["runs"] = sum(row["runs"] + row.get("simulated_runs", 0) for row in grid["cells"])
        return {**grid, "bytes": max((n.bytes for c, n in self.needs.items() if c not in self.refused), default=0)}

    def _add_simulated(self, grid: dict[str, Any], seconds: Mapping[Cell, float], log: RoundLog | None) -> None:
        """Adds to a forecast the processes under callgrind: one more of each cell, and slow ones."""
        cells = [cell for cell in self.cells if cell not in self.refused]
        work = Work.of(cells, stage=window_counters.STAGE, rounds=1, shard=self._asked.shard, memory=log)
        more = forecast(self.experiment.name, work, warm_up=False, source="",
                        seconds_of=lambda cell: window_counters.SLOWDOWN * seconds[cell])  # fmt: skip
        left = {row["name"]: row["runs"] for row in more["cells"]}
        for row in grid["cells"]:
            row["simulated_runs"] = left.get(row["name"], 0)
        grid["stored_runs"] += more["stored_runs"]
        grid["estimated_seconds"] += more["estimated_seconds"]

    def measure(self) -> Found:
        """All rounds. With a store, rounds that an earlier run has left are not run again."""
        asked, seconds = self._asked, {cell: need.seconds for cell, need in self.needs.items()}
        runner = ExperimentRunner(self.experiment.suite, self.experiment.metrics, asked.seed, self.refused, seconds,
                                  self._room_bytes, counting=asked.counting)  # fmt: skip
        with logged_anyway(asked.store, self.journal) as log:
            outcomes = run_rounds(
                self.cells, runner, _Named(self.experiment.name), stage=STAGE, rounds=asked.rounds, seed=asked.seed,
                warm_up=False, memory=log, shard=asked.shard,
            )  # fmt: skip
            if asked.counting.simulated:
                outcomes += self._simulate(runner, outcomes, log)
        return Found(self, runner.without_other_work(outcomes), self._asked, self._began)

    def _simulate(self, runner: ExperimentRunner, outcomes: Sequence[Outcome], log: RoundLog) -> list[Outcome]:
        """One process more of each cell that ran, under callgrind. Deterministic: a round is enough."""
        failed = {outcome.cell for outcome in outcomes if outcome.status != "ok"}
        cells = [cell for cell in self.cells if cell not in failed]
        seconds = {cell: self.needs[cell].seconds for cell in cells}
        simulated = window_counters.SimulatedRunner({cell: runner.argv(cell) for cell in cells}, seconds)
        return run_rounds(
            cells, simulated, _Named(self.experiment.name), stage=window_counters.STAGE, rounds=1,
            seed=self._asked.seed, warm_up=False, memory=log, shard=self._asked.shard,
        )  # fmt: skip


class _Named(ProgressReport):
    """Progress under the experiment's name rather than the stage's."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def begin(self, what: str, total: int) -> None:
        super().begin(f"{self._name} {what}", total)


def _too_large(needs: Needs, room_bytes: int) -> str:
    if needs.bytes <= room_bytes:
        return ""
    return f"it needs {bytes_text(needs.bytes)} of memory, and there are {bytes_text(room_bytes)} to give"


@dataclass(frozen=True)
class Found:
    """What a run has found."""

    run: Run
    outcomes: list[Outcome]
    asked: Asked
    began: str

    @cached_property
    def results(self) -> Results:
        return Results(self.run.experiment, self.run.cells, self.outcomes, self.run.built_by)

    @cached_property
    def claims(self) -> list[Verdict]:
        experiment = self.run.experiment
        missing = {**self.run.missing, **dict(self._uncounted)}
        return judge_all(experiment, published_figures(experiment), self.results.figures(), missing)

    @cached_property
    def _uncounted(self) -> list[tuple[str, str]]:
        """Counters that are null somewhere, each with a reason, in words."""
        absent = {(name, why) for o in self.outcomes for name, why in o.absent.items()
                  if self.run.experiment.metrics.is_counter(name)}  # fmt: skip
        return [(name, f"{name} is null: {why}") for name, why in sorted(absent)]

    @property
    def notes(self) -> list[str]:
        """What a reader must know beside the figures."""
        ran = measured_rounds(self.outcomes)
        failed: dict[str, list[str]] = {}
        for cell, why in self.results.rounds.failed.items():
            failed.setdefault(why, []).append(cell.name)
        notes = [f"{names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {w}" for w, names in failed.items()]
        absent = [*dict.fromkeys(self.run.left_out)]
        absent += [words for _, words in self._uncounted]
        absent += window_counters.notes_on_turns(self.outcomes)
        return [
            *self.run.experiment.notes,
            *self._judged(),
            *absent,
            *notes_on_rounds(ran, ran, self.asked.shard),
            *notes,
        ]

    def _judged(self) -> list[str]:
        """Under what surroundings statements are judged that name none, where that is not a matter of course."""
        usual = [str(value) for name, value in self.run.experiment.usual if value != SURROUNDINGS[name]]
        return [f"statements that name no toolchain or malloc are judged under {', '.join(usual)}"] if usual else []

    def observations(self) -> list[dict[str, Any]]:
        """Every value behind the figures: of this run, and of the earlier ones whose rounds were taken over."""
        known = {key for cell in self.run.cells for key, _ in cell.parameters}
        return self.run.journal.rows_with_recalled(self.outcomes, self.began, known)


def document(found: Sequence[Found]) -> dict[str, Any]:
    """The benchmark schema, for one experiment or several."""
    return {
        **found[0].run.journal.head(SCHEMA),
        "seed": found[0].asked.seed,
        "experiments": [
            {"name": e.name, "title": e.title, "section": e.section, "measured": e.measured, "figure": e.figure.name,
             "baseline": e.baseline, "suite": one.run.programs[0].to_json(),
             "programs": [program.to_json() for program in one.run.programs], "run": one.run.journal.run,
             "rounds": measured_rounds(one.outcomes)}
            for one in found for e in [one.run.experiment]
        ],
        "peers": [],
        "notes": [note for one in found for note in one.notes],
        "bars": [],
        "claims": [claim.to_json() for one in found for claim in one.claims],
        "summary": [row for one in found for row in one.results.summary()],
        "observations": [row for one in found for row in one.observations()],
    }  # fmt: skip
