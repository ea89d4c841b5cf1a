// SPDX-License-Identifier: BSL-1.0
// group_allocator: the allocator inside a pooled container: one word, through which it allocates its nodes.
//
//   word  0, or an odd number   n nodes at most came from the upstream one by one (2 n + 1): no pool yet
//         an address + 2        a temporary inside a list: the list's own allocator does it all
//         an address            a grouped_pool; nodes that lie in no pool of its group belong to the upstream
//
//   group_allocator<node, T, …>   the allocator in the container: counted by its pool
//   group_allocator<T, T, …>      the result of the container's get_allocator() (element_allocator.hpp)
//
// A pool is made for the node after the first `outside_nodes`, so a small container costs no more than one without a
// pool. Allocators compare equal if their upstreams do, because nodes reach a new container only after the adaptor has
// joined the pools. A move takes the pool along and leaves the source without one.
// For pooled containers only. allocate, deallocate: those of grouped_pool. For one thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/upstream_memory.hpp"
#include "../../local/slot_shape.hpp"
#include "group_state.hpp"
#include "grouped_pool.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The form that a container holds.
template <class Node, class T, class Upstream, class Policy>
class group_allocator : public group_propagation<Upstream> {
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

    // Evaluated when memory is requested, because elements may be of an incomplete type, as those of a tree of maps.
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
    using pointer = node_pointer<node_upstream>;
    using typename group_propagation<Upstream>::propagate_on_container_move_assignment;
    using typename group_propagation<Upstream>::propagate_on_container_swap;

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

    // Converts one for nodes of another type: it has no pool, as its slots are of another size.
    template <class U>
        requires(!std::same_as<U, Node> && !is_element<U, T>)
    group_allocator(const group_allocator<U, T, Upstream, Policy>& other) noexcept : upstream_(other.upstream_) {}

    // Converts the result of get_allocator(): it has the pool of that container.
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
    [[nodiscard]] pointer allocate(std::size_t n) {
        if constexpr (pools::is_slot) {
            if (n == 1) [[likely]] {
                if (has_pool() && pool().is_head()) [[likely]]
                    return pointer_to<pointer>(static_cast<Node*>(pool().allocate(sizeof(Node), alignof(Node))));
                const std::uintptr_t next = (state_ | 1) + 2;
                if (next > last_outside) return pointer_to<pointer>(allocate_slowly());
                node_upstream from(upstream_);
                Node* const node = allocate_at_address(from, 1);
                state_ = next;
                return pointer_to<pointer>(node);
            }
        }
        node_upstream from(upstream_);
        return pointer_to<pointer>(allocate_at_address(from, n));
    }

    void deallocate(pointer nodes, std::size_t n) noexcept {
        if constexpr (pools::is_slot) {
            if (n == 1) [[likely]] {
                Node* const node = std::to_address(nodes);
                if (has_pool() && pool().try_deallocate(node, sizeof(Node), alignof(Node))) [[likely]]
                    return;
                if (is_checked_mode || state_ > last_outside) return deallocate_slowly(node);
                if (state_ > 1) state_ -= 2;
            }
        }
        node_upstream from(upstream_);
        deallocate_at_address(from, std::to_address(nodes), n);
    }

    [[nodiscard]] std::size_t max_size() const noexcept { return node_traits::max_size(node_upstream(upstream_)); }

    // Effects: constructs as the upstream does, if it defines construct.
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
    // Lists of libc++ allocate through a copy of their allocator, which must know the original.
#if defined(_LIBCPP_VERSION)
    static constexpr bool allocates_by_copies = !Policy::has_handles;
#else
    static constexpr bool allocates_by_copies = false;
#endif
    static constexpr std::uintptr_t last_outside = 2 * outside_nodes + 1;
    static constexpr std::uintptr_t unused = ~std::uintptr_t{2};  // a temporary: its copies are independent

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

    [[nodiscard, gnu::noinline]] Node* allocate_slowly() {
        if (is_guest(state_)) return std::to_address(host().allocate(1));
        return static_cast<Node*>(make_pool().allocate(sizeof(Node), alignof(Node)));
    }

    [[gnu::noinline]] void deallocate_slowly(Node* node) noexcept {
        if (has_pool()) {
            auto* const before = &pool();
            auto& head = pools::states::go_to_head(state_);
            if (before != &head && head.try_deallocate(node, sizeof(Node), alignof(Node))) return;
            if (head.try_deallocate_elsewhere(node, sizeof(Node), alignof(Node))) return;
            if constexpr (is_checked_mode) return head.report_foreign(node, sizeof(Node), alignof(Node));
            head.note_outside_freed();
        } else {
            if (is_guest(state_)) return host().deallocate(pointer_to<pointer>(node), 1);
            if (state_ == dropping_nodes) return;
            if constexpr (is_checked_mode)
                return report_use(misuse_kind::foreign_pointer, "a node was given to a container without a pool");
            state_ -= 2;
        }
        node_upstream from(upstream_);
        deallocate_at_address(from, node, 1);
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

}  // namespace millpond::inline MILLPOND_ABI::detail
