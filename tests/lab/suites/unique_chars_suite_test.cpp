// SPDX-License-Identifier: BSL-1.0
// The program of the talk's case studies: every contender finds the same counts and makes the heap requests that the
// talk implies.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "recorded_blocks.hpp"
#include "suite_rounds.hpp"

namespace {

using millpond::test::block;
using millpond::test::more_in;
using millpond::test::of_size;
using nlohmann::json;

const millpond::test::suite_rounds suite(UNIQUE_CHARS_SUITE);
const std::string workload = "unique_characters";
constexpr std::uint64_t set_node_bytes = 40;
constexpr std::uint64_t unordered_node_bytes = 16;

std::vector<block> recorded(const std::string& strategy, const std::string& more) {
    return millpond::test::recorded(RECORD_PROGRAM, UNIQUE_CHARS_SUITE
                                                        " --workload unique_characters --seed 5 --contender '" +
                                                        strategy + "'" + more);
}

std::int64_t checksum(const json& line) { return std::stoll(line["checksum"].get<std::string>()); }

TEST(unique_chars_suite, every_contender_counts_the_same) {
    for (const std::string length : {"1", "16", "255", "3000"}) {
        suite.expect_same_work(workload, " --calls 33 --length " + length, 33);
    }
    // One string that is longer than all others together.
    suite.expect_same_work(workload, " --calls 2 --length 70000", 2);
}

TEST(unique_chars_suite, a_count_is_what_a_string_can_have) {
    EXPECT_EQ(checksum(suite.round(workload, "1.1", " --calls 100 --length 1")), 100);
    EXPECT_EQ(checksum(suite.round(workload, "4A", " --calls 3 --length 65536")), 3 * 256);
    const auto some = checksum(suite.round(workload, "4", " --calls 200 --length 256"));
    EXPECT_GT(some, 200 * 140);  // 162 are expected of 256
    EXPECT_LT(some, 200 * 180);
    EXPECT_NE(suite.round(workload, "4", " --calls 50 --seed 8")["checksum"],
              suite.round(workload, "4", " --calls 50")["checksum"]);
}

TEST(unique_chars_suite, the_talks_numbers_are_names_too) {
    suite.expect_aliases(workload, " --calls 2 --length 9",
                         {{"1.1", "set:new_delete:type:destroy"},
                          {"1.2", "set:pmr_monotonic:base:destroy"},
                          {"1.3", "set:pmr_monotonic(buffer):base:destroy"},
                          {"2.1", "unordered_set:new_delete:type:destroy"},
                          {"2.2", "unordered_set:pmr_monotonic:base:destroy"},
                          {"4", "bitset"},
                          {"4A", "array"}});
}

TEST(unique_chars_suite, figures_of_a_round_are_there) {
    const json line = suite.round(workload, "set:multipool:type:destroy", " --length 64 --calls 5000");
    EXPECT_EQ(line["schema"], "millpond.suite/2");
    EXPECT_EQ(line["parameters"]["length"], 64);
    for (const std::string name : {"cpu_seconds", "wall_seconds", "held_bytes"}) EXPECT_GT(line[name], 0) << name;
    for (const std::string name : {"page_faults", "peak_bytes", "end_bytes"}) EXPECT_GE(line[name], 0) << name;
    EXPECT_TRUE(suite.round(workload, "1.1", " --calls 2")["held_bytes"].is_null());
}

TEST(unique_chars_suite, a_littered_heap_changes_no_count) {
    for (const std::string strategy : {"1.1", "1.2", "2.1", "set:monotonic:type:wink"}) {
        const json plain = suite.round(workload, strategy, " --calls 20");
        for (const std::string fraction : {"0.3", "1"}) {
            const json littered = suite.round(workload, strategy, " --calls 20 --litter_calls 9 --litter " + fraction);
            EXPECT_EQ(littered["checksum"], plain["checksum"]) << strategy;
            EXPECT_EQ(littered["units"], plain["units"]) << strategy;
        }
    }
}

TEST(unique_chars_suite, a_picture_shows_which_lines_of_the_littered_heap_are_held) {
    std::map<std::string, double> held;
    for (const std::string fraction : {"0.1", "0.9", "1"}) {
        const json line = suite.round(workload, "1.1", " --calls 2 --litter " + fraction + " --picture-heap");
        std::size_t lines = 0;
        for (const auto& [name, value] : line.items()) {
            if (!name.starts_with("heap_taken:")) continue;
            ++lines;
            EXPECT_GE(value.get<double>(), 0.0) << name;
            EXPECT_LE(value.get<double>(), 1.0) << name;
            held[fraction] += value.get<double>();
        }
        EXPECT_EQ(lines, 1024u);
    }
    EXPECT_GT(held["0.1"], held["0.9"]);
    EXPECT_EQ(held["1"], 0.0);
    EXPECT_FALSE(suite.round(workload, "1.1", " --calls 2 --litter 0.5").contains("heap_taken:0"));
}

TEST(unique_chars_suite, wrong_usage_is_refused_with_the_known_names) {
    const std::string with = "--workload unique_characters --contender ";
    suite.expect_refused({
        {"--workload characters --contender 1.1", "unique_characters"},
        {with + "3", "set:pmr_monotonic(buffer):base:destroy"},
        {with + "1.1 --size 3", "length, calls, litter_calls, seed"},
        {with + "1.1 --length 0", "from 1 to"},
        {with + "1.1 --calls many", "whole number"},
        {with + "1.1 --litter 2", "above 0 and at most 1"},
        {with + "1.1 --picture-heap", "--picture-heap shows the heap that --litter leaves"},
        {"--workload unique_characters", "--list"},
    });
}

// 1.1: k different characters take k nodes, each freed before the next string.
TEST(unique_chars_allocations, a_set_is_a_node_for_each_character) {
    const json one = suite.round(workload, "1.1", " --seed 5 --calls 1 --length 100");
    const json two = suite.round(workload, "1.1", " --seed 5 --calls 2 --length 100");
    const auto twice = recorded("1.1", " --calls 2 --length 100");
    EXPECT_EQ(more_in(twice, recorded("1.1", " --calls 1 --length 100")),
              (std::map<std::uint64_t, std::int64_t>{{set_node_bytes, checksum(two) - checksum(one)}}));
    for (const block& each : of_size(twice, set_node_bytes, set_node_bytes)) EXPECT_TRUE(each.end);
}

// 2.1: the same with nodes of 16 bytes, and a larger array of buckets whenever there are more characters than buckets.
TEST(unique_chars_allocations, an_unordered_set_is_a_node_per_character_and_bucket_arrays) {
    const json one = suite.round(workload, "2.1", " --seed 5 --calls 1 --length 100");
    const json two = suite.round(workload, "2.1", " --seed 5 --calls 2 --length 100");
    auto more = more_in(recorded("2.1", " --calls 2 --length 100"), recorded("2.1", " --calls 1 --length 100"));
    const std::int64_t more_characters = checksum(two) - checksum(one);
    EXPECT_EQ(more[unordered_node_bytes], more_characters);
    more.erase(unordered_node_bytes);
    ASSERT_FALSE(more.empty());
    for (const auto& [bytes, count] : more) {
        EXPECT_EQ(count, 1) << bytes;
        EXPECT_EQ(bytes % sizeof(void*), 0u);
    }
    EXPECT_GE(more.rbegin()->first, static_cast<std::uint64_t>(more_characters) * sizeof(void*));
}

TEST(unique_chars_allocations, stack_contenders_ask_the_heap_for_nothing) {
    for (const std::string strategy : {"1.3", "4", "4A", "set:monotonic(buffer):type:destroy",
                                       "set:monotonic(buffer):type:wink", "set:monotonic(buffer):base:destroy"}) {
        const std::string all = " --length 65536 --calls ";
        EXPECT_TRUE(more_in(recorded(strategy, all + "9"), recorded(strategy, all + "1")).empty()) << strategy;
    }
}

TEST(unique_chars_allocations, a_monotonic_asks_for_few_growing_chunks) {
    const auto more = more_in(recorded("1.2", " --length 65536 --calls 2"), recorded("1.2",
                                                                                     " --length 65536"
                                                                                     " --calls 1"));
    std::int64_t chunks = 0;
    std::uint64_t bytes = 0;
    for (const auto& [size, count] : more) {
        EXPECT_EQ(count, 1) << size;
        ++chunks;
        bytes += size;
    }
    EXPECT_GE(chunks, 3);
    EXPECT_LE(chunks, 12);
    EXPECT_GE(bytes, 256 * set_node_bytes);
    // Our chunks are kept from call to call.
    EXPECT_TRUE(more_in(recorded("set:monotonic:type:destroy", " --length 65536 --calls 9"),
                        recorded("set:monotonic:type:destroy", " --length 65536 --calls 1"))
                    .empty());
}

// Nodes of both kinds of set are noted and held.
TEST(unique_chars_allocations, littering_holds_back_the_nodes_of_the_talks_sets) {
    const std::string small = " --calls 1 --length 65536 --litter_calls 2";
    const auto littered = recorded("4", small + " --litter 0.5");
    const auto more = more_in(littered, recorded("4", small));
    EXPECT_EQ(more.at(set_node_bytes), 2 * 256);
    EXPECT_EQ(more.at(unordered_node_bytes), 2 * 256);
    EXPECT_GE(millpond::test::most_live(of_size(littered, set_node_bytes, set_node_bytes)), 256u);
}

}  // namespace
