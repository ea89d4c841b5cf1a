// SPDX-License-Identifier: BSL-1.0
// Exact stack distances against a searched list, samples of distances, their memory.
#include <gtest/gtest.h>

#include <random>

#include "counted.hpp"
#include "lab/simulate/process_system.hpp"
#include "lab/simulate/sampled_distances.hpp"
#include "lab/simulate/stack_distances.hpp"
#include "models.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using simulate::line_walk;
using simulate::lru_stack;
using simulate::process_system;
using simulate::sampled_distances;
using simulate::stack_distances;
using simulate::straddling;

using histogram = std::map<std::uint64_t, std::uint64_t>;

histogram of_model(const stream& all, std::uint64_t line_bytes, bool twice, std::uint64_t flush_every) {
    histogram found;
    model_stack stack;
    std::uint64_t taken = 0;
    for (const millpond_reference& r : all) {
        walk(
            {r}, line_bytes, twice, [&](std::uint64_t block) { return stack.touch(block); },
            [&](std::uint64_t distance) { ++found[distance]; });
        if (flush_every != 0 && ++taken % flush_every == 0) stack.flush();
    }
    return found;
}

histogram of_simulator(const stream& all, std::uint64_t line_bytes, const millpond_rules& rules) {
    const counted found(all, "distances:line=" + std::to_string(line_bytes), rules);
    histogram rows;
    for (const counted_row& each : found.rows()) {
        if (each.metric == "at_distance") rows[each.row.distance] = each.row.value;
        if (each.metric == "cold" && each.row.value != 0) rows[model_stack::cold] = each.row.value;
        if (each.metric == "flushed" && each.row.value != 0) rows[model_stack::flushed] = each.row.value;
    }
    return rows;
}

TEST(stack_distances, every_distance_is_that_of_a_searched_list) {
    std::mt19937_64 random(seed());
    const std::vector<stream> streams = {random_stream(random, 3000, 200, 16), random_stream(random, 12000, 1500, 64),
                                         random_stream(random, 3000, 400, 3000), hand_made_stream()};
    for (const stream& all : streams) {
        for (const std::uint64_t line : {32, 64, 4096}) {
            for (const std::uint64_t flush_every : {0, 1100}) {
                for (const bool twice : {false, true}) {
                    const histogram expected = of_model(all, line, twice, flush_every);
                    for (const std::uint8_t set : instruction_sets()) {
                        millpond_rules rules = rules_with(set, twice);
                        rules.flush_references = flush_every;
                        ASSERT_EQ(of_simulator(all, line, rules), expected)
                            << "lines of " << line << ", instruction set " << int{set};
                    }
                }
            }
        }
    }
}

// There are more uses than times at first, of more blocks than the times suffice for; most follow the last one soon.
TEST(stack_distances, times_are_numbered_again_as_the_stack_grows) {
    std::mt19937_64 random(seed());
    stack_distances found(process_system, line_walk(64), simulate::best_instruction_set());
    model_stack model;
    histogram expected;
    for (std::uint64_t i = 0; i < 160000; ++i) {
        const std::uint64_t line = random() % (random() % 4 == 0 ? 1 + i / 16 % 4000 : 40);
        const millpond_reference r = at(line * 64);
        found.take(&r, 1);
        ++expected[model.touch(line)];
        if (i == 20000 || random() % 30000 == 0) {
            found.flush();
            model.flush();
        }
    }
    for (const auto& [distance, references] : expected) {
        if (distance < model_stack::flushed) {
            ASSERT_EQ(found.at_distance(distance), references) << distance;
        }
    }
    EXPECT_EQ(found.cold(), expected[model_stack::cold]);
    EXPECT_EQ(found.flushed(), expected[model_stack::flushed]);
    EXPECT_EQ(found.distinct(), expected[model_stack::cold]);
}

TEST(stack_distances, curve_is_the_misses_of_all_fully_associative_caches) {
    std::mt19937_64 random(seed());
    const stream all = random_stream(random, 2000, 150, 32);
    stack_distances found(process_system, line_walk(32), simulate::best_instruction_set());
    found.take(all.data(), all.size());
    for (unsigned lines = 1; lines < 200; lines += 7) {
        model_cache cache(1, lines);
        std::uint64_t misses = 0;
        walk(
            all, 32, false, [&](std::uint64_t line) { return cache.miss(line); },
            [&](std::uint64_t missed) { misses += missed; });
        ASSERT_EQ(found.misses(lines), misses) << lines;
    }
}

// The bytes that the host has given and not got back.
std::size_t held_bytes = 0;
const millpond_system counting_system = {[](std::size_t bytes) {
                                             held_bytes += bytes;
                                             return process_system.allocate(bytes);
                                         },
                                         [](void* block, std::size_t bytes) {
                                             held_bytes -= bytes;
                                             process_system.release(block, bytes);
                                         },
                                         process_system.fail};

