// SPDX-License-Identifier: BSL-1.0
// random_numbers: xorshift64*, a generator of one word and a few instructions, the same on every machine.
//
// Use it if the sequence must not depend on a standard library, or if drawing is inside the measured part.
#pragma once

#include <cstdint>

namespace millpond::suites {

class random_numbers {
  public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_((seed + 1) * 0x9E3779B97F4A7C15u | 1) {
        for (int i = 0; i < 8; ++i) next();
    }

    std::uint32_t next() noexcept {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>((state_ * 2685821657736338717u) >> 32);
    }
    // Returns: a number below `limit`, which is above 0.
    std::uint32_t below(std::uint32_t limit) noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{next()} * limit) >> 32);
    }

  private:
    std::uint64_t state_;
};

}  // namespace millpond::suites
