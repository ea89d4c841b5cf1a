# SPDX-License-Identifier: BSL-1.0
"""The tables and figures of Grunwald, Zorn and Henderson (1993) on locality, as data. All read the same captures.

grunwald1993.programs   tables 1 to 3, figure 1   what the programs do, and the share of it in allocation
grunwald1993.paging     figures 2 and 3           page faults of memories of all sizes, and how steeply they rise
grunwald1993.time       tables 4 and 5, figures 4 and 5   I + (M x P) x D, without misses and with
grunwald1993.caches     figures 6 to 8            miss rates of direct-mapped caches, and of a hierarchy of today
grunwald1993.tags       table 6                   GNU LOCAL with eight bytes more an object, and with real tags
grunwald1993.ablation   section 5                 one thing taken away from an allocator: coalescing, search, tags

Every figure is of a direct run: the program under capture, with the allocator preloaded. Caches allocate a line at a
store as at a load (write-allocate); `caches` tells what loads alone would miss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from millpond.bench import study_tables as printed
from millpond.bench.experiment import Figure, Needs, Parameters, Part, Tables, points, thousands
from millpond.bench.study import StudySpec, Values
from millpond.cells.metrics import Metrics
from millpond.rounds.study_captures import (
    CACHES_KIBIBYTES,
    INPUT,
    LINES_BYTES,
    MEASURED,
    MEMORIES_KIBIBYTES,
    METRICS,
    PROGRAM,
    ROLES,
    TRAINED,
)

CLASSICS = tuple(printed.ALIASES.values())
# Beside the document's: what it recommends (figure 9), the mallocs of today, and ours.
TODAY = ("size_map", "glibc", "jemalloc", "mimalloc", "tcmalloc", "multipool", "monotonic")
PROGRAMS = ("ESPRESSO", "GS", "PTC", "GAWK", "MAKE")
INPUTS = ("GS-Small", "GS-Medium", "GS")
_QUICK = ("glibc", "size_map", "multipool")
_EVERY = tuple(ROLES)
_USUAL = tuple(role for role in ROLES if role != "F2C")  # which takes half a minute under first_fit
_MIB = 1 << 20
_ATTRIBUTED = 64  # KB of the cache whose misses are told by whose code made them
# Seconds of a capture: by program, on the input that is measured.
_SECONDS = {"ESPRESSO": 15.0, "GS": 13.0, "PTC": 9.0, "MAKE": 5.0, "PERL": 10.0, "F2C": 35.0}


def _needs(given: Mapping[str, str], _strategy: str) -> Needs:
    seconds = _SECONDS.get(given[PROGRAM], 6.0)
    return Needs(seconds if given[INPUT] == MEASURED else seconds / 2, 256 * _MIB)


def _parts(
    standard: tuple[str, ...], quick: tuple[str, ...], programs: tuple[str, ...] = _USUAL
) -> Mapping[str, tuple[Part, ...]]:
    """The captures of each scale; quick takes the smaller input of the document's programs."""
    small = tuple(role for role in programs if role not in ("PERL", "F2C"))
    return {
        "quick": (Part(points(program=small, input=[TRAINED]), quick),),
        "standard": (Part(points(program=programs, input=[MEASURED]), standard),),
        "paper": (Part(points(program=_EVERY if programs == _USUAL else programs, input=[MEASURED]), standard),),
    }


def _label(name: str, value: int | str) -> str:
    """`GAWK: gawk` of a program, `64 KB` of a cache."""
    if name == PROGRAM:
        return f"{value}: {ROLES[str(value)]}"
    return f"{thousands(name, value)} KB" if name in ("cache", "memory") else str(value)


# ---- what is made of a capture ----


