// SPDX-License-Identifier: BSL-1.0
// counted_tree_test: the counter tree compared with a std::vector, in nodes of four entries, so that trees are deep:
// random operations, with and without an order, and every split and every append of small trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <millpond/container/detail/counted_tree.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::uniform;

struct small_shape {
    static constexpr std::size_t leaf_slots = 4;
    static constexpr std::size_t inner_slots = 4;
};
struct odd_shape {
    static constexpr std::size_t leaf_slots = 9;
    static constexpr std::size_t inner_slots = 5;
};

template <class T>
struct itself {
    using key_type = T;
    static const T& key(const T& element) { return element; }
};

template <class T>
T element_of(int number) {
    if constexpr (std::is_same_v<T, std::string>) {
        const std::string digits = std::to_string(number);
        return std::string(30 - digits.size(), '0') + digits;
    } else {
        return T(number);
    }
}

template <class T, class Order, class Shape>
struct kind {
    using element = T;
    using tree = detail::counted_tree<T, std::allocator<T>, Order, Shape>;
    static constexpr bool is_ordered = detail::has_order<Order>;
};

template <class Tree>
Tree counted_to(int elements, int first = 0) {
    Tree made;
    made.append_all([&, next = first](auto& alloc, auto& slot) mutable {
        if (next == first + elements) return false;
        slot.create(alloc, element_of<typename Tree::value_type>(next++));
        return true;
    });
    return made;
}

template <class Tree, class T>
void expect_holds(const Tree& tree, const std::vector<T>& model) {
    ASSERT_TRUE(tree.is_sound(std::less<>()));
    ASSERT_EQ(tree.size(), model.size());
    auto at = tree.begin();
    for (std::size_t i = 0; i < model.size(); ++i, Tree::step(at)) {
        ASSERT_EQ(at.value(), model[i]) << "element " << i;
        ASSERT_EQ(Tree::index_of(at), i);
        ASSERT_EQ(tree.nth(i), at);
    }
    ASSERT_EQ(at, tree.end());
    for (std::size_t i = model.size(); i > 0; --i) {
        Tree::step_back(at);
        ASSERT_EQ(at.value(), model[i - 1]);
    }
}

template <class Kind>
class random_tree {
    using tree = typename Kind::tree;
    using T = typename Kind::element;

  public:
    explicit random_tree(std::uint64_t salt) : random_(test::random_numbers(salt)) {}

    void live(int operations) {
        for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
            SCOPED_TRACE("operation " + std::to_string(i));
            operate(uniform(random_, 0, 11));
            if (i % 8 == 0 || model_.size() < 20) expect_holds(tree_, model_);
        }
    }

  private:
    std::size_t any(std::size_t last) { return uniform<std::size_t>(random_, 0, last); }
    auto model_at(std::size_t index) { return model_.begin() + static_cast<std::ptrdiff_t>(index); }

    void operate(int which) {
        const std::size_t size = model_.size();
        if (which < 6) return Kind::is_ordered ? insert_key() : insert_anywhere(any(size));
        if (which < 9) return size == 0 ? void() : erase_one(any(size - 1));
        if (which == 9) return erase_some(any(size));
        if (which == 10) return split_and_append(any(size));
        if (!Kind::is_ordered) append_some();
    }

    void insert_key() {
        if constexpr (Kind::is_ordered) {
            const T key = element_of<T>(uniform(random_, 0, 600));
            const auto expected = std::lower_bound(model_.begin(), model_.end(), key);
            const bool is_there = expected != model_.end() && *expected == key;
            const auto index = static_cast<std::size_t>(expected - model_.begin());
            const auto place = tree_.place_of(key, std::less<>());
            ASSERT_EQ(place.is_found, is_there);
            ASSERT_EQ(tree_.find(key, std::less<>()), is_there ? tree_.nth(index) : tree_.end());
            ASSERT_EQ(tree_.lower_bound(key, std::less<>()), tree_.nth(index));
            ASSERT_EQ(tree_.upper_bound(key, std::less<>()), tree_.nth(index + (is_there ? 1 : 0)));
            if (is_there) return;
            const auto made = any(3) == 0 ? tree_.emplace(tree_.nth(index), key) : tree_.emplace(place, key);
            ASSERT_EQ(tree::index_of(made), index);
            model_.insert(expected, key);
        }
    }
    void insert_anywhere(std::size_t index) {
        const T element = element_of<T>(uniform(random_, 0, 600));
        const auto made = tree_.emplace(tree_.nth(index), element);
        model_.insert(model_at(index), element);
        ASSERT_EQ(tree::index_of(made), index);
        ASSERT_EQ(made.value(), element);
    }
    void erase_one(std::size_t index) {
        auto next = tree_.end();
        if constexpr (Kind::is_ordered) {
            next =
                any(1) == 0 ? tree_.erase(tree_.place_of(model_[index], std::less<>())) : tree_.erase(tree_.nth(index));
        } else {
            next = tree_.erase(tree_.nth(index));
        }
        model_.erase(model_at(index));
        ASSERT_EQ(next, tree_.nth(index));
    }
    void erase_some(std::size_t first) {
        const std::size_t last = std::min(model_.size(), first + any(any(3) == 0 ? model_.size() : 5));
        tree_.erase(first, last);
        model_.erase(model_at(first), model_at(last));
    }
    void split_and_append(std::size_t index) {
        tree rest;
        tree_.split(index, rest);
        const std::vector<T> moved(model_at(index), model_.end());
        model_.erase(model_at(index), model_.end());
        expect_holds(tree_, model_);
        expect_holds(rest, moved);
        if (!Kind::is_ordered && any(1) == 0) {
            rest.append(tree_);
            tree_.swap_elements(rest);
            model_.insert(model_.begin(), moved.begin(), moved.end());
        } else {
            tree_.append(rest);
            model_.insert(model_.end(), moved.begin(), moved.end());
        }
        ASSERT_EQ(rest.size(), 0U);
    }
    void append_some() {
        int number = uniform(random_, 0, any(4) == 0 ? 100 : 10);
        tree_.append_all([&](auto& alloc, auto& slot) {
            if (number == 0) return false;
            slot.create(alloc, element_of<T>(--number));
            model_.push_back(slot.value());
            return true;
        });
        if (model_.size() > 400) {
            tree_.erase(100, 300);
            model_.erase(model_at(100), model_at(300));
        }
    }

    std::mt19937_64 random_;
    tree tree_;
    std::vector<T> model_;
};

