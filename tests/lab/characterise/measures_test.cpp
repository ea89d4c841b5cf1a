// SPDX-License-Identifier: BSL-1.0
// The measures of a characterisation, each on cases computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "lab/characterise/dvluc.hpp"
#include "lab/characterise/event_counts.hpp"
#include "lab/characterise/histogram.hpp"
#include "lab/characterise/operation_durations.hpp"
#include "lab/characterise/page_survey.hpp"
#include "lab/characterise/size_class.hpp"
#include "lab/characterise/thread_clock.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::characterise {
namespace {

using counts = std::vector<std::uint64_t>;

TEST(entropy, is_that_of_the_shares) {
    EXPECT_DOUBLE_EQ(entropy(counts{}), 0);
    EXPECT_DOUBLE_EQ(entropy(counts{7}), 0);
    EXPECT_DOUBLE_EQ(entropy(counts{0, 9, 0}), 0);
    EXPECT_NEAR(std::exp(entropy(counts{5, 5, 0, 5, 5})), 4, 1e-12);
    EXPECT_NEAR(entropy(counts{1, 3}), -(0.25 * std::log(0.25) + 0.75 * std::log(0.75)), 1e-12);
}

TEST(variation, is_zero_for_one_size_and_nears_one_for_many) {
    EXPECT_DOUBLE_EQ(variation(0), 0);
    EXPECT_NEAR(variation(std::log(2)), 0.5, 1e-12);
    EXPECT_NEAR(variation(std::log(100)), 0.99, 1e-12);
}

TEST(contention, counts_moments_with_two_or_more) {
    // Both always inside: two at once, all the time, of two threads.
    EXPECT_DOUBLE_EQ(contention(std::vector<double>{1, 1}), 1);
    // Each half of the time: a quarter of the moments have both.
    EXPECT_NEAR(threads_inside_at_once(std::vector<double>{0.5, 0.5}), 0.5, 1e-12);
    EXPECT_NEAR(contention(std::vector<double>{0.5, 0.5}), 0.25, 1e-12);
    // Three of one half: 3/8 · 2 + 1/8 · 3 = 9/8, of three threads.
    EXPECT_NEAR(contention(std::vector<double>{0.5, 0.5, 0.5}), 0.375, 1e-12);
}

TEST(contention, is_zero_if_only_one_thread_allocates) {
    EXPECT_DOUBLE_EQ(contention(std::vector<double>{}), 0);
    EXPECT_DOUBLE_EQ(contention(std::vector<double>{1}), 0);
    EXPECT_NEAR(contention(std::vector<double>{0.9, 0, 0}), 0, 1e-12);
}

TEST(contention, is_the_expectation_over_all_subsets) {
    std::mt19937_64 random(test::seed());
    for (int round = 0; round < 200; ++round) {
        std::vector<double> inside(2 + random() % 6);
        for (double& share : inside) share = static_cast<double>(random() % 1001) / 1000;
        double expected = 0;
        for (unsigned who = 0; who < (1u << inside.size()); ++who) {
            double probability = 1;
            for (std::size_t t = 0; t < inside.size(); ++t) probability *= who >> t & 1 ? inside[t] : 1 - inside[t];
            const int together = std::popcount(who);
            if (together >= 2) expected += together * probability;
        }
        EXPECT_NEAR(threads_inside_at_once(inside), expected, 1e-9);
    }
}

TEST(contention, counts_only_moments_at_which_threads_are_active) {
    using threads = std::vector<thread_activity>;
    EXPECT_DOUBLE_EQ(threads_inside_at_once(threads{}), 0);
    EXPECT_DOUBLE_EQ(threads_inside_at_once(threads{{0, 10, 1}}), 0);
    EXPECT_DOUBLE_EQ(threads_inside_at_once(threads{{0, 10, 1}, {0, 10, 1}}), 2);
    EXPECT_DOUBLE_EQ(threads_inside_at_once(threads{{0, 10, 1}, {0, 10, 0}}), 0);
    EXPECT_NEAR(threads_inside_at_once(threads{{0, 10, 0.5}, {0, 10, 0.5}}), 0.5, 1e-12);
    // One after the other: never two at a time.
    EXPECT_DOUBLE_EQ(threads_inside_at_once(threads{{0, 10, 1}, {10, 20, 1}}), 0);
    // One thread for 10 instructions, both for 20 (10 of each), one for 10: two threads in a third of the moments.
    EXPECT_NEAR(threads_inside_at_once(threads{{0, 30, 1}, {10, 40, 1}}), 2.0 / 3, 1e-12);
    // No thread is active in between, so that time has no moments.
    EXPECT_NEAR(threads_inside_at_once(threads{{0, 10, 1}, {0, 10, 1}, {90, 100, 1}, {90, 100, 1}}), 2, 1e-12);
}

TEST(histogram, keeps_percentiles_within_a_bin) {
    std::mt19937_64 random(test::seed());
    histogram h;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 5000; ++i) values.push_back(random() >> (random() % 64));
    for (const std::uint64_t value : values) h.add(value);
    std::sort(values.begin(), values.end());
    for (const double share : {0.01, 0.1, 0.5, 0.9, 0.99}) {
        const auto rank = static_cast<std::size_t>(std::ceil(share * 5000)) - 1;
        const auto exact = static_cast<double>(values[rank]);
        EXPECT_NEAR(static_cast<double>(h.percentile(share)), exact, exact * 0.04 + 0.5) << share;
    }
    EXPECT_EQ(h.percentile(1), values.back());
    EXPECT_EQ(h.count(), 5000u);
}

