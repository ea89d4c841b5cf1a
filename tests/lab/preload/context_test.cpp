// SPDX-License-Identifier: BSL-1.0
// context_finder: frame rules agree with the compiler's unwinder, found contexts agree with walks, and the tree keeps
// its entries.
#include <gtest/gtest.h>
#include <unwind.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "lab/trial/frame_answer.hpp"
#include "lab/trial/outward_steps.hpp"
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

std::vector<std::uintptr_t> by_compiler() {
    std::vector<std::uintptr_t> addresses;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* to) {
            static_cast<std::vector<std::uintptr_t>*>(to)->push_back(_Unwind_GetIP(context));
            return _URC_NO_REASON;
        },
        &addresses);
    return addresses;
}

TEST(frame_rule, walks_agree_with_the_unwinder_of_the_compiler) {
    auto numbers = random_numbers(1);
    unsigned compared = 0;
    for (int round = 0; round < 300; ++round) {
        descend(static_cast<unsigned>(numbers() % 40), numbers, [&](const call_site& site) {
            const std::vector<std::uintptr_t> ours = walked(site), truth = by_compiler();
            // The compiler's begins inside the probe; ours begins at the probe's caller.
            const auto start = std::find(truth.begin(), truth.end(), site.return_address);
            ASSERT_NE(start, truth.end());
            std::vector<std::uintptr_t> rest(start, truth.end());
            while (!rest.empty() && rest.back() == 0) rest.pop_back();
            ASSERT_EQ(ours, rest);
            compared += static_cast<unsigned>(ours.size());
        });
    }
    EXPECT_GT(compared, 3000u);
}

TEST(context_finder, every_context_is_the_walk_of_its_stack) {
    auto numbers = random_numbers(2);
    const auto space = std::make_unique<context_space>();
    context_finder finder(*space);
    for (int round = 0; round < 20000; ++round) {
        // Few distinct journeys, repeated: both hits and misses, at the same depths of the stack.
        std::mt19937_64 journey(numbers() % 200);
        descend(static_cast<unsigned>(journey() % 25), journey, [&](const call_site& site) {
            const std::uint32_t id = finder.find(site);
            ASSERT_EQ(in_tree(space->tree, id), walked(site)) << "round " << round;
            ASSERT_EQ(finder.find(site), id);
        });
    }
}

// Nearly every stack is new, as in a recursive program: entries are evicted, and stacks are walked from the point where
// they differ.
TEST(context_finder, stacks_that_never_recur_are_their_walks) {
    auto numbers = random_numbers(8);
    const auto space = std::make_unique<context_space>();
    context_finder finder(*space);
    for (int round = 0; round < 4000; ++round) {
        std::mt19937_64 trunk(numbers() % 3), noise(numbers());
        descend(static_cast<unsigned>(numbers() % 20), trunk, [&](const call_site&) {
            for (int twig = 0; twig < 3; ++twig)
                descend(static_cast<unsigned>(noise() % 25), noise, [&](const call_site& site) {
                    const std::uint32_t id = finder.find(site);
                    ASSERT_EQ(in_tree(space->tree, id), walked(site)) << "round " << round;
                });
        });
    }
}

// The owner of a whole context, composed from the outside, equals that of the frames up to the owner.
TEST(walk_to_owner, finds_the_answer_of_the_whole_stack) {
    using trial::frame_answer;
    auto numbers = random_numbers(9);
    const auto rules = std::make_unique<preload::rule_cache>();
    const frame_answer outside{99, frame_answer::footing::nothing};
    for (int round = 0; round < 5000; ++round) {
        // Owners are rare in some rounds, so that the other rules decide, too.
        const std::uint64_t salt = numbers(), owners = numbers() % 4;
        const auto answer_of = [&](std::uintptr_t address, const preload::frame_rule& = {}, bool = true) {
            const std::uint64_t drawn = ((address ^ salt) * 0x9E3779B97F4A7C15u) >> 32;
            const std::uint64_t kind = drawn % 8;
            const auto pool = static_cast<std::uint8_t>(drawn >> 8);
            if (kind < owners) return frame_answer{pool, frame_answer::footing::owner};
            if (kind == 5) return frame_answer{pool, frame_answer::footing::allocation};
            return kind == 6 ? frame_answer{} : frame_answer{pool, frame_answer::footing::module};
        };
        std::mt19937_64 journey(numbers());
        descend(static_cast<unsigned>(journey() % 40), journey, [&](const call_site& site) {
            frame_answer whole = outside;
            const auto addresses = walked(site);
            for (auto at = addresses.rbegin(); at != addresses.rend(); ++at)
                if (*at != context_tree::cut) whole = answer_of(*at).after(whole);
            const frame_answer found = trial::walk_to_owner(site, *rules, outside, context_tree::generated, answer_of);
            ASSERT_EQ(found.pool, whole.pool) << "round " << round;
            ASSERT_EQ(found.rests_on, whole.rests_on);
        });
    }
}

