// SPDX-License-Identifier: BSL-1.0
// The heap requests of the benchmarks of P0089R0 under AS1, as our recorder saw them, match the paper.
//
//   millpond-record -o FILE -- millpond-p0089-suite … ──▶ blocks: size, when allocated and freed, by which thread
//
// The program's own bookkeeping is in the trace, too. Blocks of a benchmark are recognised by unique sizes, or by the
// difference that one more structure, or one more shuffle, makes in the trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "recorded_blocks.hpp"

namespace {

using millpond::test::block;
using millpond::test::more_in;
using millpond::test::most_live;
using millpond::test::of_size;

std::vector<block> recorded(const std::string& point) {
    const std::string no_cold_life = point.starts_with("structures") ? " --cold 0" : "";
    return millpond::test::recorded(RECORD_PROGRAM,
                                    P0089_SUITE " --contender AS1 --seed 5 --workload " + point + no_cold_life);
}

// Returns the blocks that were allocated and freed during the life of `life`.
std::vector<block> within(const std::vector<block>& all, const block& life) {
    std::vector<block> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const block& each) {
        return each.begin > life.begin && life.end && each.begin < *life.end && each.end && *each.end < *life.end;
    });
    return found;
}

TEST(p0089_allocations, a_vector_of_numbers_is_one_allocation) {
    const auto blocks = recorded("structures --ds 1 --log2_size 9 --log2_leaves 12");
    const auto structures = of_size(blocks, 4 << 9, 4 << 9);
    ASSERT_EQ(structures.size(), 8u);
    for (std::size_t i = 0; i < structures.size(); ++i) {
        ASSERT_TRUE(structures[i].end);
        EXPECT_EQ(*structures[i].end, structures[i].begin + 1) << "something was allocated in between";
        if (i == 0) continue;
        EXPECT_EQ(structures[i].begin, *structures[i - 1].end + 1);
    }
}

TEST(p0089_allocations, a_vector_of_texts_is_one_and_one_for_each) {
    for (const std::uint64_t most : {1000, 100}) {
        const auto blocks =
            recorded("structures --ds 2 --log2_size 6 --log2_leaves 8 --text_most " + std::to_string(most));
        const auto structures = of_size(blocks, sizeof(std::string) << 6, sizeof(std::string) << 6);
        ASSERT_EQ(structures.size(), 4u);
        std::set<std::uint64_t> sizes;
        for (const block& each : structures) {
            const auto texts = within(blocks, each);
            EXPECT_EQ(texts.size(), 64u);
            for (const block& text : texts) sizes.insert(text.bytes);
        }
        EXPECT_GE(*sizes.begin(), 34u);
        EXPECT_LE(*sizes.rbegin(), most + 1);
        EXPECT_GE(*sizes.rbegin(), most - most / 10);  // of 256 texts none above nine tenths: one in 10^11 seeds
        EXPECT_GE(sizes.size(), 40u);
    }
}

TEST(p0089_allocations, a_set_of_numbers_is_a_node_for_each_and_buckets) {
    constexpr std::uint64_t node_bytes = 16;
    const auto counts = more_in(recorded("structures --ds 3 --log2_size 7 --log2_leaves 8"),
                                recorded("structures --ds 3 --log2_size 7 --log2_leaves 7"));
    ASSERT_TRUE(counts.contains(node_bytes));
    EXPECT_EQ(counts.at(node_bytes), 128);
    ASSERT_GE(counts.size(), 2u);
    for (const auto& [bytes, count] : counts) {
        if (bytes == node_bytes) continue;
        EXPECT_EQ(count, 1) << bytes;
        EXPECT_EQ(bytes % sizeof(void*), 0u);
    }
    EXPECT_GE(counts.rbegin()->first, 128 * sizeof(void*));
}

