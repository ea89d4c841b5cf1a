// SPDX-License-Identifier: BSL-1.0
// direct_mapped_bank: direct-mapped caches of several sizes and one line size, in one pass.
//
//   line ──▶ 16 K │hit│ stop: larger caches, whose sets are multiples, have it too
//                 │miss│──▶ 32 K │hit│ stop …
//
// A reference that hits the smallest cache costs one comparison. Sizes need not be powers of two; where a size is no
// multiple of a smaller one, both are asked. A line's place is line modulo sets.
// Memory: 8 bytes for each line of each cache. Not thread-safe.
#pragma once

#include "lab/simulate/lines.hpp"
#include "lab/simulate/memory.hpp"
#include "lab/simulate/report.hpp"

namespace millpond::simulate {

class direct_mapped_bank {
  public:
    static constexpr size_t caches_max = 32;

    // `cache_bytes`: multiples of the line, ascending, at most caches_max.
    direct_mapped_bank(const host& system, line_walk lines, const uint64_t* cache_bytes, size_t caches);

    void take(const reference* batch, size_t count);
    void flush();
    void tell(const report& to) const;

    uint64_t references() const { return references_; }
    uint64_t misses(size_t cache) const { return caches_[cache].misses; }

  private:
    struct one_cache {
        set_index index;
        uint64_t* tags = nullptr;
        uint64_t misses = 0;
        bool later_have_it = true;  // what hits here hits in all that follow
    };

    uint32_t touch(uint64_t line);  // a bit for each cache that missed
    void touch_several(const reference& r);
    void add(uint32_t missed);

    line_walk lines_;
    array<uint64_t> tags_;
    one_cache caches_[caches_max];
    size_t size_;
    uint64_t references_ = 0;
};

}  // namespace millpond::simulate
