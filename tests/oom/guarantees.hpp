// SPDX-License-Identifier: BSL-1.0
// guarantees: calls each member of a table on two containers, with one operation more before the failure each time,
// until nothing fails, and checks the guarantee that the header's comment states.
//
//   way │ name │ promise │ run(to, from) ─┬─▶ containers under test: one operation throws
//                                         └─▶ models of the standard library, of ints: what is there when all went well
//
// An operation is an allocation, a call to the system, a copy or a throwing move of an element, a comparison, a hash, a
// predicate, a step of a generator. Whatever fails, both containers are sound and go on working, as many elements live
// as they hold, and all memory returns.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <new>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../unit/support/associative_kinds.hpp"
#include "../unit/support/fake_pages.hpp"
#include "standard_sets.hpp"

namespace millpond::test {

// The guarantee of a member that throws. Both containers are valid in any case.
enum class promise : unsigned char {
    nothing_changes,  // the strong guarantee
    source_is_whole,  // `from` is as before
    nothing_is_lost,  // each element is in one of the two
    source_is_there,  // each element of `from` is in one of the two
    chosen_go,        // the elements that the predicate was true of are gone, all others are there, in order
    some_go,          // elements of `to` are gone, all others are there, in order
    sound,            // the basic guarantee
};

// The numbers for which a predicate was true.
inline std::vector<int> chosen;

inline int number_in(int element) { return element; }
template <bool MayCopy, bool MayThrow>
int number_in(const tracked<MayCopy, MayThrow>& element) {
    return element.value();
}
template <class First, class Second>
int number_in(const std::pair<First, Second>& element) {
    return number_in(element.first);
}

struct failing_hash {
    template <class T>
    std::size_t operator()(const T& key) const {
        element_books::operation();
        return static_cast<std::size_t>(number_in(key)) % 13;
    }
};
struct failing_equal {
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
        element_books::operation();
        return number_in(a) == number_in(b);
    }
};
struct failing_choice {
    template <class T>
    bool operator()(const T& element) const {
        element_books::operation();
        if (number_in(element) % 3 != 0) return false;
        chosen.push_back(number_in(element));
        return true;
    }
};
// A comparison whose copies may fail as well.
struct copied_less : failing_less {
    copied_less() = default;
    copied_less(const copied_less&) : failing_less() { element_books::operation(); }
    copied_less& operator=(const copied_less&) {
        element_books::operation();
        return *this;
    }
    ~copied_less() = default;
};

// An allocator that its containers' moves and swaps take along.
template <class T>
class propagating_allocator : public failing_allocator<T> {
  public:
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    using failing_allocator<T>::failing_allocator;
    template <class U>
    propagating_allocator(const propagating_allocator<U>& other)  // NOLINT(google-explicit-constructor)
        : failing_allocator<T>(other.number()) {}
};

// Pages on which each system call that can fail is an operation.
struct failing_pages : fake_pages {
    static bool fails() noexcept { return element_books::operations++ == element_books::fail_at; }

    static void* reserve(std::size_t bytes) noexcept { return fails() ? nullptr : fake_pages::reserve(bytes); }
    static bool commit(void* at, std::size_t bytes) noexcept { return !fails() && fake_pages::commit(at, bytes); }
    static bool decommit(void* at, std::size_t bytes) noexcept { return !fails() && fake_pages::decommit(at, bytes); }
};

template <class C>
constexpr bool is_map = false;
template <class C>
    requires requires { typename C::key_type; }
constexpr bool is_map<C> = !std::is_same_v<typename C::key_type, typename C::value_type>;
template <class C>
constexpr bool is_hashed = requires { typename C::hasher; };
template <class C>
constexpr bool is_keyed = requires { typename C::key_type; };
template <class C>
constexpr bool is_unique_kind =
    is_keyed<C> && requires(typename C::node_type node, C& of) { of.insert(std::move(node)).inserted; };
template <class C>
constexpr bool is_forward = requires(C& of) { of.before_begin(); };
template <class C>
using plain = std::remove_cvref_t<C>;

// The standard's container of ints that has the same members.
template <class C>
struct model_of {
    static auto made() {
        if constexpr (is_map<C>) {
            if constexpr (is_hashed<C>) {
                return std::conditional_t<is_unique_kind<C>, std::unordered_map<int, int>,
                                          std::unordered_multimap<int, int>>();
            } else {
                return std::conditional_t<is_unique_kind<C>, std::map<int, int>, std::multimap<int, int>>();
            }
        } else if constexpr (is_hashed<C>) {
            return std::conditional_t<is_unique_kind<C>, std::unordered_set<int>, std::unordered_multiset<int>>();
        } else if constexpr (is_keyed<C>) {
            return std::conditional_t<is_unique_kind<C>, std::set<int>, std::multiset<int>>();
        } else if constexpr (is_forward<C>) {
            return std::forward_list<int>();
        } else if constexpr (requires(C& of) { of.sort(); }) {
            return std::list<int>();
        } else {
            return std::vector<int>();
        }
    }
    using type = decltype(made());
};

