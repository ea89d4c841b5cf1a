// SPDX-License-Identifier: BSL-1.0
// live_blocks: in checked mode, a list of a source's live blocks that checks each block coming back; else empty.
//
//   note ─▶ │start, bytes, alignment│ …      from malloc, apart from the blocks
//   drop ─▶ there, with this size and alignment? else "millpond: double free: …", and the program ends
//
// fixed_buffer and region use it. They have no headers, so a chunk that is freed twice would be given to two owners.
// When malloc returns null, checking ends.
//
// note: O(1) amortised. drop, resize: O(live blocks), the latest first. Not thread-safe.
//
// Example:
//     char memory[100] = {};
//     millpond::detail::live_blocks blocks;
//     blocks.note(memory, 24, 24, 8);
//     blocks.drop(memory, 24, 8, "the memory");
#pragma once

#include <cstddef>

#include "../abi.hpp"

#if defined(MILLPOND_CHECKED)
#include <cstdio>
#include <cstdlib>
#endif

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(MILLPOND_CHECKED)
class live_blocks {
  public:
    live_blocks() = default;
    live_blocks(const live_blocks&) = delete;
    live_blocks& operator=(const live_blocks&) = delete;
    ~live_blocks() { std::free(entries_); }

    // `least`: the bytes that were asked for, of the `bytes` that were given. The block may be freed with any size
    // between.
    void note(const void* start, std::size_t least, std::size_t bytes, std::size_t alignment) noexcept {
        if (count_ == capacity_) {
            const std::size_t more = capacity_ == 0 ? 16 : 2 * capacity_;
            void* const memory = is_complete_ ? std::realloc(entries_, more * sizeof(entry)) : nullptr;
            if (memory == nullptr) {
                is_complete_ = false;
                return;
            }
            entries_ = static_cast<entry*>(memory);
            capacity_ = more;
        }
        entries_[count_++] = {start, least, bytes, alignment};
    }

    // Effects: ends the program if the block is not live or has another size or alignment. `what`: the source's name.
    void drop(const void* start, std::size_t bytes, std::size_t alignment, const char* what) noexcept {
        entry* const found = find(start);
        if (found == nullptr) {
            if (!is_complete_) return;
            report("double free", what, start, "was given back before, or never came from here");
        }
        if (bytes < found->least || bytes > found->bytes)
            report("wrong size", what, start, "was given back with another size");
        if (found->alignment != alignment)
            report("wrong alignment", what, start, "was given back with another alignment");
        *found = entries_[--count_];
    }

    // Effects: the block has another size from now on.
    void resize(const void* start, std::size_t bytes) noexcept {
        if (entry* const found = find(start)) found->least = found->bytes = bytes;
    }

    void clear() noexcept { count_ = 0; }

  private:
    struct entry {
        const void* start;
        std::size_t least;
        std::size_t bytes;
        std::size_t alignment;
    };

    [[noreturn]] static void report(const char* kind, const char* what, const void* block,
                                    const char* happened) noexcept {
        std::fprintf(stderr, "millpond: %s: %s: the block at %p %s\n", kind, what, block, happened);
        std::abort();
    }

    [[nodiscard]] entry* find(const void* start) noexcept {
        for (std::size_t i = count_; i-- > 0;) {
            if (entries_[i].start == start) return entries_ + i;
        }
        return nullptr;
    }

    entry* entries_ = nullptr;
    std::size_t count_ = 0;
    std::size_t capacity_ = 0;
    bool is_complete_ = true;
};
#else
class live_blocks {
  public:
    constexpr void note(const void*, std::size_t, std::size_t, std::size_t) noexcept {}
    constexpr void drop(const void*, std::size_t, std::size_t, const char*) noexcept {}
    constexpr void resize(const void*, std::size_t) noexcept {}
    constexpr void clear() noexcept {}
};
#endif

}  // namespace millpond::inline MILLPOND_ABI::detail
