// SPDX-License-Identifier: BSL-1.0
// group_allocator: the allocator inside a pooled container: one word, from which the container's nodes come.
//
//   word  0, or an odd number   n nodes at most came from the upstream one by one (2 n + 1): no pool yet
//         an address + 2        a temporary list inside a member function: the list's own allocator does all
//         an address            a grouped_pool; nodes that lie in no pool of its group belong to the upstream
//
//   group_allocator<node, T, …>   what the container holds: counted with its pool
//   group_allocator<T, T, …>      what get_allocator() of the container gives: shares the pool, and remembers which one it
//                                 was made from, so that the adaptor reaches that one
//
// A pool is made for the node after the first `outside_nodes`, so that a small container costs what it costs without
// one. Allocators compare equal where their upstreams do, as nodes come before their new container only after the
// adaptor has joined the pools. A move takes the pool along and leaves the source without one.
// For pooled containers only. allocate, deallocate: those of grouped_pool. For one thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../bind/is_winkable.hpp"
#include "../../core/abi.hpp"
#include "../../local/slot_shape.hpp"
#include "../pooled_stats.hpp"
#include "grouped_pool.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// In checked mode every node lies in a pool, which checks it.
inline constexpr std::size_t outside_nodes = is_checked_mode ? 0 : 16;

// Word: in which a pool searches for free slots. Lists, which have no node handles, fill temporary lists inside libstdc++
// that must allocate for them.
template <class Word, bool HasHandles>
struct group_policy {
    using word = Word;
    static constexpr bool has_handles = HasHandles;
};

// True if the upstream has a way of its own to destroy. That of std::pmr is deprecated, and is the usual one.
template <class Upstream, class T>
inline constexpr bool upstream_destroys =
    requires(Upstream& upstream, T* place) { upstream.destroy(place); } && !is_binding<Upstream>::value;

template <class Node, class T, class Upstream, class Policy>
class group_allocator;

// True for the element type, and for what the maps of libc++ wrap it in: an allocator of it has no nodes to give.
template <class U, class T>
inline constexpr bool is_element = std::is_same_v<U, T>;
template <template <class, class> class Wrapper, class K, class V>
inline constexpr bool is_element<Wrapper<K, V>, std::pair<const K, V>> = true;

// The parts that all node types share. Upstream: rebound to the element type.
template <class T, class Upstream, class Policy>
struct group_traits {
    using upstream_traits = std::allocator_traits<Upstream>;
    template <class U>
    using rebound = typename upstream_traits::template rebind_alloc<U>;
    static constexpr bool is_always_equal = upstream_traits::is_always_equal::value;
};

// What the adaptor asks of the allocator in its container, whose type it cannot name: only the container knows its nodes.
// A state is the word of a group_allocator.
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

// The word of a group_allocator over pools of one type.
template <class Pool>
class group_state {
  public:
    [[nodiscard]] static bool has_pool(std::uintptr_t state) noexcept { return (state & 3) == 0 && state != 0; }
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

    // Effects: the state refers to the head of its group.
    static Pool& go_to_head(std::uintptr_t& state) noexcept {
        Pool& head = pool(state).head();
        if (&head != &pool(state)) refer_to(head, state);
        return head;
    }

    // Effects: `to` can free the nodes that `from` can. Their upstreams are equal.
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

    // Returns: at most so many nodes came from the upstream.
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

// The one that a container holds.
template <class Node, class T, class Upstream, class Policy>
class group_allocator {
    using shared = group_traits<T, Upstream, Policy>;
    template <class U>
    using rebound = typename shared::template rebound<U>;
    using node_upstream = rebound<Node>;
    using node_traits = std::allocator_traits<node_upstream>;

    static constexpr std::size_t alignment = alignof(Node) > slot_alignment(sizeof(Node))
                                                 ? alignof(Node)
                                                 : slot_alignment(sizeof(Node));

    template <class, class, class, class>
    friend class group_allocator;

    // Looked at when memory is asked for: elements may be of a type that is still incomplete, as those of a tree of maps.
    struct pools {
        static constexpr bool is_slot = sizeof(Node) <= 512 && alignof(Node) <= 64;
        static constexpr std::size_t natural = slot_alignment(sizeof(Node));
        static constexpr std::size_t alignment = alignof(Node) > natural ? alignof(Node) : natural;
        using pool_type = grouped_pool<slot_shape<is_slot ? sizeof(Node) : alignment, alignment, typename Policy::word>,
                                       rebound<unsigned char>>;
        using states = group_state<pool_type>;
    };

