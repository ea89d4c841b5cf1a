// SPDX-License-Identifier: BSL-1.0
// bindings: the ways in which a workload's code reaches an allocator. A contender is one of these, with a name.
//
//   C::pool                a fresh allocator, default-constructible; each structure gets one
//   C::allocator<T>        the standard allocator of containers;   C::bind<T>(pool)  the one that reaches this pool
//   C::handle(pool)        the source of raw blocks: take(handle, bytes, alignment), give(handle, …)
//   C::is_local            each structure has a pool of its own; false: one heap for the process
//   C::is_shared           any thread may use the pool, and free what another one allocated
//   C::winks               containers are dropped without destructors, and the pool releases them
//   C::can_wink            the pool takes everything back at its end, whether it was freed or not
//
// take and give are inline for all, so the cost of the wrapper is not measured. The compiler is kept from knowing the
// type behind a base pointer: otherwise it would undo the binding that is measured.
#pragma once

#include <cstddef>
#include <memory_resource>

#include "hidden.hpp"
#include "millpond/bind/allocator.hpp"

namespace millpond::suites {

struct binding {
    static constexpr bool is_local = true;
    static constexpr bool is_shared = false;
    static constexpr bool winks = false;
    static constexpr bool can_wink = true;
};

// Binds an allocator of Millpond's shape by its type.
template <class A>
struct by_type : binding {
    using pool = A;
    template <class T>
    using allocator = millpond::allocator<T, A>;
    template <class T>
    static allocator<T> bind(pool& p) noexcept {
        return &p;
    }
    static A* handle(pool& p) noexcept { return &p; }
    [[gnu::always_inline]] static void* take(A* p, std::size_t bytes, std::size_t alignment) {
        return p->allocate(bytes, alignment);
    }
    [[gnu::always_inline]] static void give(A* p, void* block, std::size_t bytes, std::size_t alignment) noexcept {
        p->deallocate(block, bytes, alignment);
    }
};

// Binds anything derived from a memory_resource (std's, or another with the same functions) through its base.
template <class Resource, class Base, template <class> class Allocator>
struct by_base : binding {
    using pool = Resource;
    template <class T>
    using allocator = Allocator<T>;
    template <class T>
    static allocator<T> bind(pool& p) noexcept {
        return handle(p);
    }
    static Base* handle(pool& p) noexcept { return hidden(static_cast<Base*>(&p)); }
    [[gnu::always_inline]] static void* take(Base* p, std::size_t bytes, std::size_t alignment) {
        return p->allocate(bytes, alignment);
    }
    [[gnu::always_inline]] static void give(Base* p, void* block, std::size_t bytes, std::size_t alignment) noexcept {
        p->deallocate(block, bytes, alignment);
    }
};

template <class T>
using pmr_allocator = std::pmr::polymorphic_allocator<T>;
template <class Resource>
using by_pmr = by_base<Resource, std::pmr::memory_resource, pmr_allocator>;

// Binds a stateless allocator, all of whose objects stand for one heap.
template <template <class> class Allocator>
struct by_heap : binding {
    static constexpr bool is_local = false;
    static constexpr bool is_shared = true;
    static constexpr bool can_wink = false;
    struct pool {};
    template <class T>
    using allocator = Allocator<T>;
    template <class T>
    static allocator<T> bind(pool&) noexcept {
        return {};
    }
    static Allocator<char> handle(pool&) noexcept { return {}; }
    [[gnu::always_inline]] static void* take(Allocator<char> heap, std::size_t bytes, std::size_t) {
        return heap.allocate(bytes);
    }
    [[gnu::always_inline]] static void give(Allocator<char> heap, void* block, std::size_t bytes,
                                            std::size_t) noexcept {
        heap.deallocate(static_cast<char*>(block), bytes);
    }
};

}  // namespace millpond::suites
