// SPDX-License-Identifier: BSL-1.0
// pages_test: the system's calls do what their names promise, on every supported system.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <millpond/core/detail/alignment.hpp>
#include <millpond/os/pages.hpp>

namespace millpond {
namespace {

using os::pages;

class system_pages : public testing::Test {
  protected:
    system_pages() : memory(static_cast<unsigned char*>(pages::reserve(bytes))) { errno = 77; }
    ~system_pages() override {
        pages::release(memory, bytes);
        EXPECT_EQ(errno, 77) << "errno belongs to the caller";
    }
    std::size_t page = pages::size();
    std::size_t bytes = 4 * detail::align_up(16 * page, pages::granularity());
    unsigned char* memory;
};

TEST_F(system_pages, sizes_are_powers_of_two_and_a_reservation_is_aligned) {
    EXPECT_TRUE(detail::is_power_of_two(page));
    EXPECT_TRUE(detail::is_power_of_two(pages::granularity()));
    EXPECT_GE(pages::granularity(), page);
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(detail::is_aligned(memory, pages::granularity()));
}

TEST_F(system_pages, reserved_pages_are_inaccessible_until_committed) {
    EXPECT_DEATH(static_cast<volatile unsigned char*>(memory)[0] = 1, "");
    ASSERT_TRUE(pages::commit(memory, page));
    memory[page - 1] = 1;
    EXPECT_EQ(memory[0], 0);
    EXPECT_DEATH(static_cast<volatile unsigned char*>(memory)[page] = 1, "");
}

TEST_F(system_pages, committing_again_keeps_what_is_there) {
    ASSERT_TRUE(pages::commit(memory, 2 * page));
    memory[0] = 7;
    ASSERT_TRUE(pages::commit(memory, 4 * page));
    EXPECT_EQ(memory[0], 7);
    EXPECT_EQ(memory[3 * page], 0);
}

TEST_F(system_pages, read_only_pages_keep_their_contents_until_they_are_writable) {
    ASSERT_TRUE(pages::commit(memory, 4 * page));
    memory[page] = 7;
    ASSERT_TRUE(pages::set_writable(memory, 2 * page, false));
    EXPECT_EQ(memory[page], 7);
    EXPECT_DEATH(static_cast<volatile unsigned char*>(memory)[page] = 1, "");
    memory[2 * page] = 8;
    ASSERT_TRUE(pages::set_writable(memory, 2 * page, true));
    memory[page] = 9;
    EXPECT_EQ(memory[2 * page], 8);
}

TEST_F(system_pages, populating_keeps_what_is_there) {
    ASSERT_TRUE(pages::commit(memory, 8 * page));
    memory[page] = 7;
    pages::populate(memory, 8 * page);
    EXPECT_EQ(memory[page], 7);
    EXPECT_EQ(memory[7 * page], 0);
}

TEST_F(system_pages, decommitted_pages_are_closed_and_come_back_as_zeros) {
    ASSERT_TRUE(pages::commit(memory, 8 * page));
    std::fill_n(memory, 8 * page, static_cast<unsigned char>(7));
    ASSERT_TRUE(pages::decommit(memory + 4 * page, 4 * page));
    EXPECT_DEATH(static_cast<volatile unsigned char*>(memory)[4 * page] = 1, "");
    EXPECT_EQ(memory[4 * page - 1], 7);
    ASSERT_TRUE(pages::commit(memory + 4 * page, 4 * page));
    EXPECT_TRUE(std::all_of(memory + 4 * page, memory + 8 * page, [](int value) { return value == 0; }));
}

TEST_F(system_pages, discarded_pages_stay_open_and_read_as_zeros) {
    ASSERT_TRUE(pages::commit(memory, 8 * page));
    std::fill_n(memory, 8 * page, static_cast<unsigned char>(7));
    pages::discard(memory + 2 * page, 4 * page);
    EXPECT_EQ(memory[2 * page - 1], 7);
    EXPECT_TRUE(std::all_of(memory + 2 * page, memory + 6 * page, [](int value) { return value == 0; }));
    EXPECT_EQ(memory[6 * page], 7);
    memory[3 * page] = 8;
    EXPECT_EQ(memory[3 * page], 8);
}

TEST_F(system_pages, advice_changes_no_contents) {
    ASSERT_TRUE(pages::commit(memory, 8 * page));
    memory[0] = 7;
    pages::advise_huge(memory, bytes, true);
    pages::advise_huge(memory, bytes, false);
    EXPECT_EQ(memory[0], 7);
}

TEST(system_limits, a_reservation_beyond_all_addresses_fails) {
    EXPECT_EQ(pages::reserve(~std::size_t{0} & ~(pages::granularity() - 1)), nullptr);
}

}  // namespace
}  // namespace millpond
