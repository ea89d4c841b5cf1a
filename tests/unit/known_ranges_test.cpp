// SPDX-License-Identifier: BSL-1.0
// known_ranges_test: checked mode's memory of addresses and blocks, when memory or a lock is not available.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <millpond/block/region.hpp>
#include <millpond/block/reservation.hpp>
#include <millpond/wrap/in_mode.hpp>
#include <vector>

#include "support/between_instructions.hpp"
#include "support/in_a_child.hpp"

namespace millpond {
namespace {

static_assert(is_checked_mode);

using detail::known_ranges;
using os::pages;
using test::status_of_child;

constexpr std::size_t mega = std::size_t{1} << 20;

// Limits this process to `more` bytes of addresses beyond the present ones.
void limit_addresses(std::size_t more) {
    std::size_t now = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%zu", &now) != 1) now = 0;
        std::fclose(file);
    }
    const rlimit limit{now * pages::size() + more, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
}

bool is_mapped(const void* page) {
    unsigned char there = 0;
    return mincore(const_cast<void*>(page), 1, &there) == 0;
}

TEST(known_ranges, released_ranges_keep_their_addresses_until_those_run_short) {
    EXPECT_EQ(status_of_child([] {
                  const void* first = nullptr;
                  for (int i = 0; i < 12; ++i) {
                      const reservation range(64 * mega);
                      if (i == 0) first = range.data();
                  }
                  if (!is_mapped(first)) return false;
                  limit_addresses(32 * mega);  // the kept ones have twenty times as much
                  const reservation next(64 * mega);
                  return next.size() == 64 * mega && !known_ranges::release_kept();
              }),
              0);
}

TEST(known_ranges, the_oldest_released_range_goes_first) {
    known_ranges::release_kept();
    std::vector<const void*> places;
    for (int i = 0; i < 17; ++i) places.push_back(reservation(mega).data());
    EXPECT_FALSE(is_mapped(places.front()));
    for (std::size_t i = 1; i < places.size(); ++i) EXPECT_TRUE(is_mapped(places[i])) << i;
    EXPECT_TRUE(known_ranges::release_kept());
    for (const void* place : places) EXPECT_FALSE(is_mapped(place));
    EXPECT_FALSE(known_ranges::release_kept());
}

TEST(known_ranges, a_range_that_is_gone_has_no_name_any_more) {
    EXPECT_EXIT(
        {
            reservation range(mega);
            volatile char* const inside = reinterpret_cast<char*>(range.data());
            range.name("the first");
            const void* const begin = range.data();
            range = {};
            known_ranges::name(begin, "the second");
            *inside = 1;
        },
        testing::KilledBySignal(SIGABRT), "use after release: the first: memory");
}

TEST(known_ranges, more_than_can_be_known_are_served_all_the_same) {
    std::vector<reservation> ranges;
    for (int i = 0; i < 600; ++i) {
        ranges.emplace_back(pages::size());
        ASSERT_NE(ranges.back().size(), 0u);
        ASSERT_TRUE(ranges.back().commit_to(pages::size()));
        std::memset(ranges.back().data(), 1, pages::size());
    }
    const void* const last = ranges.back().data();
    ranges.pop_back();
    EXPECT_FALSE(is_mapped(last)) << "the range is unknown, so it is not kept";
}

// No page can lie at this address, so none can be taken back.
TEST(known_ranges, a_range_that_cannot_be_returned_is_forgotten) {
    auto* const beyond = reinterpret_cast<char*>(~std::uintptr_t{0} - mega + 1);
    known_ranges::add(beyond, mega / 2, mega / 2);
    known_ranges::release(beyond, mega / 2);
    known_ranges::release(beyond, mega / 2);  // unknown by now
    known_ranges::release_kept();
    EXPECT_FALSE(known_ranges::release_kept()) << "it was not kept";
}

// Another thread makes and loses a range between any two instructions of a thread that does the same.
TEST(known_ranges, a_thread_that_meets_the_lock_goes_on_without_the_list) {
    if (!test::can_step) GTEST_SKIP() << "the processor does not trap here, or a sanitizer holds signals back";
    test::between_instructions stepping;
    const std::size_t page = pages::size();
    std::size_t at = 0;
    for (bool has_acted = true; has_acted && at < 5000; at += 13) {
        void* const mine = pages::reserve(page);
        void* const theirs = pages::reserve(page);
        const auto come_and_go = [page](void* range) {
            known_ranges::add(range, page, page);
            known_ranges::name(range, "a page");
            known_ranges::release(range, page);
        };
        has_acted = stepping.run(
            at, [&] { come_and_go(mine); },
            [&] {
                come_and_go(theirs);
                known_ranges::release_kept();
            });
        if (!has_acted) come_and_go(theirs);
        known_ranges::release_kept();
        ASSERT_FALSE(is_mapped(mine)) << at;
        ASSERT_FALSE(is_mapped(theirs)) << at;
    }
    EXPECT_GT(at, 5u);
    EXPECT_LT(at, 5000u);
}

TEST(live_blocks, each_block_is_freed_by_its_own_size) {
    region source(64 * mega);
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(source.allocate(64, 8));
    for (void* block : blocks) source.deallocate(block, 64, 8);
    EXPECT_EQ(source.used_bytes(), 0u);
    EXPECT_EXIT(source.deallocate(blocks[50], 64, 8), testing::KilledBySignal(SIGABRT), "double free: the region");
}

TEST(live_blocks, an_unknown_block_keeps_the_given_size) {
    detail::live_blocks known;
    char memory[64] = {};
    known.note(memory, 24, 24, 8);
    known.resize(memory + 32, 16);
    known.resize(memory, 16);
    known.drop(memory, 16, 8, "the memory");
    EXPECT_EXIT(known.drop(memory, 16, 8, "the memory"), testing::KilledBySignal(SIGABRT), "double free: the memory");
}

TEST(live_blocks, without_memory_for_its_list_it_checks_no_more_blocks) {
    EXPECT_EQ(status_of_child([] {
                  detail::live_blocks known;
                  limit_addresses(8 * mega);
                  static char places[8 * mega];  // a list of them takes more than malloc may have kept at hand
                  for (char& place : places) known.note(&place, 1, 1, 1);
                  known.drop(places, 1, 1, "a place");                // known from the beginning
                  known.drop(std::end(places) - 1, 1, 1, "a place");  // not known, and so no misuse
                  known.drop(std::end(places) - 1, 1, 1, "a place");
                  return true;
              }),
              0);
}

}  // namespace
}  // namespace millpond
