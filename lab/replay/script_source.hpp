// SPDX-License-Identifier: BSL-1.0
// script_source: reads a script, a block at a time, and checks it so that a player can rely on it.
//
//   file ──read()──▶ one block ──checksum, ranges, order of each slot's operations──▶ records
//
// The file is read, not mapped, so that its pages do not count as memory of the player. Checking a record: O(1).
// Memory: one block, a bit for each slot, a word for each thread. Calls malloc only to report an error. Throws failure:
// 3 for a script that is missing, cut or damaged. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "lab/replay/page_array.hpp"
#include "lab/replay/script.hpp"

namespace millpond::replay {

class script_source {
  public:
    explicit script_source(const char* path);
    ~script_source();
    script_source(const script_source&) = delete;
    script_source& operator=(const script_source&) = delete;

    const script_header& header() const { return header_; }
    const page_array<script_pool>& pools() const { return pools_; }

    // Returns the next records, valid until the next call; empty at the end of the script.
    std::span<const record> next();
    // The time of the block that next() returned, in nanoseconds since the first event.
    std::uint64_t time_ns() const { return block_.time_ns; }

    // The live bytes in the total order, over the records returned so far.
    std::uint64_t live_bytes() const { return live_bytes_; }
    std::uint64_t peak_live_bytes() const { return peak_live_bytes_; }
    std::uint64_t records() const { return records_; }

  private:
    static constexpr std::uint32_t no_slot = ~std::uint32_t{0};

    void read(void* to, std::size_t bytes);
    void check(const record& r);
    bool flip(std::uint32_t slot, bool was_live);
    [[noreturn]] void damaged(const char* what) const;

    const char* path_;
    int file_;
    script_header header_{};
    script_block block_{};
    page_array<script_pool> pools_;
    page_array<record> records_of_block_;
    page_array<std::uint64_t> live_;      // a bit for each slot
    page_array<std::uint32_t> resizing_;  // by thread: the slot + 1 of its pending realloc; 0: none
    std::uint64_t live_bytes_ = 0, peak_live_bytes_ = 0, records_ = 0, blocks_ = 0;
};

}  // namespace millpond::replay
