# SPDX-License-Identifier: BSL-1.0
"""`millpond bench EXPERIMENT…`: runs published experiments next to their figures, and our own against their bars.

    grid of cells ──▶ rounds, interleaved, a fresh process each ──▶ summary next to the paper's tables ──▶ JSON, page
                                                                ├─▶ the paper's statements, judged on both
                                                                └─▶ bars: status 1 if one is missed

Experiments are data (`suites/p0089.py` and others), and so are their statements (`suites/claims/`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from millpond.cells.cell import Cell
from millpond.commands import options
from millpond.rounds.grids import GridOptions, listing, select, show_all
from millpond.rounds.mallocs import known_mallocs
from millpond.store.store import Store
from millpond.system import output
from millpond.system.arguments import STDOUT, options_text
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.progress import say
from millpond_bench import counter_options
from millpond_bench.experiments import surroundings
from millpond_bench.experiments.comparisons import ComparisonSpec
from millpond_bench.experiments.event_names import counting_of, show_events
from millpond_bench.experiments.experiment import ExperimentSpec, PublishedSpec, surrounded
from millpond_bench.experiments.experiment_data import ExperimentData, Parameters, points
from millpond_bench.experiments.settings import values_set
from millpond_bench.pages import kept_results
from millpond_bench.runs.capture_run import CaptureRun, CaptureSpec
from millpond_bench.runs.comparison_run import ComparisonRun
from millpond_bench.runs.experiment_run import PLACE, ExperimentRun, RunRequest, document, memory_bytes, write
from millpond_bench.runs.published_run import PublishedRun, cells_of, counted_cells, judge_together
from millpond_bench.runs.steps_run import StepsRun, StepsSpec
from millpond_bench.suites.every_experiment import EXPERIMENTS, PUBLISHED

ALL = "all"


ToolchainOption = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help=f"Use programs built by: {', '.join(surroundings.TOOLCHAINS)}."),
]
MallocOption = Annotated[
    str | None, typer.Option(metavar="NAME,...", help=f"Run on these mallocs: {', '.join(known_mallocs())}.")
]
PeerOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=PATH", help="library: add a peer: a malloc, or an adapter of an allocator class."),
]
SizesOption = Annotated[
    list[str] | None, typer.Option(metavar="WORKLOAD=N,N", help="library: replace sizes, e.g. vector_string=5000,2^13.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=V,V", help="Set parameters that the paper leaves open."),
]


class Scale(StrEnum):
    """The part of a grid that is run."""

    QUICK = "quick"
    STANDARD = "standard"
    SHAPE = "shape"
    PAPER = "paper"


def command(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT", help="One (p0089.1), all of a paper (p0089), library, or all published ones (all)."
        ),
    ] = None,
    scale: Annotated[
        Scale,
        typer.Option(
            help="quick: minutes; standard: half an hour; shape: the paper's grid with less work per point; "
            "paper: the paper's own grid."
        ),
    ] = Scale.STANDARD,
    rounds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Measured rounds of each cell, instead of the scale's.")
    ] = None,
    litter: Annotated[
        float | None,
        typer.Option(metavar="F", min=0.0, max=1.0, help="Litter the heap first, and free this share of it."),
    ] = None,
    counters: counter_options.CountersOption = None,
    event: counter_options.EventOption = None,
    perf_control: counter_options.PerfControlOption = None,
    list_events: counter_options.ListEventsOption = False,
    toolchain: ToolchainOption = None,
    malloc: MallocOption = None,
    peer: PeerOption = None,
    sizes: SizesOption = None,
    settings: SetOption = None,
    json: options.Json = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Page (default results/bench/NAME.html).")] = None,
    google: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write every round as Google Benchmark JSON.")
    ] = None,
    store: options.StoreOption = None,
    seed: options.SeedOption = 1,
    list_only: options.ListOption = False,
    dry_run: options.DryRunOption = False,
    cells: options.CellsOption = None,
    shard: options.ShardOption = None,
) -> int:
    """Run experiments next to their published figures, or against our own bars. Exit status 1: a bar is missed."""
    if list_events:
        show_events(json)
        return Status.OK
    grid = GridOptions.given(list_only, dry_run, cells, shard)
    grid.require_store(store)
    around = surroundings.chosen(toolchain=toolchain, malloc=malloc)
    if grid.list_only and not experiments:
        sections = {e: f"section {e.section:3}  " if e.section else "" for e in EXPERIMENTS}
        print("\n".join(f"{e.name}  {sections[e]}{e.title}: {e.measured}" for e in EXPERIMENTS))
        return Status.OK
    of_suites = {"--litter": litter, "--counters": counters, "--event": event, "--perf-control": perf_control,
                 "--toolchain": toolchain, "--malloc": malloc, "--set": settings}  # fmt: skip
    specs = drop_capture_experiments(named(experiments or []), of_suites)
    require_options(specs, {"--peer": peer, "--sizes": sizes}, {**of_suites, "--google": google})
    around |= values_set(settings or [], specs)
    taken = {metric for spec in PUBLISHED for metric in spec.metrics.units}
    counting = counting_of(counters, event or [], perf_control, taken)
    request = RunRequest(scale, rounds, seed, grid.shard, Store(store) if store else None, memory_bytes(), counting,
                         frozenset(chain(*around.values())))  # fmt: skip
    under = [surrounded(e, **around) if isinstance(e, PublishedSpec) else e for e in specs]
    published = [e for e in under if isinstance(e, PublishedSpec)]
    littered = f"{litter:g}" if litter else ""
    chosen = chosen_cells(published, scale, littered, grid.filters, points(**around)) if published else []
    counted = {e.name: [] if grid.filters else counted_cells(e.data, scale, points(**around)) for e, _ in chosen}
    runs: list[ExperimentRun] = [_published_run(e, found, request, counted[e.name]) for e, found in chosen]
    runs += [_own_run(e, request, grid.filters, peer or [], sizes or []) for e in under if e not in published]
    if grid.list_only:
        show_all([listing(run.spec.name, run.cells) for run in runs], json)
        return Status.OK
    if grid.dry_run:
        show_all([run.forecast() for run in runs], json)
        return Status.OK
    # Verdicts are kept only for the whole experiment on a fresh heap.
    options_given = None if cells or litter else options_text({"--scale": scale, "--rounds": rounds, "--seed": seed,
                                                               "--event": event, **of_suites})  # fmt: skip
    return _measure(runs, Places(json, report, google, [run.spec.name for run in runs]), json, store, options_given)


def _measure(
    runs: Sequence[ExperimentRun], places: Places, json: str | None, store: Path | None, options_given: str | None
) -> int:
    """Measures, prints, writes. Returns the exit status: 0 if every bar holds.

    An experiment is written as soon as it has run, with its own statements judged; and again when the statements of
    all experiments of the paper are judged together. `options_given`: the options of a run whose verdicts the store
    keeps; None if it keeps none.
    """

    def write_one(run: ExperimentRun) -> None:
        if store and options_given is not None and isinstance(run, PublishedRun):
            kept_results.keep(run, Store(store), options_given)
        places.write_one(run)

    for run in runs:
        run.require()
    places.prove_writable()
    for run in runs:
        with report_interruption(store):
            run.measure()
        if json != STDOUT:
            run.show()
        write_one(run)
    for name, together in judge_together(runs).items():
        if json != STDOUT and not all(run.figures_only for run in together):
            from millpond_bench.tables.terminal_table import print_together

            print_together(name, [claim for run in together for claim in run.claims])
        for run in together:
            write_one(run)
    places.write_all(runs)
    return Status.OK if all(run.holds for run in runs) else Status.GATE


def _published_run(spec: PublishedSpec, cells: list[Cell], request: RunRequest, counted: list[Cell]) -> PublishedRun:
    if isinstance(spec, CaptureSpec):
        return CaptureRun(spec, cells, request)
    return PublishedRun(spec, cells, request, counted)


def _own_run(
    spec: ExperimentSpec, request: RunRequest, filters: Sequence[str], peers: Sequence[str], sizes: Sequence[str]
) -> ExperimentRun:
    """A run of one of our own experiments. Failure (status 2) for a filter without a match."""
    if isinstance(spec, ComparisonSpec):
        run = ComparisonRun(spec, request, peers, sizes)
        run.cells = select(run.cells, filters)
        return run
    assert isinstance(spec, StepsSpec)
    return StepsRun(spec, select(spec.cells(request.scale), filters), request)


def require_options(
    specs: Sequence[ExperimentSpec], of_comparisons: Mapping[str, object], of_published: Mapping[str, object]
) -> None:
    """Failure (status 2) for an option that does not apply to an experiment."""
    for spec in specs:
        wrong: dict[str, object] = {}
        if not isinstance(spec, PublishedSpec):
            wrong |= of_published
        if not isinstance(spec, ComparisonSpec):
            wrong |= of_comparisons
        given = [name for name, value in wrong.items() if value not in (None, [])]
        if given:
            raise Failure(Status.USAGE, f"{given[0]} does not apply to {spec.name}")


def drop_capture_experiments(specs: Sequence[ExperimentSpec], given: Mapping[str, object]) -> list[ExperimentSpec]:
    """Drops the experiments on captures if an option is given that does not apply to them.

    Failure (status 2) if no experiment is left.
    """
    names = [name for name, value in given.items() if value not in (None, [])]
    kept = [spec for spec in specs if not (names and isinstance(spec, CaptureSpec))]
    if specs and not kept:
        raise Failure(Status.USAGE, f"{names[0]} does not apply to {specs[0].name}")
    return kept


@contextmanager
def report_interruption(store: Path | None) -> Iterator[None]:
    """Tells the user, if a signal stops the run, where the rounds so far are."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        say(f"stopped; the rounds so far are in {store}: the same command continues from there" if store else
            "stopped; no rounds were kept: with --store DIR the same command would continue")  # fmt: skip
        raise


