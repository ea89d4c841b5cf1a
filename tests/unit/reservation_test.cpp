// SPDX-License-Identifier: BSL-1.0
// reservation_test: one range of addresses, its committed front, and its state after a refusal of the system.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <millpond/block/reservation.hpp>
#include <utility>
#include <vector>

#include "support/fake_pages.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::page_call;
using test::uniform;
using fake_reservation = basic_reservation<fake_pages>;

class reservation_books : public testing::Test {
  protected:
    reservation_books() {
        fake_pages::start();
        fake_pages::set.granularity_bytes = page;
    }
    ~reservation_books() override {
        EXPECT_EQ(fake_pages::reservations(), 0U);
        EXPECT_EQ(fake_pages::charged_bytes, 0U);
        fake_pages::start();
    }
    std::size_t page = fake_pages::size();
};

bool is_zero(const std::byte* first, std::size_t bytes) {
    return std::all_of(first, first + bytes, [](std::byte value) { return value == std::byte{0}; });
}

TEST_F(reservation_books, an_empty_reservation_takes_no_addresses) {
    fake_reservation none;
    fake_reservation nothing_wanted(0);
    for (fake_reservation* range : {&none, &nothing_wanted}) {
        EXPECT_EQ(range->data(), nullptr);
        EXPECT_EQ(range->size(), 0U);
        EXPECT_EQ(range->committed(), 0U);
        EXPECT_TRUE(range->commit_to(0));
        EXPECT_FALSE(range->commit_to(1));
        EXPECT_FALSE(range->advise_huge(true));
        range->decommit_to(0);
        range->populate(0, 1);
        range->discard(0, 1);
    }
    EXPECT_EQ(fake_pages::fallible_calls, 0U);
}

TEST_F(reservation_books, addresses_cost_no_charge_and_sizes_are_rounded_up_to_pages) {
    fake_reservation range(10 * page - 1);
    EXPECT_EQ(range.size(), 10 * page);
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
    EXPECT_TRUE(range.commit_to(1));
    EXPECT_EQ(range.committed(), page);
    EXPECT_EQ(fake_pages::charged_bytes, page);
    EXPECT_TRUE(range.commit_to(page));
    EXPECT_EQ(fake_pages::count(page_call::commit), 1U);
    EXPECT_TRUE(range.commit_to(10 * page));
    EXPECT_FALSE(range.commit_to(10 * page + 1));
    EXPECT_EQ(range.committed(), 10 * page);
}

TEST_F(reservation_books, a_size_is_halved_until_it_fits) {
    fake_pages::set.address_limit = 8 * page;
    fake_reservation range(64 * page);
    EXPECT_EQ(range.size(), 4 * page) << "with its guard page, 8 pages do not fit";
    fake_pages::set.address_limit = 5 * page;
    EXPECT_EQ(fake_reservation(64 * page).size(), 2 * page) << "4 would fit, and leave nothing to others";
    fake_reservation odd(4 * page);
    EXPECT_EQ(odd.size(), 4 * page);
    fake_pages::set.address_limit = 3 * page;
    EXPECT_EQ(fake_reservation(7 * page).size(), page);
    fake_pages::set.address_limit = page;
    fake_reservation none(64 * page);
    EXPECT_EQ(none.size(), 0U);
    EXPECT_EQ(none.data(), nullptr);
}

TEST_F(reservation_books, more_than_any_machine_has_does_not_wrap) {
    fake_reservation range(~std::size_t{0});
    EXPECT_GT(range.size(), std::size_t{1} << 20);
    fake_pages::fail_from(0);
    EXPECT_EQ(fake_reservation(~std::size_t{0}).size(), 0U);
}

TEST_F(reservation_books, the_last_page_is_a_guard_and_never_committed) {
    fake_pages::set.granularity_bytes = 16 * page;
    fake_reservation range(16 * page);
    EXPECT_TRUE(detail::is_aligned(range.data(), 16 * page));
    EXPECT_TRUE(range.commit_to(range.size()));
    range.data()[range.size() - 1] = std::byte{1};
    EXPECT_DEATH(static_cast<volatile std::byte*>(range.data())[range.size()] = std::byte{1}, "");
}

