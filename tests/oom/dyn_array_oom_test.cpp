// SPDX-License-Identifier: BSL-1.0
// dyn_array_oom_test: every system call fails, once or permanently. Each failure is an error that changes nothing, or
// is ignored because the call was only advice; and all memory is returned.
#include <gtest/gtest.h>

#include <functional>
#include <millpond/container.hpp>
#include <new>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "../unit/support/fake_pages.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using array = dyn_array<std::string, fake_pages>;
constexpr std::size_t most = 20'000;

std::string text(std::size_t number) { return "a text that needs memory of its own: " + std::to_string(number); }

// Does the step or, if that fails, nothing. Returns whether it was refused.
bool attempt(array& on, const std::function<void(array&)>& step) {
    const std::vector<std::string> before(on.begin(), on.end());
    const std::string* const place = on.data();
    try {
        step(on);
        return false;
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
        EXPECT_LT(on.max_size(), most) << "only a reservation that was halved is too short";
    }
    EXPECT_TRUE(std::ranges::equal(on, before));
    EXPECT_EQ(on.data(), place);
    return true;
}

void live(array& all, bool& refused) {
    const std::function<void(array&)> steps[] = {
        [](array& a) { a.push_back(text(a.size())); },
        [](array& a) { a.reserve(3000); },
        [](array& a) { a.resize(3000, text(1)); },
        [](array& a) {
            a.append_range(std::views::iota(std::size_t{0}, std::size_t{3000}) | std::views::transform(text));
        },
        [](array& a) { a.insert(a.end(), 500, text(2)); },
        [](array& a) { a.emplace_back(text(3)); },
        [](array& a) { a = array(a); },
        [](array& a) { a.erase(a.begin() + 10, a.end()), a.shrink_to_fit(); },
        [](array& a) { a.advise_huge(false), a.resize(9000, text(4)); },
        [](array& a) { a.assign(most, text(5)); },
    };
    for (const auto& step : steps) {
        // Erasing takes place whatever the system says; assignment may have begun.
        if (all.size() < 10 && &step == &steps[7]) all.resize(20, text(0));
        refused = attempt(all, step) || refused;
        if (testing::Test::HasFailure()) return;
    }
}

// Returns whether the n-th call was made at all.
bool fail_at(std::size_t number, bool and_later) {
    fake_pages::start();
    fake_pages::set.fail_at = number;
    fake_pages::set.fail_on = and_later;
    bool refused = false;
    try {
        array all(most);
        live(all, refused);
    } catch (const std::bad_alloc&) {
        refused = true;  // nothing could be reserved
    }
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
    EXPECT_EQ(fake_pages::reservations(), 0U);
    const bool happened = fake_pages::fallible_calls > number;
    fake_pages::start();
    return happened;
}

TEST(dyn_array_oom, every_call_may_fail_once) {
    std::size_t number = 0;
    while (fail_at(number, false) && !HasFailure()) ++number;
    EXPECT_GT(number, 20U);
}

TEST(dyn_array_oom, every_call_may_be_the_first_that_fails_permanently) {
    std::size_t number = 0;
    while (fail_at(number, true) && !HasFailure()) ++number;
    EXPECT_GT(number, 20U);
}

}  // namespace
}  // namespace millpond
