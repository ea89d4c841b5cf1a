# SPDX-License-Identifier: BSL-1.0
"""The table of the verbs of `millpond-bench`; each field of a request is an option with its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millpond.verbs import table
from millpond.verbs.option import Verb, flag, old, old_file, option, positional
from millpond.verbs.requests import CompletionRequest, ManRequest
from millpond.verbs.shared_options import (
    cluster_option,
    outputs,
    seed_option,
    shard_option,
    store_option,
    with_choices,
    workers_option,
)
from millpond.verbs.values import Output, count, number, one_of

SUMMARY = "Run published experiments on allocators next to their figures, and check Millpond against its own bars."
SCALES = {
    "quick": "minutes", "standard": "half an hour", "shape": "the paper's grid with less work per point",
    "paper": "the paper's own grid",
}  # fmt: skip


@dataclass(frozen=True)
class BenchRequest:
    """The request of `millpond-bench run`. `lists`, `lists_events`: words of an earlier version."""

    experiments: tuple[str, ...] = positional(
        "EXPERIMENT...", "One (p0089.1), all of a paper (p0089), library, laboratory, malloc, references, or all "
        "published ones (all).", is_repeated=True,
    )  # fmt: skip
    scale: str = option(
        "--scale", "SCALE", "The part of a grid that is run.", kind=one_of(list(SCALES)), default="standard",
        choices=SCALES,
    )  # fmt: skip
    out: tuple[Output, ...] = outputs(
        "Write the results (.json), a page (.html), every round as Google Benchmark JSON (.google.json), or the "
        "verdicts for other people (.contribution.json); may be repeated. Default: results/bench/NAME.json and "
        "NAME.html.",
        {".json": "json", ".html": "html", ".google.json": "google", ".contribution.json": "contribution"},
    )  # fmt: skip
    store: Path | None = option("--store", "DIR", "Store the observations of all rounds here.", kind=Path)
    cells: tuple[str, ...] = option(
        "--cells", "FILTER", "Only cells whose name matches, such as `vector_string/*`; may be repeated.",
        is_repeated=True,
    )  # fmt: skip
    dry_run: bool = flag("--dry-run", "Show the cells and their expected cost; store nothing.")
    rounds: int | None = option(
        "--rounds", "N", "Measured rounds of each cell, instead of the scale's.", kind=count(1), is_expert=True
    )
    litter: float | None = option(
        "--litter", "F", "Litter the heap first, and free this share of it.", kind=number(0.0, 1.0), is_expert=True
    )
    counters: str | None = option(
        "--counters", "simulated", "Also count instructions, loads, misses and stalled cycles; =simulated: once per "
        "cell, in callgrind.", kind=one_of(["measured", "simulated"]), implied="measured", is_expert=True,
    )  # fmt: skip
    event: tuple[str, ...] = option(
        "--event", "NAME", "Also count this event, e.g. MEM_LOAD_RETIRED:L3_MISS (`millpond-bench list events`); may "
        "be repeated.", is_repeated=True, is_expert=True,
    )  # fmt: skip
    perf_control: str | None = option(
        "--perf-control", "CTL,ACK", "Tell an outer `perf stat --control fd:CTL,ACK` when to count.", is_expert=True
    )
    toolchain: str | None = option(
        "--toolchain",
        "NAME,...",
        "Use programs built by gcc, clang or clang-libc++, or for aarch64 (qemu).",
        is_expert=True,
    )
    malloc: str | None = option(
        "--malloc",
        "NAME,...",
        "Run on these mallocs: glibc, jemalloc, mimalloc, tcmalloc, …; malloc: also run on NAME=FILE,….",
        is_expert=True,
    )
    peer: tuple[str, ...] = option(
        "--peer", "NAME=PATH", "library: add a peer: a malloc, or an adapter of an allocator class.", is_repeated=True,
        is_expert=True,
    )  # fmt: skip
    sizes: tuple[str, ...] = option(
        "--sizes", "WORKLOAD=N,N", "library: replace sizes, e.g. vector_string=5000,2^13.", is_repeated=True,
        is_expert=True,
    )  # fmt: skip
    settings: tuple[str, ...] = option(
        "--set", "NAME=V,V", "Set parameters that the paper leaves open.", is_repeated=True, is_expert=True
    )
    seed: int = seed_option()
    shard: str | None = shard_option()
    cluster: str | None = cluster_option()
    workers: int | None = workers_option()
    lists: bool = flag("--list", "", is_hidden=True)
    lists_events: bool = flag("--list-events", "", is_hidden=True)


@dataclass(frozen=True)
class BenchListRequest(BenchRequest):
    """The request of `millpond-bench list`."""


@dataclass(frozen=True)
class ValidateRequest:
    """The request of `millpond-bench validate`."""

    programs: tuple[str, ...] = positional(
        "[PROGRAM]...", "Only these programs; an unknown name prints the list. With references also any command line, "
        "in quotes.", is_repeated=True,
    )  # fmt: skip
    extras: tuple[str, ...] = with_choices(
        {"references": "instead compare predictions from recorded references with Cachegrind and the clock"},
        "Compare other predictions.",
    )
    out: tuple[Output, ...] = outputs("Write the errors as JSON.", {".json": "json"})
    rounds: int | None = option(
        "--rounds", "N", "Rounds of each contender. With references: the number of environment sizes (0: CPU only, "
        "without Cachegrind).", kind=count(0),
    )  # fmt: skip
    budget: float = option("--budget", "SECONDS", "Time for the whole validation.", kind=number(), default=1800.0)
    cluster: str | None = cluster_option()
    workers: int | None = workers_option()
    store: Path = store_option("The store that keeps the error.", is_expert=False)
    seed: int = seed_option("Seed for the order of the rounds.")


_OLD_FILES = (old_file("--report", "html", ".html"), old_file("--google", "google", ".google.json"))
_COMPARE, _ = table.find(["compare"]) or (table.ADVISE, [])

VERBS = (
    Verb(
        ("run",), BenchRequest, "millpond_bench.command:run",
        "Run experiments next to their published figures, or against our own bars.",
        (
            ("millpond-bench run p0089.1 --scale quick", "one experiment, in minutes"),
            ("millpond-bench run all --store results/store", "all published ones; continues where it was stopped"),
        ),
        _OLD_FILES, "Exit status 1: a bar is missed.",
    ),
    Verb(
        ("list",), BenchListRequest, "millpond_bench.command:list_cells",
        "List the experiments, the cells of experiments, or the events that --event accepts on this machine.",
        (
            ("millpond-bench list", "all experiments"),
            ("millpond-bench list p0089.1 --scale quick", "its cells"),
            ("millpond-bench list events", "the events of this machine's processor"),
        ),
        _OLD_FILES,
    ),
    Verb(
        ("compare",), _COMPARE.request, _COMPARE.function, "Compare two runs or stores of experiments, cell by cell.",
        (('millpond-bench compare old/store new/store --fail-if "seconds > +5%"', "status 1 if a cell got slower"),),
    ),
    Verb(
        ("validate",), ValidateRequest, "millpond_bench.command:validate",
        "Compare replay's predictions with real programs, and store the error.",
        (
            ("millpond-bench validate gawk perl", "two programs on every malloc of this machine"),
            ("millpond-bench validate --with references", "predictions of `millpond trace layout`"),
        ),
        (old("--references", "", lambda _: ("--with", "references")),),
    ),
    Verb(
        ("completion",), CompletionRequest, "millpond_bench.shells:completion", "Print the completion of a shell.",
        (("source <(millpond-bench completion bash)", "completes verbs and options"),), is_expert=True,
    ),
    Verb(
        ("man",), ManRequest, "millpond_bench.shells:man", "Write the man pages.",
        (("millpond-bench man ~/.local/share/man/man1", "then: man millpond-bench-run"),), is_expert=True,
    ),
)  # fmt: skip
