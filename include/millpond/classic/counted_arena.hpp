// SPDX-License-Identifier: BSL-1.0
// counted_arena: memory for short-lived blocks: bump allocation, and a count of live blocks for each chunk.
//
//   chunks  │▒▒▒▒▒▒▒▒│▒▒▒▒▶   │        │▒▒▒▒▒▒▒▒│    a block is cut from the current chunk
//   live    │   3    │   1    │   0    │   12   │    at 0 the whole chunk is free again
//                      current  empty: taken next
//
// Barrett and Zorn (1993) use such an arena for objects that a profile predicts to be short-lived. It has 16 chunks of
// 4 KiB, twice the 32 KiB within which they call an object short-lived, so while predictions hold there is always an
// empty chunk. An object that outlives its prediction pins only its own chunk; the others are reused in turn. If all
// are pinned the arena returns no block, and the caller goes another way. When the last block of the current chunk
// dies, allocation begins there again, so a program whose objects live one after the other stays within a few cache
// lines.
//
// It never touches the memory that it divides. The sizes lie apart, a byte for each unit, so a free needs only the
// address. A simulation uses the same class on addresses without memory (lab/characterise/arena_trial.hpp).
//
// All functions are O(1); held_chunks is O(chunks). Not thread-safe. Owns nothing.
//
// Example:
//     millpond::classic::counted_arena<2, 4096> arena;
//     alignas(16) std::byte memory[2 * 4096];
//     arena.begin(memory);
//     std::byte* block = arena.try_allocate(100);
//     assert(arena.contains(block) && arena.usable_bytes(block) == 112);
//     arena.give_back(block);
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"

namespace millpond::inline MILLPOND_ABI::classic {

template <unsigned Chunks = 16, std::size_t ChunkBytes = 4096, std::size_t Unit = 16>
class counted_arena {
    static_assert(Chunks > 0 && Chunks <= 64, "counted_arena: at most 64 chunks");
    static_assert(detail::is_power_of_two(Unit) && ChunkBytes % Unit == 0);

  public:
    static constexpr unsigned chunks = Chunks;
    static constexpr std::size_t chunk_bytes = ChunkBytes;
    static constexpr std::size_t unit = Unit;  // alignment of the blocks, and of the memory
    static constexpr std::size_t arena_bytes = Chunks * ChunkBytes;
    // A quarter of a chunk, so that the unused end of a chunk is a small part of it.
    static constexpr std::size_t most_block_bytes = ChunkBytes / 4;
    static_assert(most_block_bytes / Unit <= 256, "counted_arena: a block's size is one byte of units");

    // Effects: makes all of the `arena_bytes` from `start` on free.
    void begin(std::byte* start) noexcept {
        start_ = next_ = start;
        end_ = start + ChunkBytes;
        live_ = {};
        current_ = 0;
        empty_ = (Chunks == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << Chunks % 64) - 1) & ~std::uint64_t{1};
    }
    [[nodiscard]] bool has_begun() const noexcept { return start_ != nullptr; }

    // `bytes`: 1 to most_block_bytes. Returns: null if no chunk has room, and before begin.
    [[nodiscard]] std::byte* try_allocate(std::size_t bytes) noexcept {
        const std::size_t whole = detail::align_up(bytes, Unit);
        if (whole > static_cast<std::size_t>(end_ - next_) && !turn()) return nullptr;
        std::byte* const block = next_;
        next_ += whole;
        ++live_[current_];
        units_[unit_of(block)] = static_cast<std::uint8_t>(whole / Unit - 1);
        return block;
    }

    // `block`: of this arena, and not given back since.
    void give_back(std::byte* block) noexcept {
        const std::size_t chunk = static_cast<std::size_t>(block - start_) / ChunkBytes;
        if (--live_[chunk] != 0) return;
        if (chunk == current_)
            next_ = start_ + chunk * ChunkBytes;
        else
            empty_ |= std::uint64_t{1} << chunk;
    }

    [[nodiscard]] std::size_t usable_bytes(const std::byte* block) const noexcept {
        return (units_[unit_of(block)] + std::size_t{1}) * Unit;
    }
    [[nodiscard]] bool contains(const void* place) const noexcept {
        return reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(start_) < arena_bytes &&
               start_ != nullptr;
    }

    [[nodiscard]] std::size_t live_blocks() const noexcept {
        std::size_t found = 0;
        for (const std::uint32_t each : live_) found += each;
        return found;
    }
    // Returns: the chunks that have live blocks.
    [[nodiscard]] unsigned held_chunks() const noexcept {
        unsigned found = 0;
        for (const std::uint32_t each : live_) found += each != 0;
        return found;
    }

    void forget() noexcept { *this = {}; }

  private:
    [[nodiscard]] std::size_t unit_of(const std::byte* block) const noexcept {
        return static_cast<std::size_t>(block - start_) / Unit;
    }

    // Effects: goes on in the first empty chunk. Returns: false if no chunk is empty.
    [[nodiscard]] bool turn() noexcept {
        if (empty_ == 0) return false;
        current_ = static_cast<unsigned>(std::countr_zero(empty_));
        empty_ &= empty_ - 1;
        next_ = start_ + current_ * ChunkBytes;
        end_ = next_ + ChunkBytes;
        return true;
    }

    std::byte* start_ = nullptr;
    std::byte* next_ = nullptr;
    std::byte* end_ = nullptr;
    std::uint64_t empty_ = 0;  // a bit for each chunk but the current one
    unsigned current_ = 0;
    std::array<std::uint32_t, Chunks> live_{};
    std::array<std::uint8_t, arena_bytes / Unit> units_{};
};

}  // namespace millpond::inline MILLPOND_ABI::classic
