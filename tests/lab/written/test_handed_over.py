# SPDX-License-Identifier: BSL-1.0
"""Planted programs compile and run as before after the changes of the advice."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from compiling import BIN, INCLUDE, characterised, compilers
from handed_over import C_PROGRAM, CPP_PROGRAM, advice_for, allocate_from, apply, build, changes_of, output, planted

from millpond.advice.code_header import HEADER
from millpond.advice.code_pool import C_HEADER
from millpond.advice.code_pool_test import C_TEST
from millpond.advice.code_writing import NOTE, write
from tiers import mostly_more, scaled

POOL = "new_object_memory"
CPP_OPTIONS = ("-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-I", str(INCLUDE), "-pthread")
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def sanitizes(compiler: str, folder: Path) -> bool:
    """Returns whether programs with sanitizers can be built here."""
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, *SANITIZED, str(source), "-o", str(folder / "empty")]
    built = subprocess.run(command, capture_output=True, check=False).returncode == 0
    return built and subprocess.run([folder / "empty"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def c_compiler() -> str:
    """Returns the C compiler that belongs to a C++ compiler."""
    if "gcc" not in compilers():
        pytest.skip("gcc is not on this machine")
    return "gcc"


def assert_runs_as_before(compiler: str, source: Path, headers: Path, expected: str) -> None:
    """Asserts that the changed program prints the same: plain, in checked mode, and under available sanitizers."""
    options = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", str(headers)]
    for more in ([], ["-DMILLPOND_CHECKED"], [*SANITIZED] if sanitizes(compiler, headers) else []):
        assert output(build(compiler, source, *options, *more)) == expected


@pytest.mark.lengthy
def test_c_changes_name_the_shared_free_and_work(c_compiler: str, tmp_path: Path) -> None:
    source = planted(C_PROGRAM, tmp_path / "source")
    program = build(c_compiler, source, "-std=c11", "-O1", "-g", "-fno-optimize-sibling-calls")
    expected = output(program)
    advice = advice_for(program, "new_object")
    found = {(Path(c.file).name, c.line, c.kind): c for c in changes_of(advice)}
    assert set(found) == {("objects.c", 5, "allocate"), ("memory.c", 6, "free")}
    freed = found["memory.c", 6, "free"]
    assert "frees 30000 of these blocks, and 30000 of others (50 %" in freed.what
    assert "free_objects (objects.c:16) frees no others" in freed.what
    assert (freed.before, freed.after) == ("free(block);", f"{POOL}_free_any(block);")
    made = found["objects.c", 5, "allocate"]
    assert "xrealloc" in made.what and f"{POOL}_allocate(bytes)" in made.what and not made.before

    folder = tmp_path / "written"
    write(advice, folder)
    assert {p.name for p in folder.iterdir()} == {NOTE, C_HEADER, C_TEST}
    note = (folder / NOTE).read_text()
    assert "memory.c:6" in note and "objects.c:5" in note and f"cc -std=c11 -DMILLPOND_CHECKED {C_TEST}" in note
    allocate_from(source, POOL)  # the one place that has only a description
    apply([freed], C_HEADER)
    assert_runs_as_before(c_compiler, source, folder, expected)


@pytest.mark.lengthy
def test_a_free_shared_by_two_pools_asks_each_of_them(c_compiler: str, tmp_path: Path) -> None:
    source = planted(C_PROGRAM, tmp_path / "source")
    program = build(c_compiler, source, "-std=c11", "-O1", "-g", "-fno-optimize-sibling-calls")
    expected = output(program)
    advice = advice_for(program, "new_object", "new_text", apart=True)
    at_lines = [c for c in changes_of(advice) if c.before]
    (freed,) = [c for c in at_lines if c.kind == "free"]
    assert "new_text_memory_owns(block) ? " in freed.after or f"{POOL}_owns(block) ? " in freed.after
    told = [c for c in changes_of(advice) if c.kind == "free" and not c.before]
    assert len(told) == 1 and "The change of this line above handles this pool, too" in told[0].what
    folder = tmp_path / "written"
    write(advice, folder)
    allocate_from(source, POOL, "new_text_memory")
    apply(at_lines, C_HEADER)
    assert_runs_as_before(c_compiler, source, folder, expected)


@pytest.mark.lengthy
def test_the_callers_that_know_the_size_may_free_by_it(c_compiler: str, tmp_path: Path) -> None:
    source = planted(C_PROGRAM, tmp_path / "source")
    program = build(c_compiler, source, "-std=c99", "-O1", "-g", "-fno-optimize-sibling-calls")
    expected = output(program)
    write(advice_for(program, "new_object"), tmp_path / "written")
    allocate_from(source, POOL)
    objects = source / "objects.c"
    text = objects.read_text().replace("xrealloc(first, first->bytes, 0);", f"{POOL}_free(first, first->bytes);")
    objects.write_text(text)
    changed = build(c_compiler, source, "-std=c99", "-I", str(tmp_path / "written"), "-DMILLPOND_CHECKED")
    assert output(changed) == expected


@pytest.mark.lengthy
def test_cpp_changes_name_both_news_and_the_delete(tmp_path: Path) -> None:
    words = next(iter(compilers().values()))
    source = planted(CPP_PROGRAM, tmp_path / "source")
    program = build(words[0], source, "-std=c++20", "-O1", "-g")
    expected = output(program)
    advice = advice_for(program, "drawing")
    found = {(Path(c.file).name, c.kind): c for c in changes_of(advice)}
    changed = {(Path(c.file).name, c.line) for c in changes_of(advice)}
    assert changed == {("make.cpp", 16), ("make.cpp", 21), ("free.cpp", 8)}
    freed = found["free.cpp", "free"]
    assert "frees 20000 of these blocks and no others" in freed.what
    assert freed.after == "millpond_advice::drawing_memory::destroy(old);"

    folder = tmp_path / "written"
    write(advice, folder)
    apply(changes_of(advice), HEADER)
    for more in ((), ("-DMILLPOND_CHECKED",)):
        assert output(build(words[0], source, *CPP_OPTIONS, "-I", str(folder), *more)) == expected


@pytest.mark.lengthy
def test_a_shared_delete_checks_which_pool_owns_the_block(tmp_path: Path) -> None:
    words = next(iter(compilers().values()))
    files = {
        "main.cpp": """\
