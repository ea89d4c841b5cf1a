// SPDX-License-Identifier: BSL-1.0
// single_cache: simulates one cache of any geometry and replacement rule. Use it for first-in-first-out and random
// caches: a smaller one says nothing about a larger one. For least-recently-used caches, lru_family simulates many at
// once.
//
// A store that misses fetches its line (allocate), or leaves the cache as it is (around); a modification loads first.
// Cost: O(ways) a reference; without a branch on the result if there is one way. Memory: set_cache. Not thread-safe.
#pragma once

#include "lab/simulate/report.hpp"
#include "lab/simulate/set_cache.hpp"

namespace millpond::simulate {

enum class write_miss : uint8_t { allocate, around };

class single_cache {
  public:
    single_cache(const host& system, line_walk lines, uint64_t sets, unsigned ways, replacement rule, uint64_t seed,
                 write_miss write = write_miss::allocate)
        : lines_(lines), cache_(system, sets, ways, rule, seed), write_(write) {}

    void take(const reference* batch, size_t count) {
        if (cache_.ways() == 1) {
            take_directly(batch, count);
        } else {
            for (size_t i = 0; i < count; ++i) take_one(batch[i]);
        }
    }

    void flush() { cache_.flush(); }

    void tell(const report& to) const {
        to(count_of("references", "references", references_));
        count_row row = count_of("misses", "references", misses_);
        row.sets = cache_.sets();
        row.ways = cache_.ways();
        row.line_bytes = lines_.line_bytes();
        row.cache_bytes = row.sets * row.ways * row.line_bytes;
        to(row);
    }

    uint64_t references() const { return references_; }
    uint64_t misses() const { return misses_; }

  private:
    bool brings_in(const reference& r) const { return write_ == write_miss::allocate || r.kind != millpond_store; }

    void take_one(const reference& r) {
        bool missed = false;
        const uint64_t last = lines_.last(r);
        for (uint64_t line = lines_.first(r);; ++line) {
            if (!cache_.use(line)) {
                if (brings_in(r)) cache_.insert(line);
                missed = true;
            }
            if (lines_.rule() == straddling::twice || line == last) {
                misses_ += missed;
                missed = false;
                ++references_;
            }
            if (line == last) break;
        }
    }

    // For a direct-mapped cache, without a branch on whether a reference missed.
    void take_directly(const reference* batch, size_t count) {
        const set_cache::only_ways only_way = cache_.direct();
        uint64_t missed = 0, several = 0;
        for (size_t i = 0; i < count; ++i) {
            const reference& r = batch[i];
            if (__builtin_expect(!lines_.is_within_one(r), 0)) {
                take_one(r);
                ++several;
                continue;
            }
            const uint64_t line = lines_.first(r);
            uint64_t& way = only_way(line);
            const uint64_t held = way;
            missed += held != line;
            way = brings_in(r) ? line : held;
        }
        misses_ += missed;
        references_ += count - several;
    }

    line_walk lines_;
    set_cache cache_;
    write_miss write_;
    uint64_t references_ = 0, misses_ = 0;
};

}  // namespace millpond::simulate
