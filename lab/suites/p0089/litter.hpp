// SPDX-License-Identifier: BSL-1.0
// litter: a heap in which this very workload has been running for long, before it is measured.
//
// The workload runs once with new and delete behind the base class, where its sizes are noted; their blocks then litter
// the heap of the process, the same for every strategy.
#pragma once

#include <optional>

#include "lab/measure/littering.hpp"
#include "workload.hpp"

namespace millpond::p0089 {

class littered_heap {
  public:
    // Effects: without a fraction none. Throws: std::bad_alloc.
    littered_heap(const point& asked, std::optional<double> fraction);

  private:
    std::optional<measure::littering> blocks_;
};

}  // namespace millpond::p0089
