// SPDX-License-Identifier: BSL-1.0
// vector_tree_test: random lives of vector_trees compared with std::vectors, in small nodes: the same elements after
// every operation, and every iterator stays at its element, wherever insertions, erasures, splits and appends have
// moved it. Elements and allocations that throw change nothing; the life goes on from there.
#include <gtest/gtest.h>

#include <algorithm>
#include <millpond/container/vector_tree.hpp>
#include <new>
#include <ranges>
#include <string>
#include <vector>

#include "../unit/support/seed.hpp"
#include "../unit/support/tracked.hpp"

namespace millpond {
namespace {

using test::element_books;
using test::element_failure;
using test::uniform;

struct small_shape {
    static constexpr std::size_t leaf_slots = 5;
    static constexpr std::size_t inner_slots = 4;
};

// The allocations of all allocators of a kind; each may be told to fail.
struct memory_books {
    inline static std::size_t blocks = 0;
    inline static std::size_t calls = 0;
    inline static std::size_t fail_at = element_books::never;

    static void fail_once_at(std::size_t number) {
        calls = 0;
        fail_at = number;
    }
};
template <class T>
struct failing_allocator {
    using value_type = T;
    failing_allocator() = default;
    template <class U>
    failing_allocator(const failing_allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): an allocator's

    T* allocate(std::size_t n) {
        if (memory_books::calls++ == memory_books::fail_at) throw std::bad_alloc();
        ++memory_books::blocks;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        --memory_books::blocks;
        std::allocator<T>().deallocate(memory, n);
    }
    friend bool operator==(const failing_allocator&, const failing_allocator&) = default;
};

int number_of(int element) { return element; }
int number_of(const std::string& element) { return std::stoi(element); }
template <bool MayCopy, bool MayThrow>
int number_of(const test::tracked<MayCopy, MayThrow>& element) {
    return element.value();
}
template <class T>
T element_of(int number) {
    if constexpr (std::is_same_v<T, std::string>) {
        return std::string(30, '0') + std::to_string(number);
    } else {
        return T(number);
    }
}

template <class T>
class random_life {
    using tree = vector_tree<T, failing_allocator<T>, small_shape>;

  public:
    explicit random_life(std::uint64_t salt) : random_(test::random_numbers(salt)) {}

    void live(int operations) {
        for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
            SCOPED_TRACE("operation " + std::to_string(i));
            element_books::fail_once_at(any(20));
            memory_books::fail_once_at(any(20));
            before_ = model_;
            try {
                operate(uniform(random_, 0, 19));
            } catch (const element_failure&) {
                model_ = before_;
            } catch (const std::bad_alloc&) {
                model_ = before_;
            }
            element_books::never_fail();
            memory_books::fail_at = element_books::never;
            expect_equal();
            follow();
        }
    }

  private:
    struct followed {
        typename tree::const_iterator at;
        int number;
    };

    std::size_t any(std::size_t last) { return uniform<std::size_t>(random_, 0, last); }
    auto model_at(std::size_t index) { return model_.begin() + static_cast<std::ptrdiff_t>(index); }
    // Every element has a number of its own, so that an iterator can be asked where it should be.
    int next_number() { return ++last_number_; }

    void operate(int which) {
        const std::size_t size = model_.size();
        if (which < 5) return insert_one(any(size));
        switch (which) {
            case 5:
            case 6:
                return append_one();
            case 7:
                return prepend_one();
            case 8:
            case 9:
                return size == 0 ? void() : erase_one(any(size - 1));
            case 10:
            case 11:
                return erase_some(any(size));
            case 12:
            case 13:
                return insert_some(any(size));
            case 14:
                return append_some();
            case 15:
            case 16:
                return split_and_append(any(size));
            case 17:
                return erase_every(1 + any(4));
            case 18:
                return size == 0 ? void() : pop();
            default:
                return move_or_swap();
        }
    }

