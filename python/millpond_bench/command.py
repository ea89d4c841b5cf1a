# SPDX-License-Identifier: BSL-1.0
"""`millpond-bench run EXPERIMENT…`: runs published experiments next to their figures, and our own against their bars.

    grid of cells ──▶ rounds, interleaved, a fresh process each ──▶ summary next to the paper's tables ──▶ JSON, page
                                                                ├─▶ the paper's statements, judged on both
                                                                └─▶ bars: status 1 if one is missed

Experiments are data (`suites/p0089.py` and others), and so are their statements (`suites/claims/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from millpond.cells.cell import Cell, Malloc
from millpond.cluster.cluster import Cluster, ClusterChoice, opened
from millpond.rounds.grids import GridOptions, listing, select, show_all
from millpond.rounds.interleaved_rounds import WHOLE
from millpond.store.store import Store
from millpond.system import output
from millpond.system.arguments import options_text
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.verbs.values import Output, places
from millpond_bench.bench_verbs import BenchRequest, ValidateRequest
from millpond_bench.experiments import surroundings
from millpond_bench.experiments.comparisons import ComparisonSpec
from millpond_bench.experiments.event_names import counting_of, show_events
from millpond_bench.experiments.experiment import ExperimentSpec, PublishedSpec, surrounded
from millpond_bench.experiments.experiment_data import ExperimentData, Parameters, points
from millpond_bench.experiments.given_libraries import split_mallocs
from millpond_bench.experiments.settings import values_set
from millpond_bench.experiments.window_counters import Counters
from millpond_bench.pages import kept_results
from millpond_bench.pages.result_places import Places
from millpond_bench.runs.capture_run import CaptureRun, CaptureSpec
from millpond_bench.runs.comparison_run import ComparisonRun
from millpond_bench.runs.experiment_run import ExperimentRun, RunRequest, memory_bytes
from millpond_bench.runs.published_run import PublishedRun, cells_of, counted_cells, judge_together
from millpond_bench.runs.steps_run import StepsRun, StepsSpec
from millpond_bench.suites.every_experiment import EXPERIMENTS, PUBLISHED

ALL, EVENTS = "all", "events"


def run(request: BenchRequest) -> int:
    """Runs experiments next to their published figures, or against our own bars. Exit status 1: a bar is missed."""
    if request.lists or request.lists_events:
        say("--list and --list-events are old words: write millpond-bench list")
        return list_cells(replace(request, experiments=(EVENTS,)) if request.lists_events else request)
    grid = GridOptions.given(False, request.dry_run, request.cells, request.shard)
    grid.require_store(request.store)
    if grid.dry_run:
        _show([one.forecast() for one in _runs(request, grid)], request.out)
        return Status.OK
    # Verdicts are kept only for the whole experiment on a fresh heap.
    options_given = None if request.cells or request.litter else options_text(
        {"--scale": request.scale, "--rounds": request.rounds, "--seed": request.seed, "--event": list(request.event),
         **_of_suites(request)})  # fmt: skip
    if places(request.out, "contribution") and (options_given is None or grid.shard != WHOLE):
        raise Failure(
            Status.USAGE,
            "a contribution has the verdicts of whole experiments on a fresh heap: leave out --cells, --litter and "
            "--shard, or the contribution",
        )
    with opened(ClusterChoice(request.cluster, request.workers)) as cluster:
        runs = _runs(request, grid, cluster)
        return _measure(runs, Places(request.out, [one.spec.name for one in runs]), request.store, options_given)


def list_cells(request: BenchRequest) -> int:
    """Lists the experiments; the cells of those that are named; or the events of this machine's processor."""
    if request.experiments == (EVENTS,):
        for place in _json_places(request.out):
            show_events(place)
        return Status.OK
    if not request.experiments:
        surroundings.chosen(toolchain=request.toolchain, malloc=request.malloc)
        sections = {e: f"section {e.section:3}  " if e.section else "" for e in EXPERIMENTS}
        print("\n".join(f"{e.name}  {sections[e]}{e.title}: {e.measured}" for e in EXPERIMENTS))
        return Status.OK
    grid = GridOptions.given(True, False, request.cells, request.shard)
    _show([listing(one.spec.name, one.cells) for one in _runs(request, grid)], request.out)
    return Status.OK


def validate(request: ValidateRequest) -> int:
    """Compares replay's predictions, or those from recorded references, with real programs, and stores the error."""
    from millpond_bench.accuracy.validation import validate_predictions, validate_replay

    has_references = "references" in request.extras
    if request.rounds == 0 and not has_references:
        raise Failure(Status.USAGE, "--rounds 0 needs --with references: validating replay takes at least one round")
    names = list(request.programs) or None
    json = next(iter(places(request.out, "json")), None)
    output.prove_writable(json)
    validation = validate_predictions if has_references else validate_replay
    choice = ClusterChoice(request.cluster, request.workers)
    return int(validation(names, request.rounds, request.budget, request.store, request.seed, json, choice))


