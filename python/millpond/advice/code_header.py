# SPDX-License-Identifier: BSL-1.0
"""The header that an advised change needs: for each home an alias of one of the library's places (millpond/advise.hpp).

A place has the allocator, the containers over it, and functions in the place of new and malloc, all of them templates.
So the header compiles by itself, and works with local types, lambdas and types of anonymous namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from millpond.advice.code_bytes import ADDRESS, found_by
from millpond.advice.code_homes import FUNCTION, INSTANCE, NAMESPACE, PHASE, PROCESS, THREAD, AdvisedAllocator, C
from millpond.rounds.characterisation import OUTERMOST

HEADER = "millpond_advice.hpp"
# Where no container is named, these are written: an advised change must have something to paste.
_USUAL = ("vector", "map", "unordered_map", "list", "string")
MAKE = "make"
BYTES = "allocate_bytes"
RESOURCE = "resource"
# From this share of a home's bytes on, what is no container gets functions of its own.
_SHARE_MIN = 0.02
# Container of which a place has a form → the header that declares it.
ALIASES: dict[str, str] = {
    **{name: name for name in ("vector", "deque", "list", "forward_list", "stack", "queue")},
    **dict.fromkeys(("set", "multiset"), "set"),
    **dict.fromkeys(("map", "multimap"), "map"),
    **dict.fromkeys(("unordered_set", "unordered_multiset"), "unordered_set"),
    **dict.fromkeys(("unordered_map", "unordered_multimap"), "unordered_map"),
    **dict.fromkeys(("basic_string", "string", "wstring"), "string"),
    "priority_queue": "queue",
    **dict.fromkeys(("stringstream", "ostringstream", "istringstream"), "sstream"),
    **dict.fromkeys(("shared_ptr", "unique_ptr"), "memory"),
}


def header(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """The whole header."""
    lines = [
        f"// The allocators that Millpond advises for {one_line(program)}.",
        "//",
        "// Compile with C++20 and Millpond's include folder. -DMILLPOND_CHECKED reports every misuse of them.",
        "// <millpond/advise.hpp> says what each offers.",
        "#pragma once",
        "",
        "#include <millpond/advise.hpp>",
        "",
        f"namespace {NAMESPACE} {{",
        "",
        *[line for home in homes for line in _home(home)],
        f"}}  // namespace {NAMESPACE}",
    ]
    return "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    """A text of a program that may stand in a comment: one line that does not end in a backslash."""
    plain = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return plain[:200].rstrip("\\ ")


def _home(home: AdvisedAllocator) -> list[str]:
    arguments = ", ".join([f"struct {home.name}_tag", *_arguments(home)])
    return [
        f"// Owner: {one_line(home.owner)}.",
        f"// First bytes: {one_line(first_text(home))}.",
        f"// Size classes: {one_line(home.classes_reason)}.",
        f"using {home.name} =",
        f"    millpond::advise::{_place(home)}<{arguments}>;",
        "",
    ]


def _place(home: AdvisedAllocator) -> str:
    """The template of the library's place that a home is."""
    if home.kind == FUNCTION:
        return "outermost_scope_arena" if home.legality == OUTERMOST else "scope_arena"
    pool = "slab_pool" if is_by_address(home) else "process_pool"
    name = {PROCESS: pool, PHASE: "phase_arena", THREAD: "thread_arena", INSTANCE: "instance_pool"}[home.kind]
    return f"synchronized_{name}" if home.several_threads and home.kind in (PROCESS, PHASE) else name


def _arguments(home: AdvisedAllocator) -> list[str]:
    """The arguments of a place behind its tag, without those that are its defaults."""
    first = [str(home.first_bytes)] if home.first_bytes else []
    if home.kind == INSTANCE or is_by_address(home):
        return []
    if home.kind != PROCESS:
        return first
    if home.classes:
        return [f"millpond::class_map<{', '.join(map(str, home.classes))}>", *first]
    return ["millpond::four_an_octave<>", *first] if first else []


def is_by_address(home: AdvisedAllocator) -> bool:
    """The pool of a home lies in slabs, so that the address of a block tells its size."""
    return home.kind == PROCESS and BYTES in wanted(home) and found_by(home) == ADDRESS


def is_in_slabs(home: AdvisedAllocator) -> bool:
    """The first bytes of a home's allocator are a slab."""
    return is_by_address(home) or home.language == C


def first_text(home: AdvisedAllocator) -> str:
    """The first bytes of a home's allocator, in words."""
    return "a slab of 64 KiB, as in the trial" if is_in_slabs(home) else home.first_reason


def container_of(type_: str) -> str:
    """`map` of `std::map<int, order>` and of `std::pmr::map<int, order>`; empty where it is no such type."""
    found = re.match(r"std::(?:pmr::)?(filesystem::path|\w+)", type_)
    return found[1] if found else ""


def is_pmr(type_: str | None) -> bool:
    """The container gets its allocator by base."""
    return str(type_ or "").startswith("std::pmr::")


def wanted(home: AdvisedAllocator) -> list[str]:
    """Returns the names that the header offers for a home, of ALIASES, MAKE, BYTES and RESOURCE, without repetition."""
    total = sum(c.bytes for c in home.containers) or 1
    names: list[str] = []
    unnamed = 0
    for c in home.containers:
        types = [t for t in (c.type, c.element_of) if t]
        for type_ in types:
            name = RESOURCE if is_pmr(type_) else container_of(type_)
            if name in (*ALIASES, RESOURCE) and name not in names:
                names.append(name)
        if not c.type:
            unnamed += c.bytes
    # Members name containers that hold the named ones.
    for member in (m for c in home.containers for m in c.members):
        for name in re.findall(r"std::(\w+)", member.type):
            if name in ALIASES and name not in names and not is_pmr(member.type):
                names.append(name)
    if unnamed / total >= _SHARE_MIN or not names:
        names += [n for n in (MAKE, BYTES) if n not in names]
    if not any(c.type for c in home.containers):
        names += [n for n in (*_USUAL, RESOURCE) if n not in names]
    # What is made apart from a container has no instance's pool at hand.
    apart = (MAKE, BYTES, RESOURCE, "shared_ptr", "unique_ptr") if home.kind == INSTANCE else ()
    return [n for n in names if n not in apart]
