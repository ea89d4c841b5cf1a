# SPDX-License-Identifier: BSL-1.0
"""The laboratory on aarch64, under an emulator: exact counts and names, also read by the programs of this machine.

qemu-aarch64 ─▶ millpond-record ─exec_by_emulator─▶ qemu-aarch64 ─▶ known_calls   a trace
                                                       this machine's characterise ─▶ the same figures

Kernels for aarch64 have pages of 4, 16 or 64 KiB; the emulator gives its programs each of them (QEMU_PAGESIZE). It
accepts calls that such a kernel refuses, so a test reads the addresses of the calls for memory. Of a file's last page
it knows only the bytes up to the file's end, so files that are run with large pages get zeros up to a whole page.

scripts/aarch64 builds the programs and runs this file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "aarch64"
PROGRAMS = BUILD / "test_programs"
NATIVE = Path(os.environ.get("MILLPOND_BIN") or REPOSITORY / "build" / "release" / "bin").absolute()
ROOT = BUILD / "root"
EMULATOR = "/usr/bin/qemu-aarch64"
LIMIT_SECONDS = 300
COUNT, THREADS = 1000, 2
LARGE_PAGES = (16 << 10, 64 << 10)
SIGNAL_CALLS, STACK_CALLS = ("handler", "alternate", "nested", "jump"), ("jump", "coroutines", "frames", "recursion")


def emulated(program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of the aarch64 build, which may start others, with these variables of the emulator."""
    preload = PROGRAMS / "exec_by_emulator.so"
    words = [EMULATOR, "-L", str(ROOT), "-E", f"LD_PRELOAD={preload}", str(BUILD / "bin" / program), *arguments]
    environment = {**os.environ, "MILLPOND_EMULATOR": EMULATOR, "MILLPOND_EMULATOR_ROOT": str(ROOT), **variables}
    return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=LIMIT_SECONDS, check=False)


