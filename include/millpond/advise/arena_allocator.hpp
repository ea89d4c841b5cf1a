// SPDX-License-Identifier: BSL-1.0
// arena_allocator: the standard allocator of arenas that begin and end: of the calls of a function, or of threads.
//
//   place::scope scope;                             the arena of this call
//   place::vector<int> found;   ─▶ place::current() when it was made: that arena; null: the heap
//
// Use it through the names of scope_arena and thread_arena. A container uses the arena in whose life it was made. Made
// outside of all of them it uses the heap, so a function also works when it is called without one.
//
// Two are equal if they refer to the same arena. Copies of a container, and what a copy or a move is assigned to, stay
// with the arena that is current or their own: elements that move to a container of another arena are moved one by one.
// swap exchanges the arenas along with the elements. What refers to an arena must not outlive it.
//
// allocate, deallocate: those of the arena, and one comparison. For one thread at a time. Throws: what the arena
// throws, and std::bad_array_new_length where the size in bytes overflows.
//
// Example:
//     using parsing = millpond::advise::scope_arena<struct parsing_tag>;
//     const parsing::scope scope;
//     std::vector<int, millpond::advise::arena_allocator<int, parsing>> found{1, 2, 3};
//     assert(found.get_allocator().target() == parsing::current());
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "../bind/allocator.hpp"
#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class T, class Place>
class arena_allocator {
    using pool_type = typename Place::pool_type;

  public:
    using value_type = T;
    using is_always_equal = std::false_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::true_type;

    // Effects: refers to the current arena, or to the heap.
    arena_allocator() noexcept : target_(Place::current()) {}
    template <class U>
    arena_allocator(const arena_allocator<U, Place>& other) noexcept : target_(other.target()) {}

    // Returns: the allocator of the current arena.
    [[nodiscard]] arena_allocator select_on_container_copy_construction() const noexcept { return {}; }

    // Returns: uninitialised memory for `n` objects.
    [[nodiscard]] T* allocate(std::size_t n) {
        if (target_ == nullptr) return std::allocator<T>().allocate(n);
        return allocator<T, pool_type>(target_).allocate(n);
    }
    void deallocate(T* objects, std::size_t n) noexcept {
        if (target_ == nullptr) {
            std::allocator<T>().deallocate(objects, n);
        } else {
            target_->deallocate(objects, n * sizeof(T), alignof(T));
        }
    }

    // Returns: the arena, or null for the heap.
    [[nodiscard]] pool_type* target() const noexcept { return target_; }

    template <class U>
    [[nodiscard]] friend bool operator==(const arena_allocator& a, const arena_allocator<U, Place>& b) noexcept {
        return a.target() == b.target();
    }

  private:
    pool_type* target_;
};

}  // namespace millpond::inline MILLPOND_ABI::advise