def _of_programs(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    share = 100 * values["allocator_instructions"] / values["instructions_executed"]
    yield (), {**values, "references_1e6": values["references"] / 1e6, "allocator_share": share}


def _of_pages(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    per_million = 1e6 / values["references"]
    for size in MEMORIES_KIBIBYTES:
        yield (
            (("memory", str(size)),),
            {**values, "faults_a_million": values[f"faults_{size}"] * per_million,
             "warm_faults_a_million": (values[f"faults_{size}"] - values["pages"]) * per_million},
        )  # fmt: skip


def _of_times(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    base = values["instructions_executed"] * printed.CYCLE_SECONDS
    for size in CACHES_KIBIBYTES:
        missed = values[f"misses_32_{size}"]
        waiting = {p: missed * p * printed.CYCLE_SECONDS for p in printed.PENALTIES}
        total = base + waiting[printed.PENALTY_CYCLES]
        own = values["allocator_misses"] + values["indirect_misses"]
        yield (
            (("cache", str(size)),),
            {"time_seconds": total, "base_seconds": base, "miss_seconds": waiting[printed.PENALTY_CYCLES],
             "miss_share": waiting[printed.PENALTY_CYCLES] / total,
             "misses_a_thousand": 1000 * missed / values["instructions_executed"],
             "cold_share": values["cold_misses"] / missed,
             **({"own_miss_share": own / missed} if size == _ATTRIBUTED else {}),
             **{f"seconds_at_{p}": base + waiting[p] for p in printed.PENALTIES}},
        )  # fmt: skip


def _of_caches(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    for line in LINES_BYTES:
        for size in CACHES_KIBIBYTES:
            missed = values[f"misses_{line}_{size}"]
            yield (
                (("line", str(line)), ("cache", str(size))),
                {"miss_rate": 100 * missed / values["references"], "misses": missed, **_kept(values, "heap_bytes"),
                 "level_1_rate": 100 * values["level_1_misses"] / values["references"],
                 "level_2_rate": 100 * values["level_2_misses"] / values["references"],
                 "base_seconds": values["instructions_executed"] * printed.CYCLE_SECONDS},
            )  # fmt: skip


def _of_tags(values: Values, without: Values | None) -> Iterable[tuple[Parameters, Values]]:
    """Penalties as shares of the time without tags, at each cost of a miss."""
    if without is None:
        return
    found = {"miss_rate": 100 * values["misses_32_64"] / values["references"], **_kept(values, "heap_bytes")}
    for penalty in printed.PENALTIES:
        waiting = penalty * values["misses_32_64"]
        before = penalty * without["misses_32_64"]
        whole = without["instructions_executed"] + before
        found[f"tag_penalty_at_{penalty}"] = 100 * (waiting - before) / whole
        if penalty == printed.PENALTY_CYCLES:
            found |= {"miss_penalty": 100 * waiting / whole, "tag_penalty": 100 * (waiting - before) / whole,
                      "slower": 100 * ((values["instructions_executed"] + waiting) / whole - 1)}  # fmt: skip
    yield (), found


def _kept(values: Values, *names: str) -> dict[str, float]:
    """What a capture may not have: an allocator need not tell its heap."""
    return {name: values[name] for name in names if name in values}


# ---- the experiments ----

_SOURCE = "Grunwald, Zorn and Henderson, Improving the cache locality of memory allocation, PLDI 1993"
_DERIVED: dict[str, str] = {
    "references_1e6": "millions", "allocator_share": "%", "faults_a_million": "faults",
    "warm_faults_a_million": "faults", "time_seconds": "seconds",
    "base_seconds": "seconds", "miss_seconds": "seconds", "miss_share": "share",
    "misses_a_thousand": "misses", "cold_share": "share", "own_miss_share": "share", "miss_rate": "%",
    "misses": "references", "level_1_rate": "%", "level_2_rate": "%", "miss_penalty": "%", "tag_penalty": "%",
    "slower": "%", **{f"seconds_at_{p}": "seconds" for p in printed.PENALTIES},
    **{f"tag_penalty_at_{p}": "%" for p in printed.PENALTIES},
}  # fmt: skip
_NOTE = (
    "Programs of today stand for the document's. Words and pointers are of 8 bytes, tags of two words 16; "
    "`grunwald1993.cost --cells i386` counts with words of 4 bytes."
)
_SECONDS_NOTE = (
    "Seconds are those of the document's machine: its tables imply 62.5 ns an instruction, and a miss waits 25."
)

_experiment = partial(
    StudySpec, source=_SOURCE, machine="DECstation 5000/120 (MIPS), simulated caches, 1993",
    metrics=Metrics({**METRICS.units, **_DERIVED}, is_open=True), aliases=printed.ALIASES, claims="grunwald1993.toml",
    workload="capture", strategies=(*CLASSICS, *TODAY), optional=TODAY, needs=_needs, free=(INPUT,),
    parts=_parts((*CLASSICS, *TODAY), (*CLASSICS, *_QUICK)), rounds={"quick": 1, "standard": 3, "paper": 8},
    fewest_rounds=3,
)  # fmt: skip


def _one_table(title: str, *rows: str, split: tuple[str, ...] = (), relative: bool = False) -> Tables:
    def titled(at: Mapping[str, int | str]) -> str:
        words = {"cache": "{} KB direct-mapped", "line": "lines of {} bytes", PROGRAM: "{}"}
        return ", ".join([title, *(words[name].format(at[name]) for name in split)])

    return Tables(split, rows, "strategy", "program" if PROGRAM in rows else rows[0], relative=relative, titles=titled,
                  labels=_label, own_rows=True)  # fmt: skip


WHAT_PROGRAMS_DO = _experiment(
    name="grunwald1993.programs", title="What the programs do (tables 1 to 3, figure 1)", section="3.1",
    measured="Data references in millions; beside them instructions and the share in allocation, objects, heap",
    figure=Figure("references_1e6", "millions", "references_1e6"),
    beside_metrics=("instructions_executed", "allocator_share", "objects_allocated", "objects_freed", "heap_bytes",
                    "pages"),
    axes=(PROGRAM,), tables=_one_table("Data references", PROGRAM), figures=printed.of_programs, unfold=_of_programs,
    notes=(_NOTE, "The share in allocation is of instructions, with no penalty for misses, as figure 1 has it."),
)  # fmt: skip
PAGING = _experiment(
    name="grunwald1993.paging", title="Page faults by memory (figures 2 and 3)", section="4.1",
    measured="Page faults in a million references in LRU memories of pages of 4 KB, first touches among them",
    figure=Figure("faults_a_million", "faults", "faults_a_million"),
    beside_metrics=("warm_faults_a_million", "pages", "heap_bytes", "fault_slope"),
    axes=(PROGRAM, "memory"), tables=_one_table("Page faults in a million references", "memory", split=(PROGRAM,)),
    unfold=_of_pages,
    notes=("The document's curves are pictures. `heap_bytes` is the memory that the allocator has requested, the "
           "symbols on its axes; `pages` is what was touched. `fault_slope` is -d ln(faults) / d ln(memory) between an "
           "eighth and seven eighths of these pages: the smaller, the more resilient.",),
)  # fmt: skip
TIME = _experiment(
    name="grunwald1993.time", title="Time with cache misses (tables 4 and 5, figures 4 and 5)", section="4.2",
    measured="I + (M x P) x D with P = 25 in seconds of the document's machine, as a share of FIRSTFIT's",
    figure=Figure("time_seconds", "seconds", "time_seconds"),
    beside_metrics=("base_seconds", "miss_seconds", "miss_share", "misses_a_thousand", "cold_share", "own_miss_share",
                    *(f"seconds_at_{p}" for p in printed.PENALTIES)),
    axes=(PROGRAM, "cache"), tables=_one_table("Estimated time", PROGRAM, split=("cache",), relative=True),
    figures=printed.of_times, unfold=_of_times, notes=(_NOTE, _SECONDS_NOTE),
)  # fmt: skip
CACHES = _experiment(
    name="grunwald1993.caches", title="Miss rates by cache size (figures 6 to 8)", section="4.2",
    measured="Share of data references that miss in direct-mapped caches, in percent; beside it today's hierarchy",
    figure=Figure("miss_rate", "%", "miss_rate"),
    beside_metrics=("misses", "level_1_rate", "level_2_rate", "heap_bytes", "base_seconds"),
    axes=(PROGRAM, "line", "cache"), tables=_one_table("Miss rate", "cache", split=(PROGRAM, "line")),
    figures=printed.of_caches, unfold=_of_caches,
    notes=(_NOTE, "Published rates follow from tables 4 and 5 and the references of table 2; the curves are pictures. "
           "A store that misses brings its line in, as a load does.",
           "Today's hierarchy: 32 KiB in 8 ways, then 1 MiB in 16 ways, lines of 64 bytes."),
)  # fmt: skip
TAGS = _experiment(
    name="grunwald1993.tags", title="What tags cost (table 6)", section="4.3",
    measured="Miss rate in percent, 64 KB direct-mapped: GNU LOCAL, the same with eight bytes more for each object "
    "(the document's \"with tags\"), and with a tag that is written and read",
    figure=Figure("miss_rate", "%", "miss_rate"),
    beside_metrics=("miss_penalty", "tag_penalty", "slower", "heap_bytes",
                    *(f"tag_penalty_at_{p}" for p in printed.PENALTIES)),
    strategies=("gnu_local", "gnu_local_padded", "gnu_local_tagged"), axes=(PROGRAM,), optional=(),
    tables=_one_table("Miss rate", PROGRAM), figures=printed.of_tags, unfold=_of_tags,
    parts=_parts(("gnu_local", "gnu_local_padded", "gnu_local_tagged"),
                 ("gnu_local", "gnu_local_padded", "gnu_local_tagged")),
    notes=(_NOTE, "A block is aligned to 16, so a real tag of a word takes two.",
           "Penalties are shares of the time without tags, as in the document."),
)  # fmt: skip
_ABLATED = ("first_fit", "first_fit_uncoalesced", "gnu_gxx", "gnu_gxx_uncoalesced", "gnu_gxx_heads")
ABLATION = _experiment(
    name="grunwald1993.ablation", title="Search and coalescing, each alone (section 5)", section="4.4",
    measured="I + (M x P) x D as a share of FIRSTFIT's: FIRSTFIT and GNU G++ without coalescing, GNU G++ that looks at "
    "the first block of a list only",
    figure=Figure("time_seconds", "seconds", "time_seconds"),
    beside_metrics=("base_seconds", "miss_seconds", "misses_a_thousand"),
    strategies=_ABLATED, axes=(PROGRAM, "cache"), optional=(), unfold=_of_times,
    tables=_one_table("Estimated time", PROGRAM, split=("cache",), relative=True),
    parts=_parts(_ABLATED, _ABLATED), notes=(_NOTE, _SECONDS_NOTE, "Tags alone are taken away in grunwald1993.tags."),
)  # fmt: skip

EXPERIMENTS = (WHAT_PROGRAMS_DO, PAGING, TIME, CACHES, TAGS, ABLATION)
