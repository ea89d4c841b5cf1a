// SPDX-License-Identifier: BSL-1.0
// histogram: counts of values from 0 to 2^64 − 1 in bins no wider than 1/32 of their lower edge.
//
//   value  0 1 2 … 31 │ 32 33 … 63 │ 64 66 … 126 │ 128 132 … │      32 bins an octave; below 64 every value has its own
//
// Use it for lifetimes and sizes of instances, where percentiles within 3 % suffice and memory must not grow with
// events. add: O(1). percentile, octaves, winsorised_mean: O(bins). Memory: 8 bytes a bin up to the largest value seen.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace millpond::characterise {

class histogram {
  public:
    void add(std::uint64_t value) {
        const std::size_t bin = bin_of(value);
        if (bin >= bins_.size()) [[unlikely]]
            bins_.resize(bin + 1);
        ++bins_[bin];
        ++count_;
        max_ = std::max(max_, value);
    }

    void add(std::uint64_t value, std::uint64_t times) {
        if (times == 0) return;
        add(value);
        bins_[bin_of(value)] += times - 1;
        count_ += times - 1;
    }

    std::uint64_t count() const { return count_; }
    std::uint64_t max() const { return max_; }

    // Returns the middle of the bin that holds the value of rank ⌈share · count⌉; the largest value itself for share 1.
    // 0 if empty.
    std::uint64_t percentile(double share) const {
        if (count_ == 0) return 0;
        const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_) + 0.999999);
        const std::uint64_t rank = std::clamp<std::uint64_t>(wanted, 1, count_);
        if (rank == count_) return max_;
        std::uint64_t seen = 0;
        for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
            seen += bins_[bin];
            if (seen >= rank) return std::min(max_, first_of(bin) + (width_of(bin) - 1) / 2);
        }
        return max_;
    }

    void add(const histogram& other) {
        if (other.bins_.size() > bins_.size()) bins_.resize(other.bins_.size());
        for (std::size_t bin = 0; bin < other.bins_.size(); ++bin) bins_[bin] += other.bins_[bin];
        count_ += other.count_;
        max_ = std::max(max_, other.max_);
    }

    // The mean, with the largest thousandth of the values, and at least one, replaced by the value below them.
    double winsorised_mean() const {
        if (count_ < 2) return static_cast<double>(max_);
        const std::uint64_t kept = count_ - std::max<std::uint64_t>(1, count_ / 1000);
        std::uint64_t seen = 0;
        double sum = 0;
        for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
            if (bins_[bin] == 0) continue;
            const double value = static_cast<double>(first_of(bin)) + static_cast<double>(width_of(bin) - 1) / 2;
            if (seen + bins_[bin] >= kept)
                return (sum + value * static_cast<double>(count_ - seen)) / static_cast<double>(count_);
            seen += bins_[bin];
            sum += value * static_cast<double>(bins_[bin]);
        }
        return sum / static_cast<double>(count_);
    }

    // Returns counts by the bit width of the value: [0] counts zeros, [k] the values in [2^(k−1), 2^k).
    std::vector<std::uint64_t> octaves() const {
        std::vector<std::uint64_t> counts;
        for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
            if (bins_[bin] == 0) continue;
            const auto octave = static_cast<std::size_t>(std::bit_width(first_of(bin)));
            if (octave >= counts.size()) counts.resize(octave + 1);
            counts[octave] += bins_[bin];
        }
        return counts;
    }

  private:
    static constexpr unsigned precision_bits = 5;

    static std::size_t bin_of(std::uint64_t value) {
        if (value < (1u << precision_bits)) return static_cast<std::size_t>(value);
        const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - precision_bits;
        return (std::size_t{shift} << precision_bits) + static_cast<std::size_t>(value >> shift);
    }
    static unsigned shift_of(std::size_t bin) {
        const auto octave = static_cast<unsigned>(bin >> precision_bits);
        return octave == 0 ? 0 : octave - 1;
    }
    static std::uint64_t first_of(std::size_t bin) {
        const unsigned shift = shift_of(bin);
        return (static_cast<std::uint64_t>(bin) - (std::uint64_t{shift} << precision_bits)) << shift;
    }
    static std::uint64_t width_of(std::size_t bin) { return std::uint64_t{1} << shift_of(bin); }

    std::vector<std::uint64_t> bins_;
    std::uint64_t count_ = 0, max_ = 0;
};

}  // namespace millpond::characterise
