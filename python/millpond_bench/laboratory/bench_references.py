# SPDX-License-Identifier: BSL-1.0
"""The steps of `millpond-bench run references`: the costs and the accuracy of capturing and simulating data references.

    capturing    CPU of a discarded capture / CPU of `valgrind --tool=none`         at most 1.4
    together     CPU of a capture with the usual simulators / CPU of Cachegrind    at most 1.25, geometric mean 1.0
    stored       bytes of a recording / references in it                           at most 0.3; 0.6 for pointer chasing
    simulating   references per second of CPU, all usual simulators together       at least 40 million; each also by
    itself
    misses       misses of four caches / Cachegrind's, in the same environment     the same within one in a million
    memory       peak of a capture with simulators, four times as long / once      at most 1.05
    predicting   misses and page faults predicted for another malloc / Cachegrind's    within 10 %, in the median 2 %
    affinity     CPU, net, of the plan by subsystem and of affinity plans          with the predicted misses and time

Programs under different Valgrind tools take turns in fresh processes. Cachegrind also does other work: it simulates
instruction fetches and a second level, and counts by source line. For `misses`, both tools are in one folder, because
the names of Valgrind's libraries are in the program's environment and so move its stack.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.rounds.capture_tools import (
    CacheShape,
    cachegrind_misses,
    json_of,
    one_tool_folder,
    run_under,
    valgrind,
)
from millpond.rounds.layouts import CAPTURE, SIMULATE
from millpond.rounds.real_program import RealProgram
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system import native
from millpond.system.errors import Failure
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_affinity import comparing_affinity
from millpond_bench.laboratory.bench_layouts import predicting
from millpond_bench.laboratory.bench_rows import Bench, Measured, Step, observed, values_of
from millpond_bench.programs import captured_programs as programs
from millpond_bench.programs import real_programs

# Five direct-mapped caches, 56 set-associative ones, and every memory of 4 KiB pages: the default of millpond-simulate.
USUAL = ("direct:line=32,size=16K/32K/64K/128K/256K", "lru:line=32,sets=64-4096,ways=8", "distances:line=4K")
_CPU = {"cpu_seconds": "cpu_seconds"}
_IN_A_MILLION = 1.0

Program = Callable[[Path], RealProgram]


CACHES = (CacheShape(16, 1, 32), CacheShape(64, 1, 32), CacheShape(256, 1, 32), CacheShape(32, 8, 32))
_OF_CACHES = ("direct:line=32,size=16K/64K/256K", "lru:line=32,sets=128,ways=8")


def _capture(*options: str) -> list[str]:
    return [str(native.find(CAPTURE)), *options, "--"]


def _ratio(measured: Measured, of: str, against: str) -> Summary:
    pairs = zip(measured[of], measured[against], strict=True)
    return summarise([a.cpu_seconds / b.cpu_seconds for a, b in pairs])


def capturing(make: Callable[[Bench], RealProgram], limit: float) -> Step:
    """CPU of a capture whose references are dropped, against Valgrind without a tool."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench)
        measured = bench.interleave({
            "none": lambda: bench.run([*valgrind("none"), *workload.command], workload),
            "captured": lambda: bench.run([*_capture("--discard"), *workload.command], workload),
        })  # fmt: skip
        seconds = summarise([one.cpu_seconds for one in measured["none"]]).median
        name = f"capturing {workload.name}, discarded: CPU against no tool"
        return [
            bar_of(name, workload.name, "×", _ratio(measured, "captured", "none"), limit,
                   note=f"{seconds:.1f} s with no tool", outcomes=values_of(measured, _CPU))
        ]  # fmt: skip

    return step


def together(makers: Sequence[Program], limit: float, mean_limit: float) -> Step:
    """CPU of a capture with the usual simulators in the same process, against Cachegrind; and the geometric mean."""

    def step(bench: Bench) -> list[Verdict]:
        rows: list[Verdict] = []
        for make in makers:
            try:
                rows.append(_together(make(bench.inputs), bench, limit))
            except Failure as failure:
                rows.append(missing_bar("capturing and simulating together: CPU against Cachegrind", failure.message))
        medians = [bar.ours.median for bar in rows if bar.ours is not None]
        mean = statistics.geometric_mean(medians) if medians else None
        name = "capturing and simulating together: geometric mean over the programs"
        return [*rows, bar_of(name, "all programs", "×", mean, mean_limit, note=f"{len(medians)} programs")]

    return step


