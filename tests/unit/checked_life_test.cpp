// SPDX-License-Identifier: BSL-1.0
// checked_life_test: long random lives of checked allocators: correct use is never reported, in any order, and a single
// misuse among it always is.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/recorded_misuses.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::recorded_misuses;
using test::uniform;
using kind = misuse_kind;

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes, std::size_t alignment = 8) {
    return static_cast<char*>(pool.allocate(bytes, alignment));
}

TEST(checked, checkpoints_are_good_until_an_older_place_is_rewound_to) {
    recorded_misuses seen;
    checked<monotonic<>> pool;
    struct level {
        decltype(pool.checkpoint()) place;
        std::size_t blocks;  // live then
        bool is_valid;
    };
    std::vector<level> levels;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 5000; ++step) {
        switch (uniform(numbers, 0, 5)) {
            case 0:
                levels.push_back({pool.checkpoint(), pool.live_blocks(), true});
                break;
            case 1: {
                if (levels.empty()) break;
                const auto at = uniform<std::size_t>(numbers, 0, levels.size() - 1);
                pool.rewind(levels[at].place);
                if (levels[at].is_valid) {
                    ASSERT_EQ(pool.live_blocks(), levels[at].blocks);
                    // Places taken with no block between are one and the same.
                    for (std::size_t later = at + 1; later < levels.size(); ++later) {
                        if (levels[later].blocks > levels[at].blocks) levels[later].is_valid = false;
                    }
                    ASSERT_TRUE(seen.take().empty());
                } else {
                    ASSERT_EQ(seen.take(), std::vector{kind::invalid_checkpoint});
                }
                break;
            }
            case 2:
                if (uniform(numbers, 0, 50) == 0) {
                    pool.release();
                    for (level& any : levels) any.is_valid = false;
                }
                break;
            default:
                static_cast<void>(block_of(pool, uniform<std::size_t>(numbers, 0, 100)));
        }
        if (levels.size() > 100) levels.erase(levels.begin(), levels.begin() + 50);
    }
}

template <class Pool>
class checked_pools : public testing::Test {};
using pools =
    testing::Types<checked<multipool<accounting_ref>>, checked<monotonic<accounting_ref>>,
                   checked<multipool<monotonic<accounting_ref>>>, checked<accounting_ref>,
                   synchronized<checked<multipool<accounting_ref>>>, checked<synchronized<multipool<accounting_ref>>>,
                   checked<checked<multipool<accounting_ref>>>, multipool<checked<accounting_ref>>>;
TYPED_TEST_SUITE(checked_pools, pools);

TYPED_TEST(checked_pools, correct_use_in_any_order_is_never_reported) {
    recorded_misuses seen;
    accounting_source source;
    {
        TypeParam pool(source);
        test::block_model model;
        auto numbers = test::random_numbers();
        for (int step = 0; step < 10000 && !testing::Test::HasFailure(); ++step) {
            const int choice = uniform(numbers, 0, 999);
            if (choice < 2) {
                if constexpr (managed_allocator<TypeParam>) {
                    model.check_all();
                    choice == 0 ? pool.reset() : pool.release();
                    model.clear();
                }
            } else if (model.empty() || choice < 500) {
                const auto bytes = uniform<std::size_t>(numbers, 0, choice % 20 == 0 ? 20000 : 200);
                const std::size_t alignment = std::size_t{1} << uniform(numbers, 0, choice % 20 == 1 ? 12 : 4);
                model.add(pool.try_allocate(bytes, alignment), bytes, alignment);
            } else {
                const auto block = model.any(numbers);
                model.remove(block.start);
                pool.deallocate(block.start, block.bytes, block.alignment);
            }
        }
        model.check_all();
        for (const auto& [start, promised] : model.live()) pool.deallocate(start, promised.bytes, promised.alignment);
    }
    EXPECT_TRUE(seen.kinds().empty()) << seen.lines().front();
    EXPECT_EQ(source.live_blocks(), 0u) << "the destructor gives everything back";
}

// One misuse among thousands of correct calls is found, at the end at the latest, and nothing else is.
TEST(checked, a_misuse_planted_among_correct_calls_is_the_only_one_found) {
    for (std::uint64_t round = 0; round < 300; ++round) {
        recorded_misuses seen;
        auto numbers = test::random_numbers(round);
        kind planted = kind::double_free;
        bool is_planted = false;
        {
            checked<multipool<>> pool;
            std::map<char*, std::size_t> live;
            const int at = uniform(numbers, 10, 300);
            for (int step = 0; step < 400; ++step) {
                const auto bytes = uniform<std::size_t>(numbers, 1, 300);
                if (live.size() < 5 || uniform(numbers, 0, 1) == 0) {
                    live.emplace(block_of(pool, bytes), bytes);
                    continue;
                }
                const auto victim = std::next(live.begin(), uniform<std::ptrdiff_t>(numbers, 0, 4));
                const auto [block, size] = *victim;
                live.erase(victim);
                const int what = step >= at && !is_planted ? uniform(numbers, 0, 4) : -1;
                is_planted |= what >= 0;
                detail::unpoison_contents(block - 1, size + 2);
                if (what == 0) block[size] ^= 1, planted = kind::overrun;
                if (what == 1) block[-1] ^= 1, planted = kind::underrun;
                if (what == 2) planted = kind::wrong_size;
                pool.deallocate(block, what == 2 ? size + 1 : size, 8);
                detail::unpoison_contents(block, size);
                if (what == 3) block[size / 2] ^= 1, planted = kind::use_after_free;
                if (what == 4) pool.deallocate(block, size, 8);  // it stays what was planted: a double free
            }
            for (const auto& [block, size] : live) pool.deallocate(block, size, 8);
        }
        ASSERT_EQ(seen.kinds(), std::vector{planted}) << "round " << round;
    }
}

