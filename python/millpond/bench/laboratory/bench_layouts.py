# SPDX-License-Identifier: BSL-1.0
"""Steps of `millpond bench references`: misses predicted for another allocator, against Cachegrind on that allocator.

program on glibc ──recorded──▶ calls, played on X ──▶ predicted misses
program on X     ──Cachegrind──▶ misses                              error = predicted / Cachegrind's - 1

For glibc itself the recording is made on our multipool. All runs of a program in one environment have their stacks at
one place: the environment has as many bytes in each, whatever is preloaded. Over several environments the stack moves,
and with it the misses of small caches, by more than what is asked here; so each environment has an error of its own.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from millpond.bench.claims import Verdict, bar_of, missing_bar
from millpond.bench.laboratory.bench_rows import Bench, Step, observed
from millpond.bench.laboratory.capture_tools import (
    CAPTURE,
    SIMULATE,
    CacheShape,
    cachegrind_misses,
    json_of,
    one_tool_folder,
    run_under,
    valgrind,
)
from millpond.rounds.layouts import LAYOUT, Layout, layout_of
from millpond.rounds.real_programs import RealProgram
from millpond.statistics.order_statistics import summarise
from millpond.system import native
from millpond.system.errors import Failure

MALLOCS = ("glibc", "jemalloc", "mimalloc", "first_fit", "multipool")
RECORDED_ON, OTHER = "glibc", "multipool"  # the second for the first itself
_ENVIRONMENTS = {"quick": 1, "standard": 8}
_STEP_BYTES, _LEAST_BYTES = 528, 1200  # of the padding, from one environment to the next; so that it can be shortened
_WORST, _MEDIAN = 10.0, 2.0
_ALONE = "--trace-children=no"  # what a program starts has misses of its own


CACHES = (CacheShape(16, 1, 32), CacheShape(64, 1, 32), CacheShape(32, 8, 64))
_DESCRIPTIONS = ("direct:line=32,size=16K/64K", "lru:line=64,sets=64,ways=8")


class Prediction(NamedTuple):
    """Misses of one cache in one environment."""

    predicted: int
    truth: int

    @property
    def error_percent(self) -> float:
        return 100.0 * (self.predicted / self.truth - 1)


def predicting(make: Callable[[Path], RealProgram]) -> Step:
    """The errors of one program on every malloc, a row for each cache; and their median."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench.inputs)
        environments = _ENVIRONMENTS["quick" if bench.quick else "standard"]
        rows: list[Verdict] = []
        errors: list[float] = []
        for name in MALLOCS:
            try:
                found = _of_malloc(workload, layout_of(name), bench, environments)
            except Failure as failure:
                rows.append(missing_bar(f"misses predicted of {workload.name} on {name}", failure.message))
                continue
            for cache, predictions in found.items():
                rows.append(_row(workload, name, cache, predictions))
                errors.append(abs(statistics.median([one.error_percent for one in predictions])))
        middle = statistics.median(errors) if errors else None
        title = f"misses predicted of {workload.name}: median error over mallocs and caches"
        return [*rows, bar_of(title, workload.name, "%", middle, _MEDIAN, note=f"{len(errors)} rows")]

    return step


def _row(workload: RealProgram, malloc: str, cache: CacheShape, predictions: Sequence[Prediction]) -> Verdict:
    errors = [abs(one.error_percent) for one in predictions]
    truths = [one.truth for one in predictions]
    spread = 100.0 * (max(truths) - min(truths)) / (2 * statistics.median(truths))
    note = f"Cachegrind {statistics.median(truths):.0f}, over environments ± {spread:.1f} %"
    values = tuple(
        observed(kind, number, "misses", float(value), kind="counted")
        for number, one in enumerate(predictions, 1)
        for kind, value in (("predicted", one.predicted), ("cachegrind", one.truth))
    )
    title = f"misses predicted of {workload.name} on {malloc}, {cache.name}: error"
    return bar_of(title, workload.name, "%", summarise(errors), _WORST, note=note, outcomes=values)


def _of_malloc(
    workload: RealProgram, layout: Layout, bench: Bench, environments: int
) -> dict[CacheShape, list[Prediction]]:
    recorded_on = layout_of(OTHER if layout.name == RECORDED_ON else RECORDED_ON)
    tools = one_tool_folder(bench)

    def one(number: int) -> dict[CacheShape, Prediction]:
        place = bench.folder.resolve() / f"environment_{number}"
        place.mkdir(exist_ok=True)
        surroundings = _Surroundings(workload, tools, _LEAST_BYTES + number * _STEP_BYTES, place)
        predicted = surroundings.predict(recorded_on, layout)
        truths = {cache: surroundings.cachegrind(layout, cache) for cache in CACHES}
        return {cache: Prediction(predicted[cache], truths[cache]) for cache in CACHES}

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(one, range(environments)))
    return {cache: [each[cache] for each in found] for cache in CACHES}


class _Surroundings:
    """One environment: a program runs in it on any malloc with its stack at the same place. Files go to `folder`."""

    def __init__(self, workload: RealProgram, tools: Path, padding_bytes: int, folder: Path) -> None:
        self.workload, self.tools, self.padding_bytes, self.folder = workload, tools, padding_bytes, folder

    def _environment(self, layout: Layout) -> dict[str, str]:
        preloaded = str(layout.library) if layout.library else ""
        # Valgrind puts a library of its own in front of it, behind a colon.
        padding = self.padding_bytes - (len(preloaded) + 1 if preloaded else 0)
        own = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "VALGRIND_LIB": str(self.tools), **self.workload.environment}
        return {**own, "MILLPOND_PAD": "x" * padding, **({"LD_PRELOAD": preloaded} if preloaded else {})}

    def predict(self, recorded_on: Layout, layout: Layout) -> dict[CacheShape, int]:
        """The misses of each cache, from a recording on one malloc, for another."""
        trace, script, played = (self.folder / name for name in ("program.mpt", "calls.script", "calls.played"))
        for old in self.folder.iterdir():
            old.unlink()
        capture = valgrind("millpond", _ALONE, f"--output={trace}.partial", "--recording=1")
        run_under(capture, self.workload, self._environment(recorded_on))
        native.require(CAPTURE, ["--finish", str(trace)])
        said = json_of([str(native.find(LAYOUT)), "--calls", str(trace), "-o", str(script)])
        preload = ["--preload", str(layout.library)] if layout.library else []
        native.require(CAPTURE, ["-o", str(played), *preload, "--play", str(script), "--", said["executable"]])
        named = [word for description in _DESCRIPTIONS for word in ("--simulate", description)]
        rules = ["--bytes-max", "32", "--json", "-", "--played", str(played)]
        return _misses(json_of([str(native.find(SIMULATE)), *named, *rules, str(trace)]))

    def cachegrind(self, layout: Layout, cache: CacheShape) -> int:
        """The misses that Cachegrind counts while the program runs on the malloc."""
        return cachegrind_misses(self.workload, self._environment(layout), cache, _ALONE)


def _misses(document: dict[str, Any]) -> dict[CacheShape, int]:
    rows = [row for simulator in document["simulators"] for row in simulator["metrics"] if row["metric"] == "misses"]
    by_shape = {(row["cache_bytes"] // 1024, row["ways"], row["line_bytes"]): row["value"] for row in rows}
    return {cache: by_shape[cache.kibibytes, cache.ways, cache.line_bytes] for cache in CACHES}
