// SPDX-License-Identifier: BSL-1.0
// hierarchy: simulates levels of data caches, or of address translation buffers (TLBs), with one line size.
//
//   inclusive     a line of a level is in all levels behind it: what an outer level evicts, the inner ones lose
//   exclusive     a line is in one level: a hit moves it to the first, whose victim moves to the second, and so on
//   independent   every level that missed gets the line; levels evict independently
//
// Every level evicts its least recently used line, and sees only the misses of the level before. Translation buffers
// are a hierarchy whose lines are pages of 4 KiB or 2 MiB; they are independent, as in processors, and the misses of
// the last level are page walks. Write-backs are not counted. A reference to several lines misses a level once if any
// of its lines does. Data misses that a processor would have prefetched (neighbour_table) are misses, and are also
// counted on their own. No line is fetched early, so the counts are those of the caches only.
// Cost: O(ways) for each level looked up, O(32) for a miss of the first one; references to the latest line of a set are
// filtered out before (touched_lines). Memory: 8 bytes a line. Not thread-safe.
#pragma once

#include "lab/simulate/neighbour_table.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/set_cache.hpp"
#include "lab/simulate/touched_lines.hpp"

namespace millpond::simulate {

enum class inclusion : uint8_t { inclusive, exclusive, independent };

struct level_shape {
    uint64_t sets;
    unsigned ways;
};

class hierarchy {
  public:
    static constexpr unsigned levels_max = 4;

    // Registers all levels as users of `lines`: what an outer level evicts, an inclusive inner one loses, too.
    hierarchy(const host& system, touched_lines& lines, const level_shape* levels, unsigned count, inclusion rule);
    hierarchy(const hierarchy&) = delete;
    hierarchy& operator=(const hierarchy&) = delete;
    ~hierarchy();

    void take(const touched_lines& lines);
    void flush();
    void tell(const report& to) const;

  private:
    unsigned touch(uint64_t line);  // returns the number of levels that missed
    void fill_levels(uint64_t line, unsigned missed);
    void move_down(uint64_t line);
    set_cache& at(unsigned level) { return *reinterpret_cast<set_cache*>(levels_[level]); }
    const set_cache& at(unsigned level) const { return *reinterpret_cast<const set_cache*>(levels_[level]); }

    uint32_t line_bytes_;
    inclusion rule_;
    unsigned count_;
    alignas(set_cache) unsigned char levels_[levels_max][sizeof(set_cache)];
    neighbour_table neighbours_;
    // misses_: the references that missed this level and all before it. foreseen_: those of them whose lines were all
    // foreseen; always 0 for pages.
    uint64_t references_ = 0, misses_[levels_max] = {}, foreseen_[levels_max] = {};
};

}  // namespace millpond::simulate
