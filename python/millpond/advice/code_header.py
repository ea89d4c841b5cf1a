# SPDX-License-Identifier: BSL-1.0
"""Writes the header of an advised change: for each allocator a namespace with it and the containers over it.

Everything is a template over the element's type or needs no type of the program. So the header compiles by itself, and
works with local types, lambdas and types of anonymous namespaces, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from millpond.advice.code_bytes import (
    ADDRESS,
    BYTES_BY_ADDRESS,
    BYTES_BY_HEAD,
    BYTES_BY_SIZE,
    HEAD,
    MAKE_BY_ADDRESS,
    POOL_BY_ADDRESS,
    SIZE,
    found_by,
)
from millpond.advice.code_homes import FUNCTION, INSTANCE, NAMESPACE, PHASE, PROCESS, THREAD, AdvisedAllocator, C
from millpond.rounds.characterisation import OUTERMOST

HEADER = "millpond_advice.hpp"
# The parts of the header that need the helper `construct`.
_CONSTRUCTS = ("unique_ptr", "make")
# Written if no container is named: an advised change must have something to paste.
_USUAL = ("vector", "map", "unordered_map", "list", "string")
MAKE = "make"
BYTES = "allocate_bytes"
RESOURCE = "resource"
# From this share of an allocator's bytes on, blocks outside containers get functions of their own.
_SHARE_MIN = 0.02
_KEYS = "Compare = std::less<K>"
_HASH = "Hash = std::hash<K>, class Equal = std::equal_to<K>"
_PAIR = "allocator<std::pair<const K, V>>"


def _alias(name: str, parameters: str, arguments: str) -> str:
    return f"template <{parameters}>\nusing {name} = std::{name}<{arguments}>;"


def _of_letters(name: str, template: str, letter: str = "char") -> str:
    return f"using {name} = std::basic_{template}<{letter}, std::char_traits<{letter}>, allocator<{letter}>>;"


# Container → the header that declares it, and its replacement. `class` arguments have the library's names and defaults.
ALIASES: dict[str, tuple[str, str]] = {
    **{n: (n, _alias(n, "class T", "T, allocator<T>")) for n in ("vector", "deque", "list", "forward_list")},
    **{n: ("set", _alias(n, f"class K, class {_KEYS}", "K, Compare, allocator<K>")) for n in ("set", "multiset")},
    **{n: ("map", _alias(n, f"class K, class V, class {_KEYS}", f"K, V, Compare, {_PAIR}"))
       for n in ("map", "multimap")},
    **{n: ("unordered_set", _alias(n, f"class K, class {_HASH}", "K, Hash, Equal, allocator<K>"))
       for n in ("unordered_set", "unordered_multiset")},
    **{n: ("unordered_map", _alias(n, f"class K, class V, class {_HASH}", f"K, V, Hash, Equal, {_PAIR}"))
       for n in ("unordered_map", "unordered_multimap")},
    "basic_string": ("string", _alias("basic_string", "class Letter, class Traits = std::char_traits<Letter>",
                                      "Letter, Traits, allocator<Letter>")),
    "string": ("string", _of_letters("string", "string")),
    "wstring": ("string", _of_letters("wstring", "string", "wchar_t")),
    **{n: (n, _alias(n, "class T, class Container = std::deque<T, allocator<T>>", "T, Container"))
       for n in ("stack", "queue")},
    "priority_queue": ("queue", _alias(
        "priority_queue", "class T, class Container = std::vector<T, allocator<T>>, class Compare = std::less<T>",
        "T, Container, Compare")),
    **{n: ("sstream", _of_letters(n, n)) for n in ("stringstream", "ostringstream", "istringstream")},
    "shared_ptr": (
        "memory", "// Replaces std::make_shared.\ntemplate <class T, class... Arguments>\n"
        "[[nodiscard]] std::shared_ptr<T> make_shared(Arguments&&... arguments) {\n"
        "    return std::allocate_shared<T>(allocator<T>(), std::forward<Arguments>(arguments)...);\n}"),
    "unique_ptr": (
        "memory", "// Replace std::unique_ptr and std::make_unique, for objects of exactly this type.\n"
        "template <class T>\nstruct deleter {\n    allocator<T> from;\n"
        "    void operator()(T* object) noexcept {\n"
        "        std::destroy_at(object);\n        from.deallocate(object, 1);\n    }\n};\n"
        "template <class T>\nusing unique_ptr = std::unique_ptr<T, deleter<T>>;\n"
        "template <class T, class... Arguments>\n"
        "[[nodiscard]] unique_ptr<T> make_unique(Arguments&&... arguments) {\n"
        "    deleter<T> own;\n    T* const place = own.from.allocate(1);\n"
        "    return unique_ptr<T>(construct(own.from, place, std::forward<Arguments>(arguments)...), own);\n}"),
}  # fmt: skip


def header(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """Returns the text of the header."""
    names = {name for home in homes for name in wanted(home)}
    standard = {"cstddef", "functional", "memory", "new", "type_traits", "utility"}
    standard |= {ALIASES[n][0] for n in names if n in ALIASES}
    for header_name, needed_by in (
        ("deque", {"stack", "queue"}), ("vector", {"priority_queue"}), ("memory_resource", {RESOURCE}),
        ("cstring", {MAKE, BYTES, "unique_ptr"}),
    ):  # fmt: skip
        if needed_by & names:
            standard.add(header_name)
    if any(h.kind == INSTANCE for h in homes):
        standard.add("scoped_allocator")
    if any(is_by_address(h) for h in homes):
        standard |= {"array", "atomic", "cstdint", "cstdlib", "tuple"}
        checked = ["", "#if defined(MILLPOND_CHECKED)", "#include <map>", "#include <mutex>", "#endif"]
    else:
        checked = []
    lines = [
        f"// The allocators that Millpond advises for {one_line(program)}.",
        "//",
        "// Compile with C++20 and Millpond's include folder. -DMILLPOND_CHECKED reports every misuse of them.",
        "#pragma once",
        "",
        *[f"#include <{name}>" for name in sorted(standard)],
        *checked,
        "",
        "#include <millpond/bind.hpp>",
        "#include <millpond/core.hpp>",
        "#include <millpond/local.hpp>",
        "#include <millpond/wrap.hpp>",
        "",
    ]
    return "\n".join(lines) + "\n" + "\n".join(_home(home) for home in homes)


def one_line(text: str) -> str:
    """Returns a program's text as one line of a comment that does not end in a backslash."""
    plain = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return plain[:200].rstrip("\\ ")


