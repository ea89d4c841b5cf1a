// SPDX-License-Identifier: BSL-1.0
// region_test: a block source in one range: its limit, its frontier, and the memory that it commits and returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <millpond/block/region.hpp>
#include <millpond/block/source_ref.hpp>
#include <millpond/core/concepts.hpp>
#include <new>
#include <vector>

#include "support/fake_pages.hpp"
#include "support/highest_bit.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::page_call;
using fake_region = basic_region<fake_pages>;

static_assert(managed_allocator<region> && rounding_source<region> && resizing_source<region>);
static_assert(resizing_source<source_ref<region>> && !resizing_source<source_ref<detail::recent_peak>>);

constexpr std::size_t kilo = 1024;
constexpr std::size_t mega = 1024 * kilo;

class region_books : public testing::Test {
  protected:
    region_books() {
        fake_pages::start();
        fake_pages::set.granularity_bytes = page;
    }
    ~region_books() override {
        EXPECT_EQ(fake_pages::reservations(), 0U);
        fake_pages::start();
    }
    std::size_t page = fake_pages::size();
};

char* at(void* block) { return static_cast<char*>(block); }

TEST_F(region_books, reserves_nothing_before_the_first_block) {
    fake_region source;
    EXPECT_EQ(source.limit_bytes(), fake_region::default_limit_bytes);
    source.reset();
    source.release();
    EXPECT_EQ(fake_pages::fallible_calls, 0U);
    EXPECT_EQ(source.held_bytes(), 0U);
    EXPECT_NE(source.try_allocate(1, 1), nullptr);
    EXPECT_GE(source.held_bytes(), page);
}

TEST_F(region_books, the_limit_is_exact_and_a_refusal_changes_nothing) {
    fake_region source(10 * page - 1);
    EXPECT_EQ(source.try_allocate(10 * page + 1, 1), nullptr);
    EXPECT_EQ(source.try_allocate(~std::size_t{0}, 1), nullptr);
    EXPECT_EQ(source.used_bytes(), 0U);
    void* const first = source.try_allocate(9 * page, 1);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(source.try_allocate(page + 1, 1), nullptr);
    EXPECT_EQ(source.try_allocate(~std::size_t{0} - 8 * page, 1), nullptr) << "the end of the block wraps around";
    EXPECT_EQ(source.try_allocate(1, test::highest_bit / 2), nullptr);
    EXPECT_EQ(source.try_allocate(1, test::highest_bit), nullptr);
    void* const last = source.try_allocate(page, 1);
    EXPECT_EQ(last, at(first) + 9 * page);
    std::memset(first, 1, 10 * page);
    EXPECT_EQ(source.try_allocate(0, 1), nullptr) << "0 bytes are 1";
    EXPECT_EQ(source.limit_bytes(), 10 * page);
}

TEST_F(region_books, a_limit_of_zero_refuses_every_block) {
    fake_region none(0);
    fake_region negative(-5);
    for (fake_region* source : {&none, &negative}) {
        EXPECT_EQ(source->try_allocate(1, 1), nullptr);
        EXPECT_EQ(source->try_allocate_at_least(1, 1).start, nullptr);
        EXPECT_EQ(source->limit_bytes(), 0U);
        EXPECT_THROW(static_cast<void>(source->allocate(1, 1)), std::bad_alloc);
        EXPECT_FALSE(source->advise_huge(true));
    }
}

TEST_F(region_books, the_limit_is_lower_if_addresses_are_scarce) {
    fake_pages::set.address_limit = 11 * page;
    fake_region source(64 * page);
    void* const all = source.allocate(8 * page, page);
    EXPECT_EQ(source.limit_bytes(), 8 * page);
    EXPECT_EQ(source.try_allocate(1, 1), nullptr);
    source.deallocate(all, 8 * page, page);
}

TEST_F(region_books, every_alignment_is_served_and_blocks_follow_one_another) {
    fake_region source(64 * mega);
    const char* end = at(source.allocate(3, 1)) + 3;
    for (std::size_t alignment = 1; alignment <= 8 * mega; alignment *= 2) {
        void* const block = source.try_allocate(5, alignment);
        ASSERT_NE(block, nullptr);
        EXPECT_TRUE(detail::is_aligned(block, alignment));
        EXPECT_EQ(at(block), end + detail::padding_to(end, alignment));
        std::memset(block, 1, 5);
        end = at(block) + 5;
    }
}

