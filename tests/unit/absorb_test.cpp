// SPDX-License-Identifier: BSL-1.0
// absorb_test: after a.absorb(b) there is one pool: the blocks, containers and calls of b belong to a, and nothing is
// lost.
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <millpond/millpond.hpp>
#include <set>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::uniform;

template <class Pool>
class absorbing : public testing::Test {};

using absorbing_pools =
    testing::Types<monotonic<accounting_ref>, multipool<accounting_ref>, multipool<monotonic<accounting_ref>>,
                   multipool<accounting_ref, class_map<24, 40, 104, 1000>>, multipool<test::accounting_ref_at_hand>>;
TYPED_TEST_SUITE(absorbing, absorbing_pools);

// Plays a life of `steps` in which any of the pools, joined or not, allocates and frees.
template <class Pool>
void live_on(std::vector<std::unique_ptr<Pool>>& pools, std::vector<std::size_t>& owner_of,
             std::vector<test::block_model>& models, std::mt19937_64& numbers, int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
        const auto i = uniform<std::size_t>(numbers, 0, pools.size() - 1);
        test::block_model& model = models[owner_of[i]];
        if (model.empty() || uniform(numbers, 0, 2) != 0) {
            const auto bytes = uniform<std::size_t>(numbers, 0, step % 150 == 0 ? 1200000 : 300);
            const std::size_t alignment = std::size_t{1} << uniform(numbers, 0, step % 50 == 1 ? 12 : 4);
            model.add(pools[i]->allocate(bytes, alignment), bytes, alignment);
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            pools[i]->deallocate(block.start, block.bytes, block.alignment);
        }
    }
}

TYPED_TEST(absorbing, pools_that_became_one_serve_and_take_back_each_others_blocks) {
    accounting_source source;
    auto numbers = test::random_numbers();
    for (int round = 0; round < test::scaled(8, 2) && !testing::Test::HasFailure(); ++round) {
        // Declared in this order: the owner, pool 0 at last, is destroyed last.
        std::vector<std::unique_ptr<TypeParam>> pools;
        std::vector<std::size_t> owner_of;
        std::vector<test::block_model> models(5);
        for (std::size_t i = 0; i < 5; ++i) {
            pools.push_back(std::make_unique<TypeParam>(source));
            owner_of.push_back(i);
        }
        for (std::size_t merges = 0; merges < 4; ++merges) {
            live_on(pools, owner_of, models, numbers, 200);
            std::size_t a = uniform<std::size_t>(numbers, 0, 4), b = uniform<std::size_t>(numbers, 0, 4);
            if (owner_of[a] > owner_of[b]) std::swap(a, b);  // so that pool 0 ends as the owner of all
            EXPECT_EQ(*pools[a] == *pools[b], owner_of[a] == owner_of[b]);
            pools[a]->absorb(*pools[b]);
            EXPECT_TRUE(*pools[a] == *pools[b]);
            if (owner_of[a] == owner_of[b]) continue;
            const std::size_t gone = owner_of[b];
            models[gone].check_all();
            for (const auto& [start, promised] : models[gone].live()) {
                // Re-adding writes a new pattern; what was there has been checked.
                models[owner_of[a]].add(start, promised.bytes, promised.alignment);
            }
            models[gone].clear();
            for (std::size_t& owner : owner_of) {
                if (owner == gone) owner = owner_of[a];
            }
        }
        live_on(pools, owner_of, models, numbers, 200);
        for (const test::block_model& model : models) model.check_all();
        while (pools.size() > 1) pools.pop_back();
    }
    EXPECT_EQ(source.live_blocks(), 0u);
}

TYPED_TEST(absorbing, the_owners_reset_and_release_end_the_blocks_of_both) {
    accounting_source source;
    TypeParam a(source), b(source);
    static_cast<void>(a.allocate(24, 8));
    static_cast<void>(b.allocate(24, 8));
    a.absorb(b);
    EXPECT_EQ(b.held_bytes(), 0u);
    EXPECT_GT(a.held_bytes(), 0u);
    b.release();
    EXPECT_GT(source.live_bytes(), 0u) << "what was absorbed is not its own any more";
    for (int round = 0; round < 3; ++round) {
        test::block_model model;
        for (std::size_t i = 0; i < 500; ++i) model.add((i % 2 == 0 ? a : b).allocate(i, 8), i, 8);
        model.check_all();
        b.reset();
        model.check_all();
        a.reset();
    }
    a.release();
    EXPECT_EQ(source.live_blocks(), 0u);
    static_cast<void>(b.allocate(100, 8));
    EXPECT_GT(a.held_bytes(), 0u);
}

TEST(absorb, blocks_that_an_absorbed_pool_had_free_are_used_again) {
    accounting_source source;
    multipool<accounting_ref> a(source), b(source);
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) block = b.allocate(24, 8);
    for (void* block : blocks) b.deallocate(block, 24, 8);
    static_cast<void>(a.allocate(24, 8));
    a.absorb(b);
    const std::size_t calls = source.calls();
    for (int i = 0; i < 1000; ++i) static_cast<void>(a.allocate(24, 8));
    EXPECT_EQ(source.calls(), calls);
}

