// SPDX-License-Identifier: BSL-1.0
// lru_family: simulates all least-recently-used caches of some set counts and up to some ways, in one pass (set
// refinement).
//
//             sets 64      128       256  …            a front and a row of the lines behind it for each set,
//   line ──▶ │depth 3│──▶│depth 1│──▶│depth 0│ end     latest used first
//
// A line at depth d of its set hits in every cache with this set count and more than d ways (Mattson et al. 1970). Each
// set count uses one more bit of the line's number than the one before, so a set of 128 holds only lines that its set
// of 64 also gets (Hill and Smith 1989): a line in front of its set is in front in all finer ones. 7 set counts x 8
// ways are 56 caches. Each set count takes the whole list of lines in two steps, without branches that depend on the
// lines: the fronts drop the lines that end there, then the rows are searched for the others.
// Memory: 9 words for each set of 8 ways. Not thread-safe.
#pragma once

#include "lab/simulate/instruction_set.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/touched_lines.hpp"

namespace millpond::simulate {

class lru_family {
  public:
    static constexpr unsigned set_counts_max = 24;
    static constexpr unsigned ways_max = 64;

    // `sets_min`, `sets_max`: powers of two. `ways`: 1 to ways_max. Registers as a user of `lines`.
    lru_family(const host& system, touched_lines& lines, uint64_t sets_min, uint64_t sets_max, unsigned ways,
               instruction_set instructions);

    void take(const touched_lines& lines);
    void flush();
    void tell(const report& to) const;

  private:
    struct set_count {
        uint64_t mask;
        uint64_t* fronts;
        uint64_t* rows;  // the lines behind the front
        uint64_t* at_depth;
    };

    template <class Lanes>
    void pass(const touched_lines& lines);
    void pass_avx2(const touched_lines& lines);
    void pass_avx512(const touched_lines& lines);
    size_t drop_fronts(const set_count& at, const uint64_t* lines, size_t count);
    template <class Lanes>
    void search_rows(const set_count& at, size_t count);
    template <class Lanes>
    unsigned depth_in(uint64_t* row, uint64_t line, uint64_t pushed_out);

    uint64_t misses(unsigned level, unsigned ways) const;

    instruction_set instructions_;
    uint32_t line_bytes_;
    unsigned ways_, rows_, levels_ = 0;  // each set has `rows_` rows of eight
    array<uint64_t> fronts_, behind_, at_depth_;
    array<uint64_t> left_, pushed_out_;  // the lines that did not end yet; the lines pushed out of the front
    set_count level_[set_counts_max];
    uint64_t references_ = 0;
};

}  // namespace millpond::simulate