TEST(p0089_allocations, a_set_of_texts_is_a_node_and_a_text_for_each) {
    constexpr std::uint64_t node_bytes = 8 + sizeof(std::string) + 8;  // next, text, its hash
    const auto one = recorded("structures --ds 4 --log2_size 7 --log2_leaves 7");
    const auto two = recorded("structures --ds 4 --log2_size 7 --log2_leaves 8");
    EXPECT_EQ(of_size(two, node_bytes, node_bytes).size(), of_size(one, node_bytes, node_bytes).size() + 128);
    // Nodes and texts of one structure, and five or so of its growing buckets, to which the smallest texts compare.
    const std::size_t more = of_size(two, 34, 1001).size() - of_size(one, 34, 1001).size();
    EXPECT_GE(more, 256u - 8);
    EXPECT_LE(more, 256u + 8);
}

TEST(p0089_allocations, nested_vectors_have_128_leaves_each) {
    const auto numbers = recorded("structures --ds 5 --log2_size 5 --log2_leaves 13");
    const auto outer = of_size(numbers, 24 << 5, 24 << 5);
    ASSERT_EQ(outer.size(), 2u);
    for (const block& each : outer) {
        const auto inner = within(numbers, each);
        EXPECT_EQ(inner.size(), 32u);
        EXPECT_EQ(of_size(inner, 128 * 4, 128 * 4).size(), 32u);
    }
    const auto texts = recorded("structures --ds 6 --log2_size 5 --log2_leaves 12");
    const auto outer_of_texts = of_size(texts, 24 << 5, 24 << 5);
    const auto whole = std::find_if(outer_of_texts.begin(), outer_of_texts.end(),
                                    [&](const block& each) { return !within(texts, each).empty(); });
    ASSERT_NE(whole, outer_of_texts.end());
    EXPECT_EQ(within(texts, *whole).size(), 32u + 32 * 128);
}

// Every inner container is made once and moved into its set.
TEST(p0089_allocations, sets_of_vectors_copy_none_of_them) {
    const auto counts = more_in(recorded("structures --ds 9 --log2_size 5 --log2_leaves 13"),
                                recorded("structures --ds 9 --log2_size 5 --log2_leaves 12"));
    EXPECT_EQ(counts.at(128 * 4), 32);
    EXPECT_EQ(counts.at(8 + 24 + 8), 32);  // next, vector, its hash
}

TEST(p0089_allocations, a_list_is_one_node_per_link_and_a_shuffle_reallocates_it) {
    constexpr std::uint64_t link_bytes = 24;
    const std::string unshuffled = "locality --sf 0 --rf 1 --af 1";
    const auto links =
        more_in(recorded(unshuffled + " --log2_g 9 --log2_s 5"), recorded(unshuffled + " --log2_g 8 --log2_s 4"));
    EXPECT_EQ(links, (std::map<std::uint64_t, std::int64_t>{{link_bytes, 256}}));

    const std::string small = "locality --log2_g 8 --log2_s 4 --sf ";
    const auto twice = recorded(small + "2");
    const auto pairs = more_in(twice, recorded(small + "1"));
    EXPECT_EQ(pairs, (std::map<std::uint64_t, std::int64_t>{{link_bytes, 256}}));
    // A subsystem is a list's handle, as large as a link; and there are books of the program.
    EXPECT_LE(most_live(of_size(twice, link_bytes, link_bytes)), 256u + 16 + 16);
    // Visits before the shuffle have no heap events. With links, only one of the two reports a shuffle.
    const auto links_of = [&](const std::string& shuffles) {
        return of_size(recorded(small + shuffles), link_bytes, link_bytes).size();
    };
    EXPECT_EQ(links_of("-9"), links_of("0"));
    // More visits ask for nothing.
    EXPECT_TRUE(
        more_in(recorded("locality --log2_g 8 --log2_s 4 --rf 9"), recorded("locality --log2_g 8 --log2_s 4 --rf 3"))
            .empty());
}

