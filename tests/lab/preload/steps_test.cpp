// SPDX-License-Identifier: BSL-1.0
// context_finder: the frames that it reports as returned and entered lead to the walk of each stack.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "preload/context_finder.hpp"
#include "stacks.hpp"
#include "tests/unit/support/seed.hpp"
#include "walks.hpp"

namespace millpond::test {
namespace {

using preload::call_site;
using preload::context_finder;
using preload::context_space;
using preload::context_tree;

// The stack that a reader derives from the frames that a finder reports as returned and entered.
class told_stack {
  public:
    explicit told_stack(context_space& space) : space_(space) {}

    // The stack of a site, innermost first.
    std::vector<std::uintptr_t> find(context_finder& finder, const call_site& site) {
        const std::uint32_t found = finder.find_or_step(site);
        if (found != context_finder::stepped) return in_tree(space_.tree, found);
        ++steps;
        EXPECT_LE(finder.returned(), frames_.size());
        frames_.resize(frames_.size() - finder.returned());
        const unsigned entered = finder.untold();
        for (unsigned i = 0; i < entered; ++i) frames_.push_back(finder.untold_frame(i));
        finder.told(entered);
        std::vector<std::uintptr_t> addresses;
        for (auto at = frames_.rbegin(); at != frames_.rend(); ++at) {
            EXPECT_EQ(space_.tree.at(*at).parent, 0u);
            addresses.push_back(space_.tree.at(*at).return_address);
        }
        std::vector<std::uintptr_t> last(2 * depth_max);
        last.resize(finder.last_walk(last.data(), 2 * depth_max));
        EXPECT_EQ(last, addresses);
        return addresses;
    }
    void forget(context_finder& finder) {
        finder.forget_told();
        frames_.clear();
    }

    std::uint64_t steps = 0;

  private:
    context_space& space_;
    std::vector<std::uint32_t> frames_;
};

TEST(context_finder, steps_lead_to_the_walk_of_each_stack) {
    auto numbers = random_numbers(11);
    const auto space = std::make_unique<context_space>();
    context_finder finder(*space);
    told_stack told(*space);
    for (int round = 0; round < 6000; ++round) {
        std::mt19937_64 trunk(numbers() % 3), noise(numbers());
        if (numbers() % 64 == 0) told.forget(finder);
        if (numbers() % 512 == 0) {  // as where a module is unloaded
            const auto id = static_cast<std::uint32_t>(1 + numbers() % space->tree.size());
            const std::uintptr_t address = space->tree.at(id).return_address;
            if (address > context_tree::generated) space->forget(address - 1, address);
        }
        descend(static_cast<unsigned>(numbers() % 20), trunk, [&](const call_site&) {
            for (int twig = 0; twig < 3; ++twig)
                descend(static_cast<unsigned>(noise() % 25), noise,
                        [&](const call_site& site) { ASSERT_EQ(told.find(finder, site), walked(site)); });
        });
    }
    EXPECT_GT(told.steps, 1000u);
}

// The probe is called on the way down, too.
TEST(context_finder, steps_follow_deep_stacks_and_cut_those_beyond_the_limit) {
    auto numbers = random_numbers(12);
    const auto space = std::make_unique<context_space>();
    context_finder finder(*space);
    told_stack told(*space);
    for (int round = 0; round < 3000; ++round) {
        std::mt19937_64 noise(numbers());
        descend(static_cast<unsigned>(noise() % 30), noise, [&](const call_site& site) { told.find(finder, site); });
    }
    ASSERT_GT(told.steps, 0u);
    for (int round = 0; round < 200; ++round) {
        const auto depth = static_cast<unsigned>(numbers() % 3 == 0 ? 300 + numbers() % 900 : numbers() % 300);
        std::mt19937_64 trunk(numbers() % 2), noise(numbers());
        descend(depth, trunk, [&](const call_site& outer) {
            told.find(finder, outer);
            descend(static_cast<unsigned>(noise() % 10), noise, [&](const call_site& site) {
                const std::vector<std::uintptr_t> found = told.find(finder, site), truth = walked(site);
                const std::size_t compared = std::min<std::size_t>(truth.size(), depth_max / 2);
                ASSERT_GE(found.size(), compared);
                ASSERT_TRUE(
                    std::equal(truth.begin(), truth.begin() + static_cast<std::ptrdiff_t>(compared), found.begin()));
            });
        });
    }
}

}  // namespace
}  // namespace millpond::test
