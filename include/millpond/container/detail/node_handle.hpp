// SPDX-License-Identifier: BSL-1.0
// node_handle: an element of an associative container that is in none at the moment: the standard's node_type.
//
//   a.extract(7) ──▶ node_handle ──▶ b.insert(std::move(handle))      key() may be changed on the way
//
// It holds the core's `held`: the node itself if containers have nodes, else the value. Handles fit all containers of
// one core and element, so a node of a set goes into a multiset.
//
// O(1). Not thread-safe. Ownership: the element, until a container takes it.
#pragma once

#include <type_traits>
#include <utility>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Core>
class node_handle {
    using element = typename Core::element;
    using held = typename Core::held;

  public:
    using allocator_type = typename Core::allocator_type;

    node_handle() = default;
    explicit node_handle(held&& which) noexcept(std::is_nothrow_move_constructible_v<held>) : held_(std::move(which)) {}

    [[nodiscard]] bool empty() const noexcept { return !held_; }
    [[nodiscard]] explicit operator bool() const noexcept { return !empty(); }
    // Precondition of these: the handle is not empty.
    [[nodiscard]] allocator_type get_allocator() const { return held_.get_allocator(); }
    [[nodiscard]] auto& value() const noexcept
        requires(!element::is_map)
    {
        return held_.get();
    }
    // Returns: the key, which may be changed while no container has it.
    [[nodiscard]] auto& key() const noexcept
        requires element::is_map
    {
        return const_cast<typename element::key_type&>(held_.get().first);
    }
    [[nodiscard]] auto& mapped() const noexcept
        requires element::is_map
    {
        return held_.get().second;
    }

    void swap(node_handle& other) noexcept(std::is_nothrow_move_constructible_v<held>) {
        std::swap(held_, other.held_);
    }
    friend void swap(node_handle& a, node_handle& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

    // Returns: the element, for a container to take.
    [[nodiscard]] held& content() noexcept { return held_; }
    [[nodiscard]] const held& content() const noexcept { return held_; }

  private:
    held held_;
};

// The result of inserting a handle: the position of the element, and the handle again if an equal one existed.
template <class Iterator, class Node>
struct node_insert_result {
    Iterator position;
    bool inserted;
    Node node;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
