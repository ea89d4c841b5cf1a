// SPDX-License-Identifier: BSL-1.0
// mixed_source: generates the references of an imaginary program without end: a stack, an array that is swept, and
// objects that are visited again, recent ones more often. Use it to measure simulators without a recording; references
// of a real program tell more.
//
// Pseudo-random from the seed. O(1) a reference. Not thread-safe.
#pragma once

#include <vector>

#include "lab/simulate/reference_source.hpp"

namespace millpond::simulate {

class mixed_source : public reference_source {
  public:
    explicit mixed_source(std::uint64_t seed = 1) : drawn_(seed == 0 ? 1 : seed), batch_(4096) {}

    const char* format_name() const override { return "made up"; }
    bool next(reference_batch& batch) override;

  private:
    std::uint64_t draw(std::uint64_t below);
    std::uint64_t next_address();

    std::uint64_t drawn_, swept_ = 0;
    std::vector<millpond_reference> batch_;
};

}  // namespace millpond::simulate
