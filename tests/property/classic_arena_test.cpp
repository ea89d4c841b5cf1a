// SPDX-License-Identifier: BSL-1.0
// classic_arena_test: an arena of counted chunks, against a model of its chunks; a block that outlives its prediction
// pins only its own chunk.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <millpond/classic.hpp>
#include <millpond/core.hpp>
#include <vector>

#include "../unit/support/seed.hpp"

namespace millpond::classic {
namespace {

using test::uniform;

template <class Arena>
struct memory_of {
    alignas(Arena::unit) std::array<std::byte, Arena::arena_bytes> bytes;
};

TEST(counted_arena, blocks_are_disjoint_and_chunks_come_back_when_empty) {
    using arena_type = counted_arena<3, 256>;
    memory_of<arena_type> memory;
    auto numbers = test::random_numbers();
    for (int round = 0; round < 20; ++round) {
        arena_type arena;
        arena.begin(memory.bytes.data());
        std::map<std::byte*, std::size_t> live;
        for (int step = 0; step < 2000; ++step) {
            if (live.empty() || uniform(numbers, 0, 99) < 55) {
                const auto bytes = uniform<std::size_t>(numbers, 1, arena_type::most_block_bytes);
                std::byte* const block = arena.try_allocate(bytes);
                std::array<std::size_t, 3> in_chunk{};
                for (const auto& each : live) ++in_chunk[static_cast<std::size_t>(each.first - &memory.bytes[0]) / 256];
                const bool has_empty = std::count(in_chunk.begin(), in_chunk.end(), 0U) != 0;
                ASSERT_TRUE(block != nullptr || !has_empty) << "an empty chunk serves";
                if (block == nullptr) continue;
                ASSERT_TRUE(arena.contains(block));
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % arena_type::unit, 0U);
                ASSERT_EQ(arena.usable_bytes(block), (bytes + 15) / 16 * 16);
                const auto [at, is_new] = live.emplace(block, arena.usable_bytes(block));
                ASSERT_TRUE(is_new);
                ASSERT_TRUE(std::next(at) == live.end() || block + at->second <= std::next(at)->first);
                ASSERT_TRUE(at == live.begin() || std::prev(at)->first + std::prev(at)->second <= block);
                ASSERT_EQ((block - &memory.bytes[0]) / 256, (block + at->second - 1 - &memory.bytes[0]) / 256);
            } else {
                auto ended = std::next(live.begin(), uniform<std::ptrdiff_t>(numbers, 0, std::ssize(live) - 1));
                arena.give_back(ended->first);
                live.erase(ended);
            }
            ASSERT_EQ(arena.live_blocks(), live.size());
            for (const auto& [block, bytes] : live) ASSERT_EQ(arena.usable_bytes(block), bytes);
        }
    }
}

TEST(counted_arena, a_long_lived_block_pins_only_its_chunk) {
    using arena_type = counted_arena<4, 4096>;
    memory_of<arena_type> memory;
    arena_type arena;
    arena.begin(memory.bytes.data());
    std::byte* const pinned = arena.try_allocate(16);
    std::vector<std::byte*> young;
    for (int i = 0; i < 100'000; ++i) {
        young.push_back(arena.try_allocate(48));
        ASSERT_NE(young.back(), nullptr) << i;
        if (young.size() < 80) continue;
        for (std::byte* const each : young) arena.give_back(each);
        young.clear();
    }
    for (std::byte* const each : young) arena.give_back(each);
    EXPECT_EQ(arena.held_chunks(), 1U);
    EXPECT_EQ(arena.usable_bytes(pinned), 16U);
    arena.give_back(pinned);
    EXPECT_EQ(arena.held_chunks(), 0U);
}

TEST(counted_arena, a_lone_block_after_another_lies_at_the_same_place) {
    memory_of<counted_arena<>> memory;
    counted_arena<> arena;
    EXPECT_EQ(arena.try_allocate(16), nullptr) << "before begin";
    arena.begin(memory.bytes.data());
    for (std::size_t bytes = 1; bytes <= counted_arena<>::most_block_bytes; ++bytes) {
        std::byte* const block = arena.try_allocate(bytes);
        ASSERT_EQ(block, memory.bytes.data());
        arena.give_back(block);
    }
}

// A prediction by which blocks of site 1, up to 64 bytes, are short-lived.
struct of_site_one {
    static constexpr unsigned chunks = 2;
    static constexpr bool asks(std::size_t bytes) { return bytes <= 64; }
    static bool is_short(std::size_t, int site) noexcept { return site == 1; }
};
using predicting = size_map<class_map<32, 64, 512>, pointer_words, operation_counts, region, of_site_one>;

TEST(counted_arena, size_map_serves_only_short_lived_sites_from_the_arena) {
    predicting heap;
    auto* const shortly = static_cast<std::byte*>(heap.try_allocate(50, 16, 1));
    auto* const longer = static_cast<std::byte*>(heap.try_allocate(50, 16, 2));
    auto* const larger = static_cast<std::byte*>(heap.try_allocate(100, 16, 1));
    auto* const unknown = static_cast<std::byte*>(heap.try_allocate(50, 16));
    EXPECT_EQ(heap.short_operations().allocations, 1U);
    EXPECT_EQ(heap.operations().allocations, 4U) << "all of them";
    EXPECT_EQ(heap.held_chunks(), 1U);
    EXPECT_EQ(heap.use().blocks, 4U);
    EXPECT_EQ(heap.usable_bytes(shortly), 64U);
    EXPECT_EQ(heap.usable_bytes(larger), 512U);
    EXPECT_EQ(unknown - longer, 64) << "neighbours in a page of their class";
    for (std::byte* const block : {longer, shortly, unknown, larger}) heap.deallocate(block);
    EXPECT_EQ(heap.short_operations().deallocations, 1U);
    EXPECT_EQ(heap.held_chunks(), 0U);
    EXPECT_EQ(heap.use().blocks, 0U);
}

TEST(counted_arena, a_request_refused_by_a_full_arena_goes_to_its_class) {
    predicting heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(heap.try_allocate(64, 16, 1));
    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), nullptr), 0);
    EXPECT_EQ(heap.short_operations().allocations, 2U * 4096 / 64);
    for (void* const block : blocks) heap.deallocate(block);
    EXPECT_EQ(heap.use().blocks, 0U);
}

}  // namespace
}  // namespace millpond::classic