template <class Kind>
class counted_tree_property : public testing::Test {};
// Kinds whose separators are copies (numbers) or leaves (texts).
using kinds = testing::Types<kind<int, detail::no_order, small_shape>, kind<int, itself<int>, small_shape>,
                             kind<std::string, itself<std::string>, odd_shape>>;
TYPED_TEST_SUITE(counted_tree_property, kinds);

TYPED_TEST(counted_tree_property, a_random_life_is_the_vectors) {
    for (std::uint64_t life = 0; life < 10 && !this->HasFailure(); ++life) {
        SCOPED_TRACE("life " + std::to_string(life));
        random_tree<TypeParam>(life).live(1000);
    }
}

TYPED_TEST(counted_tree_property, every_split_of_small_trees_joins_again) {
    using tree = typename TypeParam::tree;
    for (int size = 0; size <= 80 && !this->HasFailure(); ++size) {
        std::vector<typename TypeParam::element> model;
        for (int i = 0; i < size; ++i) model.push_back(element_of<typename TypeParam::element>(i));
        for (std::size_t index = 0; index <= model.size(); ++index) {
            SCOPED_TRACE(std::to_string(size) + " elements split at " + std::to_string(index));
            tree left = counted_to<tree>(size);
            tree right;
            left.split(index, right);
            const auto cut = model.begin() + static_cast<std::ptrdiff_t>(index);
            expect_holds(left, std::vector(model.begin(), cut));
            expect_holds(right, std::vector(cut, model.end()));
            left.append(right);
            expect_holds(left, model);
            ASSERT_FALSE(this->HasFailure());
        }
    }
}

TYPED_TEST(counted_tree_property, trees_of_all_heights_are_appended) {
    using tree = typename TypeParam::tree;
    for (int left_size = 0; left_size <= 300; left_size += 1 + left_size / 4) {
        for (int right_size = 0; right_size <= 300; right_size += 1 + right_size / 4) {
            SCOPED_TRACE(std::to_string(left_size) + " and " + std::to_string(right_size) + " elements");
            tree left = counted_to<tree>(left_size);
            tree right = counted_to<tree>(right_size, left_size);
            left.append(right);
            std::vector<typename TypeParam::element> model;
            for (int i = 0; i < left_size + right_size; ++i)
                model.push_back(element_of<typename TypeParam::element>(i));
            expect_holds(left, model);
            ASSERT_FALSE(this->HasFailure());
        }
    }
}

TYPED_TEST(counted_tree_property, every_range_of_a_small_tree_is_erased) {
    using tree = typename TypeParam::tree;
    for (const int size : {1, 5, 17, 42}) {
        for (std::size_t first = 0; first <= static_cast<std::size_t>(size); ++first) {
            for (std::size_t last = first; last <= static_cast<std::size_t>(size); ++last) {
                SCOPED_TRACE(std::to_string(first) + " to " + std::to_string(last));
                tree some = counted_to<tree>(size);
                some.erase(first, last);
                std::vector<typename TypeParam::element> model;
                for (int i = 0; i < size; ++i) model.push_back(element_of<typename TypeParam::element>(i));
                model.erase(model.begin() + static_cast<std::ptrdiff_t>(first),
                            model.begin() + static_cast<std::ptrdiff_t>(last));
                expect_holds(some, model);
                ASSERT_FALSE(this->HasFailure());
            }
        }
    }
}

