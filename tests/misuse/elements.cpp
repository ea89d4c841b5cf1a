// SPDX-License-Identifier: BSL-1.0
// Misuses of elements: of arrays that own their memory, and of objects that are winked out.
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

using numbers_in_pool = std::vector<int, allocator<int, multi>>;

dyn_array<int> numbers(int count) {
    dyn_array<int> made(10000);
    for (int i = 0; i < count; ++i) made.push_back(i);
    return made;
}

void element_behind_the_last() {
    dyn_array<int> array = numbers(24);
    array[*std::make_unique<std::size_t>(24)] = 1;
}

void last_element_of_none() {
    dyn_array<int> array = numbers(0);
    array.back() = 1;
}

void first_element_of_an_array_that_was_moved() {
    dyn_array<int> array = numbers(5);
    const dyn_array<int> taken = std::move(array);
    if (array.front() == 7) std::abort();
}

void pop_of_none() {
    dyn_array<int> array = numbers(1);
    array.pop_back();
    array.pop_back();
}

void erasure_of_the_end() {
    dyn_array<int> array = numbers(10);
    array.erase(array.end());
}

void erasure_of_a_range_that_is_reversed() {
    dyn_array<int> array = numbers(10);
    array.erase(array.begin() + 5, array.begin() + 2);
}

void insertion_by_an_iterator_that_is_stale() {
    dyn_array<int> array = numbers(10);
    const auto last = array.end();
    array.clear();
    array.insert(last, 7);
}

void insertion_by_an_iterator_of_another_array() {
    dyn_array<int> array = numbers(10), other = numbers(10);
    array.insert(other.begin() + 3, 7);
}

void element_written_after_resize() {
    dyn_array<int> array = numbers(100);
    int* const gone = hidden(&array[60]);
    array.resize(50);
    poke(gone, 0);
}

void element_written_after_its_array_was_moved_on() {
    dyn_array<int> array = numbers(100);
    int* const end = hidden(array.data() + 100);
    const dyn_array<int> taken = std::move(array);
    poke(end, 2);
}

void array_written_before_it_grows() {
    dyn_array<int> array = numbers(10);
    poke(hidden(array.data()), 41);
    array.push_back(10);
}

void winked_object_used_through_its_owner() {
    multi pool;
    wink_out<numbers_in_pool, multi> owner(pool, 100u, 7);
    owner.drop();
    owner->clear();
}

void winked_object_outlives_its_pool() {
    auto pool = std::make_unique<multi>();
    const wink_out<numbers_in_pool, multi> owner(*hidden(pool.get()), 100u, 7);
    pool.reset();
}

void pool_released_below_a_winked_object() {
    multi pool;
    const wink_out<numbers_in_pool, multi> owner(pool, 100u, 7);
    pool.release();
}

void another_container_in_the_pool_of_a_winked_object() {
    multi pool;
    numbers_in_pool other(100, 1, &pool);
    wink_out<numbers_in_pool, multi> owner(pool, 100u, 7);
    owner.drop();
    other.assign(200, 2);
}

void winked_object_written_behind_its_end() {
    mono pool;
    const wink_out<std::pair<int, int>, mono> owner(pool, 1, 2);
    poke(hidden(&*owner), sizeof(std::pair<int, int>));
}

constexpr program table[] = {
    {"element_behind_the_last", element_behind_the_last, "out of range", nullptr, "Invalid write of size 4"},
    {"last_element_of_none", last_element_of_none, "out of range", nullptr, nullptr},
    {"first_element_of_an_array_that_was_moved", first_element_of_an_array_that_was_moved, "out of range", nullptr,
     nullptr},
    {"pop_of_none", pop_of_none, "out of range", nullptr, nullptr},
    {"erasure_of_the_end", erasure_of_the_end, "out of range", nullptr, nullptr},
    {"erasure_of_a_range_that_is_reversed", erasure_of_a_range_that_is_reversed, "out of range", nullptr, nullptr},
    {"insertion_by_an_iterator_that_is_stale", insertion_by_an_iterator_that_is_stale, "out of range", nullptr,
     nullptr},
    {"insertion_by_an_iterator_of_another_array", insertion_by_an_iterator_of_another_array, "out of range", nullptr,
     nullptr},
    {"element_written_after_resize", element_written_after_resize, "use after free",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"element_written_after_its_array_was_moved_on", element_written_after_its_array_was_moved_on, "overrun",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
    {"array_written_before_it_grows", array_written_before_it_grows, "overrun", "AddressSanitizer: use-after-poison",
     "Invalid write of size 1"},
    {"winked_object_used_through_its_owner", winked_object_used_through_its_owner, "dropped object",
     "AddressSanitizer: SEGV", "Invalid read of size 8"},
    {"winked_object_outlives_its_pool", winked_object_outlives_its_pool, "destroyed allocator",
     "AddressSanitizer: heap-use-after-free", "Invalid read of size 8"},
    {"pool_released_below_a_winked_object", pool_released_below_a_winked_object, "use after release", nullptr, nullptr},
    {"another_container_in_the_pool_of_a_winked_object", another_container_in_the_pool_of_a_winked_object,
     "use after release", "AddressSanitizer: use-after-poison", "Unaddressable byte(s)"},
    {"winked_object_written_behind_its_end", winked_object_written_behind_its_end, "overrun",
     "AddressSanitizer: use-after-poison", "Invalid write of size 1"},
};

}  // namespace

std::span<const program> element_misuses() { return table; }

}  // namespace millpond::test
