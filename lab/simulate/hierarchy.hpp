// SPDX-License-Identifier: BSL-1.0
// hierarchy: data caches, or the buffers of address translation (TLBs), in levels of one line size.
//
//   inclusive     a line of a level is in all levels behind it: what an outer level evicts, the inner ones lose
//   exclusive     a line is in one level: a hit moves it to the first, whose victim moves to the second, and so on
//   independent   every level that missed gets the line; evictions do not concern one another
//
// Every level replaces its least recently used line, and sees only what missed in front of it. A translation buffer is
// a hierarchy whose lines are pages, of 4 KiB or 2 MiB, independent as processors have them; its last misses are page
// walks. Write-backs are not counted. A reference to several lines misses a level once if any of its lines does.
// Misses of data that a processor has foreseen (neighbour_table) are misses, and counted besides: nothing is fetched
// ahead here, so that counts are those of the caches alone.
// Cost: O(ways) for each level that is asked, O(32) for a miss of the first one. Memory: 8 bytes a line. Not
// thread-safe.
#pragma once

#include "lab/simulate/neighbour_table.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/set_cache.hpp"

namespace millpond::simulate {

enum class inclusion : uint8_t { inclusive, exclusive, independent };

struct level_shape {
    uint64_t sets;
    unsigned ways;
};

class hierarchy {
  public:
    static constexpr unsigned levels_max = 4;

    hierarchy(const host& system, line_walk lines, const level_shape* levels, unsigned count, inclusion rule);
    hierarchy(const hierarchy&) = delete;
    hierarchy& operator=(const hierarchy&) = delete;
    ~hierarchy();

    void take(const reference* batch, size_t count);
    void flush();
    void tell(const report& to) const;

    uint64_t references() const { return references_; }
    // References that level `level` (0 is the first) and all in front of it missed.
    uint64_t misses(unsigned level) const { return misses_[level]; }

  private:
    unsigned touch(uint64_t line);  // how many levels missed
    void fill_levels(uint64_t line, unsigned missed);
    void move_down(uint64_t line);
    set_cache& at(unsigned level) { return *reinterpret_cast<set_cache*>(levels_[level]); }
    const set_cache& at(unsigned level) const { return *reinterpret_cast<const set_cache*>(levels_[level]); }

    line_walk lines_;
    inclusion rule_;
    unsigned count_;
    alignas(set_cache) unsigned char levels_[levels_max][sizeof(set_cache)];
    neighbour_table neighbours_;
    // foreseen_: of the misses those whose lines were all foreseen. Of pages none are.
    uint64_t references_ = 0, misses_[levels_max] = {}, foreseen_[levels_max] = {};
};

}  // namespace millpond::simulate
