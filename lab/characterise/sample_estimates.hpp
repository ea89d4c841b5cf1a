// SPDX-License-Identifier: BSL-1.0
// sample_estimates: the figures of all objects, estimated from a sampled trace.
//
//   sampled event ─▶ live_objects ─▶ object: size ─▶ probability p ─▶ weighted sums of its subsystem, context, trace
//                                                                  └▶ its lifetime, with weight 1/p
//
// Sums (allocations, bytes, live at the end) are estimated without bias. A peak is the largest estimate of the live
// bytes at any event: its interval is that of the live bytes at that moment, and it tends to be too high, because it is
// chosen as the highest. A quantile of lifetimes is that of the weighted objects that ended; its interval holds the
// times that a test of the share of shorter lives (Clopper and Pearson, with the effective number of objects) does not
// reject. Of a ring, blocks from before its cut are live there and may end, but were not allocated in it; counts are
// those of the events since. consume() every batch, then finish(). Memory: 16 bytes for each sampled object that ended,
// and what contexts take. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/characterise/size_class.hpp"
#include "lab/characterise/weighted_sum.hpp"
#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

// The lifetimes of sampled objects, in ns.
class weighted_lifetimes {
  public:
    void add(std::uint64_t ns, double weight) { all_.push_back({ns, weight}); }
    // Sorts; before anything below, after the last add().
    void finish();

    bool empty() const { return all_.empty(); }
    // Calls visit(ns, weight) for each, the shortest first.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const lifetime& one : all_) visit(one.ns, one.weight);
    }
    // The ends of the 95 % interval of a quantile, in ns, widened by the resolution of whole traces (1/32). An upper
    // end may be unknown, if the sample is small.
    struct quantile_interval {
        double low;
        std::optional<double> high;
    };
    quantile_interval interval(double share) const;

  private:
    struct lifetime {
        std::uint64_t ns;
        double weight;
    };
    std::vector<lifetime> all_;
    std::vector<double> below_;  // the sum of weights up to each
    double effective_ = 0;       // the number of objects of equal weight that would tell as much
};

struct estimated_objects {
    weighted_sum allocations, reallocations, frees, realloc_frees, events, bytes;  // frees: not by realloc
    weighted_sum live_objects, live_bytes;                                         // at the end of the trace
    weighted_sum peak_objects, peak_bytes;
    std::uint64_t sampled = 0;

    void begin(double bytes, double probability, bool by_realloc);
    void live(double bytes, double probability);
    // `has_begun`: since the cut of a ring, so that both events count.
    void end(double bytes, double probability, bool by_realloc, bool has_begun);
    void gone(double bytes, double probability);
    void reach_peak();
};

struct estimated_subsystem : estimated_objects {
    weighted_sum freed_by_others;
    weighted_lifetimes lifetimes;
    std::vector<double> sizes = std::vector<double>(size_class_count);
};

struct estimated_context {
    weighted_sum objects, bytes, live_objects, live_bytes;
    double peak_bytes = 0;    // of it, at the peak of all,
    std::uint64_t peaks = 0;  // of the first so many peaks
};

class sample_estimates {
  public:
    // `interval`: bytes for each one chosen. `cut_tick`: of a ring, else 0.
    sample_estimates(const symbols::subsystem_map& subsystems, std::size_t contexts, std::uint64_t interval,
                     double ticks_per_ns, std::uint64_t cut_tick = 0);

    void consume(const trace::event* batch, std::size_t count);
    void finish();

    std::uint64_t interval_bytes() const { return interval_; }
    std::uint64_t cut_tick() const { return cut_tick_; }
    const estimated_objects& whole() const { return whole_; }
    const std::vector<estimated_subsystem>& subsystems() const { return subsystems_; }
    const std::vector<estimated_context>& contexts() const { return contexts_; }
    // The largest weights of an object that was not sampled: its bytes / p (at most the interval), and 1 / p for the
    // smallest size that was sampled anywhere.
    double unseen_bytes() const { return static_cast<double>(interval_); }
    double unseen_objects() const;

  private:
    struct object {
        std::uint64_t bytes, tick;
        std::uint32_t context, thread;
    };

    // Takes a context's live bytes for the peaks since its last change, before each change of them.
    void see_peak(estimated_context& context) const {
        if (context.peaks != peaks_) context.peak_bytes = context.live_bytes.value();
        context.peaks = peaks_;
    }
    void begin(const trace::event& e);
    void end(const trace::event& e);
    void pass_cut();
    void ended(const object& o, trace::moment at, trace::ending how, bool by_realloc);

    const symbols::subsystem_map& map_;
    std::uint64_t interval_;
    double ns_per_tick_;
    std::uint64_t cut_tick_;
    bool is_before_cut_;
    std::uint64_t smallest_ = 0, peaks_ = 0;
    estimated_objects whole_;
    std::vector<estimated_subsystem> subsystems_;
    std::vector<estimated_context> contexts_;
    trace::live_objects<object> live_;
};

}  // namespace millpond::characterise
