// SPDX-License-Identifier: BSL-1.0
// live_trend: the growth of live bytes over the time of a trace, by subsystem, with a 95 % interval.
//
//   live bytes  │      ╱▏  ╱▏ ─ ─        slope of the least-squares line through live bytes at all times:
//               │  ╱▏╱─ ▏╱─ ▏            a sum over objects of bytes · c, where c = q(end) − q(begin),
//               │╱─ ▏   ▏                q(u) = 6 (u² − u) of the time u from 0 to 1
//
// So the slope of a sampled trace is a Horvitz-Thompson estimate like any other sum (weighted_sum), without bias, and
// a leak's sampled objects, which stay, make no error that a fit of points would overlook. Rises (c > 0) and falls have
// an interval each; that of the difference is of both (MOVER: Zou and Donner 2008, Statistics in Medicine 27:1693).
//
// The program's own ups and downs have two parts, for whole traces the only ones. Blocks that come independently make a
// variance of Σ (bytes · c)² (Campbell's theorem), also where they stay, so that live bytes wander. What comes and goes
// together makes the long-run variance of live bytes around the line, by overlapping batch means (Meketon and Schmeiser
// 1984, Proc. Winter Simulation Conference): of 240 times, in batches of a tenth of the trace, as a t interval with 8
// degrees of freedom. Ups and downs that last longer than that may be taken for growth. All are added as squares.
//
// consume() every batch of reader::for_each_batch, then finish(). An event costs O(1). Memory: 2 KB a subsystem, and
// the live objects. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lab/characterise/weighted_sum.hpp"
#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

// Bytes in the whole span.
struct trend_estimate {
    double slope, low, high;
};

class live_trend {
  public:
    // The span lies between two ticks, the first below the last. `interval`: bytes for each one chosen; 0: every event.
    live_trend(const symbols::subsystem_map& subsystems, std::uint64_t first_tick, std::uint64_t last_tick,
               std::uint64_t interval);

    void consume(const trace::event* batch, std::size_t count);
    void finish();

    // After finish().
    trend_estimate whole() const { return estimate(whole_); }
    trend_estimate subsystem(std::uint32_t number) const { return estimate(subsystems_[number]); }
    std::uint64_t span_ticks() const { return last_ - first_; }

  private:
    static constexpr std::size_t points = 240, batch_points = points / 10;

    struct object {
        std::uint64_t bytes, tick;
        std::uint32_t context;
    };
    struct series {
        weighted_sum rises, falls;
        double squares = 0;                        // of bytes · c, of all objects
        std::array<double, points + 1> changes{};  // of the live bytes at the point
    };

    double time(std::uint64_t tick) const;
    void add(const object& o, std::uint64_t end_tick);
    static void add(series& to, double bytes, double probability, double begin, double end);
    trend_estimate estimate(const series& of) const;
    static double own_error(const series& of);

    const symbols::subsystem_map& map_;
    std::uint64_t first_, last_, interval_;
    series whole_;
    std::vector<series> subsystems_;
    trace::live_objects<object> live_;
};

}  // namespace millpond::characterise
