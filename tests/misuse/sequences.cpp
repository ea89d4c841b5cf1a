// SPDX-License-Identifier: BSL-1.0
// Misuses of vector_tree: iterators that are singular, of another tree, or whose elements were erased.
#include <utility>

#include "misuses.hpp"

namespace millpond::test {
namespace {

void iterator_of_an_erased_element() {
    vector_tree<int> numbers{1, 2, 3};
    const auto second = numbers.nth(1);
    numbers.erase(second);
    poke(hidden(&*second), 0);
}

void iterator_of_a_cleared_tree() {
    vector_tree<int> numbers{1, 2, 3};
    auto second = numbers.nth(1);
    numbers.clear();
    ++second;
}

void end_of_a_vector_tree_read() {
    vector_tree<int> numbers{1, 2, 3};
    poke(hidden(&*numbers.end()), 0);
}

void step_behind_the_end_of_a_vector_tree() {
    vector_tree<int> numbers{1, 2, 3};
    auto last = numbers.nth(2);
    last += 2;
}

void element_that_a_vector_tree_has_not() {
    vector_tree<int> numbers{1, 2, 3};
    poke(hidden(&numbers[3]), 0);
}

void vector_tree_inserts_at_an_iterator_of_another() {
    vector_tree<int> numbers{1, 2, 3};
    vector_tree<int> others{4};
    numbers.insert(others.begin(), 5);
}

void vector_tree_erases_an_element_that_was_split_off() {
    vector_tree<int> numbers{1, 2, 3};
    const auto last = numbers.nth(2);
    const vector_tree<int> rest = numbers.split(1);
    numbers.erase(last);
}

void vector_tree_inserts_at_a_singular_iterator() {
    vector_tree<int> numbers{1, 2, 3};
    const auto second = numbers.nth(1);
    numbers.erase(second);
    numbers.insert(second, 2);
}

constexpr program table[] = {
    {"iterator_of_an_erased_element", iterator_of_an_erased_element, "stale iterator", nullptr, nullptr},
    {"iterator_of_a_cleared_tree", iterator_of_a_cleared_tree, "stale iterator", nullptr, nullptr},
    {"end_of_a_vector_tree_read", end_of_a_vector_tree_read, "stale iterator", nullptr, nullptr},
    {"step_behind_the_end_of_a_vector_tree", step_behind_the_end_of_a_vector_tree, "stale iterator", nullptr, nullptr},
    {"element_that_a_vector_tree_has_not", element_that_a_vector_tree_has_not, "foreign iterator", nullptr, nullptr},
    {"vector_tree_inserts_at_an_iterator_of_another", vector_tree_inserts_at_an_iterator_of_another, "foreign iterator",
     nullptr, nullptr},
    {"vector_tree_erases_an_element_that_was_split_off", vector_tree_erases_an_element_that_was_split_off,
     "foreign iterator", nullptr, nullptr},
    {"vector_tree_inserts_at_a_singular_iterator", vector_tree_inserts_at_a_singular_iterator, "stale iterator",
     nullptr, nullptr},
};

}  // namespace

std::span<const program> sequence_misuses() { return table; }

}  // namespace millpond::test
