# SPDX-License-Identifier: BSL-1.0
"""Blocks left alive, temporaries and growth: of a program with known counts, and of random programs, whose events
a model in this file searches.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from compiling import BIN, HERE, compile_program, compilers

from tiers import mostly_more, scaled

SOURCE = HERE / "habits.cpp"
TIMES = 80
TEMPORARY_EVENTS = 16
STEPS_FOR_EACH_OTHER = 3
Json = dict[str, Any]


def line_of(words: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"//: {words}" in line)


def recorded(program: Path, *arguments: str) -> Path:
    trace = program.with_suffix(".mpt")
    command = [BIN / "millpond-record", "-o", trace, "--", program, *arguments]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    return trace


def characterised(trace: Path) -> Json:
    command = [BIN / "millpond-characterise", "--patterns", trace]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    return dict(json.loads(done.stdout))


def at_line(view: Json, words: str) -> list[Json]:
    return [
        row for row in view["rows"]
        if row["place"]["line"] == line_of(words) and row["place"]["file"].endswith("habits.cpp")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("compiler", "options"), mostly_more([("gcc", "-O0 -g"), ("gcc", "-O2 -g"), ("clang", "-O2 -g")], "gcc -O2 -g")
)
def test_planted_habits_have_their_counts(compiler: str, options: str, tmp_path: Path) -> None:
    if compiler not in compilers():
        pytest.skip(f"{compiler} is not on this machine")
    program = compile_program(compilers()[compiler], SOURCE, tmp_path / "habits", *options.split())
    found = characterised(recorded(program, str(TIMES)))

    [steady] = at_line(found["left"], "left in every quarter")
    assert (steady["objects"], steady["bytes"]) == (TIMES, 100 * TIMES)
    assert all(abs(one - TIMES / 4) <= 2 for one in steady["quarters"])
    [kept] = at_line(found["left"], "kept from the start")
    assert (kept["objects"], kept["bytes"], kept["quarters"]) == (1, 800_000, [1, 0, 0, 0])

    [text] = at_line(found["temporaries"], "temporary of 61 bytes")
    assert (text["objects"], text["bytes"], text["freed_next"]) == (TIMES, 61 * TIMES, TIMES)
    assert text["largest_bytes"] == 61

    [numbers] = at_line(found["growth"], "eleven blocks, ten steps")
    assert numbers["place"]["container"] == "std::vector<int>"
    assert (numbers["chains"], numbers["steps"], numbers["resizes"]) == (TIMES, 10 * TIMES, 0)
    assert numbers["bytes"] == numbers["copied_bytes"] == 4092 * TIMES
    assert numbers["first_bytes_min"] == 4
    assert numbers["final_bytes_min"] == numbers["final_bytes_max"] == 4096
    [names] = at_line(found["growth"], "seven blocks, six steps")
    assert (names["chains"], names["steps"], names["bytes"]) == (TIMES, 6 * TIMES, 2016 * TIMES)
    [text] = at_line(found["growth"], "three steps by realloc")
    assert (text["chains"], text["steps"], text["resizes"], text["bytes"]) == (
        TIMES, 3 * TIMES, 3 * TIMES, 11_100 * TIMES,
    )  # fmt: skip
    functions = {row["place"]["function"] for row in found["growth"]["rows"]}
    assert not any("fill_reserved" in one or "pass_blocks" in one for one in functions)


@dataclass
class DumpedBlock:
    """A block of a dumped trace."""

    thread: int
    born: int  # events of its thread before and with its allocation
    place: int  # among all records
    bytes: int
    context: int
    address: int
    is_resized: bool
    previous: DumpedBlock | None = None
    next: DumpedBlock | None = None
    by_realloc: bool = False
    ended: bool = False


class DumpedHabits:
    """Follows the dumped events by the definitions of `block_patterns.hpp`; no code is shared with it."""

    def __init__(self, trace: Path) -> None:
        self.blocks: list[DumpedBlock] = []
        self.live: dict[int, DumpedBlock] = {}
        self.temporaries: Counter[int] = Counter()
        self.not_larger: Counter[int] = Counter()
        self._events: Counter[int] = Counter()
        self._last: dict[tuple[int, int], DumpedBlock | None] = {}
        self._resized: dict[int, DumpedBlock] = {}
        self.records = 0
        command = [BIN / "millpond-trace", "dump", trace]
        text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        lines = [line.split() for line in text.splitlines() if line[:1].isdigit()]
        for words in lines:
            self.records += 1
            if words[2] != "note":
                self._take(int(words[1]), words[2], int(words[3], 16), words[4:])

    def _take(self, thread: int, kind: str, address: int, more: list[str]) -> None:
        self._events[thread] += 1
        if kind in ("allocate", "realloc_allocate"):
            values = dict(word.split("=") for word in more if "=" in word)
            self._allocate(thread, kind, address, int(values["bytes"]), int(values["context"]))
            return
        self._resized.pop(thread, None)
        block = self.live.pop(address, None)
        if block is None:
            return
        block.ended = True
        newer = self._last.get((thread, block.context))
        self._last[thread, block.context] = None
        if kind == "realloc_free":
            self._resized[thread] = block
        elif block.thread == thread:
            self._free(block, newer if newer is not block else None)

    def _allocate(self, thread: int, kind: str, address: int, size: int, context: int) -> None:
        is_resized = kind == "realloc_allocate"
        made = DumpedBlock(thread, self._events[thread], self.records, size, context, address, is_resized)
        old = self._resized.pop(thread, None)
        if is_resized and old and size > old.bytes:
            old.next, made.previous, made.by_realloc = made, old, True
        self._last[thread, context] = None if is_resized else made
        self.blocks.append(made)
        self.live[address] = made

    def _free(self, block: DumpedBlock, newer: DumpedBlock | None) -> None:
        if newer and not newer.ended:
            if newer.bytes > block.bytes:
                block.next, newer.previous = newer, block
                return
            self.not_larger[block.context] += 1
        if not block.is_resized and self._events[block.thread] - block.born - 1 < TEMPORARY_EVENTS:
            self.temporaries[block.context] += 1

    def growth(self) -> Json:
        steps: Counter[int] = Counter()
        replaced: Counter[int] = Counter()
        copied: Counter[int] = Counter()
        chains: Counter[int] = Counter()
        for first in self.blocks:
            if first.previous or not first.next:
                continue
            chain = [first]
            while chain[-1].next:
                chain.append(chain[-1].next)
            context = chain[-1].context
            chains[context] += 1
            steps[context] += len(chain) - 1
            replaced[context] += sum(one.bytes for one in chain[:-1])
            copied[context] += sum(
                one.bytes for one, following in pairwise(chain)
                if not (following.by_realloc and following.address == one.address)
            )  # fmt: skip
        growing = [one for one in steps if steps[one] >= STEPS_FOR_EACH_OTHER * self.not_larger[one]]
        return {
            name: sum(counts[one] for one in growing)
            for name, counts in (("chains", chains), ("steps", steps), ("bytes", replaced), ("copied_bytes", copied))
        } | {"contexts": len(growing)}

    def quarters(self) -> list[int]:
        found = Counter(min(3, (one.place - 1) * 4 // self.records) for one in self.live.values())
        return [found[quarter] for quarter in range(4)]


def drawn_program(dice: random.Random) -> str:
    """A C++ program of random allocations, in functions that are places of their own."""
    bodies = {
        "grow": "std::vector<long> v; for (int i = 0; i < {n}; ++i) v.push_back(i); sink = v.back();",
        "text": "std::string s({n}, 'x'); sink = s[0];",
        "leak": "sink = *new char[{n}]();",
        "map": "static std::map<int, std::string> m; m[{n}] += std::string(20, 'm'); if (m.size() > 5) m.clear();",
        "resize": "void* p = std::malloc({n}); p = std::realloc(p, 3 * {n}); std::free(std::realloc(p, 2 * {n}));",
        "hand": "char* p = new char[{n}]; std::thread([p] {{ delete[] p; }}).join();",
        "swap": "static char* old; char* p = new char[{n}]; delete[] old; old = p;",
    }
    functions, calls = [], []
    for number in range(dice.randint(3, 8)):
        size = dice.choice([f"{dice.randint(1, 300)}", f"(turn * {dice.randint(1, 40)} % 500 + 1)"])
        body = dice.choice(list(bodies.values())).format(n=size)
        functions.append(f"[[gnu::noinline]] void f{number}(int turn) {{ (void)turn; {body} }}")
        calls.append(f"if (turn % {dice.randint(1, 4)} == 0) f{number}(turn);")
    headers = "".join(f"#include <{one}>\n" for one in ("cstdlib", "map", "string", "thread", "vector"))
    loop = f"int main() {{ for (int turn = 0; turn < {dice.randint(20, 200)}; ++turn) {{ {' '.join(calls)} }} }}"
    return f"{headers}volatile long sink;\n" + "\n".join(functions) + f"\n{loop}\n"


@pytest.mark.parametrize("number", range(scaled(12, 2)))
def test_random_programs_match_the_model(number: int, seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"{seed} {number}")
    source = tmp_path / "drawn.cpp"
    source.write_text(drawn_program(dice))
    words = next(iter(compilers().values()))
    trace = recorded(compile_program(words, source, tmp_path / "drawn", "-g", "-O1"))
    found, model = characterised(trace), DumpedHabits(trace)
    growth = model.growth()
    assert {name: found["growth"][name] for name in growth} == growth
    assert found["temporaries"]["objects"] == sum(model.temporaries.values())
    assert found["left"]["quarters"] == model.quarters()
    assert found["left"]["bytes"] == sum(one.bytes for one in model.live.values())
    for view in ("left", "temporaries"):
        assert sum(row["objects"] for row in found[view]["rows"]) == found[view]["objects"]