  public:
    using value_type = Node;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_copy_assignment =
        typename shared::upstream_traits::propagate_on_container_copy_assignment;
    using propagate_on_container_move_assignment =
        std::bool_constant<shared::is_always_equal ||
                           shared::upstream_traits::propagate_on_container_move_assignment::value>;
    using propagate_on_container_swap =
        std::bool_constant<shared::is_always_equal || shared::upstream_traits::propagate_on_container_swap::value>;
    using is_always_equal = std::bool_constant<shared::is_always_equal>;

    template <class U>
    struct rebind {
        using other = group_allocator<U, T, Upstream, Policy>;
    };

    group_allocator() noexcept(std::is_nothrow_default_constructible_v<Upstream>)
        requires std::default_initializable<Upstream>
    = default;

    group_allocator(const group_allocator& other) noexcept : upstream_(other.upstream_), state_(other.state_) {
        pools::states::refer(state_);
        if (has_pool()) return;
        if constexpr (allocates_by_copies) {
            if (state_ == unused) {
                state_ = 0;
            } else if (!is_guest(state_)) {
                state_ = guest_of(&other);
            }
        }
    }
    group_allocator(group_allocator&& other) noexcept
        : upstream_(other.upstream_), state_(std::exchange(other.state_, 0)) {
        if (allocates_by_copies && state_ == unused) state_ = 0;
    }

    // From one for nodes of another type: no pool, as its slots are of another size.
    template <class U>
        requires(!std::same_as<U, Node> && !is_element<U, T>)
    group_allocator(const group_allocator<U, T, Upstream, Policy>& other) noexcept : upstream_(other.upstream_) {}

    // From what get_allocator() gave: the pool of that container.
    template <class U>
        requires is_element<U, T>
    group_allocator(const group_allocator<U, T, Upstream, Policy>& other) noexcept : upstream_(other.upstream_) {
        if (other.operations_ != &operations) return;
        state_ = other.state_;
        pools::states::refer(state_);
        if constexpr (!Policy::has_handles) {
            if (!has_pool() && other.stored_ != nullptr) state_ = guest_of(other.stored_);
        }
    }

    group_allocator& operator=(const group_allocator& other) noexcept {
        if (upstream_ == other.upstream_) return *this;  // nodes of this container may live on
        pools::states::leave(state_);
        upstream_ = other.upstream_;
        return *this;
    }
    group_allocator& operator=(group_allocator&& other) noexcept {
        if (this == &other) return *this;
        pools::states::leave(state_);
        if constexpr (propagate_on_container_move_assignment::value) upstream_ = other.upstream_;
        state_ = std::exchange(other.state_, 0);
        return *this;
    }
    ~group_allocator() { pools::states::leave(state_); }

    friend void swap(group_allocator& a, group_allocator& b) noexcept {
        if constexpr (propagate_on_container_swap::value) std::swap(a.upstream_, b.upstream_);
        std::swap(a.state_, b.state_);
    }

    // Throws: what the upstream throws.
    [[nodiscard]] Node* allocate(std::size_t n) {
        if constexpr (pools::is_slot) {
            if (n == 1) [[likely]] {
                if (has_pool() && pool().is_head()) [[likely]]
                    return static_cast<Node*>(pool().allocate(sizeof(Node), alignof(Node)));
                return allocate_without_pool();
            }
        }
        node_upstream from(upstream_);
        return node_traits::allocate(from, n);
    }

    void deallocate(Node* nodes, std::size_t n) noexcept {
        if constexpr (pools::is_slot) {
            if (n == 1) [[likely]] {
                if (has_pool() && pool().try_deallocate(nodes, sizeof(Node), alignof(Node))) [[likely]]
                    return;
                return deallocate_elsewhere(nodes);
            }
        }
        node_upstream from(upstream_);
        node_traits::deallocate(from, nodes, n);
    }

    [[nodiscard]] std::size_t max_size() const noexcept { return node_traits::max_size(node_upstream(upstream_)); }