// The rules learned from walks find the owner that the next walk would find, or none.
TEST(outward_steps, find_the_owner_of_the_whole_stack) {
    using trial::frame_answer;
    auto numbers = random_numbers(10);
    const auto rules = std::make_unique<preload::rule_cache>();
    std::uint64_t found = 0, owned = 0;
    for (int round = 0; round < 40; ++round) {
        const auto steps = std::make_unique<trial::outward_steps>();
        const auto owners = std::make_unique<trial::outward_steps::owner_cache>();
        const std::uint64_t salt = numbers(), share = numbers() % 4;
        const auto answer_of = [&](std::uintptr_t address, const preload::frame_rule& rule, bool lasts) {
            const std::uint64_t drawn = ((address ^ salt) * 0x9E3779B97F4A7C15u) >> 32;
            const bool is_owner = drawn % 8 < share;
            const frame_answer answer{static_cast<std::uint8_t>(drawn >> 8),
                                      is_owner ? frame_answer::footing::owner : frame_answer::footing::module};
            if (lasts && is_owner) owners->keep(address, answer.pool);
            if (lasts && !is_owner) steps->learn(address, rule);
            return answer;
        };
        for (int i = 0; i < 400; ++i) {
            std::mt19937_64 journey(numbers() % 50);
            descend(static_cast<unsigned>(journey() % 40), journey, [&](const call_site& site) {
                const std::uint64_t before = steps->find(site, *owners);
                const frame_answer truth = trial::walk_to_owner(site, *rules, {}, context_tree::generated, answer_of);
                // The site's own address is not asked for: those are the owners that need no step.
                const std::uint64_t own = owners->match(site.return_address);
                if (truth.rests_on != frame_answer::footing::owner || own < owners->no_match) return;
                ++owned;
                if (before >= owners->no_match) return;
                ++found;
                ASSERT_EQ(before, truth.pool) << "round " << round;
            });
        }
    }
    // Signals, code without a file and realigned stacks are on the way of some.
    EXPECT_GT(found, owned / 4);
}

TEST(context_finder, equal_stacks_have_equal_contexts_after_memory_was_reused) {
    auto numbers = random_numbers(3);
    const auto space = std::make_unique<context_space>();
    context_finder finder(*space);
    std::vector<std::uint32_t> first(50);
    for (int round = 0; round < 40; ++round) {
        for (std::uint64_t i = 0; i < first.size(); ++i) {
            std::mt19937_64 journey(i);
            const auto depth = static_cast<unsigned>(journey() % 30);
            descend(depth, journey, [&](const call_site& site) {
                const std::uint32_t id = finder.find(site);
                if (round == 0) first[i] = id;
                ASSERT_EQ(in_tree(space->tree, id), in_tree(space->tree, first[i]));
            });
            // Overwrites what lies below.
            std::mt19937_64 noise(numbers());
            descend(40, noise, [](const call_site&) {});
        }
    }
}

TEST(context_finder, cuts_outer_frames_of_stacks_deeper_than_the_limit) {
    auto numbers = random_numbers(4);
    const auto space = std::make_unique<context_space>();
    context_finder finder(*space);
    for (const unsigned depth : {600u, 700u, 650u, 600u, 2000u, 10u, 3000u}) {
        descend(depth, numbers, [&](const call_site& site) {
            const auto found = in_tree(space->tree, finder.find(site));
            const auto truth = walked(site);
            ASSERT_GE(found.size(), std::min<std::size_t>(truth.size(), 64));
            for (std::size_t i = 0; i < 64 && i < truth.size(); ++i) ASSERT_EQ(found[i], truth[i]) << "frame " << i;
        });
    }
}

