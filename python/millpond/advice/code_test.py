# SPDX-License-Identifier: BSL-1.0
"""Writes the test of a written header: it checks in checked mode that each container behaves as the standard one.

Runs the same random operations on a container of the header and on a standard one. Both must have the same contents,
and nothing may stay allocated. In checked mode the allocators report every misuse with the place of the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice.code_bytes import HEAD, found_by
from millpond.advice.code_header import ALIASES, BYTES, HEADER, MAKE, RESOURCE, is_by_address, one_line, wanted
from millpond.advice.code_homes import FUNCTION, INSTANCE, PHASE, THREAD, AdvisedAllocator
from millpond.advice.code_templates import filled

TEST = "millpond_advice_test.cpp"
_SEQUENCES = ("vector", "deque", "list")
_SETS = ("set", "multiset", "unordered_set", "unordered_multiset")
_MAPS = ("map", "multimap", "unordered_map", "unordered_multimap")
_LETTERS = {"string": "char", "wstring": "wchar_t"}
_STREAMS = ("stringstream", "ostringstream")


def test(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """Returns the text of the test."""
    names = {n for home in homes for n in wanted(home)}
    standard = {"cstdio", "cstdlib", "random", "string", "thread", "utility", "algorithm", "iterator"}
    standard |= {ALIASES[n] for n in names if n in ALIASES} | (
        {"list", "memory_resource"} if RESOURCE in names else set()
    )
    return filled(
        f"{TEST}.j2", header=HEADER, program=one_line(program), includes=sorted(standard),
        any_of=lambda *some: not names.isdisjoint(some), rounds=[line for home in homes for line in _home(home)],
    )  # fmt: skip


def _home(home: AdvisedAllocator) -> list[str]:
    """Returns the rounds of one allocator, in its scope."""
    body = [f"    {call}" for name in wanted(home) for call in _calls(home, name)]
    if home.kind == FUNCTION:
        body = [f"    {home.space}::scope scope;", *body, "    millpond::expect_empty(scope.arena());"]
    elif home.kind not in (PHASE, INSTANCE):
        body.append(f"    millpond::expect_empty({home.space}::pool());")
    lines = ["for (int round = 0; round < rounds; ++round) {", *body, "}"]
    if home.kind == THREAD:
        lines = ["std::thread([&] {", *[f"    {line}" for line in lines], "}).join();"]
    return lines


def _bytes(resize: str, free: str) -> str:
    """Returns the comparison of a way to resize blocks and a way to free them."""
    parameters = "[[maybe_unused]] std::size_t held, std::size_t n"
    return (
        f"compare_bytes([](void* b, {parameters}) {{ return {resize}; }}, "
        f"[](void* b, [[maybe_unused]] std::size_t n) {{ {free}; }}, random);"
    )


def _calls(home: AdvisedAllocator, name: str) -> list[str]:
    space = home.space
    if name in _SEQUENCES:
        return [f"compare_sequences<{space}::{name}<{t}>, std::{name}<{t}>>(random);" for t in ("int", "record")]
    if name in _SETS:
        return [f"compare_sets<{space}::{name}<int>, std::{name}<int>>(random);"]
    if name in _MAPS:
        return [f"compare_maps<{space}::{name}<int, record>, std::{name}<int, record>>(random);"]
    if name == "forward_list":
        return [f"compare_forward_lists<{space}::forward_list<record>, std::forward_list<record>>(random);"]
    if name in _LETTERS:
        return [f"compare_strings<{space}::{name}, std::{name}>(random);"]
    if name == "basic_string":
        return [f"compare_strings<{space}::basic_string<char>, std::string>(random);"]
    if name in ("stack", "queue", "priority_queue"):
        return [f"compare_adaptors<{space}::{name}<int>, std::{name}<int>>(random);"]
    if name in _STREAMS:
        return [f"compare_streams<{space}::{name}, std::{name}>(random);"]
    if name == "shared_ptr":
        return [f"expect(*std::shared_ptr<record>({space}::make_shared<record>(7)) == record(7));"]
    if name == "unique_ptr":
        return [f"expect(*{space}::make_unique<record>(7) == record(7));"]
    if name == MAKE:
        return [f"{{ record* made = {space}::make<record>(7); expect(*made == record(7)); {space}::destroy(made); }}"]
    if name == BYTES:
        resize, free = f"{space}::resize_bytes", f"{space}::deallocate_bytes"
        sized = _bytes(f"{resize}(b, held, n)", f"{free}(b, n)")
        by_address = _bytes(f"b == nullptr ? {space}::allocate_bytes(n) : {resize}(b, n)", f"{space}::free_bytes(b)")
        if not is_by_address(home):
            return [by_address if found_by(home) == HEAD else sized]
        owned = (
            f"{{ void* one = {space}::allocate_bytes(50); void* other = std::malloc(50); expect({space}::owns(one) && "
            f"!{space}::owns(other)); {space}::free_bytes(one); {space}::free_bytes(other); }}"
        )
        return [sized, by_address, owned]
    if name == RESOURCE:
        return [f"compare_resource({space}::resource(), random);"]
    return []
