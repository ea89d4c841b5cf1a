// SPDX-License-Identifier: BSL-1.0
// Caches of every geometry and replacement against a model that processes one line after the other.
#include <gtest/gtest.h>

#include <random>

#include "counted.hpp"
#include "models.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using simulate::inclusion;
using simulate::line_walk;
using simulate::replacement;
using simulate::straddling;

struct tally {
    std::uint64_t references = 0, misses = 0;
};

tally of_model(const stream& all, std::uint64_t line_bytes, bool twice, model_cache cache) {
    tally found;
    walk(
        all, line_bytes, twice, [&](std::uint64_t line) { return cache.miss(line); },
        [&](std::uint64_t missed) {
            ++found.references;
            found.misses += missed;
        });
    return found;
}

// Returns random streams of several densities, and the hand-made one.
std::vector<stream> streams(std::size_t count = 2500) {
    std::mt19937_64 random(seed());
    return {random_stream(random, count, 300, 8), random_stream(random, count, 400, 32),
            random_stream(random, count, 2000, 64), random_stream(random, count, 50, 4096), hand_made_stream()};
}

TEST(direct_mapped, misses_are_those_of_the_model) {
    for (const stream& all : streams()) {
        for (const bool twice : {false, true}) {
            for (const std::uint64_t line : {4, 32, 64}) {
                const counted found(all, "direct:line=" + std::to_string(line) + ",size=64/128/192/512/1K/1536/16K",
                                    rules_with(0, twice));
                for (const std::uint64_t size : {64, 128, 192, 512, 1024, 1536, 16384}) {
                    const tally expected = of_model(all, line, twice, model_cache(size / line, 1));
                    ASSERT_EQ(found.sum("references"), expected.references);
                    ASSERT_EQ(found.sum("misses", [&](const auto& row) { return row.cache_bytes == size; }),
                              expected.misses)
                        << size << " bytes, lines of " << line;
                }
            }
        }
    }
}

// Checks all 56 caches in one pass of each instruction set.
void expect_family(const stream& all, bool twice) {
    std::vector<counted> passes;
    for (const std::uint8_t set : instruction_sets())
        passes.emplace_back(all, "lru:line=32,sets=1-64,ways=8", rules_with(set, twice));
    for (const std::uint64_t sets : {1, 2, 4, 8, 16, 32, 64}) {
        for (unsigned ways = 1; ways <= 8; ++ways) {
            const tally expected = of_model(all, 32, twice, model_cache(sets, ways));
            for (const counted& pass : passes) {
                ASSERT_EQ(pass.sum("references"), expected.references);
                ASSERT_EQ(pass.sum("misses", [&](const auto& row) { return row.sets == sets && row.ways == ways; }),
                          expected.misses)
                    << sets << " x " << ways << ", instruction set " << &pass - passes.data() + 1;
            }
        }
    }
}

TEST(lru_family, misses_of_every_geometry_are_those_of_the_model) {
    for (const stream& all : streams()) {
        for (const bool twice : {false, true}) expect_family(all, twice);
    }
}

TEST(lru_family, sets_of_many_ways_are_exact) {
    for (const stream& all : streams(1000)) {
        for (const std::uint8_t set : instruction_sets()) {
            const counted found(all, "lru:line=64,sets=2-8,ways=21", rules_with(set));
            for (const std::uint64_t sets : {2, 4, 8}) {
                for (const unsigned ways : {7u, 8u, 9u, 16u, 17u, 21u}) {
                    ASSERT_EQ(
                        found.sum("misses", [&](const auto& row) { return row.sets == sets && row.ways == ways; }),
                        of_model(all, 64, false, model_cache(sets, ways)).misses);
                }
            }
        }
    }
}

TEST(single_cache, stores_that_go_around_the_cache_bring_nothing_in) {
    for (const stream& all : streams()) {
        for (const unsigned ways : {1u, 2u}) {
            model_cache model(5, ways, replacement::fifo);
            std::uint64_t missed = 0;
            const line_walk lines(64, straddling::once);
            for (const millpond_reference& each : all) {
                bool misses = false;
                for (std::uint64_t line = lines.first(each); line <= lines.last(each); ++line) {
                    if (model.has(line)) continue;
                    misses = true;
                    if (each.kind != millpond_store) model.insert(line);
                }
                missed += misses;
            }
            const std::string shape = "size=" + std::to_string(64 * 5 * ways) + ",ways=" + std::to_string(ways);
            const counted around(all, ("fifo:line=64," + shape + ",write=around").c_str());
            EXPECT_EQ(around.sum("misses"), missed) << ways;
            EXPECT_EQ(around.sum("references"), all.size()) << ways;
        }
    }
}

