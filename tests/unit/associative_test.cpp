// SPDX-License-Identifier: BSL-1.0
// associative_test: the promises that ranked sets and maps share with the standard's, and their additional ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <millpond/container.hpp>
#include <numeric>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace millpond {
namespace {

struct counted_family {
    template <class... T>
    using set = counted_set<T...>;
    template <class... T>
    using multiset = counted_multiset<T...>;
    template <class... T>
    using map = counted_map<T...>;
    template <class... T>
    using multimap = counted_multimap<T...>;
    template <class T>
    using pooled_set = pooled_counted_set<T>;
};
struct ordered_family {
    template <class... T>
    using set = ordered_set<T...>;
    template <class... T>
    using multiset = ordered_multiset<T...>;
    template <class... T>
    using map = ordered_map<T...>;
    template <class... T>
    using multimap = ordered_multimap<T...>;
    template <class T>
    using pooled_set = pooled_ordered_set<T>;
};

template <class Family>
class associative : public testing::Test {};
using families = testing::Types<counted_family, ordered_family>;
TYPED_TEST_SUITE(associative, families);

struct by_value {
    using is_transparent = void;
    bool operator()(const std::unique_ptr<int>& a, const std::unique_ptr<int>& b) const { return *a < *b; }
    bool operator()(int a, const std::unique_ptr<int>& b) const { return a < *b; }
    bool operator()(const std::unique_ptr<int>& a, int b) const { return *a < b; }
};

struct counts_copies {
    inline static int copies = 0;
    int number = 0;

    counts_copies() = default;
    counts_copies(const counts_copies& other) : number(other.number) { ++copies; }
    counts_copies(counts_copies&&) = default;
    counts_copies& operator=(const counts_copies&) = delete;
    ~counts_copies() = default;
};

struct counting_less {
    inline static std::size_t calls = 0;
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
        ++calls;
        return a < b;
    }
};

TYPED_TEST(associative, has_the_types_of_the_standard) {
    using set = typename TypeParam::template set<int>;
    using map = typename TypeParam::template map<int, std::string>;
    static_assert(std::ranges::bidirectional_range<set> && std::ranges::sized_range<set>);
    static_assert(std::ranges::common_range<const map> && std::bidirectional_iterator<typename map::iterator>);
    static_assert(std::is_same_v<typename set::reference, int&>);
    static_assert(std::is_same_v<std::iter_reference_t<typename set::iterator>, const int&>);
    static_assert(std::is_same_v<std::iter_reference_t<typename map::iterator>, std::pair<const int, std::string>&>);
    static_assert(std::is_convertible_v<typename map::iterator, typename map::const_iterator>);
    static_assert(!std::is_convertible_v<typename map::const_iterator, typename map::iterator>);
    static_assert(std::is_nothrow_move_constructible_v<set> && std::is_nothrow_move_assignable_v<set>);
    static_assert(std::is_nothrow_swappable_v<map> && std::three_way_comparable<map>);
    static_assert(std::is_nothrow_move_constructible_v<typename map::node_type>);
    const map of_two{{1, "one"}, {2, "two"}};
    EXPECT_TRUE(of_two.value_comp()(*of_two.begin(), *of_two.rbegin()));
    EXPECT_TRUE(of_two.key_comp()(1, 2));
    EXPECT_EQ(of_two.crbegin()->second, "two");
}

TYPED_TEST(associative, deduces_its_arguments) {
    const std::vector<std::pair<int, long>> pairs{{2, 3}, {1, 2}};
    std::pmr::monotonic_buffer_resource memory;
    const std::pmr::polymorphic_allocator<int> allocator(&memory);
    const counted_set set{2, 1};
    const ordered_multiset multiset({2, 1}, std::greater<>(), allocator);
    const ordered_map map(pairs.begin(), pairs.end());
    const counted_multimap multimap{std::pair(1, 2L)};
    static_assert(std::is_same_v<decltype(set), const counted_set<int>>);
    static_assert(std::is_same_v<decltype(multiset),
                                 const ordered_multiset<int, std::greater<>, std::pmr::polymorphic_allocator<int>>>);
    static_assert(std::is_same_v<decltype(map), const ordered_map<int, long>>);
    static_assert(std::is_same_v<decltype(multimap), const counted_multimap<int, long>>);
    EXPECT_EQ(*multiset.begin(), 2);
    EXPECT_EQ(map.begin()->first, 1);
    EXPECT_TRUE(set.contains(1) && multimap.contains(1));
}

