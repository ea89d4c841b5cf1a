// SPDX-License-Identifier: BSL-1.0
// Misuses of allocators that are destroyed, absorbed, or in another state than the program believes.
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

using checked_arena = in_mode<arena>;
template <class T>
using vector = std::vector<T, allocator<T, multi>>;

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes) {
    return hidden(static_cast<char*>(pool.allocate(bytes, 8)));
}

// A pool that has been destroyed, in memory that still exists.
template <class Pool>
Pool& destroyed_pool() {
    static std::optional<Pool> pool;
    pool.emplace();
    Pool& gone = *hidden(&*pool);
    block_of(gone, 24);
    pool.reset();
    return gone;
}

void allocation_from_a_destroyed_pool() { static_cast<void>(hidden(destroyed_pool<multi>().allocate(24, 8))); }
void reset_of_a_destroyed_pool() { destroyed_pool<multi>().reset(); }
void release_of_a_destroyed_pool() { destroyed_pool<mono>().release(); }
void checkpoint_of_a_destroyed_pool() { static_cast<void>(destroyed_pool<mono>().checkpoint()); }

void pool_destroyed_twice() {
    alignas(multi) static char memory[sizeof(multi)];
    multi* const pool = hidden(std::construct_at(reinterpret_cast<multi*>(memory)));
    block_of(*pool, 24);
    std::destroy_at(pool);
    std::destroy_at(hidden(pool));
}

void pool_copied_byte_by_byte() {
    multi pool;
    block_of(pool, 24);
    alignas(multi) static char memory[sizeof(multi)];
    std::memcpy(memory, static_cast<const void*>(&pool), sizeof pool);
    hidden(reinterpret_cast<multi*>(memory))->reset();
}

void absorber_gone_before_a_free() {
    auto absorber = std::make_unique<multi>();
    multi pool;
    char* const block = block_of(pool, 24);
    absorber->absorb(pool);
    absorber.reset();
    pool.deallocate(block, 24, 8);
}

void absorber_gone_before_an_allocation() {
    auto absorber = std::make_unique<mono>();
    mono pool;
    block_of(pool, 24);
    absorber->absorb(pool);
    absorber.reset();
    block_of(pool, 24);
}

void absorber_of_the_absorber_gone() {
    auto last = std::make_unique<multi>();
    multi between, first;
    char* const block = block_of(first, 24);
    between.absorb(first);
    last->absorb(between);
    last.reset();
    first.deallocate(block, 24, 8);
}

// The new pool in the place of the absorber looks alive, and knows nothing of the absorbed one.
void absorber_gone_and_another_in_its_place() {
    std::optional<multi> absorber(std::in_place);
    multi pool;
    char* const block = block_of(pool, 24);
    absorber->absorb(pool);
    absorber.emplace();
    hidden(&pool)->deallocate(block, 24, 8);
}

void absorption_of_itself() {
    multi pool;
    block_of(pool, 24);
    pool.absorb(*hidden(&pool));
}

void absorption_over_another_source() {
    std::pmr::monotonic_buffer_resource here, there;
    in_mode<multipool<upstream_resource>> pool(&here), other(&there);
    block_of(pool, 24);
    block_of(other, 24);
    pool.absorb(other);
}

void checkpoint_of_an_absorbed_pool() {
    mono absorber, pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    block_of(pool, 24);
    absorber.absorb(pool);
    absorber.rewind(place);
}

void checkpoint_of_another_pool() {
    mono here, there;
    block_of(here, 24);
    block_of(there, 24);
    const auto place = there.checkpoint();
    block_of(here, 24);
    here.rewind(place);
}

void checkpoint_of_another_arena() {
    checked_arena here(1 << 20), there(1 << 20);
    const auto place = there.checkpoint();
    block_of(here, 24);
    here.rewind(place);
}

void checkpoint_of_a_pool_before() {
    std::optional<mono> pool(std::in_place);
    block_of(*pool, 24);
    const auto place = pool->checkpoint();
    pool.emplace();  // at the same address
    block_of(*pool, 24);
    static_cast<void>(pool->checkpoint());
    block_of(*pool, 24);
    pool->rewind(place);
}

void rewind_after_reset() {
    mono pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    block_of(pool, 24);
    pool.reset();
    pool.rewind(place);
}

void rewind_of_an_arena_after_release() {
    checked_arena pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    pool.release();
    pool.rewind(place);
}

void scopes_that_cross() {
    mono pool;
    block_of(pool, 24);
    std::optional<rewind_scope<mono>> outer(std::in_place, pool);
    block_of(pool, 24);
    const rewind_scope inner(pool);
    block_of(pool, 24);
    outer.reset();
}

void release_within_a_scope() {
    mono pool;
    block_of(pool, 24);
    const rewind_scope scope(pool);
    pool.release();
}

void list_grows_after_its_pool_was_reset() {
    multi pool;
    std::list<int, allocator<int, multi>> numbers({1, 2, 3}, &pool);
    pool.reset();
    numbers.push_back(4);
    block_of(pool, 24);
}

void string_written_after_its_pool_was_released() {
    resource<multi> pool;
    std::pmr::string text(100, 'x', &pool);
    pool.release();
    text[50] = 'y';
    text.shrink_to_fit();
}

void vector_outlives_an_arena_reset() {
    checked_arena pool;
    std::vector<int, allocator<int, checked_arena>> numbers(100, 7, &pool);
    pool.reset();
}

void container_outlives_the_resource_with_its_pool() {
    auto pool = std::make_unique<resource<multi>>();
    vector<int> by_type(10, 1, &pool->target());
    pool.reset();
    by_type.clear();
    by_type.shrink_to_fit();
}

