// SPDX-License-Identifier: BSL-1.0
// limits_test: the ends of ranges: impossible sizes, the last bytes of a buffer, the smallest chunk, the first block
// too many, and the assertions on forbidden calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <millpond/block.hpp>
#include <millpond/local.hpp>
#include <new>
#include <vector>

#include "support/accounting_source.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_slab_ref;
using test::accounting_slab_source;
using test::accounting_source;

template <class Source>
class every_source : public testing::Test {};
using sources = testing::Types<new_delete, upstream_resource, chunk_cache, std_source<std::allocator<int>>>;
TYPED_TEST_SUITE(every_source, sources);

TYPED_TEST(every_source, refuses_impossible_requests) {
    TypeParam source;
    constexpr std::size_t all = static_cast<std::size_t>(-1);
    for (const std::size_t bytes : {all, all - 100, detail::max_bytes + 1, detail::max_bytes - 100}) {
        for (const std::size_t alignment : {std::size_t{256}, std::size_t{4096}}) {
            EXPECT_EQ(source.try_allocate(bytes, alignment), nullptr) << bytes << " aligned to " << alignment;
            EXPECT_THROW(static_cast<void>(source.allocate(bytes, alignment)), std::bad_alloc);
        }
    }
}

TEST(fixed_buffer_limits, the_last_bytes_serve_only_requests_that_they_align) {
    alignas(64) char memory[64 + 3];
    fixed_buffer source(memory, sizeof memory);
    EXPECT_EQ(static_cast<char*>(source.try_allocate(65, 1)), &memory[0]);
    EXPECT_EQ(source.room_bytes(), 2u);
    EXPECT_EQ(source.try_allocate(1, 64), nullptr) << "the next such address lies behind the end";
    EXPECT_EQ(source.try_allocate(3, 1), nullptr);
    EXPECT_EQ(static_cast<char*>(source.try_allocate(2, 1)), &memory[65]);
}

using cache_under_test = detail::basic_chunk_cache<accounting_ref>;

TEST(chunk_cache_limits, an_impossible_request_empties_no_cache) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    cache.deallocate(cache.allocate(65536, 8), 65536, 8);
    EXPECT_EQ(cache.try_allocate(detail::max_bytes + 1, 8), nullptr);
    EXPECT_EQ(cache.held_bytes(), cache.good_bytes(65536));
}

TEST(chunk_cache_limits, a_reused_idle_chunk_is_no_longer_given_up) {
    accounting_source upstream;
    cache_under_test cache(upstream);
    std::vector<void*> chunks(10);
    for (void*& chunk : chunks) chunk = cache.allocate(65536, 8);
    for (void* chunk : chunks) cache.deallocate(chunk, 65536, 8);
    while (upstream.live_blocks() == chunks.size()) cache.note_released(std::size_t{1} << 20);
    // Some have been given up; the others are idle and will be.
    const std::size_t left = upstream.live_blocks(), calls = upstream.calls();
    ASSERT_GT(left, 1u);
    void* const first = cache.allocate(65536, 8);
    void* const second = cache.allocate(65536, 8);
    EXPECT_EQ(upstream.calls(), calls) << "they come from the cache";
    for (int i = 0; i < 100; ++i) cache.note_released(1000);
    EXPECT_EQ(upstream.live_blocks(), 2u) << "all idle ones are gone, and these are out";
    EXPECT_EQ(cache.held_bytes(), 0u);
    cache.deallocate(first, 65536, 8);
    cache.deallocate(second, 65536, 8);
    EXPECT_EQ(cache.held_bytes(), upstream.live_bytes());
}

TEST(owned_chunks_limits, a_first_chunk_of_almost_nothing_has_room_for_a_few_blocks) {
    accounting_source source;
    monotonic<accounting_ref> pool(first_chunk{1}, source);
    EXPECT_NE(pool.try_allocate(8, 8), nullptr);
    EXPECT_EQ(pool.held_bytes(), 256u);
}

TEST(owned_chunks_limits, absorbed_kept_chunks_serve_before_the_source) {
    accounting_source source;
    monotonic<accounting_ref> a(source), b(source);
    for (int i = 0; i < 10; ++i) static_cast<void>(b.allocate(1000, 8));
    b.reset();
    const std::size_t calls = source.calls(), held = b.held_bytes();
    a.absorb(b);
    EXPECT_EQ(a.held_bytes(), held);
    EXPECT_EQ(b.held_bytes(), 0u);
    for (int i = 0; i < 10; ++i) static_cast<void>(a.allocate(1000, 8));
    EXPECT_EQ(source.calls(), calls);
}

