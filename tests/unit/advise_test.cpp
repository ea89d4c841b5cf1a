// SPDX-License-Identifier: BSL-1.0
// advise_test: places whose pool is the process's, and pools of instances: containers, objects, bytes, exhaustion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "support/in_a_child.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"

namespace millpond {
namespace {

using test::aligned_line;
using test::expect_objects_are_made_and_destroyed;
using test::is_aligned;

using measured = advise::process_pool<struct measured_tag, class_map<24, 40, 72>, 2000>;
using plain = advise::process_pool<struct plain_tag>;
using shared = advise::synchronized_process_pool<struct shared_tag>;
using slabs = advise::slab_pool<struct slabs_tag>;
using shared_slabs = advise::synchronized_slab_pool<struct shared_tag>;
using phase = advise::phase_arena<struct phase_tag, 3000>;
using shared_phase = advise::synchronized_phase_arena<struct shared_tag>;
using instances = advise::instance_pool<struct instances_tag>;

constexpr std::size_t too_many = std::numeric_limits<std::size_t>::max() / 2 + 1;
const char* const long_text = "a text that is longer than the small buffer of any string";

template <class Place>
class advised_container : public testing::Test {};
using places_with_containers =
    testing::Types<measured, plain, shared, slabs, shared_slabs, phase, shared_phase, instances>;
TYPED_TEST_SUITE(advised_container, places_with_containers);

TYPED_TEST(advised_container, holds_what_the_standard_one_holds) {
    std::mt19937_64 numbers = test::random_numbers();
    typename TypeParam::template map<int, typename TypeParam::string> ours;
    typename TypeParam::template vector<int> ours_in_turn;
    std::map<int, std::string> theirs;
    std::vector<int> in_turn;
    for (int i = 0; i < 2000; ++i) {
        const int key = test::uniform(numbers, 0, 200);
        if (test::uniform(numbers, 0, 2) > 0) {
            ours.emplace(key, long_text + key % 10);
            theirs.emplace(key, long_text + key % 10);
        } else {
            EXPECT_EQ(ours.erase(key), theirs.erase(key));
        }
        ours_in_turn.push_back(key);
        in_turn.push_back(key);
    }
    const auto same = [&](const auto& map) {
        return std::equal(map.begin(), map.end(), theirs.begin(), theirs.end(), [](const auto& a, const auto& b) {
            return a.first == b.first && a.second == b.second.c_str();
        });
    };
    EXPECT_TRUE(same(ours) && std::equal(in_turn.begin(), in_turn.end(), ours_in_turn.begin(), ours_in_turn.end()));
    auto copy = ours;
    auto moved = std::move(ours);
    decltype(copy) other;
    other = copy;
    EXPECT_TRUE(same(copy) && same(moved) && same(other));
    swap(other, moved);
    copy = std::move(other);
    EXPECT_TRUE(same(copy) && same(moved));
}

TYPED_TEST(advised_container, has_every_name_of_the_standard) {
    typename TypeParam::template deque<int> deque{1};
    typename TypeParam::template forward_list<int> forward_list{1};
    typename TypeParam::template list<int> list{1};
    typename TypeParam::template set<int> set{1};
    typename TypeParam::template multiset<int> multiset{1};
    typename TypeParam::template multimap<int, int> multimap{{1, 1}};
    typename TypeParam::template unordered_set<int> unordered_set{1};
    typename TypeParam::template unordered_multiset<int> unordered_multiset{1};
    typename TypeParam::template unordered_map<int, int> unordered_map{{1, 1}};
    typename TypeParam::template unordered_multimap<int, int> unordered_multimap{{1, 1}};
    typename TypeParam::template basic_string<char16_t> letters(50, u'x');
    typename TypeParam::wstring wide(50, L'x');
    typename TypeParam::template stack<int> stack;
    typename TypeParam::template queue<int> queue;
    typename TypeParam::template priority_queue<int> priority_queue;
    stack.push(1), queue.push(1), priority_queue.push(1);
    typename TypeParam::stringstream both;
    typename TypeParam::ostringstream out;
    both << long_text;
    out << long_text;
    EXPECT_EQ(both.str(), out.str());
    EXPECT_EQ(deque.front() + forward_list.front() + list.front() + stack.top() + queue.front(), 5);
    EXPECT_EQ(set.size() + multiset.size() + multimap.size() + unordered_set.size() + unordered_multiset.size(), 5u);
    EXPECT_EQ(unordered_map.size() + unordered_multimap.size() + priority_queue.size() + letters.size(), 53u);
}

template <class Place>
class advised_pool : public testing::Test {};
using places_with_one_pool = testing::Types<measured, plain, shared, slabs, shared_slabs, phase, shared_phase>;
TYPED_TEST_SUITE(advised_pool, places_with_one_pool);

TYPED_TEST(advised_pool, is_one_and_serves_every_binding) {
    using allocator = typename TypeParam::template allocator<int>;
    static_assert(std::allocator_traits<allocator>::is_always_equal::value && std::is_empty_v<allocator>);
    static_assert(sizeof(typename TypeParam::template unique_ptr<int>) == sizeof(int*));
    EXPECT_EQ(&TypeParam::pool(), &TypeParam::pool());
    EXPECT_EQ(TypeParam::resource(), TypeParam::resource());
    std::pmr::vector<int> numbers(1000, 7, TypeParam::resource());
    EXPECT_EQ(numbers[999], 7);
    typename TypeParam::template list<int> a{1, 2}, b{3};
    a.splice(a.end(), b);
    EXPECT_EQ(a.back(), 3);
}

TYPED_TEST(advised_pool, makes_objects_aligned_and_leaks_none_of_a_failed_constructor) {
    expect_objects_are_made_and_destroyed<TypeParam>();
    if constexpr (std::is_same_v<TypeParam, phase>) {
        EXPECT_EQ(phase::pool().live_blocks(), 0u);
    }
}

TYPED_TEST(advised_pool, gives_bytes_aligned_as_malloc_and_keeps_them_when_resized) {
    std::mt19937_64 numbers = test::random_numbers();
    void* const empty = TypeParam::resize_bytes(nullptr, 0, 0);
    EXPECT_NE(empty, nullptr);
    TypeParam::deallocate_bytes(empty, 0);
    TypeParam::deallocate_bytes(nullptr, 5);
    unsigned char* block = nullptr;
    std::size_t held = 0;
    for (int i = 0; i < 500; ++i) {
        const std::size_t bytes = test::uniform<std::size_t>(numbers, 1, i % 20 == 0 ? 50000 : 500);
        block = static_cast<unsigned char*>(TypeParam::resize_bytes(block, held, bytes));
        ASSERT_NE(block, nullptr);
        EXPECT_TRUE(is_aligned(block, bytes <= 8 ? 8 : 16));
        for (std::size_t k = 0; k < std::min(held, bytes); ++k) ASSERT_EQ(block[k], k % 251);
        for (std::size_t k = 0; k < bytes; ++k) block[k] = static_cast<unsigned char>(k % 251);
        held = bytes;
    }
    TypeParam::deallocate_bytes(block, held);
}

TYPED_TEST(advised_pool, refuses_what_memory_cannot_hold_and_goes_on) {
    if (!test::malloc_refuses) GTEST_SKIP() << "the sanitizer ends the program";
    void* const block = TypeParam::allocate_bytes(100);
    EXPECT_EQ(TypeParam::allocate_bytes(too_many), nullptr);
    EXPECT_EQ(TypeParam::resize_bytes(block, 100, too_many), nullptr) << "the block stays";
    TypeParam::deallocate_bytes(block, 100);
    typename TypeParam::template vector<long> numbers;
    EXPECT_THROW(static_cast<void>(numbers.get_allocator().allocate(too_many)), std::bad_array_new_length);
    if (!test::half_of_the_addresses_may_be_had) {
        EXPECT_THROW(numbers.reserve(numbers.max_size()), std::bad_alloc);
    }
    numbers.resize(100);
    EXPECT_EQ(numbers[99], 0);
}

#if !defined(_WIN32)
TYPED_TEST(advised_pool, works_in_a_child_of_fork) {
    typename TypeParam::template vector<int> numbers(100, 7);
    EXPECT_EQ(test::status_of_child([&] {
                  typename TypeParam::template vector<int> more(numbers);
                  numbers.clear();
                  return more[99] == 7;
              }),
              0);
}
#endif

TEST(process_pool, every_tag_has_a_pool_of_its_own) {
    using other = advise::process_pool<struct other_tag>;
    EXPECT_NE(&plain::pool(), &other::pool());
    EXPECT_NE(plain::resource(), other::resource());
    EXPECT_FALSE(plain::resource()->is_equal(*other::resource()));
}

TEST(process_pool, uses_its_classes_and_gives_freed_blocks_again) {
    static_assert(std::is_same_v<measured::pool_type, in_mode<multipool<chunk_cache, class_map<24, 40, 72>>>>);
    if (is_checked_mode) return;  // freed blocks stay in a quarantine
    std::vector<int*> numbers(1000);
    std::set<int*> first;
    for (int round = 0; round < 3; ++round) {
        for (int*& number : numbers) number = plain::make<int>(1);
        if (round == 0) first.insert(numbers.begin(), numbers.end());
        EXPECT_EQ(std::set<int*>(numbers.begin(), numbers.end()), first);
        for (int* number : numbers) plain::destroy(number);
    }
}

// Made by the compiler, so the constructor of a static object may use it, and its destructor.
struct early {
    early() { text->assign(long_text); }
    ~early() {
        plain::destroy(text);
        static_cast<void>(plain::vector<int>(100));
    }
    plain::string* text = plain::make<plain::string>();
};
const early made_first;
TEST(process_pool, serves_static_objects_from_the_first_to_the_last) { EXPECT_EQ(*made_first.text, long_text); }

struct base {
    virtual ~base() = default;
    long first = 1;
};
struct other_base {
    virtual ~other_base() = default;
    long second = 2;
};
struct derived : base, other_base {
    long more[20] = {};
};

TEST(slab_pool, tells_its_blocks_from_those_of_malloc) {
    void* const ours = slabs::allocate_bytes(50);
    void* const theirs = std::malloc(50);
    EXPECT_TRUE(slabs::owns(ours) && !slabs::owns(theirs) && !slabs::owns(nullptr) && !shared_slabs::owns(ours));
    slabs::free_bytes(theirs);
    slabs::free_bytes(ours);
    slabs::free_bytes(nullptr);
}

TEST(slab_pool, destroys_through_a_base_at_another_address) {
    other_base* const second = slabs::make<derived>();
    ASSERT_NE(static_cast<void*>(second), dynamic_cast<void*>(second));
    EXPECT_TRUE(slabs::owns(dynamic_cast<void*>(second)));
    void* const block = dynamic_cast<void*>(second);
    slabs::destroy(second);
    EXPECT_TRUE(!is_checked_mode || !slabs::owns(block));
    base* const first = slabs::make<derived>();
    slabs::destroy(first);
}

TEST(slab_pool, resizes_blocks_of_the_pool_and_of_malloc) {
    void* block = slabs::allocate_bytes(1000);
    std::memset(block, 7, 1000);
    EXPECT_EQ(slabs::resize_bytes(block, 900), block) << "large enough, and not mostly empty";
    void* const smaller = slabs::resize_bytes(block, 10);
    EXPECT_NE(smaller, block);
    void* const larger = slabs::resize_bytes(smaller, 100000);
    EXPECT_FALSE(slabs::owns(larger));
    EXPECT_EQ(static_cast<char*>(larger)[9], 7);
    void* const back = slabs::resize_bytes(larger, 200);
    EXPECT_EQ(static_cast<char*>(back)[9], 7);
    EXPECT_TRUE(!test::malloc_refuses || slabs::resize_bytes(back, too_many) == nullptr);
    slabs::free_bytes(back);
}

struct alignas(128) large_line {
    char bytes[40000];
};
TEST(slab_pool, large_objects_are_aligned_and_go_back_to_malloc) {
    auto* const line = slabs::make<large_line>();
    EXPECT_TRUE(is_aligned(line) && !slabs::owns(line));
    slabs::destroy(line);
}

TEST(phase_arena, is_reset_when_nothing_in_it_is_alive) {
    const void* first = nullptr;
    for (int i = 0; i < 3; ++i) {
        phase::list<int> one{1}, two{2};
        EXPECT_EQ(phase::pool().live_blocks(), 2u);
        if (i == 0) first = &one.front();
        EXPECT_EQ(&one.front(), first) << "the chunks are filled again from the first";
    }
    EXPECT_EQ(phase::pool().live_blocks(), 0u);
}

TEST(instance_pool, copies_have_pools_of_their_own_and_moves_take_them_along) {
    instances::list<int> a{1, 2, 3};
    const auto pool = a.get_allocator();
    const int* const first = &a.front();
    const instances::list<int> copy = a;
    EXPECT_FALSE(copy.get_allocator() == pool);
    instances::list<int> moved = std::move(a);
    EXPECT_TRUE(moved.get_allocator() == pool && &moved.front() == first);
    a.push_back(4);  // goes on with its pool
    instances::list<int> other;
    other = std::move(moved);
    EXPECT_TRUE(other.get_allocator() == pool && &other.front() == first);
    instances::list<int> assigned;
    const auto own = assigned.get_allocator();
    assigned = other;
    EXPECT_TRUE(assigned.get_allocator() == own && assigned == other);
    swap(assigned, other);
    EXPECT_TRUE(assigned.get_allocator() == pool && other.get_allocator() == own);
}

TEST(instance_pool, elements_of_a_scoped_container_use_its_pool) {
    std::vector<instances::string, instances::scoped_allocator<instances::string>> a, b;
    for (int i = 0; i < 100; ++i) a.emplace_back(long_text);
    b = a;
    EXPECT_TRUE(a[0].get_allocator() == instances::allocator<char>(a.get_allocator()));
    EXPECT_TRUE(b == a && b.get_allocator() != a.get_allocator());
}

}  // namespace
}  // namespace millpond