def _together(workload: RealProgram, bench: Bench, limit: float) -> Verdict:
    simulators = [word for description in USUAL for word in ("--simulate", description)]

    def simulated() -> Any:
        _remove(bench.trace)
        return bench.run([*_capture(*simulators, "-o", str(bench.trace)), *workload.command], workload)

    cachegrind = valgrind("cachegrind", "--cachegrind-out-file=/dev/null")
    measured = bench.interleave({
        "cachegrind": lambda: bench.run([*cachegrind, *workload.command], workload),
        "simulated": simulated,
    }, min(bench.rounds, 5))  # fmt: skip
    seconds = summarise([one.cpu_seconds for one in measured["cachegrind"]]).median
    return bar_of(
        f"capturing and simulating {workload.name} together: CPU against Cachegrind", workload.name, "×",
        _ratio(measured, "simulated", "cachegrind"), limit, note=f"Cachegrind {seconds:.1f} s",
        outcomes=values_of(measured, _CPU),
    )  # fmt: skip


def _remove(trace: Path) -> None:
    for old in trace.parent.glob(f"{trace.name}*"):
        old.unlink()


def _record(workload: RealProgram, bench: Bench, *options: str) -> None:
    _remove(bench.trace)
    bench.run([*_capture(*options, "-o", str(bench.trace)), *workload.command], workload)


def stored(make: Program, limit: float) -> Step:
    """Bytes that a finished recording takes for each reference."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench.inputs)
        _record(workload, bench)
        facts = json_of([str(native.find(CAPTURE)), "--summary", str(bench.trace)])
        value = observed("recorded", 1, "stored_bytes", facts["stored_bytes"], kind="counted")
        note = f"{facts['references'] / 1e6:.1f} M references, {facts['stored_bytes'] / 1e6:.2f} MB"
        return [bar_of(f"stored bytes a reference, {workload.name}", workload.name, "bytes",
                       facts["bytes_per_reference"], limit, note=note, outcomes=(value,))]  # fmt: skip

    return step


def simulating(make: Program | None, limit: float) -> Step:
    """References per second of each simulator and of all together, on a recording or on a synthetic stream."""

    def step(bench: Bench) -> list[Verdict]:
        of: tuple[str, ...] = ()
        name = "a made-up stream"
        if make is not None:
            workload = make(bench.inputs)
            _record(workload, bench)
            of, name = (str(bench.trace),), workload.name
        found = json_of([str(native.find(SIMULATE)), "--measure", "--json", "-", *of])
        return [_speed_row(speed, name, limit) for speed in found["speeds"]]

    return step


def _speed_row(speed: Mapping[str, Any], name: str, limit: float) -> Verdict:
    is_all = speed["simulator"] == "all together"
    figure = Summary(
        n=speed["rounds"], median=speed["value"] / 1e6, low=speed["low"] / 1e6, high=speed["high"] / 1e6, level=1.0,
        method="range",
    )  # fmt: skip
    value = observed(speed["simulator"], 1, "references_a_second", speed["value"])
    return bar_of(f"simulating {name}, {speed['simulator']}: references a second", name, "M/s", figure,
                  limit if is_all else None, at_least=is_all, outcomes=(value,))  # fmt: skip


def misses(make: Program) -> Step:
    """The misses of four caches counted by a capture, compared with Cachegrind's: same environment, same stack."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench.inputs)
        tools = one_tool_folder(bench.folder)
        _remove(bench.trace)
        simulators = [f"--simulate={description}" for description in _OF_CACHES]
        capture = tools.capturing(bench.trace, None, "--bytes-max=32", *simulators)
        run_under(capture, workload, _environment(workload, tools.folder))
        ours = json_of([str(native.find(SIMULATE)), "--json", "-", str(bench.trace)])
        return [_misses_row(workload, cache, ours, tools.folder) for cache in CACHES]

    return step


