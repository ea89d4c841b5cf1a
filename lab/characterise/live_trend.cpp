// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/live_trend.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace millpond::characterise {

live_trend::live_trend(const symbols::subsystem_map& subsystems, std::uint64_t first_tick, std::uint64_t last_tick,
                       std::uint64_t interval)
    : map_(subsystems),
      first_(first_tick),
      last_(std::max(last_tick, first_tick + 1)),
      interval_(interval),
      subsystems_(subsystems.subsystems().size()) {}

void live_trend::consume(const trace::event* batch, std::size_t count) {
    const auto ended = [this](const object& o, std::uint64_t, trace::moment at, trace::ending) {
        add(o, at.time_ticks);
    };
    for (std::size_t i = 0; i < count; ++i) {
        const trace::event& e = batch[i];
        const trace::moment now{e.time_ticks, e.thread};
        if (e.op == trace::operation::allocate || e.op == trace::operation::realloc_allocate)
            live_.begin(e.address, object{e.bytes, e.time_ticks, e.context}, now, ended);
        else if (e.op != trace::operation::note)
            (void)live_.end(e.address, now, ended);
    }
}

void live_trend::finish() {
    live_.settle([this](const object& o, std::uint64_t, trace::moment at, trace::ending) { add(o, at.time_ticks); });
    live_.for_each([this](std::uint64_t, const object& o) { add(o, last_); });
}

// From 0 to 1; objects from before and after the span count as far as they lie in it.
double live_trend::time(std::uint64_t tick) const {
    const std::uint64_t inside = std::clamp(tick, first_, last_) - first_;
    return static_cast<double>(inside) / static_cast<double>(last_ - first_);
}

void live_trend::add(const object& o, std::uint64_t end_tick) {
    const double p = interval_ == 0 ? 1 : sampling_probability(o.bytes, interval_);
    const double begin = time(o.tick), end = end_tick >= last_ ? 1 : time(end_tick);
    if (end <= begin) return;
    add(whole_, static_cast<double>(o.bytes), p, begin, end);
    add(subsystems_[map_.subsystem_of(o.context)], static_cast<double>(o.bytes), p, begin, end);
}

void live_trend::add(series& to, double bytes, double probability, double begin, double end) {
    const double c = 6 * (end - begin) * (end + begin - 1);
    (c > 0 ? to.rises : to.falls).add(bytes * std::abs(c), probability);
    to.squares += bytes * c * bytes * c / probability;
    const auto point = [](double u) { return static_cast<std::size_t>(std::ceil(std::max(u * points - 0.5, 0.0))); };
    to.changes[point(begin)] += bytes / probability;
    if (end < 1) to.changes[point(end)] -= bytes / probability;
}

// The standard error of the slope that the series' own ups and downs make.
double live_trend::own_error(const series& of) {
    std::array<double, points> rest{};
    double sum = 0, live = 0, moment = 0, squares = 0;
    for (std::size_t i = 0; i < points; ++i) {
        rest[i] = live += of.changes[i];
        const double x = (static_cast<double>(i) + 0.5) / points - 0.5;
        sum += live;
        moment += x * live;
        squares += x * x;
    }
    const double mean = sum / points, slope = moment / squares;
    for (std::size_t i = 0; i < points; ++i) rest[i] -= mean + slope * ((static_cast<double>(i) + 0.5) / points - 0.5);
    double batch = 0, variance = 0;
    for (std::size_t i = 0; i < points; ++i) {
        batch += rest[i];
        if (i >= batch_points) batch -= rest[i - batch_points];
        if (i + 1 >= batch_points) variance += batch * batch / batch_points;
    }
    constexpr double batches = points / batch_points;  // the line has taken two degrees of freedom
    const double long_run = variance / (points - batch_points + 1) * batches / (batches - 2);
    return std::sqrt(long_run / squares);
}

trend_estimate live_trend::estimate(const series& of) const {
    // The 97.5 % quantiles of Student's t with 8 degrees of freedom and of the normal distribution.
    constexpr double t_8 = 2.306, normal = 1.96;
    const double slope = of.rises.value() - of.falls.value();
    const double own = std::hypot(t_8 * own_error(of), normal * std::sqrt(of.squares));
    double below = 0, above = 0;
    if (interval_ != 0) {
        const double unseen = 1.5 * static_cast<double>(interval_);  // bytes / p of an object, and c, at most
        const estimate_interval rises = of.rises.interval(unseen), falls = of.falls.interval(unseen);
        below = std::hypot(of.rises.value() - rises.low, falls.high - of.falls.value());
        above = std::hypot(rises.high - of.rises.value(), of.falls.value() - falls.low);
    }
    return {slope, slope - std::hypot(below, own), slope + std::hypot(above, own)};
}

}  // namespace millpond::characterise
