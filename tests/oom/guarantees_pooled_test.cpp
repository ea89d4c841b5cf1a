// SPDX-License-Identifier: BSL-1.0
// guarantees_pooled_test: the members of the sets and maps with a pool inside, by the table of guarantees.hpp.
#include "guarantees_keyed.hpp"

namespace millpond::test {
namespace {

template <class Key>
struct with {
    using pair = std::pair<const Key, Key>;
    template <class T>
    using memory = failing_allocator<T>;
    using set = pooled_set<Key, failing_less, memory<Key>>;
    using multiset = pooled_multiset<Key, failing_less, memory<Key>>;
    using map = pooled_map<Key, Key, failing_less, memory<pair>>;
    using multimap = pooled_multimap<Key, Key, failing_less, memory<pair>>;
    using hashed_set = pooled_unordered_set<Key, failing_hash, failing_equal, memory<Key>>;
    using hashed_multiset = pooled_unordered_multiset<Key, failing_hash, failing_equal, memory<Key>>;
    using hashed_map = pooled_unordered_map<Key, Key, failing_hash, failing_equal, memory<pair>>;
    using hashed_multimap = pooled_unordered_multimap<Key, Key, failing_hash, failing_equal, memory<pair>>;
};

template <class Container>
class pooled_guarantees : public testing::Test {};
using kinds =
    testing::Types<with<copied_or_thrown>::set, with<moved_only>::multiset, with<copied>::map,
                   with<copied_or_thrown>::multimap, with<copied>::hashed_set, with<copied_or_thrown>::hashed_multiset,
                   with<copied_or_thrown>::hashed_map, with<moved_only>::hashed_multimap>;
TYPED_TEST_SUITE(pooled_guarantees, kinds);

TYPED_TEST(pooled_guarantees, hold_wherever_a_member_fails) {
    using container = TypeParam;
    using key = typename container::key_type;
    std::vector<way<container>> table = keyed_members<container>();
    row(table, "move", promise::nothing_changes, [](auto& to, auto& from) {
        plain<decltype(to)> made(std::move(from));
        element_books::never_fail();
        to.swap(made);
    }).needs_equal_allocators = true;
    if constexpr (std::is_move_constructible_v<typename container::value_type>) {
        row(table, "assign a move", promise::sound, [](auto& to, auto& from) { to = std::move(from); }).leaves_source =
            true;
    }
    // In libstdc++ a comparison that throws ends the program there: its merge of trees is noexcept.
    if constexpr (is_hashed<container>) {
        row(table, "merge", promise::nothing_is_lost, [](auto& to, auto& from) {
            to.merge(from);
        }).needs_equal_allocators = true;
        row(table, "rehash", promise::nothing_changes, [](auto& to, auto&) { to.rehash(200); });
        row(table, "reserve", promise::nothing_changes, [](auto& to, auto&) { to.reserve(300); });
    }
    if constexpr (std::is_copy_constructible_v<key>) {
        if (!(is_hashed<container> ? hashed_sets_lose_copies() : assigned_sets_lose_their_order()))
            row(table, "assign a copy", promise::source_is_whole, [](auto& to, auto& from) { to = from; });
    }
    row(table, "reserve bytes", promise::nothing_changes, [](auto& to, auto&) {
        if constexpr (requires { to.reserve_bytes(1000); }) to.reserve_bytes(20'000);
    });
    expect_promises(table);
}

}  // namespace
}  // namespace millpond::test
