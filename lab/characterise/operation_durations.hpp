// SPDX-License-Identifier: BSL-1.0
// operation_durations: the time that the operations of one subsystem take, estimated from a timed sample.
//
//   timed operation ─▶ kind ─▶ histogram of ticks ─▶ mean, in which the longest thousandth counts as the value below it
//
// The clock runs on while a thread is descheduled inside a timed operation. One such sample stands for 64 operations
// and would outweigh all others. So the longest thousandth of a kind, and at least one sample, is cut to the next lower
// value. Kinds are kept apart so that regular long operations are not cut: every large block may cost a system call,
// and large blocks may be rare. add: O(1). mean: O(bins). Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "lab/characterise/histogram.hpp"

namespace millpond::characterise {

enum class operation_kind : std::uint8_t { allocation, deallocation, reallocation, large };
constexpr std::size_t operation_kinds = 4;
using operation_counts = std::array<std::uint64_t, operation_kinds>;

class operation_durations {
  public:
    static constexpr std::uint64_t large_bytes = 32 << 10;
    static constexpr std::uint64_t samples_min = 16;  // with fewer, other subsystems' samples of a kind tell more

    void add(operation_kind kind, std::uint64_t ticks) { times_[static_cast<std::size_t>(kind)].add(ticks); }

    void add(const operation_durations& other) {
        for (std::size_t i = 0; i < operation_kinds; ++i) times_[i].add(other.times_[i]);
    }

    std::uint64_t count() const {
        std::uint64_t all = 0;
        for (const histogram& each : times_) all += each.count();
        return all;
    }

    // Returns the ticks of these operations together. A kind with few samples takes its mean from `whole`.
    double ticks_of(const operation_counts& operations, const operation_durations& whole) const {
        double ticks = 0;
        for (std::size_t i = 0; i < operation_kinds; ++i) {
            if (operations[i] > 0) ticks += static_cast<double>(operations[i]) * mean(i, whole);
        }
        return ticks;
    }

    // Returns the least time that they take to execute. That is the mean of a kind minus `clock`, the time that reading
    // the clock may add, and at most `most`, because longer operations wait for the kernel or for a lock.
    double least_ticks_of(const operation_counts& operations, const operation_durations& whole, double clock,
                          double most) const {
        double ticks = 0;
        for (std::size_t i = 0; i < operation_kinds; ++i) {
            if (operations[i] > 0)
                ticks += static_cast<double>(operations[i]) * std::clamp(mean(i, whole) - clock, 0.0, most);
        }
        return ticks;
    }

  private:
    double mean(std::size_t kind, const operation_durations& whole) const {
        if (times_[kind].count() >= samples_min) return times_[kind].winsorised_mean();
        if (whole.times_[kind].count() > 0) return whole.times_[kind].winsorised_mean();
        // A kind that was never timed takes the mean of any other kind.
        for (const histogram& other : whole.times_) {
            if (other.count() > 0) return other.winsorised_mean();
        }
        return 0;
    }

    std::array<histogram, operation_kinds> times_;
};

}  // namespace millpond::characterise
