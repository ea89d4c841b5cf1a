// SPDX-License-Identifier: BSL-1.0
// element_allocator: the group_allocator for a container's elements, which get_allocator() of the standard container
// returns.
//
//   get_allocator() ─▶ state: a reference to the pool │ stored: the allocator in the container │ its operations
//
// The adaptor reaches the allocator in its container through it. The standard library makes temporary containers and
// node handles with it, which share the pool. It allocates no node: requests to it go to the upstream. O(1).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/detail/upstream_memory.hpp"
#include "group_allocator.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The form that names a container's allocator.
template <class Element, class T, class Upstream, class Policy>
    requires is_element<Element, T>
class group_allocator<Element, T, Upstream, Policy> : public group_propagation<Upstream> {
    using shared = group_traits<T, Upstream, Policy>;
    using element_upstream = typename shared::template rebound<Element>;

    template <class, class, class, class>
    friend class group_allocator;

  public:
    using value_type = Element;
    using pointer = node_pointer<element_upstream>;

    template <class U>
    struct rebind {
        using other = group_allocator<U, T, Upstream, Policy>;
    };

    group_allocator() noexcept(std::is_nothrow_default_constructible_v<Upstream>)
        requires std::default_initializable<Upstream>
    = default;

    // Converts a user's upstream: the copy makes pools of its own.
    template <class Given>
        requires(!std::same_as<std::remove_cvref_t<Given>, group_allocator> && std::convertible_to<Given, Upstream>)
    group_allocator(Given&& upstream) noexcept : upstream_(std::forward<Given>(upstream)) {}

    // Converts the allocator that a container or a node handle holds.
    template <class Node>
        requires(!is_element<Node, T>)
    group_allocator(const group_allocator<Node, T, Upstream, Policy>& stored) noexcept
        : upstream_(stored.upstream_),
          state_(stored.state_),
          stored_(&stored),
          operations_(&group_allocator<Node, T, Upstream, Policy>::operations) {
        if (refers_to_pool(state_)) operations_->refer(state_);
    }

    // Converts one for another element type.
    template <class Other>
        requires(is_element<Other, T> && !std::same_as<Other, Element>)
    group_allocator(const group_allocator<Other, T, Upstream, Policy>& other) noexcept
        : upstream_(other.upstream_), state_(other.state_), stored_(other.stored_), operations_(other.operations_) {
        if (refers_to_pool(state_)) operations_->refer(state_);
    }
    group_allocator(const group_allocator& other) noexcept
        : upstream_(other.upstream_), state_(other.state_), stored_(other.stored_), operations_(other.operations_) {
        if (refers_to_pool(state_)) operations_->refer(state_);
    }
    group_allocator& operator=(const group_allocator& other) noexcept {
        if (this == &other) return *this;
        std::destroy_at(this);
        return *std::construct_at(this, other);
    }
    ~group_allocator() {
        if (refers_to_pool(state_)) operations_->leave(state_);
    }

    [[nodiscard]] pointer allocate(std::size_t n) {
        element_upstream from(upstream_);
        return pointer_to<pointer>(allocate_at_address(from, n));
    }
    void deallocate(pointer objects, std::size_t n) noexcept {
        element_upstream from(upstream_);
        deallocate_at_address(from, std::to_address(objects), n);
    }

    template <class U>
    [[nodiscard]] friend bool operator==(const group_allocator& a,
                                         const group_allocator<U, T, Upstream, Policy>& b) noexcept {
        return a.upstream() == b.upstream();
    }

    [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

    // Returns: the allocator from which this was made, if it still exists, and its operations.
    [[nodiscard]] void* stored() const noexcept { return const_cast<void*>(stored_); }
    [[nodiscard]] std::uintptr_t& state() noexcept { return state_; }
    // Effects: from now on, objects made from this share the pool but do not refer to the container.
    void forget_stored() noexcept { stored_ = nullptr; }
    [[nodiscard]] const group_operations& operations() const noexcept { return *operations_; }

  private:
    [[no_unique_address]] Upstream upstream_{};
    std::uintptr_t state_ = 0;
    const void* stored_ = nullptr;
    const group_operations* operations_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
