// SPDX-License-Identifier: BSL-1.0
// class_blocks: the free blocks of one size in a pool: freed ones, and a row of fresh ones.
//
//   ready ─▶│24│─▶│24│─▶ …           first: freed blocks, in the order in which they were freed
//   fresh ─▶│24│24│24│◀─ fresh_end   then: in the order of addresses, never linked
//   freed ─▶│24│─▶│24│─▶ …           the last freed first; 64 of them, reversed, are the next to be ready
//
// Why two lists: a queue, for example, frees nodes at one end and adds some at the other. From one list it would get
// them back in reverse order, and after some time neighbours in the queue would no longer be neighbours in memory. From
// 64 on the last freed come first, because they are in the cache.
//
// Part of multipool. Classes come in groups of four neighbours, made when one of them is first used, so a pool that
// uses few sizes pays for few. no_blocks represents a group that does not exist yet: an allocation finds no block
// there, and since it is never written, it may be shared and read-only. take, put: O(1). turn_over: O(64). Not
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "block_owner.hpp"
#include "free_list.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The properties of a class before it has blocks.
struct class_plan {
    std::uint32_t block_bytes = 0;
    std::uint32_t row_blocks = 1;  // blocks in the next row
};

struct class_blocks {
    // The bytes reversed at once, as many as the longest row of a multipool has: a queue frees no more meanwhile.
    static constexpr std::size_t turned_bytes = std::size_t{32} << 10;

    free_list ready;
    char* fresh = nullptr;  // the next block of the row that was never given out, up to …
    char* fresh_end = nullptr;
    free_list freed;
    std::uint32_t block_bytes = 0;
    std::uint32_t row_blocks = 1;

    constexpr class_blocks() noexcept = default;
    explicit class_blocks(class_plan plan) noexcept : block_bytes(plan.block_bytes), row_blocks(plan.row_blocks) {}

    // Returns: a block, or null if none is ready or fresh.
    [[nodiscard, gnu::always_inline]] void* take() noexcept {
        if (void* const block = ready.pop(free_list::looks_at_size ? block_bytes : 0)) [[likely]]
            return block;
        if (fresh == fresh_end || !freed.empty()) return nullptr;
        return take_fresh();
    }

    // Returns: the next block of the row, which must have one.
    [[nodiscard]] void* take_fresh() noexcept {
        const std::size_t gap = gap_in_row(block_bytes);
        char* const block = fresh + gap;
        fresh += gap + block_bytes;
        free_list::forget_seal(block, block_bytes);
        return block;
    }

    // Effects: frees the block. The path without a jump is for a block that is allocated again at once: without the
    // hint gcc chose another path in each function into which this is inlined.
    void put(void* block) noexcept {
        if (free_list::are_empty(ready, freed)) [[likely]] {
            ready.push(block, block_bytes);
        } else {
            if (is_hardened && !free_list::is_sealed(block_bytes) && ready.is_first(block))
                misuse_found("a block was freed twice", block);
            freed.push(block, block_bytes);
        }
    }

    // Effects: makes the blocks that were freed last ready, in the order in which they were freed. Returns: false if
    // there are none.
    [[nodiscard]] bool turn_over() noexcept {
        for (std::size_t bytes = 0; bytes < turned_bytes; bytes += block_bytes) {
            void* const block = freed.pop(block_bytes);
            if (block == nullptr) break;
            ready.push(block, block_bytes);
        }
        return !ready.empty();
    }

    // Returns: a freed block, the last one first, or null.
    [[nodiscard]] void* take_freed() noexcept { return (freed.empty() ? ready : freed).pop(block_bytes); }

    [[nodiscard]] bool empty() const noexcept { return fresh == fresh_end && ready.empty() && freed.empty(); }
};

struct class_group {
    static constexpr unsigned size = 4;

    constexpr class_group() noexcept = default;
    // Copies class by class: gcc copies a whole group with rep movs, which takes as long as a call of malloc.
    explicit class_group(const std::array<class_plan, size>& plans) noexcept
        : classes{class_blocks(plans[0]), class_blocks(plans[1]), class_blocks(plans[2]), class_blocks(plans[3])} {}

    class_blocks classes[size];
    class_group* absorbed = nullptr;  // group of an absorbed pool, whose blocks are used up in their turn
};

inline constexpr class_group no_blocks{};

}  // namespace millpond::inline MILLPOND_ABI::detail
