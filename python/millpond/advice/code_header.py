# SPDX-License-Identifier: BSL-1.0
"""The header that an advised change needs: for each home a namespace with its allocator and the containers over it.

Everything is a template over the element's type or needs no type of the program, so that the header compiles by itself,
and with local types, lambdas and types of anonymous namespaces, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice.code_aliases import RESOURCE, includes, replacements, wanted
from millpond.advice.code_homes import FUNCTION, INSTANCE, NAMESPACE, PHASE, PROCESS, THREAD, Home
from millpond.rounds.characterisation import OUTERMOST

HEADER = "millpond_advice.hpp"


def header(homes: Sequence[Home], program: str) -> str:
    """The whole header."""
    names = [name for home in homes for name in wanted(home)]
    standard = set(includes(names))
    if any(RESOURCE in wanted(h) for h in homes):
        standard.add("memory_resource")
    if any(h.kind == INSTANCE for h in homes):
        standard.add("scoped_allocator")
    lines = [
        f"// The allocators that Millpond advises for {one_line(program)}.",
        "//",
        "// Compile with C++20 and Millpond's include folder. -DMILLPOND_CHECKED reports every misuse of them.",
        "#pragma once",
        "",
        *[f"#include <{name}>" for name in sorted(standard)],
        "",
        "#include <millpond/bind.hpp>",
        "#include <millpond/core.hpp>",
        "#include <millpond/local.hpp>",
        "#include <millpond/wrap.hpp>",
        "",
    ]
    return "\n".join(lines) + "\n" + "\n".join(_home(home) for home in homes)


def one_line(text: str) -> str:
    """A text of a program that may stand in a comment: one line that does not end in a backslash."""
    plain = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return plain[:200].rstrip("\\ ")


def _home(home: Home) -> str:
    blocks = [
        "\n".join([
            f"// Owner: {one_line(home.owner)}.",
            f"// First bytes: {one_line(home.first_reason)}.",
            f"// Size classes: {one_line(home.classes_reason)}.",
        ]),
        {PROCESS: _pool, PHASE: _phase, FUNCTION: _function, THREAD: _thread, INSTANCE: _instance}[home.kind](home),
        {PROCESS: _STATELESS, PHASE: _STATELESS, INSTANCE: _SHARED}.get(home.kind, _BOUND),
        *replacements(home),
    ]  # fmt: skip
    space = f"{NAMESPACE}::{home.name}"
    return f"namespace {space} {{\n\n" + "\n\n".join(blocks) + f"\n\n}}  // namespace {space}\n"


def _first(home: Home) -> str:
    return f"(millpond::first_chunk{{{home.first_bytes}}})" if home.first_bytes else "()"


def _pool(home: Home) -> str:
    name = "synchronized_multipool" if home.several_threads else "multipool"
    sizes = ", ".join(map(str, home.classes))
    arguments = f"<millpond::chunk_cache, millpond::class_map<{sizes}>>" if home.classes else "<>"
    return f"using pool_type = millpond::in_mode<millpond::{name}{arguments}>;\n\n{_only(home)}"


def _only(home: Home) -> str:
    return (
        "// Made at its first use and never destroyed, so that static containers may use it to the very end.\n"
        "inline pool_type& pool() {\n"
        f"    static pool_type& only = *new pool_type{_first(home)};\n"
        "    return only;\n}"
    )


def _phase(home: Home) -> str:
    arena = "millpond::synchronized<phase_arena>" if home.several_threads else "phase_arena"
    return f"{_PHASE_ARENA}\n\nusing pool_type = {arena};\n\n{_only(home)}"


def _function(home: Home) -> str:
    outermost = home.legality == OUTERMOST
    arena = "outer_ != nullptr ? outer_->arena() : arena_" if outermost else "arena_"
    also = " An inner call uses the arena of the outermost one." if outermost else ""
    resource = "    millpond::resource<pool_type&> resource_{arena()};\n" if RESOURCE in wanted(home) else ""
    access = (
        "    std::pmr::memory_resource* resource() noexcept { return &resource_; }\n"
        if RESOURCE in wanted(home) else ""
    )  # fmt: skip
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
    // The innermost one of this thread, or null.
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


def _thread(home: Home) -> str:
    return f"""\
using pool_type = millpond::in_mode<millpond::monotonic<>>;

// The calling thread's arena. What it gave must be freed before the thread ends.
inline pool_type& pool() {{
    thread_local pool_type own{_first(home) if home.first_bytes else ""};
    return own;
}}

inline pool_type* current_target() noexcept {{ return &pool(); }}"""


def _instance(_home: Home) -> str:
    return "using pool_type = millpond::in_mode<millpond::multipool<>>;"


_SHARED = """\
// Each container that is made with this type gets a pool of its own, and takes it along when it is swapped or assigned
// by a move; copies of its allocator share it. For containers that one thread uses at a time.
template <class T>
class allocator {
  public:
    using value_type = T;
    using is_always_equal = std::false_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    allocator() : pool_(std::make_shared<pool_type>()) {}
    // No moves: a container that was moved from goes on with its pool.
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

// For a container whose elements, containers of this header too, are to use its pool.
template <class T>
using scoped_allocator = std::scoped_allocator_adaptor<allocator<T>>;"""

_STATELESS = """\
// Every container that is made with this type uses the pool; nothing has to be passed.
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
// A container uses the arena in whose life it was made, or the heap where there was none; elements that move to a
// container of another arena are moved one by one.
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
