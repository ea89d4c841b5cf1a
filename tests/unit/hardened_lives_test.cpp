// SPDX-License-Identifier: BSL-1.0
// hardened_lives_test: in programs built with MILLPOND_HARDENED, correct use of any length is never ended, and a pool
// of many threads ends misuse like the others.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <millpond/block.hpp>
#include <millpond/local.hpp>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/block_model.hpp"
#include "support/in_a_thread.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::in_a_thread;
using test::uniform;

static_assert(detail::is_hardened);

template <class Pool>
class hardened_lives : public testing::Test {};
using pools = testing::Types<multipool<accounting_ref>, multipool<accounting_ref, class_map<8, 16, 24, 1000>>,
                             multipool<monotonic<accounting_ref>>, synchronized_multipool<accounting_ref>>;
TYPED_TEST_SUITE(hardened_lives, pools);

TYPED_TEST(hardened_lives, correct_use_is_never_reported) {
    accounting_source source;
    TypeParam pool(source);
    test::block_model model;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 30000; ++step) {
        const int choice = uniform(numbers, 0, 2999);
        if (choice < 3) {
            model.check_all();
            choice == 0 ? pool.release() : pool.reset();
            model.clear();
        } else if (model.empty() || choice < 1600) {
            const auto bytes = uniform<std::size_t>(numbers, 0, choice % 40 == 0 ? 40000 : 100);
            model.add(pool.allocate(bytes, 8), bytes, 8);
        } else {
            const auto block = model.any(numbers);
            model.remove(block.start);
            pool.deallocate(block.start, block.bytes, 8);
        }
        ASSERT_FALSE(this->HasFatalFailure());
    }
}

// The memory still has the seals of its last life when it is cut again.
TYPED_TEST(hardened_lives, blocks_of_an_earlier_life_may_be_fresh_again) {
    accounting_source source;
    TypeParam pool(source);
    for (int round = 0; round < 6; ++round) {
        std::vector<void*> blocks(500);
        for (void*& block : blocks) block = pool.allocate(round % 2 == 0 ? 24 : 16, 8);
        for (void* block : blocks) pool.deallocate(block, round % 2 == 0 ? 24 : 16, 8);
        pool.reset();
    }
}

TEST(hardened_links, look_different_at_every_place_and_in_every_run) {
    static_assert(sizeof(detail::encoded_pointer<char>) == sizeof(void*));
    alignas(8) static char target[8];
    detail::encoded_pointer<char> links[8];
    std::uintptr_t words[8];
    for (auto& link : links) link.set(target);
    std::memcpy(words, links, sizeof words);
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(links[i].get(), target);
        EXPECT_NE(words[i], reinterpret_cast<std::uintptr_t>(target));
        for (int other = 0; other < i; ++other) EXPECT_NE(words[i], words[other]);
    }
    EXPECT_NE(detail::hardening_secret, 0u);
    EXPECT_EQ(detail::hardening_secret % 8, 0u) << "so that an aligned address is decoded to one";
    EXPECT_NE(detail::hardening_secret >> std::numeric_limits<std::uintptr_t>::digits / 2, 0u)
        << "so that an address does not show its upper half";
}

TEST(hardened_links, one_wrong_bit_above_or_below_an_address_ends_the_program) {
    alignas(8) static char target[8];
    for (const int bit : {0, 1, 2, 56, 63}) {
        if (bit >= std::numeric_limits<std::uintptr_t>::digits)
            break;  // every bit above the lowest is one of addresses
        detail::encoded_pointer<char> link;
        link.set(target);
        std::uintptr_t word;
        std::memcpy(&word, &link, sizeof word);
        word ^= std::uintptr_t{1} << bit;
        std::memcpy(static_cast<void*>(&link), &word, sizeof word);
        EXPECT_DEATH(static_cast<void>(link.get()), "millpond: a free block was written to") << bit;
    }
}

TEST(hardened_seal, is_closed_once_and_opened_once) {
    alignas(8) static char block[24], other[24];
    detail::seal mark;
    std::memset(static_cast<void*>(&mark), 0x5A, sizeof mark);
    mark.close(block);
    EXPECT_DEATH(mark.close(block), "a block was freed twice");
    mark.open(block);
    EXPECT_DEATH(mark.open(block), "a free block was written to");
    mark.close(block);
    EXPECT_DEATH(mark.open(other), "a free block was written to") << "the seal of another block";
    mark.clear();
    mark.close(block);
}