def _misses_row(workload: RealProgram, cache: CacheShape, ours: Mapping[str, Any], tools: Path) -> Verdict:
    found = {
        row["value"] for simulator in ours["simulators"] for row in simulator["metrics"]
        if row["metric"] == "misses" and (row["cache_bytes"], row["ways"]) == (cache.kibibytes * 1024, cache.ways)
    }  # fmt: skip
    counted = found.pop()
    environment = _environment(workload, tools)
    truth = cachegrind_misses(workload, environment, cache)
    references = ours["input"]["references"]
    values = tuple(
        observed(name, 1, "misses", float(value), kind="counted")
        for name, value in (("captured", counted), ("cachegrind", truth))
    )
    name = f"misses of {workload.name}, {cache.name}: distance from Cachegrind's"
    return bar_of(name, workload.name, "of a million references", 1e6 * abs(counted - truth) / references,
                  _IN_A_MILLION, note=f"{counted} and {truth} of {references}", outcomes=values)  # fmt: skip


def _environment(workload: RealProgram, tools: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "VALGRIND_LIB": str(tools), **workload.environment}


def memory(make: Callable[[int], RealProgram], events: int, limit: float) -> Step:
    """Peak memory of a capture with simulators inside, at four times the length of a run."""

    def step(bench: Bench) -> list[Verdict]:
        simulators = [word for description in USUAL for word in ("--simulate", description)]
        peaks: dict[str, int] = {}
        for name, times in (("once", 1), ("four times", 4)):
            workload = make(events * times)
            _remove(bench.trace)
            command = [*_capture(*simulators, "-o", str(bench.trace)), *workload.command]
            peaks[name] = bench.run(command, workload).peak_bytes
        values = tuple(observed(name, 1, "peak_bytes", float(peak)) for name, peak in peaks.items())
        note = ", ".join(f"{name} {peak / 1e6:.0f} MB" for name, peak in peaks.items())
        return [bar_of("memory of capture and simulators, a run four times as long / once", "heap_churn", "×",
                       peaks["four times"] / peaks["once"], limit, note=note, outcomes=values)]  # fmt: skip

    return step


def _capturing(make: Program, quick: Program) -> Step:
    return capturing(lambda bench: (quick if bench.quick else make)(bench.inputs), 1.4)


STEPS: dict[str, Step] = {
    "capturing gawk": _capturing(real_programs.gawk, programs.gawk_short),
    "capturing ghostscript": _capturing(real_programs.ghostscript, programs.ghostscript_short),
    "capturing ghostscript as pixels": _capturing(
        programs.ghostscript_pixels, lambda inputs: programs.ghostscript_pixels(inputs, 1)
    ),
    "capturing sqlite3": _capturing(real_programs.sqlite3, programs.sqlite3_short),
    "capturing orders": _capturing(programs.orders, programs.orders_short),
    "together": together(
        (programs.gawk_short, programs.ghostscript_short, programs.sqlite3_short, programs.orders_short,
         programs.sort_short, programs.od_short), 1.25, 1.0,
    ),
    "stored gawk": stored(programs.gawk_short, 0.3),
    "stored ghostscript": stored(programs.ghostscript_short, 0.3),
    "stored sqlite3": stored(programs.sqlite3_short, 0.3),
    "stored orders": stored(programs.orders_short, 0.6),
    "stored shuffled lists": stored(programs.shuffled_lists, 0.6),
    "simulating a made-up stream": simulating(None, 40.0),
    "simulating gawk": simulating(programs.gawk_short, 40.0),
    "simulating orders": simulating(programs.orders_short, 40.0),
    "misses sort": misses(programs.sort_short),
    "misses od": misses(programs.od_short),
    "misses sqlite3": misses(programs.sqlite3_short),
    "misses catalogue": misses(programs.catalogue_short),
    "misses ghostscript": misses(programs.ghostscript_short),
    **{f"predicting {name}": predicting(make) for name, make in programs.PREDICTED.items()},
    **{f"affinity {name}": comparing_affinity(make) for name, make in programs.AFFINE.items()},
    "memory": memory(lambda events: real_programs.heap_churn(1, events, 2000), 1_000_000, 1.05),
}  # fmt: skip
