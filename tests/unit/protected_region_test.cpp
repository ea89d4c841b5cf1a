// SPDX-License-Identifier: BSL-1.0
// protected_region_test: a region between protect and unprotect: its blocks can be read, and nothing changes.
#include <gtest/gtest.h>

#include <cstring>
#include <millpond/block/region.hpp>
#include <new>

#include "support/fake_pages.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::page_call;
using fake_region = basic_region<fake_pages>;

constexpr std::size_t kilo = 1024;
constexpr std::size_t mega = 1024 * kilo;

class protected_region : public testing::Test {
  protected:
    protected_region() { fake_pages::start(); }
    ~protected_region() override {
        EXPECT_EQ(fake_pages::reservations(), 0U);
        fake_pages::start();
    }
};

char* at(void* block) { return static_cast<char*>(block); }

TEST_F(protected_region, protected_blocks_are_read_only_until_unprotect) {
    fake_region source(64 * mega);
    char* const small = at(source.allocate(100, 8));
    char* const large = at(source.allocate(mega, 8));
    std::memset(small, 1, 100);
    std::memset(large, 2, mega);
    ASSERT_TRUE(source.protect());
    EXPECT_EQ(small[99] + large[mega - 1], 3);
    EXPECT_DEATH(static_cast<volatile char*>(small)[99] = 7, "");
    EXPECT_DEATH(static_cast<volatile char*>(large)[mega / 2] = 7, "");
    ASSERT_TRUE(source.unprotect());
    std::memset(large, 3, mega);
    EXPECT_EQ(small[99] + large[mega - 1], 4);
}

TEST_F(protected_region, a_protected_region_refuses_blocks_and_changes_nothing) {
    fake_region source(64 * mega);
    char* const hole = at(source.allocate(40 * kilo, 8));
    char* const last = at(source.allocate(100, 8));
    source.deallocate(hole, 40 * kilo, 8);
    ASSERT_TRUE(source.protect());
    ASSERT_TRUE(source.protect());
    EXPECT_EQ(fake_pages::count(page_call::set_writable), 1U);
    const std::size_t used = source.used_bytes(), held = source.held_bytes();
    EXPECT_EQ(source.try_allocate(1, 1), nullptr);
    EXPECT_EQ(source.try_allocate(40 * kilo, 8), nullptr) << "the hole is protected, too";
    EXPECT_EQ(source.try_allocate_at_least(10 * mega, 8).start, nullptr);
    EXPECT_EQ(source.try_resize(last, 100, 200), 100U);
    EXPECT_EQ(source.try_resize(last, 100, 50), 100U);
    EXPECT_THROW(static_cast<void>(source.allocate(1, 1)), std::bad_alloc);
    EXPECT_EQ(source.used_bytes(), used);
    EXPECT_EQ(source.held_bytes(), held);
    ASSERT_TRUE(source.unprotect());
    EXPECT_EQ(source.try_allocate(40 * kilo, 8), hole);
}

TEST_F(protected_region, a_protected_region_can_be_released_and_destroyed) {
    fake_region source(64 * mega);
    ASSERT_TRUE(source.protect()) << "with nothing in it";
    EXPECT_EQ(source.try_allocate(1, 1), nullptr);
    ASSERT_TRUE(source.unprotect());
    std::memset(source.allocate(mega, 8), 1, mega);
    ASSERT_TRUE(source.protect());
    source.release();
    char* const block = at(source.allocate(mega, 8));
    EXPECT_EQ(block[0], 0);
    std::memset(block, 2, mega);
    EXPECT_TRUE(source.protect());
}

}  // namespace
}  // namespace millpond