def _home(home: AdvisedAllocator) -> str:
    blocks = [
        "\n".join([
            f"// Owner: {one_line(home.owner)}.",
            f"// First bytes: {one_line(first_text(home))}.",
            f"// Size classes: {one_line(home.classes_reason)}.",
        ]),
        {PROCESS: _pool, PHASE: _phase, FUNCTION: _function, THREAD: _thread, INSTANCE: _instance}[home.kind](home),
        {PROCESS: _STATELESS, PHASE: _STATELESS, INSTANCE: _SHARED}.get(home.kind, _BOUND),
        *replacements(home),
    ]  # fmt: skip
    space = f"{NAMESPACE}::{home.name}"
    return f"namespace {space} {{\n\n" + "\n\n".join(blocks) + f"\n\n}}  // namespace {space}\n"


def is_by_address(home: AdvisedAllocator) -> bool:
    """True if the pool of an allocator lies in slabs, so that the address of a block tells its size."""
    return home.kind == PROCESS and BYTES in wanted(home) and found_by(home) == ADDRESS


def is_in_slabs(home: AdvisedAllocator) -> bool:
    """True if the first bytes of an allocator are a slab."""
    return is_by_address(home) or home.language == C


def first_text(home: AdvisedAllocator) -> str:
    """Describes the first bytes of an allocator."""
    return "a slab of 64 KiB, as in the trial" if is_in_slabs(home) else home.first_reason


def _first(home: AdvisedAllocator) -> str:
    if is_by_address(home):
        return "()"
    return f"(millpond::first_chunk{{{home.first_bytes}}})" if home.first_bytes else "()"


def _pool(home: AdvisedAllocator) -> str:
    if is_by_address(home):
        pool = "millpond::multipool<slabs, millpond::four_an_octave<pooled_bytes_max>>"
        # Takes a lock: blocks in caches of threads could not be sized by their addresses.
        pool = f"millpond::synchronized<{pool}>" if home.several_threads else pool
        return f"{POOL_BY_ADDRESS}\n\nusing pool_type = millpond::in_mode<{pool}>;\n\n{_only(home)}"
    name = "synchronized_multipool" if home.several_threads else "multipool"
    sizes = ", ".join(map(str, home.classes))
    arguments = f"<millpond::chunk_cache, millpond::class_map<{sizes}>>" if home.classes else "<>"
    return f"using pool_type = millpond::in_mode<millpond::{name}{arguments}>;\n\n{_only(home)}"


def _only(home: AdvisedAllocator) -> str:
    return (
        "// Made at its first use and never destroyed, so that static containers may use it until the process ends.\n"
        "inline pool_type& pool() {\n"
        f"    static pool_type& only = *new pool_type{_first(home)};\n"
        "    return only;\n}"
    )


