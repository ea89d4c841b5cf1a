// SPDX-License-Identifier: BSL-1.0
// guarantees_keyed: the members that all sets and maps have, ours and those with a pool inside; rows of the table of
// guarantees.hpp.
//
// Members of both kinds promise the same, except those that take over a whole container, which each test adds.
#pragma once

#include "guarantees.hpp"

namespace millpond::test {

template <class Node, class From>
void put_back(Node& node, From& from) {
    EXPECT_FALSE(node.empty()) << "the element is lost with its handle";
    element_books::never_fail();
    from.insert(std::move(node));
}

template <class C>
void add_insertions(std::vector<way<C>>& table) {
    for (const int number : {35, 40, 1000, -5}) {  // a new one, one that is there, one at each end
        const std::string name = std::to_string(number);
        row(table, "emplace " + name, promise::nothing_changes, [number](auto& to, auto&) { add(to, number); });
        if constexpr (std::is_move_constructible_v<typename C::value_type>) {
            row(table, "insert " + name, promise::nothing_changes,
                [number](auto& to, auto&) { to.insert(element<decltype(to)>(number)); });
            row(table, "insert near the end " + name, promise::nothing_changes,
                [number](auto& to, auto&) { to.insert(to.end(), element<decltype(to)>(number)); });
        }
        row(table, "emplace near the begin " + name, promise::nothing_changes, [number](auto& to, auto&) {
            if constexpr (is_map<plain<decltype(to)>>) {
                to.emplace_hint(to.begin(), number, number + 1);
            } else {
                to.emplace_hint(to.begin(), number);
            }
        });
        if constexpr (std::is_copy_constructible_v<typename C::value_type>) {
            row(table, "insert a copy of " + name, promise::nothing_changes, [number](auto& to, auto&) {
                const auto one = element<decltype(to)>(number);
                to.insert(one);
            });
        }
        if constexpr (is_map<C> && is_unique_kind<C>) {
            using key = typename C::key_type;
            row(table, "try_emplace " + name, promise::nothing_changes, [number](auto& to, auto&) {
                to.try_emplace(typename plain<decltype(to)>::key_type(number), number + 1);
            });
            row(table, "insert_or_assign " + name, promise::nothing_changes, [number](auto& to, auto&) {
                using own = typename plain<decltype(to)>::key_type;
                to.insert_or_assign(own(number), own(number + 2));
            });
            row(table, "insert_or_assign near the end " + name, promise::nothing_changes, [number](auto& to, auto&) {
                using own = typename plain<decltype(to)>::key_type;
                to.insert_or_assign(to.end(), own(number), own(number + 2));
            });
            if constexpr (std::is_copy_constructible_v<key>) {
                row(table, "[] " + name, promise::nothing_changes, [number](auto& to, auto&) {
                    const typename plain<decltype(to)>::key_type own(number);
                    static_cast<void>(to[own]);
                });
            }
        }
    }
}

template <class C>
void add_ranges(std::vector<way<C>>& table) {
    const std::vector<int> some_numbers{3, 44, 45, 46, 40, 2000, 1};
    if constexpr (std::is_move_constructible_v<typename C::value_type>) {
        row(table, "insert what is generated", promise::sound, [some_numbers](auto& to, auto&) {
            auto range = generated<decltype(to)>(some_numbers);
            for (auto&& each : range) to.insert(std::move(each));
        });
        row(table, "construct of what is generated", promise::nothing_changes, [](auto& to, auto&) {
            using own = plain<decltype(to)>;
            auto sorted = generated<own>({1, 2, 3, 4, 5, 6, 7, 8, 9}), unsorted = generated<own>({9, 1, 8, 1, 7});
            own first(to.get_allocator()), second(to.get_allocator());
            first.insert(sorted.begin(), sorted.end());
            second.insert(unsorted.begin(), unsorted.end());
        });
    }
    if constexpr (std::is_copy_constructible_v<typename C::value_type>) {
        row(table, "insert a range", promise::sound, [some_numbers](auto& to, auto&) {
            const auto some = list_of<decltype(to)>(some_numbers);
            to.insert(some.begin(), some.end());
        });
        row(table, "construct of a range", promise::nothing_changes, [some_numbers](auto& to, auto&) {
            using own = plain<decltype(to)>;
            const auto some = list_of<own>(some_numbers);
            const own made(some.begin(), some.end());
        });
        if (is_hashed<C> && hashed_sets_lose_copies()) return;
        if constexpr (requires(C& of, std::initializer_list<typename C::value_type> list) { of = list; }) {
            row(table, "assign a list", promise::sound, [](auto& to, auto&) {
                using own = plain<decltype(to)>;
                to = {element<own>(4), element<own>(2), element<own>(3), element<own>(4)};
            });
        }
        row(table, "copy", promise::nothing_changes, [](auto& to, auto& from) {
            const plain<decltype(to)> made(from);
            EXPECT_EQ(std::ranges::distance(made), std::ranges::distance(from));
        });
        row(table, "copy with an allocator", promise::nothing_changes, [](auto& to, auto& from) {
            const plain<decltype(to)> made(from, to.get_allocator());
            EXPECT_EQ(std::ranges::distance(made), std::ranges::distance(from));
        });
    }
}

template <class C>
void add_searches(std::vector<way<C>>& table) {
    for (const int number : {0, 100, 95, 1000}) {
        row(table, "search " + std::to_string(number), promise::nothing_changes, [number](auto& to, auto&) {
            const typename plain<decltype(to)>::key_type key(number);
            const auto& in = to;
            const bool is_there = in.contains(key);
            EXPECT_EQ(in.count(key) != 0, is_there);
            EXPECT_EQ(in.find(key) != in.end(), is_there);
            const auto [first, last] = in.equal_range(key);
            EXPECT_EQ(first != last, is_there);
            if constexpr (requires { in.lower_bound(key); }) {
                EXPECT_EQ(in.lower_bound(key), first);
                EXPECT_EQ(in.upper_bound(key), last);
            }
        });
        // libc++ may have erased the first of equal keys when it compares the next one.
        const promise unless_erased = is_hashed<C> && !is_libstdcxx ? promise::some_go : promise::nothing_changes;
        row(table, "erase " + std::to_string(number), unless_erased, [number](auto& to, auto&) {
            const typename plain<decltype(to)>::key_type key(number);
            to.erase(key);
        });
        row(table, "extract " + std::to_string(number), promise::nothing_changes, [number](auto& to, auto&) {
            const typename plain<decltype(to)>::key_type key(number);
            const auto node = to.extract(key);
        });
    }
    row(table, "erase_if", promise::chosen_go, [](auto& to, auto&) { erase_if(to, failing_choice()); });
    row(table, "compare", promise::nothing_changes, [](auto& to, auto& from) {
        EXPECT_FALSE(to == from);
        if constexpr (requires { to < from; }) static_cast<void>(to < from);
    });
}

// A map element that can neither be copied nor be moved without exceptions loses its key if its value throws.
template <class C>
constexpr bool is_torn = is_map<C> && !std::is_nothrow_move_constructible_v<typename C::key_type> &&
                         !std::is_copy_constructible_v<typename C::key_type>;

template <class C>
std::vector<way<C>> keyed_members() {
    constexpr bool is_ranked = requires(C& of) { of.rank(of.begin()); };
    std::vector<way<C>> table;
    add_insertions(table);
    add_ranges(table);
    add_searches(table);
    // Handles: of an element that is new there, and of one with an equal.
    for (const int number : {5, 30}) {
        row(table, "insert a handle", promise::nothing_changes, [number](auto& to, auto& from) {
            const typename plain<decltype(to)>::key_type key(number);
            auto node = from.extract(from.find(key));
            try {
                if constexpr (is_unique_kind<plain<decltype(to)>>) {
                    auto result = to.insert(std::move(node));
                    if (!result.inserted) put_back(result.node, from);
                } else {
                    to.insert(std::move(node));
                }
            } catch (...) {
                put_back(node, from);
                throw;
            }
        });
        table.back().needs_equal_allocators = !is_ranked;
        table.back().may_tear = is_torn<C>;
        row(table, "insert a handle near the end", promise::nothing_changes, [number](auto& to, auto& from) {
            const typename plain<decltype(to)>::key_type key(number);
            auto node = from.extract(from.find(key));
            try {
                to.insert(to.end(), std::move(node));
                if (!node.empty()) put_back(node, from);
            } catch (...) {
                put_back(node, from);
                throw;
            }
        });
        table.back().needs_equal_allocators = !is_ranked;
        table.back().may_tear = is_torn<C>;
    }
    using allocator = std::allocator_traits<typename C::allocator_type>;
    row(table, "swap", promise::nothing_changes, [](auto& to, auto& from) { to.swap(from); }).needs_equal_allocators =
        !allocator::propagate_on_container_swap::value;
    return table;
}

}  // namespace millpond::test
