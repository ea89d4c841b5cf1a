// SPDX-License-Identifier: BSL-1.0
// Misuses at the edges of blocks, and long after them.
#include <cstring>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes, std::size_t alignment = 8) {
    return hidden(static_cast<char*>(pool.allocate(bytes, alignment)));
}

void fill(char* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) poke(from, static_cast<std::ptrdiff_t>(i));
}

void overrun_by_a_loop() {
    multi pool;
    char* const block = block_of(pool, 40);
    fill(block, 40 + 64);
    pool.deallocate(block, 40, 8);
}

void overrun_that_leaps() {
    multi pool;
    char* const block = block_of(pool, 40);
    poke(block, 40 + 45);
    pool.deallocate(block, 40, 8);
}

void overrun_by_a_texts_end() {
    mono pool;
    const char* const text = "twenty-three characters";
    std::strcpy(block_of(pool, std::strlen(hidden(text))), hidden(text));
}

void overrun_by_a_type_that_is_larger() {
    struct wide {
        long values[6];
    };
    multi pool;
    auto* const block = reinterpret_cast<wide*>(block_of(pool, 24));
    poke(&block->values[5], 0);
    pool.deallocate(block, 24, 8);
}

void underrun_by_a_loop() {
    multi pool;
    char* const block = block_of(pool, 200, 16);
    for (std::ptrdiff_t at = 100; at >= -32; --at) poke(block, at);
    pool.deallocate(block, 200, 16);
}

void underrun_that_leaps() {
    mono pool;
    block_of(pool, 24);
    poke(block_of(pool, 24), -60);
}

void underrun_of_an_aligned_block() {
    multi pool;
    char* const block = block_of(pool, 256, 256);
    poke(block, -100);
    pool.deallocate(block, 256, 256);
}

void underrun_of_a_block_of_nothing() {
    multi pool;
    char* const block = block_of(pool, 0, 1);
    poke(block, -1);
    pool.deallocate(block, 0, 1);
}

void overrun_seen_at_reset() {
    multi pool;
    poke(block_of(pool, 100), 101);
    pool.reset();
    block_of(pool, 24);
}

void overrun_seen_at_release() {
    mono pool;
    poke(block_of(pool, 100), 103);
    pool.release();
}

void overrun_seen_at_rewind() {
    mono pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    poke(block_of(pool, 100), 103);
    pool.rewind(place);
}

void overrun_in_a_synchronized_multipool() {
    in_mode<synchronized_multipool<>> pool;
    char* const block = block_of(pool, 33);
    poke(block, 33);
    pool.deallocate(block, 33, 8);
}

void double_free_after_much_else() {
    multi pool;
    char* const block = block_of(pool, 24);
    pool.deallocate(block, 24, 8);
    for (int i = 0; i < 3; ++i) pool.deallocate(block_of(pool, 100000), 100000, 8);
    pool.deallocate(block, 24, 8);
}

void double_free_of_a_block_of_nothing() {
    multi pool;
    char* const block = block_of(pool, 0, 1);
    pool.deallocate(block, 0, 1);
    pool.deallocate(block, 0, 1);
}

void double_free_of_an_aligned_block() {
    multi pool;
    char* const block = block_of(pool, 100, 128);
    pool.deallocate(block, 100, 128);
    pool.deallocate(block, 100, 128);
}

void double_free_in_a_synchronized_multipool() {
    in_mode<synchronized_multipool<>> pool;
    char* const block = block_of(pool, 24);
    pool.deallocate(block, 24, 8);
    pool.deallocate(block, 24, 8);
}

void write_after_free_of_a_large_block() {
    multi pool;
    char* const block = block_of(pool, 3 << 20);
    block_of(pool, 24);
    pool.deallocate(block, 3 << 20, 8);
    poke(block, 2 << 20);
}

void write_of_all_after_free() {
    multi pool;
    char* const block = block_of(pool, 300);
    block_of(pool, 300);
    pool.deallocate(block, 300, 8);
    fill(block, 300);
}

void write_after_free_in_a_synchronized_multipool() {
    in_mode<synchronized_multipool<>> pool;
    char* const block = block_of(pool, 64);
    pool.deallocate(block, 64, 8);
    poke(block, 63);
}

void write_after_reset_of_a_large_block() {
    multi pool;
    char* const block = block_of(pool, 3 << 20);
    pool.reset();
    poke(block, 2 << 20);
}

void write_through_a_pool_of_pools_after_reset() {
    in_mode<multipool<monotonic<>>> pool;
    char* const block = block_of(pool, 24);
    pool.reset();
    poke(block, 7);
}

void foreign_pointer_behind_a_block() {
    multi pool;
    pool.deallocate(block_of(pool, 48) + 48, 48, 8);
}

void foreign_pointer_before_a_block() {
    multi pool;
    pool.deallocate(block_of(pool, 48) - 16, 48, 8);
}

void foreign_pointer_into_a_large_block() {
    multi pool;
    pool.deallocate(block_of(pool, 3 << 20) + 4096, 4096, 8);
}

void foreign_pointer_of_the_program_itself() {
    static char here[100];
    mono pool;
    block_of(pool, 24);
    pool.deallocate(hidden(static_cast<char*>(here)), 24, 8);
}

void wrong_size_of_a_large_block() {
    multi pool;
    pool.deallocate(block_of(pool, 5 << 20), 4 << 20, 8);
}

void wrong_size_of_a_block_of_nothing() {
    mono pool;
    pool.deallocate(block_of(pool, 0), 8, 8);
}

void wrong_size_by_one_object_less() {
    multi pool;
    allocator<long, multi> longs(&pool);
    longs.deallocate(longs.allocate(10), 9);
}

