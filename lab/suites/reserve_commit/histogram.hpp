// SPDX-License-Identifier: BSL-1.0
// histogram: counts durations in buckets whose width grows with the duration.
//
//   ns   0 1 2 … 15 │16 17 … 31│32 34 … 62│64 68 … │ …      16 buckets for each power of two: within 6 %
//
// note: O(1), no allocation. Everything else: O(buckets).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace millpond::reserve_commit {

class histogram {
  public:
    static constexpr std::size_t powers = 44;  // up to 4 hours in nanoseconds

    void note(std::uint64_t ns) noexcept {
        ++counts_[std::min(bucket_of(ns), counts_.size() - 1)];
        ++count_;
        shortest_ = std::min(shortest_, ns);
        longest_ = std::max(longest_, ns);
        sum_ += ns;
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t sum_ns() const noexcept { return sum_; }
    // Returns: the shortest duration, exact; nothing if there are none.
    [[nodiscard]] std::optional<double> shortest_ns() const noexcept {
        return count_ == 0 ? std::nullopt : std::optional<double>(static_cast<double>(shortest_));
    }
    [[nodiscard]] std::optional<double> longest_ns() const noexcept {
        return count_ == 0 ? std::nullopt : std::optional<double>(static_cast<double>(longest_));
    }

    // Returns: the start of the bucket that reaches this share of all durations; nothing if there are none.
    [[nodiscard]] std::optional<double> quantile_ns(double share) const noexcept {
        const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen > wanted || (seen == count_ && count_ > 0)) return static_cast<double>(start_of(i));
        }
        return std::nullopt;
    }

    // Returns: the number of durations of at least 2^power ns and less than twice that; power 0 includes those of 0 ns.
    [[nodiscard]] std::uint64_t of_power(std::size_t power) const noexcept {
        const std::uint64_t least = power == 0 ? 0 : std::uint64_t{1} << power;
        const std::uint64_t limit = std::uint64_t{2} << power;
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (start_of(i) >= least && start_of(i) < limit) sum += counts_[i];
        }
        return sum;
    }
    // Returns: the number of durations of at least `ns`; exact for a bucket's start.
    [[nodiscard]] std::uint64_t from(std::uint64_t ns) const noexcept {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) sum += start_of(i) >= ns ? counts_[i] : 0;
        return sum;
    }

    void add(const histogram& other) noexcept {
        for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
        count_ += other.count_;
        sum_ += other.sum_;
        shortest_ = std::min(shortest_, other.shortest_);
        longest_ = std::max(longest_, other.longest_);
    }

  private:
    static constexpr std::size_t parts = 16;  // of a power of two
    static constexpr std::size_t part_bits = 4;

    static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
        if (ns < parts) return ns;
        const auto shift = static_cast<std::size_t>(std::bit_width(ns)) - part_bits - 1;
        return parts * shift + (ns >> shift);
    }
    static constexpr std::uint64_t start_of(std::size_t bucket) noexcept {
        if (bucket < parts) return bucket;
        const std::size_t shift = bucket / parts - 1;
        return std::uint64_t{bucket % parts + parts} << shift;
    }

    std::array<std::uint64_t, parts*(powers - part_bits)> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t shortest_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t longest_ = 0;
};

}  // namespace millpond::reserve_commit
