// SPDX-License-Identifier: BSL-1.0
// monotonic_test: blocks in a row, chunks that double, and every way to free them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <millpond/block.hpp>
#include <millpond/local.hpp>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/highest_bit.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using pool_under_test = monotonic<accounting_ref>;

static_assert(rewindable_allocator<monotonic<>> && rewindable_allocator<pool_under_test>);
static_assert(!std::is_copy_constructible_v<monotonic<>> && !std::is_move_constructible_v<monotonic<>>);

TEST(monotonic, blocks_follow_one_another_with_no_gap_but_the_alignment) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    monotonic<> pool;
    auto* last = static_cast<char*>(pool.allocate(10, 1));
    for (int i = 0; i < 50; ++i) {
        auto* const block = static_cast<char*>(pool.allocate(10, 1));
        EXPECT_EQ(block, last + 10);
        last = block;
    }
    EXPECT_EQ(pool.allocate(8, 8), last + 10 + detail::padding_to(last + 10, 8));
}

TEST(monotonic, an_unused_one_has_asked_for_nothing) {
    accounting_source source;
    pool_under_test pool(source);
    pool.reset();
    pool.release();
    EXPECT_EQ(source.calls(), 0u);
}

TEST(monotonic, chunks_double_up_to_the_cap) {
    accounting_source source;
    pool_under_test pool(source);
    for (int i = 0; i < 200000; ++i) static_cast<void>(pool.allocate(16, 8));
    std::vector<std::size_t> sizes;
    for (const auto& [chunk, gift] : source.given()) sizes.push_back(gift.bytes);
    std::sort(sizes.begin(), sizes.end());
    EXPECT_EQ(sizes.front(), 1024u);
    for (std::size_t i = 1; i < sizes.size(); ++i) EXPECT_EQ(sizes[i], std::min(2 * sizes[i - 1], std::size_t{262144}));
}

TEST(monotonic, the_first_chunk_holds_what_it_was_told) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    accounting_source source;
    pool_under_test pool(first_chunk{100000}, source);
    for (int i = 0; i < 100000; ++i) static_cast<void>(pool.allocate(1, 1));
    EXPECT_EQ(source.calls(), 1u);
    static_cast<void>(pool.allocate(1, 1));
    EXPECT_EQ(source.calls(), 2u);
}

TEST(monotonic, a_large_block_does_not_waste_the_room_of_the_chunk) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    accounting_source source;
    pool_under_test pool(source);
    auto* const before = static_cast<char*>(pool.allocate(8, 8));
    static_cast<void>(pool.allocate(1 << 20, 8));
    EXPECT_EQ(pool.allocate(8, 8), before + 8);
}

TEST(monotonic, an_initial_buffer_serves_first_and_again_after_reset) {
    accounting_source source;
    alignas(16) std::array<char, 256> buffer{};
    pool_under_test pool(initial_buffer{buffer.data(), buffer.size()}, source);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(pool.allocate(200, 8), buffer.data());
        EXPECT_EQ(source.live_blocks(), 0u);
        EXPECT_NE(pool.allocate(100, 8), nullptr);
        EXPECT_EQ(source.live_blocks(), 1u);
        pool.release();
    }
    EXPECT_EQ(pool.allocate(256, 1), buffer.data());
    pool.reset();
    EXPECT_EQ(pool.allocate(1, 1), buffer.data());
}

TEST(monotonic, zero_bytes_are_a_block_of_its_own) {
    monotonic<> pool;
    void* const a = pool.allocate(0, 1);
    void* const b = pool.allocate(0, 1);
    EXPECT_NE(a, nullptr);
    EXPECT_NE(a, b);
    void* const tried = pool.try_allocate(0, 1);
    EXPECT_NE(tried, pool.try_allocate(0, 1));
}

TEST(monotonic, every_size_and_alignment_is_served) {
    test::block_model model;
    accounting_source source;
    pool_under_test pool(source);
    for (std::size_t alignment = 1; alignment <= 16384; alignment *= 2) {
        for (const std::size_t bytes : {0u, 1u, 3u, 8u, 24u, 100u, 4095u, 4096u, 5000u}) {
            model.add(pool.allocate(bytes, alignment), bytes, alignment);
        }
    }
    model.check_all();
}

