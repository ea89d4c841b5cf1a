// SPDX-License-Identifier: BSL-1.0
// unique_test: allocate_unique destroys each object once and returns its block with the same size and alignment.
#include <gtest/gtest.h>

#include <memory>
#include <millpond/millpond.hpp>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "support/exacting_allocator.hpp"

namespace millpond {
namespace {

using test::exacting_allocator;

// An object that counts live objects and throws from the constructor with a given number.
struct counting {
    static inline int live = 0;
    static inline int made = 0;
    static inline int throws_at = -1;

    counting() {
        if (made++ == throws_at) throw std::runtime_error("no");
        ++live;
    }
    counting(const counting&) = delete;
    counting& operator=(const counting&) = delete;
    virtual ~counting() { --live; }

    int value = 7;
};

// A base class in front, so that the counting part does not lie at the object's start.
struct other_base {
    virtual ~other_base() = default;
    char bytes[40] = {};
};
struct alignas(32) derived : other_base, counting {
    explicit derived(int number) : number_of(number) {}
    int number_of;
    std::string text = "a text that is longer than the small buffer of any string";
};
struct plain_derived : counting {
    double numbers[9] = {};
};

class unique : public testing::Test {
  protected:
    void SetUp() override {
        counting::live = counting::made = 0;
        counting::throws_at = -1;
    }
    void TearDown() override { EXPECT_EQ(counting::live, 0); }

    exacting_allocator pool;
};

TEST_F(unique, an_object_is_made_of_its_arguments_and_goes_with_the_pointer) {
    {
        auto number = allocate_unique<int>(pool, 42);
        EXPECT_EQ(*number, 42);
        EXPECT_EQ(pool.live_bytes(), sizeof(int));
        auto moved = std::move(number);
        EXPECT_TRUE(number == nullptr);
        EXPECT_EQ(*moved, 42);
        auto object = allocate_unique<derived>(pool, 3);
        EXPECT_EQ(object->number_of, 3);
        EXPECT_TRUE(detail::is_aligned(object.get(), 32));
        EXPECT_EQ(counting::live, 1);
    }
    EXPECT_EQ(pool.live_blocks(), 0u);
    const pool_unique_ptr<int, exacting_allocator> none;
    EXPECT_TRUE(none == nullptr);
}

// The exacting allocator compares address, size and alignment of what comes back.
TEST_F(unique, a_derived_object_goes_back_whole_through_any_of_its_bases) {
    {
        pool_unique_ptr<counting, exacting_allocator> second = allocate_unique<derived>(pool, 1);
        EXPECT_EQ(second->value, 7);
        pool_unique_ptr<other_base, exacting_allocator> first = allocate_unique<derived>(pool, 2);
        pool_unique_ptr<counting, exacting_allocator> only = allocate_unique<plain_derived>(pool);
        EXPECT_EQ(pool.live_bytes(), 2 * sizeof(derived) + sizeof(plain_derived));
        second = allocate_unique<plain_derived>(pool);
        EXPECT_EQ(counting::live, 3);
        second = allocate_unique<counting>(pool);
        EXPECT_EQ(pool.live_bytes(), sizeof(derived) + sizeof(plain_derived) + sizeof(counting));
    }
    EXPECT_EQ(pool.live_blocks(), 0u);
}

TEST_F(unique, all_array_elements_are_value_initialised_and_destroyed) {
    {
        auto numbers = allocate_unique<int[]>(pool, 1000);
        EXPECT_EQ(numbers.get_deleter().count(), 1000u);
        for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(numbers[i], 0);
        auto objects = allocate_unique<counting[]>(pool, 5);
        EXPECT_EQ(counting::live, 5);
        auto nothing = allocate_unique<counting[]>(pool, 0);
        EXPECT_EQ(nothing.get_deleter().count(), 0u);
    }
    EXPECT_EQ(pool.live_blocks(), 0u);
}

TEST_F(unique, a_constructor_that_throws_leaves_nothing_behind) {
    counting::throws_at = 0;
    EXPECT_THROW(static_cast<void>(allocate_unique<counting>(pool)), std::runtime_error);
    EXPECT_EQ(pool.live_blocks(), 0u);
    counting::throws_at = 4;
    EXPECT_THROW(static_cast<void>(allocate_unique<counting[]>(pool, 10)), std::runtime_error);
    EXPECT_EQ(pool.live_blocks(), 0u);
    EXPECT_EQ(counting::live, 0) << "the elements before it are destroyed";
}

TEST_F(unique, no_memory_and_impossible_lengths_are_bad_alloc) {
    pool.fail_once_at(0);
    EXPECT_THROW(static_cast<void>(allocate_unique<counting>(pool)), std::bad_alloc);
    EXPECT_EQ(counting::made, 0);
    constexpr std::size_t wraps = static_cast<std::size_t>(-1) / sizeof(int) + 2;  // times 4 is 4
    EXPECT_THROW(static_cast<void>(allocate_unique<int[]>(pool, wraps)), std::bad_alloc);
    EXPECT_EQ(pool.live_blocks(), 0u);
}

TEST_F(unique, an_object_that_can_take_an_allocator_gets_the_pools) {
    using string = std::basic_string<char, std::char_traits<char>, allocator<char, exacting_allocator>>;
    {
        auto text = allocate_unique<string>(pool, "a text that is longer than the small buffer of any string");
        EXPECT_EQ(text->get_allocator().target(), &pool);
        EXPECT_EQ(pool.live_blocks(), 2u);
    }
    EXPECT_EQ(pool.live_blocks(), 0u);
}

}  // namespace
}  // namespace millpond