def _phase(home: AdvisedAllocator) -> str:
    arena = "millpond::synchronized<phase_arena>" if home.several_threads else "phase_arena"
    return f"{_PHASE_ARENA}\n\nusing pool_type = {arena};\n\n{_only(home)}"


def _function(home: AdvisedAllocator) -> str:
    outermost = home.legality == OUTERMOST
    arena = "outer_ != nullptr ? outer_->arena() : arena_" if outermost else "arena_"
    also = " An inner call uses the arena of the outermost one." if outermost else ""
    resource, access = "", ""
    if RESOURCE in wanted(home):
        resource = "    millpond::resource<pool_type&> resource_{arena()};\n"
        access = "    std::pmr::memory_resource* resource() noexcept { return &resource_; }\n"
    return f"""\
using pool_type = millpond::in_mode<millpond::monotonic<>>;

// The arena of one call of {one_line(home.function)}: write `{home.space}::scope scope;` as its first line.{also}
class scope {{
  public:
    scope() : outer_(std::exchange(current(), this)) {{}}
    ~scope() {{ current() = outer_; }}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

    pool_type& arena() noexcept {{ return {arena}; }}
{access}
    // Returns the innermost scope of this thread, or null.
    static scope*& current() noexcept {{
        thread_local scope* innermost = nullptr;
        return innermost;
    }}

  private:
    scope* outer_;
    pool_type arena_{_first(home).replace("(millpond", "{millpond").replace("})", "}}").replace("()", "")};
{resource}}};

inline pool_type* current_target() noexcept {{
    return scope::current() != nullptr ? &scope::current()->arena() : nullptr;
}}"""


def _thread(home: AdvisedAllocator) -> str:
    return f"""\
using pool_type = millpond::in_mode<millpond::monotonic<>>;

// Returns the calling thread's arena. Its blocks must be freed before the thread ends.
inline pool_type& pool() {{
    thread_local pool_type own{_first(home) if home.first_bytes else ""};
    return own;
}}

inline pool_type* current_target() noexcept {{ return &pool(); }}"""


def _instance(_home: AdvisedAllocator) -> str:
    return "using pool_type = millpond::in_mode<millpond::multipool<>>;"


_SHARED = """\
// Gives each container a pool of its own, which moves along when the container is swapped or move-assigned. Copies of
// the allocator share the pool. For containers that one thread uses at a time.
template <class T>
class allocator {
  public:
    using value_type = T;
    using is_always_equal = std::false_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    allocator() : pool_(std::make_shared<pool_type>()) {}
    // No moves: a container that was moved from keeps its pool.
    allocator(const allocator&) noexcept = default;
    allocator& operator=(const allocator&) noexcept = default;
    template <class U>
    allocator(const allocator<U>& other) noexcept : pool_(other.pool()) {}
    allocator select_on_container_copy_construction() const { return {}; }

    [[nodiscard]] T* allocate(std::size_t n) { return millpond::allocator<T, pool_type>(pool_.get()).allocate(n); }
    void deallocate(T* objects, std::size_t n) noexcept { pool_->deallocate(objects, n * sizeof(T), alignof(T)); }

    [[nodiscard]] const std::shared_ptr<pool_type>& pool() const noexcept { return pool_; }

    template <class U>
    friend bool operator==(const allocator& a, const allocator<U>& b) noexcept {
        return a.pool() == b.pool();
    }

  private:
    std::shared_ptr<pool_type> pool_;
};

// For a container of containers of this header: all of them use its pool.
template <class T>
using scoped_allocator = std::scoped_allocator_adaptor<allocator<T>>;"""

_STATELESS = """\
// Lets every container of this type use the pool; no allocator has to be passed.
template <class T>
struct allocator {
    using value_type = T;
    using is_always_equal = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;

    allocator() noexcept = default;
    template <class U>
    allocator(const allocator<U>&) noexcept {}

    [[nodiscard]] T* allocate(std::size_t n) { return millpond::allocator<T, pool_type>(&pool()).allocate(n); }
    void deallocate(T* objects, std::size_t n) noexcept {
        pool().deallocate(objects, n * sizeof(T), alignof(T));
    }

    template <class U>
    friend bool operator==(const allocator&, const allocator<U>&) noexcept {
        return true;
    }
};"""

