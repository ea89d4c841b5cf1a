// SPDX-License-Identifier: BSL-1.0
// report: receives the counts of a simulator, row by row.
#pragma once

#include "lab/references/simulators.h"

namespace millpond::simulate {

using count_row = millpond_count;

inline constexpr uint32_t any = ~uint32_t{0};

class report {
  public:
    report(void (*row)(void*, const count_row*), void* state) : row_(row), state_(state) {}
    void operator()(const count_row& c) const { row_(state_, &c); }

  private:
    void (*row_)(void*, const count_row*);
    void* state_;
};

// Returns a row without the optional columns.
inline count_row count_of(const char* metric, const char* unit, uint64_t value) {
    return {.metric = metric,
            .unit = unit,
            .cache_bytes = 0,
            .sets = 0,
            .ways = 0,
            .line_bytes = 0,
            .level = 0,
            .origin = any,
            .subject = any,
            .distance = 0,
            .value = value};
}

}  // namespace millpond::simulate
