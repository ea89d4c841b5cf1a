// SPDX-License-Identifier: BSL-1.0
// bind_test: containers of containers over both bindings: the allocator that each gets, and the memory that stays in
// place.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "support/accounting_source.hpp"
#include "support/exacting_allocator.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using pool_under_test = multipool<accounting_ref>;

template <class T>
using bound = allocator<T, pool_under_test>;
template <class T>
using vector = std::vector<T, bound<T>>;
using string = std::basic_string<char, std::char_traits<char>, bound<char>>;
template <class K, class V>
using map = std::map<K, V, std::less<K>, bound<std::pair<const K, V>>>;
template <class K, class V>
using hash_map = std::unordered_map<K, V, std::hash<K>, std::equal_to<K>, bound<std::pair<const K, V>>>;

const char* const long_text = "a text that is longer than the small buffer of any string";

using traits = std::allocator_traits<bound<int>>;
static_assert(!traits::propagate_on_container_copy_assignment::value);
static_assert(!traits::propagate_on_container_move_assignment::value);
static_assert(!traits::propagate_on_container_swap::value);
static_assert(!traits::is_always_equal::value);
static_assert(std::is_same_v<traits::rebind_alloc<double>, bound<double>>);
static_assert(!std::is_default_constructible_v<bound<int>>);

TEST(allocator, memory_comes_from_its_target) {
    accounting_source source;
    pool_under_test pool(source);
    vector<int> numbers(&pool);
    EXPECT_EQ(source.calls(), 0u);
    numbers.resize(100);
    EXPECT_EQ(source.calls(), 1u);
    EXPECT_EQ(numbers.get_allocator().target(), &pool);
}

TEST(allocator, nested_containers_get_the_same_target) {
    pool_under_test* targets[5] = {};
    accounting_source source;
    pool_under_test pool(source);
    vector<vector<string>> rows(&pool);
    rows.emplace_back().emplace_back(long_text);
    targets[0] = rows[0].get_allocator().target();
    targets[1] = rows[0][0].get_allocator().target();
    map<int, string> names(&pool);
    names[3] = long_text;
    names.emplace(4, long_text);
    names.try_emplace(5, long_text);
    targets[2] = names[3].get_allocator().target();
    map<string, vector<string>> both(&pool);
    both[string(long_text, &pool)].emplace_back(long_text);
    targets[3] = both.begin()->first.get_allocator().target();
    targets[4] = both.begin()->second[0].get_allocator().target();
    for (const pool_under_test* target : targets) EXPECT_EQ(target, &pool);
    for (const auto& [number, name] : names) EXPECT_EQ(name.get_allocator().target(), &pool) << number;
}