TEST(monotonic, impossible_requests_are_null_and_change_nothing) {
    accounting_source source;
    pool_under_test pool(source);
    auto* const before = static_cast<char*>(pool.allocate(8, 8));
    const std::size_t top = static_cast<std::size_t>(-1);
    for (const std::size_t bytes :
         {top, top - 7, top - 4096, detail::max_bytes, detail::max_bytes - 1, detail::max_bytes + 1}) {
        for (const std::size_t alignment :
             {std::size_t{1}, std::size_t{4096}, test::highest_bit / 2, test::highest_bit}) {
            EXPECT_EQ(pool.try_allocate(bytes, alignment), nullptr);
        }
    }
    EXPECT_EQ(pool.try_allocate(1, test::highest_bit), nullptr);
    EXPECT_THROW(static_cast<void>(pool.allocate(top, 1)), std::bad_alloc);
    EXPECT_EQ(pool.allocate(8, 8), before + 8 + (detail::address_sanitizer ? 8 : 0));
}

TEST(monotonic, the_same_work_after_reset_takes_nothing_more_from_the_source) {
    accounting_source source;
    pool_under_test pool(source);
    std::vector<void*> first_round;
    std::size_t calls = 0;
    for (int round = 0; round < 5; ++round) {
        auto numbers = test::random_numbers();
        for (int i = 0; i < 3000; ++i) {
            const auto bytes = test::uniform<std::size_t>(numbers, 0, i % 100 == 0 ? 50000 : 300);
            const std::size_t alignment = std::size_t{1} << test::uniform(numbers, 0, 8);
            void* const block = pool.allocate(bytes, alignment);
            if (round == 0) first_round.push_back(block);
            ASSERT_EQ(block, first_round[static_cast<std::size_t>(i)]) << "round " << round;
        }
        if (round == 0) calls = source.calls();
        EXPECT_EQ(source.calls(), calls);
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
        pool.reset();
        EXPECT_EQ(pool.held_bytes(), source.live_bytes());
    }
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(monotonic, rewind_ends_exactly_the_later_blocks) {
    accounting_source source;
    pool_under_test pool(source);
    auto numbers = test::random_numbers();
    struct level {
        pool_under_test::checkpoint_type place;
        std::vector<std::pair<char*, std::size_t>> older;
        void* next;  // where the block after the checkpoint lay
    };
    std::vector<level> levels;
    std::vector<std::pair<char*, std::size_t>> live;
    const auto check = [&live] {
        for (const auto& [block, bytes] : live) {
            for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(block[i], static_cast<char>(bytes));
        }
    };
    for (int step = 0; step < 600; ++step) {
        if (!levels.empty() && test::uniform(numbers, 0, 3) == 0) {
            const auto to = test::uniform<std::size_t>(numbers, 0, levels.size() - 1);
            pool.rewind(levels[to].place);
            live = levels[to].older;
            check();
            EXPECT_EQ(pool.allocate(1, 1), levels[to].next) << "step " << step;
            pool.rewind(levels[to].place);
            levels.resize(to);
        } else {
            const auto place = pool.checkpoint();
            levels.push_back({place, live, pool.allocate(1, 1)});
        }
        for (int i = test::uniform(numbers, 0, 20); i > 0; --i) {
            const auto bytes = test::uniform<std::size_t>(numbers, 1, i == 5 ? 20000 : 200);
            auto* const block = static_cast<char*>(pool.allocate(bytes, 8));
            std::memset(block, static_cast<int>(bytes), bytes);
            live.emplace_back(block, bytes);
        }
    }
    check();
}

TEST(monotonic, rewinding_an_empty_one_and_to_the_start_is_a_reset) {
    accounting_source source;
    pool_under_test pool(source);
    const auto start = pool.checkpoint();
    pool.rewind(start);
    void* const first = pool.allocate(5000, 8);
    pool.rewind(start);
    EXPECT_EQ(pool.allocate(5000, 8), first);
    EXPECT_EQ(source.calls(), 1u);
}

TEST(monotonic, scopes_rewind_in_the_order_of_the_blocks) {
    accounting_source source;
    pool_under_test pool(source);
    void* outer = nullptr;
    std::size_t calls = 0;
    for (int round = 0; round < 10; ++round) {
        rewind_scope scope(pool);
        void* const a = pool.allocate(100, 8);
        if (round == 0) outer = a;
        EXPECT_EQ(a, outer);
        void* inner = nullptr;
        for (int inside = 0; inside < 10; ++inside) {
            rewind_scope nested(pool);
            void* const b = pool.allocate(30000, 8);
            if (inside == 0) inner = b;
            EXPECT_EQ(b, inner);
        }
        if (round == 0) calls = source.calls();
    }
    EXPECT_EQ(source.calls(), calls);
}

TEST(monotonic, one_over_another_goes_with_it) {
    accounting_source source;
    monotonic<monotonic<accounting_ref>> pool(source);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 1000; ++i) static_cast<void>(pool.allocate(100, 8));
        if (round == 1) pool.reset();
        if (round == 2) pool.release();
    }
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(monotonic, a_source_with_less_than_the_plan_is_used_to_its_end) {
    accounting_source source;
    source.refuse_above(3000);
    pool_under_test pool(source);
    for (int i = 0; i < 100; ++i) EXPECT_NE(pool.try_allocate(1000, 8), nullptr);
    EXPECT_EQ(pool.try_allocate(3001, 8), nullptr);
}