TEST(counted_tree, every_sequence_of_few_insertions_and_erasures_is_sound) {
    // Three bits a step: whether an element is inserted or erased, and where.
    using tree = kind<int, detail::no_order, small_shape>::tree;
    const auto try_sequences = [](std::size_t size, std::size_t steps) {
        for (std::size_t code = 0; code < (std::size_t{1} << (3 * steps)); ++code) {
            tree some = counted_to<tree>(static_cast<int>(size));
            std::vector<int> model(size);
            std::iota(model.begin(), model.end(), 0);
            for (std::size_t step = 0; step < steps; ++step) {
                const std::size_t digit = code >> (3 * step) & 7;
                const std::size_t index = (digit >> 1) * model.size() / 4;
                if ((digit & 1) == 0 || index == model.size()) {
                    some.emplace(some.nth(index), static_cast<int>(100 + step));
                    model.insert(model.begin() + static_cast<std::ptrdiff_t>(index), static_cast<int>(100 + step));
                } else {
                    some.erase(some.nth(index));
                    model.erase(model.begin() + static_cast<std::ptrdiff_t>(index));
                }
            }
            expect_holds(some, model);
            ASSERT_FALSE(testing::Test::HasFailure()) << "code " << code;
        }
    };
    for (const std::size_t size : {0U, 4U, 16U, 17U}) try_sequences(size, 4);
}

TEST(counted_tree, appended_elements_fill_leaves) {
    using tree = kind<int, detail::no_order, small_shape>::tree;
    tree pushed;
    for (int i = 0; i < 1000; ++i) pushed.emplace(pushed.end(), i);
    std::size_t leaves = 0;
    pushed.for_each_leaf([&](const int*, std::size_t) { ++leaves; });
    EXPECT_EQ(leaves, 250U);
    tree in_front;
    for (int i = 0; i < 1000; ++i) in_front.emplace(in_front.begin(), i);
    leaves = 0;
    in_front.for_each_leaf([&](const int*, std::size_t) { ++leaves; });
    EXPECT_EQ(leaves, 250U);
}

TEST(counted_tree, random_insertions_fill_three_leaves_of_four) {
    using tree = detail::counted_tree<std::uint64_t, std::allocator<std::uint64_t>, itself<std::uint64_t>>;
    std::mt19937_64 random = test::random_numbers(7);
    tree numbers;
    for (int i = 0; i < 50'000; ++i) {
        const std::uint64_t number = random();
        const auto place = numbers.place_of(number, std::less<>());
        if (!place.is_found) numbers.emplace(place, number);
    }
    std::size_t leaves = 0;
    numbers.for_each_leaf([&](const std::uint64_t*, std::size_t) { ++leaves; });
    const std::size_t slots = leaves * detail::tree_shape<std::uint64_t, itself<std::uint64_t>>::leaf_slots;
    EXPECT_GE(4 * numbers.size(), 3 * slots);
    EXPECT_LE(sizeof(tree::leaf), 504U);
}

TEST(counted_tree, erasing_keeps_leaves_a_third_full) {
    using tree = kind<int, detail::no_order, odd_shape>::tree;
    std::mt19937_64 random = test::random_numbers(8);
    tree numbers = counted_to<tree>(9000);
    while (numbers.size() > 900) numbers.erase(numbers.nth(uniform<std::size_t>(random, 0, numbers.size() - 1)));
    std::size_t leaves = 0;
    numbers.for_each_leaf([&](const int*, std::size_t n) {
        ++leaves;
        EXPECT_GE(n, 3U);
    });
    EXPECT_LE(leaves, 300U);
    EXPECT_LE(numbers.height(), 8U);
}

TEST(counted_tree, equivalent_keys_keep_their_order_across_leaves) {
    using tree = kind<int, itself<int>, small_shape>::tree;
    const auto tens_less = [](int a, int b) { return a / 10 < b / 10; };
    tree some;
    for (int i = 0; i < 200; ++i) some.emplace(some.place_behind(i % 5 * 10 + i / 25, tens_less), i % 5 * 10 + i / 25);
    ASSERT_TRUE(some.is_sound(tens_less));
    for (int ten = 0; ten < 5; ++ten) {
        EXPECT_EQ(tree::index_of(some.lower_bound(ten * 10, tens_less)), static_cast<std::size_t>(ten * 40));
        EXPECT_EQ(tree::index_of(some.upper_bound(ten * 10, tens_less)), static_cast<std::size_t>(ten * 40 + 40));
    }
    for (std::size_t i = 1; i < 200; ++i) ASSERT_LE(some.nth(i - 1).value(), some.nth(i).value());
}

}  // namespace
}  // namespace millpond