#include <cstdio>
struct node { node* next; long number; };
__attribute__((noinline)) void drop(node* one) {
    delete one;
}
struct list {
    node* first = nullptr;
    __attribute__((noinline)) void add(long i) {
        first = new node{first, i};
    }
};
__attribute__((noinline)) node* lone(long i) {
    return new node{nullptr, i};
}
int main() {
    list all;
    long sum = 0;
    for (long i = 0; i < 4000; ++i) {
        all.add(i);
        if (i % 4 == 0) drop(lone(i));
    }
    while (all.first != nullptr) {
        node* const old = all.first;
        all.first = old->next;
        sum += old->number;
        drop(old);
    }
    std::printf("%ld\\n", sum);
}
"""
    }
    source = planted(files, tmp_path / "source")
    program = build(words[0], source, "-std=c++17", "-O1", "-g", "-fno-optimize-sibling-calls")
    expected = output(program)
    advice = advice_for(program, "list")
    freed = next(c for c in changes_of(advice) if c.kind == "free")
    space = "millpond_advice::list_memory"
    assert freed.after == f"{{ if ({space}::owns(one)) {space}::destroy(one); else delete one; }}"
    assert "4000 of these blocks, and 1000 of others (20 %" in freed.what
    folder = tmp_path / "written"
    write(advice, folder)
    note = (folder / NOTE).read_text()
    assert "needs C++20: compile main.cpp (C++17) with -std=c++20" in note
    apply(changes_of(advice), HEADER)
    for more in ((), ("-DMILLPOND_CHECKED",)):
        assert output(build(words[0], source, *CPP_OPTIONS, "-I", str(folder), *more)) == expected


def headers_of(folder: Path) -> Path:
    """A C header with a pool for one thread and one for several, and its test."""
    rows = [{"name": name, "kind": "function", "frees": 1, "containers": [
        {"type": None, "call": None, "bytes": 10, "allocations": 1, "share": 1.0, "why_null": "its own code",
         "places": [{"function": name, "file": "a.c", "line": 1, "language": "C", "standard": "C11"}], "members": []}],
    } for name in ("make", "share */ x")]  # fmt: skip
    from test_written_code import advice_of

    routes = [
        {"subsystems": ["make"], "pool": "make", "strategy": "multipool"},
        {"subsystems": ["share */ x"], "pool": "share */ x", "strategy": "synchronized(multipool)"},
    ]
    write(advice_of(rows, routes), folder)
    return folder


@pytest.mark.lengthy
@pytest.mark.parametrize("standard", mostly_more(["c11", "c99", "gnu17", "c++98", "c++20"]))
def test_c_header_compiles_cleanly_and_keeps_blocks(standard: str, c_compiler: str, tmp_path: Path, seed: int) -> None:
    folder = headers_of(tmp_path / "written")
    # The header is compiled twice: all sources share one pool.
    (folder / "other.c").write_text(
        f'#include "{C_HEADER}"\n#include "{C_HEADER}"\n'
        "void* other_block(void);\nvoid* other_block(void) { return make_memory_allocate(40); }\n"
    )
    is_cpp = standard.startswith("c++")
    options = [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-O1"]
    options += ["-x", "c++" if is_cpp else "c"]
    for number in range(scaled(4, 2)):
        more = [*SANITIZED, "-DMILLPOND_CHECKED"] if number % 2 and sanitizes(c_compiler, tmp_path) else []
        program = build("g++" if is_cpp else c_compiler, folder, *options, *more)
        done = subprocess.run([program, str(seed + number)], capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"seed {seed + number}\nok\n", ""), done.stderr[:500]


COMPARED = """\
#include "millpond_advice.h"

