# SPDX-License-Identifier: BSL-1.0
"""A synthesized allocator, from a recorded program to a header that compiles and a malloc that runs other programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import BIN, INCLUDE, ROOT, compile_program, compilers

PROGRAM = "n = 0\nfor i in range(3000):\n    n += len({j: str(i * j) for j in range(i % 20)})\nprint(n)\n"
USE = """\
#include "my_allocator.hpp"

#include <cstdio>

int main() {
    my_allocator::heap<> heap;
    for (std::size_t bytes = 1; bytes <= 5000; ++bytes) {
        void* const block = heap.allocate(bytes, 8);
        const unsigned number = my_allocator::scheme::class_of(bytes, 8);
        if (number < my_allocator::scheme::count && heap.usable_bytes(block) != my_allocator::scheme::bytes_of(number))
            return 1;
        heap.deallocate(block);
    }
    std::printf("%u\\n", my_allocator::scheme::count);
}
"""


def millpond(folder: Path, *words: str, status: int = 0) -> str:
    """Runs the command line; returns standard output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MILLPOND_BIN": str(BIN)}
    done = subprocess.run(
        [sys.executable, "-m", "millpond", *words], cwd=folder, env=environment, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two traces, and the header and malloc synthesized from the first."""
    folder = tmp_path_factory.mktemp("synthesized")
    for name, count in (("first", "3000"), ("second", "500")):
        program = ["/usr/bin/python3", "-c", PROGRAM.replace("3000", count)]
        subprocess.run(
            [BIN / "millpond-record", "-o", f"{name}.mpt", "--", *program], cwd=folder, check=True, timeout=120,
            env={**os.environ, "PYTHONMALLOC": "malloc"}, capture_output=True,
        )  # fmt: skip
    millpond(folder, "synthesize", "first.mpt", "--on", "second.mpt", "-o", "my_allocator.hpp", "-o",
             "my_malloc.so", "-o", "found.json")  # fmt: skip
    return folder


@pytest.mark.more
def test_held_out_input_is_reported_separately(made: Path) -> None:
    found = json.loads((made / "found.json").read_text())
    assert found["schema"] == "millpond.synthesis/1" and len(found["classes"]) <= 32
    assert [(t["path"], t["held_out"]) for t in found["traces"]] == [("first.mpt", False), ("second.mpt", True)]
    first = {s["source"]: s["peak_bytes"] for s in found["traces"][0]["sources"]}
    assert first["measured"] == min(first.values())
    assert found["traces"][1]["lifetimes"]["unknown_site_bytes"] < found["traces"][1]["lifetimes"]["bytes"] / 2


@pytest.mark.more
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_header_compiles_and_serves_every_size(made: Path, name: str) -> None:
    if name not in compilers():
        pytest.skip(f"{name} does not work here")
    source = made / "use.cpp"
    source.write_text(USE)
    sources = ROOT / "src" / "os" / "posix.cpp"
    program = compile_program(compilers()[name], source, made / f"use-{name}", "-Wall", "-Wextra", f"-I{INCLUDE}",
                              str(sources))  # fmt: skip
    classes = json.loads((made / "found.json").read_text())["classes"]
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == f"{len(classes)}\n"


@pytest.mark.more
def test_malloc_runs_programs_with_unchanged_output(made: Path) -> None:
    for program in (["/usr/bin/python3", "-c", PROGRAM], ["/bin/ls", "/"], ["/bin/sh", "-c", "ls / | sort | wc -l"]):
        environment = {**os.environ, "PYTHONMALLOC": "malloc"}
        alone = subprocess.run(program, env=environment, capture_output=True, check=True)
        environment |= {"LD_PRELOAD": str(made / "my_malloc.so"), "MILLPOND_STATS": "1"}
        under = subprocess.run(program, env=environment, capture_output=True, check=True)
        assert under.stdout == alone.stdout
        # The others close standard error before they end.
        assert b"millpond synthesized: " in under.stderr or "python3" not in program[0]


# Two callers allocate blocks of one size through a wrapper, so malloc's return address is the same. One caller's blocks
# die at once. With `late`, they live on, against the prediction, and are moved and freed out of order.
SITES = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* __attribute__((noinline)) checked(size_t bytes) {
    void* const p = malloc(bytes);
    if (p == NULL) abort();
    return memset(p, 1, bytes);
}
static void* __attribute__((noinline)) brief(size_t bytes) { return (char*)checked(bytes) + 0; }
static void* __attribute__((noinline)) lasting(size_t bytes) { return (char*)checked(bytes) + 0; }

static unsigned char* kept[40000];

int main(int count, char** words) {
    const int late = count > 1 && strcmp(words[1], "late") == 0;
    const int once = count > 1 && strcmp(words[1], "once") == 0;
    unsigned long sum = 0;
    for (int i = 0; i < 20000; ++i) {
        unsigned char* const p = brief(48);
        memset(p, i % 251, 48);
        sum += p[47];
        if ((late && i % 7 == 0) || (once && i == 9999))
            kept[20000 + i] = p;
        else
            free(p);
        kept[i] = lasting(48);
        memset(kept[i], i % 241, 48);
    }
    for (int i = 0; i < 20000; i += 3)
        if (kept[20000 + i] != NULL) kept[20000 + i] = realloc(kept[20000 + i], 100 + i % 5000);
    for (int i = 0; i < 40000; ++i) {
        unsigned char* const p = kept[i * 7919UL % 40000];
        if (p == NULL) continue;
        for (int at = 1; at < 48; ++at)
            if (p[at] != p[0]) return 1;
        sum += p[0];
        free(p);
    }
    printf("%lu\\n", sum);
    return 0;
}
"""


@pytest.mark.more
@pytest.mark.parametrize(("recorded", "wrong_bytes"), [([], 0), (["once"], 48)])
def test_arenas_survive_mispredictions(recorded: list[str], wrong_bytes: int, tmp_path: Path) -> None:
    source, program, trace = tmp_path / "sites.c", tmp_path / "sites", tmp_path / "sites.mpt"
    source.write_text(SITES)
    subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", source, "-o", program], check=True)
    recorder = [BIN / "millpond-record", "-o", trace, "--", program, *recorded]
    subprocess.run(recorder, check=True, timeout=120, capture_output=True)
    millpond(tmp_path, "synthesize", str(trace), "--with", "arena", "-o", "sites_malloc.hpp", "-o", "sites_malloc.so",
             "-o", "found.json")  # fmt: skip
    found = json.loads((tmp_path / "found.json").read_text())
    (site,) = found["sites"]
    assert (len(site["frames"]), site["size"], site["objects"]) == (2, 48, 20000)
    arena = found["traces"][0]["arena"]
    assert (site["wrong_bytes"], arena["wrong_bytes"]) == (wrong_bytes, wrong_bytes)
    assert arena["most_pinned_bytes"] == (4096 if wrong_bytes else 0), "the chunk of the object that lived longer"
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "sites_malloc.so"), "MILLPOND_STATS": "1"}
    placed = []
    for words in ([], ["late"]):
        alone = subprocess.run([program, *words], capture_output=True, check=True)
        under = subprocess.run([program, *words], env=environment, capture_output=True, check=True, text=True)
        assert under.stdout.encode() == alone.stdout
        counted = re.search(r"in the arena (\d+) of these blocks, .* (\d+) frees, (\d+) chunks held", under.stderr)
        assert counted, under.stderr
        assert counted[1] == counted[2], "all were freed"
        assert counted[3] == "0"
        placed.append(int(counted[1]))
    assert placed[0] == 20000
    assert 0 < placed[1] < 20000, "pinned chunks serve no more, and the class does"


