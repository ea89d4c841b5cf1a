// SPDX-License-Identifier: BSL-1.0
// weight_tree_test: every tree that insertions and erasures of up to eleven nodes can make is balanced and counted.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <millpond/container/detail/weight_links.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/seed.hpp"

namespace millpond::detail {
namespace {

constexpr std::size_t most_nodes = 11;

// Returns the shape of a tree: "(left right)" of each node, an empty text for no node.
std::string shape_of(const weight_links* node) {
    return node == nullptr ? "" : "(" + shape_of(node->child[0]) + " " + shape_of(node->child[1]) + ")";
}

// Returns the number of balanced shapes of up to that many nodes.
std::size_t balanced_shapes() {
    std::vector<std::size_t> of_size{1};
    for (std::size_t size = 1; size <= most_nodes; ++size) {
        of_size.push_back(0);
        for (std::size_t left = 0; left < size; ++left) {
            const std::size_t right = size - 1 - left;
            if (left + 1 <= 3 * (right + 1) && right + 1 <= 3 * (left + 1))
                of_size[size] += of_size[left] * of_size[right];
        }
    }
    return std::accumulate(of_size.begin(), of_size.end(), std::size_t{0});
}

// Insertions at a rank, and erasures of one: rank + 1, and its negative.
using life = std::vector<int>;

struct replayed {
    explicit replayed(const life& steps) {
        for (const int step : steps) {
            const std::size_t rank = static_cast<std::size_t>(std::abs(step)) - 1;
            step > 0 ? insert(rank) : erase(rank);
        }
    }
    replayed(const replayed&) = delete;
    replayed& operator=(const replayed&) = delete;

    void insert(std::size_t rank) {
        weight_links* const node = &nodes.at(free_.back());
        free_.pop_back();
        tree.link(tree.place_before(tree.nth(rank)), node);
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(rank), node);
    }
    void erase(std::size_t rank) {
        weight_links* const node = order[rank];
        ASSERT_EQ(tree.nth(rank), node);
        tree.unlink(node);
        order.erase(order.begin() + static_cast<std::ptrdiff_t>(rank));
        free_.push_back(static_cast<std::size_t>(node - nodes.data()));
    }
    void expect_sound() const {
        ASSERT_TRUE(tree.is_sound()) << shape_of(tree.root());
        ASSERT_EQ(tree.size(), order.size());
        weight_links* at = tree.begin();
        for (std::size_t rank = 0; rank < order.size(); ++rank, at = at->next()) {
            ASSERT_EQ(at, order[rank]);
            ASSERT_EQ(tree.index_of(at), rank);
            ASSERT_EQ(tree.nth(rank), at);
        }
        ASSERT_EQ(at, tree.end());
        for (std::size_t rank = order.size(); rank-- > 0;) ASSERT_EQ(at = at->previous(), order[rank]);
    }

    std::array<weight_links, most_nodes> nodes{};
    std::vector<std::size_t> free_{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    std::vector<weight_links*> order;
    weight_head tree;
};

TEST(weight_tree, stays_balanced_through_every_life_of_eleven_nodes) {
    std::map<std::string, life> shapes{{"", {}}};
    std::vector<std::string> fresh{""};
    while (!fresh.empty() && !testing::Test::HasFailure()) {
        const life steps = shapes.at(fresh.back());
        const std::size_t size = replayed(steps).tree.size();
        fresh.pop_back();
        const int ranks = static_cast<int>(size);
        for (int step = -ranks; step <= (size < most_nodes ? ranks + 1 : 0); ++step) {
            if (step == 0) continue;
            life longer = steps;
            longer.push_back(step);
            const replayed after(longer);
            after.expect_sound();
            const std::string shape = shape_of(after.tree.root());
            if (shapes.emplace(shape, longer).second) fresh.push_back(shape);
        }
    }
    EXPECT_EQ(shapes.size(), balanced_shapes()) << "not every balanced shape was reached";
}

TEST(weight_tree, is_built_in_least_height_of_a_row) {
    for (std::size_t size = 0; size < 70; ++size) {
        std::vector<weight_links> nodes(size);
        weight_row row;
        for (weight_links& node : nodes) row.append(&node);
        weight_head tree;
        tree.build(row);
        ASSERT_TRUE(tree.is_sound());
        std::size_t deepest = 0;
        for (std::size_t rank = 0; rank < size; ++rank) {
            ASSERT_EQ(tree.nth(rank), &nodes[rank]);
            std::size_t depth = 1;
            for (const weight_links* at = &nodes[rank]; at != tree.root(); at = at->parent) ++depth;
            deepest = std::max(deepest, depth);
        }
        EXPECT_LE(std::size_t{1} << deepest, 2 * size + 1) << size;
    }
}

TEST(weight_tree, keeps_its_balance_at_random) {
    std::mt19937_64 random = test::random_numbers(7);
    std::vector<weight_links> nodes(3000);
    std::vector<weight_links*> spare;
    for (weight_links& node : nodes) spare.push_back(&node);
    weight_head tree;
    for (int round = 0; round < 30; ++round) {
        const bool grows = test::uniform(random, 0, 2) != 0;
        const bool is_at_end = test::uniform(random, 0, 2) == 0;
        for (int i = 0; i < 500; ++i) {
            const auto rank = is_at_end ? tree.size() : test::uniform<std::size_t>(random, 0, tree.size());
            if (grows && !spare.empty()) {
                tree.link(tree.place_before(tree.nth(rank)), spare.back());
                spare.pop_back();
            } else if (!grows && tree.size() != 0) {
                weight_links* const gone = tree.nth(rank == 0 ? 0 : rank - 1);
                tree.unlink(gone);
                spare.push_back(gone);
            }
        }
        ASSERT_TRUE(tree.is_sound());
    }
}

TEST(weight_tree, changes_owners_with_all_nodes) {
    std::array<weight_links, 5> nodes{};
    weight_head a, b;
    for (weight_links& node : nodes) a.link(a.place_before(a.end()), &node);
    b.take(a);
    EXPECT_TRUE(a.is_sound() && b.is_sound());
    EXPECT_EQ(a.begin(), a.end());
    EXPECT_EQ(b.begin(), nodes.data());
    EXPECT_TRUE(b.owns(&nodes[3]) && !a.owns(&nodes[3]));
    a.swap(b);
    EXPECT_TRUE(a.is_sound() && b.is_sound());
    EXPECT_EQ(b.size(), 0U);
    EXPECT_EQ(a.end()->previous(), &nodes[4]);
    a.take(b);
    EXPECT_EQ(a.size(), 0U);
}

}  // namespace
}  // namespace millpond::detail
