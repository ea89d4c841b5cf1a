// SPDX-License-Identifier: BSL-1.0
// size_class: the blocks of one size that a pool can give out: those that were freed, and a row of fresh ones.
//
//   freed ─▶│24│─▶│24│─▶ …           first: the last one freed, which is likely still in the cache
//   fresh ─▶│24│24│24│◀─ fresh_end   then: in the order of addresses, never linked
//
// Part of multipool and synchronized_multipool. Classes come in groups of four neighbours, made when one of them is
// first used, so that a pool that uses few sizes pays for few. no_blocks stands for a group that does not exist yet:
// whoever allocates finds nothing there, and what is never written may be shared and read-only.
// take: O(1). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "free_list.hpp"

namespace millpond {

struct size_class {
    free_list freed;
    char* fresh = nullptr;  // the next block of the row that was never given out, up to …
    char* fresh_end = nullptr;
    std::uint32_t block_bytes = 0;
    std::uint32_t row_blocks = 1;  // of the next row

    // Returns: a block, or null if there is none.
    [[nodiscard]] void* take() noexcept {
        if (void* const block = freed.pop(block_bytes)) [[likely]]
            return block;
        if (fresh == fresh_end) return nullptr;
        char* const block = fresh;
        fresh += block_bytes;
        free_list::forget_seal(block, block_bytes);
        return block;
    }

    [[nodiscard]] bool empty() const noexcept { return fresh == fresh_end && freed.empty(); }
};

struct class_group {
    static constexpr unsigned size = 4;

    size_class classes[size];
    class_group* absorbed = nullptr;  // of pools that were absorbed: what they had is used up in its turn
};

inline constexpr class_group no_blocks{};

}  // namespace millpond