    // Effects: constructs as the upstream does, where it has a way of its own.
    template <class U, class... Arguments>
        requires requires(rebound<U> upstream, U* place, Arguments&&... arguments) {
            upstream.construct(place, std::forward<Arguments>(arguments)...);
        }
    void construct(U* place, Arguments&&... arguments) {
        rebound<U> upstream(upstream_);
        upstream.construct(place, std::forward<Arguments>(arguments)...);
    }
    template <class U>
        requires upstream_destroys<rebound<U>, U>
    void destroy(U* place) noexcept {
        rebound<U> upstream(upstream_);
        upstream.destroy(place);
    }

    [[nodiscard]] group_allocator select_on_container_copy_construction() const {
        group_allocator made(shared::upstream_traits::select_on_container_copy_construction(upstream_), nullptr);
        if (allocates_by_copies) made.state_ = unused;
        return made;
    }

    template <class U>
    [[nodiscard]] friend bool operator==(const group_allocator& a,
                                         const group_allocator<U, T, Upstream, Policy>& b) noexcept {
        return a.upstream() == b.upstream();
    }

    [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

  private:
    // Lists of libc++ allocate through a copy of their allocator, that has to know which one it is of.
#if defined(_LIBCPP_VERSION)
    static constexpr bool allocates_by_copies = !Policy::has_handles;
#else
    static constexpr bool allocates_by_copies = false;
#endif
    static constexpr std::uintptr_t unused = ~std::uintptr_t{2};  // a temporary: its copies are on their own

    [[nodiscard]] static bool is_guest(std::uintptr_t state) noexcept { return (state & 3) == 2; }
    [[nodiscard]] static std::uintptr_t guest_of(const void* host) noexcept {
        return reinterpret_cast<std::uintptr_t>(host) + 2;
    }

    group_allocator(const Upstream& upstream, std::nullptr_t) noexcept : upstream_(upstream) {}

    [[nodiscard]] bool has_pool() const noexcept { return pools::states::has_pool(state_); }
    [[nodiscard]] auto& pool() const noexcept { return pools::states::pool(state_); }

    // Returns: the head of the group, made if there was no pool. Throws: what the upstream throws.
    auto& make_pool() {
        if (has_pool()) return pools::states::go_to_head(state_);
        state_ = pools::states::of(*pools::pool_type::make(rebound<unsigned char>(upstream_), state_ >> 1));
        return pool();
    }

    [[nodiscard]] group_allocator& host() const noexcept { return *reinterpret_cast<group_allocator*>(state_ - 2); }

    [[nodiscard, gnu::noinline]] Node* allocate_without_pool() {
        if (is_guest(state_)) return host().allocate(1);
        if (has_pool() || state_ >> 1 >= outside_nodes)
            return static_cast<Node*>(make_pool().allocate(sizeof(Node), alignof(Node)));
        node_upstream from(upstream_);
        Node* const node = node_traits::allocate(from, 1);
        state_ = (state_ >> 1 << 1 | 1) + 2;
        return node;
    }

    [[gnu::noinline]] void deallocate_elsewhere(Node* node) noexcept {
        if (has_pool()) {
            auto* const before = &pool();
            auto& head = pools::states::go_to_head(state_);
            if (before != &head && head.try_deallocate(node, sizeof(Node), alignof(Node))) return;
            if (head.try_deallocate_elsewhere(node, sizeof(Node), alignof(Node))) return;
            head.note_outside_freed();
        } else {
            if (is_guest(state_)) return host().deallocate(node, 1);
            if (state_ == dropping_nodes) return;
            if (state_ > 1) state_ -= 2;
        }
        node_upstream from(upstream_);
        node_traits::deallocate(from, node, 1);
    }

    [[no_unique_address]] Upstream upstream_{};
    std::uintptr_t state_ = 0;

    static constexpr group_operations operations{
        .refer = &pools::states::refer,
        .leave = &pools::states::leave,
        .references = &pools::states::references,
        .state_of = [](void* stored) noexcept -> std::uintptr_t& {
            return static_cast<group_allocator*>(stored)->state_;
        },
        .join = &pools::states::join,
        .reserve =
            [](void* stored, std::size_t bytes) {
                if constexpr (pools::is_slot) static_cast<group_allocator*>(stored)->make_pool().reserve(bytes);
            },
        .is_alone = &pools::states::is_alone,
        .outside = &pools::states::outside,
        .lies_in_pool = &pools::states::lies_in_pool,
        .drop = &pools::states::drop,
        .destroy = [](void* stored) noexcept { std::destroy_at(static_cast<group_allocator*>(stored)); },
        .forget_references = [](std::uintptr_t state,
                                std::size_t count) noexcept { pools::states::pool(state).forget_references(count); },
        .stats = &pools::states::stats,
    };
};

// The one that names a container's.
template <class Element, class T, class Upstream, class Policy>
    requires is_element<Element, T>
class group_allocator<Element, T, Upstream, Policy> {
    using shared = group_traits<T, Upstream, Policy>;
    using element_upstream = typename shared::template rebound<Element>;

