// SPDX-License-Identifier: BSL-1.0
// Figures of pages: samples of a survey, the map of addresses, and the objects that pin pages.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "lab/characterise/address_map.hpp"
#include "lab/characterise/page_survey.hpp"
#include "lab/characterise/pinned_pages.hpp"
#include "tests/lab/trace/seed.hpp"
#include "tests/unit/support/scale.hpp"

namespace millpond::characterise {
namespace {

struct object {
    std::uint32_t subsystem;
    std::uint64_t address, bytes;
};

std::vector<object> random_objects(std::mt19937_64& random, std::size_t count, std::uint32_t subsystems) {
    std::vector<object> all;
    for (std::uint64_t at = 0x7f0000000000; all.size() < count; at += random() % 8 * 16) {
        all.push_back({static_cast<std::uint32_t>(random() % subsystems), at, 16 + random() % 200});
        at += all.back().bytes;
    }
    return all;
}

page_survey survey_of(const std::vector<object>& objects, std::size_t subsystems, unsigned sample_log2 = 0) {
    page_survey survey;
    survey.start(subsystems, 0, sample_log2);
    for (const object& o : objects) survey.add(o.subsystem, o.address, o.bytes);
    survey.finish();
    return survey;
}

using pairs = std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t>;

pairs pairs_of(const page_survey& survey) {
    pairs found;
    survey.for_each([&](std::uint32_t s, std::uint64_t page, std::uint64_t bytes) { found[{s, page}] += bytes; });
    return found;
}

pairs literal_pairs(const std::vector<object>& objects) {
    pairs all;
    for (const object& o : objects) {
        for (std::uint64_t at = o.address; at < o.address + o.bytes; ++at) ++all[{o.subsystem, at >> 12}];
    }
    return all;
}

TEST(page_survey, knows_the_bytes_of_each_pair) {
    std::mt19937_64 random(test::seed());
    const std::vector<object> objects = random_objects(random, 3000, 5);
    EXPECT_EQ(pairs_of(survey_of(objects, 5)), literal_pairs(objects));
}

TEST(page_survey, samples_whole_pages_and_ever_fewer_of_the_same) {
    std::mt19937_64 random(test::seed());
    const std::vector<object> objects = random_objects(random, 20'000, 3);
    pairs before = pairs_of(survey_of(objects, 3));
    for (unsigned sample_log2 = 1; sample_log2 < 5; ++sample_log2) {
        const page_survey survey = survey_of(objects, 3, sample_log2);
        const pairs sampled = pairs_of(survey);
        for (const auto& [pair, bytes] : sampled) {
            ASSERT_TRUE(before.contains(pair));
            ASSERT_EQ(before[pair], bytes);
        }
        for (const auto& [pair, bytes] : before)
            ASSERT_EQ(sampled.contains(pair), page_survey::sampled(pair.second, sample_log2));
        before = sampled;
        for (const object& o : objects) {
            ASSERT_TRUE(survey.wants(o.address, o.bytes) || !sampled.contains({o.subsystem, o.address >> 12}));
        }
    }
}

TEST(page_survey, survives_addresses_that_no_program_has) {
    page_survey survey;
    survey.start(2, 0);
    for (const std::uint64_t address : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 57}) {
        survey.add(0, address, 1);
        survey.add(1, address, 1 << 20);
    }
    survey.finish();
    survey.for_each([](std::uint32_t s, std::uint64_t, std::uint64_t) { EXPECT_LT(s, 2u); });
}

// Estimates from every n-th of many pages; the estimate must lie within the range of chance.
TEST(page_survey, estimates_pages_from_a_sample) {
    std::mt19937_64 random(test::seed());
    const std::vector<object> objects = random_objects(random, 200'000, 2);
    const page_survey whole = survey_of(objects, 2), sample = survey_of(objects, 2, 3);
    for (std::uint32_t s = 0; s < 2; ++s) {
        const auto pages = static_cast<double>(whole.bytes(s) >> 12);
        // Five standard deviations of a binomial with p = 1/8, scaled up by 8.
        EXPECT_NEAR(static_cast<double>(sample.bytes(s) >> 12), pages, 8 * 5 * std::sqrt(pages * 7 / 64)) << s;
    }
}

TEST(address_map, gives_each_cell_to_the_subsystem_with_most_of_it) {
    std::mt19937_64 random(test::seed());
    address_map map;
    std::vector<std::vector<object>> moments;
    for (int i = 0; i < 5; ++i) {
        moments.push_back(random_objects(random, (2000 + random() % 3000) / test::scaled(1, 5), 4));
        map.add(survey_of(moments.back(), 4), static_cast<std::uint64_t>(i), 1000);
    }
    const auto json =
        map.to_json([](std::uint64_t tick) { return static_cast<double>(tick); }, [](std::uint32_t s) { return s; });
    ASSERT_EQ(json["columns"].size(), moments.size());
    const auto granule = json["granule_bytes"].get<std::uint64_t>();
    const std::uint64_t first = 0x7f0000000000 / granule;
    std::uint64_t past = 0;
    for (const auto& row : json["rows"]) {
        EXPECT_EQ(row["offset_bytes"].get<std::uint64_t>(), past + row["gap_bytes"].get<std::uint64_t>());
        past = row["offset_bytes"].get<std::uint64_t>() + row["bytes"].get<std::uint64_t>();
    }
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (const auto& cell : json["cells"]) {
        const auto row = cell[0].get<std::size_t>(), column = cell[1].get<std::size_t>();
        ASSERT_TRUE(seen.insert({row, column}).second);
        const std::uint64_t from = first * granule + json["rows"][row]["offset_bytes"].get<std::uint64_t>();
        const std::uint64_t to = from + json["rows"][row]["bytes"].get<std::uint64_t>();
        std::map<std::uint32_t, std::uint64_t> pages;
        std::uint64_t total = 0;
        for (const auto& [pair, bytes] : literal_pairs(moments[column])) {
            if (pair.second << 12 < from || pair.second << 12 >= to) continue;
            ++pages[pair.first];
            ++total;
        }
        const auto subsystem = cell[2].get<std::uint32_t>();
        for (const auto& [s, count] : pages) EXPECT_LE(count, pages[subsystem]);
        EXPECT_NEAR(cell[3].get<double>() * static_cast<double>(total), static_cast<double>(pages[subsystem]),
                    0.0006 * static_cast<double>(total));
    }
}

TEST(address_map, is_empty_without_pages) {
    const auto seconds = [](std::uint64_t) { return 0.0; };
    EXPECT_TRUE(address_map().to_json(seconds, [](std::uint32_t s) { return s; }).is_null());
}

TEST(pinning, shares_dead_bytes_out_among_the_survivors_of_their_page) {
    std::mt19937_64 random(test::seed());
    for (int round = 0; round < test::scaled(20, 5); ++round) {
        constexpr std::uint32_t subsystems = 3;
        const std::vector<object> peak = random_objects(random, 1500, subsystems);
        std::vector<object> later;
        for (const object& o : peak) {
            if (random() % 10 == 0) later.push_back(o);
        }
        pinned_pages found;
        found.add(survey_of({peak.begin(), peak.begin() + 100}, subsystems), 1, 100);
        found.add(survey_of(peak, subsystems), 2, 1000);
        found.add(survey_of(later, subsystems), 3, 100);
        std::map<std::pair<std::uint32_t, std::uint32_t>, double> expected;
        const pairs then = literal_pairs(peak), now = literal_pairs(later);
        std::map<std::uint64_t, std::uint64_t> living;
        for (const auto& [pair, bytes] : now) living[pair.second] += bytes;
        for (const auto& [holder, bytes] : then) {
            const auto kept = now.find(holder);
            const auto dead = static_cast<double>(bytes - (kept != now.end() ? kept->second : 0));
            for (std::uint32_t by = 0; by < subsystems && dead > 0; ++by) {
                const auto survivor = now.find({by, holder.second});
                if (survivor != now.end())
                    expected[{by, holder.first}] +=
                        dead * static_cast<double>(survivor->second) / static_cast<double>(living[holder.second]);
            }
        }
        ASSERT_EQ(found.pairs().size(), expected.size());
        for (const pinned_pair& pair : found.pairs())
            EXPECT_NEAR(pair.bytes, (expected[{pair.by, pair.of}]), 1e-6 * pair.bytes);
        EXPECT_EQ(found.peak_tick(), 2u);
        EXPECT_EQ(found.later_tick(), 3u);
    }
}

TEST(pinning, needs_a_moment_behind_the_peak) {
    std::mt19937_64 random(test::seed());
    pinned_pages found;
    EXPECT_TRUE(found.pairs().empty());
    found.add(survey_of(random_objects(random, 100, 2), 2), 1, 5);
    found.add(survey_of(random_objects(random, 100, 2), 2), 2, 6);
    EXPECT_TRUE(found.pairs().empty());
}

}  // namespace
}  // namespace millpond::characterise
