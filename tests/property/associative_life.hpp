// SPDX-License-Identifier: BSL-1.0
// associative_life: random operations on a ranked container and on the standard's container, with failures.
//
//   operation ──▶ container ─ may throw ─▶ single changes: as before │ else: whole, nothing lost; the model follows it
//             └─▶ model                    no failure: the same elements, ranks, results; addresses as promised
//
// Part of the tests associative_sets_test and associative_maps_test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../unit/support/associative_kinds.hpp"
#include "../unit/support/seed.hpp"

namespace millpond::test {

template <class Kind>
class associative_life {
    using container = typename Kind::container;
    using model = typename Kind::model;
    using list = std::vector<std::pair<int, int>>;

  public:
    explicit associative_life(std::uint64_t salt) : random_(random_numbers(salt)) {}

    void live(int operations) {
        for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
            const int which = any(20);
            SCOPED_TRACE("operation " + std::to_string(i) + " of kind " + std::to_string(which));
            is_single_ = false;
            before_ = listed(container_);
            const bool is_failing = any(2) == 0;
            if (is_failing) element_books::fail_once_at(static_cast<std::size_t>(any(40)));
            try {
                operate(which);
                element_books::never_fail();
            } catch (const element_failure&) {
                element_books::never_fail();
                EXPECT_TRUE(!is_single_ || listed(container_) == before_) << "a change that failed was made";
                follow();
            }
            expect_equal();
        }
    }

  private:
    int any(int last) { return uniform(random_, 0, last); }
    int any_number() { return any(any(3) == 0 ? 400 : 60); }
    static list listed(const container& of) {
        list all;
        for (const auto& element : of) all.push_back(Kind::numbers(element));
        return all;
    }
    auto element(int number) { return Kind::element(number, ++made_); }
    auto model_element(int number) const { return Kind::model_element(number, made_); }
    auto at(std::size_t index) { return container_.nth(index); }
    auto model_at(std::size_t index) { return std::next(model_.begin(), static_cast<std::ptrdiff_t>(index)); }
    std::size_t any_index() { return uniform<std::size_t>(random_, 0, model_.size()); }
    std::size_t index_of(typename model::const_iterator where) const {
        return static_cast<std::size_t>(std::distance(model_.begin(), where));
    }
    template <class Result>
    static auto place_in(const Result& result) {
        if constexpr (Kind::is_unique) {
            return result.first;
        } else {
            return result;
        }
    }

    // Rebuilds the model from the container after a failure.
    void follow() {
        model_.clear();
        for (const auto& [number, mapped] : listed(container_)) model_.insert(Kind::model_element(number, mapped));
    }

    void operate(int which) {
        is_single_ = which < 8;
        if (which < 4) return insert_one();
        switch (which) {
            case 4:
            case 5:
                return insert_with_hint();
            case 6:
                return erase_key();
            case 7:
                return expect_searches(any_number());
            case 8:
            case 9:
                return erase_one();
            case 10:
                return erase_some();
            case 11:
                return insert_some();
            case 12:
            case 13:
                return take_out_and_back();
            case 14:
                return merge();
            case 15:
                return copy_and_move();
            case 16:
                return erase_odd();
            case 17:
                return expect_ranks(any_number(), any_number());
            case 18:
                if (any(9) == 0) container_.clear(), model_.clear();
                return;
            default:
                return write();
        }
    }

    void insert_one() {
        const int number = any_number();
        const auto made = element(number);
        const int how = any(2);
        auto result = how == 0   ? container_.insert(made)
                      : how == 1 ? container_.insert(Kind::element(number, made_))
                                 : container_.emplace(made);
        element_books::never_fail();
        const auto expected = model_.insert(model_element(number));
        EXPECT_EQ(container_.rank(place_in(result)), index_of(place_in(expected)));
        if constexpr (Kind::is_unique) {
            EXPECT_EQ(result.second, expected.second);
        }
    }

    void insert_with_hint() {
        const int number = any_number();
        const std::size_t hint =
            any(1) == 0 ? any_index() : index_of(any(1) == 0 ? model_.lower_bound(number) : model_.upper_bound(number));
        const auto made = element(number);
        const auto result =
            any(1) == 0 ? container_.insert(at(hint), made) : container_.emplace_hint(at(hint), std::move(made));
        element_books::never_fail();
        const auto expected = model_.insert(model_at(hint), model_element(number));
        EXPECT_EQ(container_.rank(result), index_of(expected));
    }

    void erase_key() {
        const int number = any_number();
        const std::size_t erased = container_.erase(number);
        element_books::never_fail();
        EXPECT_EQ(erased, model_.erase(number));
    }

    void erase_one() {
        if (model_.empty()) return;
        const std::size_t index = any_index() % model_.size();
        const auto next = any(1) == 0 ? container_.erase(at(index)) : container_.erase_nth(index);
        element_books::never_fail();
        model_.erase(model_at(index));
        EXPECT_EQ(container_.rank(next), index);
    }

