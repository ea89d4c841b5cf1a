// SPDX-License-Identifier: BSL-1.0
// fixed_buffer: a block source over memory that it was given; it never takes more.
//
//   │chunk│chunk│chunk│▒▒▒▒▒▒▒▒▒▒▒▒│
//   begin             next ▲       ▲ end         null when it is used up
//
// Use it below a pool that must not touch the heap: memory on the stack, in a static array, shared between processes,
// or locked. Where overflowing into the heap is fine, give monotonic an initial_buffer instead. Chunks come back in the
// order of a stack, or all at once: a chunk that was not the last is used again when all chunks behind it are back too,
// or when no chunk is in use any more.
//
// In checked mode the program ends on a double free, a foreign chunk, a wrong size or alignment, and calls of two
// threads that overlap.
// allocate, deallocate: O(1). Not thread-safe. Ownership: the memory stays the caller's and must outlive this.
//
// Example:
//     alignas(16) char memory[4096];
//     millpond::fixed_buffer source(memory, sizeof memory);
//     millpond::multipool<millpond::source_ref<millpond::fixed_buffer>> pool(source);
//     assert(pool.try_allocate(24, 8) != nullptr && pool.try_allocate(100000, 8) == nullptr);
#pragma once

#include <cstddef>

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/live_blocks.hpp"
#include "../core/detail/one_at_a_time.hpp"
#include "../core/detail/sanitizer.hpp"
#include "../core/out_of_memory.hpp"

namespace millpond::inline MILLPOND_ABI {

class fixed_buffer {
  public:
    static constexpr bool reuses_memory = false;

    fixed_buffer(void* memory, std::size_t bytes) noexcept
        : begin_(static_cast<char*>(memory)), next_(begin_), end_(begin_ + bytes) {
        detail::poison(begin_, bytes);
    }

    fixed_buffer(const fixed_buffer&) = delete;
    fixed_buffer& operator=(const fixed_buffer&) = delete;
    ~fixed_buffer() { detail::unpoison(begin_, static_cast<std::size_t>(end_ - begin_)); }

    // Returns: `bytes` of memory aligned to `alignment`, or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the fixed_buffer");
        bytes += bytes == 0;
        const std::size_t room = room_bytes();
        const std::size_t padding = detail::padding_to(next_, alignment);
        if (padding > room || bytes > room - padding) return nullptr;
        char* const chunk = next_ + padding;
        next_ = chunk + bytes;
        ++live_;
        blocks_.note(chunk, bytes, bytes, alignment);
        detail::unpoison(chunk, bytes);
        return chunk;
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* chunk = try_allocate(bytes, alignment)) return chunk;
        out_of_memory(bytes, alignment);
    }

    void deallocate(void* chunk, std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept {
        const detail::one_at_a_time::visit here(busy_, "the fixed_buffer");
        bytes += bytes == 0;
        blocks_.drop(chunk, bytes, alignment, "the fixed_buffer");
        detail::poison(chunk, bytes);
        if (--live_ == 0) {
            next_ = begin_;
        } else if (static_cast<char*>(chunk) + bytes == next_) {
            next_ = static_cast<char*>(chunk);
        }
    }

    // Returns: the bytes that are left at the end.
    [[nodiscard]] std::size_t room_bytes() const noexcept { return static_cast<std::size_t>(end_ - next_); }

  private:
    char* begin_;
    char* next_;
    char* end_;
    std::size_t live_ = 0;  // chunks
    [[no_unique_address]] detail::live_blocks blocks_;
    [[no_unique_address]] detail::one_at_a_time busy_;
};

}  // namespace millpond::inline MILLPOND_ABI
