// SPDX-License-Identifier: BSL-1.0
// Misuses by containers over both bindings.
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

template <class T>
using vector = std::vector<T, allocator<T, multi>>;
template <class T>
using list = std::list<T, allocator<T, multi>>;
template <class T>
using mono_vector = std::vector<T, allocator<T, mono>>;

const char* const long_text = "a text that is longer than the small buffer of any string";

void vector_written_behind_its_capacity() {
    multi pool;
    vector<char> text(24, 'a', &pool);
    poke(hidden(text.data()), 24);
}

void pmr_vector_written_before_its_start() {
    resource<mono> pool;
    std::pmr::vector<char> text(24, 'a', &pool);
    poke(hidden(text.data()), -1);
}

void reference_kept_while_a_vector_grows() {
    multi pool;
    vector<int> numbers({1, 2, 3, 4}, &pool);
    int& first = *hidden(&numbers[0]);
    numbers.push_back(5);
    poke(&first, 0);
}

void iterator_of_an_erased_list_node() {
    multi pool;
    list<int> numbers({1, 2, 3}, &pool);
    const auto gone = numbers.begin();
    int* const number = hidden(&*gone);
    numbers.erase(gone);
    poke(number, 0);
}

void pmr_map_value_after_erase() {
    resource<multi> pool;
    std::pmr::map<int, int> squares(&pool);
    for (int i = 0; i < 10; ++i) squares[i] = i * i;
    int* const square = hidden(&squares[5]);
    squares.erase(5);
    poke(square, 0);
}

void pmr_string_after_it_was_assigned() {
    resource<multi> pool;
    std::pmr::string text(long_text, &pool);
    char* const old = hidden(text.data());
    text.assign(1000, 'b');
    poke(old, 20);
}

void vector_outlives_release() {
    multi pool;
    vector<int> numbers({1, 2, 3}, &pool);
    pool.release();
}

void list_outlives_reset() {
    multi pool;
    list<int> numbers({1, 2, 3}, &pool);
    pool.reset();
}

void pmr_map_of_strings_outlives_release() {
    resource<multi> pool;
    std::pmr::map<int, std::pmr::string> texts(&pool);
    for (int i = 0; i < 10; ++i) texts[i] = long_text;
    pool.release();
}

void vector_grown_in_a_scope_outlives_its_checkpoint() {
    mono pool;
    mono_vector<int> numbers(&pool);
    const rewind_scope scope(pool);
    numbers.assign(100, 1);
}

void vector_of_strings_outlives_its_checkpoint() {
    resource<mono> pool;
    std::optional<std::pmr::vector<std::pmr::string>> texts;
    {
        const rewind_scope scope(pool.target());
        texts.emplace(&pool);
        texts->emplace_back(long_text);
    }
    texts.reset();
}

void vector_written_after_its_checkpoint() {
    mono pool;
    std::optional<mono_vector<int>> numbers;
    {
        const rewind_scope scope(pool);
        numbers.emplace(100u, 7, &pool);
    }
    poke(hidden(numbers->data()), 40);
}

void lists_of_two_pools_swapped() {
    multi here, there;
    list<int> a({1, 2}, &here), b({3, 4}, &there);
    a.swap(b);  // the standard forbids it: nodes go to the other pool
}

void node_of_one_pool_given_to_another() {
    multi here, there;
    allocator<int, multi> from(&there), to(&here);
    to.deallocate(from.allocate(10), 10);
}

void pmr_node_given_to_another_resource() {
    resource<multi> here, there;
    std::pmr::polymorphic_allocator<int> from(&there), to(&here);
    to.deallocate(from.allocate(10), 10);
}

void pmr_wrong_number_of_objects() {
    resource<multi> pool;
    std::pmr::polymorphic_allocator<int> numbers(&pool);
    numbers.deallocate(numbers.allocate(10), 11);
}

