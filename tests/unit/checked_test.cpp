// SPDX-License-Identifier: BSL-1.0
// checked_test: every misuse is reported once, with what it was; correct use is never reported, whatever the order.
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

static_assert(rewindable_allocator<checked<monotonic<>>> && managed_allocator<checked<multipool<>>>);
static_assert(!rewindable_allocator<checked<multipool<>>> && !managed_allocator<checked<new_delete>>);
static_assert(allocator_like<checked<new_delete>> && rewindable_allocator<synchronized<checked<monotonic<>>>>);
static_assert(is_checked<checked<multipool<>>> && is_checked<resource<checked<monotonic<>>>>);
static_assert(is_checked<resource<synchronized<checked<multipool<>>>&>> && !is_checked<resource<multipool<>>>);

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes, std::size_t alignment = 8) {
    return static_cast<char*>(pool.allocate(bytes, alignment));
}

TEST(checked, a_report_names_the_block_what_happened_and_the_sites) {
    recorded_misuses seen;
    checked<multipool<>> pool;
    char* const block = block_of(pool, 24);
    pool.deallocate(block, 24, 8);
    pool.deallocate(block, 24, 8);
    ASSERT_EQ(seen.kinds(), std::vector{kind::double_free});
    const std::string line = seen.lines().front();
    char expected[100];
    std::snprintf(expected, sizeof expected,
                  "millpond: double free: block of 24 bytes aligned to 8 at %p was given back",
                  static_cast<void*>(block));
    EXPECT_EQ(line.find(expected), 0u) << line;
    for (const char* site : {"allocated at 0x", "freed at 0x", "detected at 0x", "+0x"})
        EXPECT_NE(line.find(site), std::string::npos) << line;
}

TEST(checked, every_byte_of_both_guards_counts) {
    recorded_misuses seen;
    checked<multipool<>> pool;
    for (const std::size_t bytes : {0u, 1u, 7u, 8u, 13u, 24u, 100u, 5000u}) {
        for (const std::size_t alignment : {1u, 8u, 16u, 64u, 512u}) {
            for (std::ptrdiff_t at = -16; at < 16; ++at) {
                char* const block = block_of(pool, bytes, alignment);
                ASSERT_TRUE(is_aligned(block, alignment));
                char* const harmed = at < 0 ? block + at : block + bytes + at;
                unpoison(harmed, 1);  // a memory checker would be first
                *harmed ^= 1;
                pool.deallocate(block, bytes, alignment);
                ASSERT_EQ(seen.take(), std::vector{at < 0 ? kind::underrun : kind::overrun}) << bytes << ' ' << at;
            }
        }
    }
}

TEST(checked, a_report_says_which_byte_was_written) {
    recorded_misuses seen;
    checked<monotonic<>> pool;
    char* const block = block_of(pool, 24);
    const auto write_at = [&](std::ptrdiff_t at) {
        unpoison_contents(block + at, 1);  // a memory checker would be first
        block[at] = 'x';
    };
    write_at(26);
    pool.verify();
    write_at(-3);
    pool.verify();
    pool.deallocate(block, 24, 8);
    write_at(5);
    pool.verify();
    ASSERT_EQ(seen.lines().size(), 3u);
    EXPECT_NE(seen.lines()[0].find("written at byte 26, behind its end"), std::string::npos) << seen.lines()[0];
    EXPECT_NE(seen.lines()[1].find("written 3 bytes before its start"), std::string::npos) << seen.lines()[1];
    EXPECT_NE(seen.lines()[2].find("written at byte 5 after it was freed"), std::string::npos) << seen.lines()[2];
}

TEST(checked, a_write_between_the_end_and_the_next_use_is_found_after_each_way_to_end) {
    recorded_misuses seen;
    for (const std::size_t bytes : {1u, 8u, 100u, 4097u}) {
        for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
            const auto finds = [&](auto end, kind expected) {
                checked<monotonic<>> pool;
                static_cast<void>(block_of(pool, 10));
                const auto place = pool.checkpoint();
                char* const block = block_of(pool, bytes);
                end(pool, place, block);
                unpoison_contents(block, bytes);
                block[at] ^= 1;
                poison(block, bytes);
                pool.deallocate(block_of(pool, 8), 8, 8);  // or the destructor, at the latest
                pool.verify();
                ASSERT_EQ(seen.take(), std::vector{expected}) << bytes << ' ' << at;
            };
            finds([&](auto& pool, auto, char* block) { pool.deallocate(block, bytes, 8); }, kind::use_after_free);
            finds([](auto& pool, auto, char*) { pool.reset(); }, kind::use_after_reset);
            finds([](auto& pool, auto, char*) { pool.release(); }, kind::use_after_release);
            finds([](auto& pool, auto place, char*) { pool.rewind(place); }, kind::use_after_rewind);
        }
    }
}

