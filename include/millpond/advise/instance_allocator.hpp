// SPDX-License-Identifier: BSL-1.0
// instance_allocator: a standard allocator that makes a pool for each container, and takes it along with the container.
//
//   place::map<int, int> a;   ─▶ pool 1          a container made with the default constructor makes its own
//   auto b = a;               ─▶ pool 2          a copy makes its own, too
//   auto c = std::move(a);    ─▶ pool 1 ◀─ a     what was moved from goes on with the pool that it had
//
// Use it through the names of instance_pool, for containers that live at the same time and end one by one: a container
// that ends gives all its memory back at once, and its elements lie together. Do not use it for many small containers
// (a pool's first chunk is 1 KiB), or where elements are spliced between containers.
//
// Copies of an allocator, and its rebinds, share the pool; two are equal if they do. Move assignment and swap take the
// pool along; copy assignment leaves each container its own.
//
// Construction: one allocation. A copy: one atomic count. allocate, deallocate: those of the pool. Containers that
// share a pool are for one thread at a time, whichever it is. Throws: what the pool throws, and
// std::bad_array_new_length where the size in bytes overflows; the default constructor throws std::bad_alloc.
//
// Example:
//     using queue = millpond::advise::instance_pool<struct queue_tag>;
//     using allocator = millpond::advise::instance_allocator<int, queue>;
//     const std::list<int, allocator> a{1, 2, 3}, b = a;
//     assert(a == b && a.get_allocator() != b.get_allocator());
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "../bind/allocator.hpp"
#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class T, class Place>
class instance_allocator {
    using pool_type = typename Place::pool_type;

  public:
    using value_type = T;
    using is_always_equal = std::false_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    // Effects: makes a pool.
    instance_allocator() : pool_(std::make_shared<pool_type>()) {}
    // There are no moves: a container that was moved from goes on with its pool.
    instance_allocator(const instance_allocator&) noexcept = default;
    instance_allocator& operator=(const instance_allocator&) noexcept = default;
    template <class U>
    instance_allocator(const instance_allocator<U, Place>& other) noexcept : pool_(other.pool()) {}

    // Returns: the allocator for a copy of the container, with a pool of its own.
    [[nodiscard]] instance_allocator select_on_container_copy_construction() const { return {}; }

    // Returns: uninitialised memory for `n` objects.
    [[nodiscard]] T* allocate(std::size_t n) { return allocator<T, pool_type>(pool_.get()).allocate(n); }
    void deallocate(T* objects, std::size_t n) noexcept { pool_->deallocate(objects, n * sizeof(T), alignof(T)); }

    [[nodiscard]] const std::shared_ptr<pool_type>& pool() const noexcept { return pool_; }

    template <class U>
    [[nodiscard]] friend bool operator==(const instance_allocator& a, const instance_allocator<U, Place>& b) noexcept {
        return a.pool() == b.pool();
    }

  private:
    std::shared_ptr<pool_type> pool_;
};

}  // namespace millpond::inline MILLPOND_ABI::advise
