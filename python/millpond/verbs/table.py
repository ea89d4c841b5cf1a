# SPDX-License-Identifier: BSL-1.0
"""The table of all verbs of `millpond`, in the order of its help, and the verbs of earlier versions.

Verb ──▶ parser, help, completions, man pages
  └─function─▶ a module of millpond.commands, imported when the verb runs
"""

from __future__ import annotations

from difflib import get_close_matches

from millpond.verbs import requests as of_programs
from millpond.verbs import trace_requests as of_traces
from millpond.verbs.option import Verb, VerbOption, old, old_file, renamed

SUMMARY = "Find out where a local allocator would make a program faster or smaller, and by how much."


def _with(word: str, name: str) -> VerbOption:
    """A flag of earlier versions that is now a word of --with."""
    return old(word, "", lambda _: ("--with", name))


_RUNS = ("LD_PRELOAD", "MILLPOND_BIN", "TMPDIR")
_SYMBOLS = ("DEBUGINFOD_URLS", "MILLPOND_BIN")
_STORED = ("results/store/", "the observations of all rounds; --store names another folder")
_HTML = old_file("--html", "html", ".html")
_LIST = old("--list", "", lambda _: ("--dry-run", ""))
_SIMULATION = (
    _HTML,
    renamed("-s", "--simulate"),
    old_file("--write-din", "din", ".din"),
    renamed("--penalty", "--set penalty="),
    renamed("--cpi", "--set cpi="),
    renamed("--flush-references", "--set flush-references="),
    renamed("--flush-instructions", "--set flush-instructions="),
    renamed("--format", "--set format="),
    _with("--with-system", "system"),
    old("--straddle", "once|twice", lambda times: ("--with", "straddles" if times == "twice" else "")),
    old("--modify", "once|twice", lambda times: ("--with", "updates" if times == "twice" else "")),
)

ADVISE = Verb(
    ("advise",), of_programs.AdviseRequest, "millpond.commands.advise:advise",
    "Find out where a local allocator would make a program faster or smaller, and by how much.",
    (
        ("millpond ./program input.txt", "the whole job: record, characterise, try, advise"),
        ("millpond advise --budget 60 -o advice.html -o advice.json ./program", "one minute; a page, and JSON"),
    ),
    (_HTML, _with("--references", "references")),
    "`millpond ./program` is short for `millpond advise ./program`. Nothing is recompiled or relinked.",
    writes=(
        ("results/PROGRAM.html", "the page, if no -o names another file"),
        ("results/PROGRAM.plan.json", "the plan that was better than no change; next to the first file of -o"),
        _STORED,
    ),
    environment=("DEBUGINFOD_URLS", "LD_LIBRARY_PATH", *_RUNS),
)  # fmt: skip