TYPED_TEST(associative, is_constructed_in_every_way) {
    using set = typename TypeParam::template set<int, std::less<>, std::pmr::polymorphic_allocator<int>>;
    std::pmr::monotonic_buffer_resource memory;
    const std::pmr::polymorphic_allocator<int> allocator(&memory);
    const std::array some{3, 1, 2, 3};
    const set expected{1, 2, 3};
    EXPECT_EQ(set(some.begin(), some.end()), expected);
    EXPECT_EQ(set(some.begin(), some.end(), std::less<>(), allocator), expected);
    EXPECT_EQ(set(some.begin(), some.end(), allocator).get_allocator(), allocator);
    EXPECT_EQ(set({3, 1, 2}, allocator), expected);
    EXPECT_TRUE(set(allocator).empty());
    EXPECT_TRUE(set(std::less<>(), allocator).empty());
    set copy(expected, allocator);
    EXPECT_EQ(copy.get_allocator(), allocator);
    EXPECT_EQ(set(copy).get_allocator(), std::pmr::polymorphic_allocator<int>()) << "pmr copies take the default";
    set moved(std::move(copy));
    EXPECT_EQ(moved.get_allocator(), allocator);
    EXPECT_EQ(set(std::move(moved), std::pmr::polymorphic_allocator<int>()), expected);
    set assigned;
    assigned = {5, 4};
    EXPECT_EQ(assigned, (set{4, 5}));
    assigned.insert_range(some | std::views::transform([](int number) { return number * 2; }));
    EXPECT_EQ(assigned, (set{2, 4, 5, 6}));
#if defined(__cpp_lib_containers_ranges)
    EXPECT_EQ(set(std::from_range, some), expected);
    EXPECT_EQ(set(std::from_range, some, allocator), expected);
    EXPECT_EQ((ordered_set(std::from_range, some)), (ordered_set{1, 2, 3}));
#endif
}

TYPED_TEST(associative, keeps_or_takes_the_allocator_as_pmr_containers_do) {
    using map =
        typename TypeParam::template map<int, std::pmr::string, std::less<>,
                                         std::pmr::polymorphic_allocator<std::pair<const int, std::pmr::string>>>;
    std::pmr::monotonic_buffer_resource one, two;
    map a(&one), b(&two);
    for (int i = 0; i < 100; ++i) a.try_emplace(i, "a text that is longer than the small buffer");
    EXPECT_EQ(a.at(7).get_allocator().resource(), &one) << "elements get the allocator of their container";
    b = std::move(a);
    EXPECT_EQ(b.size(), 100U);
    EXPECT_EQ(b.get_allocator().resource(), &two);
    EXPECT_EQ(b.at(7).get_allocator().resource(), &two);
    EXPECT_TRUE(a.empty());
    a[1] = "other";
    b = a;
    EXPECT_EQ(b.at(1), "other");
    EXPECT_EQ(b.get_allocator().resource(), &two);
}

TYPED_TEST(associative, moves_elements_between_allocators_without_a_copy) {
    using map = typename TypeParam::template map<int, counts_copies, std::less<>,
                                                 std::pmr::polymorphic_allocator<std::pair<const int, counts_copies>>>;
    std::pmr::monotonic_buffer_resource one, two;
    map a(&one), b(&two);
    for (int i = 0; i < 50; ++i) a[i].number = i;
    b = std::move(a);
    a[70].number = 70;
    b.merge(a);
    auto node = b.extract(5);
    a.insert(std::move(node));
    EXPECT_EQ(a.at(5).number, 5);
    EXPECT_EQ(b.at(70).number, 70);
    EXPECT_EQ(b.size(), 50U);
    EXPECT_EQ(counts_copies::copies, 0);
}

TYPED_TEST(associative, searches_by_other_types_without_a_key) {
    typename TypeParam::template multimap<std::string, int, std::less<>> numbers{{"two", 2}, {"one", 1}, {"two", 3}};
    const std::string_view two = "two";
    EXPECT_EQ(numbers.count(two), 2U);
    EXPECT_EQ(numbers.rank(two), 1U);
    EXPECT_EQ(numbers.count_between("a", two), 1U);
    EXPECT_EQ(numbers.find(two)->second, 2);
    EXPECT_EQ(numbers.equal_range(two).second, numbers.end());
    EXPECT_TRUE(numbers.contains("one"));
    EXPECT_EQ(numbers.extract(two).mapped(), 2);
    EXPECT_EQ(numbers.erase(two), 1U);
    EXPECT_EQ(numbers.size(), 1U);
}

