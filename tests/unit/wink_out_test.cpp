// SPDX-License-Identifier: BSL-1.0
// wink_out_test: the types that may be winked out; no destructor runs, and all memory returns.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <millpond/millpond.hpp>
#include <optional>
#include <stdexcept>

#include "support/accounting_source.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;

template <class T>
using bound = allocator<T, multipool<accounting_ref>>;
using string = std::basic_string<char, std::char_traits<char>, bound<char>>;
template <class T>
using vector = std::vector<T, bound<T>>;

const char* const long_text = "a text that is longer than the small buffer of any string";

// A type that counts destructor calls, which must not happen.
struct counting {
    static inline int destroyed = 0;
    ~counting() { ++destroyed; }
};

struct opaque {
    ~opaque() {}
};

// A comparison or hash that owns memory.
using owning_function = std::function<bool(int, int)>;
struct any_hash {
    std::size_t operator()(const auto&) const { return 0; }
};

struct throwing {
    using allocator_type = bound<char>;
    throwing(int, const allocator_type& pool) : text(long_text, pool) { throw std::runtime_error("no"); }
    string text;
};

}  // namespace

template <>
struct is_winkable<counting> : std::true_type {};
template <>
struct is_winkable<throwing> : std::true_type {};

namespace {

// These types may be winked out over our bindings, by type and by base.
static_assert(is_winkable_v<int> && is_winkable_v<const double> && is_winkable_v<int[4]> && is_winkable_v<int*>);
static_assert(is_winkable_v<string> && is_winkable_v<vector<vector<string>>>);
static_assert(is_winkable_v<std::pmr::string> && is_winkable_v<std::pmr::map<int, std::pmr::vector<std::pmr::string>>>);
static_assert(is_winkable_v<std::pmr::unordered_map<std::pmr::string, int>> && is_winkable_v<std::pmr::set<int>>);
static_assert(is_winkable_v<std::pmr::unordered_set<int>> && is_winkable_v<std::pmr::list<std::pmr::string>>);
static_assert(is_winkable_v<std::pmr::deque<int>> && is_winkable_v<std::pmr::forward_list<int>>);
static_assert(is_winkable_v<std::pair<int, string>> && is_winkable_v<std::tuple<string, int>>);
static_assert(is_winkable_v<std::array<string, 3>> && is_winkable_v<std::optional<string>>);
static_assert(is_winkable_v<std::variant<int, string>>);
static_assert(is_winkable_v<std::stack<int, std::pmr::deque<int>>> &&
              is_winkable_v<std::queue<int, std::pmr::deque<int>>>);
static_assert(is_winkable_v<std::priority_queue<int, std::pmr::vector<int>>>);
static_assert(is_winkable_v<counting> && is_winkable_v<vector<counting>>);
// These types own memory or other resources elsewhere.
static_assert(!is_winkable_v<std::string> && !is_winkable_v<std::vector<int>> && !is_winkable_v<vector<std::string>>);
static_assert(!is_winkable_v<std::pmr::map<int, std::string>> && !is_winkable_v<std::unique_ptr<int>>);
static_assert(!is_winkable_v<std::shared_ptr<int>> && !is_winkable_v<opaque> && !is_winkable_v<vector<opaque>>);
static_assert(!is_winkable_v<std::pmr::vector<std::unique_ptr<int>>> && !is_winkable_v<std::pair<int, std::string>>);
static_assert(!is_winkable_v<std::pmr::set<int, std::function<bool(int, int)>>>);
static_assert(!is_winkable_v<std::pmr::unordered_set<int, owning_function>>);
static_assert(!is_winkable_v<std::pmr::unordered_set<int, std::hash<int>, owning_function>>);
static_assert(!is_winkable_v<std::pmr::unordered_multiset<int, owning_function>>);
static_assert(!is_winkable_v<std::pmr::unordered_map<int, int, owning_function>>);
static_assert(!is_winkable_v<std::pmr::unordered_map<int, opaque>> &&
              !is_winkable_v<std::pmr::unordered_map<opaque, int>>);
static_assert(!is_winkable_v<std::pmr::unordered_set<opaque, any_hash, std::equal_to<>>>);
static_assert(!is_winkable_v<std::pmr::unordered_multiset<opaque, any_hash, std::equal_to<>>>);
static_assert(!is_winkable_v<std::pmr::unordered_map<opaque, int, any_hash, std::equal_to<>>>);
static_assert(!is_winkable_v<std::pmr::unordered_multimap<opaque, int, any_hash, std::equal_to<>>>);
static_assert(!is_winkable_v<std::pmr::unordered_multimap<int, opaque, any_hash, std::equal_to<>>>);
static_assert(is_winkable_v<std::pmr::unordered_multimap<int, int, any_hash, std::equal_to<>>>);
static_assert(!is_winkable_v<std::pmr::unordered_multimap<int, int, std::hash<int>, owning_function>>);
static_assert(!is_winkable_v<std::pmr::map<int, int, owning_function>> && !is_winkable_v<std::pmr::map<opaque, int>>);
static_assert(!is_winkable_v<std::pmr::multimap<int, opaque>> && !is_winkable_v<std::pmr::multimap<opaque, int>>);
static_assert(!is_winkable_v<std::pmr::multiset<int, owning_function>> && !is_winkable_v<std::pmr::set<opaque>>);
static_assert(!is_winkable_v<std::pmr::list<opaque>> && !is_winkable_v<std::pmr::forward_list<opaque>>);
static_assert(!is_winkable_v<std::pmr::deque<opaque>> && !is_winkable_v<std::list<int>>);
static_assert(!is_winkable_v<std::tuple<int, opaque>> && !is_winkable_v<std::array<opaque, 2>>);
static_assert(!is_winkable_v<std::optional<opaque>> && !is_winkable_v<std::pair<opaque, int>>);
static_assert(!is_winkable_v<std::priority_queue<int, std::pmr::vector<int>, owning_function>>);
static_assert(!is_winkable_v<std::queue<opaque, std::pmr::deque<opaque>>> && !is_winkable_v<const opaque>);
static_assert(is_winkable_v<pool_unique_ptr<int, multipool<>>> && is_winkable_v<pool_unique_ptr<int[], multipool<>>>);
static_assert(!is_winkable_v<pool_unique_ptr<opaque, multipool<>>>);
static_assert(is_winkable_v<std::pmr::multimap<int, int>> && is_winkable_v<std::pmr::unordered_multimap<int, int>>);
static_assert(is_winkable_v<std::pmr::multiset<int>> && is_winkable_v<std::pmr::unordered_multiset<int>>);
static_assert(!is_winkable_v<std::stack<int>> && !is_winkable_v<std::variant<int, std::string>>);

TEST(wink_out, no_destructor_runs_and_all_memory_returns) {
    accounting_source source;
    multipool<accounting_ref> pool(source);
    counting::destroyed = 0;
    {
        wink_out<vector<counting>, multipool<accounting_ref>> many(pool);
        many->reserve(1000);
        for (int i = 0; i < 1000; ++i) many->emplace_back();
        EXPECT_EQ(many->size(), 1000u);
        EXPECT_EQ((*many).get_allocator().target(), &pool);
    }
    EXPECT_EQ(counting::destroyed, 0);
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(wink_out, the_object_itself_lies_in_the_pool) {
    accounting_source source;
    multipool<accounting_ref> pool(source);
    wink_out<int, multipool<accounting_ref>> number(pool, 42);
    const auto& [start, gift] = *source.given().begin();
    EXPECT_EQ(*number, 42);
    EXPECT_GE(reinterpret_cast<char*>(&*number), start);
    EXPECT_LT(reinterpret_cast<char*>(&*number), static_cast<char*>(start) + gift.bytes);
}

TEST(wink_out, works_over_every_managed_allocator_and_both_bindings) {
    accounting_source source;
    resource<monotonic<accounting_ref>> by_base(source);
    resource<multipool<monotonic<accounting_ref>>> combined(source);
    for (int round = 0; round < 3; ++round) {
        wink_out<std::pmr::map<int, std::pmr::string>, resource<monotonic<accounting_ref>>> a(by_base);
        wink_out<std::pmr::map<int, std::pmr::string>, resource<multipool<monotonic<accounting_ref>>>> b(combined);
        for (int i = 0; i < 500; ++i) a->emplace(i, long_text), b->emplace(i, long_text);
        EXPECT_EQ(a->at(7).get_allocator().resource(), &by_base);
        EXPECT_EQ(b->at(7).get_allocator().resource(), &combined);
    }
    EXPECT_EQ(source.live_blocks(), 0u);
}

TEST(wink_out, drop_is_early_and_once) {
    accounting_source source;
    multipool<accounting_ref> pool(source);
    wink_out<vector<int>, multipool<accounting_ref>> numbers(pool, 100, 7);
    numbers.drop();
    EXPECT_EQ(source.live_blocks(), 0u);
    void* const later = pool.allocate(8, 8);  // the pool is free for other use now
    numbers.drop();
    EXPECT_EQ(source.live_blocks(), 1u);
    pool.deallocate(later, 8, 8);
}

TEST(wink_out, a_constructor_that_throws_leaves_nothing_behind) {
    accounting_source source;
    multipool<accounting_ref> pool(source);
    using winked = wink_out<throwing, multipool<accounting_ref>>;
    for (int i = 0; i < 1000; ++i) EXPECT_THROW(winked(pool, 1), std::runtime_error);
    EXPECT_EQ(source.calls(), 1u) << "the same blocks serve every attempt";
    source.fail_from(0);
    pool.release();
    EXPECT_THROW(winked(pool, 1), std::bad_alloc);
}

}  // namespace
}  // namespace millpond