TEST(single_cache, fifo_and_random_misses_are_those_of_the_model) {
    for (const stream& all : streams()) {
        for (const bool twice : {false, true}) {
            for (const unsigned ways : {1u, 3u, 8u}) {
                const std::string shape =
                    ":line=64,size=" + std::to_string(64 * 5 * ways) + ",ways=" + std::to_string(ways);
                const counted fifo(all, "fifo" + shape, rules_with(0, twice));
                const counted random(all, "random" + shape + ",seed=77", rules_with(0, twice));
                EXPECT_EQ(fifo.sum("misses"), of_model(all, 64, twice, model_cache(5, ways, replacement::fifo)).misses);
                EXPECT_EQ(random.sum("misses"),
                          of_model(all, 64, twice, model_cache(5, ways, replacement::random, 77)).misses);
            }
        }
    }
}

TEST(hierarchy, misses_of_each_level_are_those_of_the_model) {
    const std::pair<const char*, inclusion> rules[] = {{"inclusive", inclusion::inclusive},
                                                       {"exclusive", inclusion::exclusive},
                                                       {"independent", inclusion::independent}};
    for (const stream& all : streams()) {
        for (const auto& [name, rule] : rules) {
            for (const bool twice : {false, true}) {
                model_hierarchy model({model_cache(4, 2), model_cache(6, 3), model_cache(16, 4)}, rule);
                std::uint64_t misses[3] = {};
                walk(
                    all, 32, twice, [&](std::uint64_t line) { return model.touch(line); },
                    [&](std::uint64_t missed) {
                        for (std::uint64_t level = 0; level < missed; ++level) ++misses[level];
                    });
                const counted found(all, std::string("levels:line=32,size=256/576/2K,ways=2/3/4,inclusion=") + name,
                                    rules_with(0, twice));
                for (std::uint32_t level = 1; level <= 3; ++level)
                    ASSERT_EQ(found.sum("misses", [&](const auto& row) { return row.level == level; }),
                              misses[level - 1])
                        << name << ", level " << level;
            }
        }
    }
}

TEST(hierarchy, foreseen_misses_are_those_of_the_model) {
    for (const stream& all : streams()) {
        for (const bool twice : {false, true}) {
            model_hierarchy model({model_cache(4, 2), model_cache(6, 3)}, inclusion::independent);
            model_neighbours neighbours(32);
            std::uint64_t foreseen[2] = {}, misses = 0;
            bool is_foreseen = true;
            walk(
                all, 32, twice,
                [&](std::uint64_t line) {
                    const std::uint64_t missed = model.touch(line);
                    if (missed != 0) is_foreseen &= neighbours.foresees(line);
                    return missed;
                },
                [&](std::uint64_t missed) {
                    for (std::uint64_t level = 0; level < missed; ++level) foreseen[level] += is_foreseen;
                    misses += missed;
                    is_foreseen = true;
                });
            const counted found(all, "levels:line=32,size=256/576,ways=2/3", rules_with(0, twice));
            for (std::uint32_t level = 1; level <= 2; ++level)
                ASSERT_EQ(found.sum("foreseen", [&](const auto& row) { return row.level == level; }),
                          foreseen[level - 1])
                    << "level " << level;
            ASSERT_EQ(found.sum("misses"), misses) << "what is foreseen is a miss as before";
        }
    }
}

TEST(hierarchy, a_walk_misses_only_the_first_line_of_a_page_unforeseen) {
    stream up, down, apart;
    for (std::uint64_t line = 0; line < 640; ++line) {
        up.push_back(at(line * 64, 8));
        down.push_back(at((639 - line) * 64, 8));
        apart.push_back(at(line * 128, 8));
    }
    for (const stream& all : {up, down}) {
        const counted found(all, "levels:line=64,size=1K/8K,ways=2/4");
        EXPECT_EQ(found.sum("misses"), 2 * 640u);
        EXPECT_EQ(found.sum("foreseen"), 2 * (640 - 10u));
    }
    EXPECT_EQ(counted(apart, "levels:line=64,size=1K/8K,ways=2/4").sum("foreseen"), 0u);
    EXPECT_EQ(counted(up, "levels:line=4K,size=8K,ways=2").sum("foreseen"), 0u) << "no lines within a page";
}

TEST(hierarchy, translation_buffers_are_levels_of_pages) {
    std::mt19937_64 random(seed());
    const stream all = random_stream(random, 5000, 3000, 700);
    const counted found(all, "tlb:page=4K,entries=16/96,ways=4/6");
    model_hierarchy model({model_cache(4, 4), model_cache(16, 6)}, inclusion::independent);
    std::uint64_t walks = 0;
    walk(
        all, 4096, false, [&](std::uint64_t page) { return model.touch(page); },
        [&](std::uint64_t missed) { walks += missed == 2; });
    EXPECT_EQ(found.sum("misses", [](const auto& row) { return row.level == 2; }), walks);
    const counted huge(all, "tlb:page=2M,entries=4,ways=4");
    EXPECT_EQ(huge.sum("misses"), of_model(all, 2 << 20, false, model_cache(1, 4)).misses);
}

