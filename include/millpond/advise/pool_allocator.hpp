// SPDX-License-Identifier: BSL-1.0
// pool_allocator: the standard allocator of a pool that the whole process shares. It holds nothing.
//
//   std::list<order, pool_allocator<order, place>> ─┐
//   std::map<…,      pool_allocator<…,     place>> ─┴─▶ place::pool(), the only one of its type
//
// Use it through the names of a place (process_pool, slab_pool, phase_arena): only the type of a declaration changes,
// and no constructor. Where several pools of one type exist, millpond::allocator refers to one of them.
//
// All of one place are equal, so elements move, swap and splice between its containers as with std::allocator.
// Containers in containers use the pool if their types name it.
//
// allocate, deallocate: those of the pool, inlined; as thread-safe as it. Throws: what the pool throws, and
// std::bad_array_new_length where the size in bytes overflows.
//
// Example:
//     using orders = millpond::advise::process_pool<struct orders_tag>;
//     std::list<int, millpond::advise::pool_allocator<int, orders>> a{1, 2, 3}, b;
//     b.splice(b.end(), a);
//     assert(b.size() == 3 && a.get_allocator() == b.get_allocator());
#pragma once

#include <cstddef>
#include <type_traits>

#include "../bind/allocator.hpp"
#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class T, class Place>
class pool_allocator {
  public:
    using value_type = T;
    using is_always_equal = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;

    pool_allocator() noexcept = default;
    template <class U>
    pool_allocator(const pool_allocator<U, Place>&) noexcept {}

    // Returns: uninitialised memory for `n` objects.
    [[nodiscard]] T* allocate(std::size_t n) {
        return allocator<T, typename Place::pool_type>(&Place::pool()).allocate(n);
    }
    void deallocate(T* objects, std::size_t n) noexcept {
        Place::pool().deallocate(objects, n * sizeof(T), alignof(T));
    }

    template <class U>
    [[nodiscard]] friend bool operator==(const pool_allocator&, const pool_allocator<U, Place>&) noexcept {
        return true;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::advise
