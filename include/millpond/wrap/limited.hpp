// SPDX-License-Identifier: BSL-1.0
// limited: a layer over any allocator that puts a hard limit on its live bytes.
//
//   allocate ─▶ live + bytes ≤ limit? ──yes──▶ allocator beneath
//                    └─no─▶ callback: false ─▶ null, or std::bad_alloc
//                                     true ──▶ tested again, if it has freed something or raised the limit
//
// Use it where one customer, request or plug-in must not take all memory. Its place decides what is limited:
// multipool<limited<chunk_cache>> limits the memory that the pool holds, chunks included; limited<multipool<>> limits
// the requests, to the byte. Frees to monotonic return nothing, so put the limit beneath it.
//
// The callback runs inside the allocation that would exceed the limit. It may free blocks of this same allocator and
// change the limit; it must not throw. It gets your context, and returns true for "try again".
//
// After rewind, the smaller of the bytes live at the checkpoint and now counts as live, so the limit is never exceeded.
// allocate, deallocate: O(1) on top of A and the callback. Thread-safety: none, whatever the allocator's; for several
// threads use synchronized<limited<A>>, whose callback must then free through unlocked().
//
// Example:
//     millpond::limited<millpond::multipool<>> pool(millpond::byte_limit{1000});
//     void* block = pool.allocate(600, 8);
//     assert(pool.try_allocate(600, 8) == nullptr);
//     pool.deallocate(block, 600, 8);
//     pool.deallocate(pool.allocate(600, 8), 600, 8);
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "../block/source_ref.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/out_of_memory.hpp"
#include "detail/checkpoint_of.hpp"

namespace millpond::inline MILLPOND_ABI {

struct byte_limit {
    std::size_t bytes;
};

// Called with the request that does not fit. Returns: true if it may fit now.
using limit_function = bool(void* context, std::size_t bytes, std::size_t alignment);

template <block_source A>
class limited : public detail::chunk_size_of<A>, public detail::reuse_of<A> {
  public:
    class checkpoint_type {
        friend limited;
        checkpoint_type(detail::checkpoint_of<A> place, std::size_t live_bytes) noexcept
            : place_(place), live_bytes_(live_bytes) {}
        detail::checkpoint_of<A> place_;
        std::size_t live_bytes_;
    };

    // Ownership: the allocator is a member, made from the arguments that follow.
    template <class... Arguments>
        requires std::constructible_from<A, Arguments...>
    explicit limited(byte_limit limit, Arguments&&... arguments)
        : allocator_(std::forward<Arguments>(arguments)...), limit_bytes_(limit.bytes) {}

    limited(const limited&) = delete;
    limited& operator=(const limited&) = delete;

    // Returns: what the allocator returns, or null if the request would exceed the limit.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (!fits(bytes) && !make_room(bytes, alignment)) return nullptr;
        return note(allocator_.try_allocate(bytes, alignment), bytes);
    }

    // Throws: std::bad_alloc at the limit, else what the allocator throws.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (!fits(bytes) && !make_room(bytes, alignment)) out_of_memory(bytes, alignment);
        return note(detail::allocate_from(allocator_, bytes, alignment), bytes);
    }

    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept
        requires slab_source<A>
    {
        if (!fits(bytes) && !make_room(bytes, alignment)) return nullptr;
        return note(allocator_.try_allocate_slab(bytes, alignment, block_bytes), bytes);
    }

    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        live_bytes_ -= counted_bytes(bytes);
        allocator_.deallocate(block, bytes, alignment);
    }

    void reset() noexcept
        requires managed_allocator<A>
    {
        allocator_.reset();
        live_bytes_ = 0;
    }

    void release() noexcept
        requires managed_allocator<A>
    {
        allocator_.release();
        live_bytes_ = 0;
    }

    [[nodiscard]] checkpoint_type checkpoint() const noexcept
        requires rewindable_allocator<A>
    {
        return {allocator_.checkpoint(), live_bytes_};
    }

    void rewind(checkpoint_type place) noexcept
        requires rewindable_allocator<A>
    {
        allocator_.rewind(place.place_);
        if (place.live_bytes_ < live_bytes_) live_bytes_ = place.live_bytes_;
    }

    [[nodiscard]] std::size_t held_bytes() const noexcept
        requires requires(const A& allocator) { allocator.held_bytes(); }
    {
        return allocator_.held_bytes();
    }

    // Effects: from now on calls `function` (null: none) with `context` when a request does not fit.
    void on_limit(limit_function* function, void* context) noexcept {
        function_ = function;
        context_ = context;
    }

    // Effects: sets the limit. Live blocks stay, even if they exceed it.
    void set_limit_bytes(std::size_t bytes) noexcept { limit_bytes_ = bytes; }

    [[nodiscard]] std::size_t limit_bytes() const noexcept { return limit_bytes_; }
    [[nodiscard]] std::size_t live_bytes() const noexcept { return live_bytes_; }
    [[nodiscard]] A& target() noexcept { return allocator_; }

  private:
    // A block of 0 bytes counts as 1, because their number would be unlimited otherwise.
    [[nodiscard]] static constexpr std::size_t counted_bytes(std::size_t bytes) noexcept {
        return bytes + (bytes == 0);
    }

    [[nodiscard]] bool fits(std::size_t bytes) const noexcept {
        return live_bytes_ <= limit_bytes_ && counted_bytes(bytes) <= limit_bytes_ - live_bytes_;
    }

    [[nodiscard]] void* note(void* block, std::size_t bytes) noexcept {
        if (block != nullptr) live_bytes_ += counted_bytes(bytes);
        return block;
    }

    // Effects: calls the callback until the request fits, or nothing improves any more.
    [[gnu::noinline, gnu::cold]] bool make_room(std::size_t bytes, std::size_t alignment) noexcept {
        const detail::kept_exception of_the_callback;  // apart from this request's own exception
        while (function_ != nullptr) {
            const std::size_t live_before = live_bytes_, limit_before = limit_bytes_;
            if (!function_(context_, bytes, alignment)) return false;
            if (fits(bytes)) return true;
            if (live_bytes_ >= live_before && limit_bytes_ <= limit_before) return false;
        }
        return false;
    }

    A allocator_;
    std::size_t limit_bytes_;
    std::size_t live_bytes_ = 0;
    limit_function* function_ = nullptr;
    void* context_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI
