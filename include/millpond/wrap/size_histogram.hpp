// SPDX-License-Identifier: BSL-1.0
// size_histogram: counts requests by size, close sizes together, and computes measures of their variation.
//
//   up to  0 │ 1 │ 2 │ … │ 8 │ 10 │ 12 │ 14 │ 16 │ 20 │ …  bytes: four classes an octave
//   count    │   │   │   │ 9 │    │    │    │ 41 │    │ …
//
// H is the entropy of the shares, in nats. exp(H) is the effective number of sizes: 1 if all are the same, n if n sizes
// are equally common. V = 1 − exp(−H), in [0, 1), is the variation of P0089R0, section 5, as the laboratory computes
// it.
//
// add: O(1). entropy and the measures based on it: O(classes). Not thread-safe.
//
// Example:
//     millpond::size_histogram sizes;
//     for (int i = 0; i < 10; ++i) sizes.add(24), sizes.add(100);
//     assert(sizes.count_of(24) == 10 && sizes.effective_sizes() > 1.99 && sizes.variation() < 0.51);
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI {

class size_histogram {
  public:
    static constexpr unsigned classes = 256;

    // Returns: the class in which `bytes` are counted, below `classes`.
    [[nodiscard]] static constexpr unsigned class_of(std::size_t bytes) noexcept {
        if (bytes <= 4) return static_cast<unsigned>(bytes);
        const std::uint64_t below = bytes - 1;
        const unsigned shift = static_cast<unsigned>(std::bit_width(below)) - 3;
        return 4 * shift + static_cast<unsigned>(below >> shift) + 1;
    }

    // Returns: the largest size of class `index`.
    [[nodiscard]] static constexpr std::size_t largest_of(unsigned index) noexcept {
        if (index <= 4) return index;
        const unsigned shift = (index - 5) / 4;
        const std::uint64_t quarters = index - 4 * shift;
        constexpr std::uint64_t most = std::numeric_limits<std::size_t>::max();
        if (shift >= 61 && quarters >= 8) return most;
        return static_cast<std::size_t>(quarters << shift < most ? quarters << shift : most);
    }

    void add(std::size_t bytes) noexcept {
        ++counts_[class_of(bytes)];
        ++total_;
    }

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
    [[nodiscard]] std::uint64_t count_in(unsigned index) const noexcept { return counts_[index]; }
    [[nodiscard]] std::uint64_t count_of(std::size_t bytes) const noexcept { return counts_[class_of(bytes)]; }

    // Returns: H in nats; 0 for an empty histogram.
    [[nodiscard]] double entropy() const noexcept {
        double nats = 0;
        for (const std::uint64_t count : counts_) {
            if (count == 0) continue;
            const double share = static_cast<double>(count) / static_cast<double>(total_);
            nats -= share * std::log(share);
        }
        return nats > 0 ? nats : 0;
    }

    [[nodiscard]] double effective_sizes() const noexcept { return total_ == 0 ? 0 : std::exp(entropy()); }
    [[nodiscard]] double variation() const noexcept { return -std::expm1(-entropy()); }

  private:
    std::array<std::uint64_t, classes> counts_{};
    std::uint64_t total_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI
