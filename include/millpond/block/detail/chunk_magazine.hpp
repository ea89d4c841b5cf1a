// SPDX-License-Identifier: BSL-1.0
// chunk_magazine: a few chunks that one thread keeps for itself, to avoid locking the cache for each.
//
//   this thread ─push, pop─▶ │ 1 KiB ▸│ 2 KiB ▸│ … │ 64 KiB ▸│  at most 256 KiB     ─full, empty─▶  the shared cache
//
// Part of chunk_cache; nothing else uses it. A magazine starts closed: it accepts nothing and holds nothing. Its thread
// opens it at the first release, and closes it when the thread ends.
// push, pop: O(1), no atomic operation. Not thread-safe: it belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "chunk_sizes.hpp"
#include "free_chunks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class chunk_magazine {
  public:
    static constexpr std::size_t capacity_bytes = std::size_t{256} << 10;
    static constexpr std::size_t largest_chunk_bytes = std::size_t{64} << 10;
    static constexpr unsigned bins = chunk_sizes::bin_of(largest_chunk_bytes, 1) + 1;
    // After this many pushes, of at least that many bytes, one push is refused so that the cache learns of them.
    static constexpr std::uint32_t report_pushes = 256;
    static constexpr std::size_t report_bytes = report_pushes * chunk_sizes::smallest;

    constexpr chunk_magazine() noexcept = default;
    chunk_magazine(const chunk_magazine&) = delete;
    chunk_magazine& operator=(const chunk_magazine&) = delete;

    // Returns: true if the chunk of `bin`, below `bins`, is now here; false if there is no room, or a report is due.
    [[nodiscard]] bool push(unsigned bin, void* chunk) noexcept {
        const std::size_t bytes = sizes[bin];
        if (bytes > room_bytes_ || unreported_ == report_pushes) return false;
        room_bytes_ -= bytes;
        ++unreported_;
        chunks_[bin].push(chunk, bytes);
        return true;
    }

    // Returns: the chunk of `bin` pushed last, or null.
    [[nodiscard]] void* pop(unsigned bin) noexcept {
        void* const chunk = chunks_[bin].pop(sizes[bin]);
        if (chunk != nullptr) room_bytes_ += sizes[bin];
        return chunk;
    }

    // Returns: the size of the chunks in `bin`, which must be below `bins`.
    [[nodiscard]] static std::size_t bytes_of(unsigned bin) noexcept { return sizes[bin]; }

    // `trims`: the number of times that the cache has been trimmed so far.
    void open(std::size_t trims) noexcept {
        is_open_ = true;
        trims_seen_ = trims;
        room_bytes_ = capacity_bytes;
        unreported_ = 0;
    }

    // Effects: passes every chunk to `take(bin, chunk)`, and accepts none until it is opened again.
    template <class Take>
    void close(Take take) noexcept {
        for (unsigned bin = 0; bin < bins; ++bin) {
            while (void* chunk = pop(bin)) take(bin, chunk);
        }
        is_open_ = false;
        room_bytes_ = 0;
    }

    // Effects: as close, permanently.
    template <class Take>
    void end(Take take) noexcept {
        close(take);
        has_ended_ = true;
    }

    [[nodiscard]] bool is_report_due() const noexcept { return unreported_ == report_pushes; }
    void report() noexcept { unreported_ = 0; }

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }
    [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
    [[nodiscard]] std::size_t trims_seen() const noexcept { return trims_seen_; }
    [[nodiscard]] std::size_t held_bytes() const noexcept { return is_open_ ? capacity_bytes - room_bytes_ : 0; }

  private:
    // A table is faster than arithmetic.
    static constexpr auto sizes = [] {
        std::array<std::uint32_t, bins> table{};
        for (unsigned bin = 0; bin < bins; ++bin) table[bin] = static_cast<std::uint32_t>(chunk_sizes::bytes_of(bin));
        return table;
    }();

    bool is_open_ = false;
    bool has_ended_ = false;
    std::size_t trims_seen_ = 0;
    std::size_t room_bytes_ = 0;
    std::uint32_t unreported_ = 0;  // pushes that the cache has not heard of
    free_chunks chunks_[bins] = {};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