TEST(p0089_allocations, utilization_allocates_t_and_holds_a) {
    constexpr std::uint64_t bytes = 1 << 14;
    const std::string sizes = " --log2_t 21 --log2_a 18 --log2_s 14";
    for (const std::string order : {"fifo", "lifo", "random"}) {
        const auto blocks = of_size(recorded("utilization --order " + order + sizes), bytes, bytes);
        ASSERT_EQ(blocks.size(), 128u);
        EXPECT_EQ(most_live(blocks), 16u);
        std::size_t in_turn = 0;
        std::size_t newest = 0;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            ASSERT_TRUE(blocks[i].end);
            in_turn += i + 1 == blocks.size() || *blocks[i].end < *blocks[i + 1].end;
            newest += *blocks[i].end == blocks[i].begin + 1;
        }
        EXPECT_EQ(in_turn == blocks.size(), order == "fifo") << order;
        EXPECT_EQ(newest >= 112, order == "lifo") << order;
    }
    const auto mixed = of_size(recorded("utilization --sizes mixed" + sizes), bytes / 2, bytes);
    EXPECT_EQ(mixed.size(), 128u);
    EXPECT_EQ(most_live(mixed), 16u);
    std::set<std::uint64_t> different;
    for (const block& each : mixed) different.insert(each.bytes);
    EXPECT_GE(different.size(), 100u);
}

TEST(p0089_allocations, contention_is_n_pairs_for_each_thread) {
    constexpr std::uint64_t bytes = 1 << 14;
    for (const std::string sharing : {"private", "shared", "handover"}) {
        const auto blocks =
            of_size(recorded("contention --log2_n 7 --log2_s 14 --threads 3 --sharing " + sharing), bytes, bytes);
        std::map<std::uint32_t, std::size_t> of_thread;
        std::map<std::uint32_t, std::set<std::uint32_t>> freed_by;
        for (const block& each : blocks) {
            ASSERT_TRUE(each.end);
            ++of_thread[each.thread];
            freed_by[each.thread].insert(each.freed_by);
        }
        ASSERT_EQ(of_thread.size(), 3u) << sharing;
        std::set<std::uint32_t> receivers;
        for (const auto& [thread, count] : of_thread) {
            EXPECT_EQ(count, 128u) << sharing;
            ASSERT_EQ(freed_by[thread].size(), 1u) << sharing;
            const std::uint32_t by = *freed_by[thread].begin();
            EXPECT_EQ(by == thread, sharing != "handover");
            receivers.insert(by);
        }
        EXPECT_EQ(receivers.size(), 3u) << sharing;
    }
}

// The suite's own counts match the heap: inner vectors have a unique size and exist twice, except the last one, which
// makes the outer vector grow.
TEST(p0089_allocations, blocks_of_one_structure_are_counted_as_recorded) {
    const auto inner_vectors = [](const std::string& binding, int counted) {
        const std::string round =
            P0089_SUITE " --workload structures --ds 5 --log2_size 4 --log2_leaves 11 --short_by 1";
        const auto all = millpond::test::recorded(RECORD_PROGRAM, round + " --contender multipool:" + binding +
                                                                      ":destroy --counted " + std::to_string(counted));
        return of_size(all, 4 << 7, 4 << 7).size();
    };
    for (const auto& [binding, times] : std::map<std::string, std::size_t>{{"base", 16}, {"base_copied", 16 + 15}}) {
        EXPECT_EQ(inner_vectors(binding, 1), inner_vectors(binding, 0) + times) << binding;
    }
}

// The workload runs once to note, once to hold back, and once measured; a quarter of the held blocks is freed before
// the measured run begins.
TEST(p0089_allocations, littering_holds_back_what_the_workload_asks_for) {
    constexpr std::uint64_t bytes = 1 << 14;
    const auto blocks =
        of_size(recorded("utilization --log2_t 20 --log2_a 18 --log2_s 14 --litter 0.25"), bytes, bytes);
    ASSERT_EQ(blocks.size(), 3 * 64u);
    const auto held = std::vector<block>(blocks.begin() + 64, blocks.begin() + 128);
    EXPECT_EQ(most_live(held), 64u);
    EXPECT_EQ(std::count_if(held.begin(), held.end(), [&](const block& each) { return *each.end < blocks[128].begin; }),
              16);
    EXPECT_GE(blocks[64].begin, *blocks[63].end);
}

}  // namespace
