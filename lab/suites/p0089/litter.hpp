// SPDX-License-Identifier: BSL-1.0
// litter: the sizes that a workload asks the heap of the process for, the same for every strategy.
#pragma once

#include "lab/measure/littering.hpp"
#include "workload.hpp"

namespace millpond::p0089 {

// Effects: runs the point once with new and delete behind the base class, and notes every block that it asks for.
void note_blocks(const point& asked, measure::littering& blocks);

}  // namespace millpond::p0089
