// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/dvluc.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace millpond::characterise {

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

std::optional<double> estimated_share(double part, double whole) {
    if (!(whole > 0) || !(part >= 0) || part > whole) return std::nullopt;
    return part / whole;
}

bounded_density density_of_times(double operations_least, double rest_most) {
    const double whole = operations_least + faster_at_most * rest_most;
    const double least = whole > 0 ? operations_least / whole : 0.0;
    if (least * density_within * density_within < 1) return {least, std::nullopt};
    return {least, std::sqrt(least)};  // the middle of the least and 1, by factors
}

double entropy(std::span<const std::uint64_t> counts) {
    double total = 0;
    for (const std::uint64_t count : counts) total += static_cast<double>(count);
    double nats = 0;
    for (const std::uint64_t count : counts) {
        if (count == 0) continue;
        const double share = static_cast<double>(count) / total;
        nats -= share * std::log(share);
    }
    return std::max(nats, 0.0);
}

double variation(double entropy_nats) { return -std::expm1(-entropy_nats); }

double locality(double accesses, double lines, double transitions) {
    return accesses / (accesses + lines * transitions);
}

double threads_inside_at_once(std::span<const double> inside) {
    // The sum of k · P(k) over all k is the sum of the shares; only k = 1 does not count. none and one: the
    // probabilities that no thread, and that exactly one, is inside.
    double expected = 0, none = 1, one = 0;
    for (const double share : inside) {
        const double in = std::clamp(share, 0.0, 1.0);
        expected += in;
        one = one * (1 - in) + none * in;
        none *= 1 - in;
    }
    return std::max(0.0, expected - one);
}

double threads_inside_at_once(std::span<const thread_activity> threads) {
    std::vector<double> moments;
    for (const thread_activity& each : threads) moments.insert(moments.end(), {each.begin, each.end});
    std::sort(moments.begin(), moments.end());
    double duration = 0, at_once = 0;
    std::vector<double> inside;
    for (std::size_t i = 1; i < moments.size(); ++i) {
        const double begin = moments[i - 1], end = moments[i];
        if (!(begin < end)) continue;
        inside.clear();
        for (const thread_activity& each : threads) {
            if (each.begin <= begin && end <= each.end) inside.push_back(each.inside);
        }
        if (inside.empty()) continue;
        const double part = (end - begin) / static_cast<double>(inside.size());
        duration += part;
        at_once += part * threads_inside_at_once(inside);
    }
    return share_of(at_once, duration);
}

double contention(std::span<const double> inside) {
    if (inside.size() < 2) return 0;
    return share_of(threads_inside_at_once(inside), static_cast<double>(inside.size()));
}

}  // namespace millpond::characterise