// The first freed block is ready, the others wait: both are checked.
TEST(hardened_blocks, a_second_free_of_eight_bytes_ends_the_program) {
    multipool<> pool;
    void* const first = pool.allocate(8, 8);
    void* const second = pool.allocate(8, 8);
    pool.deallocate(first, 8, 8);
    EXPECT_DEATH(pool.deallocate(first, 8, 8), "millpond: a block was freed twice");
    pool.deallocate(second, 8, 8);
    EXPECT_DEATH(pool.deallocate(second, 8, 8), "millpond: a block was freed twice");
}

class hardened_threads_pool : public testing::TestWithParam<std::size_t> {
  protected:
    synchronized_multipool<> pool;
};
INSTANTIATE_TEST_SUITE_P(sizes, hardened_threads_pool, testing::Values(1, 24, 100, 5000, 16000));

template <class Pool>
void expect_second_free_of_large_blocks_is_found() {
    for (const std::size_t bytes : {17000u, 33000u, 300000u, 1100000u, 5000000u}) {
        Pool pool;
        void* const kept = pool.allocate(bytes, 8);
        void* const block = pool.allocate(bytes, 8);
        std::memset(block, 0x41, bytes);
        EXPECT_DEATH(
            {
                pool.deallocate(block, bytes, 8);
                pool.deallocate(block, bytes, 8);
            },
            "")
            << bytes << ": where the source has unmapped the memory, the access ends the program";
        pool.deallocate(kept, bytes, 8);
        pool.deallocate(block, bytes, 8);
    }
}

TEST(hardened_large_blocks, second_free_ends_the_program) {
    expect_second_free_of_large_blocks_is_found<multipool<>>();
    expect_second_free_of_large_blocks_is_found<synchronized_multipool<>>();
}

TEST(hardened_large_blocks, second_free_is_named_while_memory_is_there) {
    static char memory[4 << 20];
    synchronized_multipool<fixed_buffer, four_an_octave<std::size_t{16} << 10>> pool(memory, sizeof memory);
    void* const block = pool.allocate(100000, 8);
    void* const other = pool.allocate(100000, 8);
    pool.deallocate(block, 100000, 8);
    EXPECT_DEATH(pool.deallocate(block, 100000, 8), "millpond: a block was freed twice: the block at ");
    std::memset(other, 0x41, 100032);
    EXPECT_DEATH(pool.deallocate(other, 100000, 8), "millpond: a block was ");
}

TEST_P(hardened_threads_pool, freeing_a_block_twice_ends_the_program) {
    void* const block = pool.allocate(GetParam(), 8);
    void* const other = pool.allocate(GetParam(), 8);
    pool.deallocate(block, GetParam(), 8);
    EXPECT_DEATH(pool.deallocate(block, GetParam(), 8), "millpond: a block was freed twice: the block at ");
    pool.deallocate(other, GetParam(), 8);
    EXPECT_DEATH(pool.deallocate(block, GetParam(), 8), "millpond: a block was freed twice: the block at ");
}

TEST_P(hardened_threads_pool, a_free_block_that_was_written_to_ends_the_program) {
    void* const block = pool.allocate(GetParam(), 8);
    pool.deallocate(block, GetParam(), 8);
    std::memset(block, 0x41, 8);
    EXPECT_DEATH(static_cast<void>(pool.allocate(GetParam(), 8)), "millpond: a free block was written to");
}

TEST_P(hardened_threads_pool, blocks_freed_by_other_threads_are_used_again) {
    for (int round = 0; round < 5; ++round) {
        std::vector<void*> blocks(300);
        for (void*& block : blocks) std::memset(block = pool.allocate(GetParam(), 8), round, GetParam());
        in_a_thread([&] {
            for (void* block : blocks) pool.deallocate(block, GetParam(), 8);
        });
        for (void*& block : blocks) std::memset(block = pool.allocate(GetParam(), 8), round, GetParam());
        for (void* block : blocks) pool.deallocate(block, GetParam(), 8);
    }
}

}  // namespace
}  // namespace millpond
