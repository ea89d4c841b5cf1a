# SPDX-License-Identifier: BSL-1.0
"""The requests of the verbs that start from a program or a store: each field is an option with its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from millpond.verbs.option import flag, option, positional, program
from millpond.verbs.shared_options import (
    VERDICT_ROUNDS,
    budget_option,
    cells_option,
    cluster_option,
    copy_flag,
    damaged_flag,
    debug_dir_option,
    dry_run_flag,
    kept_option,
    outputs,
    prepare_option,
    rounds_option,
    seed_option,
    settings,
    shard_option,
    store_option,
    sysroot_option,
    verbose_option,
    with_choices,
    workers_option,
)
from millpond.verbs.values import Output, count, integer, number, one_of, size


@dataclass(frozen=True)
class AdviseRequest:
    """The request of `millpond advise`."""

    program: tuple[str, ...] = program()
    out: tuple[Output, ...] = outputs(
        "Write the report: .html, .json, .md or .txt; may be repeated.",
        {".html": "html", ".json": "json", ".md": "markdown", ".txt": "text"},
    )
    budget: float | None = budget_option(
        "Time for the whole job. Default: as much as a verdict needs, at most ten minutes."
    )
    prefer: str = option(
        "--prefer", "GOAL", "The goal; balanced: 1 % of CPU weighs as much as 1 % of peak memory.",
        kind=one_of(["balanced", "cpu", "memory"]), default="balanced",
        choices={"balanced": "the default", "cpu": "the fastest", "memory": "the leanest"},
    )  # fmt: skip
    is_verbose: bool = verbose_option()
    load: str | None = option(
        "--load", "COMMAND", "PROGRAM is a server; in each run COMMAND drives it, and ends. The verdict is on "
        "throughput.", is_expert=True,
    )  # fmt: skip
    rate: str | None = option(
        "--rate", "REGEX", "With --load: finds the rate that the load or the server prints, with one group for the "
        "number, and groups p50 and p99 for latencies. Default: the time of the load.", is_expert=True,
    )  # fmt: skip
    write: Path | None = option(
        "--write", "DIR", "Also write the advised change to a new folder: a header, a note and a test.", kind=Path
    )
    inputs: Path | None = option(
        "--inputs", "FILE", "Advise on several inputs: each line of FILE has arguments that replace {}.", kind=Path,
        is_expert=True,
    )  # fmt: skip
    goes_on: bool = flag(
        "--continue", "Continue the earlier advise of the same program in this store with more rounds.", is_expert=True
    )
    extras: tuple[str, ...] = with_choices(
        {"references": "first run it under Valgrind (ten times slower) to order the trials by cache misses"},
        "Look at more than heap events.", is_expert=True,
    )  # fmt: skip
    max_trace: int | None = option(
        "--max-trace", "SIZE", "Size limit of the recording. Default: a quarter of the free disk.", kind=size,
        is_expert=True,
    )  # fmt: skip
    fleet: Path | None = option(
        "--on", "FLEET", "First try what matters to many processes of this build: a file of `millpond trace show "
        "--merge -o FILE.json`.", kind=Path, is_expert=True,
    )  # fmt: skip
    process: int | None = option(
        "--process", "N", "Analyse the N-th process, not the one that allocated most.", kind=integer, is_expert=True
    )
    debug_dir: tuple[str, ...] = debug_dir_option()
    sysroot: str | None = sysroot_option()
    prepare: str | None = prepare_option()
    cwd_copy: bool = copy_flag()
    cluster: str | None = cluster_option()
    workers: int | None = workers_option()
    store: Path = store_option("Folder for the observations.")
    seed: int = seed_option()


@dataclass(frozen=True)
class RunPlanRequest:
    """The request of `millpond run`."""

    becomes_program: ClassVar[bool] = True

    program: tuple[str, ...] = program()
    plan: str | None = option("--plan", "FILE", "The plan: the subsystems with their pools.")
    stats: bool = flag("--stats", "At the end, print each pool's counts on standard error.")
    out: str | None = option(
        "-o", "FILE.so", "Run nothing; write a library that contains the plan, for LD_PRELOAD=./FILE.so PROGRAM. With "
        "MILLPOND_STATS=1 it prints each pool's counts at exit.",
    )  # fmt: skip


REPORT_FORMS = {
    ".html": "html", ".htm": "html", ".txt": "text", ".md": "markdown", ".json": "json", ".csv": "csv",
    ".subsystems.csv": "subsystems", ".pb.gz": "pprof", ".folded": "collapsed", ".objects.folded": "objects",
    ".live_bytes.folded": "live_bytes", ".speedscope.json": "speedscope", ".chrome.json": "chrome",
    ".contribution.json": "contribution",
}  # fmt: skip


@dataclass(frozen=True)
class ReportRequest:
    """The request of `millpond report`."""

    sources: tuple[Path, ...] = positional(
        "[STORE | CONTRIBUTION...]", "The store to report; the same as --store. Or contributions of several machines, "
        "to show every statement on every machine.", kind=Path, is_repeated=True,
    )  # fmt: skip
    out: tuple[Output, ...] = outputs(
        "Write the report: .html, .md, .txt or .json; the observations or subsystems of one run: .csv, "
        ".subsystems.csv; its call tree: .pb.gz (pprof), .folded, .objects.folded, .live_bytes.folded, "
        ".speedscope.json; live bytes over time: .chrome.json. May be repeated. results:FOLDER writes the results of "
        "`millpond-bench` on papers' statements, .contribution.json packs them for other people. Default: text on the "
        "terminal.",
        REPORT_FORMS | {"results/": "results"}, bare="text",
    )  # fmt: skip
    run: str | None = option("--run", "RUN", "One run: its id, the start of its id, or `latest`.")
    is_verbose: bool = verbose_option()
    store: Path = store_option("The folder with the runs.")
    # Words of earlier versions: the ending of -o FILE means them now.
    format: str | None = option("--format", "FORM", "", is_hidden=True)
    weight: str | None = option("--weight", "WHAT", "", is_hidden=True)
    relation: str | None = option("--relation", "WHAT", "", is_hidden=True)
    seed: int = option("--seed", "N", "", kind=integer, default=1, is_hidden=True)


@dataclass(frozen=True)
class CompareRequest:
    """The request of `millpond compare`."""

    PROGRAM_AFTER: ClassVar[str] = "--after"

    sides: tuple[str, ...] = positional(
        "A B | --after NEW PROGRAM [ARGS]...", "Two runs, stores (folders) or traces; or the program before a change.",
        is_repeated=True,
    )  # fmt: skip
    after: str | None = option(
        "--after", "NEW", "The changed build: a program, which gets the same ARGS, or a command line in quotes. Runs "
        "both builds and shows the prediction of the advice.",
    )  # fmt: skip
    fail_if: tuple[str, ...] = option(
        "--fail-if", "CONDITION", 'For example "peak_bytes > +5%"; may be repeated. Status 1 on a breach.',
        is_repeated=True,
    )  # fmt: skip
    out: tuple[Output, ...] = outputs(
        "Write the comparison: .json; of two traces also a page (.html) or Markdown (.md).",
        {".json": "json", ".html": "html", ".md": "markdown"},
    )  # fmt: skip
    rounds: int = option(
        "--rounds", "N", "With --after: rounds of each build.", kind=count(VERDICT_ROUNDS), default=VERDICT_ROUNDS
    )
    store: Path = store_option("The folder with the runs.", is_expert=False)
    cells: tuple[str, ...] = option(
        "--cells", "TEXT", "Only cells whose name or workload contains this.", is_repeated=True, is_expert=True
    )
    prepare: str | None = prepare_option()
    cwd_copy: bool = copy_flag()
    seed: int = seed_option("With --after: seed for the order of the rounds. Otherwise no effect.")


@dataclass(frozen=True)
class SynthesizeRequest:
    """The request of `millpond synthesize`. `settings`: pairs of a name and a number."""

    traces: tuple[Path, ...] = positional(
        "TRACE...", "Traces from which the classes are made.", kind=Path, is_repeated=True, is_required=True
    )
    out: tuple[Output, ...] = outputs(
        "Write the allocator as a C++ header (.hpp), as a malloc for LD_PRELOAD (.so; needs a compiler), or the "
        "figures (.json); may be repeated.",
        {".hpp": "header", ".hh": "header", ".h": "header", ".so": "malloc", ".json": "json"},
    )  # fmt: skip
    on: tuple[Path, ...] = option(
        "--on", "TRACE", "Also try the classes on this trace, from which they are not made; may be repeated.",
        kind=Path, is_repeated=True,
    )  # fmt: skip
    classes: int = option("--classes", "N", "The largest number of classes.", kind=count(1, 1024), default=32)
    extras: tuple[str, ...] = with_choices(
        {
            "arena": "give an arena to call sites whose objects are short-lived, except at most 1 byte in 1000",
            "score": "count instructions and simulated misses for each set of classes: replays every trace on a malloc "
            "of it, under Valgrind",
        },
        "Do more.",
    )
    damaged: bool = damaged_flag()
    settings: tuple[tuple[str, Any], ...] = settings(
        "Change a number.",
        {
            "weight": "weight of a byte of internal fragmentation against a free byte; 1: the least memory",
            "granule": "8 or 16: classes are multiples of this; 16 for a malloc, otherwise 8",
            "largest": "no class above this size (4096)",
            "moments": "number of moments with counts of live blocks (4096)",
        },
        {"weight": number(0.0, 1e6), "granule": count(1), "largest": count(64, 1 << 20), "moments": count(1, 1 << 16)},
    )


@dataclass(frozen=True)
class DoctorRequest:
    """The request of `millpond doctor`."""

    out: tuple[Output, ...] = outputs("Write the findings as JSON.", {".json": "json"})
    store: Path = store_option("The store whose disk is examined.", is_expert=False)
    seed: int = seed_option("Seed for the order of the rounds.")
    # Words of earlier versions: `millpond-bench validate` has them now.
    validate: bool = flag("--validate", "", is_hidden=True)
    references: bool = flag("--references", "", is_hidden=True)
    programs: str | None = option("--programs", "NAMES", "", is_hidden=True)
    rounds: int | None = option("--rounds", "N", "", kind=count(0), is_hidden=True)
    budget: float = option("--budget", "SECONDS", "", kind=number(), default=1800.0, is_hidden=True)


@dataclass(frozen=True)
class DemoRequest:
    """The request of `millpond demo`. `requests`: how many the example serves, which gives it its length."""

    budget: float = option(
        "--budget", "SECONDS", "Time for the advice; measuring the change takes some ten seconds more.", kind=number(),
        default=35,
    )  # fmt: skip
    store: Path = store_option("Store the observations of all rounds here.")
    seed: int = seed_option()
    requests: int = option("--requests", "N", "", kind=count(1), default=20_000, is_hidden=True)


@dataclass(frozen=True)
class TryRequest:
    """The request of `millpond try`. `settings`: pairs of a name and a value, of a littered heap."""

    @property
    def becomes_program(self) -> bool:
        """True if no process of ours may stay around the program."""
        return self.litter

    program: tuple[str, ...] = program()
    plan: tuple[Path, ...] = option("--plan", "FILE", "A plan to try; may be repeated.", kind=Path, is_repeated=True)
    litter: bool = flag(
        "--litter", "Instead, run the program once with a littered heap, as after a long run. Allocates blocks before "
        "main begins and frees a part of them in random order.",
    )  # fmt: skip
    out: tuple[Output, ...] = outputs("Write the result as JSON.", {".json": "json"})
    rounds: int = rounds_option()
    budget: float | None = budget_option()
    store: Path | None = kept_option()
    seed: int = seed_option("Seed for the order of the rounds, or of a littered heap.")
    dry_run: bool = dry_run_flag()
    cells: tuple[str, ...] = cells_option()
    shard: str | None = shard_option()
    prepare: str | None = prepare_option()
    cwd_copy: bool = copy_flag()
    settings: tuple[tuple[str, str], ...] = settings(
        "With --litter: change the heap.",
        {
            "blocks": "number of blocks, of 16 to 1024 bytes, log-uniformly distributed (100000); or a trace, whose "
            "sizes are used without its frees, at most 256 MiB",
            "fraction": "share of the blocks to free, from 0 to 1 (0.5)",
        },
        {"blocks": str, "fraction": number(0.0, 1.0)},
    )


@dataclass(frozen=True)
class SchemaRequest:
    """The request of `millpond schema`."""

    name: str | None = positional("[NAME]", "The document, such as millpond.advice.1; without it, all names.")


@dataclass(frozen=True)
class CompletionRequest:
    """The request of `millpond completion`."""

    shell: str = positional("SHELL", "bash, zsh or fish.", kind=one_of(["bash", "zsh", "fish"]), is_required=True)


@dataclass(frozen=True)
class ManRequest:
    """The request of `millpond man`."""

    folder: Path | None = positional("[FOLDER]", "Write all pages here; without it, print millpond(1).", kind=Path)
