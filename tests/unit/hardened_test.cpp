// SPDX-License-Identifier: BSL-1.0
// hardened_test: in programs built with MILLPOND_HARDENED, misuse of freed blocks ends the program with a message.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <millpond/core.hpp>
#include <millpond/local.hpp>
#include <utility>

namespace millpond {
namespace {

static_assert(detail::is_hardened);

class hardened_pool : public testing::TestWithParam<std::size_t> {
  protected:
    [[nodiscard]] void* allocate() { return pool.allocate(GetParam(), 8); }
    void deallocate(void* block) { pool.deallocate(block, GetParam(), 8); }

    multipool<> pool;
};

INSTANTIATE_TEST_SUITE_P(sizes, hardened_pool, testing::Values(8, 16, 24, 100, 5000, 300000));

TEST_P(hardened_pool, serves_as_any_other_does) {
    for (int round = 0; round < 3; ++round) {
        void* const a = allocate();
        void* const b = allocate();
        EXPECT_NE(a, b);
        std::memset(a, 1, GetParam());
        std::memset(b, 2, GetParam());
        EXPECT_EQ(*static_cast<char*>(a), 1);
        EXPECT_EQ(*static_cast<char*>(b), 2);
        deallocate(a);
        deallocate(b);
    }
}

TEST_P(hardened_pool, freeing_a_block_twice_in_a_row_ends_the_program) {
    void* const block = allocate();
    deallocate(block);
    EXPECT_DEATH(deallocate(block), "millpond: a block was freed twice: the block at ");
}

TEST_P(hardened_pool, freeing_a_block_twice_with_others_between_ends_the_program) {
    if (GetParam() < 16) GTEST_SKIP() << "no room for a seal";
    void* const block = allocate();
    void* const other = allocate();
    deallocate(block);
    deallocate(other);
    EXPECT_DEATH(deallocate(block), "millpond: a block was freed twice: the block at ");
}

TEST_P(hardened_pool, a_link_that_was_written_over_ends_the_program) {
    void* const block = allocate();
    deallocate(block);
    std::memset(block, 0x41, 8);
    EXPECT_DEATH(static_cast<void>(allocate()), "millpond: a free block was written to: the block at ");
}

TEST_P(hardened_pool, a_seal_that_was_written_over_ends_the_program) {
    if (GetParam() < 16) GTEST_SKIP() << "no room for a seal";
    void* const block = allocate();
    deallocate(block);
    std::memset(static_cast<char*>(block) + sizeof(void*), 0x41, sizeof(void*));
    EXPECT_DEATH(static_cast<void>(allocate()), "millpond: a free block was written to: the block at ");
}

TEST_P(hardened_pool, a_block_that_the_pool_never_gave_ends_the_program) {
    alignas(16) static char foreign[300000];
    EXPECT_DEATH(deallocate(foreign), "millpond: a pool got back a block that it never gave out: the block at ");
}

// The words before a block of this size, one by one, beyond a margin of 16 bytes.
class hardened_heap : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};

INSTANTIATE_TEST_SUITE_P(words, hardened_heap,
                         testing::Values(std::pair{16, 0}, std::pair{16, 100}, std::pair{16, 192},
                                         std::pair{16 + 2 * sizeof(void*),
                                                   static_cast<std::size_t>(0x4141414141414141)}));

TEST_P(hardened_heap, a_head_that_was_written_over_ends_the_program) {
    alignas(64) static char memory[60000];
    detail::block_heap heap;
    heap.add(std::begin(memory), std::end(memory));
    auto* const block = static_cast<char*>(heap.try_allocate(20000));
    static_cast<void>(heap.try_allocate(20000));
    const auto [offset, word] = GetParam();
    std::memcpy(block - detail::block_heap::line_bytes + offset, &word, sizeof word);
    EXPECT_DEATH(heap.deallocate(block), "millpond: the head of a block was overwritten: the block at ");
}

// Returns the words behind a block from the source: two links or a slot, then the block's bytes.
template <class Pool>
void overwritten_behind_its_end(std::size_t offset, std::size_t bytes, const char* says) {
    constexpr std::size_t block_bytes = 2000000;
    Pool pool;
    auto* const block = static_cast<char*>(pool.allocate(block_bytes, 8));
    EXPECT_DEATH(
        {
            std::memset(block + block_bytes + offset, 0x41, bytes);
            pool.deallocate(block, block_bytes, 8);
        },
        says);
}

TEST(hardened_large, bytes_written_behind_a_block_end_the_program) {
    const char* const says = "millpond: a block was written to beyond its end: the block at ";
    overwritten_behind_its_end<multipool<>>(2 * sizeof(void*), sizeof(void*), says);
    overwritten_behind_its_end<synchronized_multipool<>>(2 * sizeof(void*), sizeof(void*), says);
}

TEST(hardened_large, a_slot_that_does_not_exist_ends_the_program) {
    overwritten_behind_its_end<synchronized_multipool<>>(sizeof(void*), 4,
                                                         "millpond: a block was freed twice: the block at ");
}

// The words that an attacker reads there must differ from the words that he would write, and from place to place.
TEST_P(hardened_pool, links_do_not_show_addresses) {
    if (GetParam() < 16) GTEST_SKIP();
    void* const first = allocate();
    void* const a = allocate();
    void* const b = allocate();
    for (void* block : {first, a, b}) deallocate(block);
    void* link = nullptr;
    std::memcpy(&link, b, sizeof link);
    EXPECT_NE(link, a);
    std::memcpy(&link, a, sizeof link);
    EXPECT_NE(link, nullptr);
}

}  // namespace
}  // namespace millpond