    void erase_some() {
        std::size_t first = any_index();
        std::size_t last =
            any(3) == 0 ? any_index() : std::min(model_.size(), first + static_cast<std::size_t>(any(9)));
        if (last < first) std::swap(first, last);
        const auto next = any(1) == 0 ? container_.erase(at(first), at(last)) : container_.erase_ranks(first, last);
        model_.erase(model_at(first), model_at(last));
        EXPECT_EQ(container_.rank(next), first);
    }

    std::vector<int> some_numbers() {
        std::vector<int> some(static_cast<std::size_t>(any(any(5) == 0 ? 100 : 12)));
        for (int& number : some) number = any_number();
        if (any(1) == 0) std::ranges::sort(some);
        return some;
    }

    void insert_some() {
        const std::vector<int> some = some_numbers();
        if (any(3) == 0) container_.clear(), model_.clear(), is_kept_ = false;
        std::vector<std::remove_cvref_t<decltype(element(0))>> elements;
        std::vector<std::remove_cvref_t<decltype(model_element(0))>> copies;
        elements.reserve(some.size());
        for (int number : some) elements.push_back(element(number)), copies.push_back(model_element(number));
        any(1) == 0 ? container_.insert(elements.begin(), elements.end()) : container_.insert_range(elements);
        element_books::never_fail();
        for (const auto& copy : copies) model_.insert(model_.end(), copy);
    }

    void take_out_and_back() {
        if (model_.empty()) return;
        const std::size_t index = any_index() % model_.size();
        auto taken = any(1) == 0 ? container_.extract(at(index)) : container_.extract(Kind::numbers(*at(index)).first);
        if (any(3) == 0) {
            element_books::never_fail();
            is_kept_ = false;
            container other((failing_allocator<int>(1)));  // the handle becomes one of another allocator
            other.insert(std::move(taken));
            taken = other.extract(other.begin());
            element_books::fail_once_at(static_cast<std::size_t>(any(12)));
        }
        const int failing = element_books::fail_at == element_books::never ? 0 : 1;
        try {
            auto back = any(1) == 0 ? put(std::move(taken)) : container_.insert(container_.end(), std::move(taken));
            element_books::never_fail();
            (void)back;
        } catch (const element_failure&) {
            element_books::never_fail();
            EXPECT_EQ(failing, 1);
            EXPECT_FALSE(taken.empty()) << "a handle lost its element";
            container_.insert(std::move(taken));
        }
        follow();  // among equal elements it may be another one's place
        EXPECT_EQ(sorted(before_), sorted(listed(container_)));
    }
    auto put(typename container::node_type&& node) {
        if constexpr (Kind::is_unique) {
            return container_.insert(std::move(node)).position;
        } else {
            return container_.insert(std::move(node));
        }
    }
    template <class Other>
    list joined(const Other& other) const {
        list all = listed(container_);
        for (const auto& element : other) all.push_back(Kind::numbers(element));
        return all;
    }
    static list sorted(list of) {
        std::ranges::sort(of);
        return of;
    }

    void merge() {
        typename Kind::other source((failing_allocator<int>(any(1))));
        typename Kind::other_model other;
        for (int number : some_numbers()) {
            const auto made = element(number);
            source.insert(made);
            other.insert(model_element(number));
        }
        const list all = sorted(joined(source));
        try {
            container_.merge(source);
            element_books::never_fail();
        } catch (const element_failure&) {
            element_books::never_fail();
            EXPECT_EQ(sorted(joined(source)), all) << "an element was lost or doubled";
            throw;
        }
        model_.merge(other);
        EXPECT_EQ(source.size(), other.size());
        EXPECT_TRUE(std::ranges::equal(
            source, other, {}, [](const auto& x) { return Kind::numbers(x); },
            [](const auto& x) { return Kind::numbers(x); }));
    }

    void copy_and_move() {
        is_kept_ = false;
        container other((failing_allocator<int>(any(1))));
        switch (any(4)) {
            case 0:
                other = container_;
                EXPECT_EQ(listed(other), listed(container_));
                container_ = std::move(other);
                return;
            case 1: {
                container moved(std::move(container_), failing_allocator<int>(any(1)));
                container_ = std::move(moved);
                return;
            }
            case 2: {
                container copy(container_);
                swap(container_, copy);
                EXPECT_EQ(listed(container_), listed(copy));
                return;
            }
            case 3:
                other = std::move(container_);
                EXPECT_TRUE(container_.empty());
                container_ = other;
                return;
            default: {
                container copy(container_, failing_allocator<int>(1));
                container_ = copy;
            }
        }
    }

