// SPDX-License-Identifier: BSL-1.0
// tag_before: the one word before a user's bytes, from which a free without a size finds the block.
//
//   │ tag │ user's bytes …                         what the allocator wrote: an even number
//   │ tag │ …   │ tag │ user's bytes, aligned …    the second: how far the first is away, and 1
//
// Allocators with one tag serve larger alignments than their own with a larger block that contains a second tag.
// All functions are O(1). Thread-safe for different blocks: there is no state.
//
// Example:
//     using memory = millpond::detail::break_heap<millpond::classic::pointer_words, millpond::region>;
//     using tags = millpond::detail::tag_before<memory>;
//     alignas(64) std::byte memory_of_block[256];
//     std::byte* block = memory_of_block + 16;
//     tags::write(block, 2);
//     std::byte* user = tags::aligned(block, 64);
//     assert(tags::origin(user) == block);
#pragma once

#include <cstddef>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Memory>
struct tag_before {
    using word = typename Memory::word;
    static constexpr std::size_t bytes = sizeof(word);

    [[nodiscard]] static word read(const std::byte* user) noexcept { return Memory::load(user - bytes); }
    static void write(std::byte* user, word tag) noexcept { Memory::store(user - bytes, tag); }

    // Returns: the first place at or behind `user` with this alignment; the block has `alignment` bytes to spare.
    [[nodiscard]] static std::byte* aligned(std::byte* user, std::size_t alignment) noexcept {
        const std::size_t distance = padding_to(user, alignment);
        if (distance == 0) return user;
        write(user + distance, static_cast<word>(2 * distance + 1));
        return user + distance;
    }

    // Returns: the start of the user's bytes before they were aligned.
    [[nodiscard]] static std::byte* origin(std::byte* user) noexcept {
        const word tag = read(user);
        return (tag & 1) != 0 ? user - tag / 2 : user;
    }
    [[nodiscard]] static const std::byte* origin(const std::byte* user) noexcept {
        return origin(const_cast<std::byte*>(user));
    }
};

}  // namespace millpond::inline MILLPOND_ABI::detail
