// SPDX-License-Identifier: BSL-1.0
// transfer_oom_test: elements go between containers with unequal allocators, and each allocation, copy, move and
// comparison fails, one after another. The source is whole then; where an element can neither be copied nor moved
// without exceptions, every element is in one of the two containers.
#include <gtest/gtest.h>

#include <functional>
#include <millpond/container/vector_tree.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../unit/support/associative_kinds.hpp"

namespace millpond::test {
namespace {

struct small_shape {
    static constexpr std::size_t leaf_slots = 4;
    static constexpr std::size_t inner_slots = 4;
};
template <class Key>
using tree_of = vector_tree<Key, failing_allocator<Key>, small_shape>;
template <class Key>
using counted_of = counted_multiset<Key, failing_less, failing_allocator<Key>>;
template <class Key>
using ordered_of = tiny_set<Key, failing_less, failing_allocator<Key>>;

template <class Container>
class transfer_oom : public testing::Test {};
using kinds = testing::Types<tree_of<moved_only>, tree_of<copied_or_thrown>, tree_of<moved_or_thrown>,
                             counted_of<moved_only>, counted_of<copied_or_thrown>, counted_of<moved_or_thrown>,
                             ordered_of<moved_only>, ordered_of<copied_or_thrown>, ordered_of<moved_or_thrown>>;
TYPED_TEST_SUITE(transfer_oom, kinds);

template <class Container>
std::vector<int> numbers_in(const Container& of) {
    std::vector<int> all;
    for (const auto& each : of) all.push_back(each.value());
    return all;
}
template <class Container>
void add(Container& to, int number) {
    if constexpr (requires { to.emplace_back(number); }) {
        to.emplace_back(number);
    } else {
        to.emplace(number);
    }
}
template <class Container>
bool is_whole(const Container& of) {
    if constexpr (requires { of.emplace_back(1); } || requires { of.nth(0) == of.end(), of.is_sound(); }) {
        return of.is_sound();
    } else {
        return is_sound(of);
    }
}

template <class Container>
struct way {
    const char* name;
    bool may_lose;  // elements that can neither be copied nor moved without exceptions
    std::function<void(Container& to, Container& from)> run;
};

template <class Container>
std::vector<way<Container>> ways() {
    std::vector<way<Container>> all{
        {"construct", true,
         [](Container& to, Container& from) {
             Container made(std::move(from), to.get_allocator());
             element_books::never_fail();
             to = std::move(made);
         }},
        {"assign", false, [](Container& to, Container& from) { to = std::move(from); }},
    };
    if constexpr (requires(Container& of) { of.append(std::move(of)); }) {
        all.push_back({"append", false, [](Container& to, Container& from) { to.append(std::move(from)); }});
    } else {
        all.push_back({"merge", false, [](Container& to, Container& from) { to.merge(from); }});
    }
    return all;
}

TYPED_TEST(transfer_oom, elements_are_whole_wherever_it_fails) {
    using container = TypeParam;
    using key = typename container::value_type;
    constexpr bool goes_whole = std::is_nothrow_move_constructible_v<key> || std::is_copy_constructible_v<key>;
    for (const auto& each : ways<container>()) {
        SCOPED_TRACE(each.name);
        const bool is_merge = each.name == std::string("merge");
        bool is_done = false;
        for (std::size_t fail_at = 0; !is_done && !this->HasFailure(); ++fail_at) {
            SCOPED_TRACE("operation " + std::to_string(fail_at) + " fails");
            element_books::never_fail();
            container to(failing_allocator<key>(1)), from(failing_allocator<key>(2));
            for (int number = 0; number < 30; ++number) add(from, number);
            const std::vector<int> before = numbers_in(from);
            element_books::fail_once_at(fail_at);
            try {
                each.run(to, from);
                is_done = true;
            } catch (const element_failure&) {
            }
            element_books::never_fail();
            EXPECT_TRUE(is_whole(to) && is_whole(from));
            EXPECT_EQ(element_books::alive.size(), to.size() + from.size());
            std::vector<int> there = numbers_in(to);
            const std::vector<int> here = numbers_in(from);
            if (is_done) {
                EXPECT_EQ(there, before);
            } else if (goes_whole && !is_merge) {
                EXPECT_EQ(here, before);
                EXPECT_TRUE(to.empty());
            } else if (!each.may_lose) {
                there.insert(there.end(), here.begin(), here.end());
                EXPECT_EQ(there, before) << "an element is in neither";
            }
            EXPECT_LT(fail_at, 5000U);
        }
        EXPECT_TRUE(element_books::alive.empty());
        for (const auto& [number, blocks] : allocation_books::blocks) EXPECT_EQ(blocks, 0) << "allocator " << number;
    }
}

TEST(vector_tree_predicate, that_throws_leaves_the_end_where_it_is) {
    for (int size = 0; size < 40; ++size) {
        for (int failing = 0; failing < size; ++failing) {
            for (int kept = 1; kept < 4; ++kept) {
                SCOPED_TRACE(std::to_string(size) + " elements, call " + std::to_string(failing) + " throws");
                tree_of<copied> tree(failing_allocator<copied>(1));
                for (int number = 0; number < size; ++number) tree.emplace_back(number);
                int calls = 0;
                std::vector<int> expected;
                EXPECT_THROW(erase_if(tree,
                                      [&](const copied& each) {
                                          if (calls == failing) throw element_failure();
                                          if (calls % kept == 0) expected.push_back(each.value());
                                          return calls++ % kept != 0;
                                      }),
                             element_failure);
                for (int number = failing; number < size; ++number) expected.push_back(number);
                EXPECT_EQ(numbers_in(tree), expected);
                EXPECT_TRUE(tree.is_sound());
                auto behind = tree.nth(tree.size() - 1);
                EXPECT_EQ(++behind, tree.end());
                EXPECT_EQ(tree.index_of(behind), tree.size());
                EXPECT_EQ((--behind)->value(), size - 1);
            }
        }
    }
}

}  // namespace
}  // namespace millpond::test
