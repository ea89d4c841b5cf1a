// SPDX-License-Identifier: BSL-1.0
// failing_pages_test: every system call fails, once or permanently, under each allocator that can use a region. A
// failed request gives null, earlier promises are kept, and all goes on as soon as the system does.
#include <gtest/gtest.h>

#include <memory_resource>
#include <millpond/millpond.hpp>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "../unit/support/block_model.hpp"
#include "../unit/support/fake_pages.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::uniform;
using fake_region = basic_region<fake_pages>;
using fake_arena = monotonic<fake_region>;

constexpr std::size_t limit_bytes = std::size_t{64} << 20;

template <class Pool>
class failing_pages : public testing::Test {
  protected:
    failing_pages() { fake_pages::start(); }
    ~failing_pages() override {
        EXPECT_EQ(fake_pages::reservations(), 0U);
        EXPECT_EQ(fake_pages::charged_bytes, 0U);
        fake_pages::start();
    }
};

using pools = testing::Types<fake_region, fake_arena, multipool<fake_region>, multipool<fake_arena>,
                             resource<fake_arena>, synchronized<fake_arena>, checked<fake_arena>>;
TYPED_TEST_SUITE(failing_pages, pools);

// Lives through two peaks, with a fall after each few operations. Returns the number of refused blocks.
template <class Pool>
int live_on(Pool& pool, test::block_model& model) {
    int refused = 0;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 160 && !testing::Test::HasFailure(); ++step) {
        if (step % 20 == 19) {
            model.check_all();
            pool.reset();
            model.clear();
        }
        if (!test::live_a_step(pool, model, numbers, step % 60 < 10 ? 100000 : 3000, 6)) ++refused;
    }
    model.check_all();
    return refused;
}

template <class Pool>
std::size_t calls_of_a_whole_life() {
    fake_pages::start();
    Pool pool(limit_bytes);
    test::block_model model;
    EXPECT_EQ(live_on(pool, model), 0);
    return fake_pages::fallible_calls;
}

TYPED_TEST(failing_pages, one_failure_costs_at_most_one_block_and_nothing_else) {
    const std::size_t calls = calls_of_a_whole_life<TypeParam>();
    ASSERT_GT(calls, 5U);
    for (std::size_t n = 0; n < calls && !testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE(n);
        fake_pages::start();
        fake_pages::fail_once_at(n);
        TypeParam pool(limit_bytes);
        test::block_model model;
        EXPECT_LE(live_on(pool, model), 1);
    }
}

TYPED_TEST(failing_pages, exhausted_pages_keep_blocks_and_the_pool_recovers) {
    const std::size_t calls = calls_of_a_whole_life<TypeParam>();
    for (std::size_t n = 0; n < calls && !testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE(n);
        fake_pages::start();
        fake_pages::fail_from(n);
        TypeParam pool(limit_bytes);
        test::block_model model;
        live_on(pool, model);
        fake_pages::never_fail();
        pool.reset();
        model.clear();
        EXPECT_EQ(live_on(pool, model), 0) << "works again when the system does";
        pool.release();
    }
}

TYPED_TEST(failing_pages, a_failed_allocate_throws_and_changes_nothing) {
    TypeParam pool(limit_bytes);
    void* const before = pool.allocate(100, 8);
    fake_pages::fail_from(0);
    const std::size_t charged = fake_pages::charged_bytes;
    for (int i = 0; i < 20; ++i) EXPECT_THROW(static_cast<void>(pool.allocate(2000000, 8)), std::bad_alloc);
    EXPECT_EQ(fake_pages::charged_bytes, charged);
    fake_pages::never_fail();
    EXPECT_NE(pool.allocate(2000000, 8), nullptr);
    pool.deallocate(before, 100, 8);
    pool.reset();
}

TEST(failing_pages_below, a_refused_protection_leaves_blocks_as_they_were) {
    fake_pages::start();
    fake_region source(limit_bytes);
    auto* const block = static_cast<volatile char*>(source.allocate(100, 8));
    fake_pages::fail_once_at(0);
    EXPECT_FALSE(source.protect());
    block[0] = 1;
    EXPECT_NE(source.try_allocate(100, 8), nullptr) << "not protected";
    ASSERT_TRUE(source.protect());
    fake_pages::fail_once_at(0);
    EXPECT_FALSE(source.unprotect());
    EXPECT_EQ(source.try_allocate(100, 8), nullptr) << "still protected";
    EXPECT_EQ(block[0], 1);
    EXPECT_TRUE(source.unprotect());
    block[0] = 2;
    EXPECT_NE(source.try_allocate(100, 8), nullptr);
    fake_pages::start();
}

TEST(failing_pages_below, containers_in_an_arena_survive_every_failure) {
    for (std::size_t n = 0;; ++n) {
        fake_pages::start();
        fake_pages::fail_from(n);
        resource<fake_arena> base(limit_bytes);
        std::pmr::vector<std::pmr::string> lines(&base);
        bool failed = false;
        try {
            for (int i = 0; i < 2000; ++i) lines.emplace_back(100, 'x');
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        for (const auto& line : lines) ASSERT_EQ(line, std::string_view(std::string(100, 'x')));
        if (!failed) break;
    }
    fake_pages::start();
}

}  // namespace
}  // namespace millpond
