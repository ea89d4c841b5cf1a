// SPDX-License-Identifier: BSL-1.0
// Misuses of memory in one range: arena, and region below others.
#include "misuses.hpp"

namespace millpond::test {
namespace {

using checked_arena = in_mode<arena>;
using checked_region = in_mode<region>;

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes) {
    return hidden(static_cast<char*>(pool.allocate(bytes, 8)));
}

void overrun_in_an_arena() {
    checked_arena pool;
    poke(block_of(pool, 24), 24);
}

void overrun_of_all_that_an_arena_has() {
    arena pool(os::pages::size());
    const std::size_t most = os::pages::size() - sizeof(detail::chunk_header);
    poke(block_of(pool, most), static_cast<std::ptrdiff_t>(most));
}

void write_after_free_in_an_arena() {
    checked_arena pool;
    char* const block = block_of(pool, 100);
    pool.deallocate(block, 100, 8);
    poke(block, 50);
}

void write_after_rewind_of_an_arena() {
    checked_arena pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    char* const block = block_of(pool, 1000000);
    pool.rewind(place);
    poke(block, 10);
}

void write_after_rewind_of_an_arena_to_nothing() {
    checked_arena pool;
    const auto place = pool.checkpoint();
    char* const block = block_of(pool, 24);
    pool.rewind(place);
    poke(block, 10);
}

void write_after_reset_of_an_arena() {
    checked_arena pool;
    char* const block = block_of(pool, 24);
    pool.reset();
    poke(block, 10);
}

void write_after_release_of_an_arena() {
    checked_arena pool;
    char* const block = block_of(pool, 24);
    pool.release();
    poke(block, 10);
}

void write_after_an_arenas_memory_went_back() {
    checked_arena pool;
    char* const block = block_of(pool, std::size_t{1} << 20);
    for (int i = 0; i < 12; ++i) {
        pool.reset();
        block_of(pool, 24);
    }
    poke(block, 900000);
}

void write_after_free_in_a_region() {
    checked_region source;
    char* const kept = block_of(source, 24);
    char* const block = block_of(source, 24);
    source.deallocate(block, 24, 8);
    poke(block, 10);
    source.deallocate(kept, 24, 8);
}

void overrun_in_a_region() {
    checked_region source;
    poke(block_of(source, 24), 24);
}

void double_free_in_a_region() {
    checked_region source;
    block_of(source, 24);
    char* const block = block_of(source, 24);
    source.deallocate(block, 24, 8);
    source.deallocate(block, 24, 8);
}

void write_to_a_protected_region() {
    region source;
    char* const block = block_of(source, 24);
    if (source.protect()) poke(block, 10);
}

constexpr const char* poisoned = "AddressSanitizer: use-after-poison";
constexpr const char* invalid_write = "Invalid write of size 1";

constexpr program table[] = {
    {"overrun_in_an_arena", overrun_in_an_arena, "overrun", poisoned, invalid_write},
    {"overrun_of_all_that_an_arena_has", overrun_of_all_that_an_arena_has, nullptr, "AddressSanitizer: SEGV",
     invalid_write},
    {"write_after_free_in_an_arena", write_after_free_in_an_arena, "use after free", poisoned, invalid_write},
    {"write_after_rewind_of_an_arena", write_after_rewind_of_an_arena, "use after rewind", poisoned, invalid_write},
    {"write_after_rewind_of_an_arena_to_nothing", write_after_rewind_of_an_arena_to_nothing, "use after rewind",
     poisoned, invalid_write},
    {"write_after_reset_of_an_arena", write_after_reset_of_an_arena, "use after reset", poisoned, invalid_write},
    {"write_after_release_of_an_arena", write_after_release_of_an_arena, "use after release", "AddressSanitizer: SEGV",
     invalid_write},
    {"write_after_an_arenas_memory_went_back", write_after_an_arenas_memory_went_back, nullptr,
     "AddressSanitizer: SEGV", invalid_write},
    {"write_after_free_in_a_region", write_after_free_in_a_region, "use after free", poisoned, invalid_write},
    {"overrun_in_a_region", overrun_in_a_region, "overrun", poisoned, invalid_write},
    {"double_free_in_a_region", double_free_in_a_region, "double free", nullptr, nullptr},
    {"write_to_a_protected_region", write_to_a_protected_region, "write to protected memory", "AddressSanitizer: SEGV",
     nullptr},
};

}  // namespace

std::span<const program> arena_misuses() { return table; }

}  // namespace millpond::test
