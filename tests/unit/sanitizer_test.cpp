// SPDX-License-Identifier: BSL-1.0
// sanitizer_test: under AddressSanitizer exactly the requested bytes of a chunk's live blocks are accessible.
#include <gtest/gtest.h>

#include <memory>
#include <millpond/millpond.hpp>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/in_a_thread.hpp"
#include "support/recorded_misuses.hpp"

static_assert(millpond::detail::address_sanitizer, "build this test with -fsanitize=address");

namespace millpond {
namespace {

using test::in_a_thread;

// Returns true if exactly the first `bytes` of `block` are accessible.
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
using pools = testing::Types<monotonic<>, arena, multipool<>, multipool<monotonic<>>, multipool<region>,
                             multipool<new_delete, powers_of_two<>>>;
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

template <class Pool>
class sanitizer_limits : public testing::Test {};
using pools_with_classes = testing::Types<multipool<>, synchronized_multipool<>>;
TYPED_TEST_SUITE(sanitizer_limits, pools_with_classes);

// The gap that poisoning needs is part of the request.
TYPED_TEST(sanitizer_limits, impossible_sizes_are_refused) {
    TypeParam pool;
    const auto most = static_cast<std::size_t>(-1);
    for (const std::size_t bytes : {most, most - 8, detail::max_bytes + 1, detail::max_bytes}) {
        EXPECT_EQ(pool.try_allocate(bytes, 8), nullptr) << bytes;
        EXPECT_EQ(pool.try_allocate(bytes, 4096), nullptr) << bytes;
    }
}

TEST(sanitizer, rewind_closes_exactly_the_later_blocks) {
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

TEST(sanitizer, a_cached_chunk_is_closed_except_its_link) {
    chunk_cache cache;
    auto* const chunk = static_cast<char*>(cache.allocate(4096, 8));
    cache.deallocate(chunk, 4096, 8);
    EXPECT_TRUE(only(chunk, sizeof(void*)));
    EXPECT_EQ(cache.allocate(4096, 8), chunk);
    for (std::size_t i = 0; i < 4096; ++i) ASSERT_FALSE(__asan_address_is_poisoned(chunk + i));
    cache.deallocate(chunk, 4096, 8);
}

TEST(sanitizer, right_behind_a_large_block_lies_poison_and_not_its_record) {
    multipool<> pool;
    synchronized_multipool<> shared;
    for (const std::size_t bytes : {8u, 64u, 2000000u}) {
        EXPECT_TRUE(only(static_cast<char*>(pool.allocate(bytes, 128)), bytes)) << bytes;
        EXPECT_TRUE(only(static_cast<char*>(shared.allocate(bytes, 128)), bytes)) << bytes;
    }
}

TEST(sanitizer, a_fixed_buffer_is_open_again_when_the_source_is_gone) {
    alignas(16) static char buffer[256];
    {
        fixed_buffer source(buffer, sizeof buffer);
        EXPECT_TRUE(nothing(buffer, sizeof buffer));
        auto* const chunk = static_cast<char*>(source.allocate(24, 8));
        EXPECT_TRUE(only(chunk, 24));
        source.deallocate(chunk, 24, 8);
        EXPECT_TRUE(nothing(chunk, 24));
    }
    for (const char& byte : buffer) ASSERT_FALSE(__asan_address_is_poisoned(&byte));
}

TEST(sanitizer, a_pool_of_many_threads_opens_exactly_what_was_asked_for) {
    synchronized_multipool<> pool;
    for (std::size_t bytes = 1; bytes < 600; ++bytes) {
        auto* const block = static_cast<char*>(pool.allocate(bytes, 8));
        ASSERT_TRUE(only(block, bytes) || bytes == pool.block_bytes(bytes, 8)) << bytes;
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_FALSE(__asan_address_is_poisoned(block + i));
        pool.deallocate(block, bytes, 8);
        ASSERT_TRUE(nothing(block, bytes)) << bytes;
    }
}

// Lost memory is reported when this program ends.
TEST(sanitizer, threads_and_pools_that_end_leave_nothing_behind) {
    for (int i = 0; i < 3; ++i) {
        synchronized_multipool<> pool;
        in_a_thread([&] { pool.deallocate(pool.allocate(24, 8), 24, 8); });
        in_a_thread([&] { pool.deallocate(pool.allocate(2000000, 8), 2000000, 8); });
        pool.release();
        in_a_thread([&] { static_cast<void>(pool.allocate(100, 8)); });
    }
    checked<multipool<>> pool;
    for (int i = 0; i < 100; ++i) static_cast<void>(pool.allocate(24, 8));
}

// Memory of destroyed pools would be used here if other pools still referred to it.
TEST(sanitizer, remaining_pools_do_not_use_memory_of_destroyed_ones) {
    multipool<> owner;
    std::vector<std::unique_ptr<multipool<>>> absorbed;
    for (int i = 0; i < 4; ++i) {
        absorbed.push_back(std::make_unique<multipool<>>());
        static_cast<void>(absorbed.back()->allocate(24, 8));
        owner.absorb(*absorbed.back());
    }
    for (const std::size_t gone : {1u, 2u, 0u, 0u}) {
        absorbed.erase(absorbed.begin() + static_cast<std::ptrdiff_t>(gone));
        const std::size_t bytes = 1000 * absorbed.size() + 100;
        for (const auto& pool : absorbed) {
            void* const block = owner.allocate(bytes, 8);  // of a new class
            pool->deallocate(block, bytes, 8);
            static_cast<void>(pool->allocate(bytes, 8));
        }
        static_cast<void>(owner.allocate(bytes, 8));
    }
    test::recorded_misuses seen;
    auto first = std::make_unique<checked<multipool<>>>(), second = std::make_unique<checked<multipool<>>>();
    second.reset();
    first.reset();
    checked<multipool<>> third, fourth;
    fourth.deallocate(third.allocate(24, 8), 24, 8);
    EXPECT_EQ(seen.kinds(), std::vector{misuse_kind::other_allocator});
}

TEST(sanitizer, a_checked_block_is_open_only_between_its_guards_while_live) {
    checked<multipool<>> pool;
    for (const std::size_t bytes : {1u, 8u, 24u, 100u, 5000u}) {
        auto* const block = static_cast<char*>(pool.allocate(bytes, 8));
        EXPECT_TRUE(only(block, bytes));
        EXPECT_TRUE(nothing(block - 16, 16));
        pool.deallocate(block, bytes, 8);
        EXPECT_TRUE(nothing(block, bytes));
        auto* const other = static_cast<char*>(pool.allocate(bytes, 8));
        pool.reset();
        EXPECT_TRUE(nothing(other, bytes));
    }
}

// AddressSanitizer compares the allocating function with the freeing one.
TEST(sanitizer, sources_give_back_as_they_took) {
    new_delete heap;
    std_source<std::allocator<int>> standard;
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (const std::size_t bytes : {1u, 100u, 5000u}) {
            heap.deallocate(heap.allocate(bytes, alignment), bytes, alignment);
            standard.deallocate(standard.allocate(bytes, alignment), bytes, alignment);
        }
    }
}

// accounting_source writes to all memory that returns, which would be reported if it were still poisoned.
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

// Blocks in the buffer of an absorbed monotonic cannot be told from blocks that never came from there.
TEST(sanitizer, a_monotonic_takes_blocks_of_absorbed_buffers_and_chunks) {
    alignas(16) static char buffer[256];
    monotonic<> first, second, third(initial_buffer{buffer, sizeof buffer});
    void* const in_buffer = third.allocate(24, 8);
    void* const in_chunk = third.allocate(3000, 8);
    void* const again = third.allocate(24, 8);
    third.deallocate(again, 24, 8);
    second.absorb(third);
    first.absorb(second);
    first.deallocate(in_buffer, 24, 8);
    first.deallocate(in_chunk, 3000, 8);
}

TEST(sanitizer, a_pool_knows_the_blocks_of_all_that_it_has_absorbed) {
    multipool<> owner, others[3];
    void* blocks[3];
    for (int i = 0; i < 3; ++i) {
        blocks[i] = others[i].allocate(100, 8);
        owner.absorb(others[i]);
    }
    for (void* block : blocks) owner.deallocate(block, 100, 8);
}

// If the limit leaves no room for a gap, a block may end at the limit, and its size is not checked.
TEST(sanitizer, an_arena_is_full_to_the_last_byte) {
    const std::size_t limit = os::pages::size();
    std::size_t most = limit;
    for (;; --most) {
        ASSERT_GT(most, limit / 2);
        monotonic<region> pool(limit);
        void* const first = pool.allocate(8, 8);
        void* const block = pool.try_allocate(most, 8);
        if (block == nullptr) continue;
        EXPECT_EQ(pool.try_allocate(1, 1), nullptr);
        pool.deallocate(block, most, 8);
        pool.deallocate(first, 8, 8);
        break;
    }
    EXPECT_EQ(static_cast<std::size_t>(limit - most) % 8, 0u) << most;
}

TYPED_TEST(sanitizer_limits, a_block_may_come_back_by_any_size_of_its_class) {
    TypeParam pool;
    void* const block = pool.allocate(61, 8);
    pool.deallocate(block, 63, 8);
}

TEST(sanitizer_death, another_size_or_alignment_is_reported) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_DEATH(
        {
            monotonic<> pool;
            pool.deallocate(pool.allocate(24, 8), 27, 8);
        },
        "a block came back with another size");
    EXPECT_DEATH(
        {
            multipool<> pool;
            pool.deallocate(pool.allocate(24, 8), 24, 24);
        },
        "a block came back with another alignment");
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
