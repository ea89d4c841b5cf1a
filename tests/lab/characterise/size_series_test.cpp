// SPDX-License-Identifier: BSL-1.0
// The live blocks of each size over time, against a model that counts every set of sizes at every event.
#include "lab/characterise/size_series.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "lab/characterise/characterisation.hpp"
#include "lab/characterise/characterisation_json.hpp"
#include "small_program.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using characterise::size_request;
using characterise::size_series;
using program::json;
using trace::event;

json rows_of(const std::vector<event>& events, const size_request& request) {
    size_series series(request, events.size());
    series.consume(events.data(), events.size());
    series.finish();
    return series.rows_json();
}

// Live objects come and go at random; each of a few sizes up to 64.
std::vector<event> random_events(std::mt19937_64& random, std::size_t count) {
    std::vector<event> events;
    std::vector<std::uint64_t> live;
    for (std::uint64_t time = 1; events.size() < count; ++time) {
        if (live.empty() || random() % 5 < 3) {
            live.push_back(time * 64);
            events.push_back(allocation(time, 0, time * 64, random() % 65, 0));
        } else {
            std::swap(live[random() % live.size()], live.back());
            events.push_back(deallocation(time, 0, live.back()));
            live.pop_back();
        }
    }
    return events;
}

std::uint64_t rounded(std::uint64_t bytes) { return (std::max<std::uint64_t>(bytes, 1) + 7) / 8 * 8; }

// Returns the highest number of live blocks of sizes in (above, upto].
std::uint64_t literal_peak(const std::vector<event>& events, std::uint64_t above, std::uint64_t upto) {
    std::map<std::uint64_t, std::uint64_t> live;
    std::uint64_t now = 0, peak = 0;
    for (const event& e : events) {
        if (e.op == trace::operation::allocate) {
            live[e.address] = rounded(e.bytes);
            now += rounded(e.bytes) > above && rounded(e.bytes) <= upto;
        } else {
            now -= live[e.address] > above && live[e.address] <= upto;
        }
        peak = std::max(peak, now);
    }
    return peak;
}

std::uint64_t joined_peak(const json& rows, std::uint64_t above, std::uint64_t upto) {
    std::vector<std::uint64_t> sum;
    for (const json& row : rows) {
        const auto bytes = row["bytes"].get<std::uint64_t>();
        if (bytes <= above || bytes > upto) continue;
        sum.resize(row["live"].size());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row["live"][i].get<std::uint64_t>();
    }
    return sum.empty() ? 0 : *std::max_element(sum.begin(), sum.end());
}

TEST(size_series, sums_of_rows_are_the_peaks_of_joined_sizes) {
    std::mt19937_64 random(seed());
    for (int round = 0; round < 20; ++round) {
        const std::vector<event> events = random_events(random, 1 + random() % 400);
        const json exact = rows_of(events, {.granule_bytes = 8, .largest_bytes = 64, .moments = 400});
        const json coarse = rows_of(events, {.granule_bytes = 8, .largest_bytes = 64, .moments = 7});
        const std::uint64_t in_moment = (events.size() + 6) / 7;
        for (std::uint64_t above = 0; above < 64; above += 8) {
            for (std::uint64_t upto = above + 8; upto <= 64; upto += 8) {
                const std::uint64_t expected = literal_peak(events, above, upto);
                ASSERT_EQ(joined_peak(exact, above, upto), expected);
                ASSERT_GE(joined_peak(coarse, above, upto), expected);
                ASSERT_LE(joined_peak(coarse, above, upto), expected + in_moment);
            }
        }
        for (const json& row : coarse) {
            const auto bytes = row["bytes"].get<std::uint64_t>();
            ASSERT_EQ(row["peak_blocks"], literal_peak(events, bytes - 8, bytes));
        }
    }
}