void wrong_type_given_back() {
    struct alignas(32) wide {
        char bytes[32];
    };
    multi pool;
    allocator<wide, multi> wides(&pool);
    allocator<char, multi> chars(wides);
    chars.deallocate(reinterpret_cast<char*>(wides.allocate(1)), 32);
}

void vector_destroyed_twice() {
    multi pool;
    alignas(vector<int>) char memory[sizeof(vector<int>)];
    auto* const numbers = std::construct_at(reinterpret_cast<vector<int>*>(memory), 10, 1, &pool);
    std::destroy_at(hidden(numbers));
    std::destroy_at(hidden(numbers));
}

void vector_outlives_its_pool() {
    auto pool = std::make_unique<multi>();
    vector<int> numbers(10, 1, hidden(pool.get()));
    pool.reset();
}

void pmr_list_lost() {
    auto pool = std::make_unique<resource<multi>>();
    auto numbers = std::make_unique<std::pmr::list<int>>(std::initializer_list<int>{1, 2, 3}, pool.get());
    static_cast<void>(numbers.release());
    expect_empty(*pool);
}

constexpr const char* poisoned = "AddressSanitizer: use-after-poison";
constexpr const char* invalid_write = "Invalid write of size 1";
constexpr const char* unaddressable = "Unaddressable byte(s)";
constexpr const char* invalid_read = "Invalid read of size 8";

constexpr program table[] = {
    {"vector_written_behind_its_capacity", vector_written_behind_its_capacity, "overrun", poisoned, invalid_write},
    {"pmr_vector_written_before_its_start", pmr_vector_written_before_its_start, "underrun", nullptr, nullptr},
    {"reference_kept_while_a_vector_grows", reference_kept_while_a_vector_grows, "use after free", poisoned,
     invalid_write},
    {"iterator_of_an_erased_list_node", iterator_of_an_erased_list_node, "use after free", poisoned, invalid_write},
    {"pmr_map_value_after_erase", pmr_map_value_after_erase, "use after free", poisoned, invalid_write},
    {"pmr_string_after_it_was_assigned", pmr_string_after_it_was_assigned, "use after free", poisoned, invalid_write},
    {"vector_outlives_release", vector_outlives_release, "use after release", poisoned, unaddressable},
    {"list_outlives_reset", list_outlives_reset, "use after reset", poisoned, invalid_read},
    {"pmr_map_of_strings_outlives_release", pmr_map_of_strings_outlives_release, "use after release", poisoned,
     invalid_read},
    {"vector_grown_in_a_scope_outlives_its_checkpoint", vector_grown_in_a_scope_outlives_its_checkpoint,
     "use after rewind", poisoned, unaddressable},
    {"vector_of_strings_outlives_its_checkpoint", vector_of_strings_outlives_its_checkpoint, "use after rewind",
     poisoned, invalid_read},
    {"vector_written_after_its_checkpoint", vector_written_after_its_checkpoint, "use after rewind", poisoned,
     invalid_write},
    {"lists_of_two_pools_swapped", lists_of_two_pools_swapped, "other allocator", nullptr, nullptr},
    {"node_of_one_pool_given_to_another", node_of_one_pool_given_to_another, "other allocator", nullptr, nullptr},
    {"pmr_node_given_to_another_resource", pmr_node_given_to_another_resource, "other allocator", nullptr, nullptr},
    {"pmr_wrong_number_of_objects", pmr_wrong_number_of_objects, "wrong size", nullptr, nullptr},
    {"wrong_type_given_back", wrong_type_given_back, "wrong alignment", nullptr, nullptr},
    {"vector_destroyed_twice", vector_destroyed_twice, "double free", poisoned, unaddressable},
    {"vector_outlives_its_pool", vector_outlives_its_pool, "destroyed allocator", poisoned, unaddressable},
    {"pmr_list_lost", pmr_list_lost, "leak", "LeakSanitizer", "definitely lost"},
};

}  // namespace

std::span<const program> container_misuses() { return table; }

}  // namespace millpond::test