_BOUND = """\
// Lets a container use the arena that was current when it was made, or else the heap. Elements that move to a container
// of another arena are moved one by one.
template <class T>
class allocator {
  public:
    using value_type = T;
    using is_always_equal = std::false_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::true_type;

    allocator() noexcept : target_(current_target()) {}
    template <class U>
    allocator(const allocator<U>& other) noexcept : target_(other.target()) {}
    allocator select_on_container_copy_construction() const noexcept { return {}; }

    [[nodiscard]] T* allocate(std::size_t n) {
        if (target_ == nullptr) return std::allocator<T>().allocate(n);
        return millpond::allocator<T, pool_type>(target_).allocate(n);
    }
    void deallocate(T* objects, std::size_t n) noexcept {
        if (target_ == nullptr)
            std::allocator<T>().deallocate(objects, n);
        else
            target_->deallocate(objects, n * sizeof(T), alignof(T));
    }

    [[nodiscard]] pool_type* target() const noexcept { return target_; }

    template <class U>
    friend bool operator==(const allocator& a, const allocator<U>& b) noexcept {
        return a.target() == b.target();
    }

  private:
    pool_type* target_;
};"""

_PHASE_ARENA = """\
// An arena that is reset whenever nothing in it is alive.
class phase_arena {
  public:
    phase_arena() = default;
    explicit phase_arena(millpond::first_chunk first) : arena_(first) {}

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        void* const block = arena_.try_allocate(bytes, alignment);
        live_ += block != nullptr;
        return block;
    }
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = arena_.allocate(bytes, alignment);
        ++live_;
        return block;
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        arena_.deallocate(block, bytes, alignment);
        if (--live_ == 0) arena_.reset();
    }

  private:
    millpond::in_mode<millpond::monotonic<>> arena_;
    std::size_t live_ = 0;
};"""


def container_of(type_: str) -> str:
    """Returns `map` for `std::map<int, order>` and for `std::pmr::map<int, order>`; empty for other types."""
    found = re.match(r"std::(?:pmr::)?(filesystem::path|\w+)", type_)
    return found[1] if found else ""


def is_pmr(type_: str | None) -> bool:
    """True if the container gets its allocator through std::pmr."""
    return str(type_ or "").startswith("std::pmr::")


def wanted(home: AdvisedAllocator) -> list[str]:
    """Returns the parts of the header that an allocator needs: names of ALIASES, MAKE, BYTES and RESOURCE, without
    repetition.
    """
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
    # Members may name containers that hold the listed ones.
    for member in (m for c in home.containers for m in c.members):
        for name in re.findall(r"std::(\w+)", member.type):
            if name in ALIASES and name not in names and not is_pmr(member.type):
                names.append(name)
    if unnamed / total >= _SHARE_MIN or not names:
        names += [n for n in (MAKE, BYTES) if n not in names]
    if not any(c.type for c in home.containers):
        names += [n for n in (*_USUAL, RESOURCE) if n not in names]
    # Blocks outside containers belong to no instance, so they have no pool here.
    apart = (MAKE, BYTES, RESOURCE, "shared_ptr", "unique_ptr") if home.kind == INSTANCE else ()
    return [n for n in names if n not in apart]


def replacements(home: AdvisedAllocator) -> list[str]:
    """Returns the code of all needed parts, in blocks."""
    names = wanted(home)
    constructs = [n for n in _CONSTRUCTS if n in names and not (n == MAKE and is_by_address(home))]
    blocks = [_CONSTRUCT] if constructs else []
    blocks += [ALIASES[n][1] for n in names if n in ALIASES]
    make, bytes_ = {
        ADDRESS: (MAKE_BY_ADDRESS, BYTES_BY_ADDRESS), SIZE: (_MAKE, BYTES_BY_SIZE), HEAD: (_MAKE, BYTES_BY_HEAD)
    }[found_by(home)]  # fmt: skip
    apart = {MAKE: make, BYTES: bytes_, RESOURCE: _RESOURCE[home.kind == "function"]}
    return [*blocks, *(code for name, code in apart.items() if name in names)]


_CONSTRUCT = """\
// Makes an object in a block of `from`; returns the block to `from` if the constructor throws.
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
// Replace `new T(…)` and `delete p`; T is the object's own type, not a base of it.
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

_RESOURCE = {
    False: """\
// Returns the pool as a resource for containers of std::pmr.
[[nodiscard]] inline std::pmr::memory_resource* resource() {
    static auto& only = *new millpond::resource<pool_type&>(pool());
    return &only;
}""",
    True: """\
// Returns a resource for containers of std::pmr: the arena of the innermost call, or the heap outside every call.
[[nodiscard]] inline std::pmr::memory_resource* resource() {
    return scope::current() != nullptr ? scope::current()->resource() : std::pmr::new_delete_resource();
}""",
}
