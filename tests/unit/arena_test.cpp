// SPDX-License-Identifier: BSL-1.0
// arena_test: monotonic in one range: it grows in place, up to its limit, and returns memory that it no longer needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory_resource>
#include <millpond/bind.hpp>
#include <millpond/block/source_ref.hpp>
#include <millpond/local/arena.hpp>
#include <millpond/local/multipool.hpp>
#include <millpond/local/rewind_scope.hpp>
#include <millpond/wrap/checked.hpp>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_pages.hpp"
#include "support/highest_bit.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::page_call;
using fake_arena = monotonic<basic_region<fake_pages>>;

template <class A>
concept absorbing = requires(A& a) { a.absorb(a); };

static_assert(rewindable_allocator<arena>);
static_assert(absorbing<monotonic<>> && !absorbing<arena>, "two ranges cannot become one");

constexpr std::size_t kilo = 1024;
constexpr std::size_t mega = 1024 * kilo;

class arena_in_one_range : public testing::Test {
  protected:
    arena_in_one_range() { fake_pages::start(); }
    ~arena_in_one_range() override {
        EXPECT_EQ(fake_pages::reservations(), 0U);
        EXPECT_EQ(fake_pages::charged_bytes, 0U);
        fake_pages::start();
    }
};

char* written(void* block, std::size_t bytes) {
    std::memset(block, 0x5A, bytes);
    return static_cast<char*>(block);
}

// Regression: under an address sanitizer, a block that ended with the pages had no gap behind it, and the next block,
// on new pages, lay in the place of the gap. Freeing the first was reported as a wrong size.
TEST_F(arena_in_one_range, blocks_that_end_where_the_pages_end_go_back_as_they_came) {
    for (std::size_t phase = 0; phase < 16; ++phase) {
        fake_arena pool(64 * mega);
        std::vector<std::pair<void*, std::size_t>> blocks;
        for (std::size_t n = 0; n < 40000; ++n) {
            const std::size_t bytes = 1 + (n * 7 + phase) % 16;
            blocks.emplace_back(written(pool.allocate(bytes, 1), bytes), bytes);
        }
        for (const auto& [block, bytes] : blocks) pool.deallocate(block, bytes, 1);
    }
}

TEST_F(arena_in_one_range, blocks_follow_one_another_without_gaps) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    fake_arena pool(64 * mega);
    char* end = written(pool.allocate(16, 16), 16) + 16;
    for (std::size_t bytes = 16; bytes <= 16 * mega; bytes *= 2) {
        char* const block = written(pool.allocate(bytes, 16), bytes);
        EXPECT_EQ(block, end);
        end = block + bytes;
    }
    EXPECT_EQ(fake_pages::count(page_call::reserve), 1U);
    EXPECT_LE(pool.held_bytes(), 32 * mega + 2 * mega);
}

TEST_F(arena_in_one_range, the_limit_holds_and_only_the_header_is_not_the_callers) {
    fake_arena pool(mega);
    EXPECT_EQ(pool.try_allocate(mega, 16), nullptr);
    EXPECT_EQ(pool.try_allocate(~std::size_t{0}, 16), nullptr);
    EXPECT_EQ(pool.try_allocate(1, test::highest_bit), nullptr);
    const std::size_t most = mega - sizeof(detail::chunk_header);
    const auto start = pool.checkpoint();
    written(pool.allocate(most, 16), most);
    EXPECT_EQ(pool.try_allocate(1, 1), nullptr);
    EXPECT_THROW(static_cast<void>(pool.allocate(1, 1)), std::bad_alloc);
    pool.rewind(start);
    if (detail::address_sanitizer) return;  // there are gaps
    for (std::size_t rest = most; rest > 0; rest -= std::min<std::size_t>(rest, 32))
        written(pool.allocate(std::min<std::size_t>(rest, 32), 1), std::min<std::size_t>(rest, 32));
    EXPECT_EQ(pool.try_allocate(1, 1), nullptr);
    EXPECT_EQ(fake_pages::count(page_call::reserve), 1U);
}

