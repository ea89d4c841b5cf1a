// SPDX-License-Identifier: BSL-1.0
// pooled_lives_test: random lives of pooled containers, four of a kind, each with a standard one as its model.
//
// Nodes go to and fro between the four by splice, merge, handles, swap and moves, so that pools join and end in every
// order. An upstream that counts sees that nothing is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <millpond/container.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../unit/support/counted_upstream.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::uniform;
using test::upstream_account;
template <class T>
using upstream = test::counted_upstream<T>;

constexpr int keys = 300;
constexpr int steps = 2500;
constexpr std::size_t many = 4;

// An element that can be moved and compared, and not copied.
class movable {
  public:
    movable(int value) : value_(std::make_unique<int>(value)) {}
    [[nodiscard]] int value() const { return value_ ? *value_ : -1; }
    friend bool operator<(const movable& a, const movable& b) { return a.value() < b.value(); }

  private:
    std::unique_ptr<int> value_;
};

int value_of(int element) { return element; }
int value_of(const movable& element) { return element.value(); }
template <class K, class V>
int value_of(const std::pair<K, V>& element) {
    return value_of(element.first) * 1000 + value_of(element.second);
}

template <class Ours, class Model>
struct quartet {
    explicit quartet(upstream_account& account) {
        for (std::size_t n = 0; n < many; ++n) {
            if constexpr (std::is_constructible_v<Ours, upstream_account&>) {
                ours[n].emplace(account);
            } else {
                ours[n].emplace();
            }
        }
    }
    std::array<std::optional<Ours>, many> ours;
    std::array<Model, many> models;

    void compare(bool is_ordered) {
        for (std::size_t n = 0; n < many; ++n) {
            std::vector<int> found, expected;
            for (const auto& element : *ours[n]) found.push_back(value_of(element));
            for (const auto& element : models[n]) expected.push_back(value_of(element));
            if (!is_ordered) {
                std::ranges::sort(found);
                std::ranges::sort(expected);
            }
            ASSERT_EQ(found, expected);
        }
    }
};

// Does the same step on our container and on the models.
template <class Pair, class Step>
void both(Pair& all, Step step) {
    step([&](std::size_t n) -> auto& { return *all.ours[n]; });
    step([&](std::size_t n) -> auto& { return all.models[n]; });
}

template <class Pair>
void whole_steps(Pair& all, int kind, std::size_t a, std::size_t b) {
    using ours = typename std::remove_reference_t<decltype(*all.ours[0])>;
    both(all, [&](auto at) {
        using container = std::remove_reference_t<decltype(at(a))>;
        switch (kind) {
            case 0:
                return at(a).swap(at(b));
            case 1: {
                if (a == b) return;
                at(a) = std::move(at(b));
                return at(b).clear();
            }
            case 2: {
                if constexpr (std::is_copy_constructible_v<typename container::value_type>)
                    at(a) = std::as_const(at(b));
                return;
            }
            case 3: {
                container taken(std::move(at(a)));
                at(a).clear();
                return swap(taken, at(a));
            }
            case 4: {
                if constexpr (std::is_same_v<container, ours>) {
                    if constexpr (std::is_trivially_destructible_v<typename container::value_type>) return at(a).wink();
                }
                return at(a).clear();
            }
            default: {
                if constexpr (std::is_copy_constructible_v<typename container::value_type>)
                    container(at(a)).swap(at(b));
            }
        }
    });
}

template <class Pair>
void list_step(Pair& all, std::mt19937_64& numbers) {
    const int kind = uniform(numbers, 0, 14), key = uniform(numbers, 0, keys), count = uniform(numbers, 0, 60);
    const auto a = uniform<std::size_t>(numbers, 0, many - 1), b = uniform<std::size_t>(numbers, 0, many - 1);
    const auto size = static_cast<int>(std::distance(all.models[b].begin(), all.models[b].end()));
    const int first = uniform(numbers, 0, size), last = uniform(numbers, first, size);
    if (kind < 6) return whole_steps(all, kind, a, b);
    both(all, [&](auto at) {
        auto& to = at(a);
        auto& from = at(b);
        using container = std::remove_reference_t<decltype(to)>;
        using value = typename container::value_type;
        constexpr bool copies = std::is_copy_constructible_v<value>;
        constexpr bool is_double = requires { to.push_back(key); };
        switch (kind) {
            case 6:
            case 7:
                for (int i = 0; i < count; ++i) to.emplace_front(key + i);
                return;
            case 8:
                to.remove_if([&](const value& v) { return value_of(v) % 5 == key % 5; });
                return;
            case 9:
                to.sort();
                to.reverse();
                return;
            case 10:
                to.sort();
                from.sort();
                to.merge(from);
                return;
            case 11: {
                if constexpr (copies && is_double) to.insert(to.begin(), static_cast<std::size_t>(count), key);
                if constexpr (copies && !is_double)
                    to.insert_after(to.before_begin(), static_cast<std::size_t>(count), key);
                return;
            }
            case 12: {
                if constexpr (copies) to.resize(static_cast<std::size_t>(count), key);
                if constexpr (copies) to.unique();
                return;
            }
            case 13: {
                if (a == b) return;
                if constexpr (is_double) to.splice(std::next(to.begin(), !to.empty()), from);
                if constexpr (!is_double) to.splice_after(to.before_begin(), from);
                return;
            }
            default: {
                if (a == b || first == last) return;
                const auto begin = std::next(from.begin(), first), end = std::next(from.begin(), last);
                if constexpr (is_double) to.splice(to.end(), from, begin, end);
                if constexpr (!is_double) to.splice_after(to.before_begin(), from, begin, end);
                return;
            }
        }
    });
}

