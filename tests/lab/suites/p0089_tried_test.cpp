// SPDX-License-Identifier: BSL-1.0
// Variants that examine the causes of P0089R0's anomalies differ from the usual benchmark only in the stated property.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "suite_rounds.hpp"

namespace {

using nlohmann::json;

const millpond::test::suite_rounds rounds(P0089_SUITE);

// The outer vector takes one more block when it grows, and its containers take theirs again when they are copied.
TEST(p0089_tried, blocks_are_those_of_one_structure) {
    const auto blocks = [](const std::string& strategy, int ds, int short_by) -> std::uint64_t {
        const json line = rounds.round("structures", strategy,
                                       " --log2_size 4 --log2_leaves 12 --counted 1 --ds " + std::to_string(ds) +
                                           " --short_by " + std::to_string(short_by));
        return line["blocks_each"].get<std::uint64_t>();
    };
    for (const std::string strategy : {"AS2", "AS9", "AS10", "multipool:base_copied:destroy"}) {
        EXPECT_EQ(blocks(strategy, 5, 0), 1 + 16u);
        EXPECT_EQ(blocks(strategy, 6, 0), 1 + 16u + 16u * 128);
    }
    EXPECT_EQ(blocks("AS9", 5, 1), 2 + 16u);
    EXPECT_EQ(blocks("multipool:base_copied:destroy", 5, 1), 2 + 16u + 15);
    EXPECT_EQ(blocks("multipool:base_copied:wink", 6, 1), 2 + (16u + 15) * 129);
    EXPECT_EQ(blocks("multipool:base_copied:destroy", 8, 0), blocks("AS9", 8, 0));
    const json by_type = rounds.round("structures", "AS7", " --ds 5 --log2_size 2 --log2_leaves 9 --counted 1");
    EXPECT_TRUE(by_type["blocks_each"].is_null());
}

// A list with as many links as at first is visited equally often by links and by lists; before shuffling, all lists
// are.
TEST(p0089_tried, visits_by_links_are_the_same_work_until_lists_are_shuffled) {
    const std::string small = " --log2_g 8 --log2_s 3 --af 3 --rf 2 --sf -2 --walk ";
    const json lists = rounds.round("locality", "AS1", small + "lists");
    for (const std::string walk : {"links", "links_unbranched"}) {
        for (const std::string more : {"", " --chained 1", " --subtracted 1"}) {
            const json links = rounds.round("locality", "AS1", small + walk + more);
            EXPECT_EQ(links["checksum"], lists["checksum"]) << walk << more;
            EXPECT_EQ(links["units"], lists["units"]) << walk << more;
        }
    }
}

// Empty lists have nothing to visit, and both ways by links visit the same lists.
TEST(p0089_tried, visits_by_links_pass_over_empty_lists) {
    const std::string small = " --log2_g 8 --log2_s 0 --af 2 --rf 2 --sf 3 --walk ";
    const json links = rounds.round("locality", "AS1", small + "links");
    const std::uint64_t units = links["units"];
    EXPECT_LT(units, 2u * 2 * 256);
    EXPECT_GT(units, 2u * 2 * 64);
    rounds.expect_same_work("locality", small + "links_unbranched --chained 1", units);
    EXPECT_EQ(rounds.round("locality", "AS1", small + "links_unbranched")["checksum"], links["checksum"]);
    EXPECT_NE(rounds.round("locality", "AS1", small + "lists")["checksum"], links["checksum"]);
}

}  // namespace