TEST(rules, modifications_are_one_reference_or_two) {
    const stream all = {at(0, 8, millpond_modify), at(62, 4, millpond_modify), at(64, 1, millpond_store)};
    const counted once(all, "direct:line=64,size=64"),
        twice(all, "direct:line=64,size=64", rules_of(&millpond_rules::modify_twice, 1));
    EXPECT_EQ(once.sum("references"), 3u);
    EXPECT_EQ(once.sum("misses"), 2u);  // 0; 64 behind the hit of line 0
    EXPECT_EQ(twice.sum("references"), 5u);
    EXPECT_EQ(twice.sum("misses"), 3u);  // the store of the second meets line 64 in the one place, and then line 0
}

TEST(rules, long_accesses_can_be_cut) {
    const stream all = {at(0, 512), at(100, 512)};
    EXPECT_EQ(counted(all, "direct:line=64,size=4K", rules_of(&millpond_rules::straddle_twice, 1)).sum("misses"), 10u);
    EXPECT_EQ(counted(all, "direct:line=64,size=4K",
                      rules_of(&millpond_rules::bytes_max, 64, &millpond_rules::straddle_twice, 1))
                  .sum("misses"),
              3u);
}

TEST(rules, flushes_come_after_so_many_references_or_instructions) {
    std::mt19937_64 random(seed());
    const stream all = random_stream(random, 3000, 100, 8);
    for (const std::uint64_t every : {1u, 7u, 1000u, 1024u, 5000u}) {
        model_cache model(8, 2);
        std::uint64_t misses = 0, taken = 0;
        for (const millpond_reference& r : all) {
            bool missed = false;
            for (const std::uint64_t line : lines_of(r, 32)) missed |= model.miss(line);
            misses += missed;
            if (++taken % every == 0) model.flush();
        }
        const millpond_rules rules = rules_of(&millpond_rules::flush_references, every);
        const auto two_ways = [](const auto& row) { return row.sets == 8 && row.ways == 2; };
        EXPECT_EQ(counted(all, "lru:line=32,sets=8,ways=2", rules).sum("misses", two_ways), misses);
        EXPECT_EQ(counted(all, "levels:line=32,size=512,ways=2", rules).sum("misses"), misses);

        const simulate::running_simulation simulation(rules_of(&millpond_rules::flush_instructions, every),
                                                      {"fifo:line=32,size=8K,ways=1"});
        for (std::uint64_t i = 0; i < 60; ++i) {
            const millpond_reference one = at(0);
            simulation.take({&one, 1, 3, false});
        }
        std::uint64_t found = 0;
        millpond_simulation_report(
            simulation.get(), 0,
            [](void* sum, const millpond_count* row) {
                if (std::string(row->metric) == "misses") *static_cast<std::uint64_t*>(sum) = row->value;
            },
            &found);
        std::uint64_t expected = 1;
        for (std::uint64_t batch = 1; batch < 60; ++batch) expected += 3 * batch / every != 3 * (batch - 1) / every;
        EXPECT_EQ(found, expected) << every;
    }
}

TEST(description, wrong_ones_are_refused_with_a_reason) {
    for (const char* const wrong : {"",
                                    "cache",
                                    "direct",
                                    "direct:",
                                    "direct:size=0",
                                    "direct:size=64,line=48",
                                    "direct:size=100,line=64",
                                    "direct:size=2K/1K",
                                    "direct:size=1K;line=64",
                                    "direct:size=99999999999999999999",
                                    "direct:size=4T",
                                    "lru:sets=3-8,ways=2",
                                    "lru:sets=8-4,ways=2",
                                    "lru:sets=1-8,ways=65",
                                    "lru:sets=1-8",
                                    "lru:sets=1G,ways=8",
                                    "fifo:size=1K",
                                    "fifo:size=1K,ways=3",
                                    "fifo:size=1K/2K,ways=1/1",
                                    "fifo:size=1K,ways=1,write=never",
                                    "direct:size=1K,write=around",
                                    "levels:size=1K/2K,ways=1",
                                    "levels:size=1K/2K/4K/8K/16K,ways=1/1/1/1/1",
                                    "levels:size=1K,ways=1,inclusion=some",
                                    "sampled:one_in=0",
                                    "distances:line=2G",
                                    "tlb:page=3K,entries=4,ways=1",
                                    "attributed:size=1K,ways=1,replacement=best",
                                    "attributed:size=1K,ways=1,split=maybe",
                                    "contents:size=1K,ways=1,split=no",
                                    "contents:size=1K"}) {
        EXPECT_THROW(counted({}, wrong), program::failure) << wrong;
    }
}

}  // namespace
}  // namespace millpond::test