template <class Container>
void insert_key(Container& to, int key, int step) {
    if constexpr (requires { typename Container::mapped_type; }) {
        to.emplace(key, step % 7);
    } else {
        to.emplace(key);
    }
}

template <class Pair>
void node_step(Pair& all, std::mt19937_64& numbers, int step) {
    const int kind = uniform(numbers, 0, 13), key = uniform(numbers, 0, keys), count = uniform(numbers, 1, 60);
    const auto a = uniform<std::size_t>(numbers, 0, many - 1), b = uniform<std::size_t>(numbers, 0, many - 1);
    if (kind < 6) return whole_steps(all, kind, a, b);
    both(all, [&](auto at) {
        auto& to = at(a);
        auto& from = at(b);
        using container = std::remove_reference_t<decltype(to)>;
        switch (kind) {
            case 6:
            case 7:
            case 8:
                // Equal elements keep no order that the standard gives them over merges of hashed containers.
                for (int i = 0; i < count; ++i) insert_key(to, key + i, requires { to.key_comp(); } ? step : key);
                return;
            case 9:
                for (int i = 0; i < count; ++i) to.erase(key + i);
                return;
            case 10:
                if (a != b) to.merge(from);
                return;
            case 11:
                for (int i = 0; i < count / 4; ++i) to.insert(from.extract(key + i));
                return;
            case 12: {
                typename container::node_type kept;
                for (int i = 0; i < count; ++i) {
                    auto node = from.extract(key + i);
                    if (i % 3 == 0) std::swap(kept, node);
                    if (i % 3 == 1) to.insert(to.begin(), std::move(node));
                    if (i % 5 == 0) kept = std::move(node);
                }
                return;
            }
            default:
                std::erase_if(to, [&](const auto& v) { return value_of(v) % 3 == 0; });
        }
    });
}

template <class Ours, class Model>
void live_alike(bool is_ordered = true) {
    auto numbers = test::random_numbers();
    upstream_account account;
    {
        quartet<Ours, Model> all(account);
        for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
            if constexpr (requires { typename Ours::key_type; }) {
                node_step(all, numbers, step);
            } else {
                list_step(all, numbers);
            }
            if (step % 8 == 0) all.compare(is_ordered);
        }
        all.compare(is_ordered);
    }
    EXPECT_EQ(account.live_blocks, 0U);
    EXPECT_EQ(account.live_bytes, 0U);
}

using pair = std::pair<const int, int>;
using less = std::less<>;
using hash = std::hash<int>;
using same = std::equal_to<int>;

TEST(pooled_lives, list) { live_alike<pooled_list<int, upstream<int>>, std::list<int>>(); }
TEST(pooled_lives, list_of_movable) { live_alike<pooled_list<movable>, std::list<movable>>(); }
TEST(pooled_lives, forward_list) { live_alike<pooled_forward_list<int, upstream<int>>, std::forward_list<int>>(); }
TEST(pooled_lives, set) { live_alike<pooled_set<int, less, upstream<int>>, std::set<int, less>>(); }
TEST(pooled_lives, set_of_movable) { live_alike<pooled_set<movable>, std::set<movable>>(); }
TEST(pooled_lives, multiset) { live_alike<pooled_multiset<int, less, upstream<int>>, std::multiset<int, less>>(); }
TEST(pooled_lives, map) { live_alike<pooled_map<int, int, less, upstream<pair>>, std::map<int, int, less>>(); }
TEST(pooled_lives, multimap) { live_alike<pooled_multimap<int, int>, std::multimap<int, int>>(); }
TEST(pooled_lives, unordered_set) {
    live_alike<pooled_unordered_set<int, hash, same, upstream<int>>, std::unordered_set<int>>(false);
}
TEST(pooled_lives, unordered_multiset) {
    live_alike<pooled_unordered_multiset<int, hash, same, upstream<int>>, std::unordered_multiset<int>>(false);
}
TEST(pooled_lives, unordered_map) {
    live_alike<pooled_unordered_map<int, int, hash, same, upstream<pair>>, std::unordered_map<int, int>>(false);
}
TEST(pooled_lives, unordered_multimap) {
    live_alike<pooled_unordered_multimap<int, int, hash, same, upstream<pair>>, std::unordered_multimap<int, int>>(
        false);
}

}  // namespace
}  // namespace millpond
