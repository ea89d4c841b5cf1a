// SPDX-License-Identifier: BSL-1.0
// guarantees_sequences_test: the members of vector_tree, dyn_array, pooled_list and pooled_forward_list, by the table
// of guarantees.hpp.
#include "guarantees.hpp"

namespace millpond::test {
namespace {

struct small_shape {
    static constexpr std::size_t leaf_slots = 4;
    static constexpr std::size_t inner_slots = 4;
};
template <class T, template <class> class Allocator = failing_allocator>
using tree = vector_tree<T, Allocator<T>, small_shape>;
template <class T>
using array = dyn_array<T, failing_pages>;
template <class T>
using list = pooled_list<T, failing_allocator<T>>;
template <class T>
using forward = pooled_forward_list<T, failing_allocator<T>>;

template <class C>
constexpr bool is_array = requires(C& of) { of.capacity(); } && !std::is_same_v<C, std::vector<int>>;
template <class C>
constexpr bool is_tree = requires(C& of) { of.nth(0); };
template <class C>
constexpr bool is_list = requires(C& of) { of.sort(); };

template <class C>
auto at(C& of, std::ptrdiff_t index) {
    return std::next(of.begin(), index);
}

template <class C>
void add_growth(std::vector<way<C>>& table) {
    constexpr bool may_copy = std::is_copy_constructible_v<typename C::value_type>;
    // Elements move where these are inserted; those of a tree return, those of an array need not.
    const promise inside = is_array<C> ? promise::sound : promise::nothing_changes;
    row(table, "append", promise::nothing_changes, [](auto& to, auto&) { add(to, 7); });
    row(table, "emplace inside", inside, [](auto& to, auto&) {
        if constexpr (is_forward<plain<decltype(to)>>) {
            to.emplace_after(at(to, 7), 7);
        } else {
            to.emplace(at(to, 7), 7);
        }
    });
    row(table, "append what is generated", promise::nothing_changes, [](auto& to, auto&) {
        auto range = generated<decltype(to)>({1, 2, 3, 4, 5, 6, 7});
        if constexpr (requires { to.append_range(range); }) {
            to.append_range(range);
        } else if constexpr (is_forward<plain<decltype(to)>>) {
            to.insert_after(at(to, 17), range.begin(), range.end());
        } else {
            to.insert(to.end(), range.begin(), range.end());
        }
    });
    row(table, "insert what is generated inside", inside, [](auto& to, auto&) {
        auto range = generated<decltype(to)>({1, 2, 3, 4, 5, 6, 7});
        if constexpr (is_forward<plain<decltype(to)>>) {
            to.insert_after(at(to, 5), range.begin(), range.end());
        } else {
            to.insert(at(to, 5), range.begin(), range.end());
        }
    });
    row(table, "resize", promise::nothing_changes, [](auto& to, auto&) { to.resize(33); });
    row(table, "resize to fewer", promise::nothing_changes, [](auto& to, auto&) { to.resize(3); });
    if constexpr (may_copy) {
        row(table, "resize with copies", promise::nothing_changes, [](auto& to, auto&) {
            const auto one = element<decltype(to)>(5);
            to.resize(33, one);
        });
        row(table, "insert copies", inside, [](auto& to, auto&) {
            const auto one = element<decltype(to)>(5);
            if constexpr (is_forward<plain<decltype(to)>>) {
                to.insert_after(at(to, 5), 6, one);
            } else {
                to.insert(at(to, 5), 6, one);
            }
        });
        row(table, "assign copies", promise::sound, [](auto& to, auto&) {
            const auto one = element<decltype(to)>(5);
            to.assign(25, one);
        });
        row(table, "assign a list", promise::sound, [](auto& to, auto&) {
            using own = plain<decltype(to)>;
            to = {element<own>(4), element<own>(2), element<own>(3)};
        });
        row(table, "assign a range", promise::sound, [](auto& to, auto&) {
            const auto some = list_of<decltype(to)>({1, 2, 3});
            to.assign(some.begin(), some.end());
        });
        row(table, "copy", promise::nothing_changes, [](auto&, auto& from) {
            const plain<decltype(from)> made(from);
            EXPECT_EQ(std::ranges::distance(made), std::ranges::distance(from));
        });
    }
}

template <class C>
void add_choices(std::vector<way<C>>& table) {
    using value = typename C::value_type;
    // The elements of an array move up: if a move throws, the array keeps its number of elements.
    const bool may_move_throw = is_array<C> && !std::is_nothrow_move_assignable_v<value>;
    // libc++ takes elements out of a list by whole runs: those before the failure may stay.
    const promise choice = is_list<C> && !is_libstdcxx ? promise::some_go : promise::chosen_go;
    row(table, "erase_if", may_move_throw ? promise::sound : choice,
        [](auto& to, auto&) { erase_if(to, failing_choice()); });
    row(table, "compare", promise::nothing_changes, [](auto& to, auto& from) {
        EXPECT_FALSE(to == from);
        if constexpr (requires { to < from; }) static_cast<void>(to < from);
    });
    row(table, "visit", promise::nothing_changes, [](auto& to, auto&) {
        if constexpr (requires { to.for_each_span([](auto) {}); }) {
            std::size_t seen = 0;
            to.for_each_span([&](auto span) {
                element_books::operation();
                seen += span.size();
            });
            EXPECT_EQ(seen, to.size());
        }
    });
    if constexpr (is_list<C>) {
        row(table, "remove_if", choice, [](auto& to, auto&) { to.remove_if(failing_choice()); });
        row(table, "unique", promise::some_go, [](auto& to, auto&) {
            to.unique([](const auto& a, const auto& b) {
                element_books::operation();
                return number_in(a) / 40 == number_in(b) / 40;
            });
        });
        row(table, "sort", promise::nothing_is_lost, [](auto& to, auto&) {
            to.sort([](const auto& a, const auto& b) {
                element_books::operation();
                return number_in(a) % 70 < number_in(b) % 70;
            });
        });
        row(table, "merge", promise::nothing_is_lost, [](auto& to, auto& from) {
            to.merge(from, failing_less());
        }).needs_equal_allocators = true;
    }
}

template <class C>
void add_transfers(std::vector<way<C>>& table) {
    using value = typename C::value_type;
    constexpr bool goes_whole = std::is_nothrow_move_constructible_v<value> || std::is_copy_constructible_v<value>;
    row(table, "move", promise::nothing_changes, [](auto& to, auto& from) {
        plain<decltype(to)> made(std::move(from));
        element_books::never_fail();
        to = std::move(made);
    }).needs_equal_allocators = true;
    bool swaps_any = is_array<C>;
    if constexpr (requires { typename C::allocator_type; }) {
        swaps_any = std::allocator_traits<typename C::allocator_type>::propagate_on_container_swap::value;
    }
    row(table, "swap", promise::nothing_changes, [](auto& to, auto& from) { to.swap(from); }).needs_equal_allocators =
        !swaps_any;
    if constexpr (std::is_copy_constructible_v<value>) {
        row(table, "assign a copy", is_tree<C> ? promise::nothing_changes : promise::source_is_whole,
            [](auto& to, auto& from) { to = from; });
    }
    way<C>& assigned = row(table, "assign a move", promise::sound, [](auto& to, auto& from) { to = std::move(from); });
    if constexpr (is_tree<C>) {
        assigned.keeps = goes_whole ? promise::nothing_changes : promise::source_is_there;
        row(table, "append a tree", goes_whole ? promise::nothing_changes : promise::nothing_is_lost,
            [](auto& to, auto& from) {
                if constexpr (requires { to.append(std::move(from)); }) {
                    to.append(std::move(from));
                } else {
                    to.insert(to.end(), from.begin(), from.end());
                    from.clear();
                }
            });
        row(table, "move with an allocator", goes_whole ? promise::nothing_changes : promise::sound,
            [](auto& to, auto& from) {
                plain<decltype(to)> made(std::move(from), to.get_allocator());
                element_books::never_fail();
                to.swap(made);
            });
        row(table, "split", promise::nothing_changes, [](auto& to, auto&) {
            if constexpr (requires { to.split(7); }) {
                auto rest = to.split(7);
                element_books::never_fail();
                rest.swap(to);
            } else {
                to.erase(to.begin(), to.begin() + 7);
            }
        });
    } else {
        assigned.leaves_source = true;
    }
}

template <class Container>
class sequence_guarantees : public testing::Test {};
using kinds =
    testing::Types<tree<copied>, tree<copied_or_thrown>, tree<moved_only>, tree<moved_or_thrown>,
                   tree<copied, propagating_allocator>, array<copied>, array<copied_or_thrown>, array<moved_only>,
                   list<copied_or_thrown>, list<moved_only>, forward<copied>, forward<moved_or_thrown>>;
TYPED_TEST_SUITE(sequence_guarantees, kinds);

TYPED_TEST(sequence_guarantees, hold_wherever_a_member_fails) {
    std::vector<way<TypeParam>> table;
    add_growth(table);
    add_choices(table);
    add_transfers(table);
    expect_promises(table);
}

TEST(vector_tree_predicate, a_throwing_predicate_leaves_the_end_unchanged) {
    for (int size = 0; size < 40; ++size) {
        for (int failing = 0; failing < size; ++failing) {
            for (int kept = 1; kept < 4; ++kept) {
                SCOPED_TRACE(std::to_string(size) + " elements, call " + std::to_string(failing) + " throws");
                tree<copied> all(failing_allocator<copied>(1));
                for (int number = 0; number < size; ++number) all.emplace_back(number);
                int calls = 0;
                numbers expected;
                EXPECT_THROW(erase_if(all,
                                      [&](const copied& each) {
                                          if (calls == failing) throw element_failure();
                                          if (calls % kept == 0) expected.emplace_back(each.value(), 0);
                                          return calls++ % kept != 0;
                                      }),
                             element_failure);
                for (int number = failing; number < size; ++number) expected.emplace_back(number, 0);
                EXPECT_EQ(contents(all), expected);
                EXPECT_TRUE(all.is_sound());
                auto behind = all.nth(all.size() - 1);
                EXPECT_EQ(++behind, all.end());
                EXPECT_EQ(all.index_of(behind), all.size());
                EXPECT_EQ((--behind)->value(), size - 1);
            }
        }
    }
}

}  // namespace
}  // namespace millpond::test
