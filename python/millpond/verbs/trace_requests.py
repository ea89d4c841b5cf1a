# SPDX-License-Identifier: BSL-1.0
"""The requests of `millpond trace …`: each field is an option with its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from millpond.verbs.option import flag, option, positional, program
from millpond.verbs.shared_options import (
    budget_option,
    cells_option,
    cluster_option,
    damaged_flag,
    debug_dir_option,
    dry_run_flag,
    kept_option,
    outputs,
    rounds_option,
    seed_option,
    settings,
    shard_option,
    sysroot_option,
    with_choices,
    workers_option,
)
from millpond.verbs.values import Output, count, number, one_of, size


@dataclass(frozen=True)
class RecordRequest:
    """The request of `millpond trace record`."""

    becomes_program: ClassVar[bool] = True

    program: tuple[str, ...] = program()
    out: str | None = option(
        "-o", "FILE", "The trace to write; processes that PROGRAM starts write FILE.PID. Default: PROGRAM.mpt in this "
        "folder.",
    )  # fmt: skip
    extras: tuple[str, ...] = with_choices(
        {
            "owners": "registers and stack at allocations, to assign objects to instances of a type",
            "frees": "the call stack of each free, at about 10 ns a free, to show where blocks are freed",
            "references": "every data reference, under Valgrind (package valgrind): at least five times slower",
            "contexts": "walk the stack again at 1 event in 64, and report the number of contexts that differ",
            "system": "with --simulate: also count the memory accesses of system calls",
            "idle": "nothing before `millpond trace control PID start`; each stretch up to its stop is a trace of its "
            "own, FILE-1, FILE-2 and so on",
            "scan": "at the end of each process, which of the blocks that are left no pointer reaches (lost)",
        },
        "Also record this; idle: only this.",
    )
    attach: int | None = option(
        "--attach", "PID", "Record this process, which runs already, until --for or Ctrl-C; then it goes on as before.",
        kind=count(1),
    )  # fmt: skip
    duration: float | None = option(
        "--for", "SECONDS", "Stop the program after this time: SIGINT, 5 s later SIGTERM, 5 s later SIGKILL. With "
        "--attach: only end the recording.", kind=number(),
    )  # fmt: skip
    max_trace: int | None = option(
        "--max-trace", "SIZE", "Stop recording (not the program) when the trace has this size, such as 2GB.", kind=size
    )
    scope: tuple[str, ...] = option(
        "--scope", "FUNCTION", "Observe each activation of this function of the executable, at about 6 us; @FILE: of "
        "the functions in FILE, written by `millpond trace show -o FILE.scopes`. An arena is called legal only for "
        "observed functions. May be repeated.", is_repeated=True,
    )  # fmt: skip
    finish: str | None = option(
        "--finish", "FILE", "Complete a recording whose recorder was killed, whose disk was full, or whose program has "
        "left processes behind.", is_expert=True,
    )  # fmt: skip
    window: tuple[str, ...] = option(
        "--window", "WINDOW", "Of references, only capture scope=FUNCTION (all threads from its entry to its return), "
        "from=main, or instructions=FROM:TO (either may be empty). With --sample BYTES: last=10min keeps the last "
        "minutes only, and what was alive then.", is_repeated=True, is_expert=True,
    )  # fmt: skip
    sample: str | None = option(
        "--sample", "BYTES", "Choose one byte in BYTES, such as 512KiB, and record only the blocks that hold one, at "
        "10 instructions a call; `trace show` estimates the rest. With references: BURST/PERIOD instructions.",
        is_expert=True,
    )  # fmt: skip
    simulate: tuple[str, ...] = option(
        "--simulate", "DESCRIPTION", "Count misses while the program runs, and write only counts and heap events. "
        "`millpond trace simulate --help` explains the descriptions. May be repeated.", is_repeated=True,
        is_expert=True,
    )  # fmt: skip
    malloc: str | None = option(
        "--malloc", "LIBRARY", "With references: preload another malloc into the program.", is_expert=True
    )
    debug_dir: tuple[str, ...] = debug_dir_option()
    sysroot: str | None = sysroot_option()
    settings: tuple[tuple[str, Any], ...] = settings(
        "Change a detail.",
        {
            "mode": "permissions of the traces, in octal (600: only the owner can read their command lines)",
            "ahead": "map so many bytes of the trace at the start, and make no system call for it later: for programs "
            "that restrict their own system calls (seccomp) without the C library",
            "scope-entries": "stop observing a function after so many entries (1000000)",
            "access-bytes": "with --simulate: count an access of more bytes as one of so many",
        },
        {"mode": str, "ahead": str, "scope-entries": count(1), "access-bytes": count(0, 65535)},
    )


@dataclass(frozen=True)
class ControlRequest:
    """The request of `millpond trace control`."""

    process: int = positional(
        "PID", "The program's process number; `trace record --with idle` says it.", kind=count(1), is_required=True,
    )  # fmt: skip
    word: str = positional(
        "start|stop|snapshot|mark", "start: record; stop: write the trace and sleep; snapshot: write the trace and "
        "record a further one; mark: begin a phase.", kind=one_of(["start", "stop", "snapshot", "mark"]),
        is_required=True,
    )  # fmt: skip
    name: str | None = positional("[NAME]", "The phase that mark begins; '' ends the last one.")


@dataclass(frozen=True)
class ShowRequest:
    """The request of `millpond trace show`."""

    trace: Path = positional(
        "TRACE", "A trace; with --merge also a pattern in quotes, such as 'traces/*.mpt'.", kind=Path, is_required=True
    )
    others: tuple[Path, ...] = positional(
        "[SCOPES | TRACE...]", "A trace with observed functions (`trace record --scope`), to take legality from; with "
        "--merge, further traces.", kind=Path, is_repeated=True,
    )  # fmt: skip
    out: tuple[Output, ...] = outputs(
        "Write the figures (.json), a report (.html, .md), candidate plans (FOLDER/), or the functions that `trace "
        "record --scope @FILE` should observe (.scopes); with --merge, figures, a report, or a row for each process "
        "and subsystem (.parquet). May be repeated.",
        {".json": "json", "/": "plans", ".scopes": "scopes", ".parquet": "parquet", ".html": "html",
         ".md": "markdown"},
    )  # fmt: skip
    merge: bool = flag(
        "--merge", "Show many traces as one: for each build of a program, the sums over its processes, how the "
        "processes differ, and which lie far from the others.",
    )  # fmt: skip
    window: str | None = option(
        "--window", "WINDOW", "Measure D, V, U and C over a part: events=FROM:TO, seconds=FROM:TO or scope=FUNCTION "
        "(if observed). Default: each subsystem while its objects are live.",
    )  # fmt: skip
    simulate: str | None = option(
        "--simulate", "DESCRIPTION", "If the trace has references, simulate this cache: "
        "attributed:line=64,size=32K,ways=8.", is_expert=True,
    )  # fmt: skip
    debug_dir: tuple[str, ...] = debug_dir_option()
    sysroot: str | None = sysroot_option()
    cluster: str | None = cluster_option()
    workers: int | None = workers_option()
    damaged: bool = damaged_flag()

    @property
    def observed(self) -> Path | None:
        """The trace with observed functions; None without one."""
        return self.others[0] if self.others and not self.merge else None


# Kept equal to millpond.rounds.replay_rounds.STRATEGIES by a test.
STRATEGIES = ("multipool", "monotonic", "multipool(monotonic)")


@dataclass(frozen=True)
class ReplayRequest:
    """The request of `millpond trace replay`."""

    trace: Path = positional("TRACE", "A trace.", kind=Path, is_required=True)
    plan: tuple[Path, ...] = option("--plan", "FILE", "A plan; may be repeated.", kind=Path, is_repeated=True)
    strategy: tuple[str, ...] = option(
        "--strategy", "NAME", f"Try for each subsystem: {', '.join(STRATEGIES)}; may be repeated.", is_repeated=True
    )
    malloc: tuple[str, ...] = option(
        "--malloc", "LIBRARY", "A malloc library by its path, or jemalloc, mimalloc, tcmalloc; may be repeated.",
        is_repeated=True,
    )  # fmt: skip
    out: tuple[Output, ...] = outputs("Write the result as JSON.", {".json": "json"})
    rounds: int = rounds_option()
    order: str = option(
        "--order", "ORDER", "total: all threads in one; dependency: each in its own thread; paced: total, at the "
        "recorded times.", kind=one_of(["total", "dependency", "paced"]), default="total", is_expert=True,
        choices={"total": "all threads in one", "dependency": "each in its own thread", "paced": "at recorded times"},
    )  # fmt: skip
    diffusion: int = option(
        "--diffusion", "N", "Also examine the pages of live objects, N times.", kind=count(0, 1000), default=0,
        is_expert=True,
    )  # fmt: skip
    budget: float | None = budget_option(is_expert=True)
    store: Path | None = kept_option()
    seed: int = seed_option()
    dry_run: bool = dry_run_flag()
    cells: tuple[str, ...] = cells_option()
    shard: str | None = shard_option()
    cluster: str | None = cluster_option()
    workers: int | None = workers_option()
    damaged: bool = damaged_flag()


SIMULATORS = """\
A DESCRIPTION is one of these; default: five direct-mapped caches, 56 LRU caches and memories of all sizes:
  direct:line=32,size=16K/32K                direct-mapped caches of these sizes
  lru:line=32,sets=64-4096,ways=8            every LRU cache with these sets and 1 to 8 ways
  fifo|random:line=64,size=32K,ways=8        with write=around, a store that misses loads no line
  distances:line=64                          exact LRU stack distances: misses for every size
  sampled:line=64,one_in=100                 the same from a sample, with its error
  levels:line=64,size=32K/1M,ways=8/16,inclusion=inclusive|exclusive|independent
  tlb:page=4K,entries=64/1536,ways=4/12
  attributed:line=64,size=32K,ways=8         cold, capacity and conflict; program and allocator;
                                             split=no: twice as fast, with the last two as one
  contents:line=64,size=32K,ways=8           bytes last accessed by program or allocator"""


def _simulators() -> Any:
    text = "A simulator, described above; may be repeated."
    return option("--simulate", "DESCRIPTION", text, is_repeated=True)


def _latencies() -> Any:
    return option(
        "--latencies", "FILE", "Also estimate the time with all levels: instructions, hits of each level × its "
        "latency, and translation. FILE is from `millpond doctor -o FILE.json`; `measure` measures this machine now.",
    )  # fmt: skip


def _counted() -> Any:
    return with_choices(
        {
            "system": "the memory accesses of system calls",
            "straddles": "both lines of an access to two lines",
            "updates": "the load and the store of a read-modify-write",
        },
        "Also count this.", is_expert=True,
    )  # fmt: skip


def _times() -> Any:
    return settings(
        "Change a number.",
        {
            "penalty": "cost P of a miss in the time model I + (M × P) × D, in cycles (10,25,50,100,200)",
            "cpi": "with --latencies: cycles for each instruction (1)",
            "flush-references": "empty every cache after so many references",
            "flush-instructions": "empty every cache after so many instructions",
            "format": "the format of TRACE: automatic, recording, din, lackey",
        },
        dict.fromkeys(("penalty", "cpi", "flush-references", "flush-instructions", "format"), str),
    )


@dataclass(frozen=True)
class SimulateRequest:
    """The request of `millpond trace simulate`. `played`, `measures`: for tests and measurements."""

    @property
    def becomes_program(self) -> bool:
        """True if the native program replaces this process."""
        return not self.layouts and not any(one.form == "html" for one in self.out)

    traces: tuple[str, ...] = positional(
        "TRACE...", "A trace with references (`trace record --with references`), or text: Dinero's din or Valgrind's "
        "lackey; `-` is standard input. With -o FILE.html several, and JSON files of this verb.", is_repeated=True,
    )  # fmt: skip
    out: tuple[Output, ...] = outputs(
        "Write curves of misses by cache size and of page faults by memory size (.html), the counts (.json), or the "
        "references as din text (.din); may be repeated.",
        {".html": "html", ".json": "json", ".din": "din"},
    )  # fmt: skip
    simulate: tuple[str, ...] = _simulators()
    latencies: str | None = _latencies()
    extras: tuple[str, ...] = _counted()
    settings: tuple[tuple[str, str], ...] = _times()
    cluster: str | None = cluster_option()
    workers: int | None = workers_option()
    damaged: bool = damaged_flag()
    played: str | None = option("--played", "FILE", "Simulate a layout that was played before.", is_hidden=True)
    measures: bool = flag("--measure", "Measure how many references a second are handled.", is_hidden=True)
    layouts: tuple[str, ...] = option("--layout", "NAME", "Now `trace layout`.", is_repeated=True, is_hidden=True)


@dataclass(frozen=True)
class LayoutRequest:
    """The request of `millpond trace layout`."""

    trace: str = positional("TRACE", "A trace with references.", is_required=True)
    layouts: tuple[str, ...] = positional(
        "LAYOUT...", "An allocator: glibc, jemalloc, mimalloc, tcmalloc, tbb, one of ours (multipool, first_fit, "
        "quick_fit, size_map, …), per-subsystem (a pool for each), a plan (FILE.json), or a malloc library's path.",
        is_repeated=True, is_required=True,
    )  # fmt: skip
    out: tuple[Output, ...] = outputs(
        "Write curves of misses and page faults (.html) or the counts (.json); may be repeated.",
        {".html": "html", ".json": "json"},
    )
    simulate: tuple[str, ...] = _simulators()
    latencies: str | None = _latencies()
    extras: tuple[str, ...] = _counted()
    settings: tuple[tuple[str, str], ...] = _times()
    cluster: str | None = cluster_option()
    workers: int | None = workers_option()
    damaged: bool = damaged_flag()