TEST_F(region_books, blocks_that_come_back_in_the_order_of_a_stack_are_used_again) {
    fake_region source(mega);
    void* const first = source.allocate(100, 8);
    void* const second = source.allocate(5000, 8);
    source.deallocate(second, 5000, 8);
    EXPECT_EQ(source.allocate(0, 8), second);
    source.deallocate(second, 0, 8);
    source.deallocate(first, 100, 8);
    EXPECT_EQ(source.used_bytes(), 0U);
    EXPECT_EQ(source.allocate(1, 1), first);
}

TEST_F(region_books, middle_frees_return_pages_and_last_free_resets) {
    fake_region source(mega);
    char* const first = at(source.allocate(100, 8));
    char* const middle = at(source.allocate(4 * page, 1));
    char* const last = at(source.allocate(100, 1));
    std::memset(first, 1, 100 + 4 * page + 100);
    source.deallocate(middle, 4 * page, 1);
    EXPECT_EQ(fake_pages::count(page_call::discard), 1U);
    EXPECT_EQ(first[99] + last[0], 2) << "the neighbours keep their contents";
    EXPECT_EQ(source.allocate(100, 1), last + 100) << "its addresses are not used again yet";
    source.deallocate(last, 100, 1);
    EXPECT_EQ(fake_pages::count(page_call::discard), 1U) << "there is no whole page in it";
    source.deallocate(first, 100, 8);
    source.deallocate(last + 100, 100, 1);
    EXPECT_EQ(source.allocate(1, 1), first);
}

TEST_F(region_books, allocate_at_least_gives_whole_pages) {
    fake_region source(mega);
    const allocation first = source.try_allocate_at_least(100, 8);
    EXPECT_EQ(first.bytes, page);
    const allocation second = source.try_allocate_at_least(page + 1, 8);
    EXPECT_EQ(second.start, at(first.start) + page);
    EXPECT_EQ(second.bytes, 2 * page);
    std::memset(first.start, 1, 3 * page);
    source.deallocate(second.start, second.bytes, 8);
    source.deallocate(first.start, 100, 8);
    EXPECT_EQ(source.used_bytes(), 0U);
    EXPECT_EQ(source.try_allocate_at_least(2 * mega, 8).start, nullptr);
}

TEST_F(region_books, the_last_block_grows_and_shrinks_in_place) {
    fake_region source(4 * mega);
    char* const block = at(source.allocate(100, 8));
    std::memset(block, 1, 100);
    const std::size_t wanted = std::max(50 * kilo, 2 * page);
    const std::size_t grown = source.try_resize(block, 100, wanted);
    EXPECT_GE(grown, wanted);
    EXPECT_LE(grown, wanted + fake_region::least_step_bytes + page);
    EXPECT_TRUE(std::all_of(block, block + 100, [](char value) { return value == 1; }));
    std::memset(block, 2, grown);
    const std::size_t shrunk = source.try_resize(block, grown, 10);
    EXPECT_GE(shrunk, 10U);
    EXPECT_LT(shrunk, grown);
    EXPECT_EQ(block[9], 2);
    EXPECT_EQ(source.used_bytes(), shrunk);
    const std::size_t same = source.try_resize(block, shrunk, shrunk);
    EXPECT_EQ(same, shrunk);
    source.deallocate(block, same, 8);
    EXPECT_EQ(source.used_bytes(), 0U);
}

TEST_F(region_books, only_the_last_block_is_resized_and_within_the_limit) {
    fake_region source(64 * page);
    void* const first = source.allocate(100, 1);
    void* const last = source.allocate(100, 1);
    EXPECT_EQ(source.try_resize(first, 100, 200), 100U);
    EXPECT_EQ(source.try_resize(first, 100, 10), 100U);
    EXPECT_EQ(source.try_resize(last, 100, 64 * page), 100U);
    EXPECT_EQ(source.try_resize(last, 100, ~std::size_t{0}), 100U);
    EXPECT_EQ(source.try_resize(last, 100, 64 * page - 100), 64 * page - 100) << "all that is left";
}