TYPED_TEST(associative, compares_as_sequences) {
    struct only_less {
        int number;
        bool operator<(const only_less& other) const { return number < other.number; }
        bool operator==(const only_less& other) const { return number == other.number; }
    };
    using set = typename TypeParam::template multiset<only_less>;
    const set a{{1}, {2}}, b{{1}, {3}}, c{{1}, {2}};
    EXPECT_TRUE(a < b && b > a && a <= c && a == c && a != b);
    static_assert(std::is_same_v<decltype(a <=> b), std::weak_ordering>);
    const typename TypeParam::template map<int, int> x{{1, 2}}, y{{1, 3}};
    EXPECT_TRUE((x <=> y) < 0);
}

TYPED_TEST(associative, inserts_at_hints_without_a_search) {
    typename TypeParam::template set<int, counting_less> numbers;
    for (int i = 0; i < 1000; ++i) numbers.insert(numbers.end(), 2 * i);
    for (int i = 1; i < 999; i += 97) {
        const auto behind = numbers.find(2 * i);
        counting_less::calls = 0;
        const auto inserted = numbers.insert(behind, 2 * i - 1);
        EXPECT_LE(counting_less::calls, 2U);
        const auto also = numbers.emplace_hint(inserted, 2 * i - 1);
        EXPECT_EQ(*also, 2 * i - 1);
        EXPECT_LE(counting_less::calls, 6U);
    }
    EXPECT_EQ(*numbers.insert(numbers.begin(), 777), 777) << "a hint that is wrong does no harm";
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
}

