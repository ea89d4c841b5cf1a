// SPDX-License-Identifier: BSL-1.0
// leaves: the elements of the structures of Benchmark I: numbers, and strings of 33 to 1000 characters.
//
//   number │ counted up │     length │ 33 … 1000 or fewer, uniform │     text │number│ the same 1020 characters │
//
// Drawn from the seed before anything is measured, the same for all contenders: no generator runs in a measured part.
// Texts begin with their number, so that no two are equal. They lie in one small buffer, so that reading them is cheap.
// reset, left, next_…: O(1).
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "random_numbers.hpp"

namespace millpond::suites {

// Elements of a container within a container, as in the paper.
inline constexpr std::uint64_t log2_inner_elements = 7;
inline constexpr std::uint64_t inner_elements = 1 << log2_inner_elements;

class leaves {
  public:
    leaves(std::uint64_t count, std::uint64_t seed, std::uint32_t longest = 1000) : lengths_(count) {
        random_numbers random(seed);
        first_ = random.below(1u << 16);
        for (std::uint16_t& length : lengths_) {
            length = static_cast<std::uint16_t>(shortest + random.below(longest - shortest + 1));
        }
        for (char& c : text_) c = static_cast<char>('a' + random.below(26));
    }

    // Effects: the next structure begins with the first leaf again.
    void reset() noexcept { at_ = 0; }
    // Returns: the number of leaves left before the first one comes again.
    [[nodiscard]] std::uint64_t left() const noexcept { return lengths_.size() - at_; }
    [[nodiscard]] int next_number() noexcept { return static_cast<int>(first_ + at_++); }

    [[nodiscard]] std::size_t next_length() noexcept { return lengths_[at_++]; }

    struct text {
        const char* begin;
        std::size_t length;
    };
    // Returns: a text that is valid until the next call.
    [[nodiscard]] text next_text() noexcept {
        const auto number = static_cast<std::uint32_t>(first_ + at_);
        std::memcpy(text_, &number, sizeof number);
        return {text_, lengths_[at_++]};
    }

  private:
    static constexpr std::uint32_t shortest = 33;

    std::vector<std::uint16_t> lengths_;
    std::uint64_t first_;
    std::uint64_t at_ = 0;
    alignas(64) char text_[1024];
};

}  // namespace millpond::suites
