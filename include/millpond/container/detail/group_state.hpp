// SPDX-License-Identifier: BSL-1.0
// group_state: the word of a group_allocator, and its operations for a pooled container that does not know its type.
//
//   0, or an odd number   n nodes at most came from the upstream one by one (2 n + 1): no pool yet
//   an address            a grouped_pool, for which this is a reference
//
// Part of group_allocator and basic_pooled. join, leave: O(1). is_alone, stats, drop: O(pools of the group).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../bind/is_winkable.hpp"
#include "../../core/abi.hpp"
#include "../../wrap/in_mode.hpp"
#include "../pooled_stats.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// In checked mode every node lies in a pool, which checks it, so none comes from the upstream.
inline constexpr std::size_t outside_nodes = is_checked_mode ? 0 : 16;

// Word: the type in which a pool searches for free slots. Lists have no node handles; temporary lists inside libstdc++
// allocate for them.
template <class Word, bool HasHandles>
struct group_policy {
    using word = Word;
    static constexpr bool has_handles = HasHandles;
};

// True if the upstream defines destroy. That of std::pmr is deprecated, and is the usual one.
template <class Upstream, class T>
inline constexpr bool upstream_destroys =
    requires(Upstream& upstream, T* place) { upstream.destroy(place); } && !is_binding<Upstream>::value;

template <class Node, class T, class Upstream, class Policy>
class group_allocator;

// True for the element type, and for the types in which libc++ wraps it for maps: their allocators give no nodes.
template <class U, class T>
inline constexpr bool is_element = std::is_same_v<U, T>;
template <template <class, class> class Wrapper, class K, class V>
inline constexpr bool is_element<Wrapper<K, V>, std::pair<const K, V>> = true;

// The pointers that a container of this standard library accepts for its nodes. Lists, sets and maps of libstdc++ link
// their nodes by plain pointers, whichever the allocator has.
#if defined(__GLIBCXX__)
template <class Alloc>
using node_pointer = typename std::allocator_traits<Alloc>::value_type*;
#else
template <class Alloc>
using node_pointer = typename std::allocator_traits<Alloc>::pointer;
#endif

// The parts that all node types share. Upstream: rebound to the element type.
template <class T, class Upstream, class Policy>
struct group_traits {
    using upstream_traits = std::allocator_traits<Upstream>;
    template <class U>
    using rebound = typename upstream_traits::template rebind_alloc<U>;
};

// The traits of both group_allocators. Upstreams move along wherever that makes no difference.
template <class Upstream>
struct group_propagation {
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using is_always_equal = typename std::allocator_traits<Upstream>::is_always_equal;
    using propagate_on_container_copy_assignment =
        typename std::allocator_traits<Upstream>::propagate_on_container_copy_assignment;
    using propagate_on_container_move_assignment =
        std::disjunction<is_always_equal,
                         typename std::allocator_traits<Upstream>::propagate_on_container_move_assignment>;
    using propagate_on_container_swap =
        std::disjunction<is_always_equal, typename std::allocator_traits<Upstream>::propagate_on_container_swap>;
};

// The operations that the adaptor needs of the allocator in its container, whose type only the container knows. A state
// is the word of a group_allocator.
struct group_operations {
    void (*refer)(std::uintptr_t state) noexcept;
    void (*leave)(std::uintptr_t& state) noexcept;
    std::size_t (*references)(std::uintptr_t state) noexcept;
    std::uintptr_t& (*state_of)(void* stored) noexcept;
    void (*join)(std::uintptr_t& to, std::uintptr_t& from) noexcept;
    void (*reserve)(void* stored, std::size_t bytes);
    bool (*is_alone)(std::uintptr_t& state) noexcept;
    std::size_t (*outside)(std::uintptr_t state) noexcept;
    bool (*lies_in_pool)(std::uintptr_t state, const void* address) noexcept;
    void (*drop)(std::uintptr_t& state) noexcept;
    void (*destroy)(void* stored) noexcept;
    void (*forget_references)(std::uintptr_t state, std::size_t count) noexcept;
    pooled_stats (*stats)(std::uintptr_t state) noexcept;
};

// The state of an allocator whose deallocate does nothing, because its pool is about to be dropped.
inline constexpr std::uintptr_t dropping_nodes = ~std::uintptr_t{0};

[[nodiscard]] constexpr bool refers_to_pool(std::uintptr_t state) noexcept { return (state & 3) == 0 && state != 0; }

// The word of a group_allocator over pools of one type.
template <class Pool>
class group_state {
  public:
    [[nodiscard]] static bool has_pool(std::uintptr_t state) noexcept { return refers_to_pool(state); }
    [[nodiscard]] static Pool& pool(std::uintptr_t state) noexcept { return *reinterpret_cast<Pool*>(state); }
    [[nodiscard]] static std::uintptr_t of(Pool& pool) noexcept { return reinterpret_cast<std::uintptr_t>(&pool); }

    static void refer(std::uintptr_t state) noexcept {
        if (has_pool(state)) pool(state).refer();
    }
    static void leave(std::uintptr_t& state) noexcept {
        if (has_pool(state)) pool(state).leave();
        state = 0;
    }
    [[nodiscard]] static std::size_t references(std::uintptr_t state) noexcept {
        return has_pool(state) ? pool(state).references() : 0;
    }

    // Effects: makes the state refer to the head of its group.
    static Pool& go_to_head(std::uintptr_t& state) noexcept {
        Pool& head = pool(state).head();
        if (&head != &pool(state)) refer_to(head, state);
        return head;
    }

    // Effects: enables `to` to free the nodes that `from` can free. Their upstreams are equal.
    static void join(std::uintptr_t& to, std::uintptr_t& from) noexcept {
        if (&to == &from) return;
        if (!has_pool(from)) return add_outside(to, from >> 1);
        Pool& theirs = go_to_head(from);
        if (!has_pool(to)) {
            theirs.add_outside(to >> 1);
            return refer_to(theirs, to);
        }
        static_cast<void>(Pool::join(go_to_head(to), theirs));
        go_to_head(to);
        go_to_head(from);
    }

    // Returns: the most nodes that came from the upstream.
    [[nodiscard]] static std::size_t outside(std::uintptr_t state) noexcept {
        return has_pool(state) ? pool(state).head().outside() : state >> 1;
    }

    [[nodiscard]] static bool is_alone(std::uintptr_t& state) noexcept {
        return has_pool(state) && go_to_head(state).is_alone();
    }
    [[nodiscard]] static bool lies_in_pool(std::uintptr_t state, const void* address) noexcept {
        return pool(state).lies_in_group(address);
    }
    static void drop(std::uintptr_t& state) noexcept { pool(state).drop(); }

    [[nodiscard]] static pooled_stats stats(std::uintptr_t state) noexcept {
        pooled_stats found;
        found.outside = outside(state);
        if (!has_pool(state)) return found;
        pool(state).head().for_each([&](const Pool& each) {
            ++found.pools;
            found.live_slots += each.live();
            found.held_bytes += each.held_bytes();
        });
        return found;
    }

  private:
    static void refer_to(Pool& head, std::uintptr_t& state) noexcept {
        head.refer();
        leave(state);
        state = of(head);
    }
    static void add_outside(std::uintptr_t& state, std::size_t count) noexcept {
        if (count == 0) return;
        if (has_pool(state)) return go_to_head(state).add_outside(count);
        state = ((state >> 1) + count) << 1 | 1;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