// At the end of a row, padding and block fit to the byte, or the block goes to another chunk.
TEST(monotonic_room, ends_at_the_last_byte_for_every_alignment) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    alignas(64) std::array<char, 256> buffer{};
    for (std::size_t before = 0; before <= 256; ++before) {
        for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
            for (std::size_t bytes = 1; bytes <= 257; bytes += 4) {
                accounting_source source;
                monotonic<accounting_ref> pool(initial_buffer{buffer.data(), buffer.size()}, source);
                if (before > 0) {
                    ASSERT_EQ(pool.allocate(before, 1), buffer.data());
                }
                void* const block = pool.allocate(bytes, alignment);
                const std::size_t start = detail::align_up(before, alignment);
                const bool fits = start + bytes <= buffer.size();
                ASSERT_EQ(source.calls(), fits ? 0u : 1u) << before << ' ' << bytes << ' ' << alignment;
                if (fits) {
                    ASSERT_EQ(block, buffer.data() + start);
                }
            }
        }
    }
}

TEST(monotonic_room, a_rewind_into_the_initial_buffer_goes_on_there) {
    if (detail::address_sanitizer) GTEST_SKIP() << "there are gaps between blocks there";
    accounting_source source;
    alignas(16) std::array<char, 256> buffer{};
    monotonic<accounting_ref> pool(initial_buffer{buffer.data(), buffer.size()}, source);
    static_cast<void>(pool.allocate(100, 1));
    const auto place = pool.checkpoint();
    for (int i = 0; i < 100; ++i) static_cast<void>(pool.allocate(50, 1));
    pool.rewind(place);
    EXPECT_EQ(pool.allocate(156, 1), buffer.data() + 100);
    const std::size_t calls = source.calls();
    for (int i = 0; i < 90; ++i) static_cast<void>(pool.allocate(50, 1));
    EXPECT_EQ(source.calls(), calls) << "the chunks were kept";
}

TEST(monotonic_room, an_absorbed_one_has_no_life_of_its_own) {
    accounting_source source;
    monotonic<accounting_ref> a(source), b(source);
    static_cast<void>(a.allocate(100, 8));
    auto* const kept = static_cast<char*>(b.allocate(100, 8));
    std::memset(kept, 5, 100);
    a.absorb(b);
    a.absorb(b);
    a.absorb(a);
    const auto place = b.checkpoint();
    void* const next = b.allocate(16, 8);
    b.rewind(place);
    EXPECT_EQ(a.allocate(16, 8), next);
    b.reset();
    b.release();
    for (int i = 0; i < 1000; ++i) std::memset(b.allocate(100, 8), 6, 100);
    EXPECT_EQ(kept[99], 5);
    EXPECT_EQ(b.held_bytes(), 0u);
    EXPECT_EQ(a.held_bytes(), source.live_bytes());
}

}  // namespace
}  // namespace millpond