def _show(grids: Sequence[dict[str, Any]], outputs: Sequence[Output]) -> None:
    for place in _json_places(outputs):
        show_all(grids, place)


def _json_places(outputs: Sequence[Output]) -> list[str | None]:
    """The places of JSON; a single None if no place gets it."""
    return [*places(outputs, "json")] or [None]


def _of_suites(request: BenchRequest) -> dict[str, Any]:
    """The options that apply to published experiments only."""
    return {
        "--litter": request.litter, "--counters": request.counters, "--event": list(request.event),
        "--perf-control": request.perf_control, "--toolchain": request.toolchain, "--malloc": request.malloc,
        "--set": list(request.settings),
    }  # fmt: skip


def _runs(request: BenchRequest, grid: GridOptions, cluster: Cluster | None = None) -> list[ExperimentRun]:
    """The runs of the named experiments, with their chosen cells. Failure (status 2) if the options do not fit."""
    names, libraries = split_mallocs(request.malloc)
    request = replace(request, malloc=names)
    around = surroundings.chosen(toolchain=request.toolchain, malloc=names)
    of_suites = _of_suites(request)
    google, contributed = places(request.out, "google"), places(request.out, "contribution")
    specs = drop_capture_experiments(named(request.experiments), of_suites)
    require_options(
        specs,
        {"--peer": list(request.peer), "--sizes": list(request.sizes)},
        {**of_suites, "-o google:FILE": google, "-o contribution:FILE": contributed},
    )
    require_malloc_suites(specs, libraries)
    around |= values_set(list(request.settings), specs)
    taken = {metric for spec in PUBLISHED for metric in spec.metrics.units}
    ways = Counters(request.counters) if request.counters else None
    counting = counting_of(ways, list(request.event), request.perf_control, taken)
    made = RunRequest(request.scale, request.rounds, request.seed, grid.shard,
                      Store(request.store) if request.store else None, memory_bytes(), counting,
                      frozenset(chain(*around.values())), cluster, request.workers, libraries)  # fmt: skip
    under = [surrounded(e, **around) if isinstance(e, PublishedSpec) else e for e in specs]
    published = [e for e in under if isinstance(e, PublishedSpec)]
    littered = f"{request.litter:g}" if request.litter else ""
    scale = request.scale
    chosen = chosen_cells(published, scale, littered, grid.filters, points(**around)) if published else []
    counted = {e.name: [] if grid.filters else counted_cells(e.data, scale, points(**around)) for e, _ in chosen}
    runs: list[ExperimentRun] = [_published_run(e, found, made, counted[e.name]) for e, found in chosen]
    own = [e for e in under if e not in published]
    return runs + [_own_run(e, made, grid.filters, request.peer, request.sizes) for e in own]


def _measure(runs: Sequence[ExperimentRun], writer: Places, store: Path | None, options_given: str | None) -> int:
    """Measures, prints, writes. Returns the exit status: 0 if every bar holds.

    An experiment is written as soon as it has run, with its own statements judged; and again when the statements of
    all experiments of the paper are judged together. `options_given`: the options of a run whose verdicts the store
    keeps; None if it keeps none.
    """

    def write_one(run: ExperimentRun) -> None:
        if store and options_given is not None and isinstance(run, PublishedRun):
            kept_results.keep(run, Store(store), options_given)
        writer.write_one(run)

    for run in runs:
        run.require()
    writer.prove_writable()
    for run in runs:
        with report_interruption(store):
            run.measure()
        if not writer.takes_stdout:
            run.show()
        write_one(run)
    for name, together in judge_together(runs).items():
        if not writer.takes_stdout and not all(run.figures_only for run in together):
            from millpond_bench.tables.terminal_table import print_together

            print_together(name, [claim for run in together for claim in run.claims])
        for run in together:
            write_one(run)
    writer.write_all(runs)
    writer.write_contributions(runs, options_given or "")
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


def require_malloc_suites(specs: Sequence[ExperimentSpec], libraries: Sequence[Malloc]) -> None:
    """Failure (status 2) for a malloc library where an experiment cannot run on it."""
    for spec in specs if libraries else ():
        if not (isinstance(spec, StepsSpec) and spec.malloc_suite):
            raise Failure(
                Status.USAGE,
                f"--malloc {libraries[0].name}=…: {spec.name} takes mallocs by name; NAME=FILE is for the experiment "
                "malloc (--peer NAME=FILE for library)",
            )


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
        raise Failure(Status.USAGE, f"no experiment is given: write millpond-bench run EXPERIMENT; {have}")
    for word in words:
        if word not in known and word != ALL and word not in documents:
            hint = f"; to name a file, write -o {word}" if word.endswith(".json") else ""
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