    void erase_odd() {
        const auto is_odd = [](const auto& element) {
            element_books::operation();
            return Kind::numbers(element).first % 7 == 1;
        };
        const std::size_t erased = erase_if(container_, is_odd);
        element_books::never_fail();
        EXPECT_EQ(erased, std::erase_if(model_, is_odd));
    }

    void expect_searches(int number) {
        const container& all = container_;
        EXPECT_EQ(all.contains(number), model_.contains(number));
        EXPECT_EQ(all.count(number), model_.count(number));
        EXPECT_EQ(all.rank(all.lower_bound(number)), index_of(model_.lower_bound(number)));
        EXPECT_EQ(all.rank(all.upper_bound(number)), index_of(model_.upper_bound(number)));
        EXPECT_EQ(all.equal_range(number).first, all.lower_bound(number));
        EXPECT_EQ(all.equal_range(number).second, all.upper_bound(number));
        const auto found = all.find(number);
        EXPECT_EQ(found != all.end(), model_.contains(number));
        EXPECT_TRUE(found == all.end() || Kind::numbers(*found).first == number);
    }

    void expect_ranks(int low, int high) {
        const container& all = container_;
        EXPECT_EQ(all.rank(low), index_of(model_.lower_bound(low)));
        const std::size_t from = all.rank(low);
        EXPECT_EQ(all.count_between(low, high), std::max(from, all.rank(high)) - from);
        const std::size_t first = any_index();
        const auto some = all.ranks(first, first + 5);
        EXPECT_EQ(some.size(), std::min<std::size_t>(5, all.size() - first));
        EXPECT_EQ(std::distance(some.begin(), some.end()), static_cast<std::ptrdiff_t>(some.size()));
        EXPECT_EQ(some.begin(), all.nth(first));
    }

    void write() {
        if constexpr (Kind::is_map && Kind::is_unique) {
            const int number = any_number();
            ++made_;
            is_single_ = true;
            switch (any(2)) {
                case 0:
                    container_.try_emplace(number, made_);
                    element_books::never_fail();
                    model_.try_emplace(number, made_);
                    return;
                case 1:
                    container_.insert_or_assign(number, made_);
                    element_books::never_fail();
                    model_.insert_or_assign(number, made_);
                    return;
                default:
                    const std::size_t hint = any_index();
                    container_.try_emplace(at(hint), number, made_);
                    element_books::never_fail();
                    model_.try_emplace(number, made_);
            }
        }
    }

    // The container is the model, its ranks are the positions, and nothing is alive besides its elements.
    void expect_equal() {
        ASSERT_TRUE(is_sound(container_));
        ASSERT_EQ(container_.size(), model_.size());
        std::size_t rank = 0;
        auto expected = model_.begin();
        for (auto at = container_.begin(); at != container_.end(); ++at, ++expected, ++rank) {
            ASSERT_EQ(Kind::numbers(*at), Kind::numbers(*expected)) << "rank " << rank;
            ASSERT_EQ(container_.rank(at), rank);
            ASSERT_EQ(container_.nth(rank), at);
        }
        ASSERT_EQ(container_.nth(rank), container_.end());
        ASSERT_TRUE(std::equal(container_.rbegin(), container_.rend(), model_.rbegin(),
                               [](const auto& a, const auto& b) { return Kind::numbers(a) == Kind::numbers(b); }));
        if constexpr (!std::is_same_v<typename container::key_type, int>) {
            ASSERT_EQ(element_books::alive.size(), container_.size()) << "elements were lost, or live on";
        }
        if constexpr (Kind::keeps_positions) expect_addresses();
    }
    // Elements that are still there are where they were.
    void expect_addresses() {
        for (const auto& [number, address] : addresses_) {
            if constexpr (Kind::is_unique) {
                const auto found = container_.find(number);
                EXPECT_TRUE(found == container_.end() || !is_kept_ || std::addressof(*found) == address);
            }
        }
        addresses_.clear();
        is_kept_ = true;
        for (const auto& element : container_) addresses_.emplace_back(Kind::numbers(element).first, &element);
    }

    std::mt19937_64 random_;
    container container_{failing_allocator<int>(0)};
    model model_;
    list before_;
    std::vector<std::pair<int, const typename container::value_type*>> addresses_;
    bool is_single_ = false;
    bool is_kept_ = true;
    int made_ = 0;
};

// Plays five lives and checks that nothing is left of any.
template <class Kind>
void expect_lives_as_the_standard_ones() {
    for (std::uint64_t salt = 0; salt < 5 && !testing::Test::HasFailure(); ++salt) {
        SCOPED_TRACE("life " + std::to_string(salt));
        associative_life<Kind>(salt).live(300);
        EXPECT_EQ(element_books::alive.size(), 0U);
        for (const auto& [number, blocks] : allocation_books::blocks) EXPECT_EQ(blocks, 0) << "allocator " << number;
    }
}

}  // namespace millpond::test