VERBS = (
    ADVISE,
    Verb(
        ("demo",), of_programs.DemoRequest, "millpond.commands.demo:demo",
        "Advise on a program that comes with Millpond, then measure the advised change.",
        (("millpond demo", "a first result, in a minute"),),
        writes=(
            ("results/request_server.html", "the page"),
            ("results/request_server.plan.json", "the plan that was better than no change"),
            _STORED,
        ),
        environment=("MILLPOND_BIN", "TMPDIR"),
    ),
    Verb(
        ("run",), of_programs.RunPlanRequest, "millpond.commands.run:run",
        "Run a program with the pools and arenas of a plan, for daily use.",
        (
            ("millpond run --plan program.plan.json ./program input.txt", "exits as the program does"),
            ("millpond run --plan program.plan.json -o pools.so", "then: LD_PRELOAD=./pools.so ./program"),
        ),
        (renamed("--export", "-o"),),
        "Nothing is measured. A plan belongs to one build of one program; another build is refused. `millpond advise` "
        "writes the plan that it judged better, `millpond trace show -o plans/` writes candidate plans.",
        environment=("LD_PRELOAD", "MILLPOND_BIN", "MILLPOND_STATS"),
    ),
    Verb(
        ("report",), of_programs.ReportRequest, "millpond.commands.report:report",
        "Report the stored results as a page, text, data, or a file for another tool.",
        (
            ("millpond report -o report.html", "everything as one offline page"),
            ("millpond report results/store --run latest -o profile.pb.gz", "the call tree of the latest run"),
            ("millpond report *.contribution.json -o matrix.html", "papers' statements on many machines"),
        ),
        (renamed("--output", "-o"),),
    ),
    Verb(
        ("compare",), of_programs.CompareRequest, "millpond.commands.compare:compare",
        "Compare two runs, stores or traces, as a gate for CI, or two builds of a program.",
        (
            ('millpond compare old/store new/store --fail-if "peak_bytes > +5%"', "status 1 if memory grew"),
            ('millpond compare old.mpt new.mpt --fail-if "new context > 1MB"', "what the new build allocates more"),
            ("millpond compare --after ./new ./old input.txt", "the effect of a change, and its prediction"),
        ),
        (),
        "Two runs or stores are compared cell by cell; a change inside the noise never breaches a condition. Two "
        "builds run in interleaved rounds, and are compared with the prediction of the latest advise in the store.",
        writes=(("results/store/", "with --after: the observations of all rounds; --store names another folder"),),
        environment=_RUNS,
    ),
    Verb(
        ("synthesize",), of_programs.SynthesizeRequest, "millpond.commands.synthesize:synthesize_classes",
        "Make an allocator whose size classes fit a program's requests.",
        (
            ("millpond synthesize program.mpt -o my_allocator.hpp", "a C++ header"),
            ("millpond synthesize program.mpt -o my_malloc.so", "then: LD_PRELOAD=./my_malloc.so ./program"),
        ),
        (
            old_file("--output", "header", ".hpp"), old_file("--preload", "malloc", ".so"),
            renamed("--weight", "--set weight="), renamed("--granule", "--set granule="),
            renamed("--largest", "--set largest="), renamed("--moments", "--set moments="),
            _with("--arena", "arena"), _with("--score", "score"),
        ),
        environment=("CXX", "MILLPOND_BIN", "TMPDIR"),
    ),
    Verb(
        ("try",), of_programs.TryRequest, "millpond.commands.trial:trial",
        "Measure a program under a plan and under every control, or run it with a littered heap.",
        (
            ("millpond try --plan one.plan.json ./program input.txt", "interleaved rounds; exits as the program does"),
            ("millpond try --litter ./program input.txt", "one run in a heap full of holes"),
        ),
        (
            _LIST, renamed("--blocks", "--set blocks="), renamed("--trace", "--set blocks="),
            renamed("--fraction", "--set fraction="),
        ),
        environment=_RUNS,
    ),
    Verb(
        ("doctor",), of_programs.DoctorRequest, "millpond.commands.doctor:doctor",
        "Examine this machine and this installation, and explain the effects on results.",
        (("millpond doctor", "what to expect of results here; status 4: something is missing"),),
        environment=("LD_LIBRARY_PATH", *_RUNS),
    ),
    Verb(
        ("trace", "record"), of_traces.RecordRequest, "millpond.commands.record:record",
        "Record every heap event of a program and of the processes that it starts.",
        (
            ("millpond trace record ./program input.txt", "writes program.mpt; exits as the program does"),
            ("millpond trace record --with owners,frees -o more.mpt ./program", "also which object owns each block"),
            ("millpond trace record --attach 4711 --for 10", "ten seconds of a program that runs already"),
        ),
        (
            renamed("--output", "-o"), renamed("--max-bytes", "--max-trace"), _with("--references", "references"),
            _with("--owners", "owners"), _with("--frees", "frees"), _with("--check-contexts", "contexts"),
            _with("--with-system", "system"), renamed("--scopes", "--scope @"),
            renamed("--scope-entries", "--set scope-entries="), renamed("--ahead", "--set ahead="),
            renamed("--mode", "--set mode="), renamed("--bytes-max", "--set access-bytes="),
            renamed("--preload", "--malloc"), old("--skip-start", "", lambda _: ("--window", "from=main")),
            old("--from", "N", lambda n: ("--window", f"instructions={n}:")),
            old("--instructions", "N", lambda n: ("--window", f"instructions=:{n}")),
        ),
        writes=(
            ("PROGRAM.mpt", "the trace of the program, if no -o names another file"),
            ("PROGRAM.mpt.PID", "the trace of each process that the program started"),
            ("PROGRAM-1.mpt", "with --with idle: the trace of the first stretch"),
            ("PROGRAM.mpt.partial", "the recording while it is made; --finish completes one that was left"),
        ),
        environment=("LD_PRELOAD", "XDG_RUNTIME_DIR", *_SYMBOLS),
    ),
    Verb(
        ("trace", "control"), of_traces.ControlRequest, "millpond.commands.record:control",
        "Reach a program while it is recorded: start, stop and snapshot with `--with idle`, mark phases always.",
        (
            ("millpond trace control 4711 start", "records until stop"),
            ("millpond trace control 4711 stop", "writes program-1.mpt, and prints its name"),
            ("millpond trace control 4711 snapshot", "writes what was recorded so far, and goes on in another trace"),
            ("millpond trace control 4711 mark load", "begins a phase, as `millpond_phase(\"load\")` inside would"),
        ),
        details="The program's children are reached with it. Only its own user can reach it.",
        environment=("MILLPOND_BIN", "XDG_RUNTIME_DIR"),
    ),
    Verb(
        ("trace", "show"), of_traces.ShowRequest, "millpond.commands.characterise:show",
        "Group a trace's allocations into subsystems; show their density, locality, lifetimes and legality.",
        (
            ("millpond trace show program.mpt", "a row for each subsystem"),
            ("millpond trace show program.mpt -o plans/ -o functions.scopes", "candidate plans, scopes to observe"),
            ("millpond trace show --merge 'traces/*.mpt' -o fleet.html", "all processes of a service as one"),
        ),
        (
            old("--plan-out", "DIR", lambda folder: ("-o", f"plans:{folder}")),
            old_file("--scopes-out", "scopes", ".scopes"), renamed("--cache", "--simulate"),
            renamed("--observed", "SCOPES", "TRACE"),
        ),
        environment=_SYMBOLS,
    ),
    Verb(
        ("trace", "replay"), of_traces.ReplayRequest, "millpond.commands.replay:replay",
        "Replay a trace's heap events on real allocators and compare them with the recorded one.",
        (
            ("millpond trace replay program.mpt", "on every strategy and every malloc library of this machine"),
            ("millpond trace replay --plan one.plan.json --malloc jemalloc program.mpt", "on these two only"),
        ),
        (_LIST, old("--pace", "", lambda _: ("--order", "paced"))),
        environment=("LD_LIBRARY_PATH", "MILLPOND_BIN"),
    ),
    Verb(
        ("trace", "simulate"), of_traces.SimulateRequest, "millpond.commands.simulate:simulate",
        "Count the misses of caches and translation buffers, and page faults, of a program's data references.",
        (
            ("millpond trace simulate -o misses.html program.mpt", "misses of all caches and memories"),
            ("millpond trace simulate --latencies measure program.mpt", "also the time on this machine's levels"),
        ),
        _SIMULATION, of_traces.SIMULATORS,
        environment=("MILLPOND_BIN",),
    ),
    Verb(
        ("trace", "layout"), of_traces.LayoutRequest, "millpond.commands.layout:layout",
        "Predict the misses of a recorded program on other allocators, without running it again.",
        (("millpond trace layout program.mpt multipool jemalloc", "side by side with the recorded malloc"),),
        _SIMULATION,
        "The recorded calls are repeated on each allocator, and the references are moved to the new places of the "
        "objects.\n\n" + of_traces.SIMULATORS,
        environment=("LD_LIBRARY_PATH", "MILLPOND_BIN"),
    ),
    Verb(
        ("schema",), of_programs.SchemaRequest, "millpond.commands.schema:schema",
        "Print the JSON Schema of a JSON document that Millpond writes.",
        (("millpond schema millpond.advice.1", "the document of advise"),), is_expert=True,
    ),
    Verb(
        ("completion",), of_programs.CompletionRequest, "millpond.commands.shell_files:completion",
        "Print the completion of a shell.",
        (("source <(millpond completion bash)", "completes verbs and options"),), is_expert=True,
    ),
    Verb(
        ("man",), of_programs.ManRequest, "millpond.commands.shell_files:man", "Write the man pages.",
        (("millpond man ~/.local/share/man/man1", "then: man millpond-trace-record"),), is_expert=True,
    ),
)  # fmt: skip

NOUNS = {"trace": "Record a program's heap events, and study what was recorded."}

# Verbs of earlier versions, with the words that replace them.
OLD_VERBS = {
    "record": ("trace", "record"), "characterise": ("trace", "show"), "replay": ("trace", "replay"),
    "simulate": ("trace", "simulate"), "trial": ("try",), "litter": ("try", "--litter"),
}  # fmt: skip
# The verb of earlier versions that is a program of its own now.
OLD_BENCH = "bench"


def find(words: list[str], verbs: tuple[Verb, ...] = VERBS) -> tuple[Verb, list[str]] | None:
    """Returns the verb that a command line begins with, and the words after it; None for another word."""
    fitting = [one for one in verbs if tuple(words[: len(one.words)]) == one.words]
    return (fitting[0], words[len(fitting[0].words) :]) if fitting else None


def nearest(word: str, verbs: tuple[Verb, ...] = VERBS) -> str:
    """Returns the verb or noun that is most similar to a word; empty if none is similar."""
    names = [*{one.words[0]: None for one in verbs}, *(one.words[-1] for one in verbs)]
    found = get_close_matches(word, names, n=1)
    return next((one.name for one in verbs if found and found[0] in one.words), "") if found else ""
