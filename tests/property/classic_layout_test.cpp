// SPDX-License-Identifier: BSL-1.0
// classic_layout_test: the rules of each classic allocator: the position of its words (byte by byte in the words of
// 1993), its rounding, its choice of a block, and its coalescing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <millpond/classic.hpp>
#include <millpond/core.hpp>
#include <vector>

#include "../unit/support/seed.hpp"

namespace millpond::classic {
namespace {

using test::uniform;

std::uint32_t word_at(const void* block, std::ptrdiff_t words) {
    std::uint32_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(block) + 4 * words, sizeof value);
    return value;
}

TEST(classic_layout, a_block_of_first_fit_has_a_word_of_four_bytes_at_each_end) {
    first_fit<offset_words> heap;
    auto* const one = static_cast<std::byte*>(heap.allocate(24, 4));
    auto* const two = static_cast<std::byte*>(heap.allocate(24, 4));
    EXPECT_EQ(two - one, 32) << "24 bytes and two tags";
    EXPECT_EQ(word_at(one, -1), 32U | 1U);
    EXPECT_EQ(word_at(one, 6), 32U | 1U);
    heap.deallocate(one);
    EXPECT_EQ(word_at(one, -1), 32U);
    EXPECT_EQ(word_at(one, 6), 32U);
    EXPECT_EQ(word_at(two, -1), 32U | 1U);
}

TEST(classic_layout, first_fit_leaves_no_rest_of_less_than_24_bytes) {
    first_fit<offset_words, operation_counts> heap;
    void* const hole = heap.allocate(100, 4);
    void* const wall = heap.allocate(100, 4);
    std::vector<void*> rest;
    while (heap.use().free_blocks != 0) rest.push_back(heap.allocate(24, 4));
    heap.deallocate(hole);
    void* const almost = heap.allocate(80, 4);  // 20 bytes would be left
    EXPECT_EQ(almost, hole);
    EXPECT_EQ(heap.usable_bytes(almost), 100U);
    heap.deallocate(almost);
    void* const less = heap.allocate(76, 4);  // 24 are left
    EXPECT_EQ(less, hole);
    EXPECT_EQ(heap.usable_bytes(less), 76U);
    EXPECT_EQ(heap.use().free_blocks, 1U);
    heap.deallocate(wall);
}

TEST(classic_layout, first_fit_goes_on_where_the_last_search_ended) {
    first_fit<offset_words> heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 9; ++i) blocks.push_back(heap.allocate(100, 4));
    for (const std::size_t i : {1U, 3U, 5U}) heap.deallocate(blocks[i]);
    // The list is 5, 3, 1 and the rest of the page, where the last search ended.
    void* const first = heap.allocate(100, 4);
    EXPECT_NE(first, blocks[5]);
    EXPECT_NE(first, blocks[3]);
    EXPECT_NE(first, blocks[1]);
}

TEST(classic_layout, freed_neighbours_are_one_block_in_constant_time) {
    first_fit<pointer_words, operation_counts> heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 60; ++i) blocks.push_back(heap.allocate(100, 8));
    for (std::size_t i = 0; i < blocks.size(); i += 2) heap.deallocate(blocks[i]);
    for (std::size_t i = 1; i < blocks.size(); i += 2) heap.deallocate(blocks[i]);
    EXPECT_EQ(heap.use().free_blocks, 1U);
    EXPECT_EQ(heap.use().external_fragmentation(), 0.0);
    EXPECT_GE(heap.operations().coalesces, 60U);
}

TEST(classic_layout, deferred_coalescing_joins_after_a_failed_search) {
    first_fit<pointer_words, operation_counts, coalescing::never> never;
    first_fit<pointer_words, operation_counts, coalescing::deferred> deferred;
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(never.allocate(100, 8));
    for (void* const block : blocks) never.deallocate(block);
    EXPECT_GE(never.use().free_blocks, 200U);
    EXPECT_EQ(never.operations().coalesces, 0U);
    blocks.clear();
    for (int i = 0; i < 200; ++i) blocks.push_back(deferred.allocate(100, 8));
    for (void* const block : blocks) deferred.deallocate(block);
    EXPECT_EQ(deferred.operations().coalesces, 0U);
    const std::size_t used = deferred.use().used_bytes;
    EXPECT_NE(deferred.allocate(15000, 8), nullptr);
    EXPECT_GE(deferred.operations().coalesces, 200U);
    EXPECT_EQ(deferred.use().used_bytes, used) << "no memory was needed";
}

