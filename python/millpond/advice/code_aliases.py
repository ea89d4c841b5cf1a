# SPDX-License-Identifier: BSL-1.0
"""What replaces each container of the standard library: an alias or a function of the written header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from millpond.advice.code_homes import INSTANCE, Home
from millpond.rounds.characterisation import Container

_KEYS = "Compare = std::less<K>"
_HASH = "Hash = std::hash<K>, class Equal = std::equal_to<K>"
_PAIR = "allocator<std::pair<const K, V>>"
# Container → the header that declares it, and its replacement. `class` arguments have the library's names and defaults.
ALIASES: dict[str, tuple[str, str]] = {
    "vector": ("vector", "template <class T>\nusing vector = std::vector<T, allocator<T>>;"),
    "deque": ("deque", "template <class T>\nusing deque = std::deque<T, allocator<T>>;"),
    "list": ("list", "template <class T>\nusing list = std::list<T, allocator<T>>;"),
    "forward_list": ("forward_list", "template <class T>\nusing forward_list = std::forward_list<T, allocator<T>>;"),
    "set": ("set", f"template <class K, class {_KEYS}>\nusing set = std::set<K, Compare, allocator<K>>;"),
    "multiset": (
        "set", f"template <class K, class {_KEYS}>\nusing multiset = std::multiset<K, Compare, allocator<K>>;"),
    "map": ("map", f"template <class K, class V, class {_KEYS}>\nusing map = std::map<K, V, Compare, {_PAIR}>;"),
    "multimap": (
        "map", f"template <class K, class V, class {_KEYS}>\nusing multimap = std::multimap<K, V, Compare, {_PAIR}>;"),
    "unordered_set": (
        "unordered_set", f"template <class K, class {_HASH}>\n"
        "using unordered_set = std::unordered_set<K, Hash, Equal, allocator<K>>;"),
    "unordered_multiset": (
        "unordered_set", f"template <class K, class {_HASH}>\n"
        "using unordered_multiset = std::unordered_multiset<K, Hash, Equal, allocator<K>>;"),
    "unordered_map": (
        "unordered_map", f"template <class K, class V, class {_HASH}>\n"
        f"using unordered_map = std::unordered_map<K, V, Hash, Equal, {_PAIR}>;"),
    "unordered_multimap": (
        "unordered_map", f"template <class K, class V, class {_HASH}>\n"
        f"using unordered_multimap = std::unordered_multimap<K, V, Hash, Equal, {_PAIR}>;"),
    "basic_string": (
        "string", "template <class Letter, class Traits = std::char_traits<Letter>>\n"
        "using basic_string = std::basic_string<Letter, Traits, allocator<Letter>>;"),
    "string": ("string", "using string = std::basic_string<char, std::char_traits<char>, allocator<char>>;"),
    "wstring": ("string", "using wstring = std::basic_string<wchar_t, std::char_traits<wchar_t>, allocator<wchar_t>>;"),
    "stack": ("stack", "template <class T, class Container = std::deque<T, allocator<T>>>\n"
              "using stack = std::stack<T, Container>;"),
    "queue": ("queue", "template <class T, class Container = std::deque<T, allocator<T>>>\n"
              "using queue = std::queue<T, Container>;"),
    "priority_queue": (
        "queue", "template <class T, class Container = std::vector<T, allocator<T>>, class Compare = std::less<T>>\n"
        "using priority_queue = std::priority_queue<T, Container, Compare>;"),
    "stringstream": (
        "sstream", "using stringstream = std::basic_stringstream<char, std::char_traits<char>, allocator<char>>;"),
    "ostringstream": (
        "sstream", "using ostringstream = std::basic_ostringstream<char, std::char_traits<char>, allocator<char>>;"),
    "istringstream": (
        "sstream", "using istringstream = std::basic_istringstream<char, std::char_traits<char>, allocator<char>>;"),
    "shared_ptr": (
        "memory", "// In the place of std::make_shared.\ntemplate <class T, class... Arguments>\n"
        "[[nodiscard]] std::shared_ptr<T> make_shared(Arguments&&... arguments) {\n"
        "    return std::allocate_shared<T>(allocator<T>(), std::forward<Arguments>(arguments)...);\n}"),
    "unique_ptr": (
        "memory", "// In the place of std::unique_ptr and std::make_unique, for objects of exactly this type.\n"
        "template <class T>\nstruct deleter {\n    allocator<T> from;\n"
        "    void operator()(T* object) noexcept {\n"
        "        std::destroy_at(object);\n        from.deallocate(object, 1);\n    }\n};\n"
        "template <class T>\nusing unique_ptr = std::unique_ptr<T, deleter<T>>;\n"
        "template <class T, class... Arguments>\n"
        "[[nodiscard]] unique_ptr<T> make_unique(Arguments&&... arguments) {\n"
        "    deleter<T> own;\n    T* const place = own.from.allocate(1);\n"
        "    return unique_ptr<T>(construct(own.from, place, std::forward<Arguments>(arguments)...), own);\n}"),
}  # fmt: skip
# What needs helpers of `construct`.
_CONSTRUCTS = ("unique_ptr", "make")
# Containers of the standard library that cannot be given an allocator, and what to do about each.
WITHOUT_ALLOCATOR = {
    "function": "std::function takes no allocator: keep what it captures within two pointers, or pass a reference to "
                "the callable (std::ref), which allocates nothing",
    "any": "std::any takes no allocator: a std::variant of the types that it holds allocates nothing",
    "valarray": "std::valarray takes no allocator: a vector of the written header does what it does",
    "promise": "pass std::allocator_arg and an allocator of the written header to the std::promise",
    "packaged_task": "std::packaged_task takes no allocator since C++17: use the std::promise that is behind it",
    "thread": "std::thread takes no allocator: start fewer threads",
    "jthread": "std::jthread takes no allocator: start fewer threads",
    "regex": "std::regex takes no allocator: make it once and keep it",
    "filesystem::path": "std::filesystem::path takes no allocator",
    "fstream": "give the std::fstream a buffer of yours (rdbuf()->pubsetbuf)",
}  # fmt: skip
# Where no container is named, these are written: an advised change must have something to paste.
_USUAL = ("vector", "map", "unordered_map", "list", "string")
MAKE = "make"
BYTES = "allocate_bytes"
RESOURCE = "resource"
# From this share of a home's bytes on, what is no container gets functions of its own.
_SHARE_MIN = 0.02


def container_of(type_: str) -> str:
    """`map` of `std::map<int, order>` and of `std::pmr::map<int, order>`; empty where it is no such type."""
    found = re.match(r"std::(?:pmr::)?(filesystem::path|\w+)", type_)
    return found[1] if found else ""


def is_pmr(type_: str | None) -> bool:
    """The container gets its allocator by base."""
    return str(type_ or "").startswith("std::pmr::")


def wanted(home: Home) -> list[str]:
    """What the header offers for a home: names of ALIASES, MAKE, BYTES and RESOURCE, without repetition."""
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


def includes(names: Iterable[str]) -> list[str]:
    """The standard headers that these need."""
    found = {ALIASES[n][0] for n in names if n in ALIASES}
    found |= {"deque"} if {"stack", "queue"} & set(names) else set()
    found |= {"vector"} if "priority_queue" in names else set()
    found |= {"memory_resource"} if RESOURCE in names else set()
    found |= {"cstring", "memory"} if {MAKE, BYTES, "unique_ptr"} & set(names) else set()
    return sorted(found | {"cstddef", "functional", "memory", "new", "type_traits", "utility"})


def replacements(home: Home) -> list[str]:
    """The code of everything that is wanted, in blocks."""
    names = wanted(home)
    blocks = []
    if set(_CONSTRUCTS) & set(names):
        blocks.append(_CONSTRUCT)
    blocks += [ALIASES[n][1] for n in names if n in ALIASES]
    if MAKE in names:
        blocks.append(_MAKE)
    if BYTES in names:
        blocks.append(_BYTES)
    if RESOURCE in names:
        blocks.append(_RESOURCE[home.kind == "function"])
    return blocks


def rewritten(type_: str, home: Home) -> str:
    """A type with the container of the header in the place of the standard one; its elements keep their types."""
    name = container_of(type_)
    if is_pmr(type_) or name not in wanted(home) or name in ("shared_ptr", "unique_ptr"):
        return type_
    return f"{home.space}::{type_.removeprefix('std::')}"


def calls(home: Home, container: Container) -> Sequence[str]:
    """What to do about memory that no container's type decides, in sentences."""
    type_, space = container.type or "", home.space
    if home.kind == INSTANCE and (is_pmr(type_) or container_of(type_) in ("", "shared_ptr", "unique_ptr")):
        return [
            f"give each owner a member `{space}::pool_type pool;`, and take its objects from `pool.allocate(bytes, "
            "alignment)` and back to `pool.deallocate(block, bytes, alignment)`"
        ]
    if is_pmr(type_):
        return [f"give the container `{space}::resource()`, where it is constructed"]
    name = container_of(type_)
    if home.kind == INSTANCE and container.element_of:
        outer = container_of(container.element_of)
        element = f"{space}::{type_.removeprefix('std::')}"
        return [
            f"its elements use the container's pool as `std::{outer}<{element}, {space}::scoped_allocator<{element}>>`"
        ]
    if name == "shared_ptr":
        return [f"call `{space}::make_shared<T>(…)` in the place of `std::make_shared<T>(…)`"]
    if name == "unique_ptr":
        return [f"call `{space}::make_unique<T>(…)`, whose result is a `{space}::unique_ptr<T>`"]
    if name in WITHOUT_ALLOCATOR:
        return [WITHOUT_ALLOCATOR[name]]
    if type_:
        return []
    if container.call:
        return [
            f"`{container.call}` allocates here: a container of the header, or `{space}::allocate_bytes`, in its place"
        ]
    return [
        f"`new T{{…}}` and `delete p` become `{space}::make<T>(…)` and `{space}::destroy(p)`, for objects of exactly "
        "the type T",
        f"`malloc(n)`, `realloc(p, n)` and `free(p)` become `{space}::allocate_bytes(n)`, "
        f"`{space}::resize_bytes(p, n)` and `{space}::free_bytes(p)`",
    ]


