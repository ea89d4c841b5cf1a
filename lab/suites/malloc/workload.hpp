// SPDX-License-Identifier: BSL-1.0
// workload: the benchmarks of a malloc, each defined next to the code that it runs, and their common parts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "lab/suites/common/hidden.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/frame/workload.hpp"

namespace millpond::malloc_suite {

using frame::metric, frame::outcome, frame::parameter, frame::point, frame::workload;
using suites::random_numbers;

extern const workload own, handover, larson, random_sizes, churn_sizes, grow, stress;

// Draws sizes as they are in programs: as many between 16 and 32 bytes as between 32 and 64, and so on.
class drawn_sizes {
  public:
    // `most`: at least 32.
    explicit drawn_sizes(std::uint64_t most) noexcept
        : octaves_(static_cast<std::uint32_t>(std::bit_width(most)) - 5) {}

    [[nodiscard]] std::size_t next(random_numbers& random) const noexcept {
        const std::size_t least = std::size_t{16} << random.below(octaves_);
        return least + random.below(static_cast<std::uint32_t>(least));
    }

  private:
    std::uint32_t octaves_;
};

// Returns: a block whose first and last byte were written. Throws: std::bad_alloc.
[[nodiscard]] inline unsigned char* take(std::size_t bytes) {
    auto* const block = static_cast<unsigned char*>(std::malloc(bytes));
    if (block == nullptr) throw std::bad_alloc();
    block[0] = block[bytes - 1] = static_cast<unsigned char>(bytes);
    suites::escape(block);
    return block;
}

// A fixed number of blocks; each is freed when another takes its place.
class live_blocks {
  public:
    explicit live_blocks(std::uint64_t count) : blocks_(count) {}
    live_blocks(const live_blocks&) = delete;
    live_blocks& operator=(const live_blocks&) = delete;
    ~live_blocks() {
        for (unsigned char* each : blocks_) std::free(each);
    }

    void replace(std::size_t index, std::size_t bytes) {
        std::free(blocks_[index]);
        blocks_[index] = nullptr;
        blocks_[index] = take(bytes);
    }
    [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(blocks_.size()); }

  private:
    std::vector<unsigned char*> blocks_;
};

}  // namespace millpond::malloc_suite
