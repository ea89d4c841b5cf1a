// SPDX-License-Identifier: BSL-1.0
// Misses by kind, by origin and by subject, and the whole cache that decides their kind, against searched lists.
#include <gtest/gtest.h>

#include <random>

#include "counted.hpp"
#include "lab/simulate/attributed_cache.hpp"
#include "lab/simulate/process_system.hpp"
#include "lab/simulate/whole_lru.hpp"
#include "models.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using simulate::attributed_cache;
using simulate::line_walk;
using simulate::process_system;
using simulate::whole_lru;

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

// Gives the next few references the subject and origin of one, again and again.
stream in_runs(std::mt19937_64& random, stream all) {
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (random() % 4 == 0) continue;
        all[i].subject = all[i - 1].subject;
        all[i].origin = all[i - 1].origin;
    }
    return all;
}

bool operator==(const attributed_cache::counts& a, const attributed_cache::counts& b) {
    return std::equal(std::begin(a.references), std::end(a.references), std::begin(b.references)) &&
           std::equal(&a.misses[0][0], &a.misses[0][0] + std::size(a.misses) * attributed_cache::kinds,
                      &b.misses[0][0]) &&
           a.indirect == b.indirect;
}

// The counts with capacity and conflict misses as replacement misses.
attributed_cache::counts unsplit_counts(attributed_cache::counts counts) {
    constexpr auto capacity = static_cast<unsigned>(simulate::miss_kind::capacity);
    constexpr auto conflict = static_cast<unsigned>(simulate::miss_kind::conflict);
    for (auto& of_origin : counts.misses) {
        of_origin[static_cast<unsigned>(simulate::miss_kind::replacement)] = of_origin[capacity] + of_origin[conflict];
        of_origin[capacity] = of_origin[conflict] = 0;
    }
    return counts;
}

TEST(attributed_cache, kinds_origins_and_subjects_are_those_of_the_model) {
    std::mt19937_64 random(seed());
    for (const auto& [sets, ways] : {std::pair(16, 1), {8, 2}, {1, 16}, {12, 3}}) {
        for (const std::size_t flush_every : {std::size_t{0}, std::size_t{900}}) {
            const stream all = in_runs(random, random_stream(random, 4000, 120, 32));
            model_attribution model(static_cast<std::uint64_t>(sets), static_cast<unsigned>(ways));
            attributed_cache found(process_system, line_walk(32), static_cast<std::uint64_t>(sets),
                                   static_cast<unsigned>(ways), simulate::replacement::lru, 1);
            attributed_cache unsplit(process_system, line_walk(32), static_cast<std::uint64_t>(sets),
                                     static_cast<unsigned>(ways), simulate::replacement::lru, 1, false);
            for (const auto& batch : random_batches(random, all, flush_every)) {
                for (const millpond_reference& r : batch.references) model.take(r, 32);
                found.take(batch.references.data(), batch.references.size());
                unsplit.take(batch.references.data(), batch.references.size());
                if (batch.is_flushed) {
                    model.flush();
                    found.flush();
                    unsplit.flush();
                }
            }
            EXPECT_TRUE(found.total() == model.total);
            for (const auto& [subject, counts] : model.of_subject) EXPECT_TRUE(found.of_subject(subject) == counts);
            EXPECT_TRUE(unsplit.total() == unsplit_counts(model.total));
            for (const auto& [subject, counts] : model.of_subject)
                EXPECT_TRUE(unsplit.of_subject(subject) == unsplit_counts(counts));
            EXPECT_GT(model.total.indirect, 0u);
        }
    }
}

TEST(attributed_cache, replacement_is_capacity_and_conflict_if_each_line_counts) {
    std::mt19937_64 random(seed());
    const stream all = in_runs(random, random_stream(random, 4000, 120, 32));
    const line_walk lines(32, simulate::straddling::twice);
    for (const std::uint64_t sets : {16u, 12u}) {
        attributed_cache split(process_system, lines, sets, 1, simulate::replacement::lru, 1);
        attributed_cache unsplit(process_system, lines, sets, 1, simulate::replacement::lru, 1, false);
        for (const auto& batch : random_batches(random, all, 900)) {
            for (attributed_cache* const each : {&split, &unsplit}) {
                each->take(batch.references.data(), batch.references.size());
                if (batch.is_flushed) each->flush();
            }
        }
        EXPECT_TRUE(unsplit.total() == unsplit_counts(split.total()));
        for (std::size_t subject = 0; subject < 5; ++subject)
            EXPECT_TRUE(unsplit.of_subject(subject) == unsplit_counts(split.of_subject(subject)));
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
    const counted unsplit(all, "attributed:line=64,size=64,ways=1,split=no");
    EXPECT_EQ(unsplit.sum("indirect", program), 1u);
    EXPECT_EQ(unsplit.sum("replacement", program), 2u);
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
