// SPDX-License-Identifier: BSL-1.0
// stepped_reservation_test: commit and advance have exactly their stated effects; moves and swaps take everything
// along.
#include <gtest/gtest.h>

#include <cstddef>
#include <millpond/container/detail/stepped_reservation.hpp>
#include <utility>
#include <vector>

#include "support/fake_pages.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::page_call;
using memory = detail::stepped_reservation<fake_pages>;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

class stepped_reservation_test : public testing::Test {
  protected:
    void SetUp() override { fake_pages::start(); }
    void TearDown() override { EXPECT_EQ(fake_pages::reservations(), 0U); }
};

TEST_F(stepped_reservation_test, an_empty_one_has_no_room) {
    memory all[] = {memory(), memory(0, 8, {}), memory(0, 8, {.huge_pages = true})};
    for (memory& none : all) {
        EXPECT_EQ(none.begin(), nullptr);
        EXPECT_EQ(none.room() + none.committed() + none.ready(), 0U);
        EXPECT_TRUE(none.commit(0) && none.advance(0));
        EXPECT_FALSE(none.commit(1) || none.advance(1));
        none.shrink(0);
    }
}

TEST_F(stepped_reservation_test, the_first_step_comes_with_it) {
    const memory usual(mib, 8, {});
    EXPECT_EQ(usual.ready(), 64 * kib);
    EXPECT_EQ(usual.room(), mib);
    const memory small(100, 8, {});
    EXPECT_EQ(small.ready(), fake_pages::size());
    EXPECT_EQ(small.room(), fake_pages::size());
    const memory none(mib, 8, {.first = 0});
    EXPECT_EQ(none.committed(), 0U);
}

TEST_F(stepped_reservation_test, commit_charges_and_advance_populates) {
    memory all(mib, 8, {.first = 0, .step = mib / 16, .ahead = mib / 8});
    EXPECT_TRUE(all.commit(mib / 2));
    EXPECT_EQ(all.committed(), mib / 2);
    EXPECT_EQ(all.ready(), 0U);
    EXPECT_EQ(fake_pages::count(page_call::populate), 0U);
    EXPECT_TRUE(all.commit(5));
    EXPECT_EQ(all.committed(), mib / 2);
    const std::size_t commits = fake_pages::count(page_call::commit);
    EXPECT_TRUE(all.advance(1));
    EXPECT_EQ(all.ready(), fake_pages::size());
    EXPECT_TRUE(all.advance(mib / 4 + 1));
    EXPECT_EQ(all.ready(), mib / 4 + fake_pages::size());
    EXPECT_EQ(fake_pages::count(page_call::commit), commits);
    EXPECT_EQ(fake_pages::count(page_call::populate), 2U);
    detail::unpoison(all.begin() + mib / 4, 1);
    all.begin()[mib / 4] = std::byte{1};
    EXPECT_FALSE(all.advance(mib + 1));
    EXPECT_FALSE(all.commit(mib + 1));
    EXPECT_TRUE(all.advance(mib));
    EXPECT_EQ(all.ready(), mib);
}

TEST_F(stepped_reservation_test, moves_and_swaps_take_everything_along) {
    memory one(mib, 8, {.step = mib / 8});
    memory two(4 * mib, 8, {.first = 0});
    std::byte* const place = one.begin();
    ASSERT_TRUE(one.commit(mib / 2));
    const std::size_t ready = one.ready();
    one.swap(two);
    EXPECT_EQ(two.begin(), place);
    EXPECT_EQ(two.room(), mib);
    EXPECT_EQ(two.ready(), ready);
    EXPECT_EQ(two.steps().step, mib / 8);
    EXPECT_EQ(one.steps().first, 0U);
    EXPECT_EQ(one.ready(), 0U);
    memory taken = std::move(two);
    EXPECT_EQ(taken.begin(), place);
    EXPECT_EQ(taken.committed(), mib / 2);
    EXPECT_EQ(two.begin(), nullptr);  // NOLINT(bugprone-use-after-move): it is specified
    EXPECT_EQ(two.room() + two.committed() + two.ready(), 0U);
    two = std::move(taken);
    EXPECT_EQ(two.begin(), place);
    EXPECT_EQ(taken.room(), 0U);  // NOLINT(bugprone-use-after-move)
    EXPECT_TRUE(two.advance(mib));
}

TEST_F(stepped_reservation_test, shrinking_keeps_whole_pages) {
    memory all(mib, 8, {});
    ASSERT_TRUE(all.advance(mib));
    all.shrink(fake_pages::size() + 1);
    EXPECT_EQ(all.committed(), 2 * fake_pages::size());
    EXPECT_EQ(all.ready(), 2 * fake_pages::size());
    all.shrink(0);
    EXPECT_EQ(all.committed() + all.ready(), 0U);
    EXPECT_TRUE(all.advance(1));
}

TEST_F(stepped_reservation_test, huge_pages_are_asked_for_and_aligned_to) {
    memory all(16 * mib, 8, {.huge_pages = true});
    EXPECT_TRUE(detail::is_aligned(all.begin(), 2 * mib));
    EXPECT_EQ(all.room(), 16 * mib);
    EXPECT_EQ(all.ready(), 2 * mib);
    EXPECT_GE(fake_pages::count(page_call::advise_huge), 1U);
    memory moved = std::move(all);
    EXPECT_TRUE(moved.advance(2 * mib + 1));
    EXPECT_EQ(moved.ready(), 4 * mib);
    EXPECT_TRUE(moved.advise_huge(false));
    EXPECT_TRUE(moved.advance(4 * mib + 1));
    EXPECT_LT(moved.ready(), 5 * mib);
    fake_pages::set.fail_at = fake_pages::fallible_calls;
    EXPECT_FALSE(moved.advise_huge(true));
}

TEST_F(stepped_reservation_test, a_range_that_ends_before_the_alignment_has_no_room) {
    fake_pages::set.address_limit = 3 * fake_pages::size();
    for (int i = 0; i < 4; ++i) {
        memory little(mib, 64 * kib, {});
        EXPECT_TRUE(little.room() == 0 || detail::is_aligned(little.begin(), 64 * kib));
        EXPECT_LE(little.room(), fake_pages::size());
        EXPECT_EQ(little.advance(1), little.room() != 0);
    }
}

TEST_F(stepped_reservation_test, all_room_left_by_an_alignment_can_be_committed) {
    fake_pages::set.address_limit = 300 * kib;
    std::vector<memory> all;
    for (int i = 0; i < 20; ++i) {
        memory& one = all.emplace_back(mib, 64 * kib, commit_steps{});
        EXPECT_GT(one.room(), 0U);
        EXPECT_TRUE(one.advance(one.room()));
        EXPECT_TRUE(detail::is_aligned(one.begin(), 64 * kib));
    }
}

}  // namespace
}  // namespace millpond
