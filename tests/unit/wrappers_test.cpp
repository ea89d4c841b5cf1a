// SPDX-License-Identifier: BSL-1.0
// wrappers_test: the calls that all wrappers pass on to the allocator beneath, and the edges of their counts.
#include <gtest/gtest.h>

#include <millpond/millpond.hpp>

#include "support/accounting_source.hpp"

namespace millpond {
namespace {

// Checks the calls that every wrapper passes on to the allocator beneath.
template <class Pool>
void passes_on(Pool& pool, test::accounting_source& source) {
    pool.rewind(pool.checkpoint());
    static_cast<void>(pool.allocate(100, 8));
    const auto place = pool.checkpoint();
    void* const first = pool.allocate(100, 8);
    for (int i = 0; i < 100; ++i) static_cast<void>(pool.allocate(100, 8));
    pool.rewind(place);
    EXPECT_EQ(pool.allocate(100, 8), first) << "a rewind is one";
    const std::size_t held = source.live_bytes();
    EXPECT_GT(held, 0u);
    pool.reset();
    static_cast<void>(pool.allocate(1, 1));
    EXPECT_EQ(source.live_bytes(), held) << "a reset keeps the memory";
    pool.release();
    static_cast<void>(pool.allocate(1, 1));
    EXPECT_LT(source.live_bytes(), held) << "a release does not";
    pool.release();
}

TEST(wrappers, pass_rewinds_resets_and_releases_on) {
    using row = monotonic<test::accounting_ref>;
    test::accounting_source source;
    counted<row> a(source);
    passes_on(a, source);
    limited<row> b(byte_limit{1000000}, source);
    passes_on(b, source);
    synchronized<row> c(source);
    passes_on(c, source);
    checked<row> d(source);
    passes_on(d, source);
    synchronized<counted<limited<row>>> e(byte_limit{1000000}, source);
    passes_on(e, source);
}

TEST(winking_scope, nests_as_blocks_do) {
    int a = 0, b = 0;
    EXPECT_EQ(winking_scope::pool(), nullptr);
    {
        const winking_scope outer(&a);
        {
            const winking_scope inner(&b);
            EXPECT_EQ(winking_scope::pool(), &b);
            const winking_scope paused(nullptr);
            EXPECT_EQ(winking_scope::pool(), nullptr);
        }
        EXPECT_EQ(winking_scope::pool(), &a);
    }
    EXPECT_EQ(winking_scope::pool(), nullptr);
}

TEST(counted_edges, slabs_count_as_blocks_and_clear_keeps_what_is_live) {
    test::accounting_slab_source source;
    multipool<counted<test::accounting_slab_ref>, four_an_octave<4096>> pool(source);
    for (const std::size_t bytes : {8u, 16u, 24u}) static_cast<void>(pool.allocate(bytes, 8));
    EXPECT_EQ(pool.source().counts().live_blocks, 3u);
    EXPECT_EQ(pool.source().counts().peak_live_blocks, 3u);
    EXPECT_EQ(pool.source().counts().live_bytes, source.live_bytes());
    pool.source().clear();
    EXPECT_EQ(pool.source().counts().live_blocks, 3u);
    EXPECT_EQ(pool.source().counts().peak_live_blocks, 3u);
    EXPECT_EQ(pool.source().counts().bytes_allocated, source.live_bytes());
    pool.release();
    EXPECT_EQ(pool.source().counts().live_blocks, 0u);
    EXPECT_EQ(pool.source().counts().deallocations, 3u);
}

TEST(limited_edges, a_callback_is_asked_again_only_while_it_helps) {
    limited<multipool<>> pool(byte_limit{100});
    static_cast<void>(pool.allocate(100, 8));
    struct life {
        limited<multipool<>>* pool;
        int calls;
    } life{&pool, 0};
    pool.on_limit(
        [](void* context, std::size_t, std::size_t) {
            auto& self = *static_cast<struct life*>(context);
            if (++self.calls <= 3) self.pool->set_limit_bytes(self.pool->limit_bytes() + 1);
            return self.calls < 100;
        },
        &life);
    EXPECT_EQ(pool.try_allocate(50, 8), nullptr);
    EXPECT_EQ(life.calls, 4);
    EXPECT_EQ(pool.limit_bytes(), 103u);
    EXPECT_NE(pool.try_allocate(3, 8), nullptr);
    EXPECT_EQ(pool.live_bytes(), pool.limit_bytes());
}

}  // namespace
}  // namespace millpond
