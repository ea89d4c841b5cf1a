// SPDX-License-Identifier: BSL-1.0
// neighbour_table: which misses of the first level a processor has foreseen.
//
//   line that misses ─▶ page │ line that missed last      of the 32 pages of 4 KiB that missed last
//                                └ its neighbour, on either side: foreseen
//
// Processors bring the lines next to one that missed into the second level before they are asked for: the streamer in
// either direction within a page of 4 KiB, 32 pages at a time, and the spatial prefetcher the other line of a pair
// (Intel 64 and IA-32 Architectures Optimization Reference Manual, data prefetching). Longer strides are left out: a
// stream that skips lines irregularly is no stream to the one, and no pair to the other.
// Cost: O(32). Not thread-safe.
#pragma once

#include "lab/simulate/lines.hpp"

namespace millpond::simulate {

class neighbour_table {
  public:
    static constexpr uint64_t page_bytes = 4096;
    static constexpr unsigned pages_max = 32;

    explicit neighbour_table(uint64_t line_bytes) : lines_(page_bytes / line_bytes) {
        for (entry& e : pages_) e = {no_line, no_line};
    }

    // No lines within a page: nothing is foreseen.
    bool is_empty() const { return lines_ < 2; }

    // Notes a line that missed. True where it was foreseen. Pre: !is_empty().
    bool foresees(uint64_t line) {
        const uint64_t page = line / lines_;
        unsigned at = 0;
        while (at + 1 < pages_max && pages_[at].page != page) ++at;
        const entry found = pages_[at];
        for (; at > 0; --at) pages_[at] = pages_[at - 1];
        pages_[0] = {page, line};
        return found.page == page && (line == found.line + 1 || line + 1 == found.line);
    }

  private:
    struct entry {
        uint64_t page, line;
    };

    uint64_t lines_;
    entry pages_[pages_max];  // the latest first
};

}  // namespace millpond::simulate