@pytest.mark.slow
def test_classes_are_scored_by_instructions_and_misses(made: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    millpond(made, "synthesize", "second.mpt", "--with", "score", "-o", "scored.json")
    (trace,) = json.loads((made / "scored.json").read_text())["traces"]
    counts = {source["source"]: source["instructions"] for source in trace["sources"]}
    assert len(counts) == 4
    # Each request and each free takes a few dozen instructions, for any classes.
    assert all(
        10 * trace["census"]["requests"] < count < 1000 * trace["census"]["requests"] for count in counts.values()
    )
    misses = [(source["misses"], source["allocator_misses"]) for source in trace["sources"]]
    if misses != [(None, None)] * 4:  # where references can be captured
        assert all(0 < own < every for every, own in misses)


@pytest.mark.more
def test_only_generated_headers_are_overwritten(made: Path) -> None:
    own = made / "own.hpp"
    own.write_text("// Mine.\n")
    assert "nothing is overwritten" in millpond(made, "synthesize", "first.mpt", "-o", "own.hpp", status=2)
    assert own.read_text() == "// Mine.\n"
    before = (made / "my_allocator.hpp").read_text()
    millpond(made, "synthesize", "first.mpt", "-o", "my_allocator.hpp", "--granule", "16")
    assert (made / "my_allocator.hpp").read_text() == before