TEST_F(reservation_books, memory_behind_the_committed_part_is_inaccessible) {
    fake_reservation range(8 * page);
    ASSERT_TRUE(range.commit_to(2 * page));
    range.data()[2 * page - 1] = std::byte{1};
    EXPECT_DEATH(static_cast<volatile std::byte*>(range.data())[2 * page] = std::byte{1}, "");
    range.decommit_to(page);
    EXPECT_DEATH(static_cast<volatile std::byte*>(range.data())[2 * page - 1] = std::byte{1}, "");
}

TEST_F(reservation_books, memory_that_comes_back_is_zero_and_the_rest_is_kept) {
    fake_reservation range(8 * page);
    ASSERT_TRUE(range.commit_to(8 * page));
    std::fill_n(range.data(), 8 * page, std::byte{7});
    range.decommit_to(3 * page + 1);
    EXPECT_EQ(range.committed(), 4 * page);
    range.decommit_to(4 * page);
    range.decommit_to(5 * page);
    EXPECT_EQ(range.committed(), 4 * page);
    EXPECT_EQ(fake_pages::charged_bytes, 4 * page);
    ASSERT_TRUE(range.commit_to(8 * page));
    EXPECT_EQ(range.data()[4 * page - 1], std::byte{7});
    EXPECT_TRUE(is_zero(range.data() + 4 * page, 4 * page));
}

TEST_F(reservation_books, discarded_pages_read_as_zero_and_partly_used_ones_are_kept) {
    fake_reservation range(8 * page);
    ASSERT_TRUE(range.commit_to(6 * page));
    std::fill_n(range.data(), 6 * page, std::byte{7});
    range.discard(1, page - 1);
    range.discard(page, page);
    range.discard(3 * page, 2 * page);
    range.discard(7 * page, 8 * page);
    EXPECT_EQ(fake_pages::count(page_call::discard), 0U);
    range.discard(page - 1, 4 * page - 1);
    EXPECT_EQ(range.data()[page - 1], std::byte{7});
    EXPECT_TRUE(is_zero(range.data() + page, 2 * page));
    EXPECT_EQ(range.data()[3 * page], std::byte{7});
    range.discard(5 * page, 100 * page);
    EXPECT_TRUE(is_zero(range.data() + 5 * page, page));
    EXPECT_EQ(range.committed(), 6 * page);
}

TEST_F(reservation_books, populating_keeps_contents_and_stops_at_the_committed_end) {
    fake_reservation range(8 * page);
    ASSERT_TRUE(range.commit_to(3 * page));
    range.data()[page] = std::byte{7};
    range.populate(page + 1, page + 2);
    range.populate(0, 100 * page);
    EXPECT_EQ(range.data()[page], std::byte{7});
    EXPECT_EQ(fake_pages::count(page_call::populate), 2U);
    range.populate(3 * page, 4 * page);
    range.populate(2, 2);
    EXPECT_EQ(fake_pages::count(page_call::populate), 2U);
}

TEST_F(reservation_books, advice_is_given_again_for_pages_that_lost_it) {
    fake_reservation range(8 * page);
    ASSERT_TRUE(range.commit_to(page));
    if (!range.advise_huge(false)) GTEST_SKIP() << "this system takes no such advice";
    EXPECT_EQ(fake_pages::count(page_call::advise_huge), 1U);
    range.decommit_to(0);
    ASSERT_TRUE(range.commit_to(4 * page));
    EXPECT_TRUE(range.advise_huge(true));
    ASSERT_TRUE(range.commit_to(8 * page));
    EXPECT_EQ(fake_pages::count(page_call::advise_huge), 4U);
}

TEST_F(reservation_books, advice_that_is_refused_is_not_given_again) {
    fake_reservation range(8 * page);
    fake_pages::fail_once_at(0);
    EXPECT_FALSE(range.advise_huge(true));
    ASSERT_TRUE(range.commit_to(page));
    EXPECT_EQ(fake_pages::count(page_call::advise_huge), 1U);
}

TEST_F(reservation_books, a_commit_that_is_refused_changes_nothing) {
    fake_reservation range(8 * page);
    ASSERT_TRUE(range.commit_to(2 * page));
    fake_pages::set.charge_limit = 4 * page;
    EXPECT_FALSE(range.commit_to(5 * page));
    EXPECT_EQ(range.committed(), 2 * page);
    EXPECT_TRUE(range.commit_to(4 * page));
    fake_pages::set.charge_limit = fake_pages::never;
    EXPECT_TRUE(range.commit_to(8 * page));
}

