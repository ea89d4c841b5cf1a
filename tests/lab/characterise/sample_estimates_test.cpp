// SPDX-License-Identifier: BSL-1.0
// Estimates from samples of known sequences of events against the figures of all events, over 40 seeds.
#include "lab/characterise/sample_estimates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "lab/record/byte_countdown.hpp"
#include "small_program.hpp"

namespace millpond::test {
namespace {

using characterise::estimate_interval;
using characterise::estimated_subsystem;
using characterise::sample_estimates;
using trace::event;

constexpr std::uint64_t interval = 64 << 10;
constexpr unsigned seeds = 40;

// The objects of one subsystem: their sizes are spread evenly on a logarithmic scale.
struct kind {
    std::string name;
    std::uint32_t objects;
    double smallest, largest, mean_life;
    bool larger_live_longer;
};

const std::vector<kind> kinds = {
    {"small::make", 120'000, 16, 64, 400, false},        {"middle::make", 20'000, 256, 4096, 5000, false},
    {"large::make", 200, 100'000, 2'000'000, 900, true}, {"rare::make", 60, 1000, 4000, 3000, false},
    {"mixed::make", 40'000, 16, 30'000, 800, true},
};

struct truth {
    double allocations = 0, bytes = 0, frees = 0, live_bytes = 0, live_objects = 0;
    std::vector<double> lifetimes;

    double quantile(double share) const {
        return lifetimes[static_cast<std::size_t>(std::ceil(share * static_cast<double>(lifetimes.size()))) - 1];
    }
};

// A sequence of events of all kinds, each object at an address of its own, and the figures of all of them.
struct sequence {
    sequence() {
        std::mt19937_64 random(4711);
        std::uint64_t address = 4096, time = 1;
        std::vector<std::pair<std::uint64_t, event>> timed;
        for (const kind& k : kinds) {
            const std::uint32_t context = program.frame(program.frame(0, "main"), k.name);
            truth& t = all[k.name.substr(0, k.name.find(':'))];
            std::uniform_real_distribution<double> size_log(std::log(k.smallest), std::log(k.largest));
            std::uniform_int_distribution<std::uint64_t> begin(1, end_of_time);
            std::exponential_distribution<double> life(1 / k.mean_life);
            for (std::uint32_t i = 0; i < k.objects; ++i) {
                const auto bytes = static_cast<std::uint64_t>(std::exp(size_log(random)));
                time = begin(random);
                const double longer = k.larger_live_longer ? static_cast<double>(bytes) / k.smallest : 1;
                const auto lived = static_cast<std::uint64_t>(life(random) * std::sqrt(longer)) + 1;
                address += bytes + 16;
                timed.emplace_back(time, allocation(time, 1, address, bytes, context));
                ++t.allocations;
                t.bytes += static_cast<double>(bytes);
                if (time + lived > end_of_time) {
                    ++t.live_objects;
                    t.live_bytes += static_cast<double>(bytes);
                    continue;
                }
                timed.emplace_back(time + lived, deallocation(time + lived, 1, address));
                ++t.frees;
                t.lifetimes.push_back(static_cast<double>(lived));
            }
            std::sort(t.lifetimes.begin(), t.lifetimes.end());
        }
        std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [at, e] : timed) events.push_back(e);
    }

    // Returns the events of the objects that are chosen.
    std::vector<event> sample(std::uint64_t seed) const {
        record::byte_countdown countdown;
        countdown.begin(seed, interval);
        std::vector<event> chosen;
        std::map<std::uint64_t, bool> followed;
        for (const event& e : events) {
            if (e.op == trace::operation::free ? followed.contains(e.address)
                                               : !countdown.passes(e.bytes) && countdown.chooses(e.bytes, interval)) {
                followed[e.address] = true;
                chosen.push_back(e);
            }
        }
        return chosen;
    }

    static constexpr std::uint64_t end_of_time = 1'000'000;
    small_program program;
    std::vector<event> events;
    std::map<std::string, truth> all;
};

struct tally {
    unsigned covered = 0, trials = 0;

