// SPDX-License-Identifier: BSL-1.0
// bit_tree_test: the lowest free number is found in every state of small trees, and in long random lives of large ones.
#include "millpond/core/detail/bit_tree.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::uniform;

// A tree with words of 8 bits: five levels have 4096 leaves, few enough to check all of them.
using small_tree = detail::basic_bit_tree<std::uint8_t>;

template <class Word>
struct owned_tree {
    using tree = detail::basic_bit_tree<Word>;
    std::vector<Word> inner, leaves;
    tree numbers;

    explicit owned_tree(std::size_t count)
        : inner(tree::inner_words(count)), leaves(count), numbers(inner.data(), leaves.data(), count) {}

    void set_leaf(std::size_t leaf, Word value) {
        leaves[leaf] = value;
        value == tree::full ? numbers.fill(leaf) : numbers.open(leaf);
    }
};

TEST(bit_tree, every_state_of_two_leaves_gives_the_lowest_free_number) {
    for (unsigned state = 0; state < 1U << 16; ++state) {
        owned_tree<std::uint8_t> tree(2);
        tree.set_leaf(0, static_cast<std::uint8_t>(state));
        tree.set_leaf(1, static_cast<std::uint8_t>(state >> 8));
        const auto lowest = static_cast<std::size_t>(std::countr_one(state));
        ASSERT_EQ(tree.numbers.lowest_open(), lowest == 16 ? small_tree::none : lowest / 8) << state;
        ASSERT_EQ(tree.numbers.take(), lowest == 16 ? small_tree::none : lowest) << state;
    }
}

TEST(bit_tree, finds_the_lowest_open_leaf_of_every_set_in_three_levels) {
    constexpr std::size_t leaves = 9;  // 9 of 8, 2 of 8, 1
    for (unsigned full = 0; full < 1U << leaves; ++full) {
        owned_tree<std::uint8_t> tree(leaves);
        for (std::size_t leaf = 0; leaf < leaves; ++leaf) tree.set_leaf(leaf, (full >> leaf & 1) != 0 ? 0xff : 0x7f);
        const auto lowest = static_cast<std::size_t>(std::countr_one(full));
        ASSERT_EQ(tree.numbers.lowest_open(), lowest == leaves ? small_tree::none : lowest) << full;
        for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
            const bool was_full = (full >> leaf & 1) != 0;
            tree.set_leaf(leaf, was_full ? 0 : 0xff);
            const auto now = static_cast<std::size_t>(std::countr_one(full ^ 1U << leaf));
            ASSERT_EQ(tree.numbers.lowest_open(), now >= leaves ? small_tree::none : now) << full << ", " << leaf;
            tree.set_leaf(leaf, was_full ? 0xff : 0);
        }
    }
}

TEST(bit_tree, fills_and_empties_every_tree_of_up_to_five_levels) {
    for (std::size_t leaves = 1; leaves <= small_tree::most_leaves; leaves += leaves < 100 ? 1 : leaves / 7) {
        owned_tree<std::uint8_t> tree(leaves);
        for (std::size_t number = 0; number < leaves * 8; ++number) ASSERT_EQ(tree.numbers.take(), number);
        ASSERT_EQ(tree.numbers.take(), small_tree::none) << leaves;
        for (std::size_t number = leaves * 8; number-- > 0;) {
            tree.numbers.give(number);
            ASSERT_EQ(tree.numbers.lowest_open(), number / 8) << leaves;
        }
        for (const std::uint8_t word : tree.inner) ASSERT_EQ(word, 0) << "an empty tree is zeros again";
    }
}

TEST(bit_tree, leaves_that_are_not_reached_are_never_read) {
    std::vector<std::uint8_t> inner(small_tree::inner_words(4096));
    std::vector<std::uint8_t> leaves(20);  // of 4096
    small_tree numbers(inner.data(), leaves.data(), 4096);
    for (std::size_t number = 0; number < 160; ++number) ASSERT_EQ(numbers.take(), number);
    EXPECT_EQ(numbers.lowest_open(), 20U);
}

template <class Word>
class random_trees : public testing::Test {};
using words = testing::Types<std::uint8_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(random_trees, words);

TYPED_TEST(random_trees, give_the_lowest_free_number_in_long_lives) {
    auto numbers = test::random_numbers();
    for (const std::size_t leaves : {std::size_t{1}, std::size_t{70}, std::size_t{1000}}) {
        owned_tree<TypeParam> tree(leaves);
        std::set<std::size_t> free;
        std::vector<std::size_t> taken;
        for (std::size_t n = 0; n < leaves * detail::basic_bit_tree<TypeParam>::bits; ++n) free.insert(n);
        for (int step = 0; step < 100000; ++step) {
            const bool takes = uniform(numbers, 0, 99) < (step / 20000 % 2 == 0 ? 60 : 40);
            if (takes) {
                const std::size_t number = tree.numbers.take();
                ASSERT_EQ(number, free.empty() ? detail::basic_bit_tree<TypeParam>::none : *free.begin());
                if (free.empty()) continue;
                free.erase(free.begin());
                taken.push_back(number);
            } else if (!taken.empty()) {
                std::swap(taken[uniform<std::size_t>(numbers, 0, taken.size() - 1)], taken.back());
                tree.numbers.give(taken.back());
                free.insert(taken.back());
                taken.pop_back();
            }
        }
    }
}

}  // namespace
}  // namespace millpond
