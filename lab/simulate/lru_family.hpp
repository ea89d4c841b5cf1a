// SPDX-License-Identifier: BSL-1.0
// lru_family: every least-recently-used cache of some set counts and up to some ways, in one pass (set refinement).
//
//             sets 64      128       256  …            one row of tags a set, latest used first
//   line ──▶ │depth 3│──▶│depth 1│──▶│depth 0│ stop    it is the latest of its set in all that have more sets
//
// A line at depth d of its set hits in every cache of so many sets and more than d ways (Mattson et al. 1970), and sets
// are refined by one more bit of the line's number, so a set of 128 holds no line that its set of 64 does not get (Hill
// and Smith 1989). 7 set counts x 8 ways are 56 caches.
// Memory: 8 bytes for each line of the largest caches. Cost: one comparison where the coarsest set has the line in
// front, else a search of its set for each set count until one has. Not thread-safe.
#pragma once

#include "lab/simulate/instruction_set.hpp"
#include "lab/simulate/lines.hpp"
#include "lab/simulate/memory.hpp"
#include "lab/simulate/report.hpp"

namespace millpond::simulate {

class lru_family {
  public:
    static constexpr unsigned set_counts_max = 24;
    static constexpr unsigned ways_max = 64;

    // `sets_min`, `sets_max`: powers of two. `ways`: 1 to ways_max.
    lru_family(const host& system, line_walk lines, uint64_t sets_min, uint64_t sets_max, unsigned ways,
               instruction_set instructions);

    void take(const reference* batch, size_t count);
    void flush();
    void tell(const report& to) const;

    uint64_t references() const { return references_; }
    unsigned set_counts() const { return levels_; }
    uint64_t sets(unsigned level) const { return level_[level].mask + 1; }
    uint64_t misses(unsigned level, unsigned ways) const;

  private:
    struct set_count {
        uint64_t mask;
        uint64_t* tags;
        uint64_t in_front;  // references that found their line in front here, and so in all finer sets
        uint64_t* at_depth;
    };

    template <class Lanes>
    void pass(const reference* batch, size_t count);
    void pass_avx2(const reference* batch, size_t count);
    void pass_avx512(const reference* batch, size_t count);
    template <class Lanes>
    unsigned touch_set(uint64_t* tags, uint64_t line);
    template <class Lanes>
    void touch(uint64_t line);
    template <class Lanes>
    void touch_several(const reference& r);

    line_walk lines_;
    instruction_set instructions_;
    unsigned ways_, rows_, levels_ = 0;  // a set has `rows_` rows of eight
    array<uint64_t> tags_, at_depth_;
    set_count level_[set_counts_max];
    uint64_t references_ = 0;
};

}  // namespace millpond::simulate
