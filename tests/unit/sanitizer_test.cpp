// SPDX-License-Identifier: BSL-1.0
// sanitizer_test: under AddressSanitizer exactly the requested bytes of live blocks may be touched in a chunk.
#include <gtest/gtest.h>

#include <millpond/millpond.hpp>

#include "support/accounting_source.hpp"

static_assert(millpond::address_sanitizer, "build this test with -fsanitize=address");

namespace millpond {
namespace {

// Returns: true if exactly the first `bytes` of `block` may be touched.
bool only(const char* block, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        if (__asan_address_is_poisoned(block + i)) return false;
    }
    return __asan_address_is_poisoned(block + bytes);
}

bool nothing(const char* block, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        if (!__asan_address_is_poisoned(block + i)) return false;
    }
    return true;
}

template <class Pool>
class sanitizer_test : public testing::Test {};
using pools = testing::Types<monotonic<>, multipool<>, multipool<monotonic<>>, multipool<new_delete, powers_of_two<>>>;
TYPED_TEST_SUITE(sanitizer_test, pools);

TYPED_TEST(sanitizer_test, exactly_the_requested_bytes_are_accessible) {
    TypeParam pool;
    for (std::size_t bytes = 1; bytes < 600; ++bytes) {
        auto* const block = static_cast<char*>(pool.allocate(bytes, 8));
        ASSERT_TRUE(only(block, bytes)) << bytes;
        pool.deallocate(block, bytes, 8);
        ASSERT_TRUE(nothing(block, bytes)) << bytes;
    }
    for (const std::size_t bytes : {4096u, 32768u, 32769u, 100001u}) {
        EXPECT_TRUE(only(static_cast<char*>(pool.allocate(bytes, 8)), bytes)) << bytes;
    }
}

TYPED_TEST(sanitizer_test, a_reused_block_opens_only_the_bytes_of_the_new_request) {
    TypeParam pool;
    auto* const large = static_cast<char*>(pool.allocate(64, 8));
    pool.deallocate(large, 64, 8);
    for (int i = 0; i < 1000; ++i) {
        auto* const block = static_cast<char*>(pool.allocate(57, 8));
        ASSERT_TRUE(only(block, 57));
        pool.deallocate(block, 57, 8);
    }
}

TYPED_TEST(sanitizer_test, after_reset_nothing_is_accessible) {
    TypeParam pool;
    auto* const a = static_cast<char*>(pool.allocate(100, 8));
    auto* const b = static_cast<char*>(pool.allocate(3000, 8));
    pool.reset();
    EXPECT_TRUE(nothing(a, 100));
    EXPECT_TRUE(nothing(b, 3000));
}

TEST(sanitizer, rewind_closes_what_came_later_and_only_that) {
    monotonic<> pool;
    auto* const kept = static_cast<char*>(pool.allocate(64, 8));
    const auto place = pool.checkpoint();
    auto* const dropped = static_cast<char*>(pool.allocate(64, 8));
    auto* const in_new_chunk = static_cast<char*>(pool.allocate(10000, 8));
    pool.rewind(place);
    EXPECT_TRUE(only(kept, 64));
    EXPECT_TRUE(nothing(dropped, 64));
    EXPECT_TRUE(nothing(in_new_chunk, 10000));
}

TEST(sanitizer, an_initial_buffer_is_open_again_when_the_pool_is_gone) {
    alignas(16) static char buffer[256];
    {
        monotonic<> pool(initial_buffer{buffer, sizeof buffer});
        EXPECT_TRUE(only(static_cast<char*>(pool.allocate(20, 8)), 20));
    }
    for (const char& byte : buffer) ASSERT_FALSE(__asan_address_is_poisoned(&byte));
}

TEST(sanitizer, a_cached_chunk_is_closed_but_for_the_link_that_leak_checkers_follow) {
    chunk_cache cache;
    auto* const chunk = static_cast<char*>(cache.allocate(4096, 8));
    cache.deallocate(chunk, 4096, 8);
    EXPECT_TRUE(only(chunk, sizeof(void*)));
    EXPECT_EQ(cache.allocate(4096, 8), chunk);
    for (std::size_t i = 0; i < 4096; ++i) ASSERT_FALSE(__asan_address_is_poisoned(chunk + i));
    cache.deallocate(chunk, 4096, 8);
}

// accounting_source writes to all that comes back, which would be reported if it were still poisoned.
TEST(sanitizer, memory_is_open_again_when_it_goes_upstream) {
    test::accounting_source source;
    multipool<test::accounting_ref> pool(source);
    monotonic<test::accounting_ref> row(source);
    for (std::size_t bytes = 0; bytes < 50000; bytes += 777) {
        static_cast<void>(pool.allocate(bytes, 8));
        static_cast<void>(row.allocate(bytes, 8));
    }
    pool.release();
    row.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(sanitizer_death, use_after_deallocate_is_reported) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_DEATH(
        {
            multipool<> pool;
            auto* const block = static_cast<volatile char*>(pool.allocate(24, 8));
            pool.deallocate(const_cast<char*>(block), 24, 8);
            block[20] = 1;
        },
        "use-after-poison");
}

}  // namespace
}  // namespace millpond
