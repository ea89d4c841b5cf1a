// SPDX-License-Identifier: BSL-1.0
// sampled_distances: estimates the curve of stack_distances, with its error, from one block in N, chosen by a hash
// (SHARDS, Waldspurger et al. 2015).
//
//   block ──hash──▶ one in N ──▶ lru_stack: distance d of the sample stands for d x N     the others cost a comparison
//
// Use it if the exact curve takes too much time or memory. misses(C) is N times the number of sampled references whose
// scaled distance is C or more. Its error is a standard deviation, estimated from the differences between 32 groups of
// sampled blocks. The error does not cover that scaled distances are estimates, too, by about sqrt(C x N) blocks at C:
// it is too small for small caches and where the curve falls steeply. Of 26 estimates on three programs (N = 10 and
// 100, C at least 25 x N), 25 lay within 2.5 deviations of the truth; one, at a steep fall, lay 19 away. With N = 1 the
// curve is exact.
// A block is in the sample or not, so a reference to two blocks always counts as two.
// Memory: 1/N of the exact curve's. Not thread-safe.
#pragma once

#include "lab/simulate/lru_stack.hpp"
#include "lab/simulate/report.hpp"

namespace millpond::simulate {

class sampled_distances {
  public:
    // Misses are estimated for caches of 2^0 to 2^(sizes - 1) blocks.
    static constexpr unsigned sizes = 40;

    struct estimate {
        uint64_t misses, deviation;
    };

    // `one_in`: N, 1 to 2^20.
    sampled_distances(const host& system, line_walk blocks, uint64_t one_in);

    void take(const reference* batch, size_t count);
    void flush() { stack_.flush(); }
    void tell(const report& to) const;

    uint64_t references() const { return references_; }
    estimate misses_of_power(unsigned blocks_log2) const;
    size_t bytes() const { return stack_.bytes(); }

  private:
    static constexpr unsigned groups = 32;

    bool is_sampled_hash(uint64_t hash) const { return (hash >> 32) * one_in_ >> 32 == 0; }
    void touch(uint64_t block);

    line_walk blocks_;
    uint64_t one_in_;
    lru_stack stack_;
    uint64_t references_ = 0, sampled_ = 0;
    // Counts by group and by the number of sizes in which a reference misses: the powers of two up to its distance.
    uint64_t missed_[groups][sizes + 1] = {};
};

}  // namespace millpond::simulate
