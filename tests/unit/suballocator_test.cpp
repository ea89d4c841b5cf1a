// SPDX-License-Identifier: BSL-1.0
// suballocator_test: every standard container over suballocators behaves as over std::allocator; splices, swaps, moves
// and node handles keep elements where they are; memory goes back chunk by chunk, and all of it in the end.
#include "millpond/bind/suballocator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "support/counted_upstream.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using account = test::upstream_account;
template <class T>
using counting = test::counted_upstream<T, false>;

template <template <class> class Suballocator>
struct binding {
    template <class T>
    using of = Suballocator<std::allocator<T>>;
    template <class T>
    using counted = Suballocator<counting<T>>;
};

template <class Binding>
class suballocators : public testing::Test {};
using bindings = testing::Types<binding<suballocator>, binding<suballocator32>, binding<suballocator64>>;
TYPED_TEST_SUITE(suballocators, bindings);

// Plays the same random life of a container and of one over std::allocator. `insert` and `erase` take a container and a
// key.
template <class Ours, class Standard, class Insert, class Erase>
void live_alike(Ours ours, Standard standard, Insert insert, Erase erase) {
    auto numbers = test::random_numbers();
    for (int step = 0; step < 3000; ++step) {
        const int key = test::uniform(numbers, 0, 500);
        if (test::uniform(numbers, 0, 2) != 0) {
            insert(ours, key);
            insert(standard, key);
        } else {
            erase(ours, key);
            erase(standard, key);
        }
    }
    const Ours copy = ours;
    EXPECT_TRUE(copy == ours);
    Ours moved = std::move(ours);
    EXPECT_TRUE(copy == moved);
    EXPECT_EQ(moved.size(), standard.size());
    ours = copy;
    swap(ours, moved);
    EXPECT_TRUE(ours == moved);
    moved.clear();
    ours = std::move(moved);
    EXPECT_TRUE(ours.empty());
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), standard.begin(), standard.end()));
}

// Compares hashed containers by the elements that they find.
template <class Ours, class Standard, class Insert, class Erase>
void live_alike_hashed(Ours ours, Standard standard, Insert insert, Erase erase) {
    auto numbers = test::random_numbers();
    for (int step = 0; step < 3000; ++step) {
        const int key = test::uniform(numbers, 0, 500);
        test::uniform(numbers, 0, 2) != 0 ? (insert(ours, key), insert(standard, key))
                                          : (erase(ours, key), erase(standard, key));
    }
    Ours copy = ours;
    Ours moved = std::move(ours);
    EXPECT_TRUE(copy == moved);
    for (int key = 0; key <= 500; ++key) EXPECT_EQ(moved.count(key), standard.count(key));
    swap(copy, moved);
    copy = moved;
    EXPECT_EQ(copy.size(), standard.size());
}

const auto insert_key = [](auto& to, int key) { to.insert(key); };
const auto insert_pair = [](auto& to, int key) { to.emplace(key, std::to_string(key)); };
const auto erase_key = [](auto& from, int key) { from.erase(key); };
const auto push_back = [](auto& to, int key) { to.push_back(key); };
const auto push_front = [](auto& to, int key) { to.push_front(key); };
const auto pop_back = [](auto& from, int) {
    if (!from.empty()) from.pop_back();
};
const auto pop_front = [](auto& from, int) {
    if (!from.empty()) from.pop_front();
};

TYPED_TEST(suballocators, serve_every_ordered_container) {
    using ints = typename TypeParam::template of<int>;
    using pairs = typename TypeParam::template of<std::pair<const int, std::string>>;
    using less = std::less<int>;
    live_alike(std::set<int, less, ints>(), std::set<int>(), insert_key, erase_key);
    live_alike(std::multiset<int, less, ints>(), std::multiset<int>(), insert_key, erase_key);
    live_alike(std::map<int, std::string, less, pairs>(), std::map<int, std::string>(), insert_pair, erase_key);
    live_alike(std::multimap<int, std::string, less, pairs>(), std::multimap<int, std::string>(), insert_pair,
               erase_key);
}

TYPED_TEST(suballocators, serve_every_hashed_container) {
    using ints = typename TypeParam::template of<int>;
    using pairs = typename TypeParam::template of<std::pair<const int, std::string>>;
    using hash = std::hash<int>;
    using same = std::equal_to<int>;
    live_alike_hashed(std::unordered_set<int, hash, same, ints>(), std::unordered_set<int>(), insert_key, erase_key);
    live_alike_hashed(std::unordered_multiset<int, hash, same, ints>(), std::unordered_multiset<int>(), insert_key,
                      erase_key);
    live_alike_hashed(std::unordered_map<int, std::string, hash, same, pairs>(), std::unordered_map<int, std::string>(),
                      insert_pair, erase_key);
    live_alike_hashed(std::unordered_multimap<int, std::string, hash, same, pairs>(),
                      std::unordered_multimap<int, std::string>(), insert_pair, erase_key);
}

