// SPDX-License-Identifier: BSL-1.0
// pool_line: counts one thread's calls of one pool, in a line of its own if there is one.
#pragma once

#include <cstdint>

#include "lab/trial/control.hpp"
#include "lab/trial/process_words.hpp"

namespace millpond::trial {

class pool_line {
  public:
    // If `line` is null, counts in `pool`, which other threads use, too. Both are private ones.
    pool_line(cache_counters* line, pool_counters* pool) noexcept : line_(line), pool_(pool) {}

    void count_allocation() noexcept { count(&cache_counters::allocations, &pool_counters::allocations); }
    void count_deallocation() noexcept { count(&cache_counters::deallocations, &pool_counters::deallocations); }
    // Fast paths without a call, for callers that have tested has_line.
    [[nodiscard]] bool has_line() const noexcept { return line_ != nullptr; }
    void count_allocation_in_line() noexcept { ++counters_of_process(line_).allocations; }
    void count_deallocation_in_line() noexcept { ++counters_of_process(line_).deallocations; }

  private:
    void count(std::uint64_t cache_counters::* own, std::uint64_t pool_counters::* common) noexcept {
        if (line_ == nullptr) [[unlikely]]
            return count_together(common);
        ++(counters_of_process(line_).*own);
    }
    [[gnu::noinline, gnu::cold]] void count_together(std::uint64_t pool_counters::* common) noexcept {
        __atomic_fetch_add(&(counters_of_process(pool_).*common), 1, __ATOMIC_RELAXED);
    }

    cache_counters* line_;
    pool_counters* pool_;
};

}  // namespace millpond::trial
