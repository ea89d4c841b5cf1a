// SPDX-License-Identifier: BSL-1.0
// guarantees_ranked_test: the members of counted_ and ordered_ sets and maps, by the table of guarantees.hpp.
#include "guarantees_keyed.hpp"

namespace millpond::test {
namespace {

template <class Key, class Less = failing_less, template <class> class Allocator = failing_allocator>
struct with {
    using pair = std::pair<const Key, Key>;
    using set = counted_set<Key, Less, Allocator<Key>>;
    using multiset = counted_multiset<Key, Less, Allocator<Key>>;
    using map = counted_map<Key, Key, Less, Allocator<pair>>;
    using multimap = counted_multimap<Key, Key, Less, Allocator<pair>>;
    using small_set = tiny_set<Key, Less, Allocator<Key>>;
    using small_multiset = tiny_multiset<Key, Less, Allocator<Key>>;
    using small_map = tiny_map<Key, Key, Less, Allocator<pair>>;
    using small_multimap = tiny_multimap<Key, Key, Less, Allocator<pair>>;
};
using copied_with = with<copied_or_thrown, copied_less>;
using taken_along = with<copied, failing_less, propagating_allocator>;

template <class Container>
class ranked_guarantees : public testing::Test {};
using kinds = testing::Types<copied_with::set, with<moved_only>::multiset, with<moved_or_thrown>::map,
                             with<copied>::multimap, copied_with::small_map, with<moved_only>::small_multimap,
                             with<moved_or_thrown>::small_set, with<copied>::small_multiset, copied_with::multimap,
                             with<moved_only>::map, with<moved_or_thrown>::multiset, with<copied>::small_set,
                             copied_with::small_multiset, with<moved_only>::small_map,
                             with<moved_or_thrown>::small_multimap, taken_along::set, taken_along::small_multimap>;
TYPED_TEST_SUITE(ranked_guarantees, kinds);

TYPED_TEST(ranked_guarantees, hold_wherever_a_member_fails) {
    using container = TypeParam;
    using key = typename container::key_type;
    constexpr bool goes_whole = std::is_nothrow_move_constructible_v<key> || std::is_copy_constructible_v<key>;
    std::vector<way<container>> table = keyed_members<container>();
    const promise moved = goes_whole ? promise::source_is_whole : promise::source_is_there;
    row(table, "move with an allocator", goes_whole ? promise::nothing_changes : promise::sound,
        [](auto& to, auto& from) {
            plain<decltype(to)> made(std::move(from), to.get_allocator());
            element_books::never_fail();
            to.swap(made);
        })
        .may_tear = is_torn<container>;
    row(table, "move", promise::nothing_changes, [](auto& to, auto& from) {
        plain<decltype(to)> made(std::move(from));
        element_books::never_fail();
        to = std::move(made);
    });
    row(table, "assign a move", moved, [](auto& to, auto& from) { to = std::move(from); }).may_tear =
        is_torn<container>;
    row(table, "merge", promise::nothing_is_lost, [](auto& to, auto& from) { to.merge(from); }).may_tear =
        is_torn<container>;
    if constexpr (std::is_copy_constructible_v<key>) {
        row(table, "assign a copy", promise::nothing_changes, [](auto& to, auto& from) { to = from; });
    }
    for (const int number : {0, 100, 95, 1000}) {
        row(table, "rank " + std::to_string(number), promise::nothing_changes, [number](auto& to, auto&) {
            if constexpr (requires { to.rank(number); }) static_cast<void>(to.rank(number));
        });
        row(table, "count between " + std::to_string(number), promise::nothing_changes, [number](auto& to, auto&) {
            if constexpr (requires { to.count_between(5, number); }) static_cast<void>(to.count_between(5, number));
        });
    }
    expect_promises(table);
}

}  // namespace
}  // namespace millpond::test