// The bytes of every block, without its tags, and of the head of the list behind them.
std::vector<std::vector<std::byte>> contents_of(
    const first_fit<pointer_words, operation_counts, coalescing::never>& heap) {
    std::vector<std::vector<std::byte>> found;
    const auto keep = [&](const void* place, std::size_t bytes) {
        const auto* const from = static_cast<const std::byte*>(place);
        found.emplace_back(from, from + bytes);
    };
    heap.for_each_block([&](const void* block, std::size_t bytes, bool) { keep(block, bytes - heap.tag_bytes); });
    keep(heap.head(0), heap.tag_bytes);
    return found;
}

TEST(classic_layout, an_insertion_counts_the_nodes_that_it_writes) {
    first_fit<pointer_words, operation_counts, coalescing::never> heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 300; ++i) blocks.push_back(heap.allocate(100, 8));
    auto random = test::random_numbers();
    std::size_t changed = 0;
    const operation_counts before = heap.operations();
    for (std::size_t i = 0; i < blocks.size(); i += uniform<std::size_t>(random, 1, 9)) {
        const auto old = contents_of(heap);
        heap.deallocate(blocks[i]);
        const auto now = contents_of(heap);
        for (std::size_t place = 0; place < now.size(); ++place) changed += old[place] != now[place];
    }
    const operation_counts& after = heap.operations();
    EXPECT_EQ(after.insertions - before.insertions, after.deallocations);
    EXPECT_EQ(after.relinked_nodes - before.relinked_nodes, changed);
    EXPECT_EQ(changed, 3 * after.deallocations) << "the rest of the last page is in the list, too";
    EXPECT_GE(after.relinked_pages - before.relinked_pages, after.deallocations);
    EXPECT_LE(after.relinked_pages, after.relinked_nodes);
}

TEST(classic_layout, gnu_gxx_takes_the_first_of_a_larger_list_without_a_search) {
    gnu_gxx<pointer_words, operation_counts> heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(heap.allocate(i % 2 == 0 ? 400 : 8, 8));
    for (std::size_t i = 0; i < blocks.size(); i += 2) heap.deallocate(blocks[i]);
    const auto before = heap.operations().searched_blocks;
    EXPECT_NE(heap.allocate(100, 8), nullptr);
    EXPECT_EQ(heap.operations().searched_blocks, before + 1);
}

TEST(classic_layout, best_fit_takes_the_smallest_that_is_large_enough) {
    best_fit<pointer_words, operation_counts> heap;
    std::vector<void*> holes;
    for (const std::size_t bytes : {96U, 48U, 32U, 64U, 200U}) {
        holes.push_back(heap.allocate(bytes, 8));
        static_cast<void>(heap.allocate(8, 8));
    }
    for (void* const hole : holes) heap.deallocate(hole);
    EXPECT_EQ(heap.allocate(40, 8), holes[1]);
    EXPECT_EQ(heap.allocate(90, 8), holes[0]);
}

TEST(classic_layout, bsd_rounds_to_a_power_of_two_minus_a_word) {
    bsd<offset_words> heap;
    for (const auto& [asked, usable] : std::map<std::size_t, std::size_t>{{0, 4},
                                                                          {4, 4},
                                                                          {5, 12},
                                                                          {12, 12},
                                                                          {13, 28},
                                                                          {28, 28},
                                                                          {29, 60},
                                                                          {60, 60},
                                                                          {61, 124},
                                                                          {4092, 4092},
                                                                          {4093, 8188}}) {
        EXPECT_EQ(heap.usable_bytes(heap.allocate(asked, 4)), usable) << asked;
    }
    auto* const one = static_cast<std::byte*>(heap.allocate(1000, 4));
    auto* const two = static_cast<std::byte*>(heap.allocate(1000, 4));
    EXPECT_EQ(two - one, 1024);
    heap.deallocate(one);
    EXPECT_EQ(heap.allocate(900, 4), one) << "the block that was freed last, whatever its size was";
}

TEST(classic_layout, gnu_local_has_no_tags_and_reuses_empty_pages) {
    gnu_local<offset_words> heap;
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 128; ++i) blocks.push_back(static_cast<std::byte*>(heap.allocate(32, 4)));
    for (std::size_t i = 1; i < blocks.size(); ++i) EXPECT_EQ(blocks[i] - blocks[i - 1], i == 1 ? 4064 : -32) << i;
    const std::size_t used = heap.use().used_bytes;
    for (std::byte* const block : blocks) heap.deallocate(block);
    EXPECT_EQ(heap.use().free_bytes, 4096U);
    EXPECT_NE(heap.allocate(64, 4), nullptr);
    EXPECT_EQ(heap.use().used_bytes, used);
}

