// SPDX-License-Identifier: BSL-1.0
// Misuses of blocks in rows, in a pool's heap or by themselves: one byte too far, another pool, another size.
#include <cstdlib>

#include "misuses.hpp"

namespace millpond::test {
namespace {

using shared = in_mode<synchronized_multipool<>>;
using slots = in_mode<compact_pool<24>>;

constexpr std::size_t medium = 5120, large = 40960, huge = 2'000'000;  // in the heap, of the source, above all classes

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes) {
    return hidden(static_cast<char*>(pool.allocate(bytes, 8)));
}

template <class Pool, std::size_t Bytes>
void overrun_by_one() {
    Pool pool;
    char* const block = block_of(pool, Bytes);
    char* const neighbour = block_of(pool, Bytes);
    poke(block, Bytes);
    pool.deallocate(block, Bytes, 8);
    pool.deallocate(neighbour, Bytes, 8);
}

template <class Pool, std::size_t Bytes>
void underrun_by_one() {
    Pool pool;
    char* const block = block_of(pool, Bytes);
    char* const neighbour = block_of(pool, Bytes);
    poke(neighbour, -1);
    pool.deallocate(block, Bytes, 8);
    pool.deallocate(neighbour, Bytes, 8);
}

template <class Pool, std::size_t Bytes>
void given_to_another_pool() {
    Pool here, there;
    block_of(here, Bytes);
    here.deallocate(block_of(there, Bytes), Bytes, 8);
}

void given_to_an_absorber_of_others() {
    multi absorbed, here, there;
    block_of(here, 24);
    here.absorb(absorbed);
    here.deallocate(block_of(there, 24), 24, 8);
}

template <class Pool, std::size_t Asked, std::size_t Given>
void given_back_by_another_size() {
    Pool pool;
    char* const block = block_of(pool, Asked);
    block_of(pool, Asked);
    pool.deallocate(block, Given, 8);
}

void given_back_by_another_alignment() {
    multi pool;
    pool.deallocate(block_of(pool, 100), 100, 32);
}

void memory_of_malloc_given_to_a_pool() {
    multi pool;
    block_of(pool, 48);
    pool.deallocate(hidden(std::malloc(48)), 48, 8);
}

void address_inside_a_slot_given_back() {
    slots pool;
    pool.deallocate(block_of(pool, 24) + 8, 16, 8);
}

constexpr const char* poisoned = "AddressSanitizer: use-after-poison";

constexpr program table[] = {
    {"overrun_in_a_row_of_24", overrun_by_one<multi, 24>, "overrun", poisoned, nullptr},
    {"overrun_in_a_row_of_256", overrun_by_one<multi, 256>, "overrun", poisoned, nullptr},
    {"overrun_of_a_medium_block", overrun_by_one<multi, medium>, "overrun", poisoned, nullptr},
    {"overrun_of_a_block_of_the_source", overrun_by_one<multi, large>, "overrun", poisoned, nullptr},
    {"overrun_in_a_shared_row", overrun_by_one<shared, 24>, "overrun", poisoned, nullptr},
    {"overrun_in_a_monotonic", overrun_by_one<mono, 24>, "overrun", poisoned, nullptr},
    {"underrun_in_a_row_of_24", underrun_by_one<multi, 24>, "underrun", poisoned, nullptr},
    {"underrun_of_a_medium_block", underrun_by_one<multi, medium>, "underrun", poisoned, nullptr},
    {"underrun_of_a_block_of_the_source", underrun_by_one<multi, large>, "underrun", poisoned, nullptr},
    {"underrun_in_a_shared_row", underrun_by_one<shared, 24>, "underrun", poisoned, nullptr},
    {"small_block_of_another_pool", given_to_another_pool<multi, 24>, "other allocator", poisoned, nullptr},
    {"medium_block_of_another_pool", given_to_another_pool<multi, medium>, "other allocator", poisoned, nullptr},
    {"large_block_of_another_pool", given_to_another_pool<multi, large>, "other allocator", poisoned, nullptr},
    {"huge_block_of_another_pool", given_to_another_pool<multi, huge>, "other allocator", poisoned, nullptr},
    {"block_of_another_shared_pool", given_to_another_pool<shared, 24>, "other allocator", poisoned, nullptr},
    {"block_of_another_monotonic", given_to_another_pool<mono, 24>, "other allocator", poisoned, nullptr},
    {"slot_of_another_pool", given_to_another_pool<slots, 24>, "other allocator", poisoned, nullptr},
    {"block_of_another_pool_to_an_absorber", given_to_an_absorber_of_others, "other allocator", poisoned, nullptr},
    {"size_of_another_class", given_back_by_another_size<multi, 24, 100>, "wrong size", poisoned, nullptr},
    {"size_of_a_smaller_class", given_back_by_another_size<multi, 100, 24>, "wrong size", poisoned, nullptr},
    {"size_of_the_same_class", given_back_by_another_size<multi, 97, 98>, "wrong size", nullptr, nullptr},
    {"size_of_another_shared_class", given_back_by_another_size<shared, 24, 40>, "wrong size", poisoned, nullptr},
    {"size_too_small_in_a_monotonic", given_back_by_another_size<mono, 24, 16>, "wrong size", poisoned, nullptr},
    {"size_too_large_in_a_monotonic", given_back_by_another_size<mono, 24, 32>, "wrong size", poisoned, nullptr},
    {"given_back_by_another_alignment", given_back_by_another_alignment, "wrong alignment", poisoned, nullptr},
    {"memory_of_malloc_given_to_a_pool", memory_of_malloc_given_to_a_pool, "foreign pointer", poisoned, nullptr},
    {"address_inside_a_slot_given_back", address_inside_a_slot_given_back, "foreign pointer", poisoned, nullptr},
};

}  // namespace

std::span<const program> row_misuses() { return table; }

}  // namespace millpond::test