TEST_F(region_books, memory_is_committed_and_populated_in_growing_steps) {
    fake_region source(std::size_t{1} << 30);
    std::size_t bytes = 0;
    for (; bytes < 64 * mega; bytes += kilo) static_cast<void>(source.allocate(kilo, 1));
    // 7 of at least 16 KiB to 128 KiB, 35 of an eighth to 8 MiB, 56 of 1 MiB.
    EXPECT_LT(fake_pages::count(page_call::commit), 110U);
    EXPECT_GT(fake_pages::count(page_call::commit), 80U);
    EXPECT_EQ(fake_pages::count(page_call::populate), fake_pages::count(page_call::commit));
    EXPECT_LE(source.held_bytes(), bytes + fake_region::most_step_bytes + page);
    const std::size_t before = fake_pages::count(page_call::populate);
    static_cast<void>(source.allocate(100 * mega, 1));
    EXPECT_EQ(fake_pages::count(page_call::populate), before) << "a block this large may never be written whole";
}

TEST_F(region_books, if_a_step_is_refused_only_the_block_is_committed) {
    fake_region source(mega);
    fake_pages::set.charge_limit = fake_pages::charged_bytes + 2 * page;
    void* const block = source.try_allocate(page + 1, 1);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(source.held_bytes(), 2 * page);
    EXPECT_EQ(source.try_resize(block, page + 1, 2 * page), 2 * page);
    EXPECT_EQ(source.try_resize(block, 2 * page, 2 * page + 1), 2 * page);
    EXPECT_EQ(source.try_allocate(1, 1), nullptr);
    fake_pages::set.charge_limit = fake_pages::never;
    EXPECT_NE(source.try_allocate(1, 1), nullptr);
}

TEST_F(region_books, repeated_work_commits_nothing_more) {
    fake_region source(64 * mega);
    const auto work = [&source] {
        for (int i = 0; i < 40; ++i) static_cast<void>(source.allocate(100 * kilo, 8));
        source.reset();
        static_cast<void>(source.allocate(10, 8));
        source.reset();
    };
    work();
    const std::size_t calls = fake_pages::fallible_calls;
    for (int round = 0; round < 50; ++round) work();
    EXPECT_EQ(fake_pages::fallible_calls, calls);
}

TEST_F(region_books, a_single_peak_is_not_hoarded) {
    fake_region source(64 * mega);
    static_cast<void>(source.allocate(20 * mega, 8));
    int falls = 0;
    for (source.reset(); source.held_bytes() >= 20 * mega; ++falls) {
        ASSERT_LT(falls, 8);
        static_cast<void>(source.allocate(200 * kilo, 8));
        source.reset();
    }
    EXPECT_GE(falls, 4) << "a peak that may come again is kept a while";
    EXPECT_LE(source.held_bytes(), 300 * kilo);
    EXPECT_EQ(fake_pages::count(page_call::decommit), 1U);
    EXPECT_NE(source.try_allocate(20 * mega, 8), nullptr);
}

TEST_F(region_books, blocks_that_come_back_one_by_one_take_the_memory_along) {
    fake_region source(64 * mega);
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(source.allocate(100 * kilo, 8));
    for (int i = 0; i < 190; ++i) {
        source.deallocate(blocks.back(), 100 * kilo, 8);
        blocks.pop_back();
    }
    EXPECT_LE(source.held_bytes(), 3 * mega);
    EXPECT_LE(fake_pages::count(page_call::decommit), 30U) << "not for every block";
    for (void* block : blocks) std::memset(block, 1, 100 * kilo);
}

// A bin with more than 64 holes examines only the latest ones; a block of another size does not fit any of them.
TEST_F(region_books, a_hole_serves_only_its_own_size_and_alignment) {
    fake_region source(64 * mega);
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 70; ++i) {
        blocks.push_back(source.allocate(40 * kilo + 8 * i, 8));
        static_cast<void>(source.allocate(8, 8));
    }
    for (std::size_t i = 0; i < 70; ++i) source.deallocate(blocks[i], 40 * kilo + 8 * i, 8);
    void* const last = source.allocate(8, 8);
    EXPECT_GT(source.allocate(40 * kilo, 8), last) << "noted first, and so looked at no more";
    EXPECT_GT(source.allocate(40 * kilo + 4, 4), last);
    void* const aligned = source.allocate(40 * kilo + 8 * 69, 1u << 20);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % (1u << 20), 0u);
    EXPECT_GT(aligned, last);
    EXPECT_EQ(source.try_allocate_at_least(40 * kilo + 8 * 69, 8).start, blocks[69]);
    EXPECT_EQ(source.allocate(40 * kilo + 8 * 68, 8), blocks[68]);
}