TYPED_TEST(associative, is_made_of_sorted_elements_with_one_comparison_each) {
    std::vector<int> sorted(10'000);
    std::iota(sorted.begin(), sorted.end(), 0);
    counting_less::calls = 0;
    const typename TypeParam::template set<int, counting_less> set(sorted.begin(), sorted.end());
    EXPECT_LT(counting_less::calls, sorted.size());
    sorted.push_back(5);
    const typename TypeParam::template multiset<int, counting_less> other(sorted.begin(), sorted.end());
    EXPECT_TRUE(std::ranges::is_sorted(other));
    EXPECT_EQ(other.count(5), 2U);
    counting_less::calls = 0;
    const auto copy = other;
    EXPECT_EQ(copy, other);
    EXPECT_EQ(counting_less::calls, 0U) << "a copy compares nothing";
}

TYPED_TEST(associative, counts_equal_elements_without_passing_them) {
    const std::vector<int> equal(100'000, 7);
    typename TypeParam::template multiset<int, counting_less> numbers(equal.begin(), equal.end());
    numbers.insert({6, 8});
    counting_less::calls = 0;
    EXPECT_EQ(numbers.count(7), equal.size());
    EXPECT_EQ(numbers.rank(8), equal.size() + 1);
    EXPECT_LT(counting_less::calls, 150U);
    EXPECT_EQ(numbers.erase(7), equal.size());
    EXPECT_EQ(numbers.size(), 2U);
}

TYPED_TEST(associative, answers_beyond_its_ranks) {
    typename TypeParam::template set<int> numbers{10, 20, 30};
    EXPECT_EQ(numbers.nth(3), numbers.end());
    EXPECT_EQ(numbers.nth(99), numbers.end());
    EXPECT_EQ(numbers.rank(numbers.end()), 3U);
    EXPECT_EQ(numbers.rank(99), 3U);
    EXPECT_EQ(numbers.count_between(30, 10), 0U);
    EXPECT_EQ(numbers.count_between(10, 30), 2U);
    EXPECT_EQ(numbers.ranks(2, 99).size(), 1U);
    EXPECT_TRUE(numbers.ranks(2, 1).empty());
    const auto nothing = numbers.erase_ranks(5, 9);
    EXPECT_EQ(nothing, numbers.end());
    EXPECT_EQ(*numbers.erase_nth(0), 20);
    const auto last = numbers.erase_ranks(1, 9);
    EXPECT_EQ(last, numbers.end());
    EXPECT_EQ(numbers.size(), 1U);
    const typename TypeParam::template set<int> none;
    EXPECT_EQ(none.nth(0), none.end());
    EXPECT_EQ(none.rank(1), 0U);
    EXPECT_EQ(none.begin(), none.end());
}

TYPED_TEST(associative, takes_arguments_that_are_its_own_elements) {
    typename TypeParam::template multiset<std::string> texts;
    for (int i = 0; i < 200; ++i) texts.insert("a text that needs memory of its own " + std::to_string(i));
    for (int i = 0; i < 200; ++i) texts.insert(*texts.nth(static_cast<std::size_t>(i)));
    EXPECT_TRUE(std::ranges::is_sorted(texts));
    const std::size_t equal = texts.count(*texts.nth(50));
    EXPECT_EQ(texts.erase(*texts.nth(50)), equal);
    const std::size_t before = texts.size();
    texts.merge(texts);
    EXPECT_EQ(texts.size(), before);
    auto& same = texts;
    texts = same;
    EXPECT_EQ(texts.size(), before);
    texts.swap(same);
    EXPECT_EQ(texts.size(), before);
}

TYPED_TEST(associative, is_empty_and_usable_after_a_move) {
    typename TypeParam::template set<int> a{1, 2, 3};
    auto b = std::move(a);
    EXPECT_TRUE(a.empty() && a.begin() == a.end());
    a.insert(4);
    EXPECT_EQ(a.size(), 1U);
    a = std::move(b);
    EXPECT_TRUE(b.empty());
    b = {9};
    swap(a, b);
    EXPECT_EQ(a, (typename TypeParam::template set<int>{9}));
}

TYPED_TEST(associative, passes_elements_on_in_handles) {
    typename TypeParam::template map<int, std::unique_ptr<int>> a;
    typename TypeParam::template multimap<int, std::unique_ptr<int>> b;
    a.try_emplace(1, std::make_unique<int>(10));
    a.try_emplace(2, std::make_unique<int>(20));
    auto node = a.extract(1);
    ASSERT_TRUE(node && !node.empty());
    EXPECT_EQ(*node.mapped(), 10);
    node.key() = 2;
    auto result = a.insert(std::move(node));
    EXPECT_FALSE(result.inserted);
    EXPECT_EQ(result.position, a.find(2));
    EXPECT_EQ(*result.node.mapped(), 10) << "what was not inserted comes back";
    b.insert(std::move(result.node));
    EXPECT_EQ(*b.find(2)->second, 10);
    b.insert(b.begin(), a.extract(a.begin()));
    EXPECT_EQ(b.size(), 2U);
    EXPECT_TRUE(a.extract(99).empty());
    EXPECT_EQ(a.insert(decltype(node)()).position, a.end());
    auto one = b.extract(b.begin());
    decltype(one) other;
    swap(one, other);
    EXPECT_TRUE(one.empty());
    other = b.extract(b.begin());
    EXPECT_TRUE(b.empty());
}

TYPED_TEST(associative, merges_elements_that_belong_here) {
    typename TypeParam::template set<int> a{1, 3};
    typename TypeParam::template multiset<int> b{1, 2, 2, 4};
    a.merge(b);
    EXPECT_EQ(a, (typename TypeParam::template set<int>{1, 2, 3, 4}));
    EXPECT_EQ(b, (typename TypeParam::template multiset<int>{1, 2}));
    b.merge(std::move(a));
    EXPECT_TRUE(a.empty());
    EXPECT_EQ(b.count(2), 2U);
    typename TypeParam::template set<int, std::greater<>> down{5, 0};
    down.merge(b);
    EXPECT_TRUE(std::ranges::equal(down, std::array{5, 4, 3, 2, 1, 0}));
}

TYPED_TEST(associative, makes_values_of_new_keys_only) {
    typename TypeParam::template map<std::string, std::unique_ptr<int>> numbers;
    auto value = std::make_unique<int>(1);
    std::string key = "a key that is longer than the small buffer";
    EXPECT_TRUE(numbers.try_emplace(key, std::move(value)).second);
    value = std::make_unique<int>(2);
    EXPECT_FALSE(numbers.try_emplace(std::move(key), std::move(value)).second);
    EXPECT_TRUE(value != nullptr && !key.empty()) << "nothing is moved from in vain";
    EXPECT_FALSE(numbers.insert_or_assign(key, std::move(value)).second);
    EXPECT_EQ(*numbers.at(key), 2);
    EXPECT_EQ(numbers["other"], nullptr);
    EXPECT_EQ(numbers.insert_or_assign(numbers.end(), "third", nullptr)->first, "third");
    EXPECT_EQ(numbers.try_emplace(numbers.begin(), "fourth")->first, "fourth");
    EXPECT_EQ(numbers.size(), 4U);
    EXPECT_THROW(static_cast<void>(numbers.at("fifth")), std::out_of_range);
    EXPECT_THROW(static_cast<void>(std::as_const(numbers).at("fifth")), std::out_of_range);
}

TYPED_TEST(associative, holds_keys_that_only_move) {
    typename TypeParam::template map<std::unique_ptr<int>, int, by_value> map;
    for (int i = 0; i < 500; ++i) map.try_emplace(std::make_unique<int>(i * 37 % 500), i);
    for (int i = 0; i < 500; i += 2) EXPECT_EQ(map.erase(i), 1U);
    EXPECT_EQ(*map.nth(100)->first, 201);
    EXPECT_EQ(map.rank(201), 100U);
}

TYPED_TEST(associative, orders_by_a_comparison_with_a_state) {
    using function = bool (*)(int, int);
    typename TypeParam::template set<int, function> down([](int a, int b) { return a > b; });
    down.insert({1, 3, 2});
    const auto copy = down;
    EXPECT_EQ(*copy.begin(), 3);
    typename TypeParam::template set<int, function> up({1, 2}, [](int a, int b) { return a < b; });
    up.swap(down);
    EXPECT_EQ(*up.begin(), 3);
    down = up;
    down.insert(4);
    EXPECT_EQ(*down.begin(), 4);
}

TYPED_TEST(associative, shares_a_pool_on_request) {
    using set = typename TypeParam::template pooled_set<int>;
    set a;
    for (int i = 0; i < 5000; ++i) a.insert(i);
    set b(a.get_allocator());
    b.merge(a);
    EXPECT_TRUE(a.empty());
    set c = b;
    EXPECT_NE(c.get_allocator(), b.get_allocator()) << "a copy has a pool of its own";
    a = std::move(b);
    EXPECT_EQ(a, c);
    c.erase_ranks(100, 4900);
    c.merge(a);
    EXPECT_EQ(c.size(), 5000U);
    EXPECT_EQ(a.size(), 200U) << "pools differ: elements are moved one by one";
}

TYPED_TEST(associative, erases_elements_that_match_a_predicate) {
    typename TypeParam::template multimap<int, int> numbers;
    for (int i = 0; i < 300; ++i) numbers.emplace(i % 10, i);
    EXPECT_EQ(erase_if(numbers, [](const auto& element) { return element.second % 3 == 0; }), 100U);
    EXPECT_EQ(numbers.size(), 200U);
    EXPECT_EQ(numbers.count(0), 20U);
}

TEST(counted_sets, keep_addresses_and_iterators_under_any_owner) {
    static_assert(sizeof(void*) != 8 || sizeof(detail::weight_node<std::uint64_t>) == 40);
    counted_set<std::string> a{"b", "d", "f"};
    const auto at = a.find("d");
    const std::string* const address = &*at;
    for (char letter = 'a'; letter <= 'z'; ++letter) a.insert(std::string(1, letter));
    a.erase("c");
    counted_set<std::string> b(std::move(a));
    EXPECT_EQ(b.rank(at), 2U);
    counted_multiset<std::string> c;
    c.merge(b);
    EXPECT_EQ(c.rank(at), 2U);
    auto node = c.extract(at);
    EXPECT_EQ(&node.value(), address);
    EXPECT_EQ(c.insert(std::move(node)), at);
    counted_multiset<std::string> d{"x"};
    swap(c, d);
    EXPECT_EQ(d.find("d"), at);
    c = std::move(d);
    EXPECT_EQ(&*c.find("d"), address);
    EXPECT_EQ(*std::prev(at), "b");
    EXPECT_EQ(*std::next(at), "e");
}

TEST(ordered_sets, keep_large_elements_and_those_that_may_throw_apart) {
    struct large {
        std::array<std::uint64_t, 20> words;
        auto operator<=>(const large&) const = default;
    };
    ordered_set<large> numbers;
    for (std::uint64_t i = 0; i < 300; ++i) numbers.insert(large{{i * 7 % 300}});
    const large* const address = &*numbers.find(large{{5}});
    ordered_set<large> others;
    auto node = numbers.extract(large{{5}});
    EXPECT_EQ(&node.value(), address) << "the handle has the element itself";
    others.insert(std::move(node));
    EXPECT_EQ(numbers.size(), 299U);
    EXPECT_EQ(&*others.begin(), address);
}

}  // namespace
}  // namespace millpond
