// SPDX-License-Identifier: BSL-1.0
// slot_window: the chunks that begin in 4 MiB of addresses: the start of each, and the ones with a free slot.
//
//   frame (4 KiB)   │  ▼chunk……│……  ▼chunk…│…………      │          at most one chunk begins in each: none is smaller
//   start           │ 3        │ 7         │ none     │          in units of 16 bytes
//   open frames     │ 1        │ 0         │ 1        │          a bit_tree: 1 full, or no chunk
//
// The chunk of an address is found by at most two look-ups if chunks have 4 KiB, and the lowest chunk with a free slot
// by two tzcnt, whatever addresses the source of the chunks chose. Part of slot_chunks.
//
// All calls: O(1). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "../../core/detail/bit_tree.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class slot_window {
  public:
    static constexpr unsigned frame_shift = 12;
    static constexpr std::size_t frame_bytes = std::size_t{1} << frame_shift;
    static constexpr std::size_t frames = 1024;
    static constexpr std::size_t none = bit_tree::none;

    explicit slot_window(std::uintptr_t number) noexcept : number_(number) {
        for (std::uint64_t& leaf : full_) leaf = bit_tree::full;
        inner_[0] = (std::uint64_t{1} << leaf_count) - 1;
    }

    // Returns: the number of the window in which a frame lies, and the frame's place in it.
    [[nodiscard]] static std::uintptr_t number_of(std::uintptr_t frame) noexcept { return frame / frames; }
    [[nodiscard]] static std::size_t place_of(std::uintptr_t frame) noexcept { return frame % frames; }

    [[nodiscard]] std::uintptr_t number() const noexcept { return number_; }
    [[nodiscard]] bool has_chunks() const noexcept { return chunks_ != 0; }

    // Returns: the address at which the chunk of a frame begins, or 0.
    [[nodiscard]] std::uintptr_t start_in(std::size_t frame) const noexcept {
        const std::uintptr_t start = starts_[frame];
        return start == 0 ? 0 : (number_ * frames + frame) * frame_bytes + (start - 1) * unit_bytes;
    }

    // Effects: a chunk begins at `address`, a multiple of 16, and has free slots.
    void add(std::uintptr_t address) noexcept {
        const std::size_t frame = place_of(address >> frame_shift);
        starts_[frame] = static_cast<std::uint16_t>(address % frame_bytes / unit_bytes + 1);
        ++chunks_;
        open(frame);
    }

    void remove(std::size_t frame) noexcept {
        starts_[frame] = 0;
        --chunks_;
        fill(frame);
    }

    // Effects: notes that the chunk of the frame has free slots, or none.
    void open(std::size_t frame) noexcept {
        std::uint64_t& leaf = full_[frame / 64];
        leaf &= ~bit_tree::bit_of(frame);
        tree().open(frame / 64);
    }
    void fill(std::size_t frame) noexcept {
        std::uint64_t& leaf = full_[frame / 64];
        leaf |= bit_tree::bit_of(frame);
        if (leaf == bit_tree::full) tree().fill(frame / 64);
    }

    // Returns: the lowest frame whose chunk has free slots, or none.
    [[nodiscard]] std::size_t lowest_open() noexcept {
        const std::size_t leaf = tree().lowest_open();
        return leaf == none ? none : leaf * 64 + static_cast<std::size_t>(std::countr_one(full_[leaf]));
    }

  private:
    static constexpr std::size_t unit_bytes = 16;
    static constexpr std::size_t leaf_count = frames / 64;

    [[nodiscard]] bit_tree tree() noexcept { return {inner_, full_, leaf_count}; }

    std::uintptr_t number_;
    std::size_t chunks_ = 0;
    std::uint64_t inner_[1] = {};
    std::uint64_t full_[leaf_count];
    std::uint16_t starts_[frames] = {};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