template <class C>
auto element(int number) {
    using value = typename plain<C>::value_type;
    if constexpr (is_map<plain<C>>) {
        return value(std::piecewise_construct, std::forward_as_tuple(number), std::forward_as_tuple(number + 1));
    } else {
        return value(number);
    }
}
// A range that makes its elements when it is read and may fail at each.
template <class C>
auto generated(std::vector<int> numbers) {
    return std::ranges::owning_view(std::move(numbers)) | std::views::transform([](int number) {
               element_books::operation();
               return element<C>(number);
           });
}
template <class C>
auto list_of(std::vector<int> numbers) {
    std::vector<typename plain<C>::value_type> made;
    made.reserve(numbers.size());
    for (const int number : numbers) made.push_back(element<C>(number));
    return made;
}

template <class C>
void add(C& to, int number) {
    if constexpr (is_map<C>) {
        to.emplace(number, number + 1);
    } else if constexpr (is_keyed<C>) {
        to.emplace(number);
    } else if constexpr (is_forward<C>) {
        to.emplace_after(std::next(to.before_begin(), std::ranges::distance(to)), number);
    } else {
        to.emplace_back(number);
    }
}

// Returns the numbers of the elements, in the container's order; sorted, if the container has no order.
template <class C>
std::vector<std::pair<int, int>> contents(const C& of) {
    std::vector<std::pair<int, int>> found;
    for (const auto& each : of) {
        if constexpr (is_map<C>) {
            found.emplace_back(number_in(each.first), number_in(each.second));
        } else {
            found.emplace_back(number_in(each), 0);
        }
    }
    if constexpr (is_hashed<C>) std::ranges::sort(found);
    return found;
}

template <class C>
void expect_sound(const C& of) {
    const auto size = static_cast<std::size_t>(std::ranges::distance(of));
    if constexpr (requires { of.size(); }) {
        EXPECT_EQ(of.size(), size);
    }
    EXPECT_EQ(of.empty(), size == 0);
    if constexpr (requires { of.rbegin(); }) {
        std::vector<const void*> forward, backward;
        for (const auto& each : of) forward.push_back(std::addressof(each));
        for (auto at = of.end(); at != of.begin();) backward.push_back(std::addressof(*--at));
        std::ranges::reverse(backward);
        EXPECT_EQ(forward, backward);
    }
    if constexpr (is_hashed<C>) {
        std::size_t in_buckets = 0;
        for (std::size_t bucket = 0; bucket < of.bucket_count(); ++bucket) in_buckets += of.bucket_size(bucket);
        EXPECT_EQ(in_buckets, size);
    } else if constexpr (is_keyed<C>) {
        EXPECT_TRUE(std::ranges::is_sorted(of, {}, [](const auto& each) { return number_in(each); }));
    }
    if constexpr (is_keyed<C>) {
        for (const auto& each : of) {
            if constexpr (is_map<C>) {
                EXPECT_NE(of.find(each.first), of.end());
            } else {
                EXPECT_NE(of.find(each), of.end());
            }
        }
    }
    if constexpr (requires { of.rank(of.begin()); }) {
        EXPECT_TRUE(is_sound(of));
    } else if constexpr (requires { of.is_sound(); }) {
        EXPECT_TRUE(of.is_sound());
    }
    if constexpr (requires { of.nth(0); }) {
        std::size_t index = 0;
        for (auto at = of.begin(); at != of.end(); ++at) EXPECT_EQ(of.nth(index++), at);
    }
}

template <class C>
C made_empty(int allocator) {
    if constexpr (requires { typename C::allocator_type; }) {
        return C(typename C::allocator_type(allocator));
    } else {
        return C(3000);
    }
}

inline std::vector<int> numbers_of_to() {
    std::vector<int> made;
    for (int n = 0; n < 18; ++n) made.push_back(n * 10);
    return made;
}
inline std::vector<int> numbers_of_from() {
    std::vector<int> made;
    for (int n = 0; n < 18; ++n) made.push_back(n % 4 == 3 ? n * 10 : n * 10 + 5);
    made[2] = made[1];
    return made;
}

template <class C>
struct way {
    using model = typename model_of<C>::type;

    std::string name;
    promise keeps;
    std::function<void(C&, C&)> run;
    std::function<void(model&, model&)> expected;
    bool needs_equal_allocators = false;
    bool leaves_source = false;  // what `from` holds afterwards is not said
    bool may_tear = false;       // the same between unequal allocators, where the member fails
};

// A row of the table. `run` is called with the containers and with their models.
template <class C, class Run>
way<C>& row(std::vector<way<C>>& table, std::string name, promise keeps, Run run) {
    table.push_back({std::move(name), keeps, run, run});
    return table.back();
}

