// SPDX-License-Identifier: BSL-1.0
// base_pool: the binding `base`: a fresh allocator behind std::pmr::memory_resource, of a class unknown to the
// workload.
//
//   choose_base(pool_kind) ─▶ base_made ─▶ every base_pool:  │ room for a resource<A> │ pointer to its base │
//
// So a workload is compiled once for all allocators that bind by base, and no compiler can undo the virtual calls.
// Choose before the first pool is built, and never while one lives. A pool costs as much as its allocator, and one
// indirect call. Only as thread-safe as its allocator.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>

#include "lab/suites/common/bindings.hpp"
#include "strategy.hpp"

namespace millpond::p0089 {

// Makes the resource of this process in memory that the caller provides.
struct base_maker {
    std::size_t bytes;
    std::pmr::memory_resource* (*make)(void* room);
};

inline constexpr std::size_t base_room_bytes = 1408;
inline constexpr std::size_t base_room_alignment = 64;

template <class Resource>
constexpr base_maker maker_of() {
    static_assert(sizeof(Resource) <= base_room_bytes && alignof(Resource) <= base_room_alignment);
    return {sizeof(Resource), [](void* room) -> std::pmr::memory_resource* { return ::new (room) Resource; }};
}

inline base_maker base_made{0, nullptr};

// Effects: makes base pools over this allocator from now on.
void choose_base(pool_kind chosen);

// A pool for use on the stack.
class base_pool {
  public:
    base_pool() : resource_(base_made.make(room_)) {}
    base_pool(const base_pool&) = delete;
    base_pool& operator=(const base_pool&) = delete;
    ~base_pool() { std::destroy_at(resource_); }
    [[nodiscard]] std::pmr::memory_resource* resource() const noexcept { return resource_; }

  private:
    alignas(base_room_alignment) std::byte room_[base_room_bytes];
    std::pmr::memory_resource* resource_;
};

// A pool for use in large numbers: a block of exactly the size that it needs.
class small_base_pool {
  public:
    small_base_pool() : room_(::operator new(base_made.bytes, alignment)), resource_(base_made.make(room_)) {}
    small_base_pool(const small_base_pool&) = delete;
    small_base_pool& operator=(const small_base_pool&) = delete;
    ~small_base_pool() {
        std::destroy_at(resource_);
        ::operator delete(room_, alignment);
    }
    [[nodiscard]] std::pmr::memory_resource* resource() const noexcept { return resource_; }

  private:
    static constexpr std::align_val_t alignment{base_room_alignment};
    void* room_;
    std::pmr::memory_resource* resource_;
};

template <class Pool>
struct by_made_base : suites::by_pmr<std::pmr::memory_resource> {
    using pool = Pool;
    template <class T>
    static std::pmr::polymorphic_allocator<T> bind(pool& p) noexcept {
        return handle(p);
    }
    static std::pmr::memory_resource* handle(pool& p) noexcept { return suites::hidden(p.resource()); }
};

}  // namespace millpond::p0089