#include <millpond/local.hpp>

#include <cstdio>
#include <map>
#include <random>
#include <vector>

// The slabs of the trial's pool, each after the last.
struct slabs {
    static constexpr std::size_t preferred_chunk_bytes = std::size_t{64} << 10;
    static constexpr bool has_long_slabs = true;
    void* try_allocate_slab(std::size_t bytes, std::size_t, std::size_t) noexcept {
        return std::aligned_alloc(preferred_chunk_bytes, (bytes + 65535) / 65536 * 65536);
    }
    void* try_allocate(std::size_t bytes, std::size_t) noexcept { return try_allocate_slab(bytes, 0, 0); }
    void deallocate(void* chunk, std::size_t, std::size_t) noexcept { std::free(chunk); }
};

// The number of a block's slab, in the order of first use, and where the block lies in it.
class numbered {
  public:
    std::pair<std::size_t, std::size_t> of(void* block) {
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        return {slabs_.try_emplace(address / 65536, slabs_.size()).first->second, address % 65536};
    }

  private:
    std::map<std::uintptr_t, std::size_t> slabs_;
};

int main(int, char** arguments) {
    const unsigned seed = static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10));
    std::mt19937 random(seed);
    millpond::multipool<slabs, millpond::four_an_octave<32768>> trial;
    numbered ours, theirs;
    struct held { void *c, *cpp; std::size_t bytes; };
    std::vector<held> live;
    for (int i = 0; i < 60000; ++i) {
        if (live.empty() || random() % 5 < 3) {
            const std::size_t bytes = random() % 10 == 0 ? random() % 32769 : random() % 200;
            held one{make_memory_allocate(bytes), trial.allocate(bytes, bytes <= 8 ? 8 : 16), bytes};
            if (ours.of(one.c) != theirs.of(one.cpp)) return std::printf("operation %d: another place\\n", i), 1;
            if (!make_memory_owns(one.c)) return std::printf("operation %d: not owned\\n", i), 1;
            live.push_back(one);
        } else {
            held& one = live[random() % live.size()];
            if (random() % 2) make_memory_free(one.c, one.bytes);
            else make_memory_free_any(one.c);
            trial.deallocate(one.cpp, one.bytes, one.bytes <= 8 ? 8 : 16);
            one = live.back();
            live.pop_back();
        }
    }
    std::puts("the same");
}
"""


@pytest.mark.lengthy
def test_c_pool_places_blocks_as_the_trial_does(tmp_path: Path, seed: int) -> None:
    folder = headers_of(tmp_path / "written")
    (folder / C_TEST).unlink()
    (folder / "compare.cpp").write_text(COMPARED)
    program = build(next(iter(compilers().values()))[0], folder, "-std=c++20", "-O1", "-I", str(INCLUDE))
    for number in range(scaled(20, 4)):
        done = subprocess.run([program, str(seed + number)], capture_output=True, text=True, check=False, timeout=120)
        assert done.stdout == "the same\n", f"seed {seed + number}: {done.stdout}"


@pytest.mark.lengthy
@pytest.mark.parametrize("option", mostly_more(["-std=c++17", "-std=c++11", "-std=c++20"]))
def test_language_and_standard_are_those_of_the_compiler(option: str, tmp_path: Path) -> None:
    if "gcc" not in compilers():
        pytest.skip("gcc is not on this machine")
    source = planted(CPP_PROGRAM, tmp_path / "source")
    program = build(compilers()["gcc"][0], source, option, "-O1", "-g")
    row = characterised(program)["drawing"]
    places = [place for container in row["containers"] for place in container["places"]] + row["freed_at"]
    standard = option.removeprefix("-std=").upper()
    assert {(place["language"], place["standard"]) for place in places} == {("C++", standard)}
    assert sum(place["frees"] for place in row["freed_at"]) == row["frees"] == 20000
    assert Counter(place["line"] for place in row["freed_at"]) == {8: 1}


THREADS = """\
#include <thread>
#include <vector>
struct ring {
    std::vector<long*> held = std::vector<long*>(1000);
    __attribute__((noinline)) void fill() {
        for (long*& one : held) one = new long(1);
    }
    __attribute__((noinline)) void empty() {
        for (long* one : held) {
            delete one;
        }
    }
};
int main() {
    ring all;
    for (int round = 0; round < 3; ++round) {
        std::thread([&] { all.fill(); }).join();
        std::thread([&] { all.empty(); }).join();
    }
}
"""


@pytest.mark.lengthy
def test_frees_of_other_threads_have_their_own_place(tmp_path: Path) -> None:
    words = next(iter(compilers().values()))
    source = planted({"main.cpp": THREADS}, tmp_path / "source")
    program = build(words[0], source, "-std=c++20", "-O1", "-g", "-pthread")
    row = characterised(program)["ring"]
    assert [(p["function"], p["line"], p["frees"]) for p in row["freed_at"] if p["through"] is None] == [
        ("ring::empty", 10, 3000)
    ]


@pytest.mark.lengthy
def test_a_recording_without_frees_says_so(c_compiler: str, tmp_path: Path) -> None:
    source = planted(C_PROGRAM, tmp_path / "source")
    program = build(c_compiler, source, "-std=c11", "-O1", "-g", "-fno-optimize-sibling-calls")
    trace = tmp_path / "plain.mpt"
    subprocess.run([BIN / "millpond-record", "-o", trace, "--", program], capture_output=True, check=True, timeout=120)
    text = subprocess.run([BIN / "millpond-characterise", trace], capture_output=True, check=True, timeout=120).stdout
    found = json.loads(text)
    assert found["trace"]["frees_are_placed"] is False
    rows = {row["name"]: row for row in found["subsystems"]}
    assert rows["new_object"]["freed_at"] == []
    assert [(p["line"], p["resizes"]) for p in rows["new_text"]["freed_at"]] == [(9, 30000)]