TEST(checked, the_quarantine_is_bounded_and_released_when_memory_runs_out) {
    recorded_misuses seen;
    accounting_source source;
    {
        checked<accounting_ref> pool(checks{.leaks = true, .quarantine_bytes = 1000}, source);
        for (int i = 0; i < 100; ++i) pool.deallocate(block_of(pool, 100), 100, 8);
        EXPECT_EQ(source.live_blocks(), 10u);
        source.fail_once_at(0);
        char* const block = static_cast<char*>(pool.try_allocate(100, 8));
        ASSERT_NE(block, nullptr) << "asked again when the quarantine was given up";
        EXPECT_EQ(source.live_blocks(), 1u);
        source.fail_from(0);
        EXPECT_EQ(pool.try_allocate(100, 8), nullptr);
        EXPECT_THROW(static_cast<void>(pool.allocate(100, 8)), std::bad_alloc);
        EXPECT_EQ(pool.try_allocate(detail::max_bytes, 8), nullptr);
        EXPECT_EQ(pool.try_allocate(static_cast<std::size_t>(-1), 1), nullptr);
        pool.deallocate(block, 100, 8);
    }
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_TRUE(seen.kinds().empty());
}

TEST(checked, ended_memory_returns_with_the_next_call_or_at_once) {
    accounting_source source;
    checked<multipool<accounting_ref>> prompt(source);
    static_cast<void>(block_of(prompt, 100));
    prompt.release();
    EXPECT_EQ(source.live_blocks(), 0u);
    checked<multipool<accounting_ref>> pool(checks{}, source);
    static_cast<void>(block_of(pool, 100));
    pool.release();
    EXPECT_GT(source.live_blocks(), 0u);
    EXPECT_EQ(pool.held_bytes(), 0u);
    EXPECT_EQ(source.live_blocks(), 0u);
    checked<multipool<accounting_ref>> hasty(checks{.watches_ended = false}, source);
    static_cast<void>(block_of(hasty, 100));
    hasty.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(checked, absorbed_blocks_may_be_freed_through_either) {
    recorded_misuses seen;
    checked<multipool<>> a;
    {
        checked<multipool<>> b;
        char* const from_a = block_of(a, 24);
        char* const from_b = block_of(b, 24);
        char* const freed = block_of(b, 24);
        b.deallocate(freed, 24, 8);
        a.absorb(b);
        EXPECT_EQ(a.live_blocks(), 2u);
        a.deallocate(from_b, 24, 8);
        b.deallocate(from_a, 24, 8);
        char* const late = block_of(b, 24);
        a.deallocate(late, 24, 8);
        EXPECT_TRUE(seen.take().empty());
        b.deallocate(freed, 24, 8);
        EXPECT_EQ(seen.take(), std::vector{kind::double_free});
    }
    a.expect_empty();
    EXPECT_TRUE(seen.take().empty());
}

struct owner {
    ~owner() { elsewhere->deallocate(memory, 8, 8); }
    checked<multipool<>>* elsewhere;
    void* memory;
};

}  // namespace

template <>
struct is_winkable<owner> : std::true_type {};

namespace {

TEST(checked, winking_out_runs_destructors_and_reports_foreign_memory) {
    recorded_misuses seen;
    checked<multipool<>> elsewhere;
    resource<checked<monotonic<>>> pool;
    {
        wink_out<std::pmr::list<std::pmr::string>, resource<checked<monotonic<>>>> texts(pool);
        for (int i = 0; i < 100; ++i) texts->emplace_back(100u, 'x');
    }
    EXPECT_EQ(pool.target().live_blocks(), 0u);
    EXPECT_TRUE(seen.take().empty());
    {
        wink_out<owner, resource<checked<monotonic<>>>> bad(pool, &elsewhere, elsewhere.allocate(8, 8));
    }
    EXPECT_EQ(seen.take(), std::vector{kind::owner_winked_out});
    elsewhere.expect_empty();
}

TEST(checked_threads, is_as_thread_safe_as_the_allocator_beneath) {
    recorded_misuses seen;
    checked<synchronized<multipool<>>> pool;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            auto numbers = test::random_numbers(static_cast<std::uint64_t>(t));
            std::vector<std::pair<char*, std::size_t>> mine;
            for (int i = 0; i < 3000; ++i) {
                if (mine.size() < 20 || uniform(numbers, 0, 1) == 0) {
                    const auto bytes = uniform<std::size_t>(numbers, 0, 500);
                    mine.emplace_back(block_of(pool, bytes), bytes);
                    std::fill_n(mine.back().first, bytes, static_cast<char>(t));
                } else {
                    std::swap(mine[uniform<std::size_t>(numbers, 0, mine.size() - 1)], mine.back());
                    pool.deallocate(mine.back().first, mine.back().second, 8);
                    mine.pop_back();
                }
            }
            for (const auto& [block, bytes] : mine) pool.deallocate(block, bytes, 8);
        });
    }
    for (std::thread& thread : threads) thread.join();
    pool.expect_empty();
    EXPECT_TRUE(seen.kinds().empty());
}

}  // namespace
}  // namespace millpond
