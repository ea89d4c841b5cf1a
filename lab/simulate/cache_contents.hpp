// SPDX-License-Identifier: BSL-1.0
// cache_contents: the bytes that one cache holds, by the code that accessed each of them last.
//
//   object │tag│ object │tag│      a line leaves the cache: its tags were last accessed by the allocator,
//   ▒▒▒▒▒▒▒│▓▓▓│▒▒▒▒····│▓▓▓│      objects by the program; what neither has accessed yet belongs to no one
//   └─────── a line ────────┘
//
// Counted when a line leaves the cache, and for the lines that are still in it. So a byte weighs as often as its line
// was fetched, and memory that the allocator gives another layout counts as what it was at that time. The bytes last
// accessed by the allocator are its tags, its tables, and the links in free blocks: what only the allocator uses. It
// accesses these by words of 4 to 16 bytes. Shorter and longer accesses of its own clear blocks for calloc and copy
// them for realloc: those bytes count as the program's, in whose name they are written.
// Rows: `fetched`, all bytes; `held`, those of each origin. Cost: O(ways) and a look-up a line; with one way, a look-up
// only for lines that enter or leave. Memory: two to four times 32 bytes for each different line. Not thread-safe.
#pragma once

#include "lab/simulate/known_blocks.hpp"
#include "lab/simulate/line_parts.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/set_cache.hpp"

namespace millpond::simulate {

class cache_contents {
  public:
    static constexpr unsigned origins = 3;
    static constexpr uint16_t word_bytes_min = 4, word_bytes_max = 16;

    // Returns the origin that the bytes of a reference count for.
    static unsigned owner_of(const reference& r) {
        const bool is_word = r.bytes >= word_bytes_min && r.bytes <= word_bytes_max;
        if (r.origin == millpond_of_allocator && !is_word) return millpond_of_program;
        return r.origin < origins ? r.origin : static_cast<unsigned>(millpond_of_system);
    }

    struct counts {
        uint64_t fetched;
        uint64_t held[origins];
    };

    cache_contents(const host& system, line_walk lines, uint64_t sets, unsigned ways, replacement rule, uint64_t seed);

    void take(const reference* batch, size_t count);
    void flush();
    void tell(const report& to) const;

    // Returns the bytes of the lines that have left the cache, and of those that are in it. O(lines).
    counts total() const;

  private:
    // The parts of a line by the origin of their last access; none has two.
    struct line_state {
        uint64_t of[origins];
        bool is_inside;
    };

    void settle(line_state& one);
    void add(counts& to, const line_state& one) const;
    void give(line_state& one, unsigned origin, uint64_t parts) const;
    void take_directly(const reference* batch, size_t count);
    void take_several(const reference& r);
    void exchange(uint64_t set, uint64_t line);

    line_walk lines_;
    line_parts parts_;
    set_cache cache_;
    known_blocks<line_state> states_;
    uint64_t latest_line_ = no_line;  // of the latest reference, with its state
    line_state* latest_ = nullptr;
    array<line_state> inside_;  // of the line in each set, if there is one way; states_ has those of all others
    counts settled_{};
};

}  // namespace millpond::simulate