TEST(memory, does_not_depend_on_the_number_of_references) {
    std::mt19937_64 random(seed());
    const stream all = random_stream(random, 60000, 5000, 64);
    held_bytes = 0;
    {
        const millpond_rules rules = {};
        millpond_simulation* const simulation = millpond_simulation_new(&counting_system, &rules);
        for (const char* const description :
             {"direct:size=16K/64K", "lru:sets=64-512,ways=8", "fifo:size=4K,ways=4", "distances:line=64",
              "distances:line=4K", "sampled:one_in=4", "levels:size=1K/8K,ways=2/8", "attributed:size=8K,ways=4",
              "contents:size=8K,ways=4"})
            ASSERT_EQ(millpond_simulation_add(simulation, description), nullptr);
        millpond_simulation_take(simulation, all.data(), all.size(), 0);
        millpond_simulation_take(simulation, all.data(), all.size(), 0);
        const std::size_t after_two = held_bytes;
        for (int again = 0; again < 10; ++again) millpond_simulation_take(simulation, all.data(), all.size(), 0);
        EXPECT_EQ(held_bytes, after_two);
        millpond_simulation_delete(simulation);
    }
    EXPECT_EQ(held_bytes, 0u);
}

TEST(memory, a_stacks_memory_is_bounded_by_its_distinct_blocks) {
    for (const std::uint64_t blocks : {5000u, 8193u, 40000u, 70000u}) {
        stack_distances found(process_system, line_walk(64), simulate::best_instruction_set());
        for (int round = 0; round < 3; ++round) {
            for (std::uint64_t i = 0; i < blocks; ++i) {
                const millpond_reference r = at(i * 64);
                found.take(&r, 1);
            }
        }
        // The curve: 8 to 16 bytes a distance.
        EXPECT_LE(found.bytes(), blocks * (lru_stack::bytes_per_block_max + 16) + 2000) << blocks;
    }
}

TEST(sampled_distances, one_in_one_is_exact) {
    std::mt19937_64 random(seed());
    const stream all = random_stream(random, 20000, 2000, 64);
    sampled_distances sample(process_system, line_walk(64), 1);
    stack_distances exact(process_system, line_walk(64, straddling::twice), simulate::best_instruction_set());
    sample.take(all.data(), all.size());
    exact.take(all.data(), all.size());
    EXPECT_EQ(sample.references(), exact.references());
    for (unsigned power = 0; power < 14; ++power) {
        EXPECT_EQ(sample.misses_of_power(power).misses, exact.misses(std::uint64_t{1} << power)) << power;
        EXPECT_EQ(sample.misses_of_power(power).deviation, 0u);
    }
}

TEST(sampled_distances, samples_are_exact_distances_scaled) {
    std::mt19937_64 random(seed());
    const stream all = random_stream(random, 20000, 4000, 64);
    constexpr std::uint64_t one_in = 8;
    sampled_distances sample(process_system, line_walk(64), one_in);
    sample.take(all.data(), all.size());
    model_stack model;
    std::vector<std::uint64_t> distances;
    walk(
        all, 64, true,
        [&](std::uint64_t line) {
            const bool is_sampled = (simulate::mixed(line) >> 32) * one_in >> 32 == 0;
            if (is_sampled) distances.push_back(model.touch(line));
            return 0;
        },
        [](std::uint64_t) {});
    std::uint64_t sampled = 0;
    sample.tell({[](void* sum, const millpond_count* row) {
                     if (std::string("sampled") == row->metric) *static_cast<std::uint64_t*>(sum) += row->value;
                 },
                 &sampled});
    EXPECT_EQ(sampled, distances.size());
    for (unsigned power = 0; power < 20; ++power) {
        const auto missed = std::count_if(distances.begin(), distances.end(), [&](std::uint64_t distance) {
            return distance >= model_stack::flushed || distance * one_in >= std::uint64_t{1} << power;
        });
        EXPECT_EQ(sample.misses_of_power(power).misses, one_in * static_cast<std::uint64_t>(missed)) << power;
    }
}

// The stream is fixed, so that nothing depends on chance.
TEST(sampled_distances, estimates_lie_within_four_of_their_deviations) {
    std::mt19937_64 random(20260101);
    constexpr std::uint64_t one_in = 16;
    sampled_distances sample(process_system, line_walk(64), one_in);
    stack_distances exact(process_system, line_walk(64, straddling::twice), simulate::best_instruction_set());
    for (int i = 0; i < 400000; ++i) {
        std::uint64_t among = 512;
        while (among < 1u << 16 && random() % 2 == 0) among *= 2;
        const millpond_reference r = at(random() % among * 64);
        sample.take(&r, 1);
        exact.take(&r, 1);
    }
    for (const unsigned power : {11u, 12u, 13u, 14u, 15u}) {
        const auto [misses, deviation] = sample.misses_of_power(power);
        const std::uint64_t truth = exact.misses(std::uint64_t{1} << power);
        EXPECT_LE(misses > truth ? misses - truth : truth - misses, 4 * deviation) << power;
        EXPECT_LT(deviation, truth / 4) << power;
    }
}

}  // namespace
}  // namespace millpond::test