_CONSTRUCT = """\
// Makes an object in a block of `from`, which takes the block back where the constructor throws.
template <class T, class... Arguments>
T* construct(allocator<T>& from, T* place, Arguments&&... arguments) {
    struct guard {
        allocator<T>& from;
        T* place;
        ~guard() {
            if (place != nullptr) from.deallocate(place, 1);
        }
    } unfinished{from, place};
    if constexpr (std::is_constructible_v<T, Arguments...>)
        ::new (static_cast<void*>(place)) T(std::forward<Arguments>(arguments)...);
    else
        ::new (static_cast<void*>(place)) T{std::forward<Arguments>(arguments)...};
    unfinished.place = nullptr;
    return place;
}"""

_MAKE = """\
// In the place of `new T(…)` and `delete p`; T is the object's own type, not a base of it.
template <class T, class... Arguments>
[[nodiscard]] T* make(Arguments&&... arguments) {
    allocator<T> from;
    return construct(from, from.allocate(1), std::forward<Arguments>(arguments)...);
}

template <class T>
void destroy(T* object) noexcept {
    if (object == nullptr) return;
    std::destroy_at(object);
    allocator<T>().deallocate(object, 1);
}"""

_BYTES = """\
// In the place of malloc, realloc and free: the size stands before each block, since an allocator of ours asks for it.
struct alignas(16) block_head {
    std::size_t units;
    allocator<block_head> from;
};

[[nodiscard]] inline void* allocate_bytes(std::size_t bytes) {
    const std::size_t units = 1 + bytes / sizeof(block_head) + 1;
    allocator<block_head> from;
    return ::new (static_cast<void*>(from.allocate(units))) block_head{units, from} + 1;
}

inline void free_bytes(void* block) noexcept {
    if (block == nullptr) return;
    block_head* const head = static_cast<block_head*>(block) - 1;
    allocator<block_head> from = head->from;
    from.deallocate(head, head->units);
}

[[nodiscard]] inline void* resize_bytes(void* block, std::size_t bytes) {
    void* const moved = allocate_bytes(bytes);
    if (block != nullptr) {
        const std::size_t held = ((static_cast<block_head*>(block) - 1)->units - 1) * sizeof(block_head);
        std::memcpy(moved, block, held < bytes ? held : bytes);
        free_bytes(block);
    }
    return moved;
}"""

_RESOURCE = {
    False: """\
// For containers of std::pmr.
[[nodiscard]] inline std::pmr::memory_resource* resource() {
    static auto& only = *new millpond::resource<pool_type&>(pool());
    return &only;
}""",
    True: """\
// For containers of std::pmr: the arena of the innermost call, or the heap outside every call.
[[nodiscard]] inline std::pmr::memory_resource* resource() {
    return scope::current() != nullptr ? scope::current()->resource() : std::pmr::new_delete_resource();
}""",
}