TEST(allocator, every_standard_container_works_over_it) {
    accounting_source source;
    {
        pool_under_test pool(source);
        std::deque<string, bound<string>> deque(&pool);
        std::list<string, bound<string>> list(&pool);
        hash_map<int, string> hashed(&pool);
        std::unordered_set<int, std::hash<int>, std::equal_to<int>, bound<int>> hash_set(&pool);
        std::set<int, std::less<int>, bound<int>> set(&pool);
        auto numbers = test::random_numbers();
        for (int i = 0; i < 2000; ++i) {
            const int key = test::uniform(numbers, 0, 500);
            deque.emplace_back(long_text);
            list.emplace_front(long_text);
            hashed[key] = long_text;
            hash_set.insert(key);
            set.insert(key);
            if (i % 3 == 0) {
                deque.pop_front();
                list.pop_back();
                hashed.erase(key);
                hash_set.erase(key);
                set.erase(key);
            }
        }
        EXPECT_EQ(set.size(), hash_set.size());
        EXPECT_EQ(hashed.size(), set.size());
        EXPECT_EQ(list.front().get_allocator().target(), &pool);
    }
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(allocator, a_container_keeps_its_target_through_assignment) {
    accounting_source source;
    pool_under_test a(source), b(source);
    vector<string> in_a(&a), in_b(&b);
    in_a.emplace_back(long_text);
    in_b = in_a;
    EXPECT_EQ(in_b.get_allocator().target(), &b);
    EXPECT_EQ(in_b[0].get_allocator().target(), &b);
    in_b.clear();
    in_b = std::move(in_a);
    EXPECT_EQ(in_b.get_allocator().target(), &b);
    EXPECT_EQ(in_b[0], long_text);
    EXPECT_EQ(in_b[0].get_allocator().target(), &b);
}

TEST(allocator, move_construction_takes_the_target_along_and_copies_none) {
    accounting_source source;
    pool_under_test pool(source);
    vector<string> first(&pool);
    first.emplace_back(long_text);
    const string* const element = first.data();
    vector<string> second(std::move(first));
    EXPECT_EQ(second.data(), element);
    EXPECT_EQ(second.get_allocator().target(), &pool);
    const vector<string> copied(second);
    EXPECT_EQ(copied.get_allocator().target(), &pool);
}

TEST(allocator, equal_means_one_target) {
    accounting_source source;
    pool_under_test a(source), b(source);
    EXPECT_EQ(bound<int>(&a), bound<double>(&a));
    EXPECT_NE(bound<int>(&a), bound<int>(&b));
    EXPECT_EQ(bound<int>(bound<double>(&a)).target(), &a);
}

TEST(allocator, impossible_lengths_are_bad_alloc) {
    accounting_source source;
    pool_under_test pool(source);
    EXPECT_THROW(static_cast<void>(bound<int>(&pool).allocate(static_cast<std::size_t>(-1) / 2)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(bound<int>(&pool).allocate(bound<int>::max_size())), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(vector<int>(&pool).reserve(static_cast<std::size_t>(-1) / 2)), std::length_error);
    constexpr std::size_t wraps = static_cast<std::size_t>(-1) / sizeof(int) + 2;  // times 4 is 4
    EXPECT_THROW(static_cast<void>(bound<int>(&pool).allocate(wraps)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(bound<int>(&pool).allocate_at_least(wraps)), std::bad_alloc);
    EXPECT_EQ(source.calls(), source.failures()) << "nothing was given";
}

TEST(allocator, deallocate_takes_either_count_of_allocate_at_least) {
    accounting_source source;
    pool_under_test pool(source);
    for (std::size_t n = 1; n < 3000; ++n) {
        const auto [objects, count] = bound<int>(&pool).allocate_at_least(n);
        ASSERT_EQ(count, pool_under_test::block_bytes(n * sizeof(int), alignof(int)) / sizeof(int)) << n;
        std::fill_n(objects, count, 1);
        bound<int>(&pool).deallocate(objects, n % 2 == 0 ? n : count);
        ASSERT_EQ(bound<int>(&pool).allocate(count), objects) << "the same class, whichever number it was";
        bound<int>(&pool).deallocate(objects, count);
    }
    const auto [large, count] = bound<int>(&pool).allocate_at_least(1000001);
    EXPECT_EQ(count, 1000001u) << "no class has it";
    bound<int>(&pool).deallocate(large, count);
    struct triple {
        int numbers[3];
    };
    EXPECT_EQ(bound<triple>(&pool).allocate_at_least(2).count, 2u) << "24 bytes have room for two";
    test::exacting_allocator exact;  // says nothing of blocks
    const auto same = allocator<int, test::exacting_allocator>(&exact).allocate_at_least(5);
    EXPECT_EQ(same.count, 5u);
    allocator<int, test::exacting_allocator>(&exact).deallocate(same.ptr, 5);
}

TEST(allocator, deallocation_passes_the_size_and_alignment_of_allocation) {
    test::exacting_allocator exact;  // checks
    struct alignas(64) wide {
        char bytes[64];
    };
    std::vector<wide, allocator<wide, test::exacting_allocator>> row(&exact);
    std::map<int, int, std::less<>, allocator<std::pair<const int, int>, test::exacting_allocator>> tree(&exact);
    for (int i = 0; i < 20; ++i) row.emplace_back(), tree[i] = i;
    EXPECT_GT(exact.live_bytes(), 20 * sizeof(wide));
}

TEST(allocator, over_aligned_elements_are_aligned) {
    struct alignas(128) wide {
        char bytes[128];
    };
    accounting_source source;
    pool_under_test pool(source);
    vector<wide> row(&pool);
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(detail::is_aligned(&row.emplace_back(), 128));
    std::list<wide, bound<wide>> list(&pool);
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(detail::is_aligned(&list.emplace_back(), 128));
}

TEST(resource, pmr_containers_of_containers_use_it) {
    accounting_source source;
    resource<pool_under_test> pool(source);
    std::pmr::map<std::pmr::string, std::pmr::vector<std::pmr::string>> index(&pool);
    index[long_text].emplace_back(long_text);
    EXPECT_EQ(index.begin()->first.get_allocator().resource(), &pool);
    EXPECT_EQ(index.begin()->second[0].get_allocator().resource(), &pool);
    EXPECT_GT(source.live_blocks(), 0u);
}

TEST(resource, deallocation_passes_the_size_and_alignment_of_allocation) {
    test::exacting_allocator exact;  // checks
    resource<test::exacting_allocator&> base(exact);
    struct alignas(64) wide {
        char bytes[64];
    };
    {
        std::pmr::vector<wide> row(&base);
        std::pmr::map<int, std::pmr::string> tree(&base);
        for (int i = 0; i < 20; ++i) row.emplace_back(), tree[i] = long_text;
        EXPECT_GT(exact.live_bytes(), 20 * sizeof(wide));
    }
    EXPECT_EQ(exact.live_blocks(), 0u);
    void* const block = base.allocate(24, 8);
    base.deallocate(block, 24, 8);
    void* const usual = base.allocate(24);
    EXPECT_EQ(exact.given().at(usual).alignment, detail::default_alignment);
    base.deallocate(usual, 24);
}

TEST(resource, owned_or_referred_to_it_is_the_same_allocator) {
    accounting_source source;
    pool_under_test pool(source);
    resource<pool_under_test&> a(pool), b(pool);
    resource<pool_under_test> other(source);
    EXPECT_TRUE(a.is_equal(b));
    EXPECT_FALSE(a.is_equal(other));
    resource<pool_under_test&> alias(other.target());
    EXPECT_TRUE(alias.is_equal(other));
    EXPECT_TRUE(other.is_equal(alias));
    EXPECT_FALSE(a.is_equal(*std::pmr::new_delete_resource()));
    // Both bindings at once over one allocator.
    vector<int> by_type(10, 1, &pool);
    std::pmr::vector<int> by_base(10, 2, &a);
    EXPECT_EQ(by_type[0] + by_base[0], 3);
}

TEST(resource, is_a_managed_allocator_when_its_target_is) {
    static_assert(managed_allocator<resource<monotonic<>>> && managed_allocator<resource<multipool<>&>>);
    static_assert(!managed_allocator<resource<chunk_cache>>);
    accounting_source source;
    resource<pool_under_test> pool(source);
    void* const block = pool.allocate(100);
    pool.deallocate(block, 100);
    EXPECT_NE(pool.try_allocate(10, 1), nullptr);
    EXPECT_THROW(static_cast<void>(pool.allocate(static_cast<std::size_t>(-1))), std::bad_alloc);
    pool.reset();
    EXPECT_EQ(source.live_blocks(), 1u);
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

}  // namespace
}  // namespace millpond
