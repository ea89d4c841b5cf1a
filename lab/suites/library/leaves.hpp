// SPDX-License-Identifier: BSL-1.0
// leaves: what the structures of Benchmark I are filled with: numbers, and strings of 33 to 1000 characters.
//
//   number │ 4 bytes, none twice │        length │ 33 … 1000, uniform │        text │number│ the same 1020 characters │
//
// Drawn from the seed before anything is measured, the same for all contenders: no generator runs in a measured part.
// Texts begin with their number, so that no two are equal, and lie in one small buffer, so that reading them is cheap.
// reset: O(1). next_…: O(1).
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "random_numbers.hpp"

namespace millpond::suites {

class leaves {
  public:
    leaves(std::uint64_t count, std::uint64_t seed) : numbers_(count), lengths_(count) {
        random_numbers random(seed);
        const std::uint32_t offset = random.next();
        for (std::uint64_t i = 0; i < count; ++i) {
            numbers_[i] = mixed(static_cast<std::uint32_t>(i) + offset);
            lengths_[i] = static_cast<std::uint16_t>(shortest + random.below(longest - shortest + 1));
        }
        for (char& c : text_) c = static_cast<char>('a' + random.below(26));
    }

    // Effects: the next structure begins with the first leaf again.
    void reset() noexcept { at_ = 0; }
    [[nodiscard]] int next_number() noexcept { return static_cast<int>(numbers_[at_++]); }
    [[nodiscard]] std::size_t next_length() noexcept { return lengths_[at_++]; }

    struct text {
        const char* begin;
        std::size_t length;
    };
    // Returns: a text that lasts until the next call.
    [[nodiscard]] text next_text() noexcept {
        std::memcpy(text_, &numbers_[at_], sizeof numbers_[0]);
        return {text_, lengths_[at_++]};
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return numbers_.size(); }

  private:
    static constexpr std::uint32_t shortest = 33;
    static constexpr std::uint32_t longest = 1000;

    // A bijection: different numbers stay different.
    static std::uint32_t mixed(std::uint32_t x) noexcept {
        x = (x ^ x >> 16) * 0x7feb352du;
        x = (x ^ x >> 15) * 0x846ca68bu;
        return x ^ x >> 16;
    }

    std::vector<std::uint32_t> numbers_;
    std::vector<std::uint16_t> lengths_;
    std::uint64_t at_ = 0;
    alignas(64) char text_[1024];
};

}  // namespace millpond::suites