TEST(size_series, rounds_sizes_up_to_granule_and_alignment) {
    std::vector<event> events = {allocation(1, 0, 0x100, 0, 0), allocation(2, 0, 0x200, 17, 0),
                                 allocation(3, 0, 0x300, 20, 0), allocation(4, 0, 0x400, 4097, 0)};
    events[2].alignment_log2 = 6;
    size_series series({.granule_bytes = 16, .largest_bytes = 4096, .moments = 4}, events.size());
    series.consume(events.data(), events.size());
    series.finish();
    const json rows = series.rows_json();
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0]["bytes"], 16);
    EXPECT_EQ(rows[0]["live"], json::array({1, 1, 1, 1}));
    EXPECT_EQ(rows[1]["bytes"], 32);
    EXPECT_EQ(rows[1]["live"], json::array({0, 1, 1, 1}));
    EXPECT_EQ(rows[1]["mean_bytes"], 17.0 * 3 / 4);  // it lives after three of the four events
    EXPECT_EQ(rows[2]["bytes"], 64);
    EXPECT_EQ(series.larger_json()["peak_bytes"], 4097);
    EXPECT_EQ(series.census_json()["distinct_sizes"], 4);
}

TEST(size_series, census_has_the_most_frequent_sizes_first) {
    std::vector<event> events;
    for (std::uint64_t i = 0; i < 100; ++i)
        events.push_back(allocation(i + 1, 0, 64 * (i + 1), i % 3 == 0 ? 7 : 100 + i, 0));
    size_series series({}, events.size());
    series.consume(events.data(), events.size());
    const json census = series.census_json();
    EXPECT_EQ(census["requests"], 100);
    EXPECT_EQ(census["most_frequent"].size(), size_series::most_frequent_max);
    EXPECT_EQ(census["most_frequent"][0], program::json_object({{"bytes", 7}, {"requests", 34}}));
    EXPECT_EQ(census["most_frequent"][1]["bytes"], 101);  // of equals the smallest
}

TEST(size_series, objects_freed_soon_are_short_lived) {
    const std::vector<event> events = {allocation(1, 0, 0x100, 10, 1), allocation(2, 0, 0x200, 10, 1),
                                       deallocation(3, 0, 0x200), allocation(4, 0, 0x300, 90, 2),
                                       deallocation(5, 0, 0x100)};
    size_series series({.granule_bytes = 8, .largest_bytes = 64, .moments = 1, .short_bytes = 100}, events.size());
    series.consume(events.data(), events.size());
    const std::vector<trace::context_node> nodes = {{0, 0, 0}, {0, 1, 0x10}, {1, 0, 0x20}};
    const std::vector<trace::module_record> modules = {{1, 0, 0, 0, "/usr/bin/shop", "", 0, 0}};
    const json sites = series.sites_json(nodes, modules);
    ASSERT_EQ(sites.size(), 2u);
    EXPECT_EQ(sites[0], program::json_object({{"site", "+20 shop+10 0"},
                                              {"frames", json::array({"+20", "shop+10"})},
                                              {"size", 0},
                                              {"objects", 1},
                                              {"bytes", 90},
                                              {"short_bytes", 0}}));
    EXPECT_EQ(sites[1], program::json_object({{"site", "shop+10 16"},
                                              {"frames", json::array({"shop+10"})},
                                              {"size", 16},
                                              {"objects", 2},
                                              {"bytes", 20},
                                              {"short_bytes", 10}}));
}

TEST(size_series, every_request_of_a_trace_is_in_one_row) {
    const json found = characterise::sizes_json(MILLPOND_GOLDEN_TRACE, {.moments = 3});
    const json whole = to_json(characterise::characterisation(MILLPOND_GOLDEN_TRACE, {}));
    auto requests = found["larger"]["requests"].get<std::uint64_t>();
    for (const json& row : found["rows"]) {
        requests += row["requests"].get<std::uint64_t>();
        EXPECT_EQ(row["live"].size(), 3u);
    }
    EXPECT_EQ(found["census"]["requests"], requests);
    EXPECT_EQ(requests, whole["trace"]["allocations"].get<std::uint64_t>() +
                            whole["trace"]["reallocations"].get<std::uint64_t>());
}

}  // namespace
}  // namespace millpond::test
