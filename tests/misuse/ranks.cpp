// SPDX-License-Identifier: BSL-1.0
// Misuses of iterators of the ranked sets and maps: of another container, singular, or invalidated by a change.
#include <cstdlib>
#include <utility>

#include "misuses.hpp"

namespace millpond::test {
namespace {

// Uses a value, so that the compiler does not remove the read.
void use(int value) {
    if (value == 12345) std::exit(1);
}

void node_erased_from_another_set() {
    counted_set<int> a{1, 2, 3}, b{1, 2, 3};
    a.erase(b.begin());
}

void node_extracted_from_another_map() {
    counted_map<int, int> a{{1, 2}}, b{{1, 2}};
    static_cast<void>(a.extract(b.begin()));
}

void hint_of_another_set() {
    counted_multiset<int> a{1, 2, 3}, b{1, 2, 3};
    a.insert(b.end(), 4);
}

void rank_in_another_set() {
    const counted_set<int> a{1, 2, 3}, b{1, 2, 3};
    use(static_cast<int>(a.rank(b.begin())));
}

void end_of_a_set_erased() {
    counted_set<int> a{1, 2, 3};
    a.erase(a.end());
}

void end_of_a_set_read() {
    const counted_set<int> a;
    use(*a.begin());
}

void step_behind_the_end_of_a_set() {
    const counted_set<int> a{1};
    auto at = a.begin();
    ++at, ++at;
}

void reversed_range_of_a_set_erased() {
    counted_set<int> a{1, 2, 3};
    a.erase(a.nth(2), a.nth(1));
}

void iterator_of_a_b_tree_read_after_an_insertion() {
    ordered_set<int> a{1, 2, 3};
    const auto first = a.begin();
    a.insert(7);
    use(*first);
}

void iterator_of_a_b_tree_moved_after_an_erasure() {
    ordered_multiset<int> a{1, 2, 3};
    auto last = a.nth(2);
    a.erase(1);
    --last;
}

void iterator_of_a_b_tree_erased_twice() {
    ordered_map<int, int> a{{1, 2}, {3, 4}};
    const auto first = a.begin();
    a.erase(first);
    a.erase(first);
}

void iterator_of_a_b_tree_after_a_move() {
    ordered_set<int> a{1, 2, 3};
    const auto first = a.begin();
    const ordered_set<int> b(std::move(a));
    use(*first);
}

void element_of_another_b_tree_erased() {
    ordered_set<int> a{1, 2, 3}, b{1, 2, 3};
    a.erase(b.begin());
}

void end_of_a_b_tree_read() {
    const ordered_set<int> a{1, 2, 3};
    use(*a.nth(3));
}

constexpr program table[] = {
    {"node_erased_from_another_set", node_erased_from_another_set, "foreign iterator", nullptr, nullptr},
    {"node_extracted_from_another_map", node_extracted_from_another_map, "foreign iterator", nullptr, nullptr},
    {"hint_of_another_set", hint_of_another_set, "foreign iterator", nullptr, nullptr},
    {"rank_in_another_set", rank_in_another_set, "foreign iterator", nullptr, nullptr},
    {"end_of_a_set_erased", end_of_a_set_erased, "foreign iterator", nullptr, nullptr},
    {"end_of_a_set_read", end_of_a_set_read, "foreign iterator", nullptr, nullptr},
    {"step_behind_the_end_of_a_set", step_behind_the_end_of_a_set, "foreign iterator", nullptr, nullptr},
    {"reversed_range_of_a_set_erased", reversed_range_of_a_set_erased, "foreign iterator", nullptr, nullptr},
    {"iterator_of_a_b_tree_read_after_an_insertion", iterator_of_a_b_tree_read_after_an_insertion, "stale iterator",
     nullptr, nullptr},
    {"iterator_of_a_b_tree_moved_after_an_erasure", iterator_of_a_b_tree_moved_after_an_erasure, "stale iterator",
     nullptr, nullptr},
    {"iterator_of_a_b_tree_erased_twice", iterator_of_a_b_tree_erased_twice, "stale iterator", nullptr, nullptr},
    {"iterator_of_a_b_tree_after_a_move", iterator_of_a_b_tree_after_a_move, "stale iterator", nullptr, nullptr},
    {"element_of_another_b_tree_erased", element_of_another_b_tree_erased, "foreign iterator", nullptr, nullptr},
    {"end_of_a_b_tree_read", end_of_a_b_tree_read, "foreign iterator", nullptr, nullptr},
};

}  // namespace

std::span<const program> rank_misuses() { return table; }

}  // namespace millpond::test