TEST_F(region_books, a_wide_hole_is_cut_where_its_rest_can_be_remembered) {
    fake_region source(256 * mega);
    static_cast<void>(source.allocate(8, 8));
    void* const wide = source.allocate(8 * mega, 8);
    void* const behind = source.allocate(8, 8);
    source.deallocate(wide, 8 * mega, 8);
    EXPECT_GT(source.allocate(8 * mega - 8, 8), behind) << "the rest is too small";
    EXPECT_GT(source.allocate(2 * mega, mega), behind) << "it begins askew";
    EXPECT_EQ(source.allocate(3 * mega, 8), wide);
    EXPECT_EQ(source.allocate(5 * mega - 24, 8), at(wide) + 3 * mega) << "the rest can just be remembered";
}

// Unaligned blocks, and sizes that would make the next block unaligned, return their memory and leave no hole.
TEST_F(region_books, wide_blocks_askew_leave_no_hole) {
    fake_region source(256 * mega);
    static_cast<void>(source.allocate(1, 1));
    void* const askew = source.allocate(3 * mega, 1);
    ASSERT_NE(reinterpret_cast<std::uintptr_t>(askew) % 8, 0u);
    void* const odd = source.allocate(3 * mega + 1, 8);
    void* const behind = source.allocate(8, 8);
    const std::size_t held = source.held_bytes();
    source.deallocate(askew, 3 * mega, 1);
    source.deallocate(odd, 3 * mega + 1, 8);
    EXPECT_LE(source.held_bytes(), held);
    EXPECT_GT(source.allocate(3 * mega, 1), behind);
    EXPECT_GT(source.allocate(3 * mega + 1, 8), behind);
}

TEST_F(region_books, release_gives_all_memory_back_and_keeps_the_addresses) {
    fake_region source(64 * mega);
    void* const block = source.allocate(20 * mega, 8);
    source.release();
    EXPECT_EQ(source.held_bytes() + source.used_bytes() + fake_pages::charged_bytes, 0U);
    EXPECT_EQ(source.allocate(10, 8), block);
}

TEST_F(region_books, offsets_lead_back_to_their_blocks) {
    fake_region source(mega);
    EXPECT_EQ(source.at(0), nullptr);
    void* const first = source.allocate(100, 8);
    char* const second = at(source.allocate(100, 64));
    EXPECT_EQ(source.offset_of(first), 0U);
    EXPECT_EQ(source.at(source.offset_of(second + 99)), second + 99);
    EXPECT_EQ(source.at(source.used_bytes()), nullptr);
}

TEST_F(region_books, huge_pages_can_be_asked_for_at_any_time) {
    fake_region source(64 * mega);
    const bool known = source.advise_huge(true);
    static_cast<void>(source.allocate(10 * mega, 8));
    EXPECT_EQ(source.advise_huge(false), known);
    EXPECT_EQ(fake_pages::reservations(), 1U);
}

TEST_F(region_books, pages_may_be_of_any_size) {
    fake_pages::set.page_bytes = 4 * page;
    fake_pages::set.granularity_bytes = 16 * page;
    fake_region source(mega + 1);
    EXPECT_NE(source.try_allocate(mega, 4 * page), nullptr);
    EXPECT_EQ(source.limit_bytes(), mega + 4 * page);
    source.reset();
    source.release();
}

TEST(recent_peaks, a_peak_is_remembered_for_four_to_seven_more_falls) {
    for (unsigned before = 0; before < detail::recent_peak::falls_in_epoch; ++before) {
        detail::recent_peak peak;
        for (unsigned i = 0; i < before; ++i) EXPECT_EQ(peak.note(1), 1U);
        EXPECT_EQ(peak.note(100), 100U);
        unsigned remembered = 0;
        while (peak.note(1) == 100) ++remembered;
        EXPECT_EQ(remembered, 7 - before);
    }
}

}  // namespace
}  // namespace millpond
