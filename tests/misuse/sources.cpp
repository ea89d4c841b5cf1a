// SPDX-License-Identifier: BSL-1.0
// Misuses of block sources, of suballocators and of wrappers.
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

using handle = suballocator<std::allocator<int>>;
using slots = in_mode<compact_pool<24>>;

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes) {
    return hidden(static_cast<char*>(pool.allocate(bytes, 8)));
}

alignas(64) char memory[10000];

void chunk_of_a_fixed_buffer_freed_twice() {
    fixed_buffer source(memory, sizeof memory);
    block_of(source, 100);
    char* const chunk = block_of(source, 100);
    block_of(source, 100);
    source.deallocate(chunk, 100, 8);
    source.deallocate(chunk, 100, 8);
}

void chunk_of_a_fixed_buffer_with_another_size() {
    fixed_buffer source(memory, sizeof memory);
    source.deallocate(block_of(source, 100), 200, 8);
}

void chunk_of_a_fixed_buffer_with_another_alignment() {
    fixed_buffer source(memory, sizeof memory);
    block_of(source, 1);
    source.deallocate(block_of(source, 100), 100, 64);
}

void foreign_chunk_given_to_a_fixed_buffer() {
    fixed_buffer source(memory, sizeof memory);
    block_of(source, 100);
    static char theirs[100];
    source.deallocate(hidden(static_cast<char*>(theirs)), 100, 8);
}

void middle_of_a_chunk_given_to_a_fixed_buffer() {
    fixed_buffer source(memory, sizeof memory);
    source.deallocate(block_of(source, 100) + 16, 84, 8);
}

void overrun_in_a_fixed_buffer() {
    in_mode<fixed_buffer> source(memory, sizeof memory);
    char* const chunk = block_of(source, 100);
    poke(chunk, 100);
    source.deallocate(chunk, 100, 8);
}

void block_of_a_plain_region_freed_twice() {
    region source(1 << 20);
    block_of(source, 24);
    char* const block = block_of(source, 24);
    block_of(source, 24);
    source.deallocate(block, 24, 8);
    source.deallocate(block, 24, 8);
}

void block_of_a_plain_region_with_the_size_before_it_grew() {
    region source(1 << 20);
    char* const block = block_of(source, 24);
    static_cast<void>(source.try_resize(block, 24, 50000));
    source.deallocate(block, 24, 8);
}

void block_of_a_region_after_reset() {
    region source(1 << 20);
    char* const block = block_of(source, 24);
    source.reset();
    block_of(source, 4000);
    source.deallocate(block, 24, 8);
}

void chunk_of_an_upstream_resource_freed_twice() {
    in_mode<upstream_resource> source(std::pmr::new_delete_resource());
    char* const chunk = block_of(source, 100);
    source.deallocate(chunk, 100, 8);
    source.deallocate(chunk, 100, 8);
}

void chunk_of_an_upstream_resource_with_another_size() {
    in_mode<upstream_resource> source(std::pmr::new_delete_resource());
    source.deallocate(block_of(source, 100), 50, 8);
}

void chunk_of_a_standard_source_with_another_alignment() {
    in_mode<std_source<std::allocator<int>>> source;
    source.deallocate(block_of(source, 100), 100, 64);
}

void chunk_of_a_standard_source_lost() {
    in_mode<std_source<std::allocator<int>>> source;
    block_of(source, 100);
}

void chunk_of_new_delete_overrun() {
    in_mode<new_delete> source;
    char* const chunk = block_of(source, 100);
    poke(chunk, 130);
    source.deallocate(chunk, 100, 8);
}

void write_after_free_over_a_resource() {
    in_mode<multipool<upstream_resource>> pool(std::pmr::new_delete_resource());
    char* const block = block_of(pool, 100);
    pool.deallocate(block, 100, 8);
    poke(block, 50);
}

void write_after_reset_over_a_resource() {
    in_mode<monotonic<upstream_resource>> pool(std::pmr::new_delete_resource());
    char* const block = block_of(pool, 100);
    pool.reset();
    poke(block, 50);
}

void free_after_release_over_a_resource() {
    in_mode<multipool<upstream_resource>> pool(std::pmr::new_delete_resource());
    char* const block = block_of(pool, 100);
    pool.release();
    pool.deallocate(block, 100, 8);
}

void source_destroyed_before_its_pool() {
    std::optional<mono> source(std::in_place);
    multipool<source_ref<mono>> pool(*source);
    block_of(pool, 24);
    source.reset();
}

