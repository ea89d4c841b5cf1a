// SPDX-License-Identifier: BSL-1.0
// dyn_array_test: random lives of an array compared with a std::vector: the same elements after every operation, and
// none moves while the array grows. Elements that throw leave a valid array; the life goes on from there.
#include <gtest/gtest.h>

#include <algorithm>
#include <millpond/container.hpp>
#include <new>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../unit/support/fake_pages.hpp"
#include "../unit/support/seed.hpp"
#include "../unit/support/tracked.hpp"

namespace millpond {
namespace {

using test::element_books;
using test::element_failure;
using test::fake_pages;
using test::uniform;

int number_of(int element) { return element; }
int number_of(const std::string& element) { return std::stoi(element.substr(element.size() / 2)); }
template <bool MayCopy, bool MayThrow>
int number_of(const test::tracked<MayCopy, MayThrow>& element) {
    return element.value();
}

template <class T>
T element_of(int number) {
    if constexpr (std::is_same_v<T, std::string>) {
        return std::string(20, '0') + std::string(20, '0') + std::to_string(number);
    } else {
        return T(number);
    }
}

template <class T>
class random_life {
  public:
    random_life(std::uint64_t salt, std::size_t most)
        : random_(test::random_numbers(salt)), most_(most), array_(most) {}

    void live(int operations) {
        for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
            SCOPED_TRACE("operation " + std::to_string(i));
            place_ = array_.data();
            element_books::fail_once_at(uniform<std::size_t>(random_, 0, 30));
            try {
                operate(uniform(random_, 0, 19));
                element_books::never_fail();
                expect_equal();
            } catch (const element_failure&) {
                element_books::never_fail();
                model_.clear();
                for (const T& element : array_) model_.push_back(number_of(element));
            }
            ASSERT_EQ(array_.data(), place_);
        }
    }

  private:
    std::size_t any(std::size_t last) { return uniform<std::size_t>(random_, 0, last); }
    std::size_t few() { return any(any(9) == 0 ? most_ / 3 : 6); }
    int any_number() { return uniform(random_, 0, 1'000'000); }
    std::size_t space() const { return most_ - model_.size(); }
    auto at(std::size_t index) const { return array_.begin() + static_cast<std::ptrdiff_t>(index); }
    auto model_at(std::size_t index) const { return model_.begin() + static_cast<std::ptrdiff_t>(index); }

    void operate(int which) {
        const std::size_t size = model_.size();
        if (which < 6) return append_one();
        switch (which) {
            case 6:
            case 7:
                return append_many();
            case 8:
            case 9:
                return insert_one(any(size));
            case 10:
            case 11:
                return insert_many(any(size));
            case 12:
                if (size != 0) array_.pop_back(), model_.pop_back();
                return;
            case 13:
            case 14:
            case 15:
                return erase_some(any(size));
            case 16:
                return resize_to(any(9) == 0 ? any(most_) : std::min(most_, size + any(4)));
            case 17:
                if (any(4) == 0) array_.clear(), model_.clear();
                return;
            case 18:
                return any(1) == 0 ? array_.shrink_to_fit() : array_.reserve(any(most_));
            default:
                return assign_or_copy();
        }
    }

    void append_one() {
        const int number = any_number();
        if (space() == 0) {
            element_books::never_fail();
            EXPECT_EQ(array_.try_push_back(element_of<T>(number)), nullptr);
            EXPECT_THROW(array_.push_back(element_of<T>(number)), std::length_error);
            return;
        }
        any(1) == 0 ? array_.push_back(element_of<T>(number)) : void(array_.emplace_back(element_of<T>(number)));
        model_.push_back(number);
    }

    std::vector<int> some_numbers() {
        std::vector<int> some(few());
        for (int& number : some) number = any_number();
        return some;
    }
    static auto elements_of(const std::vector<int>& some) {
        return some | std::views::transform([](int number) { return element_of<T>(number); });
    }

