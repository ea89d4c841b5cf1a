// SPDX-License-Identifier: BSL-1.0
// allocator: binds containers to an allocator by type; it is a standard allocator that holds a pointer to it.
//
//   std::vector<row, allocator<row, multipool<>>> ─┐
//     row { std::vector<int, allocator<int, …>> } ─┴─▶ one multipool<>, given on to every element that can take it
//
// Use it where the container's type may name its allocator: calls are inlined down to the block. Where the type must
// stay the same for all allocators, bind by base with resource.
//
// Propagation: never, as in std::pmr. A container keeps the allocator it was made with: copy assignment, move
// assignment and swap do not change it. Copy construction and move construction take the source's allocator, since
// there is no default one. Between different allocators elements are moved one by one, and swap is not allowed.
// Nested containers get the same allocator by uses-allocator construction, as with std::pmr, pairs and tuples included
// (construction.hpp). It also works under std::scoped_allocator_adaptor.
//
// allocate, deallocate: O(1) on top of the allocator's, and as thread-safe. Two are equal if they refer to one
// allocator, or to two of which one has absorbed the other.
//
// Example:
//     millpond::multipool<> pool;
//     using string = std::basic_string<char, std::char_traits<char>, millpond::allocator<char, millpond::multipool<>>>;
//     std::vector<string, millpond::allocator<string, millpond::multipool<>>> names(&pool);
//     names.emplace_back("a name too long for the small buffer of a string");
//     assert(names[0].get_allocator().target() == &pool);
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "../block/std_source.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/at_least_result.hpp"
#include "../core/out_of_memory.hpp"
#include "../wrap/winking_scope.hpp"
#include "detail/construction.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Returns: true if blocks of one target may be given back to the other.
template <class A>
[[nodiscard]] bool is_same_target(const A& a, const A& b) noexcept {
    if constexpr (std::equality_comparable<A>) {
        return &a == &b || a == b;
    } else {
        return &a == &b;
    }
}

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class T, allocator_like A>
class allocator {
  public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::false_type;
    using is_always_equal = std::false_type;

    template <class U>
    struct rebind {
        using other = allocator<U, A>;
    };

    // Ownership: refers to `target` (not null), which must outlive every container that uses it.
    allocator(A* target) noexcept : target_(target) {
        if constexpr (detail::is_checked<A>) {
            if (target == nullptr)
                detail::report_use(misuse_kind::null_pointer, "an allocator was made from a null pointer");
        }
    }

    template <class U>
    allocator(const allocator<U, A>& other) noexcept : target_(other.target()) {}

    // Returns: uninitialised memory for `n` objects. Throws: what the target throws; std::bad_array_new_length where
    // the size in bytes overflows.
    [[nodiscard]] T* allocate(std::size_t n) {
        if (n > max_size()) too_many(n);
        return static_cast<T*>(target_->allocate(n * sizeof(T), alignof(T)));
    }

    // Returns: memory for at least `n` objects, and the number that fit, as std::allocator_traits of C++23 does: the
    // pool's rounding is used. Free it with any number from `n` to that. Throws: as allocate.
    [[nodiscard]] detail::at_least_result<T*> allocate_at_least(std::size_t n) {
        std::size_t count = n;
        if constexpr (requires { A::block_bytes(n, alignof(T)); }) {
            if (n <= max_size()) {
                const std::size_t block = A::block_bytes(n * sizeof(T), alignof(T));
                if (block / sizeof(T) > n) count = block / sizeof(T);
            }
        }
        return {allocate(count), count};
    }

    void deallocate(T* objects, std::size_t n) noexcept { target_->deallocate(objects, n * sizeof(T), alignof(T)); }

    [[nodiscard]] static constexpr std::size_t max_size() noexcept { return detail::max_bytes / sizeof(T); }

    // Effects: constructs an object that can take this allocator, or a pair or tuple whose parts might. Others need no
    // help.
    template <class U, class... Arguments>
        requires(detail::is_pair<U> || detail::is_tuple<U> || detail::takes_allocator<U, allocator, Arguments...>)
    void construct(U* place, Arguments&&... arguments) {
        detail::construct_with(place, *this, std::forward<Arguments>(arguments)...);
    }

    [[nodiscard]] A* target() const noexcept { return target_; }

    template <class U>
    [[nodiscard]] friend bool operator==(const allocator& a, const allocator<U, A>& b) noexcept {
        return detail::is_same_target(*a.target(), *b.target());
    }

  private:
    [[noreturn, gnu::noinline, gnu::cold]] static void too_many(std::size_t n) {
        if (n > static_cast<std::size_t>(-1) / sizeof(T)) detail::array_too_long(detail::max_bytes, alignof(T));
        out_of_memory(detail::max_bytes, alignof(T));
    }

    A* target_;
};

}  // namespace millpond::inline MILLPOND_ABI

namespace millpond::inline MILLPOND_ABI::detail {

template <class T, class A>
inline constexpr bool holds_freed_pages<allocator<T, A>> = true;

}  // namespace millpond::inline MILLPOND_ABI::detail