TEST_F(arena_in_one_range, every_alignment_is_served_while_it_grows) {
    fake_arena pool(256 * mega);
    for (std::size_t alignment = 1; alignment <= 32 * mega; alignment *= 2) {
        EXPECT_TRUE(detail::is_aligned(written(pool.allocate(1, alignment), 1), alignment));
        EXPECT_TRUE(detail::is_aligned(written(pool.allocate(100 * kilo, alignment), 100 * kilo), alignment));
    }
}

TEST_F(arena_in_one_range, a_page_behind_the_end_of_the_range_is_never_accessible) {
    arena pool(16 * os::pages::size());
    const std::size_t most = pool.source().limit_bytes() - sizeof(detail::chunk_header);
    char* const block = written(pool.allocate(most, 16), most);
    EXPECT_DEATH(static_cast<volatile char*>(block)[most] = 1, "");
}

TEST_F(arena_in_one_range, rewinds_keep_older_checkpoints_valid) {
    fake_arena pool(64 * mega);
    const auto nothing = pool.checkpoint();
    char* const first = written(pool.allocate(1000, 8), 1000);
    const auto one = pool.checkpoint();
    char* const second = written(pool.allocate(10 * mega, 8), 10 * mega);
    const auto two = pool.checkpoint();
    written(pool.allocate(20 * mega, 8), 20 * mega);
    pool.rewind(two);
    EXPECT_EQ(second[10 * mega - 1], 0x5A);
    pool.rewind(one);
    EXPECT_EQ(pool.allocate(10 * mega, 8), second);
    EXPECT_EQ(first[999], 0x5A);
    pool.rewind(nothing);
    EXPECT_EQ(pool.allocate(1000, 8), first);
    pool.reset();
    EXPECT_EQ(pool.allocate(1000, 8), first);
}

TEST_F(arena_in_one_range, scopes_that_repeat_themselves_ask_the_system_for_nothing) {
    fake_arena pool(64 * mega);
    written(pool.allocate(mega, 8), mega);
    const auto round = [&pool] {
        rewind_scope outer(pool);
        for (int i = 0; i < 100; ++i) written(pool.allocate(50 * kilo, 8), 50 * kilo);
    };
    round();
    const std::size_t calls = fake_pages::fallible_calls;
    for (int i = 0; i < 30; ++i) round();
    EXPECT_EQ(fake_pages::fallible_calls, calls);
}

// The same holds for rewinds to a block, rewinds to the start, and reset.
TEST_F(arena_in_one_range, memory_that_is_no_longer_used_goes_back_after_a_while) {
    for (int way = 0; way < 3; ++way) {
        fake_arena pool(64 * mega);
        const auto nothing = pool.checkpoint();
        if (way == 0) written(pool.allocate(100, 8), 100);
        const auto start = way == 0 ? pool.checkpoint() : nothing;
        const auto go_back = [&] { way == 2 ? pool.reset() : pool.rewind(start); };
        written(pool.allocate(30 * mega, 8), 30 * mega);
        go_back();
        EXPECT_GE(pool.source().held_bytes(), 30 * mega);
        for (int i = 0; i < 8; ++i) {
            written(pool.allocate(kilo, 8), kilo);
            go_back();
        }
        const std::size_t most = std::max(100 * kilo, 2 * fake_pages::size());
        EXPECT_LE(pool.source().held_bytes(), most) << "way " << way;
        EXPECT_LE(fake_pages::charged_bytes, most);
        written(pool.allocate(30 * mega, 8), 30 * mega);
    }
}

TEST_F(arena_in_one_range, release_gives_all_memory_back) {
    fake_arena pool(64 * mega);
    void* const block = written(pool.allocate(mega, 8), mega);
    pool.release();
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
    EXPECT_EQ(pool.held_bytes(), 0U);
    EXPECT_EQ(pool.allocate(mega, 8), block);
}

// Once the range has been entered, every block follows the one before it, however much room the buffer still has.
TEST_F(arena_in_one_range, blocks_stay_in_the_range_when_a_buffer_was_left) {
    std::vector<char> buffer(4 * mega);
    fake_arena pool(initial_buffer{buffer.data(), buffer.size()}, 64 * mega);
    char* const large = static_cast<char*>(pool.allocate(5 * mega, 16));
    char* const small = static_cast<char*>(pool.allocate(16, 16));
    EXPECT_GE(small, large + 5 * mega);
    EXPECT_LT(small, large + 6 * mega);
}

