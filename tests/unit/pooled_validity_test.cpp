// SPDX-License-Identifier: BSL-1.0
// pooled_validity_test: the table of docs/how_to/pooled_and_ranked_containers.md: after each operation between two
// pooled containers every pointer, reference and iterator to a moved element is still valid.
//
// For every pair of containers that exchange nodes, from few or many elements into few or many: the table has a row for
// each operation, and a test each of them. A container ends while the other one lives, in both orders.
#include <gtest/gtest.h>

#include <memory>
#include <millpond/container.hpp>
#include <vector>

namespace millpond {
namespace {

constexpr std::pair<int, int> sizes[] = {{3, 5}, {3, 400}, {400, 3}, {400, 300}, {5000, 2000}};

template <class Container>
auto key_of(const typename Container::value_type& element) {
    if constexpr (requires { typename Container::mapped_type; }) {
        return element.first;
    } else {
        return element;
    }
}

template <class Container>
std::unique_ptr<Container> made(int first, int last) {
    auto made = std::make_unique<Container>();
    for (int key = first; key < last; ++key) {
        if constexpr (requires { typename Container::mapped_type; }) {
            made->emplace(key, key);
        } else if constexpr (requires { typename Container::key_type; }) {
            made->emplace(key);
        } else {
            made->push_front(first + last - 1 - key);
        }
    }
    return made;
}

// The pointers and iterators to the elements of a container, recorded before an operation.
template <class Container>
class places {
  public:
    explicit places(Container& of) {
        for (auto at = of.begin(); at != of.end(); ++at) known_.push_back({at, &*at, key_of<Container>(*at)});
    }

    // Checks the elements through iterators and pointers.
    void expect_valid() const {
        for (const known& each : known_) {
            ASSERT_EQ(key_of<Container>(*each.at), each.key);
            ASSERT_EQ(&*each.at, each.pointer);
        }
    }
    // Checks pointers only: the standard invalidates iterators to extracted elements.
    void expect_pointers_valid() const {
        for (const known& each : known_) ASSERT_EQ(key_of<Container>(*each.pointer), each.key);
    }

  private:
    struct known {
        typename Container::iterator at;
        typename Container::const_pointer pointer;
        int key;
    };
    std::vector<known> known_;
};

// `move` takes all elements of a container to another one; then the first container ends, or the second one.
template <class From, class To = From, class Move>
void expect_valid_after(Move move, bool iterators = true) {
    for (const auto& [in_from, in_to] : sizes) {
        auto from = made<From>(0, in_from);
        auto to = made<To>(in_from, in_from + in_to);
        const places<From> moved(*from);
        const places<To> stayed(*to);
        move(*from, *to);
        iterators ? moved.expect_valid() : moved.expect_pointers_valid();
        stayed.expect_valid();
        from.reset();
        iterators ? moved.expect_valid() : moved.expect_pointers_valid();
        ASSERT_EQ(std::distance(to->begin(), to->end()), in_from + in_to);
        to->clear();
    }
}

const auto merge = [](auto& from, auto& to) { to.merge(from); };
const auto by_handles = [](auto& from, auto& to) {
    while (!from.empty()) to.insert(from.extract(from.begin()));
};

template <class From, class To>
void expect_both_ways() {
    expect_valid_after<From, To>(merge);
    expect_valid_after<To, From>(merge);
    expect_valid_after<From, To>(by_handles, false);
    expect_valid_after<To, From>(by_handles, false);
    expect_valid_after<From>(merge);
    expect_valid_after<To>(merge);
}

TEST(pooled_validity, merge_and_handles_between_ordered_sets) {
    expect_both_ways<pooled_set<int>, pooled_multiset<int>>();
}
TEST(pooled_validity, merge_and_handles_between_ordered_maps) {
    expect_both_ways<pooled_map<int, int>, pooled_multimap<int, int>>();
}
TEST(pooled_validity, merge_and_handles_between_hashed_sets) {
    expect_both_ways<pooled_unordered_set<int>, pooled_unordered_multiset<int>>();
}
TEST(pooled_validity, merge_and_handles_between_hashed_maps) {
    expect_both_ways<pooled_unordered_map<int, int>, pooled_unordered_multimap<int, int>>();
}

TEST(pooled_validity, splice_and_merge_between_lists) {
    using list = pooled_list<int>;
    expect_valid_after<list>([](list& from, list& to) { to.splice(to.begin(), from); });
    expect_valid_after<list>([](list& from, list& to) { to.splice(to.end(), std::move(from)); });
    expect_valid_after<list>([](list& from, list& to) {
        while (!from.empty()) to.splice(to.begin(), from, from.begin());
    });
    expect_valid_after<list>([](list& from, list& to) {
        to.splice(to.begin(), from, from.begin(), std::next(from.begin()));
        to.splice(to.begin(), from, from.begin(), from.end());
    });
    expect_valid_after<list>(merge);
    expect_valid_after<list>([](list& from, list& to) { to.merge(from, [](int a, int b) { return a < b; }); });
}

TEST(pooled_validity, splice_and_merge_between_forward_lists) {
    using list = pooled_forward_list<int>;
    expect_valid_after<list>([](list& from, list& to) { to.splice_after(to.before_begin(), from); });
    expect_valid_after<list>([](list& from, list& to) {
        to.splice_after(to.begin(), from, from.begin());
        to.splice_after(to.before_begin(), from, from.before_begin(), from.end());
    });
    expect_valid_after<list>(merge);
}

// Swaps and moves take all elements along with their pool.
template <class Container>
void expect_valid_after_swap_and_moves() {
    for (const auto& [in_a, in_b] : sizes) {
        auto a = made<Container>(0, in_a), b = made<Container>(0, in_b);
        const places<Container> of_a(*a), of_b(*b);
        a->swap(*b);
        swap(*a, *b);
        std::swap(*a, *b);
        of_a.expect_valid();
        of_b.expect_valid();
        auto c = std::make_unique<Container>(std::move(*a));
        a.reset();
        of_b.expect_valid();
        *b = std::move(*c);
        c.reset();
        of_b.expect_valid();
        Container d(std::move(*b), b->get_allocator());
        b.reset();
        of_b.expect_valid();
    }
}

TEST(pooled_validity, swap_and_moves_of_ordered_containers) {
    expect_valid_after_swap_and_moves<pooled_set<int>>();
    expect_valid_after_swap_and_moves<pooled_multiset<int>>();
    expect_valid_after_swap_and_moves<pooled_map<int, int>>();
    expect_valid_after_swap_and_moves<pooled_multimap<int, int>>();
}
TEST(pooled_validity, swap_and_moves_of_hashed_containers) {
    expect_valid_after_swap_and_moves<pooled_unordered_set<int>>();
    expect_valid_after_swap_and_moves<pooled_unordered_multiset<int>>();
    expect_valid_after_swap_and_moves<pooled_unordered_map<int, int>>();
    expect_valid_after_swap_and_moves<pooled_unordered_multimap<int, int>>();
}
TEST(pooled_validity, swap_and_moves_of_lists) {
    expect_valid_after_swap_and_moves<pooled_list<int>>();
    expect_valid_after_swap_and_moves<pooled_forward_list<int>>();
}

}  // namespace
}  // namespace millpond
