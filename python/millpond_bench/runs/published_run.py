# SPDX-License-Identifier: BSL-1.0
"""A run of a published experiment: cells in environments, counters, and claims on the paper's figures and ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

from millpond.cells.cell import LITTER, MALLOC, SURROUNDINGS, TOOLCHAIN, Cell, Outcome
from millpond.rounds.grids import forecast
from millpond.rounds.interleaved_rounds import RoundsRequest, Work, run_rounds
from millpond.store.round_log import RoundLog
from millpond.system import callgrind
from millpond.system.errors import Failure, Status
from millpond.system.progress import ProgressReport
from millpond.system.wording import bytes_text, plural
from millpond_bench.claims.claim_rules import judge_all, rests_on
from millpond_bench.claims.claims import Claim, Verdict, load
from millpond_bench.claims.verdicts import controlled
from millpond_bench.experiments import event_names, window_counters
from millpond_bench.experiments.bench_document import ExperimentRecord, PublishedRow
from millpond_bench.experiments.experiment import SCALES, PublishedSpec, at_scale
from millpond_bench.experiments.experiment_data import ExperimentData, Parameters, Part
from millpond_bench.experiments.platforms import PLATFORMS, platform_of
from millpond_bench.experiments.result_table import PublishedTable, published_table
from millpond_bench.experiments.run_rules import Needs
from millpond_bench.experiments.suite_rounds import Launch, SuiteProgram, SuiteRunner, read_suite, usual_launch
from millpond_bench.experiments.surroundings import Surroundings
from millpond_bench.experiments.window_counters import UNCOUNTED
from millpond_bench.runs.experiment_run import ExperimentRun, RunRequest, SuiteRun
from millpond_bench.runs.extra_runs import ExtraRun

_SIMULATED = ExtraRun(window_counters.STAGE, window_counters.SLOWDOWN, window_counters.SimulatedRunner)


def cells_of(
    data: ExperimentData, scale: str, litter: str, more: Sequence[Parameters] = (),
    around: Sequence[Parameters] = ((),),
) -> list[Cell]:  # fmt: skip
    """The cells of a scale, each once. `more`: points that the user named. `around`: each cell once in each of these
    environments, instead of its own.
    """
    parts = [*at_scale(data.parts, scale), *(Part((point,)) for point in more)]
    littered = ((LITTER, litter),) if litter else ()
    return list(dict.fromkeys(
        cell
        for part in parts
        for each in around
        for cell in data.cells(part, (*littered, *each), scale == "paper")
    ))  # fmt: skip


def counted_cells(data: ExperimentData, scale: str, around: Sequence[Parameters] = ((),)) -> list[Cell]:
    """The cells that every run of a scale simulates once, in each of these environments."""
    least = SCALES[: SCALES.index(scale) + 1]
    parts = [part for name in least for part in data.counted.get(name, ())]
    return [cell for part in parts for each in around for cell in data.cells(part, each)]


def statement_cells(spec: PublishedSpec, cells: Sequence[Cell]) -> list[Cell]:
    """The cells without those of a platform that no statement which can be tested there rests on."""
    needed: dict[str, tuple[ExperimentData, list[Claim]]] = {}
    for platform in dict.fromkeys(filter(None, map(platform_of, cells))):
        cannot = platform.untestable(spec)
        needed[platform.name] = (
            _judged_under(spec.data, {TOOLCHAIN: platform.name}),
            [c for c in load(spec.claims) if c.experiment == spec.name and c.metric not in cannot],
        )

    def is_needed(cell: Cell) -> bool:
        given = {**SURROUNDINGS, **dict(cell.parameters)}
        if given[TOOLCHAIN] not in needed:
            return True
        data, claims = needed[given[TOOLCHAIN]]
        if cell.contender.name in PLATFORMS[given[TOOLCHAIN]].ignored:
            return False
        return given[MALLOC] == SURROUNDINGS[MALLOC] and any(rests_on(claim, data, cell) for claim in claims)

    return list(filter(is_needed, cells))


def _judged_under(data: ExperimentData, around: Mapping[str, str]) -> ExperimentData:
    """The same, where statements that name no environment are about this one."""
    return replace(data, under={**data.under, **{name: (value,) for name, value in around.items()}})


class PublishedRun(SuiteRun):
    """One published experiment with its chosen cells. `counted`: cells that are only simulated.

    Of a platform, only cells run on which a statement rests, and nothing is simulated.
    """

    spec: PublishedSpec
    source = "measurements on a machine of 2020"

    def __init__(
        self, spec: PublishedSpec, cells: Sequence[Cell], request: RunRequest, counted: Sequence[Cell] = ()
    ) -> None:
        cells = statement_cells(spec, cells)
        super().__init__(spec, cells, request)
        self.counted = [cell for cell in counted if cell not in set(cells) and platform_of(cell) is None]
        self.left_out: list[str] = []  # cells that are not measured, each with the reason
        self.missing: dict[str, str] = {}  # absent toolchains and mallocs, each with the reason
        self._programs: dict[Surroundings, SuiteProgram] = {}
        every = [*cells, *self.counted]
        self.needs = {cell: spec.rules.needs(dict(cell.parameters), cell.contender.name) for cell in every}
        room = request.room_bytes
        self.refused = {cell: reason for cell in every if (reason := _too_large(self.needs[cell], room))}

    @property
    def programs(self) -> list[SuiteProgram]:
        """A program for each of the cells' environments. Failure (status 4) if one is missing."""
        return [self._program(around) for around in dict.fromkeys(map(Surroundings.of, self.cells))]

    @property
    def platforms(self) -> list[str]:
        """The platforms that the user named."""
        return [name for name in PLATFORMS if name in self.request.named]

    def rounds_of(self, cell: Cell) -> int:
        """One on a platform, where only counts are left, unless the user named a number."""
        return 1 if self.request.rounds is None and platform_of(cell) else super().rounds_of(cell)

    @property
    def fewest_rounds(self) -> int:
        return 0 if self.platforms and all(map(platform_of, self.cells)) else super().fewest_rounds

    def built_by(self, cell: Cell) -> str | None:
        return self._program(Surroundings.of(cell)).built_by or None

    def _program(self, around: Surroundings) -> SuiteProgram:
        if around not in self._programs:
            self._programs[around] = read_suite(self.spec.suite, self.spec.data.aliases, around)
        return self._programs[around]

    def launch(self, cell: Cell) -> Launch:
        rules, launch = self.spec.rules, usual_launch(cell)
        if launch.around.platform is not None:
            chosen = (rules.builds[name].get(value, "") for name, value in cell.parameters if name in rules.builds)
            launch = replace(launch, around=replace(launch.around, build="".join(chosen)))
        return replace(launch, memory_bytes=rules.memory_bytes, writable_bytes=rules.writable_bytes)

    def require(self) -> None:
        """Failure (status 4) if a program is missing or lacks something: before anything is measured.

        Effects: leaves out optional strategies that a program lacks, and cells whose toolchain or malloc is absent,
        unless the user named it or nothing would be left.
        """
        if self.request.counting != UNCOUNTED and self.platforms:
            raise Failure(Status.USAGE, f"counters do not apply to --toolchain {self.platforms[0]}")
        by_around: dict[Surroundings, list[Cell]] = {}
        for cell in self.cells:
            by_around.setdefault(Surroundings.of(cell), []).append(cell)
        missing: list[Failure] = []
        kept: set[Cell] = set()
        for around, cells in by_around.items():
            try:
                kept |= self._required(self._program(around), cells)
            except Failure as failure:
                if not str(around) or {around.toolchain, around.malloc} & self.request.named:
                    raise
                missing.append(failure)
                self.left_out.append(f"{plural(len(cells), 'cell')} under {around}: {failure}")
                self.missing |= dict.fromkeys(filter(None, (around.toolchain, around.malloc)), str(failure))
        if not kept and missing:
            raise missing[0]
        self.cells = [cell for cell in self.cells if cell in kept]
        here = {Surroundings.of(cell) for cell in self.cells}
        self.counted = [cell for cell in self.counted if Surroundings.of(cell) in here]
        try:
            callgrind.find_valgrind()
        except Failure as failure:
            if self.request.counting.simulated:
                raise
            if self.counted:
                self.missing |= dict.fromkeys(window_counters.SIMULATED, str(failure))
            self.counted = []

    def _required(self, program: SuiteProgram, cells: Sequence[Cell]) -> set[Cell]:
        """The cells, except optional strategies that the program lacks. Failure (status 4) for others that it lacks."""
        have = program.workload(self.spec.data.workload).contenders
        asked = {cell.contender.name for cell in cells}
        lacks = [name for name in self.spec.rules.optional if name not in have and name in asked]
        by = f" by {program.around.toolchain}" if program.around.toolchain else ""
        self.left_out += [
            f"{name}: the suite's program was built{by} without it{program.remedy(name)}" for name in lacks
        ]
        kept = [cell for cell in cells if cell.contender.name not in lacks]
        program.require(kept)
        return set(kept)

    def forecast(self) -> dict[str, Any]:
        """The forecast of any experiment, plus one slow process for each cell that runs under callgrind."""
        grid = super().forecast()
        for extra, cells in self._extra_runs(self.refused):
            work = Work.of(cells, stage=extra.stage, rounds=1, shard=self.request.shard,
                           memory=self.earlier_rounds())  # fmt: skip
            seconds = {cell: extra.slowdown * self.needs[cell].seconds for cell in cells}
            more = forecast(self.spec.name, work, warm_up=False, source="", seconds_of=seconds.__getitem__)
            left = {row["name"]: row["runs"] for row in more["cells"]}
            if extra is _SIMULATED and self.request.counting.simulated:
                for row in grid["cells"]:
                    row["simulated_runs"] = left.get(row["name"], 0)
            grid |= {key: grid[key] + more[key] for key in ("runs", "stored_runs", "estimated_seconds")}
        return grid

    def _extra_runs(self, without: Collection[Cell]) -> list[tuple[ExtraRun, list[Cell]]]:
        """The extra runs, each with its cells; only cells that run."""
        cells = [cell for cell in self.cells if cell not in without and platform_of(cell) is None]
        base = [cell for cell in cells if cell.contender.name == self.spec.data.baseline]
        counted = [cell for cell in self.counted if cell not in without]
        found = [(_SIMULATED, [*(cells if self.request.counting.simulated else ()), *counted])]
        found += [(one, [cell for cell in base if one.takes(cell)]) for one in self.spec.rules.extra_runs]
        return [(one, own) for one, own in found if own]

    def more_rounds(self, runner: SuiteRunner, outcomes: Sequence[Outcome], log: RoundLog) -> list[Outcome]:
        """One process more of each cell that ran, under callgrind, if asked; one of each cell that is only counted;
        and the extra runs. One round is enough.
        """
        failed = {outcome.cell for outcome in outcomes if outcome.status != "ok"}
        found: list[Outcome] = []
        for extra, cells in self._extra_runs(failed):
            seconds = {cell: self.needs[cell].seconds for cell in cells}
            more = extra.runner({cell: runner.argv(cell) for cell in cells}, seconds)
            found += run_rounds(
                cells,
                more,
                ProgressReport(),
                RoundsRequest(
                    stage=extra.stage, rounds=1, seed=self.request.seed, warm_up=False, shard=self.request.shard
                ),
                memory=log,
            )
        return found

    @cached_property
    def results(self) -> PublishedTable:
        return PublishedTable(self.spec, self.cells, self.outcomes, self.built_by, self.counted)

    @cached_property
    def claims(self) -> list[Verdict]:
        return self.claims_under(())

    def claims_under(self, around: Parameters) -> list[Verdict]:
        """The statements; those that name no toolchain or malloc are judged in the environment `around`."""
        spec = replace(self.spec, data=_judged_under(self.spec.data, dict(around)))
        platform = PLATFORMS.get(str(dict(spec.data.usual).get(TOOLCHAIN)))
        missing = {**self._uncountable, **self.missing, **dict(self._uncounted)}
        missing |= platform.untestable(spec) if platform else {}
        return judge_all(spec, published_table(spec), self.results.by_place(), missing, exact=platform is not None)

    @cached_property
    def _uncounted(self) -> list[tuple[str, str]]:
        """Counters that are null somewhere, although they were asked for or a simulator has them: each
        with a reason.
        """
        absent = {(name, why) for o in self.outcomes for name, why in o.absent.items()
                  if self.spec.metrics.is_counter(name)
                  and (o.cell not in self.counted or name in window_counters.SIMULATED)}  # fmt: skip
        return [(name, f"{name} is null: {why}") for name, why in sorted(absent)]

    @cached_property
    def _uncountable(self) -> dict[str, str]:
        """Counters that statements need, but that no simulator has and this machine cannot count."""
        wanted = {claim.metric for claim in load(self.spec.claims) if claim.experiment == self.spec.name}
        if not wanted & window_counters.NOT_SIMULATED.keys():
            return {}
        return {name: f"{name} cannot be counted: {why}" for name, why in event_names.unavailable().items()}

    @property
    def notes(self) -> list[str]:
        """Caveats for a reader of the figures."""
        own = len(self.spec.notes)
        usual = [str(value) for name, value in self.spec.data.usual if value != SURROUNDINGS.get(name, value)]
        judged = f"statements that name no toolchain or malloc are judged under {', '.join(usual)}"
        more = [judged] if usual else []
        more += dict.fromkeys(self.left_out)
        more += [words for _, words in self._uncounted]
        more += window_counters.notes_on_turns(self.outcomes)
        return [*self.spec.notes, *more, *super().notes[own:]]

    def summary(self) -> list[PublishedRow]:
        return self.results.summary()

    def print_results(self) -> None:
        from millpond_bench.tables.terminal_table import print_published

        print_published(self.results, self.claims, self.figures_only)

    def record(self) -> ExperimentRecord:
        return msgspec.structs.replace(
            super().record(), figure=self.spec.data.figure.name, baseline=self.spec.data.baseline
        )


def judge_together(runs: Sequence[ExperimentRun]) -> dict[str, list[PublishedRun]]:
    """Judges the statements of each file (those of a paper) together, if several of its experiments ran.

    Effects: their verdicts. Returns these experiments by the file's name.
    """
    by_file: dict[str, list[PublishedRun]] = {}
    for run in runs:
        if isinstance(run, PublishedRun) and run.claims:
            by_file.setdefault(run.spec.claims.removesuffix(".toml"), []).append(run)
    several = {name: own for name, own in by_file.items() if len(own) > 1}
    for own in several.values():
        both = [one for run in own for verdict in run.claims for one in (verdict, verdict.on_documents) if one]
        judged = iter(controlled(both))
        for run in own:
            run.claims = [
                replace(next(judged), on_documents=next(judged) if verdict.on_documents else None)
                for verdict in run.claims
            ]
    return several


def _too_large(needs: Needs, room_bytes: int) -> str:
    if needs.bytes <= room_bytes:
        return ""
    return f"it needs {bytes_text(needs.bytes)} of memory; {bytes_text(room_bytes)} are available"
