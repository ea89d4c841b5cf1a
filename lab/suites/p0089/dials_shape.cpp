// SPDX-License-Identifier: BSL-1.0
#include "dials_shape.hpp"

#include <algorithm>
#include <cmath>

#include "lab/characterise/dvluc.hpp"
#include "lab/characterise/size_class.hpp"
#include "lab/suites/common/random_numbers.hpp"

namespace millpond::p0089 {
namespace {

constexpr std::uint64_t sizes_drawn = 1 << 12;
// The smallest block, so that each has a cache line of its own, whatever the allocator adds.
constexpr std::uint64_t cache_line_bytes = 64;
constexpr int bisections = 60;

double share(const frame::point& asked, const char* dial) { return static_cast<double>(asked[dial]) / 1000; }

// Returns: the argument at which a continuous function equals `wanted`, which lies between its values at both ends.
template <class Function>
double solve(Function value, double low, double high, double wanted) {
    const bool rises = value(low) <= value(high);
    for (int i = 0; i < bisections; ++i) {
        const double middle = (low + high) / 2;
        ((value(middle) <= wanted) == rises ? low : high) = middle;
    }
    return (low + high) / 2;
}

// Returns each thread's share of its time inside allocations: `first` for the first thread, equal shares for the
// others.
std::vector<double> inside(const dial_values& asked, double first) {
    std::vector<double> shares(asked.threads, first);
    const auto others = static_cast<double>(asked.threads - 1);
    for (std::size_t i = 1; i < shares.size(); ++i)
        shares[i] = std::max(0.0, asked.density * static_cast<double>(asked.threads) - first) / others;
    return shares;
}

double contention_of(const dial_values& asked, double first) { return characterise::contention(inside(asked, first)); }

double most_of_first(const dial_values& asked) {
    return std::min(1.0, asked.density * static_cast<double>(asked.threads));
}

std::uint64_t rounded(double value) { return static_cast<std::uint64_t>(std::llround(std::max(0.0, value))); }

// Returns: the share of one size among `sizes` for which the entropy is `nats`; the other sizes have equal shares.
double share_of_first(std::size_t sizes, double nats) {
    const auto count = static_cast<double>(sizes);
    const auto entropy = [&](double p) {
        const auto term = [](double q) { return q > 0 ? -q * std::log(q) : 0.0; };
        return term(p) + (count - 1) * term((1 - p) / (count - 1));
    };
    return solve(entropy, 1 / count, 1.0, nats);
}

}  // namespace

dial_values::dial_values(const frame::point& asked)
    : density(share(asked, "density")),
      variation(share(asked, "variation")),
      locality(share(asked, "locality")),
      utilization(share(asked, "utilization")),
      contention(share(asked, "contention")),
      threads(static_cast<std::uint64_t>(asked["threads"])),
      blocks(asked.power("log2_operations") / 2) {}

contention_range contention_within(const dial_values& asked) {
    if (asked.threads == 1) return {0, 0};
    return {contention_of(asked, most_of_first(asked)), contention_of(asked, asked.density)};
}

std::vector<thread_work> work_of_threads(const dial_values& asked) {
    double first = asked.density;
    if (asked.threads > 1) {
        const auto value = [&](double share) { return contention_of(asked, share); };
        first = solve(value, asked.density, most_of_first(asked), asked.contention);
    }
    const auto blocks = static_cast<double>(asked.blocks);
    // The total work of a thread, in accesses: the same for each.
    const double all = blocks * pair_accesses / asked.density / static_cast<double>(asked.threads);
    std::vector<thread_work> works;
    for (const double part : inside(asked, first)) {
        thread_work work{};
        work.blocks = std::max(rounded(part * all / pair_accesses), subsystems_of_a_thread);
        const double live = asked.utilization * static_cast<double>(work.blocks) / subsystems_of_a_thread;
        work.live = std::clamp<std::uint64_t>(rounded(live), 1, work.blocks / subsystems_of_a_thread);
        work.accesses = rounded((1 - part) * all);
        const double visit = static_cast<double>(work.live) * asked.locality / std::max(1 - asked.locality, 1e-9);
        work.visit = std::max<std::uint64_t>(1, rounded(visit));
        works.push_back(work);
    }
    return works;
}

// Returns as few sizes as have this entropy: one is more frequent than the others, which are equally frequent.
std::vector<std::uint32_t> sizes_of_variation(double variation, std::uint64_t seed) {
    const double effective = 1 / (1 - std::min(variation, most_variation));
    const auto count = static_cast<std::size_t>(std::ceil(effective - 1e-9));
    const double first = count == 1 ? 1.0 : share_of_first(count, std::log(effective));
    const double other = count == 1 ? 0.0 : (1 - first) / static_cast<double>(count - 1);
    const std::size_t smallest = characterise::size_class_of(cache_line_bytes) + 1;
    std::vector<std::uint32_t> sizes(sizes_drawn);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(sizes.size());
        const auto size =
            place < first ? 0 : std::min(count - 1, 1 + static_cast<std::size_t>((place - first) / other));
        sizes[i] = static_cast<std::uint32_t>(characterise::size_class_bytes(smallest + size));
    }
    suites::random_numbers random(seed);
    for (std::size_t i = sizes.size() - 1; i > 0; --i)
        std::swap(sizes[i], sizes[random.below(static_cast<std::uint32_t>(i + 1))]);
    return sizes;
}

}  // namespace millpond::p0089