TEST(classic_layout, gnu_local_with_padding_gives_a_block_of_the_next_size) {
    gnu_local<offset_words> bare;
    gnu_local<offset_words, uncounted, 8> padded;
    EXPECT_EQ(bare.usable_bytes(bare.allocate(32, 4)), 32U);
    EXPECT_EQ(padded.usable_bytes(padded.allocate(24, 4)), 24U);
    EXPECT_EQ(padded.usable_bytes(padded.allocate(32, 4)), 56U);
}

TEST(classic_layout, gnu_local_keeps_its_table_dense_while_the_heap_grows) {
    gnu_local<pointer_words> heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 3000; ++i) blocks.push_back(heap.allocate(4096, 8));
    EXPECT_EQ(heap.use().blocks, 3000U);
    for (void* const block : blocks) heap.deallocate(block);
    EXPECT_LE(heap.use().free_blocks, 3U) << "runs of pages become one";
}

TEST(classic_layout, quick_fit_has_a_list_per_word_and_tags_its_blocks) {
    quick_fit<offset_words> heap;
    EXPECT_EQ(heap.lists, 8U) << "4 … 32 bytes";
    for (std::size_t bytes = 4; bytes <= 32; bytes += 4) {
        void* const block = heap.allocate(bytes, 4);
        EXPECT_EQ(heap.usable_bytes(block), bytes);
        EXPECT_EQ(word_at(block, -1) % 2, 0U);
        heap.deallocate(block);
        EXPECT_EQ(heap.allocate(bytes, 4), block);
    }
    EXPECT_EQ(word_at(heap.allocate(33, 4), -1) % 2, 1U);
}

TEST(classic_layout, quick_fit_leaves_larger_blocks_and_its_pages_to_gnu_gxx) {
    quick_fit<offset_words, operation_counts> heap;
    void* const small = heap.allocate(8, 4);
    EXPECT_EQ(heap.operations().allocations, 1U);
    EXPECT_EQ(heap.operations().growths, 1U);
    EXPECT_EQ(heap.general_operations().growths, 1U) << "the page of the small block";
    const auto pages = heap.general_operations().allocations;
    void* const large = heap.allocate(33, 4);
    void* const aligned = heap.allocate(8, 64);
    EXPECT_EQ(heap.operations().allocations, 1U);
    EXPECT_EQ(heap.general_operations().allocations, pages + 2);
    for (void* const block : {small, large, aligned}) heap.deallocate(block);
    EXPECT_EQ(heap.operations().deallocations, 1U);
    EXPECT_EQ(heap.general_operations().deallocations, 2U);
}

TEST(classic_layout, a_page_of_size_map_is_its_users_bytes_and_nothing_else) {
    size_map<class_map<24, 40, 1000>, offset_words, operation_counts> heap;
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 171; ++i) blocks.push_back(static_cast<std::byte*>(heap.allocate(17 + i % 8, 4)));
    for (std::size_t i = 1; i < 170; ++i) ASSERT_EQ(blocks[i] - blocks[i - 1], 24) << i;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[0]) % 4096, 0U);
    EXPECT_EQ(blocks[170] - blocks[0], 4096) << "the next page";
    for (std::byte* const block : blocks) std::memset(block, 0x5A, heap.usable_bytes(block));
    EXPECT_EQ(std::count(blocks[0], blocks[0] + 4096, std::byte{0x5A}), 170 * 24);
    EXPECT_EQ(heap.operations().growths, 2U);
    EXPECT_EQ(heap.use().blocks, 171U);
}

TEST(classic_layout, freed_blocks_of_size_map_are_linked_by_their_first_word) {
    size_map<class_map<24, 40, 1000>, offset_words> heap;
    std::array<std::byte*, 3> blocks{};
    for (std::byte*& block : blocks) block = static_cast<std::byte*>(heap.allocate(40, 4));
    for (std::byte* const block : blocks) heap.deallocate(block);
    EXPECT_EQ(word_at(blocks[0], 0) - word_at(blocks[1], 0), 3 * 40U) << "the next of the page";
    EXPECT_EQ(word_at(blocks[2], 0) - word_at(blocks[1], 0), 40U) << "distances from the base";
    EXPECT_EQ(heap.allocate(25, 8), blocks[2]) << "any size of the class";
    EXPECT_NE(heap.allocate(24, 8), blocks[1]) << "another class";
}

