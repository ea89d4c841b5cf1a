# SPDX-License-Identifier: BSL-1.0
"""Predicts a program's misses, page faults and seconds on other mallocs, and counts the true ones under Cachegrind.

    program on glibc ──recorded──▶ calls, played on X ──▶ predicted misses and faults on X, predicted seconds
    program on X     ──Cachegrind──▶ misses and faults                     error = predicted / Cachegrind's - 1

For glibc itself the recording is made on our multipool. All runs of a program in one environment have their stacks at
the same address: the environment always has the same size, whatever is preloaded. Between environments the stack
moves, and changes the misses of small caches by more than the errors measured here; so each environment has an error
of its own.

Page faults are those of five memories that keep the pages used last. Their true number comes from Cachegrind, which
then simulates one set of lines of 4 KiB and looks at every way: it shares no code with our distances. They are counted
in the first environment only, because each count takes a run of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from millpond.rounds.capture_tools import (
    CacheShape,
    ToolFolder,
    cachegrind_misses,
    one_tool_folder,
    padding,
    run_under,
)
from millpond.rounds.layouts import Layout, Script, layout_of, simulate_recording, write_script
from millpond.rounds.real_program import RealProgram
from millpond.rounds.simulation_data import Simulation
from millpond.system.errors import Failure
from millpond.system.machine import this_machine

MALLOCS = ("glibc", "jemalloc", "mimalloc", "first_fit", "multipool")
RECORDED_ON, OTHER = "glibc", "multipool"  # the second serves for the first itself
CACHES = (CacheShape(16, 1, 32), CacheShape(64, 1, 32), CacheShape(32, 8, 64))
# A memory holds one in so many of the pages that the program touches.
MEMORY_SHARES = (2, 4, 8, 16, 32)
WORST_PERCENT, MEDIAN_PERCENT = 10.0, 2.0  # the bars: for the worst row, and for the median over rows
_DESCRIPTIONS = ("direct:line=32,size=16K/64K", "lru:line=64,sets=64,ways=8", "distances:line=4K")
_ALONE = "--trace-children=no"  # processes that the program starts have misses of their own


class Prediction(NamedTuple):
    """The misses of one cache, or the faults of one memory, in one environment."""

    predicted: int
    truth: int

    @property
    def error_percent(self) -> float:
        """The error as a share of the truth; 0 if both are 0."""
        return 100.0 * (self.predicted - self.truth) / max(self.truth, 1)


@dataclass
class ProgramPredictions:
    """All predictions for one program. `pages`: the pages that it touches on RECORDED_ON. `recorded_on`: by malloc.

    `seconds`: predicted from the recording on RECORDED_ON, by malloc. `why_not`: for a malloc without its counts, or
    with fewer than requested, the reason.
    """

    workload: RealProgram
    pages: int = 0
    counts: dict[str, dict[CacheShape, list[Prediction]]] = field(default_factory=dict)
    recorded_on: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)


def predict_program(
    workload: RealProgram,
    folder: Path,
    environments: int,
    *,
    mallocs: Sequence[str] = MALLOCS,
    latencies: Path | None = None,
    deadline: float = float("inf"),
) -> ProgramPredictions:
    """Predictions for each malloc and their truths, in that many environments; with 0, only seconds, of the first
    environment. Uses `folder`, and all processors of this process, an environment on each.

    `latencies`: measured by millpond-probe; without them no seconds are predicted. After `deadline`, in seconds of the
    monotonic clock, no malloc is begun, except the first one. Failure if the program cannot be recorded at all; a
    malloc that cannot be predicted has its reason in `why_not`.
    """
    found = ProgramPredictions(workload)
    layouts = _layouts(mallocs, found)
    tools = one_tool_folder(folder)
    options = ["--latencies", str(latencies)] if latencies is not None else []
    first = SizedEnvironment(workload, tools, 0, folder)
    as_recorded = first.simulate_recorded(layout_of(RECORDED_ON), options)
    found.pages = touched_pages(as_recorded)
    _keep_seconds(found, RECORDED_ON, as_recorded)
    caches = CACHES if environments else ()
    memories = memories_of(found.pages) if environments else ()
    work = _PredictionRun(found, layouts, caches, memories, options, deadline)

    def one(number: int) -> None:
        work.environment(SizedEnvironment(workload, tools, number, folder) if number else first)

    with ThreadPoolExecutor(max_workers=this_machine().cores) as pool:
        list(pool.map(one, range(max(1, environments))))
    for layout in layouts:
        each = max(map(len, found.counts.get(layout.name, {}).values()), default=0)
        if each < environments and layout.name not in found.why_not:
            found.why_not[layout.name] = f"{each} of {environments} environments: the budget is spent"
    return found


def _layouts(names: Sequence[str], found: ProgramPredictions) -> list[Layout]:
    layouts = []
    for name in names:
        try:
            layouts.append(layout_of(name))
        except Failure as failure:
            found.why_not[name] = failure.message
    return layouts


def _keep_seconds(found: ProgramPredictions, name: str, simulation: Simulation) -> None:
    if simulation.level_times:
        found.seconds[name] = simulation.level_times[0].value


@dataclass
class _PredictionRun:
    """The environments of one program, which may run in several threads at once."""

    found: ProgramPredictions
    layouts: Sequence[Layout]
    caches: tuple[CacheShape, ...]
    memories: tuple[CacheShape, ...]
    options: Sequence[str]
    deadline: float
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def environment(self, sized: SizedEnvironment) -> None:
        is_first = sized.number == 0
        for number, layout in enumerate(self.layouts):
            if (number or not is_first) and time.monotonic() > self.deadline:
                return
            if layout.name in self.found.why_not:
                continue
            try:
                self._malloc(sized, layout, self.memories if is_first else (), self.options if is_first else ())
            except Failure as failure:
                with self._lock:
                    self.found.why_not[layout.name] = failure.message

    def _malloc(
        self, sized: SizedEnvironment, layout: Layout, memories: tuple[CacheShape, ...], options: Sequence[str]
    ) -> None:
        recorded_on = layout_of(OTHER if layout.name == RECORDED_ON else RECORDED_ON)
        if not self.caches and recorded_on.name != RECORDED_ON:
            return  # its seconds are those of the recording itself
        simulation = sized.predict(recorded_on, layout, options)
        pairs = {
            cache: Prediction(misses_of(simulation, cache), sized.count(layout, cache))
            for cache in (*self.caches, *memories)
        }
        with self._lock:
            counts = self.found.counts.setdefault(layout.name, {})
            for cache, pair in pairs.items():
                counts.setdefault(cache, []).append(pair)
            self.found.recorded_on[layout.name] = recorded_on.name
            if recorded_on.name == RECORDED_ON:
                _keep_seconds(self.found, layout.name, simulation)


class SizedEnvironment:
    """One environment: a program runs in it on any malloc with its stack at the same address. Not thread-safe.

    A recording is made once for each malloc; recordings and played recordings lie below `folder`.
    """

    def __init__(self, workload: RealProgram, tools: ToolFolder, number: int, folder: Path) -> None:
        self.workload, self.tools, self.number = workload, tools, number
        self.folder = folder.resolve() / f"environment_{number}"
        self._recordings: dict[str, Path] = {}
        self._scripts: dict[str, Script] = {}

    def simulate_recorded(self, on: Layout, options: Sequence[str] = ()) -> Simulation:
        """The counts of the simulators on the recording itself."""
        recording = self._recording(on)
        return simulate_recording(recording, [*_rules(), *options], recording.parent)

    def predict(self, recorded_on: Layout, layout: Layout, options: Sequence[str] = ()) -> Simulation:
        """The prediction for a malloc from a recording on another one."""
        recording = self._recording(recorded_on)
        if recorded_on.name not in self._scripts:
            self._scripts[recorded_on.name] = write_script(recording, recording.parent)
        played = self._scripts[recorded_on.name].play(layout)
        try:
            return simulate_recording(recording, [*_rules(), *options, "--played", str(played)], recording.parent)
        finally:
            played.unlink(missing_ok=True)

    def count(self, layout: Layout, cache: CacheShape) -> int:
        """The misses that Cachegrind counts while the program runs on the malloc."""
        preload = {"LD_PRELOAD": str(layout.library)} if layout.library else {}
        return cachegrind_misses(self.workload, {**self._environment(layout), **preload}, cache, _ALONE)

    def _recording(self, on: Layout) -> Path:
        if on.name not in self._recordings:
            folder = self.folder / on.name
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.iterdir():
                old.unlink()
            trace = folder / "program.mpt"
            run_under(self.tools.capturing(trace, on.library), self.workload, self._environment(on))
            self._recordings[on.name] = trace
        return self._recordings[on.name]

    def _environment(self, layout: Layout) -> dict[str, str]:
        """Without LD_PRELOAD, which the capturing program sets itself."""
        tools = {"VALGRIND_LIB": str(self.tools.folder)}
        own = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **tools, **self.workload.environment}
        return {**own, **padding(layout.library, self.number)}


def _rules() -> list[str]:
    return [*(word for one in _DESCRIPTIONS for word in ("--simulate", one)), "--bytes-max", "32"]


def memories_of(pages: int) -> tuple[CacheShape, ...]:
    """The simulated memories for a program that touches that many pages, the largest first."""
    return tuple(dict.fromkeys(CacheShape.memory(max(1, pages // share)) for share in MEMORY_SHARES))


def touched_pages(simulation: Simulation) -> int:
    """The number of 4 KiB pages that a program touches."""
    return next(one.count("cold") for one in simulation.simulators if one.kind == "distances")


def misses_of(simulation: Simulation, cache: CacheShape) -> int:
    """The misses of a cache, or the faults of a memory, in a result of `predict`."""
    for simulator in simulation.simulators:
        if cache.is_memory and simulator.kind == "distances":
            hits = sum(references for distance, references in simulator.curve if distance < cache.ways)
            return simulator.count("references") - hits
        for row in simulator.metrics:
            shape = (row.cache_bytes, row.ways, row.line_bytes)
            if row.metric == "misses" and shape == (cache.kibibytes * 1024, cache.ways, cache.line_bytes):
                return row.value
    raise ValueError(f"{cache.name} was not simulated")
