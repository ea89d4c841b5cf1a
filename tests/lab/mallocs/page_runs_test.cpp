// SPDX-License-Identifier: BSL-1.0
// page_runs against a model: blocks never overlap, freed neighbours become one, nothing is lost, and nothing is written
// to free memory.
#include "preload/page_runs.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "preload/pool_slabs.hpp"

namespace {

using millpond::preload::page_runs;
using millpond::preload::slab_map;

constexpr std::uint16_t pool = 3;
constexpr std::uint8_t run_class = 90;

struct pages {
    pages() { EXPECT_TRUE(map.place(std::size_t{256} << 20)); }
    ~pages() { map.unmap(); }
    pages(const pages&) = delete;
    pages& operator=(const pages&) = delete;

    void add(std::uint32_t slabs, bool is_untouched = true) {
        void* const first = map.take(slabs);
        ASSERT_NE(first, nullptr);
        runs.add({static_cast<char*>(first), slabs}, is_untouched);
        held += slabs * slab_map::slab_bytes;
    }

    slab_map map;
    page_runs runs{map, pool, run_class};
    std::size_t held = 0;
};

TEST(page_runs, blocks_never_overlap_and_nothing_is_lost) {
    for (const unsigned seed : {1u, 2u, 3u}) {
        SCOPED_TRACE(seed);
        pages of;
        std::mt19937 random(seed);
        std::map<char*, std::uint32_t> blocks;  // their pages
        std::size_t live = 0;
        for (int i = 0; i < 20000; ++i) {
            if (blocks.empty() || (random() % 9 < 5 && live < (std::size_t{48} << 20))) {
                const std::uint32_t wanted = page_runs::least_pages + random() % (1u << random() % 9);
                const std::uint32_t alignment = 1u << (random() % 4 == 0 ? random() % 5 : 0);
                bool is_zero = false;
                char* block = of.runs.take_aligned(wanted, alignment, is_zero);
                if (block == nullptr) {
                    of.add(slab_map::rounded((wanted + alignment) / page_runs::slab_pages + 1));
                    block = of.runs.take_aligned(wanted, alignment, is_zero);
                }
                ASSERT_NE(block, nullptr);
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % (alignment * page_runs::page_bytes), 0u);
                ASSERT_EQ(of.runs.bytes_of(block), wanted * page_runs::page_bytes);
                const std::size_t bytes = wanted * page_runs::page_bytes;
                for (std::size_t at = 0; is_zero && at < bytes; at += 512) ASSERT_EQ(block[at], 0);
                block[0] = block[bytes - 1] = 1;
                const auto next = blocks.lower_bound(block);
                ASSERT_TRUE(next == blocks.end() || block + bytes <= next->first);
                ASSERT_TRUE(next == blocks.begin() ||
                            std::prev(next)->first + std::prev(next)->second * page_runs::page_bytes <= block);
                blocks.emplace(block, wanted);
                live += bytes;
            } else if (auto one = std::next(blocks.begin(), random() % blocks.size()); random() % 4 == 0) {
                const std::uint32_t wanted = one->second + random() % 8;
                if (wanted > page_runs::largest_pages || !of.runs.grow(one->first, wanted)) continue;
                const auto next = std::next(one);
                ASSERT_TRUE(next == blocks.end() || one->first + wanted * page_runs::page_bytes <= next->first);
                live += (wanted - one->second) * page_runs::page_bytes;
                one->second = wanted;
            } else {
                ASSERT_EQ(of.runs.put(one->first), one->second * page_runs::page_bytes);
                live -= one->second * page_runs::page_bytes;
                blocks.erase(one);
            }
            ASSERT_EQ(of.runs.free_bytes() + live, of.held);
        }
        for (const auto& [block, its_pages] : blocks) of.runs.put(block);
        EXPECT_EQ(of.runs.free_bytes(), of.held);
        // Every slab can leave again.
        std::size_t left = 0;
        while (of.runs.take_slab() != nullptr) left += slab_map::slab_bytes;
        EXPECT_EQ(left, of.held);
        EXPECT_EQ(of.runs.free_bytes(), 0u);
    }
}

TEST(page_runs, freed_neighbours_serve_a_block_of_their_sum) {
    pages of;
    of.add(8);
    bool is_zero = false;
    std::vector<char*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(of.runs.take(16, is_zero));
    EXPECT_EQ(of.runs.take(16, is_zero), nullptr);
    for (const int each : {0, 2, 4, 6, 5, 3, 1, 7}) of.runs.put(blocks[static_cast<std::size_t>(each)]);
    EXPECT_EQ(of.runs.take(128, is_zero), blocks[0]);
    EXPECT_FALSE(is_zero);
}

TEST(page_runs, touched_pages_serve_before_untouched_ones) {
    pages of;
    of.add(8);
    bool is_zero = false;
    char* const first = of.runs.take(20, is_zero);
    EXPECT_TRUE(is_zero);
    char* const second = of.runs.take(20, is_zero);
    EXPECT_TRUE(is_zero);
    of.runs.put(first);
    EXPECT_EQ(of.runs.take(10, is_zero), first);
    EXPECT_FALSE(is_zero);
    of.runs.put(second);
}

TEST(page_runs, the_shortest_run_that_is_long_enough_serves) {
    pages of;
    of.add(16);
    bool is_zero = false;
    std::vector<char*> blocks;
    for (const std::uint32_t each : {40u, 7u, 20u, 7u, 30u, 7u}) blocks.push_back(of.runs.take(each, is_zero));
    for (const int each : {0, 2, 4}) of.runs.put(blocks[static_cast<std::size_t>(each)]);
    EXPECT_EQ(of.runs.take(19, is_zero), blocks[2]);
    EXPECT_EQ(of.runs.take(25, is_zero), blocks[4]);
}

TEST(page_runs, a_second_free_changes_nothing) {
    pages of;
    of.add(4);
    bool is_zero = false;
    char* const block = of.runs.take(10, is_zero);
    EXPECT_EQ(of.runs.put(block), 10 * page_runs::page_bytes);
    EXPECT_EQ(of.runs.put(block), 0u);
    EXPECT_EQ(of.runs.free_bytes(), of.held);
}

TEST(page_runs, the_longest_run_gives_its_slabs_and_no_other_page) {
    pages of;
    of.add(32);
    bool is_zero = false;
    char* const below = of.runs.take(24, is_zero);
    char* const middle = of.runs.take(200, is_zero);
    char* const above = of.runs.take(100, is_zero);
    EXPECT_EQ(of.runs.take_from_longest(32).count, 0u) << "what was never touched is not there to be given back";
    of.runs.put(middle);
    for (std::size_t left = 12; left != 0;) {
        const page_runs::slabs out = of.runs.take_from_longest(5);
        ASSERT_GT(out.count, 0u);
        ASSERT_GE(out.first, below + 24 * page_runs::page_bytes);
        ASSERT_LE(out.first + out.count * slab_map::slab_bytes, above);
        ASSERT_EQ(of.map.owner_of(out.first).block_bytes, 0u);
        left -= out.count;
    }
    EXPECT_EQ(of.runs.take_from_longest(5).count, 0u);
}

}  // namespace