void source_reset_below_its_pool() {
    mono source;
    multipool<source_ref<mono>> pool(source);
    block_of(pool, 24);
    source.reset();
}

void wrong_size_in_a_limited_pool() {
    in_mode<limited<multipool<>>> pool(byte_limit{1000000});
    pool.deallocate(block_of(pool, 100), 1000, 8);
}

void double_free_in_a_limited_pool() {
    limited<multi> pool(byte_limit{1000});
    char* const block = block_of(pool, 100);
    pool.deallocate(block, 100, 8);
    pool.deallocate(block, 100, 8);
}

void foreign_pointer_in_a_counted_pool() {
    counted<multi> pool;
    char* const block = block_of(pool, 100);
    pool.deallocate(block + 8, 92, 8);
}

void allocator_of_no_pool() {
    multi* const none = hidden<multi>(nullptr);
    std::vector<int, allocator<int, multi>> numbers(none);
    numbers.push_back(1);
}

void array_of_a_handle_with_another_length() {
    handle from;
    from.deallocate(hidden(from.allocate(10)), 11);
}

void array_of_a_handle_freed_as_a_slot() {
    handle from;
    from.deallocate(hidden(from.allocate(10)), 1);
}

void slot_of_a_handle_freed_as_an_array() {
    handle from;
    from.deallocate(hidden(from.allocate(1)), 10);
}

void array_of_a_handle_freed_twice() {
    handle from;
    int* const array = hidden(from.allocate(10));
    from.deallocate(array, 10);
    from.deallocate(array, 10);
}

void array_of_a_handle_written_behind_its_end() {
    std::vector<int, handle> numbers(10, 7);
    poke(hidden(numbers.data()), 40);
}

void array_of_one_handle_given_to_another() {
    handle from, to;
    to.deallocate(hidden(from.allocate(10)), 10);
}

void array_of_a_handle_lost() {
    handle from;
    static_cast<void>(hidden(from.allocate(10)));
}

void node_of_a_32_bit_handle_freed_twice() {
    suballocator32<std::allocator<long>> from;
    long* const node = hidden(from.allocate(1));
    from.deallocate(node, 1);
    from.deallocate(node, 1);
}

void node_moved_to_the_set_of_another_handle() {
    std::set<int, std::less<>, handle> here({1, 2}), there({3, 4});
    here.insert(there.extract(3));
}

void slot_with_another_size() {
    slots pool;
    pool.deallocate(block_of(pool, 24), 16, 8);
}

void slot_freed_in_its_middle() {
    slots pool;
    pool.deallocate(block_of(pool, 24) + 8, 16, 8);
}

void slot_written_before_its_start() {
    slots pool;
    block_of(pool, 24);
    char* const slot = block_of(pool, 24);
    poke(slot, -1);
    pool.deallocate(slot, 24, 8);
}

void slot_used_after_reset() {
    slots pool;
    char* const slot = block_of(pool, 24);
    pool.reset();
    poke(slot, 3);
}

void block_too_large_for_a_slot_freed_twice() {
    slots pool;
    char* const block = block_of(pool, 5000);
    pool.deallocate(block, 5000, 8);
    pool.deallocate(block, 5000, 8);
}

