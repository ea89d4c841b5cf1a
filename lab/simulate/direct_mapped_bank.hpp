// SPDX-License-Identifier: BSL-1.0
// direct_mapped_bank: simulates direct-mapped caches of several sizes and one line size, in one pass.
//
//   lines ──▶ 16 K │hits│ end here: larger caches, whose sets are multiples, also hit
//                  │misses│──▶ 32 K │hits│ end …
//
// Each cache takes the whole list of lines before the next one takes its misses, so no step in a cache waits for the
// one before. Sizes need not be powers of two; if a size is not a multiple of a smaller one, both look up every line. A
// line's set is line modulo sets.
// Memory: 8 bytes for each line of each cache. Not thread-safe.
#pragma once

#include "lab/simulate/report.hpp"
#include "lab/simulate/touched_lines.hpp"

namespace millpond::simulate {

class direct_mapped_bank {
  public:
    static constexpr size_t caches_max = 32;

    // `cache_bytes`: multiples of the line size, ascending, at most caches_max. Registers as a user of `lines`.
    direct_mapped_bank(const host& system, touched_lines& lines, const uint64_t* cache_bytes, size_t caches);

    void take(const touched_lines& lines);
    void flush();
    void tell(const report& to) const;

  private:
    struct one_cache {
        set_index index;
        uint64_t* tags = nullptr;
        uint64_t misses = 0;
        bool later_have_it = true;  // a hit here is a hit in all that follow
    };

    template <class Index>
    size_t pass(one_cache& cache, const Index& index, const uint64_t* lines, size_t count, uint64_t* missed);

    uint64_t line_bytes_;
    array<uint64_t> tags_, missed_;
    one_cache caches_[caches_max];
    size_t size_;
    uint64_t references_ = 0;
};

}  // namespace millpond::simulate
