// SPDX-License-Identifier: BSL-1.0
// set_cache: one set-associative cache; each set keeps its ways in the order of replacement.
//
//   set │ a b c · │   lru: latest used first · fifo: latest inserted first · random: in any order
//
// A new line takes a free way. If there are no free ways, it takes the place of the last one (lru, fifo) or of one
// drawn by xorshift64 from the seed (random). A fully associative cache has one set. A look-up is O(ways). Memory: 8
// bytes a line. Not thread-safe.
#pragma once

#include "lab/simulate/array.hpp"
#include "lab/simulate/line_walk.hpp"

namespace millpond::simulate {

enum class replacement : uint8_t { lru, fifo, random };

class set_cache {
  public:
    set_cache(const host& system, uint64_t sets, unsigned ways, replacement rule = replacement::lru, uint64_t seed = 1)
        : index_(sets), ways_(ways), rule_(rule), drawn_(seed == 0 ? 1 : seed), lines_(system, sets * ways) {
        flush();
    }

    uint64_t sets() const { return index_.sets(); }
    unsigned ways() const { return ways_; }

    // Returns whether the line is in the cache; it then becomes the latest used.
    bool use(uint64_t line) {
        uint64_t* const set = set_of(line);
        if (set[0] == line) return true;
        for (unsigned way = 1; way < ways_; ++way) {
            if (set[way] != line) continue;
            if (rule_ == replacement::lru) put_first(set, way, line);
            return true;
        }
        return false;
    }

    // The places of the sets with one way, as a value that stays in registers. Pre: ways() == 1.
    struct only_ways {
        set_index index;
        uint64_t* places;
        uint64_t& operator()(uint64_t line) const { return places[index(line)]; }
    };
    only_ways direct() { return {index_, lines_.data()}; }

    // Inserts a line that is not in the cache. Returns the evicted line, or no_line.
    uint64_t insert(uint64_t line) {
        uint64_t* const set = set_of(line);
        const uint64_t last = set[ways_ - 1];
        if (rule_ == replacement::random && last != no_line) {
            uint64_t& place = set[draw() % ways_];
            const uint64_t evicted = place;
            place = line;
            return evicted;
        }
        put_first(set, ways_ - 1, line);
        return last;
    }

    // Returns whether the line was in the cache.
    bool remove(uint64_t line) {
        uint64_t* const set = set_of(line);
        for (unsigned way = 0; way < ways_; ++way) {
            if (set[way] != line) continue;
            for (; way + 1 < ways_; ++way) set[way] = set[way + 1];
            set[way] = no_line;
            return true;
        }
        return false;
    }

    void flush() { fill(lines_.data(), lines_.size(), no_line); }

  private:
    uint64_t* set_of(uint64_t line) { return lines_.data() + index_(line) * ways_; }

    static void put_first(uint64_t* set, unsigned way, uint64_t line) {
        for (; way > 0; --way) set[way] = set[way - 1];
        set[0] = line;
    }

    uint64_t draw() {
        drawn_ ^= drawn_ << 13;
        drawn_ ^= drawn_ >> 7;
        drawn_ ^= drawn_ << 17;
        return drawn_;
    }

    set_index index_;
    unsigned ways_;
    replacement rule_;
    uint64_t drawn_;
    array<uint64_t> lines_;  // free ways last
};

}  // namespace millpond::simulate