TEST(owned_chunks_limits, asks_a_slab_source_for_its_chunk_size_or_more) {
    accounting_slab_source source;
    monotonic<accounting_slab_ref> pool(source);
    static_cast<void>(pool.allocate(100, 8));
    static_cast<void>(pool.allocate(100000, 8));
    std::vector<std::size_t> sizes;
    for (const auto& [chunk, gift] : source.given()) {
        sizes.push_back(gift.bytes);
        EXPECT_EQ(gift.alignment == gift.bytes, gift.bytes == accounting_slab_source::preferred_chunk_bytes);
        EXPECT_EQ(gift.block_bytes, 0u) << "no slab";
    }
    std::sort(sizes.begin(), sizes.end());
    ASSERT_EQ(sizes.size(), 2u);
    EXPECT_EQ(sizes[0], accounting_slab_source::preferred_chunk_bytes);
    EXPECT_GT(sizes[1], 100000u);
}

TEST(large_blocks_limits, are_counted_in_what_is_held_as_the_source_counts_them) {
    accounting_source source;
    multipool<accounting_ref> pool(source);
    void* const a = pool.allocate(3000000, 8);
    void* const b = pool.allocate(4000000, 1);
    EXPECT_EQ(pool.held_bytes(), source.live_bytes());
    pool.deallocate(a, 3000000, 8);
    EXPECT_EQ(pool.held_bytes(), source.live_bytes());
    pool.deallocate(b, 4000000, 1);
    EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(large_blocks_limits, a_refused_table_of_slots_changes_nothing) {
    accounting_source source;
    synchronized_multipool<accounting_ref> pool(source);
    std::vector<void*> blocks(64);
    for (void*& block : blocks) block = pool.allocate(2000000, 1);
    const std::size_t held = pool.held_bytes();
    source.fail_once_at(0);
    EXPECT_EQ(pool.try_allocate(2000000, 1), nullptr) << "no memory for more slots";
    EXPECT_EQ(pool.held_bytes(), held);
    source.fail_once_at(1);
    EXPECT_EQ(pool.try_allocate(2000000, 1), nullptr) << "slots, and no memory for the block";
    blocks.push_back(pool.allocate(2000000, 1));
    EXPECT_EQ(pool.try_allocate(detail::max_bytes, 1), nullptr);
    for (void* block : blocks) pool.deallocate(block, 2000000, 1);
    pool.release();
    EXPECT_EQ(source.live_bytes(), 0u);
}

TEST(large_blocks_limits, one_of_no_bytes_may_be_written_to) {
    multipool<> alone;
    synchronized_multipool<> shared;
    for (const std::size_t alignment : {std::size_t{128}, std::size_t{4096}}) {
        auto* const a = static_cast<char*>(alone.allocate(0, alignment));
        auto* const b = static_cast<char*>(shared.allocate(0, alignment));
        *a = *b = 0x55;
        EXPECT_NE(alone.allocate(0, alignment), a);
        EXPECT_NE(shared.allocate(0, alignment), b);
        alone.deallocate(a, 0, alignment);
        shared.deallocate(b, 0, alignment);
    }
}

TEST(magazine_limits, a_first_run_is_at_most_a_batch_for_every_size) {
    for (std::size_t bytes = 1; bytes < 100000; bytes = bytes * 3 / 2 + 1) {
        EXPECT_GE(detail::magazine_limits::first_run_of(bytes), 1u) << bytes;
        EXPECT_LE(detail::magazine_limits::first_run_of(bytes), detail::magazine_limits::batch_of(bytes)) << bytes;
    }
}

TEST(monotonic_limits, a_checkpoint_of_an_absorbed_one_is_its_owners) {
    monotonic<> a, b;
    static_cast<void>(a.allocate(100, 8));
    a.absorb(b);
    const auto place = b.checkpoint();
    void* const block = b.allocate(100, 8);
    b.rewind(place);
    EXPECT_EQ(a.allocate(100, 8), block);
}

#if !defined(NDEBUG)
TEST(assertions, say_that_a_checkpoint_is_no_longer_valid) {
    monotonic<> pool;
    static_cast<void>(pool.allocate(100, 8));
    const auto place = pool.checkpoint();
    pool.release();
    EXPECT_DEATH(pool.rewind(place), "the checkpoint is no longer valid");
}

TEST(assertions, say_that_allocators_of_different_sources_cannot_become_one) {
    accounting_source one, another;
    monotonic<accounting_ref> a(one), b(another);
    EXPECT_DEATH(a.absorb(b), "different sources");
    multipool<accounting_ref> c(one), d(another);
    EXPECT_DEATH(c.absorb(d), "different sources");
}
#endif

}  // namespace
}  // namespace millpond