    void add(double true_value, double low, double high) {
        ++trials;
        covered += low <= true_value && true_value <= high;
    }
};

TEST(sample_estimates, intervals_cover_the_truth_in_95_percent) {
    const sequence whole;
    const symbols::context_functions functions = whole.program.functions();
    const symbols::subsystem_map map(functions, {});
    std::map<std::string, tally> found;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        const std::vector<event> chosen = whole.sample(seed);
        sample_estimates estimates(map, whole.program.nodes().size(), interval, 1.0);
        estimates.consume(chosen.data(), chosen.size());
        estimates.finish();
        for (std::size_t i = 0; i < map.subsystems().size(); ++i) {
            const auto known = whole.all.find(map.subsystems()[i].name);
            const estimated_subsystem& s = estimates.subsystems()[i];
            if (known == whole.all.end() || s.sampled == 0) continue;
            const truth& t = known->second;
            const auto add = [&](const char* figure, double value, const characterise::weighted_sum& sum, double most) {
                const estimate_interval ends = sum.interval(most);
                found[figure].add(value, ends.low, ends.high);
            };
            add("allocations", t.allocations, s.allocations, estimates.unseen_objects());
            add("frees", t.frees, s.frees, estimates.unseen_objects());
            add("bytes", t.bytes, s.bytes, estimates.unseen_bytes());
            add("live bytes", t.live_bytes, s.live_bytes, estimates.unseen_bytes());
            add("live objects", t.live_objects, s.live_objects, estimates.unseen_objects());
            for (const double share : {0.1, 0.5, 0.9}) {
                const auto ends = s.lifetimes.interval(share);
                found["lifetimes"].add(t.quantile(share), ends.low, ends.high.value_or(HUGE_VAL));
            }
        }
    }
    for (const auto& [figure, t] : found) EXPECT_GE(t.covered, 0.95 * t.trials) << figure << " of " << t.trials;
}

TEST(sample_estimates, sums_are_without_bias) {
    const sequence whole;
    const symbols::context_functions functions = whole.program.functions();
    const symbols::subsystem_map map(functions, {});
    double bytes = 0, allocations = 0, true_bytes = 0, true_allocations = 0, variance = 0, variance_of_bytes = 0;
    for (const auto& [name, t] : whole.all) {
        true_bytes += t.bytes;
        true_allocations += t.allocations;
    }
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        const std::vector<event> chosen = whole.sample(seed);
        sample_estimates estimates(map, whole.program.nodes().size(), interval, 1.0);
        estimates.consume(chosen.data(), chosen.size());
        estimates.finish();
        bytes += estimates.whole().bytes.value() / seeds;
        allocations += estimates.whole().allocations.value() / seeds;
        variance_of_bytes += estimates.whole().bytes.variance() / seeds / seeds;
        variance += estimates.whole().allocations.variance() / seeds / seeds;
    }
    EXPECT_NEAR(bytes, true_bytes, 3 * std::sqrt(variance_of_bytes));
    EXPECT_NEAR(allocations, true_allocations, 3 * std::sqrt(variance));
}

TEST(sample_estimates, a_chosen_byte_comes_with_the_stated_probability) {
    constexpr unsigned draws = 200'000;
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1000}, interval, 5 * interval}) {
        record::byte_countdown countdown;
        countdown.begin(bytes + 1, interval);
        unsigned chosen = 0;
        for (unsigned i = 0; i < draws; ++i) chosen += !countdown.passes(bytes) && countdown.chooses(bytes, interval);
        const double p = characterise::sampling_probability(bytes, interval);
        EXPECT_NEAR(chosen, draws * p, 4 * std::sqrt(draws * p * (1 - p)) + 1) << bytes;
    }
}

TEST(sample_estimates, nothing_seen_still_has_an_upper_bound) {
    const characterise::weighted_sum none;
    const estimate_interval ends = none.interval(100);
    EXPECT_EQ(ends.low, 0);
    EXPECT_NEAR(ends.high, 100 * -std::log(0.0125), 1e-6);  // of a Poisson count of 0, times the weight
}

TEST(sample_estimates, certain_objects_have_an_exact_lower_end) {
    characterise::weighted_sum sum;
    for (int i = 0; i < 10; ++i) sum.add(7, 1);
    EXPECT_EQ(sum.value(), 70);
    EXPECT_EQ(sum.variance(), 0);
    EXPECT_EQ(sum.interval(1).low, 70);
    EXPECT_GE(sum.interval(1).high, 70);
}

TEST(sample_estimates, quantiles_agree_with_known_values) {
    EXPECT_NEAR(characterise::gamma_quantile(1, 0.975), -std::log(0.025), 1e-9);
    EXPECT_NEAR(characterise::gamma_quantile(10, 0.025), 4.795389, 1e-5);  // half of chi-square 20: 9.590778
    EXPECT_NEAR(characterise::gamma_quantile(10, 0.975), 17.084803, 1e-5);
    EXPECT_NEAR(characterise::gamma_quantile(9999, 0.9875) / characterise::gamma_quantile(10001, 0.9875), 1, 3e-4);
    EXPECT_NEAR(characterise::beta_share(2, 3, 0.4), 0.5248, 1e-9);
    EXPECT_NEAR(characterise::beta_share(0.5, 0.5, 0.5), 0.5, 1e-9);
}

}  // namespace
}  // namespace millpond::test