TEST_F(reservation_books, a_refused_decommit_returns_the_memory_all_the_same) {
    fake_reservation range(8 * page);
    ASSERT_TRUE(range.commit_to(4 * page));
    std::fill_n(range.data(), 4 * page, std::byte{7});
    fake_pages::fail_once_at(0);
    range.decommit_to(page);
    EXPECT_EQ(range.committed(), 4 * page);
    EXPECT_EQ(range.data()[page - 1], std::byte{7});
    EXPECT_TRUE(is_zero(range.data() + page, 3 * page));
    range.decommit_to(page);
    EXPECT_EQ(range.committed(), page);
}

TEST_F(reservation_books, moving_takes_the_range_along_and_moves_no_memory) {
    fake_reservation first(8 * page);
    ASSERT_TRUE(first.commit_to(page));
    std::byte* const data = first.data();
    data[5] = std::byte{7};
    fake_reservation second(std::move(first));
    EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): what is left is empty
    EXPECT_EQ(first.size() + first.committed(), 0U);
    EXPECT_EQ(second.data(), data);
    fake_reservation third(page);
    third = std::move(second);
    EXPECT_EQ(fake_pages::reservations(), 1U);
    EXPECT_EQ(third.data()[5], std::byte{7});
    EXPECT_EQ(third.committed(), page);
    first = std::move(third);
    auto& same = first;
    first = std::move(same);
    EXPECT_EQ(first.data(), data) << "moving it to itself changes nothing";
}

// Random operations on pages and reservations of several sizes, any of which may be refused.
TEST_F(reservation_books, random_operations_keep_contents_and_books) {
    auto numbers = test::random_numbers();
    for (int life = 0; life < 60; ++life) {
        fake_pages::start();
        fake_pages::set.page_bytes = page << uniform(numbers, 0, 2);
        fake_pages::set.granularity_bytes = fake_pages::set.page_bytes << uniform(numbers, 0, 3);
        fake_reservation range(uniform<std::size_t>(numbers, 1, 40) * page);
        ASSERT_NE(range.size(), 0U);
        std::vector<unsigned char> model;  // what must lie in the committed part
        for (int step = 0; step < 60; ++step) {
            fake_pages::never_fail();
            if (uniform(numbers, 0, 4) == 0) fake_pages::fail_once_at(uniform<std::size_t>(numbers, 0, 1));
            const auto at = uniform<std::size_t>(numbers, 0, range.size() + page);
            const auto other = uniform<std::size_t>(numbers, 0, range.size() + page);
            const std::size_t before = range.committed();
            const bool refused_now = fake_pages::set.fail_at == fake_pages::fallible_calls;
            switch (uniform(numbers, 0, 3)) {
                case 0: {
                    const bool may = range.commit_to(at);
                    EXPECT_EQ(may, at <= before || (at <= range.size() && !refused_now));
                    EXPECT_EQ(range.committed(),
                              may ? std::max(before, detail::align_up(at, fake_pages::size())) : before);
                    break;
                }
                case 1: {
                    range.decommit_to(at);
                    const std::size_t target = std::min(before, detail::align_up(at, fake_pages::size()));
                    EXPECT_EQ(range.committed(), refused_now ? before : target);
                    std::fill(model.begin() + static_cast<std::ptrdiff_t>(target), model.end(), 0);
                    break;
                }
                case 2: {
                    range.discard(at, other);
                    const std::size_t first = detail::align_up(at, fake_pages::size());
                    const std::size_t last = std::min(other, before) / fake_pages::size() * fake_pages::size();
                    for (std::size_t i = first; i < last; ++i) model[i] = 0;
                    break;
                }
                default:
                    range.populate(at, other);
                    for (std::size_t i = at; i < std::min({other, before, at + 100}); ++i) {
                        model[i] = static_cast<unsigned char>(step);
                        range.data()[i] = std::byte{model[i]};
                    }
            }
            model.resize(range.committed());
            ASSERT_TRUE(model.empty() || std::memcmp(range.data(), model.data(), model.size()) == 0);
            ASSERT_FALSE(HasFailure()) << "life " << life << ", step " << step;
        }
    }
}

}  // namespace
}  // namespace millpond