TEST_F(arena_in_one_range, a_buffer_of_the_callers_comes_first) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    alignas(16) char buffer[256];
    fake_arena pool(initial_buffer{buffer, sizeof buffer}, 64 * mega);
    EXPECT_EQ(pool.allocate(100, 1), buffer);
    EXPECT_EQ(fake_pages::fallible_calls, 0U);
    const auto in_buffer = pool.checkpoint();
    char* const large = written(pool.allocate(mega, 8), mega);
    EXPECT_EQ(written(pool.allocate(10, 1), 10), large + mega) << "the range goes on where it is";
    EXPECT_EQ(written(pool.allocate(mega, 1), mega), large + mega + 10);
    pool.rewind(in_buffer);
    EXPECT_EQ(pool.allocate(100, 1), buffer + 100);
    EXPECT_EQ(written(pool.allocate(mega, 8), mega), large);
}

TEST_F(arena_in_one_range, several_may_share_a_region_and_only_the_last_grows_in_place) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    basic_region<fake_pages> source(64 * mega);
    {
        monotonic<source_ref<basic_region<fake_pages>>> first(source);
        monotonic<source_ref<basic_region<fake_pages>>> second(source);
        const auto start = first.checkpoint();
        char* const a = written(first.allocate(100, 8), 100);
        const auto behind_a = first.checkpoint();
        char* const b = written(second.allocate(100, 8), 100);
        char* const a2 = written(first.allocate(100 * kilo, 8), 100 * kilo);
        EXPECT_GT(a2, b);
        EXPECT_EQ(written(first.allocate(100 * kilo, 8), 100 * kilo), a2 + 100 * kilo);
        first.rewind(behind_a);
        EXPECT_EQ(static_cast<char*>(first.allocate(100, 1)), a + 100);
        EXPECT_EQ(written(second.allocate(200 * kilo, 8), 200 * kilo)[0], 0x5A);
        first.rewind(start);
        EXPECT_EQ(b[99], 0x5A);
        EXPECT_NE(first.try_allocate(100, 8), nullptr);
    }
    EXPECT_EQ(source.used_bytes(), 0U);
}

TEST_F(arena_in_one_range, it_is_a_memory_resource_and_serves_type_bindings) {
    resource<fake_arena> base(16 * mega);
    {
        std::pmr::vector<std::pmr::string> lines(&base);
        for (int i = 0; i < 1000; ++i) lines.emplace_back(100, 'x');
        EXPECT_EQ(lines.back(), std::pmr::string(100, 'x'));
        EXPECT_THROW(lines.emplace_back(17 * mega, 'x'), std::bad_alloc);
        EXPECT_EQ(lines.size(), 1000U);
    }
    fake_arena pool(16 * mega);
    std::vector<int, allocator<int, fake_arena>> numbers(&pool);
    for (int i = 0; i < 100000; ++i) numbers.push_back(i);
    EXPECT_EQ(numbers[99999], 99999);
}

TEST_F(arena_in_one_range, it_is_a_source_for_pools) {
    multipool<fake_arena> pool(16 * mega);
    std::vector<void*> blocks;
    while (void* block = pool.try_allocate(1000, 8)) blocks.push_back(written(block, 1000));
    EXPECT_GT(blocks.size(), 13000U);
    for (void* block : blocks) pool.deallocate(block, 1000, 8);
    EXPECT_NE(pool.try_allocate(1000, 8), nullptr);
    pool.reset();
    EXPECT_NE(pool.try_allocate(1000, 8), nullptr);
    pool.release();
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
}

TEST_F(arena_in_one_range, it_can_be_checked) {
    checked<fake_arena> pool(16 * mega);
    const auto start = pool.checkpoint();
    for (int round = 0; round < 10; ++round) {
        for (std::size_t bytes = 1; bytes < mega; bytes *= 3) written(pool.allocate(bytes, 8), bytes);
        pool.rewind(start);
    }
    pool.reset();
    written(pool.allocate(mega, 8), mega);
    pool.release();
}

}  // namespace
}  // namespace millpond
