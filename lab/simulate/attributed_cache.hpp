// SPDX-License-Identifier: BSL-1.0
// attributed_cache: counts the misses of one cache by kind, by the code that made them, and by subsystem.
//
//   miss ──▶ the line's first use ever                                  cold
//        ──▶ its first since the caches were emptied                    flushed
//        ──▶ a fully associative LRU cache of the size misses, too      capacity
//        ──▶ it would have hit                                          conflict
//
// The fully associative cache takes half of the time. Without it, capacity and conflict misses count together, as
// replacement misses.
//
// A program's miss on a line that an access of the allocator evicted is also indirect: the allocator's own accesses
// cost the program this miss (its direct misses are those with the allocator as origin). A reference to several lines
// that misses more than one counts as its first miss.
// Cost: O(ways) a reference; nothing for one to the line of the one before. With one way and unsplit misses, a first
// pass without a branch on hits finds the misses, and a second one their kinds. It runs as a pass of its own, so other
// simulators do not pay for it. Memory: whole_lru, 32 to 64 bytes for each line (for each evicted line, if misses are
// split), 152 bytes a subject. Not thread-safe.
#pragma once

#include "lab/simulate/block_table.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/set_cache.hpp"
#include "lab/simulate/whole_lru.hpp"

namespace millpond::simulate {

enum class miss_kind : uint8_t { cold, flushed, capacity, conflict, replacement };

class attributed_cache {
  public:
    static constexpr unsigned kinds = 5, origins = 3;
    static constexpr uint32_t subjects_max = 1u << 20;  // higher numbers count as the last one

    struct counts {
        uint64_t references[origins];
        uint64_t misses[origins][kinds];
        uint64_t indirect;
    };

    // `is_split`: capacity and conflict misses are told apart.
    attributed_cache(const host& system, line_walk lines, uint64_t sets, unsigned ways, replacement rule, uint64_t seed,
                     bool is_split = true);

    static constexpr unsigned hit = kinds;
    // The result of a reference for one line. `kind`: hit, or a miss_kind; `evicted`: the line that was evicted, or
    // no_line.
    struct line_outcome {
        unsigned kind = hit;
        bool is_indirect = false;
        uint64_t evicted = no_line;
    };

    void take(const reference* batch, size_t count);
    // Takes one reference and calls watch(line, line_outcome) for each of its lines. Returns whether it missed.
    template <class Watch>
    bool take_one(const reference& r, const Watch& watch);
    void flush();
    void tell(const report& to) const;

    counts total() const;
    size_t subjects() const { return of_subject_.size(); }
    const counts& of_subject(size_t subject) const { return of_subject_[subject]; }

  private:
    struct line_state {
        uint32_t seen;     // the number of flushes + 1 at its latest miss, if misses are not split
        uint32_t evictor;  // by_allocator, or 0
    };
    static constexpr uint32_t by_allocator = 1;

    struct miss {
        uint64_t evicted;
        const reference* by;
    };

    counts& counts_of(const reference& r);
    static unsigned origin_of(const reference& r) {
        return r.origin < origins ? r.origin : static_cast<unsigned>(millpond_of_system);
    }
    line_outcome touch(uint64_t line, unsigned origin);
    void note_eviction(uint64_t line, unsigned origin);
    miss_kind kind_of_unsplit(line_state& state) const;
    void take_directly(const reference* batch, size_t count);
    void count_references(const reference* begin, const reference* end);
    void count_misses(size_t count);

    line_walk lines_;
    set_cache cache_;
    bool is_split_;
    whole_lru whole_;  // of the same size; of one line, and unused, if misses are not split
    uint32_t flushes_ = 0;
    block_table<line_state> of_line_;
    uint64_t latest_ = no_line;  // the line of the latest reference: a hit that changes nothing
    array<counts> of_subject_;
    array<miss> missed_;  // of the batch that take_directly takes
};

inline attributed_cache::counts& attributed_cache::counts_of(const reference& r) {
    const uint32_t subject = r.subject < subjects_max ? r.subject : subjects_max;
    of_subject_.reach(subject);
    return of_subject_[subject];
}

template <class Watch>
bool attributed_cache::take_one(const reference& r, const Watch& watch) {
    const unsigned origin = origin_of(r);
    counts& own = counts_of(r);
    const uint64_t first = lines_.first(r), last = lines_.last(r);
    if (first == latest_ && first == last) {
        ++own.references[origin];
        watch(first, line_outcome{});
        return false;
    }
    latest_ = last;
    line_outcome first_miss;
    bool missed = false;
    for (uint64_t line = first;; ++line) {
        const line_outcome of_line = touch(line, origin);
        watch(line, of_line);
        if (first_miss.kind == hit) first_miss = of_line;
        if (lines_.rule() == straddling::twice || line == last) {
            ++own.references[origin];
            if (first_miss.kind != hit) {
                ++own.misses[origin][first_miss.kind];
                missed = true;
            }
            own.indirect += first_miss.is_indirect;
            first_miss = {};
        }
        if (line == last) break;
    }
    return missed;
}

}  // namespace millpond::simulate