    void append_many() {
        const std::vector<int> some = some_numbers();
        if (some.size() > space()) {
            element_books::never_fail();
            EXPECT_THROW(array_.append_range(elements_of(some)), std::length_error);
            return;
        }
        array_.append_range(elements_of(some));
        model_.insert(model_.end(), some.begin(), some.end());
    }

    void insert_one(std::size_t index) {
        if (space() == 0) return;
        const int number = any_number();
        EXPECT_EQ(array_.emplace(at(index), element_of<T>(number)), at(index));
        model_.insert(model_at(index), number);
    }

    void insert_many(std::size_t index) {
        const std::vector<int> some = some_numbers();
        if (some.size() > space()) return;
        EXPECT_EQ(array_.insert_range(at(index), elements_of(some)), at(index));
        model_.insert(model_at(index), some.begin(), some.end());
    }

    void erase_some(std::size_t index) {
        const std::size_t last = std::min(model_.size(), index + few());
        EXPECT_EQ(array_.erase(at(index), at(last)), at(index));
        model_.erase(model_at(index), model_at(last));
    }

    void resize_to(std::size_t size) {
        if constexpr (!std::is_same_v<T, std::string>) {
            array_.resize(size);
            model_.resize(size);
        }
    }

    void assign_or_copy() {
        const std::vector<int> some = some_numbers();
        if (any(2) == 0 && some.size() <= most_) {
            array_.assign_range(elements_of(some));
            model_ = some;
            return;
        }
        if constexpr (std::copyable<T>) {
            const dyn_array<T, fake_pages> copy = array_;
            EXPECT_EQ(copy, array_);
            EXPECT_EQ(copy.max_size(), array_.max_size());
            if (!model_.empty() && 2 * model_.size() <= most_) {
                array_.append_range(array_);
                const std::vector<int> before = model_;
                model_.insert(model_.end(), before.begin(), before.end());
            }
        } else {
            dyn_array<T, fake_pages> other = std::move(array_);
            swap(other, array_);
        }
    }

    void expect_equal() {
        ASSERT_EQ(array_.size(), model_.size());
        ASSERT_LE(array_.size(), array_.capacity());
        ASSERT_LE(array_.capacity(), array_.max_size());
        for (std::size_t i = 0; i < model_.size(); ++i) ASSERT_EQ(number_of(array_[i]), model_[i]) << "element " << i;
    }

    std::mt19937_64 random_;
    std::size_t most_;
    dyn_array<T, fake_pages> array_;
    std::vector<int> model_;
    const T* place_ = nullptr;
};

template <class T>
class dyn_array_property : public testing::Test {
  protected:
    void SetUp() override { fake_pages::start(); }
    void TearDown() override {
        EXPECT_TRUE(element_books::alive.empty());
        EXPECT_EQ(fake_pages::charged_bytes, 0U);
        EXPECT_EQ(fake_pages::reservations(), 0U);
    }
};
using elements =
    testing::Types<int, std::string, test::copied, test::copied_or_thrown, test::moved_only, test::moved_or_thrown>;
TYPED_TEST_SUITE(dyn_array_property, elements);

TYPED_TEST(dyn_array_property, a_random_life_is_the_vector_s_and_nothing_moves) {
    for (std::uint64_t life = 0; life < 12 && !this->HasFailure(); ++life) {
        SCOPED_TRACE("life " + std::to_string(life));
        random_life<TypeParam>(life, life % 3 == 0 ? 20 : life % 3 == 1 ? 300 : 9000).live(300);
    }
}

TYPED_TEST(dyn_array_property, a_random_life_in_large_pages_is_the_same) {
    fake_pages::set.page_bytes = std::max(os::pages::size(), std::size_t{16} << 10);
    fake_pages::set.granularity_bytes = 64 << 10;
    for (std::uint64_t life = 20; life < 24 && !this->HasFailure(); ++life) {
        SCOPED_TRACE("life " + std::to_string(life));
        random_life<TypeParam>(life, 5000).live(200);
    }
}

}  // namespace
}  // namespace millpond