void unique_pointer_outlives_its_pool() {
    auto pool = std::make_unique<multi>();
    auto number = allocate_unique<long>(*pool, 7);
    pool.reset();
    number.reset();
}

void unique_pointer_after_reset() {
    multi pool;
    auto number = allocate_unique<long>(pool, 7);
    pool.reset();
    number.reset();
}

void unique_pointers_block_freed_by_hand() {
    multi pool;
    const auto number = allocate_unique<long>(pool, 7);
    pool.deallocate(number.get(), sizeof(long), alignof(long));
}

void unique_array_written_behind_its_end() {
    multi pool;
    const auto numbers = allocate_unique<int[]>(pool, 10);
    poke(hidden(&numbers[0]), 40);
}

void unique_pointer_lost() {
    multi pool;
    auto number = allocate_unique<std::string>(pool, "a text that is longer than a small buffer of a string");
    static_cast<void>(hidden(number.release()));
    expect_empty(pool);
}

void unique_pointer_given_what_is_not_the_pools() {
    multi pool;
    auto number = allocate_unique<long>(pool, 7);
    long* const mine = hidden(number.release());
    static long other = 8;
    number.reset(hidden(&other));
    pool.deallocate(mine, sizeof(long), alignof(long));
}

void unique_pointer_given_to_another_deleter() {
    multi pool;
    auto number = allocate_unique<long>(pool, 7);
    const std::unique_ptr<long> wrong(hidden(number.release()));
}

constexpr program table[] = {
    {"allocation_from_a_destroyed_pool", allocation_from_a_destroyed_pool, "destroyed allocator",
     "AddressSanitizer: use-after-poison", "Invalid read of size 8"},
    {"reset_of_a_destroyed_pool", reset_of_a_destroyed_pool, "destroyed allocator",
     "AddressSanitizer: use-after-poison", "Invalid read of size 8"},
    {"release_of_a_destroyed_pool", release_of_a_destroyed_pool, "destroyed allocator",
     "AddressSanitizer: use-after-poison", "Invalid read of size 8"},
    {"checkpoint_of_a_destroyed_pool", checkpoint_of_a_destroyed_pool, "destroyed allocator", nullptr, nullptr},
    {"pool_destroyed_twice", pool_destroyed_twice, "destroyed allocator", "AddressSanitizer: use-after-poison",
     "Invalid read of size 8"},
    {"pool_copied_byte_by_byte", pool_copied_byte_by_byte, "destroyed allocator", nullptr, nullptr},
    {"absorber_gone_before_a_free", absorber_gone_before_a_free, "destroyed allocator",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"absorber_gone_before_an_allocation", absorber_gone_before_an_allocation, "destroyed allocator",
     "AddressSanitizer: heap-use-after-free", "Invalid read of size 8"},
    {"absorber_of_the_absorber_gone", absorber_of_the_absorber_gone, "destroyed allocator",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"absorber_gone_and_another_in_its_place", absorber_gone_and_another_in_its_place, "destroyed allocator", nullptr,
     nullptr},
    {"absorption_of_itself", absorption_of_itself, "different sources", nullptr, nullptr},
    {"absorption_over_another_source", absorption_over_another_source, "different sources", nullptr, nullptr},
    {"checkpoint_of_an_absorbed_pool", checkpoint_of_an_absorbed_pool, "invalid checkpoint", nullptr, nullptr},
    {"checkpoint_of_another_pool", checkpoint_of_another_pool, "invalid checkpoint", nullptr, nullptr},
    {"checkpoint_of_another_arena", checkpoint_of_another_arena, "invalid checkpoint", nullptr, nullptr},
    {"checkpoint_of_a_pool_before", checkpoint_of_a_pool_before, "invalid checkpoint", nullptr, nullptr},
    {"rewind_after_reset", rewind_after_reset, "invalid checkpoint", nullptr, nullptr},
    {"rewind_of_an_arena_after_release", rewind_of_an_arena_after_release, "invalid checkpoint", nullptr, nullptr},
    {"scopes_that_cross", scopes_that_cross, "invalid checkpoint", nullptr, nullptr},
    {"release_within_a_scope", release_within_a_scope, "invalid checkpoint", nullptr, nullptr},
    {"list_grows_after_its_pool_was_reset", list_grows_after_its_pool_was_reset, nullptr, nullptr, "Invalid write"},
    {"string_written_after_its_pool_was_released", string_written_after_its_pool_was_released, "use after release",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"vector_outlives_an_arena_reset", vector_outlives_an_arena_reset, "use after reset",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"container_outlives_the_resource_with_its_pool", container_outlives_the_resource_with_its_pool,
     "destroyed allocator", "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"unique_pointer_outlives_its_pool", unique_pointer_outlives_its_pool, "destroyed allocator",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"unique_pointer_after_reset", unique_pointer_after_reset, "use after reset", "AddressSanitizer: use-after-poison",
     "Unaddressable byte(s)"},
    {"unique_pointers_block_freed_by_hand", unique_pointers_block_freed_by_hand, "double free",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"unique_array_written_behind_its_end", unique_array_written_behind_its_end, "overrun",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"unique_pointer_lost", unique_pointer_lost, "leak", "AddressSanitizer: 54", "definitely lost"},
    {"unique_pointer_given_what_is_not_the_pools", unique_pointer_given_what_is_not_the_pools, "foreign pointer",
     nullptr, nullptr},
    {"unique_pointer_given_to_another_deleter", unique_pointer_given_to_another_deleter, "operator delete",
     "AddressSanitizer: attempting", "Invalid free"},
};

}  // namespace

std::span<const program> life_misuses() { return table; }

}  // namespace millpond::test
