// SPDX-License-Identifier: BSL-1.0
// vector_tree_oom_test: in trees of several heights, every allocation of every operation fails once, and every copy or
// move of an element throws once. The strong guarantee holds: a failed call changes nothing, and the same call then
// succeeds.
#include <gtest/gtest.h>

#include <millpond/container/vector_tree.hpp>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../unit/support/counted_upstream.hpp"
#include "../unit/support/tracked.hpp"

namespace millpond {
namespace {

using test::element_books;
using test::element_failure;

struct small_shape {
    static constexpr std::size_t leaf_slots = 4;
    static constexpr std::size_t inner_slots = 3;
};

template <class T>
class vector_tree_oom : public testing::Test {
  protected:
    using tree = vector_tree<T, test::counted_upstream<T>, small_shape>;
    using operation = void (*)(tree&);
    struct named {
        const char* name;
        operation run;
        bool is_strong = true;
    };

    static std::vector<int> numbers_of(const tree& of) {
        std::vector<int> found;
        for (const T& each : of) found.push_back(each.value());
        return found;
    }
    static std::vector<T> some(int count) {
        std::vector<T> made;
        for (int i = 0; i < count; ++i) made.emplace_back(1000 + i);
        return made;
    }
    // A scope in which nothing fails or is counted.
    class unfailing {
      public:
        explicit unfailing(tree& of)
            : account_(*of.get_allocator().to_),
              before_(account_),
              operations_(element_books::operations),
              fail_at_(std::exchange(element_books::fail_at, element_books::never)) {
            account_.fails_at = static_cast<std::size_t>(-1);
        }
        unfailing(const unfailing&) = delete;
        unfailing& operator=(const unfailing&) = delete;
        ~unfailing() {
            account_.calls = before_.calls;
            account_.fails_at = before_.fails_at;
            element_books::operations = operations_;
            element_books::fail_at = fail_at_;
        }

      private:
        test::upstream_account& account_;
        const test::upstream_account before_;
        const std::size_t operations_, fail_at_;
    };

    // An element that could not be appended is still in its place.
    static void append_seventeen(tree& to) {
        tree other(to.get_allocator());
        {
            const unfailing until_its_end(to);
            for (int i = 0; i < 17; ++i) other.emplace_back(100 + i);
        }
        try {
            to.append(std::move(other));
        } catch (...) {
            EXPECT_EQ(numbers_of(other).size(), 17U);  // NOLINT(bugprone-use-after-move): nothing was moved
            throw;
        }
    }
    static auto middle(tree& of) { return of.nth(of.size() / 2); }

    static const std::vector<named>& operations() {
        static const std::vector<named> all = [] {
            std::vector<named> made = {
                {"emplace", [](tree& t) { t.emplace(middle(t), 7); }},
                {"emplace_back", [](tree& t) { t.emplace_back(7); }},
                {"emplace_front", [](tree& t) { t.emplace_front(7); }},
                {"split",
                 [](tree& t) {
                     tree rest = t.split(t.size() / 2);
                     const unfailing until_its_end(t);
                     t.append(std::move(rest));
                 }},
                {"append", [](tree& t) { append_seventeen(t); }},
            };
            if constexpr (std::is_copy_constructible_v<T>) {
                const std::vector<named> copying = {
                    {"insert of copies", [](tree& t) { t.insert(middle(t), 11, T(5)); }},
                    {"insert of a range", [](tree& t) { t.insert_range(middle(t), some(23)); }},
                    {"insert of its own element",
                     [](tree& t) {
                         if (!t.empty()) t.insert(middle(t), t.back());
                     }},
                    {"append_range", [](tree& t) { t.append_range(some(19)); }},
                    {"prepend_range", [](tree& t) { t.prepend_range(some(19)); }},
                    {"resize", [](tree& t) { t.resize(t.size() + 13, T(9)); }},
                    {"copy",
                     [](tree& t) {
                         tree copy(t);
                         t.append(std::move(copy));
                     }},
                    {"copy assignment",
                     [](tree& t) {
                         tree other(t.get_allocator());
                         other.emplace_back(3);
                         other = t;
                         t = other;
                     }},
                    {"assign", [](tree& t) { t.assign_range(some(17)); }, false},
                };
                made.insert(made.end(), copying.begin(), copying.end());
            }
            return made;
        }();
        return all;
    }

    // Runs the operation again and again, with one more call before the failure each time, until nothing fails.
    static void expect_unchanged(const named& of, int size, bool elements) {
        for (std::size_t n = 0;; ++n) {
            SCOPED_TRACE(std::string(of.name) + " at " + std::to_string(size) + ", failure " + std::to_string(n));
            test::upstream_account account;
            {
                tree subject{test::counted_upstream<T>(account)};
                for (int i = 0; i < size; ++i) subject.emplace_back(i);
                const std::vector<int> before = numbers_of(subject);
                auto followed = size == 0 ? subject.end() : subject.nth(static_cast<std::size_t>(size / 3));
                account.calls = 0;
                elements ? element_books::fail_once_at(n) : static_cast<void>(account.fails_at = n);
                bool failed = false;
                try {
                    of.run(subject);
                } catch (const element_failure&) {
                    failed = true;
                } catch (const std::bad_alloc&) {
                    failed = true;
                }
                element_books::never_fail();
                account.fails_at = static_cast<std::size_t>(-1);
                ASSERT_TRUE(subject.is_sound());
                if (!failed) return;
                if (of.is_strong) {
                    ASSERT_EQ(numbers_of(subject), before);
                    if (size != 0) {
                        ASSERT_EQ(followed->value(), size / 3);
                    } else {
                        ASSERT_EQ(followed, subject.end());
                    }
                }
                of.run(subject);
                ASSERT_TRUE(subject.is_sound());
            }
            ASSERT_EQ(account.live_blocks, 0U);
            ASSERT_TRUE(element_books::alive.empty());
        }
    }
};
using elements = testing::Types<test::copied_or_thrown, test::moved_only, test::moved_or_thrown>;
TYPED_TEST_SUITE(vector_tree_oom, elements);

constexpr int sizes[] = {0, 1, 3, 4, 5, 12, 13, 40, 61};

TYPED_TEST(vector_tree_oom, a_refused_allocation_changes_nothing) {
    for (const auto& each : TestFixture::operations())
        for (const int size : sizes) TestFixture::expect_unchanged(each, size, false);
}
TYPED_TEST(vector_tree_oom, an_element_that_throws_changes_nothing) {
    for (const auto& each : TestFixture::operations())
        for (const int size : sizes) TestFixture::expect_unchanged(each, size, true);
}

}  // namespace
}  // namespace millpond