TYPED_TEST(suballocators, serve_every_sequence_and_adaptor) {
    using ints = typename TypeParam::template of<int>;
    using chars = typename TypeParam::template of<char>;
    using string = std::basic_string<char, std::char_traits<char>, chars>;
    live_alike(std::vector<int, ints>(), std::vector<int>(), push_back, pop_back);
    live_alike(std::deque<int, ints>(), std::deque<int>(), push_back, pop_front);
    live_alike(std::list<int, ints>(), std::list<int>(), push_front, pop_back);
    live_alike(std::vector<bool, typename TypeParam::template of<bool>>(), std::vector<bool>(), push_back, pop_back);
    live_alike(
        string(), std::string(), [](auto& to, int key) { to.push_back(static_cast<char>(key % 100 + 1)); }, pop_back);

    std::forward_list<int, ints> single({3, 1, 2});
    single.sort();
    single.push_front(0);
    EXPECT_EQ(single, (std::forward_list<int, ints>({0, 1, 2, 3})));

    std::stack<int, std::list<int, ints>> stack;
    std::queue<int, std::deque<int, ints>> queue;
    std::priority_queue<int, std::vector<int, ints>> heap;
    for (int i = 0; i < 100; ++i) stack.push(i), queue.push(i), heap.push(i * 7 % 100);
    EXPECT_EQ(stack.top(), 99);
    EXPECT_EQ(queue.front(), 0);
    EXPECT_EQ(heap.top(), 99);

    const auto shared = std::allocate_shared<std::array<int, 4>>(ints(), std::array<int, 4>{1, 2, 3, 4});
    EXPECT_EQ(shared->back(), 4);
}

TYPED_TEST(suballocators, suballocators_of_void_rebind_and_compare) {
    using voids = typename TypeParam::template of<void>;
    using ints = typename TypeParam::template of<int>;
    const voids none;
    ints some(none);
    EXPECT_TRUE(some == none);
    EXPECT_FALSE(some == ints());
    EXPECT_TRUE(none == voids(some));
    const ints& same = some;
    some = same;
    EXPECT_TRUE(none == voids(some));
    static_assert(std::is_same_v<typename std::allocator_traits<voids>::template rebind_alloc<int>, ints>);
    static_assert(std::is_same_v<typename std::allocator_traits<ints>::template rebind_alloc<void>, voids>);
    int* const slot = some.allocate(1);
    ints(none).deallocate(slot);  // one argument, as the original takes it
    EXPECT_EQ(some.allocate(1), slot);
    some.deallocate(slot, 1);
}

TYPED_TEST(suballocators, those_of_one_size_share_a_pool_and_its_lowest_slot) {
    typename TypeParam::template of<double> doubles;
    typename TypeParam::template of<long long> numbers(doubles);
    double* const first = doubles.allocate(1);
    long long* const second = numbers.allocate(1);
    EXPECT_EQ(static_cast<void*>(first + 1), second);
    doubles.deallocate(first, 1);
    EXPECT_EQ(static_cast<void*>(numbers.allocate(1)), first);
}

TYPED_TEST(suballocators, let_lists_that_share_a_handle_splice_elements) {
    using allocator = typename TypeParam::template of<std::string>;
    using list = std::list<std::string, allocator>;
    // Never destroyed: node handles of libstdc++ 12 forget a copy of the allocator when their node is inserted.
    static const allocator& shared = *new allocator;
    list a({"b", "d"}, shared), b({"a", "c", "e"}, shared);
    const std::string* const place = &b.front();
    a.merge(b);
    EXPECT_EQ(a.size(), 5U);
    EXPECT_EQ(&a.front(), place);
    b.splice(b.end(), a, std::next(a.begin()), a.end());
    EXPECT_EQ(&a.front(), place);
    list c(std::move(a));
    EXPECT_EQ(&c.front(), place);
    c.swap(b);
    EXPECT_EQ(&b.front(), place);
    c = std::move(b);
    EXPECT_EQ(&c.front(), place);
    EXPECT_TRUE(c.get_allocator() == shared);

    std::map<int, int, std::less<int>, typename TypeParam::template of<std::pair<const int, int>>> one(shared),
        other(shared);
    for (int i = 0; i < 100; ++i) one.emplace(i, i);
    other.insert(one.extract(7));
    other.merge(one);
    EXPECT_EQ(other.size(), 100U);
}

TYPED_TEST(suballocators, propagate_with_move_and_swap_and_not_with_copies) {
    using allocator = typename TypeParam::template of<int>;
    std::list<int, allocator> a({1, 2, 3}), b({4, 5});
    const allocator of_a = a.get_allocator(), of_b = b.get_allocator();
    const int* const place = &a.front();
    EXPECT_FALSE(of_a == of_b);
    swap(a, b);
    EXPECT_TRUE(a.get_allocator() == of_b && b.get_allocator() == of_a);
    EXPECT_EQ(&b.front(), place);
    a = b;
    EXPECT_TRUE(a.get_allocator() == of_b) << "copies leave each with its own";
    a = std::move(b);
    EXPECT_TRUE(a.get_allocator() == of_a) << "a move takes the pools along";
    EXPECT_EQ(&a.front(), place);
    const std::list<int, allocator> copy(a);
    EXPECT_FALSE(copy.get_allocator() == of_a);
    const std::list<int, allocator> sharing(a, a.get_allocator());
    EXPECT_TRUE(sharing.get_allocator() == of_a);
    allocator assigned;
    assigned = of_a;
    assigned = *&assigned;
    EXPECT_TRUE(assigned == of_a);
}

