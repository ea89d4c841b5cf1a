// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/sample_estimates.hpp"

#include <algorithm>
#include <cmath>

namespace millpond::characterise {

void weighted_lifetimes::finish() {
    std::sort(all_.begin(), all_.end(), [](const lifetime& a, const lifetime& b) { return a.ns < b.ns; });
    double sum = 0, squares = 0;
    below_.clear();
    for (const lifetime& one : all_) {
        below_.push_back(sum += one.weight);
        squares += one.weight * one.weight;
    }
    effective_ = squares > 0 ? sum * sum / squares : 0;
}

weighted_lifetimes::quantile_interval weighted_lifetimes::interval(double share) const {
    constexpr double tail = 0.025, resolution = 1.0 / 32;
    if (all_.empty()) return {0, std::nullopt};
    const double n = effective_;
    // The number among n objects that live as long as object `i` or shorter.
    const auto shorter = [&](std::size_t i) { return std::min(n, below_[i] / below_.back() * n); };
    // Shorter lives than the quantile are too few, or too many.
    const auto too_few = [&](double x) { return x < n && beta_share(n - x, x + 1, 1 - share) < tail; };
    const auto too_many = [&](double x) { return x > 0 && beta_share(x, n - x + 1, share) < tail; };
    const auto first_where = [&](const auto& holds) {
        std::size_t low = 0, high = all_.size();
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (holds(shorter(middle)))
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    };
    quantile_interval ends{0, std::nullopt};
    if (too_few(0)) {
        const std::size_t at = first_where([&](double x) { return !too_few(x); });
        ends.low = static_cast<double>(all_[std::min(at, all_.size() - 1)].ns) * (1 - resolution);
    }
    if (const std::size_t at = first_where(too_many); at < all_.size())
        ends.high = static_cast<double>(all_[at].ns) * (1 + resolution) + 1;
    return ends;
}

void estimated_objects::begin(double size, double probability, bool by_realloc) {
    ++sampled;
    (by_realloc ? reallocations : allocations).add(1, probability);
    bytes.add(size, probability);
    live(size, probability);
    reach_peak();
}

void estimated_objects::live(double size, double probability) {
    live_objects.add(1, probability);
    live_bytes.add(size, probability);
}

void estimated_objects::reach_peak() {
    if (live_objects.value() > peak_objects.value()) peak_objects = live_objects;
    if (live_bytes.value() > peak_bytes.value()) peak_bytes = live_bytes;
}

void estimated_objects::end(double size, double probability, bool by_realloc, bool has_begun) {
    (by_realloc ? realloc_frees : frees).add(1, probability);
    events.add(has_begun ? 2 : 1, probability);
    gone(size, probability);
}

void estimated_objects::gone(double size, double probability) {
    live_objects.remove(1, probability);
    live_bytes.remove(size, probability);
}

sample_estimates::sample_estimates(const symbols::subsystem_map& subsystems, std::size_t contexts,
                                   std::uint64_t interval, double ticks_per_ns, std::uint64_t cut_tick)
    : map_(subsystems),
      interval_(interval),
      ns_per_tick_(1 / ticks_per_ns),
      cut_tick_(cut_tick),
      is_before_cut_(cut_tick != 0),
      subsystems_(subsystems.subsystems().size()),
      contexts_(std::max<std::size_t>(contexts, 1)) {}

void sample_estimates::consume(const trace::event* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const trace::event& e = batch[i];
        if (is_before_cut_ && e.time_ticks >= cut_tick_) pass_cut();
        if (e.op == trace::operation::allocate || e.op == trace::operation::realloc_allocate)
            begin(e);
        else if (e.op != trace::operation::note)
            end(e);
    }
}

// The blocks that are live at the cut may be the peak.
void sample_estimates::pass_cut() {
    is_before_cut_ = false;
    whole_.reach_peak();
    for (estimated_subsystem& s : subsystems_) s.reach_peak();
    ++peaks_;
}

double sample_estimates::unseen_objects() const { return 1 / sampling_probability(smallest_, interval_); }

void sample_estimates::begin(const trace::event& e) {
    const auto size = static_cast<double>(e.bytes);
    const double p = sampling_probability(e.bytes, interval_);
    const bool by_realloc = e.op == trace::operation::realloc_allocate;
    smallest_ = whole_.sampled == 0 ? e.bytes : std::min(smallest_, e.bytes);
    estimated_context& context = contexts_[e.context];
    estimated_subsystem& s = subsystems_[map_.subsystem_of(e.context)];
    const double peak = whole_.peak_bytes.value();
    see_peak(context);
    if (is_before_cut_) {
        ++whole_.sampled;
        ++s.sampled;
        whole_.live(size, p);
        s.live(size, p);
    } else {
        whole_.begin(size, p, by_realloc);
        s.begin(size, p, by_realloc);
        s.sizes[size_class_of(e.bytes)] += 1 / p;
        context.objects.add(1, p);
        context.bytes.add(size, p);
    }
    context.live_objects.add(1, p);
    context.live_bytes.add(size, p);
    peaks_ += whole_.peak_bytes.value() > peak;
    live_.begin(
        e.address, object{e.bytes, e.time_ticks, e.context, e.thread}, {e.time_ticks, e.thread},
        [this](const object& o, std::uint64_t, trace::moment at, trace::ending how) { ended(o, at, how, false); });
}

void sample_estimates::end(const trace::event& e) {
    live_.end(e.address, {e.time_ticks, e.thread},
              [&](const object& o, std::uint64_t, trace::moment at, trace::ending how) {
                  ended(o, at, how, e.op == trace::operation::realloc_free);
              });
}

void sample_estimates::ended(const object& o, trace::moment at, trace::ending how, bool by_realloc) {
    const auto size = static_cast<double>(o.bytes);
    const double p = sampling_probability(o.bytes, interval_);
    estimated_subsystem& s = subsystems_[map_.subsystem_of(o.context)];
    const bool has_begun = o.tick >= cut_tick_;
    if (is_before_cut_) {
        whole_.gone(size, p);
        s.gone(size, p);
    } else {
        whole_.end(size, p, by_realloc, has_begun);
        s.end(size, p, by_realloc, has_begun);
    }
    estimated_context& context = contexts_[o.context];
    see_peak(context);
    context.live_objects.remove(1, p);
    context.live_bytes.remove(size, p);
    if (is_before_cut_) return;
    if (how == trace::ending::freed && at.thread != o.thread) s.freed_by_others.add(1, p);
    const double ticks = at.time_ticks > o.tick ? static_cast<double>(at.time_ticks - o.tick) : 0;
    s.lifetimes.add(static_cast<std::uint64_t>(ticks * ns_per_tick_), 1 / p);
}

void sample_estimates::finish() {
    if (is_before_cut_) pass_cut();
    live_.settle(
        [this](const object& o, std::uint64_t, trace::moment at, trace::ending how) { ended(o, at, how, false); });
    live_.for_each([this](std::uint64_t, const object& o) {
        if (o.tick < cut_tick_) return;
        const double p = sampling_probability(o.bytes, interval_);
        whole_.events.add(1, p);
        subsystems_[map_.subsystem_of(o.context)].events.add(1, p);
    });
    for (estimated_context& context : contexts_) see_peak(context);
    for (estimated_subsystem& s : subsystems_) s.lifetimes.finish();
}

}  // namespace millpond::characterise
