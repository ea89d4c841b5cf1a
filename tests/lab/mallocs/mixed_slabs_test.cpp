// SPDX-License-Identifier: BSL-1.0
// mixed_slabs against a model: pieces never overlap, free neighbours are joined, and an empty slab is recognised.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "preload/mixed_slabs.hpp"

namespace {

using millpond::preload::depot_slab;
using millpond::preload::free_block;
using millpond::preload::mixed_slabs;
using millpond::preload::slab_map;

constexpr std::size_t alignment_max = 64;

// Slabs cut into blocks of `bytes`, all of which were given out; the blocks that `is_free` names were freed.
struct heap {
    heap() { EXPECT_TRUE(map.place(std::size_t{64} << 20)); }
    ~heap() { map.unmap(); }
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;

    template <class IsFree>
    std::vector<char*> adopt(std::size_t bytes, IsFree is_free) {
        char* const slab = static_cast<char*>(map.take(1));
        slabs.insert(slab);
        auto& one = *static_cast<depot_slab*>(map.note_of(slab));
        one = {};
        one.blocks = one.fresh = one.out = static_cast<std::uint16_t>(slab_map::slab_bytes / bytes);
        std::vector<char*> used;
        for (unsigned i = 0; i < one.blocks; ++i) {
            char* const block = slab + i * bytes;
            if (!is_free(i)) {
                used.push_back(block);
                continue;
            }
            one.freed = new (block) free_block{one.freed};
            --one.out;
        }
        EXPECT_TRUE(mixed.adopt(one, bytes));
        return used;
    }
    std::vector<std::size_t> free_pieces() {
        std::vector<std::size_t> found;
        for (char* each : slabs)
            mixed.for_each_piece(*static_cast<depot_slab*>(map.note_of(each)), [&](std::size_t bytes, bool is_free) {
                if (is_free) found.push_back(bytes);
            });
        return found;
    }
    // Returns true if its slab is empty.
    bool put(char* block) {
        const depot_slab* const emptied = mixed.put(reinterpret_cast<free_block*>(block));
        if (emptied != nullptr) slabs.erase(map.slab_of(emptied));
        return emptied != nullptr;
    }

    slab_map map;
    mixed_slabs mixed{map};
    std::set<char*> slabs;
};

TEST(mixed_slabs, joins_free_neighbours_of_an_adopted_slab) {
    heap of;
    const auto used = of.adopt(400, [](unsigned i) { return i % 4 != 0; });
    EXPECT_EQ(of.mixed.bytes_of(used.front()), 400u);
    auto pieces = of.free_pieces();
    EXPECT_EQ(pieces.size(), 41u);
    EXPECT_EQ(std::count(pieces.begin(), pieces.end(), 1200u), 40);
    EXPECT_NE(of.mixed.take(1200, alignment_max), nullptr);
    EXPECT_EQ(of.mixed.take(2400, alignment_max), nullptr);
    EXPECT_FALSE(of.put(used[5]));
    auto* const longer = reinterpret_cast<char*>(of.mixed.take(2800, 16));
    EXPECT_EQ(longer, used[5] - 1200);
    EXPECT_EQ(of.mixed.bytes_of(longer), 2800u);
}

TEST(mixed_slabs, leaves_pages_behind_the_last_block_untouched) {
    heap of;
    const std::size_t bytes = slab_map::page_bytes * 14 / 4;
    const auto used = of.adopt(bytes, [](unsigned i) { return i == 3; });
    // Four blocks of 14336 bytes leave two pages.
    EXPECT_EQ(of.free_pieces(), std::vector<std::size_t>{bytes});
    for (std::size_t i = 1; i < used.size(); ++i) EXPECT_FALSE(of.put(used[i]));
    EXPECT_TRUE(of.put(used[0]));
}

TEST(mixed_slabs, ignores_a_second_free) {
    heap of;
    const auto used = of.adopt(64, [](unsigned i) { return i > 3; });
    EXPECT_FALSE(of.put(used[1]));
    EXPECT_FALSE(of.put(used[1]));
    EXPECT_FALSE(of.put(used[0]));
    EXPECT_FALSE(of.put(used[2]));
    EXPECT_TRUE(of.put(used[3]));
}

TEST(mixed_slabs, blocks_of_any_size_keep_their_contents) {
    heap of;
    std::mt19937 random(3);
    struct block {
        char* first;
        std::size_t bytes;
        char mark;
    };
    std::vector<block> blocks;
    for (const std::size_t bytes : {16, 48, 400, 1040, 4368, 20480})
        for (char* each : of.adopt(bytes, [&](unsigned) { return random() % 2 == 0; })) {
            std::memset(each, 7, bytes);
            blocks.push_back({each, bytes, 7});
        }
    const auto is_whole = [](const block& one) {
        return std::all_of(one.first, one.first + one.bytes, [&](char c) { return c == one.mark; });
    };
    std::size_t taken = 0;
    for (int i = 0; i < 60000; ++i) {
        if (random() % 2 == 0) {
            const std::size_t bytes = 16 * (1 + random() % (std::size_t{1} << random() % 10));
            auto* const p = reinterpret_cast<char*>(of.mixed.take(bytes, alignment_max));
            if (p == nullptr) continue;
            const std::size_t lowest = (bytes | alignment_max) & (0 - (bytes | alignment_max));
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % lowest, 0u);
            ASSERT_EQ(of.mixed.bytes_of(p), bytes);
            std::memset(p, i, bytes);
            blocks.push_back({p, bytes, static_cast<char>(i)});
            ++taken;
        } else if (!blocks.empty()) {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            ASSERT_TRUE(is_whole(blocks.back()));
            ASSERT_EQ(of.mixed.bytes_of(blocks.back().first), blocks.back().bytes);
            of.put(blocks.back().first);
            blocks.pop_back();
        }
    }
    EXPECT_GE(taken, 10000u);
    for (const block& each : blocks) {
        ASSERT_TRUE(is_whole(each));
        of.put(each.first);
    }
    EXPECT_TRUE(of.slabs.empty());
}

}  // namespace
