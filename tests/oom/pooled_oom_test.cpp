// SPDX-License-Identifier: BSL-1.0
// pooled_oom_test: every call to the upstream fails once, and every copy, comparison and hash throws once. A failed
// insertion of one element changes nothing, and no failure loses memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <millpond/container.hpp>
#include <new>
#include <utility>
#include <vector>

#include "../unit/support/counted_upstream.hpp"
#include "standard_sets.hpp"

namespace millpond {
namespace {

using test::upstream_account;
template <class T>
using upstream = test::counted_upstream<T>;

constexpr std::size_t never = static_cast<std::size_t>(-1);
template <class Container>
constexpr bool is_hashed = requires { typename Container::hasher; };

struct refusal {};

// A value that throws at the operation that the test chose, of any kind.
class fragile {
  public:
    fragile(int key) : key_(key) { ++live; }
    fragile(const fragile& other) : key_(other.key_) {
        touch();
        ++live;
    }
    fragile& operator=(const fragile& other) {
        touch();
        key_ = other.key_;
        return *this;
    }
    ~fragile() { --live; }

    [[nodiscard]] int key() const noexcept { return key_; }
    friend bool operator<(const fragile& a, const fragile& b) {
        touch();
        return a.key_ < b.key_;
    }
    friend bool operator==(const fragile& a, const fragile& b) {
        touch();
        return a.key_ == b.key_;
    }
    struct hash {
        std::size_t operator()(const fragile& of) const {
            touch();
            return static_cast<std::size_t>(of.key_ % 61);
        }
    };

    static inline std::size_t live = 0;
    static inline std::size_t calls = 0;
    static inline std::size_t throws_at = never;

  private:
    static void touch() {
        if (calls++ == throws_at) throw refusal();
    }
    int key_;
};

template <class Element>
int key_of(const Element& element) {
    if constexpr (requires { element.second; }) {
        return element.first.key();
    } else {
        return element.key();
    }
}

template <class Container>
std::vector<int> keys_of(const Container& container) {
    std::vector<int> keys;
    for (const auto& element : container) keys.push_back(key_of(element));
    std::ranges::sort(keys);
    return keys;
}

template <class Container>
void insert(Container& to, int key) {
    if constexpr (requires { typename Container::mapped_type; }) {
        const std::pair<const fragile, int> element(std::piecewise_construct, std::tuple(key), std::tuple(key));
        to.insert(element);
    } else if constexpr (requires { typename Container::key_type; }) {
        const fragile element(key);
        to.insert(element);
    } else {
        const fragile element(key);
        to.push_front(element);
    }
}

// Inserts keys; a failed insertion changes nothing.
template <class Container>
void fill(Container& to, int first, int last) {
    for (int key = first; key < last; ++key) {
        const std::vector<int> before = keys_of(to);
        try {
            insert(to, key);
        } catch (...) {
            EXPECT_EQ(keys_of(to), before);
            throw;
        }
    }
}

template <class Container>
void exchange(Container& a, Container& b) {
    if constexpr (requires { typename Container::node_type; }) {
        for (int n = 0; n < 3; ++n) {
            auto node = b.extract(b.begin());
            a.insert(std::move(node));
        }
        // A comparison that throws ends the program there in libstdc++ 12: its merge of trees is noexcept.
        if (fragile::throws_at == never || is_hashed<Container> || !test::is_libstdcxx) a.merge(b);
        a.erase(fragile(3));
    } else {
        a.remove(fragile(2));
        if constexpr (requires { a.splice(a.begin(), b); }) {
            a.splice(a.begin(), b, std::next(b.begin()), b.end());
            a.insert(a.end(), 3, fragile(7));
        } else {
            a.splice_after(a.before_begin(), b, b.begin());
            a.insert_after(a.before_begin(), 3, fragile(7));
        }
        a.sort();
        b.sort();
        a.merge(b);
    }
}

template <class Container>
void live(upstream_account& account) {
    Container a(account), b(account);
    fill(a, 0, 21);
    fill(b, 20, 40);
    Container copy(a), assigned(account);
    assigned = copy;
    const std::size_t all = keys_of(a).size() + keys_of(b).size();
    try {
        exchange(a, b);
    } catch (...) {
        EXPECT_LE(keys_of(a).size() + keys_of(b).size(), all + 3);
        fill(a, 100, 103);
        fill(b, 100, 103);
        throw;
    }
    copy = std::move(assigned);
    a.swap(copy);
    a.reserve_bytes(5000);
    fill(a, 50, 60);
    a = copy;
    copy.clear();
    fill(copy, 0, 5);
}

// Plays the life again and again, with one more call before the failure each time, until nothing fails.
template <class Container>
void expect_nothing_lost(bool elements) {
    if (is_hashed<Container> && test::hashed_sets_lose_copies())
        GTEST_SKIP() << "this standard library loses copies when another one fails";
    for (std::size_t n = 0;; ++n) {
        upstream_account account;
        fragile::calls = 0;
        (elements ? fragile::throws_at : account.fails_at) = n;
        bool failed = false;
        try {
            live<Container>(account);
        } catch (const std::bad_alloc&) {
            failed = true;
        } catch (const refusal&) {
            failed = true;
        }
        fragile::throws_at = never;
        ASSERT_EQ(account.live_blocks, 0U) << "call " << n;
        ASSERT_EQ(account.live_bytes, 0U) << "call " << n;
        ASSERT_EQ(std::exchange(fragile::live, 0U), 0U) << "call " << n;
        ASSERT_FALSE(testing::Test::HasFailure()) << "call " << n;
        if (!failed) return;
    }
}

using pair = std::pair<const fragile, int>;
using same = std::equal_to<>;

template <class Container>
class pooled_failures : public testing::Test {};
using containers = testing::Types<
    pooled_list<fragile, upstream<fragile>>, pooled_forward_list<fragile, upstream<fragile>>,
    pooled_set<fragile, std::less<>, upstream<fragile>>, pooled_multiset<fragile, std::less<>, upstream<fragile>>,
    pooled_map<fragile, int, std::less<>, upstream<pair>>, pooled_multimap<fragile, int, std::less<>, upstream<pair>>,
    pooled_unordered_set<fragile, fragile::hash, same, upstream<fragile>>,
    pooled_unordered_multiset<fragile, fragile::hash, same, upstream<fragile>>,
    pooled_unordered_map<fragile, int, fragile::hash, same, upstream<pair>>,
    pooled_unordered_multimap<fragile, int, fragile::hash, same, upstream<pair>>>;
TYPED_TEST_SUITE(pooled_failures, containers);

TYPED_TEST(pooled_failures, failures_of_the_upstream_lose_nothing) { expect_nothing_lost<TypeParam>(false); }
TYPED_TEST(pooled_failures, failures_of_elements_lose_nothing) { expect_nothing_lost<TypeParam>(true); }

}  // namespace
}  // namespace millpond