TEST(context_finder, forgotten_stacks_get_new_contexts) {
    const auto space = std::make_unique<context_space>();
    context_finder finder(*space);
    std::vector<std::uint32_t> found;
    for (int round = 0; round < 4; ++round) {  // one call site for all rounds
        if (round == 2) {
            const std::uintptr_t inner = space->tree.at(found.back()).return_address;
            space->forget(inner - 1, inner);
        }
        std::mt19937_64 journey(5);
        descend(12, journey, [&](const call_site& site) {
            found.push_back(finder.find(site));
            ASSERT_EQ(in_tree(space->tree, found.back()), walked(site));
        });
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_NE(found[1], found[2]);
    EXPECT_EQ(found[2], found[3]);
}

TEST(context_finder_threads, threads_agree_on_contexts_and_observers_see_each_once) {
    static std::vector<context_tree::node> seen;
    seen.clear();
    const auto space = std::make_unique<context_space>();
    space->tree.set_observer([](std::uint32_t id, std::uint32_t parent, std::uintptr_t address) noexcept {
        ASSERT_EQ(id, seen.size() + 1);
        ASSERT_LT(parent, id);
        seen.push_back({address, parent});
    });
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&space, &wrong] {
                context_finder finder(*space);
                for (std::uint64_t i = 0; i < 3000; ++i) {
                    std::mt19937_64 journey(i % 60);
                    descend(static_cast<unsigned>(journey() % 15), journey, [&](const call_site& site) {
                        if (in_tree(space->tree, finder.find(site)) != walked(site)) ++wrong;
                    });
                }
            });
        }
    }
    EXPECT_EQ(wrong, 0);
    ASSERT_EQ(space->tree.size(), seen.size());
    std::set<std::pair<std::uint32_t, std::uintptr_t>> unique;
    for (std::uint32_t id = 1; id <= seen.size(); ++id) {
        EXPECT_EQ(space->tree.at(id).parent, seen[id - 1].parent);
        EXPECT_TRUE(unique.emplace(seen[id - 1].parent, seen[id - 1].return_address).second)
            << "node " << id << " twice";
    }
}

TEST(context_tree, a_child_is_made_once_and_ids_are_dense_until_it_is_forgotten) {
    constexpr std::uintptr_t high = std::uintptr_t{1} << 52;  // some processors have addresses of 57 bits
    auto numbers = random_numbers(6);
    const auto tree = std::make_unique<context_tree>();
    std::map<std::pair<std::uint32_t, std::uintptr_t>, std::uint32_t> model;
    std::uint32_t made = 0;
    for (int i = 0; i < 200000; ++i) {
        // Many parents with few children, and few with many.
        const std::uint64_t limit = numbers() % 4 == 0 ? std::min(tree->size(), 7u) : tree->size();
        const auto parent = static_cast<std::uint32_t>(numbers() % (limit + 1));
        const std::uintptr_t address = 4096 + numbers() % 50 + (numbers() % 16 == 0 ? high : 0);
        const std::uint32_t id = tree->child(parent, address);
        const auto [known, is_new] = model.try_emplace({parent, address}, id);
        ASSERT_EQ(known->second, id);
        if (is_new) {
            ASSERT_EQ(id, ++made);
            ASSERT_EQ(tree->at(id).parent, parent);
            ASSERT_EQ(tree->at(id).return_address, address);
        }
        if (i % 20000 == 0) {
            const std::uintptr_t last = 4096 + numbers() % 50 + (i % 40000 == 0 ? high : 0), first = last - 5;
            tree->forget(first, last);
            std::erase_if(model, [=](const auto& one) { return one.first.second > first && one.first.second <= last; });
        }
    }
    EXPECT_EQ(tree->size(), made);
}

TEST(rule_cache, cached_rules_are_those_computed) {
    const auto cache = std::make_unique<preload::rule_cache>();
    auto numbers = random_numbers(7);
    for (int i = 0; i < 20000; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(&descend) + numbers() % 3000;
        const preload::frame_rule cached = cache->find(address), computed = preload::frame_rule::compute(address);
        ASSERT_EQ(cached.kind, computed.kind);
        ASSERT_EQ(cached.cfa_offset, computed.cfa_offset);
        ASSERT_EQ(cached.bp_offset, computed.bp_offset);
        ASSERT_EQ(cached.bp_rule, computed.bp_rule);
    }
}

}  // namespace
}  // namespace millpond::test
