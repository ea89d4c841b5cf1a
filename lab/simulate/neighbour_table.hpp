// SPDX-License-Identifier: BSL-1.0
// neighbour_table: predicts which misses of the first level a processor's prefetchers would have foreseen.
//
//   line that misses ─▶ page │ its latest miss            for the 32 pages of 4 KiB that missed last
//                                └ a neighbour on either side: foreseen
//
// Processors fetch the neighbours of a missed line into the second level before a program refers to them. The streamer
// does so in either direction within a page of 4 KiB, for 32 pages at a time; the spatial prefetcher fetches the other
// line of a pair (Intel 64 and IA-32 Architectures Optimization Reference Manual, data prefetching). Longer strides are
// left out: neither prefetcher follows a stream that skips lines irregularly.
// Cost: O(32). Not thread-safe.
#pragma once

#include "lab/simulate/line_walk.hpp"

namespace millpond::simulate {

class neighbour_table {
  public:
    static constexpr uint64_t page_bytes = 4096;  // of the prefetchers, whatever the system's is
    static constexpr unsigned pages_max = 32;

    explicit neighbour_table(uint64_t line_bytes) : lines_(page_bytes / line_bytes) {
        for (entry& e : pages_) e = {no_line, no_line};
    }

    // True if a page has only one line: then nothing is foreseen.
    bool is_empty() const { return lines_ < 2; }

    // Notes a line that missed. Returns whether it was foreseen. Pre: !is_empty().
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
    entry pages_[pages_max];  // latest first
};

}  // namespace millpond::simulate