def named(words: Sequence[str]) -> list[ExperimentSpec]:
    """The experiments with these names, in the paper's order. Failure (status 2) for an unknown name."""
    known, documents = {e.name: e for e in EXPERIMENTS}, {e.document for e in PUBLISHED}
    have = f"the experiments are {', '.join(known)}; a paper's name means all of its own, {ALL} all published ones"
    if not words:
        raise Failure(Status.USAGE, f"no experiment is given: use millpond bench EXPERIMENT; {have}")
    for word in words:
        if word not in known and word != ALL and word not in documents:
            hint = f"; to name a file, write --json={word}" if word.endswith(".json") else ""
            raise Failure(Status.USAGE, f"there is no experiment {word!r}; {have}{hint}")

    def is_meant(spec: ExperimentSpec, word: str) -> bool:
        # Our own experiments are not a paper's: `laboratory` means only the experiment of that name.
        of_document = bool(spec.source) and f"{spec.name}.".startswith(f"{word}.")
        return spec.name == word or of_document or (word == ALL and spec in PUBLISHED)

    return [spec for spec in EXPERIMENTS if any(is_meant(spec, word) for word in words)]


def chosen_cells(
    experiments: Sequence[PublishedSpec], scale: str, litter: str, filters: Sequence[str],
    around: Sequence[Parameters] = ((),),
) -> list[tuple[PublishedSpec, list[Cell]]]:  # fmt: skip
    """The cells of each experiment that match a filter; a point in the paper's notation is added if it is not there.

    `around`: each cell once in each of these environments, instead of its own. Failure (status 2) for a filter without
    a match. An experiment without a chosen cell is left out.
    """
    made: list[tuple[PublishedSpec, list[Cell]]] = []
    patterns = list(filters)
    for experiment in experiments:
        data, read = experiment.data, experiment.table.notation
        more = {text: point for text in filters if (point := read(text)) is not None}
        made.append((experiment, cells_of(data, scale, litter, list(more.values()), around)))
        patterns = [_pattern(data, more[t]) if t in more else _canonical(data, t) for t in patterns]
    wanted = set(select([cell for _, cells in made for cell in cells], patterns))
    return [(experiment, kept) for experiment, cells in made if (kept := [cell for cell in cells if cell in wanted])]


