// SPDX-License-Identifier: BSL-1.0
// Exact stack distances against a searched list, samples of distances, their memory; misses by kind and by origin.
#include <gtest/gtest.h>

#include <random>

#include "counted.hpp"
#include "lab/simulate/attributed_cache.hpp"
#include "lab/simulate/process_system.hpp"
#include "lab/simulate/sampled_distances.hpp"
#include "lab/simulate/stack_distances.hpp"
#include "lab/simulate/whole_lru.hpp"
#include "models.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using simulate::attributed_cache;
using simulate::line_walk;
using simulate::lru_stack;
using simulate::process_system;
using simulate::sampled_distances;
using simulate::stack_distances;
using simulate::straddling;
using simulate::whole_lru;

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

TEST(whole_lru, holds_the_lines_of_the_smallest_distances) {
    std::mt19937_64 random(seed());
    for (const std::uint64_t size : {1u, 2u, 3u, 7u, 16u, 600u}) {
        whole_lru found(process_system, size);
        model_stack model;
        for (unsigned i = 0; i < 6000; ++i) {
            const std::uint64_t line = random() % (random() % (2 * size + 3) + 1);
            const std::uint64_t distance = model.touch(line);
            const auto expected = distance == model_stack::cold      ? whole_lru::place::cold
                                  : distance == model_stack::flushed ? whole_lru::place::flushed
                                  : distance < size                  ? whole_lru::place::inside
                                                                     : whole_lru::place::outside;
            ASSERT_EQ(found.use(line), expected) << "size " << size << ", use " << i;
            if (random() % 1500 != 0) continue;
            found.flush();
            model.flush();
        }
    }
}

// A model of attribution: one list of the cache, one fully associative list, and the origin of each eviction.
class model_attribution {
  public:
    model_attribution(std::uint64_t sets, unsigned ways) : cache_(sets, ways), lines_(sets * ways) {}

    attributed_cache::counts total{};
    std::map<std::uint32_t, attributed_cache::counts> of_subject;

    void take(const millpond_reference& r, std::uint64_t line_bytes) {
        constexpr unsigned hit = attributed_cache::kinds;
        unsigned kind = hit;
        bool indirect = false;
        for (const std::uint64_t line : lines_of(r, line_bytes)) {
            const std::uint64_t distance = stack_.touch(line);
            if (cache_.has(line)) {
                cache_.use(line);
                continue;
            }
            if (kind == hit) {
                kind = distance == model_stack::cold      ? 0
                       : distance == model_stack::flushed ? 1
                       : distance >= lines_               ? 2
                                                          : 3;
                indirect = kind >= 2 && r.origin == millpond_of_program && evictor_[line] == millpond_of_allocator;
            }
            if (const auto victim = cache_.insert(line)) evictor_[*victim] = r.origin;
        }
        for (attributed_cache::counts* const to : {&total, &of_subject[r.subject]}) {
            ++to->references[r.origin];
            if (kind != hit) ++to->misses[r.origin][kind];
            to->indirect += indirect;
        }
    }

    void flush() {
        cache_.flush();
        stack_.flush();
    }

  private:
    model_cache cache_;
    model_stack stack_;
    std::uint64_t lines_;
    std::map<std::uint64_t, std::uint8_t> evictor_;
};

bool operator==(const attributed_cache::counts& a, const attributed_cache::counts& b) {
    return std::equal(std::begin(a.references), std::end(a.references), std::begin(b.references)) &&
           std::equal(&a.misses[0][0], &a.misses[0][0] + 12, &b.misses[0][0]) && a.indirect == b.indirect;
}

TEST(attributed_cache, kinds_origins_and_subjects_are_those_of_the_model) {
    std::mt19937_64 random(seed());
    for (const auto& [sets, ways] : {std::pair(16, 1), {8, 2}, {1, 16}, {12, 3}}) {
        for (const std::size_t flush_every : {std::size_t{0}, std::size_t{900}}) {
            const stream all = random_stream(random, 4000, 120, 32);
            model_attribution model(static_cast<std::uint64_t>(sets), static_cast<unsigned>(ways));
            attributed_cache found(process_system, line_walk(32), static_cast<std::uint64_t>(sets),
                                   static_cast<unsigned>(ways), simulate::replacement::lru, 1);
            for (std::size_t i = 0; i < all.size(); ++i) {
                model.take(all[i], 32);
                found.take(&all[i], 1);
                if (flush_every != 0 && (i + 1) % flush_every == 0) {
                    model.flush();
                    found.flush();
                }
            }
            EXPECT_TRUE(found.total() == model.total);
            for (const auto& [subject, counts] : model.of_subject) EXPECT_TRUE(found.of_subject(subject) == counts);
            EXPECT_GT(model.total.indirect, 0u);
        }
    }
}

TEST(attributed_cache, total_is_the_misses_of_the_plain_cache) {
    std::mt19937_64 random(seed());
    const stream all = random_stream(random, 5000, 500, 16);
    const counted plain(all, "lru:line=64,sets=16,ways=4"), attributed(all, "attributed:line=64,size=4K,ways=4");
    const auto of_all = [](const auto& row) { return row.subject == simulate::any; };
    std::uint64_t misses = 0;
    for (const char* const kind : {"cold", "flushed", "capacity", "conflict"}) misses += attributed.sum(kind, of_all);
    EXPECT_EQ(misses, plain.sum("misses", [](const auto& row) { return row.ways == 4; }));
    EXPECT_EQ(attributed.sum("references", of_all), all.size());
}

// The allocator evicts the program's only line, and the program takes the place back.
TEST(attributed_cache, indirect_misses_are_those_after_evictions_by_the_allocator) {
    const stream all = {at(0), at(64, 1, millpond_load, millpond_of_allocator), at(0), at(128), at(0)};
    const counted found(all, "attributed:line=64,size=64,ways=1");
    const auto program = [](const auto& row) {
        return row.subject == simulate::any && row.origin == millpond_of_program;
    };
    EXPECT_EQ(found.sum("indirect", program), 1u);
    EXPECT_EQ(found.sum("cold", program), 2u);
    EXPECT_EQ(found.sum("capacity", program), 2u);
    EXPECT_EQ(found.sum("conflict"), 0u);
}

TEST(attributed_cache, subjects_beyond_the_limit_are_counted_as_one) {
    attributed_cache found(process_system, line_walk(64), 1, 1, simulate::replacement::lru, 1);
    const stream all = {at(0, 1, 0, 0, attributed_cache::subjects_max), at(0, 1, 0, 0, ~0u), at(0, 1, 0, 99, 7)};
    found.take(all.data(), all.size());
    EXPECT_EQ(found.of_subject(attributed_cache::subjects_max).references[0], 2u);
    EXPECT_EQ(found.of_subject(7).references[2], 1u);
}

}  // namespace
}  // namespace millpond::test