    template <class, class, class, class>
    friend class group_allocator;

  public:
    using value_type = Element;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_copy_assignment =
        typename shared::upstream_traits::propagate_on_container_copy_assignment;
    using propagate_on_container_move_assignment =
        std::bool_constant<shared::is_always_equal ||
                           shared::upstream_traits::propagate_on_container_move_assignment::value>;
    using propagate_on_container_swap =
        std::bool_constant<shared::is_always_equal || shared::upstream_traits::propagate_on_container_swap::value>;
    using is_always_equal = std::bool_constant<shared::is_always_equal>;

    template <class U>
    struct rebind {
        using other = group_allocator<U, T, Upstream, Policy>;
    };

    group_allocator() noexcept(std::is_nothrow_default_constructible_v<Upstream>)
        requires std::default_initializable<Upstream>
    = default;

    // From what a user gives for an upstream: pools of its own.
    template <class Given>
        requires(!std::same_as<std::remove_cvref_t<Given>, group_allocator> && std::convertible_to<Given, Upstream>)
    group_allocator(Given&& upstream) noexcept : upstream_(std::forward<Given>(upstream)) {}

    // From the one that a container or a node handle holds.
    template <class Node>
        requires(!is_element<Node, T>)
    group_allocator(const group_allocator<Node, T, Upstream, Policy>& stored) noexcept
        : upstream_(stored.upstream_),
          state_(stored.state_),
          stored_(&stored),
          operations_(&group_allocator<Node, T, Upstream, Policy>::operations) {
        operations_->refer(state_);
    }

    // From another one.
    template <class Other>
        requires(is_element<Other, T> && !std::same_as<Other, Element>)
    group_allocator(const group_allocator<Other, T, Upstream, Policy>& other) noexcept
        : upstream_(other.upstream_), state_(other.state_), stored_(other.stored_), operations_(other.operations_) {
        if (operations_ != nullptr) operations_->refer(state_);
    }
    group_allocator(const group_allocator& other) noexcept
        : upstream_(other.upstream_), state_(other.state_), stored_(other.stored_), operations_(other.operations_) {
        if (operations_ != nullptr) operations_->refer(state_);
    }
    group_allocator& operator=(const group_allocator& other) noexcept {
        if (this == &other) return *this;
        std::destroy_at(this);
        return *std::construct_at(this, other);
    }
    ~group_allocator() {
        if (operations_ != nullptr) operations_->leave(state_);
    }

    [[nodiscard]] Element* allocate(std::size_t n) {
        element_upstream from(upstream_);
        return std::allocator_traits<element_upstream>::allocate(from, n);
    }
    void deallocate(Element* objects, std::size_t n) noexcept {
        element_upstream from(upstream_);
        std::allocator_traits<element_upstream>::deallocate(from, objects, n);
    }

    template <class U>
    [[nodiscard]] friend bool operator==(const group_allocator& a,
                                         const group_allocator<U, T, Upstream, Policy>& b) noexcept {
        return a.upstream() == b.upstream();
    }

    [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

    // Returns: the allocator that this was made from, if it is still there, and what can be asked of it.
    [[nodiscard]] void* stored() const noexcept { return const_cast<void*>(stored_); }
    [[nodiscard]] std::uintptr_t& state() noexcept { return state_; }
    // Effects: what is made from this shares the pool, and does not refer to the container.
    void forget_stored() noexcept { stored_ = nullptr; }
    [[nodiscard]] const group_operations& operations() const noexcept { return *operations_; }

  private:
    [[no_unique_address]] Upstream upstream_{};
    std::uintptr_t state_ = 0;
    const void* stored_ = nullptr;
    const group_operations* operations_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