TEST(histogram, counts_octaves_exactly) {
    std::mt19937_64 random(test::seed());
    histogram h;
    counts expected(65);
    for (int i = 0; i < 5000; ++i) {
        const std::uint64_t value = random() >> (random() % 64);
        h.add(value);
        ++expected[static_cast<std::size_t>(std::bit_width(value))];
    }
    counts found = h.octaves();
    found.resize(65);
    EXPECT_EQ(found, expected);
}

TEST(histogram, is_empty_without_values) {
    EXPECT_EQ(histogram().percentile(0.5), 0u);
    EXPECT_EQ(histogram().max(), 0u);
    EXPECT_TRUE(histogram().octaves().empty());
}

TEST(histogram, winsorised_mean_is_not_spoilt_by_one_value) {
    histogram h;
    for (int i = 0; i < 100; ++i) h.add(20 + i % 2);
    EXPECT_NEAR(h.winsorised_mean(), 20.5, 0.01);
    h.add(10'000'000);
    EXPECT_NEAR(h.winsorised_mean(), 20.5, 0.01);
    histogram tail;  // what happens once in a hundred times is no accident
    for (int i = 0; i < 10'000; ++i) tail.add(i % 100 == 0 ? 1000 : 20);
    EXPECT_NEAR(tail.winsorised_mean(), 29.8, 1);
    EXPECT_EQ(histogram().winsorised_mean(), 0);
}

TEST(estimated_share, beyond_the_whole_is_no_value) {
    EXPECT_EQ(estimated_share(1, 4), 0.25);
    EXPECT_EQ(estimated_share(4, 4), 1);
    EXPECT_EQ(estimated_share(4.1, 4), std::nullopt);
    EXPECT_EQ(estimated_share(1, 0), std::nullopt);
    EXPECT_EQ(estimated_share(1, -1), std::nullopt);
}

TEST(operation_durations, kinds_are_kept_apart_and_few_samples_borrow) {
    operation_durations whole, few;
    for (int i = 0; i < 100; ++i) {
        whole.add(operation_kind::allocation, 30);
        whole.add(operation_kind::deallocation, 10);
    }
    few.add(operation_kind::allocation, 1'000'000);  // descheduled
    EXPECT_NEAR(few.ticks_of({10, 10, 0, 0}, whole), 400, 1);
    for (int i = 0; i < 20; ++i) few.add(operation_kind::large, 4000);
    EXPECT_NEAR(few.ticks_of({0, 0, 0, 3}, whole), 12'000, 400);
}

TEST(size_classes, are_four_an_octave_and_hold_their_sizes) {
    for (std::uint64_t bytes = 0; bytes < 100'000; ++bytes) {
        const std::size_t index = size_class_of(bytes);
        ASSERT_GE(size_class_bytes(index), bytes);
        if (index > 0) {
            ASSERT_LT(size_class_bytes(index - 1), bytes);
        }
    }
    for (std::uint64_t octave = 16; octave < 1u << 20; octave *= 2)
        EXPECT_EQ(size_class_of(2 * octave) - size_class_of(octave), 4u);
    EXPECT_LT(size_class_of(~std::uint64_t{0}), size_class_count);
}

TEST(packed_objects, give_back_what_they_were_given) {
    std::mt19937_64 random(test::seed());
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t bytes = (random() >> (random() % 64)) & packed_object::bytes_max;
        const std::uint64_t tick = (random() >> (random() % 64)) & packed_object::tick_max;
        const std::uint64_t birth = (random() >> (random() % 64)) & packed_object::bytes_max;
        const auto context = static_cast<std::uint32_t>(random());
        const auto thread = static_cast<std::uint32_t>(random()) & packed_object::thread_max;
        const packed_object o(bytes, tick, birth, context, thread);
        ASSERT_EQ(o.bytes(), bytes);
        ASSERT_EQ(o.tick(), tick);
        ASSERT_EQ(o.birth(), birth);
        ASSERT_EQ(o.context(), context);
        ASSERT_EQ(o.thread(), thread);
    }
    EXPECT_EQ(packed_object(~0ull, ~0ull, 0, 0, ~0u).bytes(), packed_object::bytes_max);
}

TEST(page_survey, counts_each_page_of_a_subsystem_once) {
    std::mt19937_64 random(test::seed());
    page_survey survey;
    for (int round = 0; round < 20; ++round) {
        constexpr std::uint32_t subsystems = 4;
        std::set<std::pair<std::uint32_t, std::uint64_t>> pages;
        survey.start(subsystems, round % 2 ? 0 : 1000);
        for (std::uint64_t at = 0x7f0000000000, i = 0; i < 2000; ++i) {
            const std::uint64_t bytes = random() % 16 == 0 ? random() % 100'000 : random() % 200;
            const auto s = static_cast<std::uint32_t>(random() % subsystems);
            survey.add(s, at, bytes);
            for (std::uint64_t page = at >> 12; page <= (at + (bytes ? bytes - 1 : 0)) >> 12; ++page)
                pages.insert({s, page});
            at += bytes + random() % 64 * (random() % 64);
        }
        survey.finish();
        std::vector<std::uint64_t> expected(subsystems);
        for (const auto& [s, page] : pages) expected[s] += 4096;
        for (std::uint32_t s = 0; s < subsystems; ++s) EXPECT_EQ(survey.bytes(s), expected[s]);
    }
}

mpt_block_header block(std::uint32_t thread, std::uint32_t sequence, std::uint64_t first, std::uint64_t cpu_ns,
                       std::uint32_t overhead_ticks) {
    mpt_block_header header{};
    header.kind = mpt_events;
    header.thread = thread;
    header.sequence = sequence;
    header.first = first;
    header.cpu_ns = cpu_ns;
    header.overhead_ticks = overhead_ticks;
    return header;
}

TEST(thread_clock, runs_straight_between_the_ends_of_blocks) {
    const std::vector<trace::block_record> blocks{{0, block(1, 0, 1000, 400, 0)}, {0, block(1, 1, 2000, 500, 0)}};
    const thread_clock clock(blocks, {{1, 3000, 100, 10}}, 0, 1.0);
    EXPECT_DOUBLE_EQ(clock.at(1, 500), 0);
    EXPECT_DOUBLE_EQ(clock.at(1, 1000), 0);
    EXPECT_DOUBLE_EQ(clock.at(1, 1500), 200);
    EXPECT_DOUBLE_EQ(clock.at(1, 2000), 400);
    EXPECT_DOUBLE_EQ(clock.at(1, 2500), 450);
    EXPECT_DOUBLE_EQ(clock.at(1, 9000), 500);
    EXPECT_DOUBLE_EQ(clock.at(2, 2000), 0);
    EXPECT_DOUBLE_EQ(clock.cpu_ns(), 500);
}

TEST(thread_clock, takes_the_recorders_time_off) {
    // 30 ticks in one of ten operations, two ticks a nanosecond: the recorder took 150 ns of the block's 400.
    const std::vector<trace::block_record> blocks{{0, block(1, 0, 1000, 400, 30)}};
    const thread_clock clock(blocks, {{1, 2000, 100, 10}}, 0, 2.0);
    EXPECT_DOUBLE_EQ(clock.recorder_ns(), 150);
    EXPECT_DOUBLE_EQ(clock.at(1, 2000), 250);
    EXPECT_DOUBLE_EQ(clock.at(1, 1500), 125);
}

TEST(thread_clock, one_preempted_sample_does_not_count_64_times) {
    std::vector<trace::block_record> blocks;
    for (std::uint32_t i = 0; i < 5; ++i) {
        mpt_block_header header = block(1, i, 1000 * (i + 1), 400 * (i + 1), i == 2 ? 100'000 : 10);
        header.count = 100;
        blocks.push_back({0, header});
    }
    const thread_clock clock(blocks, {{1, 6000, 100, 10}}, 0, 1.0);
    EXPECT_DOUBLE_EQ(clock.recorder_ns(), 10.0 * (4 * 10 + 20));
    EXPECT_DOUBLE_EQ(clock.recorder_at(1, 2000), 100);
}

TEST(thread_clock, never_runs_backward) {
    // More overhead than CPU time, an unclosed block, and times out of order.
    const std::vector<trace::block_record> blocks{
        {0, block(1, 0, 1000, 10, 1000)}, {0, block(1, 1, 2000, 0, 0)}, {0, block(1, 2, 1500, 5000, 0)}};
    const thread_clock clock(blocks, {{1, 1800, 100, 100}}, 500, 1.0);
    double before = 0;
    for (std::uint64_t tick = 0; tick < 4000; tick += 50) {
        EXPECT_GE(clock.at(1, tick), before);
        before = clock.at(1, tick);
    }
}

TEST(thread_clock, knows_what_was_noted_within_a_block) {
    // One unclosed block: it tells the time used at its beginning, and the notes tell the rest. The recorder takes 30
    // ticks in one of ten operations, over a hundred records.
    mpt_block_header header = block(1, 0, 1000, 50, 30);
    header.count = 100;
    const std::vector<trace::block_record> blocks{{0, header}};
    const thread_clock clock(blocks, {{1, 9000, 100, 10, {{2000, 400, 50}, {9000, 5000, 99}}}}, 0, 1.0);
    EXPECT_DOUBLE_EQ(clock.at(1, 2000), 400 - 150);
    EXPECT_DOUBLE_EQ(clock.at(1, 9000), 5000 - 297);
    EXPECT_DOUBLE_EQ(clock.recorder_at(1, 2000), 150);
}

TEST(cpu_notes, long_runs_keep_few_and_the_latest) {
    cpu_notes notes;
    for (std::uint64_t i = 1; i <= 100'000; ++i) notes.add({1000 * i, 1'500'000 * i, i});
    EXPECT_LE(notes.all().size(), cpu_notes::notes_max);
    EXPECT_GE(notes.all().size(), cpu_notes::notes_max / 4);
    EXPECT_EQ(notes.all().back().records, 100'000u);
    for (std::size_t i = 1; i < notes.all().size(); ++i) EXPECT_LT(notes.all()[i - 1].tick, notes.all()[i].tick);
}

TEST(density, is_known_within_a_factor_or_not_at_all) {
    for (const double operations : {0.0, 1.0, 3.0, 3.1, 3.3, 10.0, 1e9}) {
        const bounded_density found = density_of_times(operations, 1);
        EXPECT_DOUBLE_EQ(found.at_least, operations / (operations + 4));
        ASSERT_EQ(found.value.has_value(), operations > 3.2) << operations;  // 3.2 / 7.2 = 1 / 1.5²
        if (!found.value) continue;
        EXPECT_LE(*found.value / found.at_least, density_within + 1e-12);
        EXPECT_LE(1 / *found.value, density_within + 1e-12);
    }
    EXPECT_EQ(density_of_times(0, 0).value, std::nullopt);
}

}  // namespace
}  // namespace millpond::characterise
