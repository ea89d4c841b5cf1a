// SPDX-License-Identifier: BSL-1.0
// Misuses by calls of the allocator itself.
#include <cstdlib>
#include <memory>
#include <thread>

#include "misuses.hpp"

namespace millpond::test {
namespace {

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes, std::size_t alignment = 8) {
    return hidden(static_cast<char*>(pool.allocate(bytes, alignment)));
}

void double_free() {
    multi pool;
    char* const block = block_of(pool, 24);
    pool.deallocate(block, 24, 8);
    pool.deallocate(block, 24, 8);
}

void double_free_with_another_between() {
    multi pool;
    char* const a = block_of(pool, 24);
    char* const b = block_of(pool, 24);
    pool.deallocate(a, 24, 8);
    pool.deallocate(b, 24, 8);
    pool.deallocate(a, 24, 8);
}

void double_free_by_two_threads() {
    synchronized<multi> pool;
    char* const block = block_of(pool, 100);
    std::thread([&] { pool.deallocate(block, 100, 8); }).join();
    pool.deallocate(block, 100, 8);
}

void double_free_of_a_large_block() {
    multi pool;
    char* const block = block_of(pool, 5 << 20);
    pool.deallocate(block, 5 << 20, 8);
    pool.deallocate(block, 5 << 20, 8);
}

void overrun_by_one() {
    multi pool;
    char* const block = block_of(pool, 13);
    poke(block, 13);
    pool.deallocate(block, 13, 8);
}

void overrun_by_one_in_a_row() {
    mono pool;
    char* const block = block_of(pool, 24);
    block_of(pool, 24);
    poke(block, 24);
}

void overrun_of_a_large_block() {
    multi pool;
    char* const block = block_of(pool, 5 << 20);
    poke(block, 5 << 20);
    pool.deallocate(block, 5 << 20, 8);
}

void overrun_of_a_block_of_nothing() {
    mono pool;
    poke(block_of(pool, 0), 1);
}

void underrun_by_one() {
    mono pool;
    char* const block = block_of(pool, 24, 16);
    poke(block, -1);
}

void write_after_free() {
    multi pool;
    char* const block = block_of(pool, 24);
    pool.deallocate(block, 24, 8);
    poke(block, 20);
}

void write_after_free_of_an_aligned_block() {
    multi pool;
    char* const block = block_of(pool, 128, 64);
    pool.deallocate(block, 128, 64);
    poke(block, 100);
}

void write_after_free_in_a_monotonic() {
    mono pool;
    char* const block = block_of(pool, 24);
    pool.deallocate(block, 24, 8);
    poke(block, 8);
}

void write_after_reset() {
    multi pool;
    char* const block = block_of(pool, 24);
    pool.reset();
    poke(block, 20);
}

void write_after_release() {
    multi pool;
    char* const block = block_of(pool, 240);
    pool.release();
    poke(block, 200);
}

void write_after_rewind() {
    mono pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    char* const block = block_of(pool, 24);
    pool.rewind(place);
    poke(block, 0);
}

void free_after_reset() {
    multi pool;
    char* const block = block_of(pool, 24);
    pool.reset();
    pool.deallocate(block, 24, 8);
}

void free_after_release() {
    multi pool;
    char* const block = block_of(pool, 24);
    pool.release();
    pool.deallocate(block, 24, 8);
}

void free_after_rewind() {
    mono pool;
    const auto place = pool.checkpoint();
    char* const block = block_of(pool, 24);
    pool.rewind(place);
    pool.deallocate(block, 24, 8);
}

void foreign_pointer_to_the_stack() {
    multi pool;
    alignas(8) char local[24];
    pool.deallocate(hidden(local), 24, 8);
}

void foreign_pointer_to_the_heap() {
    multi pool;
    const std::unique_ptr<char[]> theirs(new char[24]);
    pool.deallocate(theirs.get(), 24, 8);
}

void foreign_pointer_into_a_block() {
    multi pool;
    char* const block = block_of(pool, 48);
    pool.deallocate(block + 16, 16, 8);
}

void null_given_back() {
    multi pool;
    pool.deallocate(hidden<char>(nullptr), 24, 8);
}

void block_of_another_pool() {
    multi pool, other;
    char* const block = block_of(other, 24);
    pool.deallocate(block, 24, 8);
}

void wrong_size() {
    multi pool;
    pool.deallocate(block_of(pool, 24), 32, 8);
}

void wrong_size_within_the_class() {
    multi pool;
    pool.deallocate(block_of(pool, 97), 98, 8);
}

void wrong_alignment() {
    multi pool;
    pool.deallocate(block_of(pool, 24, 8), 24, 16);
}

void alignment_that_is_no_power_of_two() {
    multi pool;
    static_cast<void>(hidden(pool.try_allocate(24, 24)));
}

void leak() {
    multi pool;
    block_of(pool, 24);
    expect_empty(pool);
}

void free_in_a_destroyed_pool() {
    auto* const memory = static_cast<multi*>(std::malloc(sizeof(multi)));
    multi* const pool = hidden(std::construct_at(memory));
    char* const block = block_of(*pool, 24);
    std::destroy_at(pool);
    std::free(memory);
    pool->deallocate(block, 24, 8);
}

void rewind_to_a_place_that_a_rewind_has_undone() {
    mono pool;
    const auto older = pool.checkpoint();
    block_of(pool, 24);
    const auto newer = pool.checkpoint();
    pool.rewind(older);
    block_of(pool, 100);
    pool.rewind(newer);
}

void rewind_after_release() {
    mono pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    pool.release();
    pool.rewind(place);
}

constexpr const char* poisoned = "AddressSanitizer: use-after-poison";
constexpr const char* unaddressable = "Unaddressable byte(s)";
constexpr const char* invalid_write = "Invalid write of size 1";

constexpr program table[] = {
    {"double_free", double_free, "double free", poisoned, unaddressable},
    {"double_free_with_another_between", double_free_with_another_between, "double free", poisoned, unaddressable},
    {"double_free_by_two_threads", double_free_by_two_threads, "double free", poisoned, unaddressable},
    {"double_free_of_a_large_block", double_free_of_a_large_block, "double free", poisoned, "Invalid read of size 8"},
    {"overrun_by_one", overrun_by_one, "overrun", poisoned, invalid_write},
    {"overrun_by_one_in_a_row", overrun_by_one_in_a_row, "overrun", nullptr, nullptr},
    {"overrun_of_a_large_block", overrun_of_a_large_block, "overrun", poisoned, invalid_write},
    {"overrun_of_a_block_of_nothing", overrun_of_a_block_of_nothing, "overrun", poisoned, invalid_write},
    {"underrun_by_one", underrun_by_one, "underrun", nullptr, nullptr},
    {"write_after_free", write_after_free, "use after free", poisoned, invalid_write},
    {"write_after_free_of_an_aligned_block", write_after_free_of_an_aligned_block, "use after free", poisoned,
     invalid_write},
    {"write_after_free_in_a_monotonic", write_after_free_in_a_monotonic, "use after free", poisoned, invalid_write},
    {"write_after_reset", write_after_reset, "use after reset", poisoned, invalid_write},
    {"write_after_release", write_after_release, "use after release", poisoned, invalid_write},
    {"write_after_rewind", write_after_rewind, "use after rewind", poisoned, invalid_write},
    {"free_after_reset", free_after_reset, "use after reset", poisoned, unaddressable},
    {"free_after_release", free_after_release, "use after release", poisoned, unaddressable},
    {"free_after_rewind", free_after_rewind, "use after rewind", poisoned, unaddressable},
    {"foreign_pointer_to_the_stack", foreign_pointer_to_the_stack, "foreign pointer", nullptr, nullptr},
    {"foreign_pointer_to_the_heap", foreign_pointer_to_the_heap, "foreign pointer", nullptr, nullptr},
    {"foreign_pointer_into_a_block", foreign_pointer_into_a_block, "foreign pointer", nullptr, nullptr},
    {"null_given_back", null_given_back, "foreign pointer", "AddressSanitizer: SEGV", unaddressable},
    {"block_of_another_pool", block_of_another_pool, "other allocator", nullptr, nullptr},
    {"wrong_size", wrong_size, "wrong size", nullptr, nullptr},
    {"wrong_size_within_the_class", wrong_size_within_the_class, "wrong size", nullptr, nullptr},
    {"wrong_alignment", wrong_alignment, "wrong alignment", nullptr, nullptr},
    {"alignment_that_is_no_power_of_two", alignment_that_is_no_power_of_two, "invalid alignment", nullptr, nullptr},
    {"leak", leak, "leak", nullptr, nullptr},
    {"free_in_a_destroyed_pool", free_in_a_destroyed_pool, "destroyed allocator", poisoned, unaddressable},
    {"rewind_to_a_place_that_a_rewind_has_undone", rewind_to_a_place_that_a_rewind_has_undone, "invalid checkpoint",
     nullptr, nullptr},
    {"rewind_after_release", rewind_after_release, "invalid checkpoint", nullptr, nullptr},
};

}  // namespace

std::span<const program> block_misuses() { return table; }

}  // namespace millpond::test
