# SPDX-License-Identifier: BSL-1.0
"""The tables and figures of Grunwald, Zorn and Henderson (1993) on locality, as data. All use the same captures.

    grunwald1993.programs   tables 1 to 3, figure 1   facts about the programs, and the share of allocation
    grunwald1993.paging     figures 2 and 3           page faults of memories of all sizes, and how steeply they rise
    grunwald1993.time       tables 4 and 5, figures 4 and 5   I + (M x P) x D, without misses and with
    grunwald1993.caches     figures 6 to 8            miss rates of direct-mapped caches, and of a hierarchy of today
    grunwald1993.tags       table 6                   GNU LOCAL with eight bytes more per object, and with real tags
    grunwald1993.model      footnote 1                the model's seconds and real ones, with this machine's latencies
    grunwald1993.words      tables 4 and 5            the same with words of 4 bytes: i386 programs, if they are
    unpacked
    grunwald1993.classes    section 4.4               few size classes against many: re-use against lost bytes
    grunwald1993.lifetimes  section 5.1               call sites that predict which objects die soon
    grunwald1993.predicted  ours                      misses predicted from one recording, and their error
    grunwald1993.ablation   section 5                 an allocator without one part: coalescing, search, tags

Every figure is of a direct run: the program under capture, with the allocator preloaded. Caches allocate a line at a
store as at a load (write-allocate); `caches` also has two in which a store that misses bypasses the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from millpond.cells.cell import Cell
from millpond.cells.metrics import Metrics
from millpond_bench.claims.verdicts import FEWEST_ROUNDS
from millpond_bench.experiments.experiment_data import ExperimentData, Figure, Part, points, thousands
from millpond_bench.experiments.paper_tables import PaperTables, Tables
from millpond_bench.experiments.run_rules import Needs, RunRules
from millpond_bench.pages.grunwald1993_charts import table_6, tables_2_and_3, tables_4_and_5
from millpond_bench.pages.grunwald1993_figures import fault_curves, miss_curves, overlaid_times, programs
from millpond_bench.programs import custom_malloc, grunwald1993_i386, grunwald1993_lifetimes
from millpond_bench.programs.grunwald1993_captures import (
    INPUT,
    MEASURED,
    METRICS,
    PROGRAM,
    ROLES,
    TRAINED,
)
from millpond_bench.programs.grunwald1993_predictions import METRICS as PREDICTED_METRICS
from millpond_bench.programs.grunwald1993_predictions import PredictionRunner
from millpond_bench.runs.capture_run import CaptureSpec
from millpond_bench.suites import grunwald1993_points
from millpond_bench.suites.grunwald1993_points import FACTS
from millpond_bench.tables import grunwald1993_tables as printed

CLASSICS = tuple(printed.ALIASES.values())
# Allocators that the paper does not have: its recommendation (figure 9), the same with classes chosen for the program
# (its CUSTOMALLOC), the mallocs of today, and ours.
TODAY = ("size_map", custom_malloc.NAME, "glibc", "jemalloc", "mimalloc", "tcmalloc", "multipool", "monotonic")
PROGRAMS = ("ESPRESSO", "GS", "TROFF", "PTC", "GAWK", "MAKE")
_OF_I386 = ("GS", "TROFF", "GAWK", "MAKE")
_OF_WORDS = (*CLASSICS, "size_map", "glibc")
_PREDICTED = (*CLASSICS, "glibc", "jemalloc", "multipool")
_QUICK = ("multipool",)
_FEW = ("PTC", "GAWK", "MAKE")
_SWEPT = ("ESPRESSO", *_FEW)
# The sweep of size classes, by their number; size_map has 29.
_BY_CLASSES = ("size_map_3", "size_map_9", "size_map", "size_map_256")
_TAGGED = ("gnu_local", "gnu_local_padded", "gnu_local_tagged")
_EVERY = tuple(ROLES)
_USUAL = tuple(role for role in ROLES if role != "F2C")  # it takes half a minute under first_fit
_MIB = 1 << 20
# Rounds: each is a size of the environment, of which misses depend.
_ENVIRONMENTS = 8
# Seconds of a capture: by program, on the measured input.
_SECONDS = {
    "ESPRESSO": 18.0,
    "GS": 13.0,
    "PTC": 9.0,
    "GAWK": 24.0,
    "MAKE": 4.0,
    "PERL": 10.0,
    "F2C": 35.0,
    "TROFF": 26.0,
}


def _needs(given: Mapping[str, str], _strategy: str) -> Needs:
    seconds = _SECONDS.get(given[PROGRAM], 6.0)
    return Needs(seconds if given[INPUT] == MEASURED else seconds / 2, 256 * _MIB)


def _needs_of_recordings(given: Mapping[str, str], strategy: str) -> Needs:
    """Two recordings and a synthesis take a fifth of a capture."""
    capture = _needs(given, strategy)
    return replace(capture, seconds=capture.seconds / 5)


def _parts(
    standard: tuple[str, ...], quick: tuple[str, ...], programs: tuple[str, ...] = _USUAL,
    few: tuple[str, ...] = PROGRAMS, smaller: tuple[str, ...] = (),
) -> Mapping[str, tuple[Part, ...]]:  # fmt: skip
    """The captures of each scale. Quick takes the smaller input of `few` programs, and nothing without allocators;
    standard takes that of programs in `smaller`, which would take too long.
    """
    inputs = {MEASURED: [one for one in programs if one not in smaller],
              TRAINED: [one for one in programs if one in smaller]}  # fmt: skip
    return {
        "quick": (Part(points(program=few, input=[TRAINED]), quick),) if quick else (),
        "standard": tuple(
            Part(points(program=some, input=[given]), standard) for given, some in inputs.items() if some
        ),
        "paper": (Part(points(program=_EVERY if programs == _USUAL else programs, input=[MEASURED]), standard),),
    }


def _label(name: str, value: int | str) -> str:
    """`GAWK: gawk` for a program, `64 KB` for a cache."""
    if name == PROGRAM:
        return f"{value}: {ROLES[str(value)]}"
    return f"{thousands(name, value)} KB" if name in ("cache", "memory") else str(value)


_SOURCE = "Grunwald, Zorn and Henderson, Improving the cache locality of memory allocation, PLDI 1993"
_DERIVED: dict[str, str] = {
    "references_1e6": "millions", "allocator_share": "%", "faults_a_million": "faults",
    "warm_faults_a_million": "faults", "time_seconds": "seconds",
    "base_seconds": "seconds", "miss_seconds": "seconds", "miss_share": "share",
    "misses_a_thousand": "misses", "cold_share": "share", "own_miss_share": "share",
    "direct_misses_a_thousand": "misses", "allocator_held_share": "share",
    "program_misses": "references", "paged_seconds": "seconds",
    "examined_each": "objects", "relinked_nodes_each": "nodes", "relinked_pages_each": "pages", "miss_rate": "%",
    "lost_share": "share", "fresh_a_thousand": "blocks", "right_share": "share", "wrong_share": "share",
    "short_share": "share",
    "misses": "references", "around_rate": "%", "level_1_rate": "%", "level_2_rate": "%", "miss_penalty": "%",
    "tag_penalty": "%", "mean_object_bytes": "bytes", "freed_share": "share",
    "tag_growth": "ratio", "predicted_to_direct": "ratio", "predicted_misses": "references",
    "direct_misses": "references", "slower": "%", "model_to_measured": "ratio",
    **{f"seconds_at_{p}": "seconds" for p in printed.PENALTIES},
    **{f"tag_penalty_at_{p}": "%" for p in printed.PENALTIES},
}  # fmt: skip
_NOTE = (
    "Programs of today stand for the document's. Words and pointers are of 8 bytes, tags of two words 16; "
    "`grunwald1993.cost --cells i386` counts with words of 4 bytes."
)
# The document's table 1.
_PROGRAMS_NOTE = (
    "ESPRESSO, a logic optimiser: berkeley-abc collapses and factors a random table. GS, PostScript without display: "
    "ghostscript on 2, 20 and 40 pages of text and curves; it divides its memory itself. TROFF, an interpreter of "
    "pages that asks malloc: troff on 26, 130 and 350 sections of a manual. PTC, a translator to C that frees "
    "nothing: spin on a model of 20 processes. GAWK: gawk lays words out as a dictionary. MAKE: make on 500 targets, "
    "dry. PERL, not in the document: perl keeps words and those that follow them. F2C, not in the document: f2c on "
    "150 subroutines."
)
_SECONDS_NOTE = (
    "Seconds are those of the document's machine: its tables imply 62.5 ns an instruction, and a miss waits 25."
)


def _once(cell: Cell) -> bool:
    """True for mallocs that statements ask only for counts of, and for programs that they leave out or do not name."""
    return cell.contender.name in TODAY or dict(cell.parameters)[PROGRAM] in ("GS-Small", "GS-Medium", "GS", "PERL")


_experiment = partial(
    CaptureSpec, source=_SOURCE, machine="DECstation 5000/120 (MIPS), simulated caches, 1993",
    metrics=Metrics({**METRICS.units, **PREDICTED_METRICS.units, **grunwald1993_lifetimes.METRICS.units, **_DERIVED},
                    is_open=True),
    claims="grunwald1993.toml", rules=RunRules(optional=TODAY, needs=_needs), once=_once,
    rounds={"quick": 1, "standard": _ENVIRONMENTS, "paper": _ENVIRONMENTS},
)  # fmt: skip
_ALL_PRESENT = RunRules(needs=_needs)
_data = partial(
    ExperimentData, aliases=printed.ALIASES, workload="capture", strategies=(*CLASSICS, *TODAY), free=(INPUT,),
    parts=_parts((*CLASSICS, *TODAY), (*CLASSICS, *_QUICK)),
)  # fmt: skip


def _one_table(title: str, *rows: str, split: tuple[str, ...] = (), relative: bool = False) -> Tables:
    def titled(at: Mapping[str, int | str]) -> str:
        words = {"cache": "{} KB direct-mapped", "line": "lines of {} bytes", PROGRAM: "{}"}
        return ", ".join([title, *(words[name].format(at[name]) for name in split)])

    return Tables(split, rows, "strategy", "program" if PROGRAM in rows else rows[0], relative=relative, titles=titled,
                  labels=_label, own_rows=True)  # fmt: skip


WHAT_PROGRAMS_DO = _experiment(
    name="grunwald1993.programs", title="What the programs do (tables 1 to 3, figure 1)", section="3.1",
    measured="Data references in millions; also instructions and the share in allocation, objects, heap",
    unfold=grunwald1993_points.of_programs,
    data=_data(
        figure=Figure("references_1e6", "millions", "references_1e6"),
        extra_metrics=("instructions_executed", "allocator_share", "allocator_instructions",
                        "objects_allocated", "objects_freed", "freed_share",
                        "requested_bytes", "mean_object_bytes", "common_sizes_share", "size_24_rank",
                        "heap_bytes", "pages", "examined_each", "relinked_nodes_each", "relinked_pages_each"),
        axes=(PROGRAM,),
    ),
    table=PaperTables(
        layout=_one_table("Data references", PROGRAM), figures=printed.of_programs, draw=programs,
        tabulate=tables_2_and_3,
    ),
    notes=(_NOTE, _PROGRAMS_NOTE,
           "The share in allocation is of instructions, with no penalty for misses, as figure 1 has it."),
)  # fmt: skip
PAGING = _experiment(
    name="grunwald1993.paging", title="Page faults by memory (figures 2 and 3)", section="4.1",
    measured="Page faults in a million references in LRU memories of pages of 4 KB, first touches among them",
    unfold=grunwald1993_points.of_pages,
    data=_data(
        figure=Figure("faults_a_million", "faults", "faults_a_million"),
        extra_metrics=("warm_faults_a_million", "pages", "heap_bytes", "fault_slope", "paged_seconds", *FACTS),
        axes=(PROGRAM, "memory"),
    ),
    table=PaperTables(
        layout=_one_table("Page faults in a million references", "memory", split=(PROGRAM,)), draw=fault_curves,
    ),
    notes=("The document's curves are pictures. `heap_bytes` is the memory that the allocator has requested, the "
           "symbols on its axes; `pages` is what was touched. `fault_slope` is -d ln(faults) / d ln(memory) between an "
           "eighth and seven eighths of these pages: the smaller, the more resilient.",),
)  # fmt: skip
TIME = _experiment(
    name="grunwald1993.time", title="Time with cache misses (tables 4 and 5, figures 4 and 5)", section="4.2",
    measured="I + (M x P) x D with P = 25 in seconds of the document's machine, as a share of FIRSTFIT's",
    unfold=grunwald1993_points.of_times,
    data=_data(
        figure=Figure("time_seconds", "seconds", "time_seconds"),
        extra_metrics=("base_seconds", "miss_seconds", "miss_share", "misses_a_thousand", "cold_share",
                        "own_miss_share", "direct_misses_a_thousand", "allocator_held_share", "mean_object_bytes",
                        *(f"seconds_at_{p}" for p in printed.PENALTIES), *FACTS),
        axes=(PROGRAM, "cache"),
    ),
    table=PaperTables(
        layout=_one_table("Estimated time", PROGRAM, split=("cache",), relative=True), figures=printed.of_times,
        draw=overlaid_times, tabulate=tables_4_and_5,
    ),
    notes=(_NOTE, _SECONDS_NOTE),
)  # fmt: skip
CACHES = _experiment(
    name="grunwald1993.caches", title="Miss rates by cache size (figures 6 to 8)", section="4.2",
    measured="Share of data references that miss in direct-mapped caches, in percent; also today's hierarchy",
    unfold=grunwald1993_points.of_caches,
    data=_data(
        figure=Figure("miss_rate", "%", "miss_rate"),
        extra_metrics=("misses", "around_rate", "level_1_rate", "level_2_rate", "heap_bytes", "base_seconds",
                        *FACTS),
        axes=(PROGRAM, "line", "cache"),
    ),
    table=PaperTables(
        layout=_one_table("Miss rate", "cache", split=(PROGRAM, "line")), figures=printed.of_caches, draw=miss_curves,
    ),
    notes=(_NOTE, "Published rates follow from tables 4 and 5 and the references of table 2; the curves are pictures. "
           "A store that misses brings its line in, as a load does; `around_rate` is of caches of 16 and 64 KB in "
           "which it does not.",
           "Today's hierarchy: 32 KiB in 8 ways, then 1 MiB in 16 ways, lines of 64 bytes."),
)  # fmt: skip
TAGS = _experiment(
    name="grunwald1993.tags", title="What tags cost (table 6)", section="4.3",
    measured="Miss rate in percent, 64 KB direct-mapped: GNU LOCAL, the same with eight bytes more for each object "
    "(the document's \"with tags\"), and with a tag that is written and read",
    unfold=grunwald1993_points.of_tags,
    data=_data(
        figure=Figure("miss_rate", "%", "miss_rate"),
        extra_metrics=("miss_penalty", "tag_penalty", "tag_growth", "slower", "heap_bytes", "program_misses",
                        *(f"tag_penalty_at_{p}" for p in printed.PENALTIES), *FACTS),
        strategies=_TAGGED, axes=(PROGRAM,), parts=_parts(_TAGGED, _TAGGED, PROGRAMS, few=_FEW),
    ),
    table=PaperTables(layout=_one_table("Miss rate", PROGRAM), figures=printed.of_tags, tabulate=table_6),
    rules=_ALL_PRESENT,
    notes=(_NOTE, "A block is aligned to 16, so a real tag of a word takes two.",
           "Penalties are shares of the time without tags, as in the document."),
)  # fmt: skip
_ABLATED = ("first_fit", "first_fit_uncoalesced", "gnu_gxx", "gnu_gxx_uncoalesced", "gnu_gxx_heads")
ABLATION = _experiment(
    name="grunwald1993.ablation", title="Search and coalescing, each by itself (section 5)", section="4.4",
    measured="I + (M x P) x D as a share of FIRSTFIT's: FIRSTFIT and GNU G++ without coalescing, GNU G++ that looks at "
    "the first block of a list only",
    unfold=grunwald1993_points.of_times,
    data=_data(
        figure=Figure("time_seconds", "seconds", "time_seconds"),
        extra_metrics=("base_seconds", "miss_seconds", "misses_a_thousand", *FACTS), strategies=_ABLATED,
        axes=(PROGRAM, "cache"),
        parts=_parts(_ABLATED, _ABLATED, PROGRAMS, few=_FEW, smaller=("TROFF", "GAWK")),
    ),
    table=PaperTables(
        figures=printed.of_times, layout=_one_table("Estimated time", PROGRAM, split=("cache",), relative=True),
    ),
    rules=_ALL_PRESENT,
    notes=(_NOTE, _SECONDS_NOTE, "grunwald1993.tags takes only the tags away.",
           "Without coalescing FIRSTFIT searches so long on TROFF and GAWK that these have their smaller inputs below "
           "paper scale."),
)  # fmt: skip

CLASSES = _experiment(
    name="grunwald1993.classes", title="Few size classes against many (section 4.4)", section="4.4",
    measured="I + (M x P) x D of allocators with 3, 9, 29 and 256 size classes up to 4 KiB, as a share of that with 3",
    unfold=grunwald1993_points.of_classes,
    data=_data(
        figure=Figure("time_seconds", "seconds", "time_seconds"),
        extra_metrics=("base_seconds", "miss_seconds", "misses_a_thousand", "lost_share", "fresh_a_thousand",
                        "freed_share", "heap_bytes", *FACTS),
        strategies=_BY_CLASSES, axes=(PROGRAM, "cache"), aliases={},
        parts=_parts(_BY_CLASSES, _BY_CLASSES, _SWEPT, few=("PTC", "MAKE")),
    ),
    table=PaperTables(layout=_one_table("Estimated time", PROGRAM, split=("cache",), relative=True)),
    rules=_ALL_PRESENT, once=lambda _: False, rounds={"quick": 1, "standard": FEWEST_ROUNDS, "paper": _ENVIRONMENTS},
    notes=("One allocator, `size_map`, with other classes: three (64, 512 and 4096 bytes), powers of two, four an "
           "octave, and a class for each 16 bytes, which is the alignment of malloc. `lost_share`: bytes of blocks "
           "that were not requested. `fresh_a_thousand`: blocks made for a thousand objects; the others were used "
           "again.", _SECONDS_NOTE),
)  # fmt: skip
LIFETIMES = _experiment(
    name="grunwald1993.lifetimes", title="Lifetimes predicted by call sites (section 5.1)", section="5.1",
    measured="Share of the bytes that die soon which call sites predict, learnt on the smaller input of a program and "
    "tried on the measured one",
    runner=grunwald1993_lifetimes.LifetimeRunner, lacking=grunwald1993_lifetimes.lacking,
    identity=grunwald1993_lifetimes.identity_of, travels=False, unfold=grunwald1993_points.of_lifetimes,
    data=_data(
        figure=Figure("right_share", "share", "right_share"),
        extra_metrics=("wrong_share", "short_share", "objects_allocated", "requested_bytes", "short_bytes",
                        "predicted_bytes", "wrong_bytes", "unknown_bytes"),
        workload="lifetime", strategies=("glibc",), axes=(PROGRAM,), aliases={},
        parts={"quick": (Part(points(program=["PTC", "MAKE"], input=[MEASURED]), ("glibc",)),),
               **dict.fromkeys(("standard", "paper"),
                               (Part(points(program=PROGRAMS, input=[MEASURED]), ("glibc",)),))},
    ),
    table=PaperTables(layout=_one_table("Bytes predicted to die soon, of those that do", PROGRAM)),
    rules=RunRules(needs=_needs_of_recordings), rounds={"quick": 1, "standard": 1, "paper": 1}, fewest_rounds=1,
    notes=("An object dies soon if it is freed before 32 KiB more are requested. A call site is predicted to make such "
           "objects if all of its objects on the smaller input were (`millpond synthesize`).",),
)  # fmt: skip
MODEL = _experiment(
    name="grunwald1993.model", title="The model against real seconds (footnote 1)", section="4.2",
    measured="Modelled seconds by measured CPU seconds, with this machine's cycle and latencies, and two levels",
    unfold=grunwald1993_points.of_model,
    data=_data(
        figure=Figure("model_to_measured", "ratio", "model_to_measured"),
        extra_metrics=("model_seconds", "cpu_seconds", *FACTS), axes=(PROGRAM,),
    ),
    table=PaperTables(layout=_one_table("Modelled / measured", PROGRAM), figures=printed.of_model),
    notes=("A processor of today executes several instructions a cycle and overlaps its waits, which the model does "
           "not know: the order of the allocators is what can be compared.",),
)  # fmt: skip
WORDS = _experiment(
    name="grunwald1993.words", title="Tables 4 and 5 with words of 4 bytes", section="4.2",
    measured="I + (M x P) x D as a share of FIRSTFIT's, of Debian's i386 programs on the classics built for 32 bits",
    runner=grunwald1993_i386.I386Runner, lacking=grunwald1993_i386.lacking, identity=grunwald1993_i386.identity_of,
    travels=False,
    unfold=grunwald1993_points.of_times,
    data=_data(
        figure=Figure("time_seconds", "seconds", "time_seconds"),
        extra_metrics=("base_seconds", "miss_seconds", "miss_share", "misses_a_thousand",
                        *(f"seconds_at_{p}" for p in printed.PENALTIES), "objects_allocated"),
        workload="words", strategies=_OF_WORDS, axes=(PROGRAM, "cache"),
        parts=_parts(_OF_WORDS, (), _OF_I386, smaller=_OF_I386),
    ),
    table=PaperTables(
        figures=printed.of_times, layout=_one_table("Estimated time", PROGRAM, split=("cache",), relative=True),
        tabulate=tables_4_and_5, draw=overlaid_times,
    ),
    rules=_ALL_PRESENT,
    notes=("Two tags are 8 bytes, as in the document. Counted by Cachegrind, which takes a run for each cache: below "
           "paper scale on the smaller inputs. Debian has no i386 berkeley-abc and spin among the packages that "
           "`scripts/setup bench-study-i386` unpacks.", _SECONDS_NOTE),
)  # fmt: skip
PREDICTED = _experiment(
    name="grunwald1993.predicted", title="The same, predicted from one recording", section="4.2",
    measured="Misses predicted from one recording on glibc, by those of the direct run: 1 is exact",
    runner=PredictionRunner, unfold=grunwald1993_points.of_predictions,
    data=_data(
        figure=Figure("predicted_to_direct", "ratio", "predicted_to_direct"),
        extra_metrics=("predicted_misses", "direct_misses"), workload="prediction", strategies=_PREDICTED,
        axes=(PROGRAM, "cache"), parts=_parts(_PREDICTED, (), PROGRAMS, smaller=PROGRAMS),
    ),
    table=PaperTables(layout=_one_table("Predicted / direct misses", PROGRAM, split=("cache",))),
    rules=_ALL_PRESENT,
    rounds={"quick": 1, "standard": 1, "paper": _ENVIRONMENTS}, fewest_rounds=1,
    notes=("The tables of the other experiments come from direct runs; this one says how far predictions would be off.",
           "One recording on glibc (for glibc itself: on our multipool), played on each allocator; below paper scale "
           "of the smaller inputs."),
)  # fmt: skip

EXPERIMENTS = (WHAT_PROGRAMS_DO, PAGING, TIME, CACHES, TAGS, ABLATION, CLASSES, LIFETIMES, MODEL, WORDS, PREDICTED)