TYPED_TEST(suballocators, return_all_chunks_and_arrays_to_the_allocator_beneath) {
    account beneath;
    {
        using allocator = typename TypeParam::template counted<int>;
        std::set<int, std::less<int>, allocator> set(allocator{counting<int>(beneath)});
        for (int i = 0; i < 100000; ++i) set.insert(i);
        EXPECT_LE(beneath.largest, 8192U) << "chunks of a page, and the table of windows";
        EXPECT_LE(static_cast<double>(beneath.live_bytes), 40.6 * 100000);
        const std::size_t full = beneath.live_bytes;
        for (int i = 0; i < 100000; ++i) {
            if (i % 5000 >= 500) set.erase(i);
        }
        EXPECT_LT(beneath.live_bytes, full / 4) << "chunks between those in use went back";
        set.clear();
        EXPECT_LT(beneath.live_bytes, 20000U);

        typename TypeParam::template counted<int> numbers(set.get_allocator());
        const std::size_t before = beneath.live_bytes;
        int* const array = numbers.allocate(1000);
        EXPECT_EQ(beneath.live_bytes, before + 4000) << "arrays pass through";
        numbers.deallocate(array, 1000);
        EXPECT_EQ(beneath.live_bytes, before);
        EXPECT_TRUE(numbers.upstream() == counting<int>(beneath));
        EXPECT_GT(numbers.max_size(), detail::max_bytes / 1024);
    }
    EXPECT_EQ(beneath.live_blocks, 0U);
    EXPECT_EQ(beneath.live_bytes, 0U);
}

TYPED_TEST(suballocators, pass_large_and_overaligned_elements_on) {
    struct large {
        char bytes[513];
    };
    struct alignas(128) wide {
        char bytes[128];
    };
    struct alignas(64) line {
        char bytes[64];
    };
    account beneath;
    {
        typename TypeParam::template counted<large> larges{counting<large>(beneath)};
        typename TypeParam::template counted<wide> wides(larges);
        typename TypeParam::template counted<line> lines(larges);
        const std::size_t calls = beneath.calls;
        large* const a = larges.allocate(1);
        wide* const b = wides.allocate(1);
        EXPECT_EQ(beneath.calls, calls + 2);
        EXPECT_TRUE(detail::is_aligned(b, 128));
        line* const c = lines.allocate(1);
        EXPECT_TRUE(detail::is_aligned(c, 64));
        EXPECT_EQ(lines.allocate(1), c + 1);
        larges.deallocate(a, 1);
        wides.deallocate(b, 1);
    }
    EXPECT_EQ(beneath.live_blocks, 0U);
}

TYPED_TEST(suballocators, survive_every_failure_of_the_allocator_beneath) {
    for (std::size_t n = 0;; ++n) {
        account beneath;
        beneath.fails_at = n;
        bool failed = false;
        try {
            using allocator = typename TypeParam::template counted<int>;
            std::set<int, std::less<int>, allocator> set(allocator{counting<int>(beneath)});
            std::list<int, allocator> list(set.get_allocator());
            for (int i = 0; i < 500; ++i) {
                set.insert(i);
                list.push_back(i);
                ASSERT_EQ(set.size(), list.size());
            }
            const auto copy = set;
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        ASSERT_EQ(beneath.live_blocks, 0U) << n;
        ASSERT_EQ(failed, beneath.calls > n) << n;
        if (!failed) return;
    }
}

TEST(suballocator_threads, many_threads_may_read_and_another_may_free_a_container) {
    using allocator = suballocator<std::allocator<int>>;
    auto set = std::make_unique<std::set<int, std::less<int>, allocator>>();
    for (int i = 0; i < 10000; ++i) set->insert(i);
    std::vector<std::thread> readers;
    for (int t = 0; t < 4; ++t) {
        readers.emplace_back([&set] {
            for (int i = 0; i < 1000; ++i) EXPECT_TRUE(set->get_allocator() == set->get_allocator());
        });
    }
    for (std::thread& reader : readers) reader.join();
    std::thread([moved = std::move(set)]() mutable {
        for (int i = 0; i < 5000; ++i) moved->erase(i);
        moved.reset();
    }).join();
}

// An allocator with its own way to construct.
template <class T>
struct marking : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = marking<U>;
    };
    marking() = default;
    template <class U>
    marking(const marking<U>&) noexcept {}
    template <class U>
    void construct(U* place, int value) {
        ::new (static_cast<void*>(place)) U(value + 1);
    }
};

TEST(suballocator, constructs_as_the_allocator_beneath_does) {
    std::list<int, suballocator<marking<int>>> list;
    list.emplace_back(1);
    EXPECT_EQ(list.front(), 2);
}

}  // namespace
}  // namespace millpond