TEST(checked, what_a_pointer_was_is_remembered_when_its_memory_is_gone) {
    recorded_misuses seen;
    checked<multipool<new_delete>> pool;
    std::vector<char*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(block_of(pool, 100));
    pool.release();
    EXPECT_EQ(pool.held_bytes(), 0u);
    for (char* block : blocks) pool.deallocate(block, 100, 8);
    EXPECT_EQ(seen.kinds(), std::vector(1000, kind::use_after_release));
}

TEST(checked, after_a_report_the_allocator_goes_on) {
    recorded_misuses seen;
    accounting_source source;
    {
        checked<multipool<accounting_ref>> pool(source);
        checked<multipool<accounting_ref>> other(source);
        char* const wrong = block_of(pool, 24);
        pool.deallocate(wrong, 1000, 64);
        char* const misplaced = block_of(other, 40);
        pool.deallocate(misplaced, 40, 8);
        other.deallocate(misplaced, 40, 8);
        pool.deallocate(misplaced + 8, 8, 8);
        EXPECT_EQ(pool.try_allocate(8, 3), nullptr);
        EXPECT_EQ(pool.try_allocate(8, 0), nullptr);
        EXPECT_EQ(seen.take(), (std::vector{kind::wrong_size, kind::wrong_alignment, kind::other_allocator,
                                            kind::foreign_pointer, kind::invalid_alignment, kind::invalid_alignment}));
        pool.deallocate(block_of(pool, 24), 24, 8);
        pool.expect_empty();
        other.expect_empty();
    }
    EXPECT_EQ(seen.kinds().size(), 0u);
}

TEST(checked, a_pointer_into_a_block_is_told_from_a_foreign_one) {
    recorded_misuses seen;
    checked<multipool<>> pool;
    char* const block = block_of(pool, 48);
    pool.deallocate(block + 16, 8, 8);
    int local = 0;
    pool.deallocate(&local, 4, 4);
    ASSERT_EQ(seen.lines().size(), 2u);
    EXPECT_NE(seen.lines()[0].find("which lies 16 bytes inside the block of 48 bytes"), std::string::npos);
    EXPECT_NE(seen.lines()[1].find("is no block of the allocator"), std::string::npos);
}

TEST(checked, leaks_are_reported_where_that_is_asked_for_and_by_default_where_nobody_takes_the_memory_back) {
    recorded_misuses seen;
    {
        checked<multipool<>> silent;
        static_cast<void>(block_of(silent, 8));
        silent.release();
        static_cast<void>(block_of(silent, 8));
    }
    EXPECT_TRUE(seen.take().empty());
    {
        checked<multipool<>> strict(checks{.leaks = true});
        static_cast<void>(block_of(strict, 8));
        static_cast<void>(block_of(strict, 16));
        strict.reset();
        EXPECT_EQ(seen.take(), std::vector{kind::leak});
        static_cast<void>(block_of(strict, 8));
    }
    EXPECT_EQ(seen.take(), std::vector{kind::leak});
    void* lost = nullptr;
    {
        checked<new_delete> heap;
        lost = heap.allocate(24, 8);
    }
    EXPECT_EQ(seen.take(), std::vector{kind::leak});
    new_delete().deallocate(static_cast<char*>(lost) - 16, 16 + 24 + 16, 8);
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

// One misuse among thousands of correct calls: it is found, by the end at the latest, and nothing else is.
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
                unpoison_contents(block - 1, size + 2);
                if (what == 0) block[size] ^= 1, planted = kind::overrun;
                if (what == 1) block[-1] ^= 1, planted = kind::underrun;
                if (what == 2) planted = kind::wrong_size;
                pool.deallocate(block, what == 2 ? size + 1 : size, 8);
                unpoison_contents(block, size);
                if (what == 3) block[size / 2] ^= 1, planted = kind::use_after_free;
                if (what == 4) pool.deallocate(block, size, 8);  // it stays what was planted: a double free
            }
            for (const auto& [block, size] : live) pool.deallocate(block, size, 8);
        }
        ASSERT_EQ(seen.kinds(), std::vector{planted}) << "round " << round;
    }
}

TEST(checked, the_quarantine_is_bounded_and_given_up_before_memory_runs_out) {
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
        EXPECT_EQ(pool.try_allocate(max_bytes, 8), nullptr);
        EXPECT_EQ(pool.try_allocate(static_cast<std::size_t>(-1), 1), nullptr);
        pool.deallocate(block, 100, 8);
    }
    EXPECT_EQ(source.live_blocks(), 0u);
    EXPECT_TRUE(seen.kinds().empty());
}

TEST(checked, memory_goes_back_with_the_next_call_or_at_once_where_nothing_is_watched) {
    accounting_source source;
    checked<multipool<accounting_ref>> pool(source);
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

TEST(checked, what_was_absorbed_may_be_given_back_to_either) {
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

TEST(checked, winking_out_runs_the_destructors_and_reports_what_they_free_elsewhere) {
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

TEST(checked_threads, as_thread_safe_as_the_allocator_beneath) {
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