def record(trace: Path, program: str, *arguments: str, **variables: str) -> str:
    """Records a program with frequent checks of contexts; returns what it printed."""
    words = ("--check-contexts", "-o", str(trace), "--", str(PROGRAMS / program), *arguments)
    done = emulated("millpond-record", *words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def marked_counts(trace: Path) -> dict[str, int]:
    """Counts the allocations of 5000 to 5999 bytes, as this machine's millpond-trace reads them."""
    words = [str(NATIVE / "millpond-trace"), "dump", str(trace)]
    dump = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\d+ \d+ (allocate|realloc_allocate) \S+ bytes=5\d{3} ", dump, re.MULTILINE)
    return {"allocations": found.count("allocate"), "reallocations": found.count("realloc_allocate")}


def characterised(words: list[str], folder: Path) -> dict[str, Any]:
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(scope="module")
def whole_pages() -> None:
    """Lengthens programs and libraries of this build to a multiple of the largest page."""
    folders = [
        PROGRAMS,
        BUILD / "bin",
        BUILD / "lib" / "millpond",
        *ROOT.glob("lib/*-gnu"),
        *ROOT.glob("usr/lib/*-gnu"),
    ]
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file() and not path.is_symlink()):
        with path.open("r+b") as file:
            is_program = file.read(4) == b"\x7fELF"
            if is_program:
                file.truncate(-(-path.stat().st_size // LARGE_PAGES[-1]) * LARGE_PAGES[-1])


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aarch64") / "known_calls.mpt"
    record(path, "known_calls", str(COUNT), str(THREADS))
    return path


@pytest.fixture(scope="module")
def facts(trace: Path) -> dict[str, Any]:
    return characterised(
        [str(NATIVE / "millpond-characterise"), "--contexts", "contexts.json", str(trace)], trace.parent
    )


def subsystem(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in document["subsystems"] if each["name"] == name]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *(("stacks", (mode,)) for mode in (*STACK_CALLS, "thread_coroutines", "exceptions")),
        *(("signed_stacks", (mode,)) for mode in ("recursion", "exceptions")),
        *(("signals", (mode,)) for mode in SIGNAL_CALLS),
        ("threads", ("together", "1000")),
        ("threads", ("hand_on", "500")),
        ("calls", ()),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_every_call_is_recorded(program: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    printed = record(tmp_path / "t.mpt", program, *arguments)
    said = dict(re.findall(r"^(allocations|reallocations) (\d+)$", printed, re.MULTILINE))
    assert marked_counts(tmp_path / "t.mpt") == {name: int(number) for name, number in said.items()}


@pytest.mark.parametrize("program", ["stacks", "signed_stacks"])
def test_cached_contexts_agree_with_whole_walks(program: str, tmp_path: Path) -> None:
    record(tmp_path / "t.mpt", program, "recursion")
    words = [str(NATIVE / "millpond-characterise"), "--summary", str(tmp_path / "t.mpt")]
    (summary,) = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    aliasing = summary["trace"]["aliasing"]
    assert aliasing["sampled"] > 100
    assert aliasing["differed"] == 0


def test_subsystems_have_their_names_and_counts(facts: dict[str, Any]) -> None:
    book, table = subsystem(facts, "orders::book"), subsystem(facts, "prices::table")
    calls = COUNT * THREADS
    assert (book["allocations"], book["frees"], book["bytes"], book["threads"]) == (calls, calls, 48 * calls, THREADS)
    assert (table["allocations"], table["frees"], table["bytes"]) == (calls, calls, 800 * calls)
    assert facts["trace"]["lost"] == 0
    assert facts["process"]["exit_status"] == 0


def test_contexts_lead_from_the_thread_to_the_function(trace: Path, facts: dict[str, Any]) -> None:
    assert facts["subsystems"]
    document = json.loads((trace.parent / "contexts.json").read_text())
    nodes, functions = document["nodes"], document["functions"]
    paths = {}
    for number, (caller, function, _, allocations, *_rest) in enumerate(nodes):
        paths[number] = (*(paths[caller - 1] if caller else ()), functions[function])
        if functions[function] == "orders::book::add":
            assert allocations == COUNT * THREADS
            assert paths[number][-2:] == ("work", "orders::book::add")
            return
    pytest.fail("no context ends in orders::book::add")


def test_contexts_cross_signal_handlers(tmp_path: Path) -> None:
    record(tmp_path / "t.mpt", "signals", "handler")
    words = [str(NATIVE / "millpond-characterise"), "--contexts", "contexts.json", str(tmp_path / "t.mpt")]
    characterised(words, tmp_path)
    document = json.loads((tmp_path / "contexts.json").read_text())
    paths: list[tuple[str, ...]] = []
    for caller, function, *_rest in document["nodes"]:
        paths.append((*(paths[caller - 1] if caller else ()), document["functions"][function]))
    handlers = [path for path in paths if path[-1].endswith("allocating_handler")]
    assert handlers
    assert all("main" in path for path in handlers)


def test_emulated_characterise_gives_the_same_figures(trace: Path, facts: dict[str, Any]) -> None:
    done = emulated("millpond-characterise", str(trace))
    assert done.returncode == 0, done.stderr
    here = json.loads(done.stdout)
    figures = ("kind", "modules", "allocations", "frees", "bytes", "lifetimes", "sizes", "N", "W", "threads")
    for name in ("orders::book", "prices::table"):
        emulated_one, native_one = subsystem(here, name), subsystem(facts, name)
        assert [emulated_one[each] for each in figures] == [native_one[each] for each in figures]


def trial(folder: Path, routes: list[dict[str, object]], **variables: str) -> dict[str, Any]:
    """Surveys known_calls, compiles a plan of these routes, and runs one round; returns its result."""
    program = [str(PROGRAMS / "known_calls"), str(COUNT), str(THREADS)]
    survey, plan, compiled, result = (folder / name for name in ("survey", "a.plan.json", "routes", "result"))
    done = emulated("millpond-trial", "--survey", str(survey), "--", *program, **variables)
    assert done.returncode == 0, done.stderr
    identity = json.loads(survey.read_text())["processes"][0]["program"]
    plan.write_text(json.dumps({"schema": "millpond.plan/1", "program": identity, "routes": routes}))
    words = ("--compile", str(plan), "--modules", str(survey), "-o", str(compiled))
    done = emulated("millpond-trial", *words, **variables)
    assert done.returncode == 0, done.stderr
    words = ("--round", "plan", "--routes", str(compiled), "--result", str(result), "--", *program)
    done = emulated("millpond-trial", *words, **variables)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(result.read_text())
    assert document["exit_status"] == 0
    return document


def route(name: str, pool: str) -> dict[str, object]:
    return {"subsystems": [name], "pool": pool, "strategy": "synchronized(multipool)", "huge_pages": False}


def test_a_trial_routes_each_subsystem_to_its_pool(tmp_path: Path) -> None:
    result = trial(tmp_path, [route("orders::book", "orders"), route("prices::table", "prices")])
    pools = {pool["pool"]: (pool["allocations"], pool["deallocations"]) for pool in result["router"]["pools"]}
    assert pools == {"orders": (COUNT * THREADS,) * 2, "prices": (COUNT * THREADS,) * 2}


def test_a_plan_from_the_trace_can_be_tried(trace: Path, tmp_path: Path) -> None:
    done = emulated("millpond-characterise", "--plan-out", str(tmp_path), str(trace))
    assert done.returncode == 0, done.stderr
    plans = sorted(tmp_path.rglob("*.plan.json"))
    assert plans
    result = trial(tmp_path, json.loads(plans[0].read_text())["routes"])
    assert sum(pool["allocations"] for pool in result["router"]["pools"]) >= COUNT * THREADS


@pytest.mark.usefixtures("whole_pages")
@pytest.mark.parametrize("page_bytes", LARGE_PAGES)
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("calls", ()),
        ("threads", ("together", "1000")),
        ("stacks", ("recursion",)),
        ("signals", ("handler",)),
        ("processes", ("fork", "50")),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_large_pages_record_the_same(program: str, arguments: tuple[str, ...], page_bytes: int, tmp_path: Path) -> None:
    printed = record(tmp_path / "t.mpt", program, *arguments, QEMU_PAGESIZE=str(page_bytes))
    said = re.findall(r"^(allocations|reallocations) (\d+)$", printed, re.MULTILINE)
    counted = [marked_counts(trace) for trace in tmp_path.glob("t.mpt*")]
    for name in ("allocations", "reallocations"):
        assert sum(each[name] for each in counted) == sum(int(number) for which, number in said if which == name)
    assert not re.findall(r"^.*: (?!1$)\d+$", printed, re.MULTILINE)


@pytest.mark.usefixtures("whole_pages")
@pytest.mark.parametrize("page_bytes", LARGE_PAGES)
def test_large_pages_try_the_same(page_bytes: int, tmp_path: Path) -> None:
    routes = [route("orders::book", "orders"), route("prices::table", "prices")]
    result = trial(tmp_path, routes, QEMU_PAGESIZE=str(page_bytes))
    pools = {pool["pool"]: (pool["allocations"], pool["deallocations"]) for pool in result["router"]["pools"]}
    assert pools == {"orders": (COUNT * THREADS,) * 2, "prices": (COUNT * THREADS,) * 2}


@pytest.mark.usefixtures("whole_pages")
@pytest.mark.parametrize("page_bytes", LARGE_PAGES)
def test_calls_for_memory_begin_at_pages(page_bytes: int, tmp_path: Path) -> None:
    words = ("-o", str(tmp_path / "t.mpt"), "--", str(PROGRAMS / "threads"), "together", "1000")
    done = emulated("millpond-record", *words, QEMU_PAGESIZE=str(page_bytes), QEMU_STRACE="1")
    assert done.returncode == 0, done.stderr
    calls = re.findall(r"\b(?:munmap|mprotect|madvise|mremap)\((0x[0-9a-f]+|\d+),", done.stderr)
    assert len(calls) > 50
    assert [address for address in calls if int(address, 0) % page_bytes != 0] == []


@pytest.mark.parametrize(
    ("options", "why"),
    [(["--owners"], "the caller's registers are sampled"), (["--scope", "main"], "scopes are observed")],
)
def test_what_needs_other_instructions_is_refused(options: list[str], why: str, tmp_path: Path) -> None:
    done = emulated("millpond-record", *options, "-o", str(tmp_path / "t.mpt"), "--", str(PROGRAMS / "known_calls"))
    assert done.returncode == 4
    assert f"{why} on x86-64 only" in done.stderr
    assert not list(tmp_path.iterdir())
