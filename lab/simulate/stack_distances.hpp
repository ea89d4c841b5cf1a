// SPDX-License-Identifier: BSL-1.0
// stack_distances: counts references by exact stack distance, for lines or pages: this gives the misses of fully
// associative least-recently-used caches (or memories) of all sizes.
//
//   misses of C blocks  =  cold + flushed + references at distance C or more
//
// A reference to several blocks counts at the largest of their distances. Cost and memory: lru_stack, plus 8 to 16
// bytes for each distinct block. Not thread-safe.
#pragma once

#include "lab/simulate/lru_stack.hpp"
#include "lab/simulate/report.hpp"

namespace millpond::simulate {

class stack_distances {
  public:
    stack_distances(const host& system, line_walk blocks, instruction_set instructions);

    void take(const reference* batch, size_t count);
    void flush() { stack_.flush(); }
    void tell(const report& to) const;

    uint64_t references() const { return references_; }
    uint64_t cold() const { return cold_; }
    uint64_t flushed() const { return flushed_; }
    uint64_t distinct() const { return stack_.distinct(); }
    uint64_t at_distance(uint64_t distance) const {
        return distance < at_distance_.size() ? at_distance_[distance] : 0;
    }
    uint64_t misses(uint64_t blocks) const;
    size_t bytes() const { return stack_.bytes() + at_distance_.bytes(); }

  private:
    static constexpr size_t listed_max = 512;

    template <class Lanes>
    void pass(const reference* batch, size_t count);
    void pass_avx2(const reference* batch, size_t count);
    void pass_avx512(const reference* batch, size_t count);
    template <class Lanes>
    void touch_several(const reference& r);
    void add(uint64_t distance);

    line_walk blocks_;
    instruction_set instructions_;
    lru_stack stack_;
    array<uint64_t> at_distance_;
    uint64_t references_ = 0, cold_ = 0, flushed_ = 0;
};

}  // namespace millpond::simulate