using numbers = std::vector<std::pair<int, int>>;
inline numbers sorted_sum(numbers of, const numbers& and_of) {
    of.insert(of.end(), and_of.begin(), and_of.end());
    std::ranges::sort(of);
    return of;
}

template <class C>
void expect_promise(const way<C>& of, C& to, C& from, const numbers& to_before, const numbers& from_before) {
    const auto to_now = contents(to), from_now = contents(from);
    switch (of.keeps) {
        case promise::nothing_changes:
            EXPECT_EQ(to_now, to_before);
            EXPECT_EQ(from_now, from_before);
            break;
        case promise::source_is_whole:
            EXPECT_EQ(from_now, from_before);
            break;
        case promise::nothing_is_lost:
            EXPECT_EQ(sorted_sum(to_now, from_now), sorted_sum(to_before, from_before));
            break;
        case promise::source_is_there:
            EXPECT_TRUE(std::ranges::includes(sorted_sum(to_now, from_now), sorted_sum(from_before, {})));
            break;
        case promise::chosen_go: {
            numbers left;
            for (const auto& each : to_before)
                if (std::ranges::find(chosen, each.first) == chosen.end()) left.push_back(each);
            EXPECT_EQ(to_now, left);
            EXPECT_EQ(from_now, from_before);
            break;
        }
        case promise::some_go:
            EXPECT_TRUE(std::ranges::includes(to_before, to_now));
            EXPECT_EQ(from_now, from_before);
            break;
        case promise::sound:
            break;
    }
}

template <class C>
void expect_to_work_on(C& of) {
    const auto before = std::ranges::distance(of);
    add(of, 1001);
    EXPECT_EQ(std::ranges::distance(of), before + 1);
    expect_sound(of);
    of.clear();
    EXPECT_TRUE(of.empty());
    add(of, 1);
    expect_sound(of);
}

// Calls the member, which fails at operation `fail_at`. Returns false if it did not fail.
template <class C>
bool fails_at(const way<C>& of, std::size_t fail_at, bool has_equal_allocators) {
    constexpr std::size_t objects = is_map<C> ? 2 : 1;
    element_books::never_fail();
    C to = made_empty<C>(1), from = made_empty<C>(has_equal_allocators ? 1 : 2);
    typename way<C>::model to_model, from_model;
    for (const int number : numbers_of_to()) add(to, number), add(to_model, number);
    for (const int number : numbers_of_from()) add(from, number), add(from_model, number);
    const auto to_before = contents(to), from_before = contents(from);
    of.expected(to_model, from_model);

    chosen.clear();
    element_books::fail_once_at(fail_at);
    bool failed = true;
    try {
        of.run(to, from);
        failed = false;
    } catch (const element_failure&) {
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    element_books::never_fail();
    expect_sound(to);
    const bool may_be_torn = failed && of.may_tear && !has_equal_allocators;
    const bool is_from_said = !of.leaves_source && !may_be_torn;
    if (is_from_said) expect_sound(from);
    EXPECT_EQ(element_books::alive.size(),
              objects * static_cast<std::size_t>(std::ranges::distance(to) + std::ranges::distance(from)));
    if (failed && !may_be_torn) expect_promise(of, to, from, to_before, from_before);
    const bool may_retry = of.keeps == promise::nothing_changes && !may_be_torn;
    if (failed && may_retry) of.run(to, from);
    if (!failed || may_retry) {
        EXPECT_EQ(contents(to), contents(to_model));
        if (is_from_said) {
            EXPECT_EQ(contents(from), contents(from_model));
        }
    }
    expect_to_work_on(to);
    if (is_from_said) expect_to_work_on(from);
    return failed;
}

inline int failures() { return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count(); }

template <class C>
void expect_promises(const std::vector<way<C>>& table) {
    for (const auto& each : table) {
        for (const bool is_equal : {true, false}) {
            if (!is_equal && (each.needs_equal_allocators || !requires { typename C::allocator_type; })) continue;
            const int failures_before = failures();
            for (std::size_t fail_at = 0;; ++fail_at) {
                SCOPED_TRACE(each.name + (is_equal ? "" : " with unequal allocators") + ", operation " +
                             std::to_string(fail_at) + " fails");
                const bool failed = fails_at(each, fail_at, is_equal);
                EXPECT_TRUE(element_books::alive.empty());
                element_books::alive.clear();
                for (auto& [number, blocks] : allocation_books::blocks) {
                    EXPECT_EQ(blocks, 0) << "allocator " << number;
                    blocks = 0;
                }
                EXPECT_EQ(fake_pages::reservations(), 0U);
                EXPECT_LT(fail_at, 5000U);
                if (!failed || failures() != failures_before) break;  // one failure of a member says enough
            }
        }
    }
}

}  // namespace millpond::test