def _pattern(data: ExperimentData, point: Parameters) -> str:
    return "/".join([data.workload, *(f"{key}={value}" for key, value in point), "*"])


def _canonical(data: ExperimentData, text: str) -> str:
    """A filter that ends with an alias, such as `*/AS7`, with the strategy's name in its place."""
    before, slash, last = text.rpartition("/")
    return f"{before}/{data.canonical(last)}" if slash else text


class Places:
    """The paths of the results; by default below results/bench, a file for each experiment."""

    def __init__(self, json: str | None, report: Path | None, google: Path | None, names: Sequence[str]) -> None:
        self._json, self._report, self._google = json, report, google
        self._names = names

    def prove_writable(self) -> None:
        """Failure (status 4) if a path cannot be written: before hours of rounds, not after them."""
        for target in (self._json, *(str(path) if path else None for path in (self._report, self._google))):
            output.prove_writable(target)
        if self._json is None or self._report is None:
            try:
                PLACE.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise cannot_write(PLACE, error) from error
        endings = [ending for given, ending in ((self._json, "json"), (self._report, "html")) if given is None]
        for target in [str(PLACE / f"{name}.{ending}") for name in self._names for ending in endings]:
            output.prove_writable(target)

    def write_one(self, run: ExperimentRun) -> None:
        """Writes the files of one experiment as soon as it has run."""
        name = run.spec.name
        if self._json is None:
            write(document([run]), str(PLACE / f"{name}.json"))
        if self._report is None:
            self._write_page([run], PLACE / f"{name}.html")

    def write_all(self, runs: Sequence[ExperimentRun]) -> None:
        """Writes the files with names from the user: all experiments in one file."""
        if self._json is not None:
            write(document(runs), self._json)
        if self._report is not None:
            self._write_page(runs, self._report)
        if self._google is not None:
            from millpond_bench.pages import export_google

            output.write_json(export_google.document(runs), str(self._google))
        names = ", ".join(str(PLACE / f"{n}.json") for n in self._names) if self._json is None else self._json
        where = "standard output" if self._json == STDOUT else names
        sys.stdout.flush()
        say(f"all rounds are in {where}")

    @staticmethod
    def _write_page(runs: Sequence[ExperimentRun], path: Path) -> None:
        from millpond_bench.pages import experiment_page

        output.write_text(path, experiment_page.render(runs))
        say(f"the page is {path}")