constexpr program table[] = {
    {"chunk_of_a_fixed_buffer_freed_twice", chunk_of_a_fixed_buffer_freed_twice, "double free", nullptr, nullptr},
    {"chunk_of_a_fixed_buffer_with_another_size", chunk_of_a_fixed_buffer_with_another_size, "wrong size", nullptr,
     nullptr},
    {"chunk_of_a_fixed_buffer_with_another_alignment", chunk_of_a_fixed_buffer_with_another_alignment,
     "wrong alignment", nullptr, nullptr},
    {"foreign_chunk_given_to_a_fixed_buffer", foreign_chunk_given_to_a_fixed_buffer, "double free", nullptr, nullptr},
    {"middle_of_a_chunk_given_to_a_fixed_buffer", middle_of_a_chunk_given_to_a_fixed_buffer, "double free", nullptr,
     nullptr},
    {"overrun_in_a_fixed_buffer", overrun_in_a_fixed_buffer, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"block_of_a_plain_region_freed_twice", block_of_a_plain_region_freed_twice, "double free", nullptr, nullptr},
    {"block_of_a_plain_region_with_the_size_before_it_grew", block_of_a_plain_region_with_the_size_before_it_grew,
     "wrong size", nullptr, nullptr},
    {"block_of_a_region_after_reset", block_of_a_region_after_reset, "wrong size", nullptr, nullptr},
    {"chunk_of_an_upstream_resource_freed_twice", chunk_of_an_upstream_resource_freed_twice, "double free",
     "AddressSanitizer: attempting", "Invalid free"},
    {"chunk_of_an_upstream_resource_with_another_size", chunk_of_an_upstream_resource_with_another_size, "wrong size",
     "AddressSanitizer: new-delete-type-mismatch", nullptr},
    {"chunk_of_a_standard_source_with_another_alignment", chunk_of_a_standard_source_with_another_alignment,
     "wrong alignment", "AddressSanitizer: heap-buffer-overflow", "Invalid read of size 8"},
    {"chunk_of_a_standard_source_lost", chunk_of_a_standard_source_lost, "leak", "AddressSanitizer: 112", nullptr},
    {"chunk_of_new_delete_overrun", chunk_of_new_delete_overrun, "overrun", "AddressSanitizer: heap-buffer-overflow",
     "Invalid write of size 1"},
    {"write_after_free_over_a_resource", write_after_free_over_a_resource, "use after free",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"write_after_reset_over_a_resource", write_after_reset_over_a_resource, "use after reset",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"free_after_release_over_a_resource", free_after_release_over_a_resource, "use after release",
     "AddressSanitizer: heap-use-after-free", "Unaddressable byte(s)"},
    {"source_destroyed_before_its_pool", source_destroyed_before_its_pool, "destroyed allocator",
     "AddressSanitizer: use-after-poison", "Invalid read of size 8"},
    {"source_reset_below_its_pool", source_reset_below_its_pool, "use after reset",
     "AddressSanitizer: use-after-poison", "Invalid read of size 8"},
    {"wrong_size_in_a_limited_pool", wrong_size_in_a_limited_pool, "wrong size", nullptr, nullptr},
    {"double_free_in_a_limited_pool", double_free_in_a_limited_pool, "double free",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"foreign_pointer_in_a_counted_pool", foreign_pointer_in_a_counted_pool, "foreign pointer", nullptr, nullptr},
    {"allocator_of_no_pool", allocator_of_no_pool, "null pointer", nullptr, "Invalid read of size 8"},
    {"array_of_a_handle_with_another_length", array_of_a_handle_with_another_length, "wrong size",
     "AddressSanitizer: new-delete-type-mismatch", nullptr},
    {"array_of_a_handle_freed_as_a_slot", array_of_a_handle_freed_as_a_slot, "other allocator", nullptr, nullptr},
    {"slot_of_a_handle_freed_as_an_array", slot_of_a_handle_freed_as_an_array, "other allocator",
     "AddressSanitizer: attempting", "Invalid free"},
    {"array_of_a_handle_freed_twice", array_of_a_handle_freed_twice, "double free", "AddressSanitizer: attempting",
     "Invalid free"},
    {"array_of_a_handle_written_behind_its_end", array_of_a_handle_written_behind_its_end, "overrun",
     "AddressSanitizer: heap-buffer-overflow", "Invalid write of size 1"},
    {"array_of_one_handle_given_to_another", array_of_one_handle_given_to_another, "other allocator", nullptr, nullptr},
    {"array_of_a_handle_lost", array_of_a_handle_lost, "leak", "AddressSanitizer: 40", "definitely lost"},
    {"node_of_a_32_bit_handle_freed_twice", node_of_a_32_bit_handle_freed_twice, "double free",
     "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"node_moved_to_the_set_of_another_handle", node_moved_to_the_set_of_another_handle, "other allocator", nullptr,
     nullptr},
    {"slot_with_another_size", slot_with_another_size, "wrong size", nullptr, nullptr},
    {"slot_freed_in_its_middle", slot_freed_in_its_middle, "foreign pointer", nullptr, nullptr},
    {"slot_written_before_its_start", slot_written_before_its_start, "underrun", nullptr, nullptr},
    {"slot_used_after_reset", slot_used_after_reset, "use after reset", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"block_too_large_for_a_slot_freed_twice", block_too_large_for_a_slot_freed_twice, "double free",
     "AddressSanitizer: use-after-poison", "Invalid read of size 8"},
};

}  // namespace

std::span<const program> source_misuses() { return table; }

}  // namespace millpond::test
