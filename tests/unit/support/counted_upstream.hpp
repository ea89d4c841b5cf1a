// SPDX-License-Identifier: BSL-1.0
// counted_upstream: a standard allocator that counts live blocks and fails where a test asks for it.
//
// Allocators over one account are equal, and others are not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace millpond::test {

struct upstream_account {
    std::size_t live_bytes = 0;
    std::size_t live_blocks = 0;
    std::size_t largest = 0;  // block, in bytes
    std::size_t calls = 0;
    std::size_t fails_at = static_cast<std::size_t>(-1);
};

// Propagates: true if a container's move and swap take the allocator along.
template <class T, bool Propagates = true>
class counted_upstream {
  public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::bool_constant<Propagates>;
    using propagate_on_container_swap = std::bool_constant<Propagates>;
    template <class U>
    struct rebind {
        using other = counted_upstream<U, Propagates>;
    };

    counted_upstream(upstream_account& to) noexcept : to_(&to) {}
    template <class U>
    counted_upstream(const counted_upstream<U, Propagates>& other) noexcept : to_(other.to_) {}

    T* allocate(std::size_t n) {
        if (to_->calls++ == to_->fails_at) throw std::bad_alloc();
        T* const memory = std::allocator<T>().allocate(n);
        ++to_->live_blocks;
        to_->live_bytes += n * sizeof(T);
        to_->largest = std::max(to_->largest, n * sizeof(T));
        return memory;
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        --to_->live_blocks;
        to_->live_bytes -= n * sizeof(T);
        std::allocator<T>().deallocate(memory, n);
    }
    template <class U>
    friend bool operator==(const counted_upstream& a, const counted_upstream<U, Propagates>& b) noexcept {
        return a.to_ == b.to_;
    }

    upstream_account* to_;
};

}  // namespace millpond::test