void wrong_size_of_what_is_at_least() {
    multi pool;
    allocator<int, multi> ints(&pool);
    const auto [first, count] = ints.allocate_at_least(9);
    ints.deallocate(first, 2 * count);
}

void wrong_size_in_a_synchronized_multipool() {
    in_mode<synchronized_multipool<>> pool;
    pool.deallocate(block_of(pool, 24), 240, 8);
}

void wrong_alignment_that_is_smaller() {
    multi pool;
    pool.deallocate(block_of(pool, 64, 64), 64, 8);
}

void alignment_of_nothing() {
    mono pool;
    static_cast<void>(hidden(pool.try_allocate(24, 0)));
}

void block_of_a_pool_of_another_type() {
    multi pool;
    mono other;
    pool.deallocate(block_of(other, 24), 24, 8);
}

void block_of_a_synchronized_multipool_elsewhere() {
    in_mode<synchronized_multipool<>> pool, other;
    pool.deallocate(block_of(other, 24), 24, 8);
}

void block_given_to_operator_delete() {
    multi pool;
    auto* const number = hidden(static_cast<int*>(pool.allocate(sizeof(int), alignof(int))));
    delete number;
}

void array_given_to_operator_delete() {
    mono pool;
    delete[] block_of(pool, 100);
}

constexpr program table[] = {
    {"overrun_by_a_loop", overrun_by_a_loop, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"overrun_that_leaps", overrun_that_leaps, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"overrun_by_a_texts_end", overrun_by_a_texts_end, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"overrun_by_a_type_that_is_larger", overrun_by_a_type_that_is_larger, "overrun",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"underrun_by_a_loop", underrun_by_a_loop, "underrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"underrun_that_leaps", underrun_that_leaps, "underrun", nullptr, "Invalid write of size 1"},
    // A block of its own: what lies so far before it is another live one to Valgrind.
    {"underrun_of_an_aligned_block", underrun_of_an_aligned_block, "underrun", "AddressSanitizer: use-after-poison",
     nullptr},
    {"underrun_of_a_block_of_nothing", underrun_of_a_block_of_nothing, "underrun", nullptr, nullptr},
    {"overrun_seen_at_reset", overrun_seen_at_reset, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"overrun_seen_at_release", overrun_seen_at_release, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"overrun_seen_at_rewind", overrun_seen_at_rewind, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"overrun_in_a_synchronized_multipool", overrun_in_a_synchronized_multipool, "overrun",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"double_free_after_much_else", double_free_after_much_else, "double free", "AddressSanitizer: use-after-poison",
     "Unaddressable byte(s)"},
    {"double_free_of_a_block_of_nothing", double_free_of_a_block_of_nothing, "double free", nullptr, nullptr},
    {"double_free_of_an_aligned_block", double_free_of_an_aligned_block, "double free",
     "AddressSanitizer: heap-use-after-free", "Unaddressable byte(s)"},
    {"double_free_in_a_synchronized_multipool", double_free_in_a_synchronized_multipool, "double free",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"write_after_free_of_a_large_block", write_after_free_of_a_large_block, "use after free",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"write_of_all_after_free", write_of_all_after_free, "use after free", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"write_after_free_in_a_synchronized_multipool", write_after_free_in_a_synchronized_multipool, "use after free",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"write_after_reset_of_a_large_block", write_after_reset_of_a_large_block, "use after reset",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"write_through_a_pool_of_pools_after_reset", write_through_a_pool_of_pools_after_reset, "use after reset",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"foreign_pointer_behind_a_block", foreign_pointer_behind_a_block, "foreign pointer",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"foreign_pointer_before_a_block", foreign_pointer_before_a_block, "foreign pointer", nullptr, nullptr},
    {"foreign_pointer_into_a_large_block", foreign_pointer_into_a_large_block, "foreign pointer", nullptr, nullptr},
    {"foreign_pointer_of_the_program_itself", foreign_pointer_of_the_program_itself, "foreign pointer", nullptr,
     nullptr},
    {"wrong_size_of_a_large_block", wrong_size_of_a_large_block, "wrong size", "AddressSanitizer: use-after-poison",
     "Invalid free"},
    {"wrong_size_of_a_block_of_nothing", wrong_size_of_a_block_of_nothing, "wrong size", nullptr, nullptr},
    {"wrong_size_by_one_object_less", wrong_size_by_one_object_less, "wrong size", nullptr, nullptr},
    {"wrong_size_of_what_is_at_least", wrong_size_of_what_is_at_least, "wrong size", nullptr, nullptr},
    {"wrong_size_in_a_synchronized_multipool", wrong_size_in_a_synchronized_multipool, "wrong size", nullptr, nullptr},
    {"wrong_alignment_that_is_smaller", wrong_alignment_that_is_smaller, "wrong alignment", nullptr, nullptr},
    {"alignment_of_nothing", alignment_of_nothing, "invalid alignment", nullptr, nullptr},
    {"block_of_a_pool_of_another_type", block_of_a_pool_of_another_type, "other allocator", nullptr, nullptr},
    {"block_of_a_synchronized_multipool_elsewhere", block_of_a_synchronized_multipool_elsewhere, "other allocator",
     nullptr, nullptr},
    {"block_given_to_operator_delete", block_given_to_operator_delete, "operator delete",
     "AddressSanitizer: alloc-dealloc-mismatch", "Invalid free"},
    {"array_given_to_operator_delete", array_given_to_operator_delete, "operator delete",
     "AddressSanitizer: attempting", "Invalid free"},
};

}  // namespace

std::span<const program> edge_misuses() { return table; }

}  // namespace millpond::test
