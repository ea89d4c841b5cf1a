// SPDX-License-Identifier: BSL-1.0
// classic_pointer_layout_test: the positions of the classic allocators' pointer-sized words. In a 32-bit build
// (tests/i386) these have 4 bytes, as in 1993: 6 of them are a block of 24 bytes.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <millpond/classic.hpp>
#include <millpond/core.hpp>
#include <vector>

namespace millpond::classic {
namespace {

constexpr std::size_t wide = sizeof(void*);

std::uintptr_t pointer_at(const void* block, std::ptrdiff_t words) {
    std::uintptr_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(block) + static_cast<std::ptrdiff_t>(wide) * words, wide);
    return value;
}
std::uintptr_t address(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

TEST(classic_pointer_layout, first_fit_has_tags_at_both_ends_and_links_between) {
    first_fit<pointer_words> heap;
    std::array<std::byte*, 4> blocks{};
    for (std::byte*& block : blocks) block = static_cast<std::byte*>(heap.allocate(6 * wide, wide));
    for (std::size_t i = 1; i < blocks.size(); ++i) EXPECT_EQ(blocks[i] - blocks[i - 1], 8 * wide);
    EXPECT_EQ(address(blocks[0]) % (2 * wide), 0U);
    EXPECT_EQ(pointer_at(blocks[1], -1), 8 * wide | 1U);
    EXPECT_EQ(pointer_at(blocks[1], 6), 8 * wide | 1U);
    heap.deallocate(blocks[0]);
    heap.deallocate(blocks[2]);
    EXPECT_EQ(pointer_at(blocks[0], -1), 8 * wide);
    EXPECT_EQ(pointer_at(blocks[0], 6), 8 * wide);
    EXPECT_EQ(pointer_at(blocks[2], 0), address(blocks[0])) << "the next of the list";
    EXPECT_EQ(pointer_at(blocks[0], 1), address(blocks[2])) << "the one before";
    EXPECT_EQ(pointer_at(blocks[1], -1), 8 * wide | 1U);
}

TEST(classic_pointer_layout, words_of_bsd_are_a_tag_before_and_an_address_when_free) {
    bsd<pointer_words> heap;
    for (const auto& [asked, usable] : std::map<std::size_t, std::size_t>{
             {0, 1}, {wide, 1}, {wide + 1, 3}, {3 * wide, 3}, {3 * wide + 1, 7}, {7 * wide + 1, 15}}) {
        EXPECT_EQ(heap.usable_bytes(heap.allocate(asked, wide)), usable * wide) << asked;
    }
    auto* const one = static_cast<std::byte*>(heap.allocate(6 * wide, wide));
    auto* const two = static_cast<std::byte*>(heap.allocate(7 * wide, wide));
    EXPECT_EQ(two - one, 8 * wide);
    EXPECT_EQ(pointer_at(one, -1), 2 * 2U) << "twice the number of the class";
    heap.deallocate(one);
    heap.deallocate(two);
    EXPECT_EQ(pointer_at(two, 0), address(one));
}

TEST(classic_pointer_layout, words_of_gnu_local_are_nowhere_near_the_blocks) {
    gnu_local<pointer_words> heap;
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 128; ++i) blocks.push_back(static_cast<std::byte*>(heap.allocate(32, wide)));
    for (std::size_t i = 2; i < blocks.size(); ++i) EXPECT_EQ(blocks[i] - blocks[i - 1], -32) << i;
}

TEST(classic_pointer_layout, tags_tell_quick_fit_blocks_from_gnu_gxx_blocks) {
    quick_fit<pointer_words> heap;
    auto* const one = static_cast<std::byte*>(heap.allocate(32, wide));
    auto* const two = static_cast<std::byte*>(heap.allocate(32, wide));
    EXPECT_EQ(two - one, wide == 4 ? 40 : 48) << "32 bytes and a tag, in units of two words";
    EXPECT_EQ(pointer_at(one, -1) % 2, 0U);
    heap.deallocate(one);
    heap.deallocate(two);
    EXPECT_EQ(pointer_at(two, 0), address(one));
    EXPECT_EQ(pointer_at(heap.allocate(33, wide), -1) % 2, 1U);
}

TEST(classic_pointer_layout, words_of_size_map_are_an_address_in_a_free_block) {
    size_map<class_map<24, 40, 1000>, pointer_words> heap;
    std::array<std::byte*, 3> blocks{};
    for (std::byte*& block : blocks) block = static_cast<std::byte*>(heap.allocate(40, 8));
    for (std::byte* const block : blocks) heap.deallocate(block);
    EXPECT_EQ(blocks[1] - blocks[0], 40);
    EXPECT_EQ(pointer_at(blocks[1], 0), address(blocks[0]));
    EXPECT_EQ(pointer_at(blocks[2], 0), address(blocks[1]));
}

}  // namespace
}  // namespace millpond::classic