TEST(classic_layout, size_map_finds_the_class_or_gnu_gxx_by_the_address) {
    size_map<class_map<24, 40, 1000, 9000>, offset_words, operation_counts> heap;
    for (const auto& [asked, usable] : std::map<std::size_t, std::size_t>{
             {0, 24}, {24, 24}, {25, 40}, {41, 1000}, {1000, 1000}, {1001, 9000}, {9001, 9004}, {20000, 20000}}) {
        void* const block = heap.allocate(asked, 4);
        EXPECT_EQ(heap.usable_bytes(block), usable) << asked;
        EXPECT_EQ(word_at(block, -1) == usable + 9, asked > 9000) << "a tag of gnu_gxx";
        heap.deallocate(block);
        EXPECT_EQ(heap.allocate(asked, 4), block) << asked;
    }
    EXPECT_EQ(heap.general_operations().deallocations, 2U);
    void* const aligned = heap.allocate(24, 16);
    EXPECT_EQ(word_at(aligned, -1), heap.usable_bytes(aligned) + 9) << "no class is a multiple of 16";
}

TEST(classic_layout, classes_of_size_map_lose_at_most_an_eighth_of_their_pages) {
    size_map<class_map<9000>, pointer_words, operation_counts> heap;
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 6; ++i) blocks.push_back(static_cast<std::byte*>(heap.allocate(9000, 8)));
    EXPECT_EQ(heap.operations().growths, 3U) << "five pages have two blocks";
    EXPECT_EQ(blocks[1] - blocks[0], 9000);
    EXPECT_EQ(blocks[2] - blocks[0], 5 * 4096);
}

template <class Heap>
class classic_buddies : public testing::Test {};
using buddies =
    testing::Types<binary_buddy<>, fibonacci_buddy<>, binary_buddy<offset_words>, fibonacci_buddy<offset_words>>;
TYPED_TEST_SUITE(classic_buddies, buddies);

TYPED_TEST(classic_buddies, freeing_in_any_order_restores_one_block) {
    TypeParam heap;
    auto numbers = test::random_numbers();
    for (int turn = 0; turn < 20; ++turn) {
        std::vector<void*> blocks;
        for (int i = 0; i < 300; ++i) blocks.push_back(heap.allocate(uniform<std::size_t>(numbers, 0, 5000), 8));
        std::shuffle(blocks.begin(), blocks.end(), numbers);
        for (void* const block : blocks) heap.deallocate(block);
        ASSERT_EQ(heap.use().free_blocks, 1U);
    }
}

TEST(classic_layout, sizes_of_the_buddies_are_those_of_their_series) {
    binary_buddy<offset_words> binary;
    fibonacci_buddy<offset_words> fibonacci;
    for (const auto& [asked, of_two, of_sum] : std::vector<std::array<std::size_t, 3>>{
             {12, 12, 12}, {13, 28, 28}, {29, 60, 44}, {45, 60, 76}, {61, 124, 76}, {77, 124, 124}, {125, 252, 204}}) {
        EXPECT_EQ(binary.usable_bytes(binary.allocate(asked, 4)), of_two) << asked;
        EXPECT_EQ(fibonacci.usable_bytes(fibonacci.allocate(asked, 4)), of_sum) << asked;
    }
}

TEST(classic_layout, searches_are_counted_by_the_blocks_that_were_looked_at) {
    best_fit<pointer_words, operation_counts> heap;
    static_cast<void>(heap.allocate(100, 8));  // nothing to look at
    static_cast<void>(heap.allocate(100, 8));  // the rest of the page
    EXPECT_EQ(heap.operations().searched_blocks, 1U);
    EXPECT_EQ(heap.operations().searches[0], 0U) << "the first heap has no list yet";
    EXPECT_EQ(heap.operations().searches[1], 1U);
}

TEST(classic_layout, use_tells_the_largest_free_block_and_how_much_lies_elsewhere) {
    gnu_gxx<> heap;
    void* const large = heap.allocate(2000, 8);
    static_cast<void>(heap.allocate(8, 8));
    void* const small = heap.allocate(200, 8);
    static_cast<void>(heap.allocate(1000, 8));
    heap.deallocate(large);
    heap.deallocate(small);
    EXPECT_EQ(heap.use().largest_free_bytes, 2000 + 2 * sizeof(void*));
    EXPECT_GT(heap.use().external_fragmentation(), 0.0);
}

}  // namespace
}  // namespace millpond::classic