// In which state an absorbed class left its free block, the owner uses it as soon as its own row has ended.
TEST(absorb, a_block_that_was_freed_first_or_last_serves_as_early) {
    const auto served_after = [](bool is_freed_last) {
        accounting_source source;
        multipool<accounting_ref> a(source), b(source);
        static_cast<void>(a.allocate(24, 8));
        void* const first = b.allocate(24, 8);
        void* const second = b.allocate(24, 8);
        b.deallocate(first, 24, 8);
        if (is_freed_last) b.deallocate(second, 24, 8);
        void* const free_block = is_freed_last ? second : first;
        if (is_freed_last) {
            EXPECT_EQ(b.allocate(24, 8), first);
        }
        a.absorb(b);
        int before = 0;
        while (before < 10000 && a.allocate(24, 8) != free_block) ++before;
        return before;
    };
    EXPECT_EQ(served_after(true), served_after(false));
    EXPECT_LT(served_after(true), 10000);
}

TEST(absorb, empty_pools_have_their_first_block_in_common) {
    using pool = multipool<test::accounting_ref_at_hand>;
    accounting_source source;
    pool owner(source);
    pool absorbed(source);
    owner.absorb(absorbed);
    void* const block = owner.allocate(24, 8);
    absorbed.deallocate(block, 24, 8);
    EXPECT_EQ(owner.allocate(24, 8), block);
    EXPECT_EQ(source.live_blocks(), 1u);

    pool second(source);
    pool of_the_second(source);
    second.absorb(of_the_second);
    void* const other = of_the_second.allocate(24, 8);
    second.deallocate(other, 24, 8);
    EXPECT_EQ(of_the_second.allocate(24, 8), other);
    EXPECT_EQ(source.live_blocks(), 2u);
    EXPECT_EQ(of_the_second.held_bytes(), 0u);
}

TEST(absorb, containers_may_splice_merge_and_swap_afterwards_by_type) {
    multipool<> pool;
    multipool<> other;
    using list = std::list<int, allocator<int, multipool<>>>;
    using set = std::set<int, std::less<>, allocator<int, multipool<>>>;
    list a({1, 2, 3}, &pool), b({4, 5, 6}, &other);
    set c({1, 2}, std::less<>(), &pool), d({2, 3}, std::less<>(), &other);
    EXPECT_FALSE(a.get_allocator() == b.get_allocator());
    pool.absorb(other);
    EXPECT_TRUE(a.get_allocator() == b.get_allocator());
    a.splice(a.end(), b);
    c.merge(d);
    std::swap(a, b);
    b.push_back(7);
    a.push_back(8);
    EXPECT_EQ(b, list({1, 2, 3, 4, 5, 6, 7}, &pool));
    EXPECT_EQ(c, set({1, 2, 3}, std::less<>(), &pool));
    EXPECT_EQ(d.size(), 1u);
}

TEST(absorb, resources_compare_equal_afterwards) {
    multipool<> pool;
    multipool<> other;
    resource<multipool<>&> a(pool), b(other);
    resource<multipool<>> c;
    EXPECT_FALSE(a.is_equal(b));
    pool.absorb(other);
    EXPECT_TRUE(a.is_equal(b) && b.is_equal(a));
    pool.absorb(c.target());
    EXPECT_TRUE(c.is_equal(b) && a.is_equal(c));
    std::pmr::list<int> x({1, 2}, &a), y({3}, &c);
    x.splice(x.end(), y);
    EXPECT_EQ(x.size(), 3u);
    y.push_back(4);
}

TEST(absorb, a_rewind_of_the_owner_leaves_what_was_absorbed) {
    monotonic<> a, b;
    auto* const kept = static_cast<int*>(b.allocate(sizeof(int), alignof(int)));
    *kept = 42;
    static_cast<void>(a.allocate(10, 1));
    const auto before = a.checkpoint();
    void* const next = a.allocate(10, 1);
    a.absorb(b);
    static_cast<void>(b.allocate(100000, 1));
    b.rewind(before);
    EXPECT_EQ(*kept, 42);
    EXPECT_EQ(b.allocate(10, 1), next);
}

TEST(absorb, a_failing_source_leaves_both_usable) {
    accounting_source source;
    multipool<accounting_ref> a(source), b(source);
    void* const block = b.allocate(24, 8);
    a.absorb(b);
    source.fail_from(0);
    b.deallocate(block, 24, 8);
    EXPECT_EQ(b.try_allocate(24, 8), block);
    EXPECT_EQ(b.try_allocate(100000, 8), nullptr);
    EXPECT_EQ(a.try_allocate(2000000, 8), nullptr);
    source.never_fail();
    EXPECT_NE(b.try_allocate(100000, 8), nullptr);
}

}  // namespace
}  // namespace millpond
