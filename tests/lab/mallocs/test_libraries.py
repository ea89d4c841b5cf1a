# SPDX-License-Identifier: BSL-1.0
"""Every malloc library exports the whole family and nothing else, and real programs run on it unchanged."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import harness
import pytest
from harness import BIN, Program
from real_programs import REAL_PROGRAMS, text
from special_programs import SPECIAL_PROGRAMS

from millpond_bench.suites.malloc import LIBRARIES
from tiers import USUAL_MALLOCS, mostly_more

FOLDER = BIN.parent / "lib" / "millpond"
MALLOCS = ("multipool", *LIBRARIES)
SETS = pytest.mark.parametrize(
    "libraries",
    [USUAL_MALLOCS, pytest.param([name for name in MALLOCS if name not in USUAL_MALLOCS], marks=pytest.mark.more)],
    ids=["usual", "others"],
)

_C_FAMILY = {
    "malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign", "valloc",
    "pvalloc", "malloc_usable_size", "free_sized", "free_aligned_sized",
}  # fmt: skip
# Opened libraries share the malloc, so dlopen is ours (preload/dlopen_exports.hpp).
_OPENING = {"dlopen", "dlmopen"}
_USAGE = {"malloc_trim", "mallinfo", "mallinfo2", "malloc_stats"}
# operator new and delete, one object and arrays: plain, nothrow, aligned, aligned and nothrow, sized.
_OPERATORS = {
    *(f"_Zn{one}m{more}" for one in "wa" for more in ("", "RKSt9nothrow_t", "St11align_val_t",
                                                      "St11align_val_tRKSt9nothrow_t")),
    *(f"_Zd{one}Pv{more}" for one in "la" for more in ("", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t",
                                                       "St11align_val_tRKSt9nothrow_t")),
}  # fmt: skip


def exported(library: str) -> set[str]:
    path = FOLDER / f"libmillpond-{library}.so"
    said = subprocess.run(["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in said.stdout.splitlines()}


@pytest.mark.parametrize("library", mostly_more(MALLOCS, *USUAL_MALLOCS))
def test_exports_the_family_and_its_usage(library: str) -> None:
    assert exported(library) == _C_FAMILY | _OPERATORS | _USAGE | _OPENING


@pytest.mark.parametrize("library", ["record", "trial"])
def test_router_and_recorder_export_the_family(library: str) -> None:
    family = {name for name in exported(library) if "millpond" not in name}
    assert family >= _C_FAMILY | _OPERATORS
    assert not family & _USAGE


_MAKE = b"""all: $(patsubst %,out%,1 2 3 4 5 6 7 8)
out%: ; @i=0; while [ $$i -lt 20 ]; do i=$$((i + 1)); done; echo $* $$i > $@
"""

_NODE = """
const table = new Map();
for (let i = 0; i < 20000; ++i) table.set('key' + i % 500, {i, list: [i, String(i)]});
const buffers = Array.from({length: 50}, (_, i) => Buffer.alloc(1000 + i * 100, i));
console.log(JSON.stringify([...table].slice(0, 20)).length, Buffer.concat(buffers).length);
"""

_CPP_LARGE = b"""
#include <algorithm>
#include <map>
#include <string>
#include <vector>
template <int N> struct level { std::map<std::string, std::vector<int>> all; level<N - 1> below; };
template <> struct level<0> {};
int main() {
    level<90> top;
    for (int i = 0; i < 9; ++i) top.all["x"].push_back(i);
    std::sort(top.all["x"].begin(), top.all["x"].end());
    return static_cast<int>(top.all.size());
}
"""

# The server's output is discarded; its data are the same after every run.
_REDIS = b"""redis-server --port 0 --unixsocket ./socket --save '' > /dev/null & server=$!
until redis-cli -s ./socket ping > /dev/null 2>&1; do kill -0 $server || exit 9; done
redis-benchmark -s ./socket -n 3000 -c 8 -d 200 -q -t lpush,set,get,mset > /dev/null
redis-cli -s ./socket llen mylist; redis-cli -s ./socket set a b; redis-cli -s ./socket get a
redis-cli -s ./socket shutdown nosave; wait $server; echo $?
"""

# Each a second or less, on first_fit too.
SMALLER = {"gawk": text(8_000), "perl": text(5_000), "python3": text(1_000)}
PROGRAMS = [
    *(replace(each, stdin=SMALLER.get(each.name, each.stdin)) for each in REAL_PROGRAMS if each.name not in ("g++",)),
    Program("g++", ("g++", "-std=c++17", "-O0", "-S", "-frandom-seed=1", "-o", "made.s", "in.cpp"),
            prepare={"in.cpp": _CPP_LARGE}),
    Program("make", ("make", "-s", "-j2"), prepare={"Makefile": _MAKE}),
    Program("redis", ("sh", "in.sh"), prepare={"in.sh": _REDIS}),
    Program("node", ("node", "--single-threaded-gc", "-e", _NODE)),
]  # fmt: skip


@SETS
@pytest.mark.parametrize("program", mostly_more(PROGRAMS, "sqlite3"), ids=lambda program: program.name)
def test_real_programs_run_unchanged(program: Program, libraries: Sequence[str], tmp_path: Path) -> None:
    if why := harness.missing(program):
        pytest.skip(why)
    if program.name == "redis" and not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
        pytest.skip("redis-server or redis-benchmark is not here")
    bare = harness.run_bare(program, tmp_path / "bare")
    for library in libraries:
        assert harness.run_bare(_on(library, program), tmp_path / library) == bare, library


@SETS
@pytest.mark.parametrize("program", SPECIAL_PROGRAMS, ids=lambda program: program.name)
def test_programs_that_are_hard_to_record_run_unchanged(
    program: Program, libraries: Sequence[str], tmp_path: Path
) -> None:
    bare = harness.run_bare(program, tmp_path / "bare")
    for library in libraries:
        assert harness.run_bare(_on(library, program), tmp_path / library) == bare, library


def _on(library: str, program: Program) -> Program:
    """Returns the program with the library before its own preloaded libraries."""
    path = str(FOLDER / f"libmillpond-{library}.so")
    preloaded = " ".join(filter(None, (path, program.environment.get("LD_PRELOAD"))))
    return replace(program, environment={**program.environment, "LD_PRELOAD": preloaded})
