// SPDX-License-Identifier: BSL-1.0
// Time models against numbers computed by hand: one penalty, and levels with a machine's latencies.
#include <gtest/gtest.h>

#include "lab/simulate/latencies.hpp"
#include "lab/simulate/level_time.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/time_model.hpp"

namespace {

using namespace millpond::simulate;
using millpond::references::simulator_counts;

// Returns a machine with caches of 32 KiB and 1 MiB and buffers of 64 and 1024 pages. A set of 16 KiB takes 1 ns, of
// 256 KiB 4, of 8 MiB 100; a page in the second buffer adds 2 ns, a walk 20.
machine_latencies machine() {
    machine_latencies m;
    m.from = "made up";
    m.cycle_ns = 0.5;
    m.sets = {{4 << 10, 1}, {16 << 10, 1}, {32 << 10, 2}, {64 << 10, 4}, {256 << 10, 4}, {1 << 20, 10}, {8 << 20, 100}};
    m.pages = {{16, 1}, {64, 1}, {256, 3}, {1024, 6}, {4096, 24}};
    m.caches = {{1, 32 << 10, 8, 64}, {2, 1 << 20, 16, 64}};
    m.buffers = {{1, 64, 64}, {2, 1024, 8}};
    return m;
}

machine_latencies without_pages() {
    machine_latencies m = machine();
    m.pages.clear();
    m.buffers.clear();
    return m;
}

simulator_counts of_levels(const char* description, std::uint64_t references, std::uint32_t line_bytes,
                           const std::vector<std::pair<std::uint64_t, std::uint64_t>>& misses_by_size) {
    simulator_counts counts{description, {count_of("references", "references", references)}};
    for (const auto& [size, misses] : misses_by_size) {
        auto row = count_of("misses", "references", misses);
        row.cache_bytes = size;
        row.line_bytes = line_bytes;
        counts.rows.push_back(row);
    }
    return counts;
}

double part(const millpond::program::json& time, const std::string& name, const char* field) {
    for (const auto& one : time["parts"]) {
        if (one["part"] == name) return one[field].get<double>();
    }
    ADD_FAILURE() << "no part " << name;
    return 0;
}

TEST(time, one_penalty_is_instructions_and_misses) {
    EXPECT_EQ(time_cycles(1000, 40, usual_miss_penalty), 2000);
    EXPECT_EQ(usual_penalty_sweep(), (std::vector<double>{10, 25, 50, 100, 200}));
}

TEST(time, level_latency_lies_between_its_neighbours_sizes) {
    const machine_latencies m = without_pages();
    EXPECT_EQ(cache_ns(m, 0, 32 << 10), 1);
    EXPECT_EQ(cache_ns(m, 32 << 10, 1 << 20), 4);
    EXPECT_EQ(cache_ns(m, 300 << 10, 600 << 10), 10) << "no set lies there: the next one";
    EXPECT_EQ(memory_ns(m, 1 << 20), 100);
    EXPECT_TRUE(is_beyond_caches(m, 4 << 20));
    EXPECT_FALSE(is_beyond_caches(m, 8 << 20));
    EXPECT_EQ(memory_ns(m, 64), 100) << "a small cache does not make memory faster";
}

TEST(time, pages_cost_what_they_add_to_their_lines) {
    const machine_latencies m = machine();
    EXPECT_EQ(translation_ns(m, 64, 1024), 2);  // 256 pages: 3 ns; their lines are 16 KiB: 1 ns
    EXPECT_EQ(walk_ns(m, 1024), 20);            // 4096 pages: 24 ns; their lines are 256 KiB: 4 ns
    EXPECT_EQ(walk_ns(m, 16), 20) << "a smaller buffer does not make a walk cheaper";
}

TEST(time, translation_is_taken_out_of_large_sets) {
    // 8 MiB are 2048 pages: 1 - 64/2048 of the loads miss the first buffer, 1 - 1024/2048 the second one, too.
    EXPECT_DOUBLE_EQ(memory_ns(machine(), 1 << 20), 100 - (1 - 64.0 / 2048) * 2 - 0.5 * (20 - 2));
}

TEST(time, levels_and_instructions_add_up) {
    const auto times =
        level_times_json({of_levels("levels:x", 1000, 64, {{32 << 10, 100}, {1 << 20, 10}})}, 3000, without_pages(), 2);
    ASSERT_EQ(times.size(), 1U);
    const auto& time = times[0];
    EXPECT_EQ(part(time, "level 1", "count"), 900);
    EXPECT_EQ(part(time, "level 2", "count"), 90);
    EXPECT_EQ(part(time, "memory", "count"), 10);
    // 3000 x 2 x 0.5 + 900 x 1 + 90 x 4 + 10 x 100 = 5260 ns
    EXPECT_DOUBLE_EQ(time["value"].get<double>(), 5260e-9);
    EXPECT_DOUBLE_EQ(time["cycles"].get<double>(), 10520);
    EXPECT_TRUE(time["translation"].is_null());
    EXPECT_EQ(time["unit"], "seconds");
    EXPECT_NE(level_times_table(times).find("10520 cycles"), std::string::npos);
}

TEST(time, foreseen_misses_wait_for_the_second_level) {
    auto counts = of_levels("levels:x", 1000, 64, {{32 << 10, 100}, {256 << 10, 50}, {1 << 20, 10}});
    for (const auto& [misses, foreseen] : {std::pair(100, 60), {50, 40}, {10, 4}}) {
        auto row = count_of("foreseen", "references", static_cast<std::uint64_t>(foreseen));
        for (auto at = counts.rows.begin(); at != counts.rows.end(); ++at) {
            if (std::string_view(at->metric) != "misses" || at->value != static_cast<std::uint64_t>(misses)) continue;
            counts.rows.insert(at + 1, row);
            break;
        }
    }
    const auto times = level_times_json({counts}, 0, without_pages(), 1);
    const auto& time = times[0];
    const double second = part(time, "level 2", "ns_each");
    EXPECT_EQ(part(time, "level 2", "count"), 50) << "foreseen or not";
    EXPECT_EQ(part(time, "level 3", "count"), 40 - 36);
    EXPECT_EQ(part(time, "level 3, foreseen", "count"), 40 - 4);
    EXPECT_EQ(part(time, "level 3, foreseen", "ns_each"), second);
    EXPECT_EQ(part(time, "memory", "count"), 10 - 4);
    EXPECT_EQ(part(time, "memory, foreseen", "count"), 4);
    EXPECT_EQ(part(time, "memory, foreseen", "ns_each"), second);
    EXPECT_DOUBLE_EQ(time["value"].get<double>(), (900 * part(time, "level 1", "ns_each") + (50 + 36 + 4) * second +
                                                   4 * part(time, "level 3", "ns_each") + 6 * 100) *
                                                      1e-9);
}

TEST(time, translation_adds_second_hits_and_walks) {
    const std::vector<simulator_counts> counts = {
        of_levels("tlb:page=2M,entries=32,ways=4", 1000, 2 << 20, {{64 << 20, 500}}),
        of_levels("tlb:entries=64/1024,ways=64/8", 1000, 4096, {{64 * 4096, 50}, {1024 * 4096, 5}}),
        of_levels("levels:x", 1000, 64, {{32 << 10, 0}})};
    const auto times = level_times_json(counts, 0, machine(), 1);
    ASSERT_EQ(times.size(), 1U);
    EXPECT_EQ(times[0]["translation"], "tlb:entries=64/1024,ways=64/8");
    EXPECT_EQ(part(times[0], "translation level 2", "count"), 45);
    EXPECT_EQ(part(times[0], "page walks", "count"), 5);
    EXPECT_DOUBLE_EQ(times[0]["value"].get<double>(), (1000 * 1 + 45 * 2 + 5 * 20) * 1e-9);
}

TEST(time, machine_is_described_as_a_hierarchy) {
    const std::vector<std::string> expected = {"levels:line=64,size=32768/1048576,ways=8/16",
                                               "tlb:page=4K,entries=64/1024,ways=64/8"};
    EXPECT_EQ(machine_descriptions(machine()), expected);
    machine_latencies odd = without_pages();
    odd.caches = {{1, 3 * 64 * 5, 8, 64}};  // 15 lines are no whole sets of 8 ways
    EXPECT_EQ(machine_descriptions(odd), std::vector<std::string>{"levels:line=64,size=960,ways=5"});
    odd.caches.clear();
    EXPECT_TRUE(machine_descriptions(odd).empty());
}

}  // namespace
