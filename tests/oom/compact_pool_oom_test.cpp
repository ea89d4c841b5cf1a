// SPDX-License-Identifier: BSL-1.0
// compact_pool_oom_test: the n-th call of the pages or of the source fails, for every n, once or permanently. Live
// slots stay, a refused request gives null, and the pool goes on as soon as the system does.
#include <gtest/gtest.h>

#include <millpond/local/compact_pool.hpp>
#include <vector>

#include "../unit/support/block_model.hpp"
#include "../unit/support/scale.hpp"
#include "../unit/support/seed.hpp"
#include "../unit/support/slot_model.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::ranged_source;
using test::uniform;

constexpr std::size_t slot_bytes = 256;
using pool_type = compact_pool<slot_bytes, source_ref<ranged_source>>;

// Grows, shrinks at random, grows again, through reset and trim. Returns the number of refused slots.
int live_on(pool_type& pool) {
    int refused = 0;
    test::block_model model;
    auto numbers = test::random_numbers(7);
    const auto grow = [&](int slots) {
        for (int i = 0; i < slots; ++i) {
            void* const slot = pool.try_allocate(slot_bytes, 8);
            slot == nullptr ? static_cast<void>(++refused) : model.add(slot, slot_bytes, 8);
        }
    };
    const auto shrink = [&](std::size_t left) {
        while (model.size() > left) {
            const auto block = model.any(numbers);
            model.remove(block.start);
            pool.deallocate(block.start, slot_bytes, 8);
        }
    };
    grow(test::scaled(6000, 1500));
    shrink(10);
    grow(500);
    pool.trim();
    model.check_all();
    EXPECT_EQ(pool.stats().live_slots, model.size());
    pool.reset();
    model.clear();
    grow(1000);
    shrink(0);
    return refused;
}

class compact_pool_oom : public testing::TestWithParam<std::size_t> {
  protected:
    void SetUp() override {
        fake_pages::start();
        fake_pages::set.address_limit = std::size_t{1} << 30;
    }
    void TearDown() override {
        fake_pages::never_fail();
        EXPECT_EQ(fake_pages::reservations(), 0U);
    }
    [[nodiscard]] std::size_t calls_of_a_whole_life() const {
        const std::size_t before = fake_pages::fallible_calls;
        ranged_source source;
        pool_type pool(promote_above{GetParam()}, source);
        EXPECT_EQ(live_on(pool), 0);
        return fake_pages::fallible_calls - before;
    }
};

TEST_P(compact_pool_oom, one_refusal_of_the_pages_is_made_up_for) {
    const std::size_t calls = calls_of_a_whole_life();
    ASSERT_GT(calls, 10U);
    for (std::size_t n = 0; n < calls; ++n) {
        SCOPED_TRACE(n);
        ranged_source source;
        pool_type pool(promote_above{GetParam()}, source);
        fake_pages::fail_once_at(n);
        EXPECT_EQ(live_on(pool), 0) << "the source has memory";
        fake_pages::never_fail();
    }
}

TEST_P(compact_pool_oom, without_more_pages_it_lives_in_rows_and_goes_on_later) {
    const std::size_t calls = calls_of_a_whole_life();
    for (std::size_t n = 0; n < calls; n += 1 + n / 8) {
        SCOPED_TRACE(n);
        ranged_source source;
        pool_type pool(promote_above{GetParam()}, source);
        fake_pages::fail_from(n);
        EXPECT_EQ(live_on(pool), 0) << "the source has memory";
        fake_pages::never_fail();
        EXPECT_EQ(live_on(pool), 0);
    }
}

TEST_P(compact_pool_oom, live_slots_survive_while_all_memory_is_refused) {
    const std::size_t calls = calls_of_a_whole_life();
    for (std::size_t n = 0; n < calls; n += 1 + n / 8) {
        SCOPED_TRACE(n);
        ranged_source source;
        pool_type pool(promote_above{GetParam()}, source);
        source.fail_from(n / 2);
        fake_pages::fail_from(n);
        live_on(pool);
        source.never_fail();
        fake_pages::never_fail();
        pool.release();
        EXPECT_EQ(live_on(pool), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(promotion, compact_pool_oom, testing::Values(std::size_t{0}, std::size_t{64} << 10));

}  // namespace
}  // namespace millpond
