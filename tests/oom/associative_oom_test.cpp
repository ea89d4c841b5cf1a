// SPDX-License-Identifier: BSL-1.0
// associative_oom_test: each comparison, allocation, copy and move of a change fails in turn. A failed single change
// has no effect; other failed changes leave a valid container. Nothing is lost, and nothing remains.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../unit/support/associative_kinds.hpp"

namespace millpond::test {
namespace {

template <class Kind>
class associative_oom : public testing::Test {};

template <bool MayCopy, template <class, class, class> class Set>
struct set_of {
    using key = tracked<MayCopy, true>;
    using container = Set<key, failing_less, failing_allocator<key>>;
};
using kinds = testing::Types<set_of<true, counted_set>, set_of<false, counted_multiset>, set_of<true, tiny_set>,
                             set_of<false, tiny_multiset>>;
TYPED_TEST_SUITE(associative_oom, kinds);

template <class Container>
std::vector<int> listed(const Container& of) {
    std::vector<int> all;
    for (const auto& key : of) all.push_back(key.value());
    return all;
}

template <class Container>
struct step {
    const char* name;
    bool is_single;  // as before, or done
    std::function<void(Container&)> run;
};

template <class Container>
std::vector<step<Container>> steps() {
    using key = typename Container::key_type;
    constexpr bool may_copy = std::is_copy_constructible_v<key>;
    std::vector<step<Container>> all{
        {"insert", true, [](Container& on) { on.insert(key(35)); }},
        {"emplace", true, [](Container& on) { on.emplace(77); }},
        {"emplace what is there", true, [](Container& on) { on.emplace(40); }},
        {"emplace at the end", true, [](Container& on) { on.emplace_hint(on.end(), 1000); }},
        {"emplace at a wrong hint", true, [](Container& on) { on.emplace_hint(on.begin(), 501); }},
        {"erase by key", true, [](Container& on) { on.erase(50); }},
        {"extract by key", true,
         [](Container& on) {
             auto node = on.extract(60);
             element_books::never_fail();
             on.insert(std::move(node));
         }},
        {"merge", false,
         [](Container& on) {
             Container source(on.get_allocator());
             for (int number : {5, 10, 455, 1005}) source.emplace(number);
             on.merge(source);
         }},
        {"move", false, [](Container& on) { on = Container(std::move(on)); }},
        {"erase_if", false,
         [](Container& on) {
             erase_if(on, [](const key& one) {
                 element_books::operation();
                 return one.value() % 3 == 0;
             });
         }},
    };
    if constexpr (may_copy) {
        all.push_back({"copy", true, [](Container& on) { on = Container(on); }});
        all.push_back({"copy from another allocator", true, [](Container& on) {
                           Container other(on, failing_allocator<key>(1));
                           on = other;
                       }});
        all.push_back({"insert a range", false, [](Container& on) {
                           const std::vector<key> some{3, 44, 45, 46, 2000, 1};
                           on.insert(some.begin(), some.end());
                       }});
        all.push_back({"make of a range", true, [](Container& on) {
                           const std::vector<key> some{3, 44, 45, 46, 2000, 1};
                           Container made(some.begin(), some.end());
                           on.swap(made);
                       }});
    }
    return all;
}

TYPED_TEST(associative_oom, changes_are_whole_wherever_they_fail) {
    using container = typename TypeParam::container;
    for (const auto& step : steps<container>()) {
        SCOPED_TRACE(step.name);
        bool is_done = false;
        for (std::size_t fail_at = 0; !is_done && !this->HasFailure(); ++fail_at) {
            SCOPED_TRACE("operation " + std::to_string(fail_at) + " fails");
            element_books::never_fail();
            container all;
            for (int number = 0; number < 50; ++number) all.emplace(number * 10);
            const std::vector<int> before = listed(all);
            element_books::fail_once_at(fail_at);
            try {
                step.run(all);
                is_done = true;
            } catch (const element_failure&) {
                element_books::never_fail();
                EXPECT_TRUE(!step.is_single || listed(all) == before);
            }
            element_books::never_fail();
            EXPECT_TRUE(is_sound(all));
            EXPECT_EQ(element_books::alive.size(), all.size());
            EXPECT_LT(fail_at, 5000U);
        }
        element_books::never_fail();
        EXPECT_EQ(element_books::alive.size(), 0U);
        for (const auto& [number, blocks] : allocation_books::blocks) EXPECT_EQ(blocks, 0) << "allocator " << number;
    }
}

}  // namespace
}  // namespace millpond::test
