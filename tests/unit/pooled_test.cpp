// SPDX-License-Identifier: BSL-1.0
// pooled_test: the origin of the nodes of pooled containers, the joins and ends of pools, and the pointers that stay
// valid.
#include <gtest/gtest.h>

#include <array>
#include <list>
#include <map>
#include <memory_resource>
#include <millpond/container.hpp>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "support/counted_upstream.hpp"

namespace millpond {
namespace {

using test::upstream_account;
template <class T>
using upstream = test::counted_upstream<T>;
template <class T>
using staying = test::counted_upstream<T, false>;
using counted_set = pooled_set<int, std::less<>, upstream<int>>;
using counted_list = pooled_list<int, upstream<int>>;
using counted_hashed = pooled_unordered_set<int, std::hash<int>, std::equal_to<int>, upstream<int>>;

// The number of nodes outside pools. In checked mode all nodes lie in pools, and chunks with their guards are larger.
constexpr std::size_t outside = is_checked_mode ? 0 : 16;

template <class Container>
void fill(Container& to, int first, int last) {
    for (int key = first; key < last; ++key) {
        if constexpr (requires { to.push_front(key); }) {
            to.push_front(key);
        } else if constexpr (requires { typename Container::mapped_type; }) {
            to.emplace(key, key);
        } else {
            to.emplace(key);
        }
    }
}

TEST(pooled, containers_are_a_word_larger) {
    static_assert(sizeof(pooled_set<int>) <= sizeof(std::set<int>) + sizeof(void*));
    static_assert(sizeof(pooled_list<int>) <= sizeof(std::list<int>) + sizeof(void*));
    static_assert(sizeof(pooled_forward_list<int>) <= sizeof(std::forward_list<int>) + sizeof(void*));
    static_assert(sizeof(pooled_map<int, int>) <= sizeof(std::map<int, int>) + sizeof(void*));
    static_assert(sizeof(pooled_unordered_map<int, int>) <= sizeof(std::unordered_map<int, int>) + 2 * sizeof(void*));
}

TEST(pooled, first_nodes_come_from_the_upstream_one_by_one) {
    if (is_checked_mode) GTEST_SKIP() << "in checked mode all nodes lie in pools";
    upstream_account account;
    counted_list list(account);
    EXPECT_EQ(account.calls, 0U);
    fill(list, 0, 16);
    EXPECT_EQ(account.live_blocks, 16U);
    EXPECT_EQ(list.stats().outside, 16U);
    EXPECT_EQ(list.stats().pools, 0U);
    fill(list, 16, 17);
    EXPECT_EQ(list.stats().pools, 1U);
    EXPECT_EQ(list.stats().live_slots, 1U);
    while (list.size() > 1) list.pop_back();
    EXPECT_EQ(list.stats().outside, 0U);
    EXPECT_EQ(list.stats().live_slots, 1U);
}

TEST(pooled, memory_goes_back_as_a_container_empties) {
    if (is_checked_mode) GTEST_SKIP() << "blocks stay in quarantine";
    upstream_account account;
    counted_set set(account);
    fill(set, 0, 100'000);
    const std::size_t full = account.live_bytes;
    EXPECT_LE(static_cast<double>(full), 41.0 * 100'000);
    while (set.size() > 10'000) set.erase(set.begin());
    EXPECT_LT(account.live_bytes, full / 9);
    while (!set.empty()) set.erase(set.begin());
    EXPECT_LT(static_cast<double>(account.live_bytes), 0.015 * static_cast<double>(full));
}

TEST(pooled, range_gives_memory_back_as_a_container_empties) {
    if (is_checked_mode) GTEST_SKIP() << "blocks stay in quarantine";
    pooled_set<std::uint64_t> set;
    for (std::uint64_t key = 0; key < 300'000; ++key) set.insert(key);
    const std::size_t full = set.stats().held_bytes;
    while (!set.empty()) set.erase(set.begin());
    const std::size_t books = set.stats().held_bytes;  // charged, and hardly a page of them is used
    const double all_nodes = static_cast<double>(4 * sizeof(void*) + sizeof(std::uint64_t)) * 300'000;
    EXPECT_LE(static_cast<double>(full - books), all_nodes * 1.025);
    EXPECT_GE(static_cast<double>(full - books), all_nodes * 0.985);
}

// One survivor keeps its chunk, the row that its pool began with, and the pool's bookkeeping.
TEST(pooled, survivor_keeps_its_chunk_and_the_books_of_its_pool) {
    if (is_checked_mode) GTEST_SKIP() << "blocks stay in quarantine";
    upstream_account account;
    counted_list a(account), b(account);
    fill(a, 0, 5000);
    const std::size_t one = account.live_bytes;
    fill(b, 0, 4900);
    a.splice(a.end(), b);
    EXPECT_EQ(a.stats().pools, 2U);
    const int* const survivor = &*std::next(a.begin(), 7000);
    for (auto at = std::next(a.begin(), 5000); at != a.end();) at = &*at == survivor ? std::next(at) : a.erase(at);
    EXPECT_EQ(a.stats().pools, 2U);
    EXPECT_LE(account.live_bytes, one + 1024 + 2 * 4096 + 4 * 4096);
    a.erase(std::next(a.begin(), 5000));
    EXPECT_EQ(a.stats().pools, 1U);
    EXPECT_LE(account.live_bytes, one + 16 * 64) << "the pool ended with its last node";
}

TEST(pooled, empty_source_of_a_splice_leaves_the_group) {
    upstream_account account;
    {
        counted_list a(account), b(account);
        fill(a, 0, 500);
        fill(b, 0, 100);
        a.splice(a.begin(), b);
        EXPECT_EQ(b.stats().pools, 0U);
        fill(b, 0, 50);
        EXPECT_EQ(b.stats().pools, 1U);
        EXPECT_EQ(b.stats().live_slots, 50 - outside);
        b.splice(b.begin(), a, a.begin(), std::next(a.begin(), 20));
        EXPECT_EQ(a.stats().live_slots, b.stats().live_slots) << "the group is one";
    }
    EXPECT_EQ(account.live_bytes, 0U);
}

TEST(pooled, members_of_a_group_allocate_from_its_largest_pool) {
    if (is_checked_mode) GTEST_SKIP() << "blocks stay in quarantine";
    pooled_list<int> small, large;
    fill(large, 0, 1000);
    fill(small, 0, 100);
    small.splice(small.begin(), large, large.begin());
    const std::size_t slots = small.stats().live_slots;
    const int* const freed = &large.front();
    large.pop_front();
    fill(small, 0, 1);
    EXPECT_EQ(&small.front(), freed) << "the lowest free slot of the larger pool";
    EXPECT_EQ(small.stats().live_slots, slots);
}

TEST(pooled, group_of_many_pools_ends_in_any_order) {
    upstream_account account;
    {
        counted_set all(account);
        std::vector<counted_set> parts;
        for (int n = 0; n < 200; ++n) {
            parts.emplace_back(account);
            fill(parts.back(), n * 40, n * 40 + 40);
        }
        for (int n = 0; n < 200; ++n) all.merge(parts[static_cast<std::size_t>(n * 37 % 200)]);
        EXPECT_EQ(all.size(), 8000U);
        for (int key = 0; key < 8000; ++key) ASSERT_EQ(all.erase(key * 3001 % 8000), 1U);
    }
    EXPECT_EQ(account.live_bytes, 0U);
}

TEST(pooled, node_handle_outlives_its_container) {
    upstream_account account;
    {
        counted_set::node_type kept;
        {
            counted_set set(account);
            fill(set, 0, 100);
            kept = set.extract(99);
        }
        EXPECT_EQ(kept.value(), 99);
        EXPECT_GT(account.live_blocks, 0U);
        counted_set other(account);
        fill(other, 0, 99);
        EXPECT_TRUE(other.insert(std::move(kept)).inserted);
        auto refused = other.extract(5);
        other.insert(5);
        const auto result = other.insert(std::move(refused));
        EXPECT_FALSE(result.inserted);
        EXPECT_EQ(result.node.value(), 5);
        other.insert(counted_set::node_type());
    }
    EXPECT_EQ(account.live_bytes, 0U);
}

TEST(pooled, wink_drops_all_memory_at_once) {
    upstream_account account;
    {
        counted_set set(account);
        counted_list list(account);
        counted_hashed hashed(account);
        pooled_forward_list<int, upstream<int>> single(account);
        fill(set, 0, 3000);
        fill(list, 0, 3000);
        fill(hashed, 0, 3000);
        fill(single, 0, 3000);
        set.wink(), list.wink(), hashed.wink(), single.wink();
        EXPECT_TRUE(set.empty() && list.empty() && hashed.empty() && single.empty());
        fill(set, 0, 100);
        fill(list, 0, 100);
        fill(hashed, 0, 100);
        fill(single, 0, 100);
        EXPECT_EQ(set.size() + list.size() + hashed.size(), 300U);
    }
    EXPECT_EQ(account.live_bytes, 0U);
}

TEST(pooled, wink_spares_shared_memory) {
    upstream_account account;
    {
        counted_list a(account), b(account);
        fill(a, 0, 300);
        fill(b, 0, 300);
        a.splice(a.begin(), b, b.begin());
        a.wink();
        EXPECT_TRUE(a.empty());
        EXPECT_EQ(std::distance(b.begin(), b.end()), 299);
        counted_set set(account);
        fill(set, 0, 300);
        const auto node = set.extract(200);
        set.wink();
        EXPECT_EQ(node.value(), 200);
    }
    EXPECT_EQ(account.live_bytes, 0U);
}

// A type that its user declares winkable: its destructor would do nothing necessary.
struct label {
    label(int n) : number(n) {}
    ~label() { ++destroyed; }
    int number;
    static inline int destroyed = 0;
};

}  // namespace

template <>
struct is_winkable<label> : std::true_type {};

namespace {

TEST(pooled, wink_skips_destructors_of_winkable_elements) {
    pooled_list<label> labels;
    labels.emplace_back(1);
    label::destroyed = 0;
    labels.wink();
    EXPECT_EQ(label::destroyed, 1) << "a few nodes of the upstream are erased as ever";
    for (int n = 0; n < 1000; ++n) labels.emplace_back(n);
    label::destroyed = 0;
    labels.wink();
    EXPECT_LE(label::destroyed, is_checked_mode ? 1000 : 16);
}

TEST(pooled, reserved_bytes_are_there_before_the_nodes) {
    if (is_checked_mode) GTEST_SKIP() << "blocks are larger there";
    upstream_account account;
    counted_set set(account);
    set.reserve_bytes(1000 * 40);
    const std::size_t calls = account.calls;
    EXPECT_GE(set.stats().held_bytes, 40'000U);
    fill(set, 0, 1000);
    EXPECT_EQ(account.calls, calls);
    EXPECT_EQ(set.stats().live_slots, 1000U);
    set.wink();
    EXPECT_TRUE(set.empty());
    pooled_list<int> list(10, 1);
    list.reserve_bytes(std::size_t{1} << 20);
    EXPECT_GE(list.stats().held_bytes, std::size_t{64} << 10);
    list.resize(30'000);
    EXPECT_EQ(list.stats().live_slots, 30'000U - 10);
    account.fails_at = account.calls;
    EXPECT_THROW(set.reserve_bytes(1 << 20), std::bad_alloc);
    account.fails_at = static_cast<std::size_t>(-1);
    fill(set, 0, 10);
}

TEST(pooled, elements_stay_with_their_upstream) {
    upstream_account one, other;
    {
        using list = pooled_list<std::string, staying<std::string>>;
        list a(one), b(other), c(one);
        for (int n = 0; n < 60; ++n) a.push_back(std::to_string(n)), c.push_back("c");
        const std::string* const place = &a.back();
        b = std::move(a);
        EXPECT_NE(&b.back(), place) << "the upstreams differ";
        EXPECT_TRUE(b.get_allocator() == staying<std::string>(other));
        const std::string* const in_c = &c.back();
        a = std::move(c);
        EXPECT_EQ(&a.back(), in_c);
        list d(std::move(a), staying<std::string>(other));
        EXPECT_NE(&d.back(), in_c);
        const std::string* const in_d = &d.back();
        list e(std::move(d), staying<std::string>(other));
        EXPECT_EQ(&e.back(), in_d);
        EXPECT_TRUE(d.empty());
        d.push_back("again");
        list f(e, staying<std::string>(one));
        EXPECT_EQ(f, e);
        f.swap(c);
        EXPECT_EQ(c, e);
        e.swap(b);
        b.clear();
    }
    EXPECT_EQ(one.live_bytes + other.live_bytes, 0U);
}

TEST(pooled, pmr_resources_lie_beneath) {
    std::pmr::monotonic_buffer_resource resource;
    using allocator = std::pmr::polymorphic_allocator<std::pair<const int, std::pmr::string>>;
    using map = pooled_map<int, std::pmr::string, std::less<>, allocator>;
    map a(&resource);
    for (int n = 0; n < 100; ++n) a[n] = "a text that is longer than fifteen characters";
    EXPECT_EQ(a.at(50).get_allocator().resource(), &resource) << "the upstream constructs the elements";
    map b(a, &resource), c(a);
    EXPECT_EQ(c.get_allocator().resource(), std::pmr::get_default_resource());
    b.merge(a);
    b.insert_or_assign(3, "three");
    c = std::move(b);
    c = a;
    std::pmr::vector<map> nested(&resource);
    nested.emplace_back();
    EXPECT_EQ(nested.back().get_allocator().resource(), &resource);
}

TEST(pooled, moved_from_containers_begin_again) {
    upstream_account account;
    {
        counted_set a(account);
        fill(a, 0, 100);
        counted_set b(std::move(a));
        a.clear();
        fill(a, 0, 100);
        EXPECT_EQ(a, b);
        EXPECT_EQ(b.stats().live_slots, 100 - outside);
        b = std::move(a);
        a.clear();
        fill(a, 0, 10);
        a = b;
        std::swap(a, b);
        EXPECT_EQ(a.size(), 100U);
    }
    EXPECT_EQ(account.live_bytes, 0U);
}

TEST(pooled, containers_may_be_their_own_arguments) {
    pooled_list<std::string> list{"a", "b", "c"};
    for (int n = 0; n < 20; ++n) list.push_back(list.front());
    list.splice(list.begin(), list, std::prev(list.end()));
    list.splice(list.begin(), list, std::next(list.begin()), list.end());
    list.insert(list.begin(), list.begin(), list.end());
    list.remove(list.front());
    list.merge(list);
    list.swap(list);
    const auto& same = list;
    list = same;
    list.assign(5, std::string(list.front()));
    EXPECT_EQ(list.size(), 5U);
    pooled_set<int> set;
    for (int n = 0; n < 40; ++n) set.insert(n);
    set.merge(set);
    set.insert(set.end(), *set.begin());
    set.insert(set.extract(set.begin()));
    set.erase(*set.begin());
    pooled_unordered_multiset<int> hashed(set.begin(), set.end());
    hashed.merge(hashed);
    EXPECT_EQ(set.size(), hashed.size());
}

TEST(pooled, large_elements_pass_to_the_upstream) {
    struct large {
        char bytes[600];
    };
    upstream_account account;
    pooled_list<large, upstream<large>> list(account), other(account);
    for (int n = 0; n < 50; ++n) list.emplace_back();
    EXPECT_EQ(account.live_blocks, 50U);
    other.splice(other.begin(), list);
    other.reserve_bytes(10'000);
    list.emplace_back();
    other.wink();
    EXPECT_EQ(account.live_blocks, 1U);
}

struct tree {
    pooled_map<std::string, tree> children;
    pooled_list<tree> others;
};

TEST(pooled, elements_may_be_incomplete) {
    tree root;
    for (int n = 0; n < 40; ++n) root.children[std::to_string(n)].others.emplace_back();
    EXPECT_EQ(root.children.at("7").others.size(), 1U);
}

TEST(pooled, allocators_may_use_offsets_of_32_or_64_bits) {
    pooled32<std::set<int>> narrow;
    pooled64<std::set<int>> wide;
    for (int n = 0; n < 1000; ++n) narrow.insert(n), wide.insert(n);
    while (!narrow.empty()) narrow.erase(narrow.begin());
    EXPECT_EQ(wide.size(), 1000U);
    EXPECT_LE(narrow.stats().live_slots, 0U);
}

TEST(pooled, readers_do_not_disturb_one_another) {
    pooled_map<int, int> map;
    for (int n = 0; n < 100; ++n) map.emplace(n, n);
    const auto& shared = map;
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
        readers.emplace_back([&shared] {
            for (int n = 0; n < 1000; ++n) {
                EXPECT_EQ(shared.stats().pools, 1U);
                static_cast<void>(shared.get_allocator());
                EXPECT_EQ(shared.at(n % 100), n % 100);
            }
        });
    }
    for (std::thread& reader : readers) reader.join();
    std::thread([moved = std::move(map)]() mutable { moved.erase(5); }).join();
}

TEST(pooled, arguments_deduce_as_for_the_standard_containers) {
    const std::vector<int> numbers{1, 2};
    pooled_set set{3, 1, 2};
    pooled_multiset multi(numbers.begin(), numbers.end());
    pooled_set greater({1, 2}, std::greater<>());
    pooled_map map{std::pair{1, 2.0}};
    pooled_unordered_map hashed(map.begin(), map.end());
    pooled_list list(numbers.begin(), numbers.end());
    pooled_list copy = list;
    std::pmr::monotonic_buffer_resource resource;
    pooled_set over({1, 2}, std::pmr::polymorphic_allocator<int>(&resource));
    static_assert(std::is_same_v<decltype(set), pooled_set<int>>);
    static_assert(std::is_same_v<decltype(multi), pooled_multiset<int>>);
    static_assert(std::is_same_v<decltype(greater), pooled_set<int, std::greater<>>>);
    static_assert(std::is_same_v<decltype(map), pooled_map<int, double>>);
    static_assert(std::is_same_v<decltype(hashed), pooled_unordered_map<int, double>>);
    static_assert(std::is_same_v<decltype(copy), pooled_list<int>>);
    static_assert(
        std::is_same_v<decltype(over), pooled_set<int, std::less<int>, std::pmr::polymorphic_allocator<int>>>);
    EXPECT_TRUE(list == copy && (set <=> set) == 0 && !(set < pooled_set<int>()));
    EXPECT_EQ(std::erase_if(set, [](int n) { return n > 1; }), 2U);
    EXPECT_EQ(std::erase(list, 1), 1U);
    static_assert(std::is_nothrow_move_constructible_v<pooled_set<int>>);
    static_assert(std::is_nothrow_move_assignable_v<pooled_set<int>>);
    static_assert(std::is_nothrow_swappable_v<pooled_set<int>>);
    static_assert(std::uses_allocator_v<pooled_set<int>, std::allocator<int>>);
}

}  // namespace
}  // namespace millpond
