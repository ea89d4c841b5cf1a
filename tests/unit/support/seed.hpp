// SPDX-License-Identifier: BSL-1.0
// seed: the source of every random test's numbers, so that a failure can be repeated.
//
//   program --seed=42      the same numbers as the last time 42 was printed; without it, a new seed, which is printed
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

namespace millpond::test {

// Returns the seed of this run, the same for every test of the program.
[[nodiscard]] std::uint64_t seed() noexcept;

// Returns a generator for one test; `salt` keeps the streams of a test's parts apart.
[[nodiscard]] inline std::mt19937_64 random_numbers(std::uint64_t salt = 0) {
    return std::mt19937_64(seed() ^ (salt * 0x9E3779B97F4A7C15u));
}

// Returns a number from `low` to `high`, each with the same probability.
template <class Integer>
[[nodiscard]] Integer uniform(std::mt19937_64& numbers, Integer low, Integer high) {
    return std::uniform_int_distribution<Integer>(low, high)(numbers);
}

}  // namespace millpond::test
