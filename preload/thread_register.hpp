// SPDX-License-Identifier: BSL-1.0
// thread_register: finds the data of a thread that ended without running its destructors.
//
//   thread 0x7f…6c0 ─ add ─▶ │ bucket │─▶ its things ─▶ …   a later thread 0x7f…6c0 ─ remove ─▶ what was left there
//
// A thread is named by pthread_self, an address on its stack, which no two living threads share. The C library runs no
// destructor of thread-specific data for a thread whose first heap event comes in the last round of those destructors,
// or after them, when it frees the vectors of other threads. So the data of such a thread stays here until a thread
// starts on the same stack, which proves that the first one is gone. At most one node stays for each stack address.
//
// Node: has members thread_id register_thread; Node* register_next. The caller owns the nodes, and the lock around each
// call. add, remove: O(living threads / 1024).
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::preload {

template <class Node>
class thread_register {
  public:
    using thread_id = std::uintptr_t;

    // `thread`: must have no node here.
    void add(Node& node, thread_id thread) noexcept {
        Node*& first = bucket_of(thread);
        node.register_thread = thread;
        node.register_next = first;
        first = &node;
    }

    // Returns: the node of that thread, after removing it; null if it has none.
    Node* remove(thread_id thread) noexcept {
        Node** at = &bucket_of(thread);
        while (*at != nullptr && (*at)->register_thread != thread) at = &(*at)->register_next;
        Node* const found = *at;
        if (found != nullptr) *at = found->register_next;
        return found;
    }

    // Removes every node, and calls take(node) for each.
    template <class Take>
    void take_all(const Take& take) noexcept {
        for (Node*& first : buckets_)
            while (Node* const node = first) {
                first = node->register_next;
                take(*node);
            }
    }

    // Forgets every node, and touches only buckets that were in use.
    void clear() noexcept {
        for (Node*& first : buckets_)
            if (first != nullptr) first = nullptr;
    }

  private:
    static constexpr unsigned bucket_bits = 10;

    // The C library's stacks lie a multiple of a page apart.
    [[nodiscard]] Node*& bucket_of(thread_id thread) noexcept {
        constexpr unsigned page_bits = 12;
        const std::uint64_t mixed = (std::uint64_t{thread} >> page_bits) * 0x9E3779B97F4A7C15u;
        return buckets_[mixed >> (64 - bucket_bits)];
    }

    Node* buckets_[std::size_t{1} << bucket_bits] = {};
};

}  // namespace millpond::preload