    void insert_one(std::size_t index) {
        const int number = next_number();
        const auto made = tree_.insert(tree_.nth(index), element_of<T>(number));
        EXPECT_EQ(number_of(*made), number);
        EXPECT_EQ(tree_.index_of(made), index);
        model_.insert(model_at(index), number);
    }
    void append_one() {
        const int number = next_number();
        tree_.push_back(element_of<T>(number));
        model_.push_back(number);
    }
    void prepend_one() {
        const int number = next_number();
        tree_.emplace_front(element_of<T>(number));
        model_.insert(model_.begin(), number);
    }
    void erase_one(std::size_t index) {
        const auto next = tree_.erase(tree_.nth(index));
        EXPECT_EQ(next, tree_.nth(index));
        model_.erase(model_at(index));
    }
    void erase_some(std::size_t first) {
        const std::size_t last = std::min(model_.size(), first + any(any(4) == 0 ? model_.size() : 6));
        const auto next = tree_.erase(tree_.nth(first), tree_.nth(last));
        EXPECT_EQ(next, tree_.nth(first));
        model_.erase(model_at(first), model_at(last));
    }
    auto some_elements(std::size_t n) {
        numbers_.clear();
        for (std::size_t i = 0; i < n; ++i) numbers_.push_back(next_number());
        return numbers_ | std::views::transform([](int number) { return element_of<T>(number); });
    }
    void insert_some(std::size_t index) {
        const auto made = tree_.insert_range(tree_.nth(index), some_elements(any(9)));
        EXPECT_EQ(made, tree_.nth(index));
        model_.insert(model_at(index), numbers_.begin(), numbers_.end());
    }
    void append_some() {
        tree_.append_range(some_elements(any(any(3) == 0 ? 60 : 9)));
        model_.insert(model_.end(), numbers_.begin(), numbers_.end());
        if (model_.size() > 300) erase_some(0);
    }
    void split_and_append(std::size_t index) {
        tree rest = tree_.split(index);
        EXPECT_TRUE(rest.is_sound());
        EXPECT_EQ(rest.size(), model_.size() - index);
        memory_books::fail_at = element_books::never;
        if (any(1) == 0) {
            tree_.append(std::move(rest));
        } else {
            rest.append(std::move(tree_));
            swap(tree_, rest);
            std::rotate(model_.begin(), model_at(index), model_.end());
        }
        EXPECT_TRUE(rest.empty());
    }
    void erase_every(std::size_t nth) {
        const auto is_gone = [&](int number) { return number % static_cast<int>(nth + 3) == 0; };
        EXPECT_EQ(erase_if(tree_, [&](const T& element) { return is_gone(number_of(element)); }),
                  std::erase_if(model_, is_gone));
    }
    void pop() {
        if (any(1) == 0) {
            tree_.pop_back();
            model_.pop_back();
        } else {
            tree_.pop_front();
            model_.erase(model_.begin());
        }
    }
    void move_or_swap() {
        tree other = std::move(tree_);
        EXPECT_TRUE(tree_.empty());
        expect_ends();
        any(1) == 0 ? tree_.swap(other) : void(tree_ = std::move(other));
        if constexpr (std::copyable<T>) {
            const tree copy = any(3) == 0 ? tree(tree_) : tree();
            EXPECT_TRUE(copy.empty() || copy == tree_);
        }
    }

    void expect_equal() {
        ASSERT_TRUE(tree_.is_sound());
        ASSERT_EQ(tree_.size(), model_.size());
        ASSERT_TRUE(std::ranges::equal(tree_, model_, {}, [](const T& element) { return number_of(element); }));
        expect_ends();
    }
    void expect_ends() {
        EXPECT_EQ(tree_.begin() + static_cast<std::ptrdiff_t>(tree_.size()), tree_.end());
        EXPECT_EQ(tree_.end() - tree_.begin(), static_cast<std::ptrdiff_t>(tree_.size()));
    }

    // Expects every iterator at its element, drops those of erased ones, and adds some more.
    void follow() {
        std::erase_if(followed_, [&](const followed& one) {
            const auto found = std::find(model_.begin(), model_.end(), one.number);
            if (found == model_.end()) {
                EXPECT_EQ(one.at, typename tree::const_iterator()) << "an iterator to an erased element is singular";
                return true;
            }
            EXPECT_EQ(number_of(*one.at), one.number);
            EXPECT_EQ(tree_.index_of(one.at), static_cast<std::size_t>(found - model_.begin()));
            return false;
        });
        while (followed_.size() < 12 && !model_.empty()) {
            const std::size_t index = any(model_.size() - 1);
            followed_.push_back({tree_.nth(index), model_[index]});
        }
        if (any(4) == 0 && !followed_.empty()) step(followed_[any(followed_.size() - 1)]);
    }
    void step(followed& one) {
        const std::size_t index = tree_.index_of(one.at);
        const std::size_t to = any(model_.size() - 1);
        one.at += static_cast<std::ptrdiff_t>(to) - static_cast<std::ptrdiff_t>(index);
        if (to + 1 < model_.size() && any(1) == 0) ++one.at, --one.at;
        one.number = model_[to];
        EXPECT_EQ(number_of(*one.at), one.number);
    }

    std::mt19937_64 random_;
    tree tree_;
    std::vector<int> model_;
    std::vector<int> before_;
    std::vector<int> numbers_;
    std::vector<followed> followed_;
    int last_number_ = 0;
};

template <class T>
class vector_tree_property : public testing::Test {
  protected:
    void TearDown() override {
        EXPECT_TRUE(element_books::alive.empty());
        EXPECT_EQ(memory_books::blocks, 0U);
    }
};
using elements = testing::Types<int, std::string, test::copied_or_thrown, test::moved_only>;
TYPED_TEST_SUITE(vector_tree_property, elements);

TYPED_TEST(vector_tree_property, a_random_life_is_the_vectors_and_iterators_follow) {
    for (std::uint64_t life = 0; life < 8 && !this->HasFailure(); ++life) {
        SCOPED_TRACE("life " + std::to_string(life));
        random_life<TypeParam>(life).live(700);
    }
}

}  // namespace
}  // namespace millpond
