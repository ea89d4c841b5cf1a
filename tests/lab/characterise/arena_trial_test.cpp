// SPDX-License-Identifier: BSL-1.0
// arena_trial: results of an arena for predicted sites, on invented events with known answers.
#include "lab/characterise/arena_trial.hpp"

#include <gtest/gtest.h>

#include "small_program.hpp"

namespace millpond::test {
namespace {

using characterise::arena_trial;
using characterise::size_request;
using program::json;

// A call tree in which main calls a wrapper at two places and the wrapper calls malloc: the sites differ only in their
// second frame.
struct two_callers {
    std::vector<trace::context_node> nodes{{0, 0, 0}, {0, 1, 0x10}, {0, 1, 0x20}, {1, 1, 0x99}, {2, 1, 0x99}};
    std::vector<trace::module_record> modules{{1, 0, 0, 0, "/usr/bin/shop", "", 0, 0}};
    static constexpr std::uint32_t first = 3, second = 4;
};

json tried(const std::vector<trace::event>& events, const std::set<std::string>& sites) {
    const two_callers program;
    arena_trial trial({.granule_bytes = 16, .short_bytes = 1000}, sites, program.nodes, program.modules);
    trial.consume(events.data(), events.size());
    return trial.json();
}

TEST(arena_trial, sites_are_told_by_as_many_frames_as_they_name) {
    const std::vector<trace::event> events{allocation(1, 0, 64, 40, two_callers::first),
                                           allocation(2, 0, 128, 40, two_callers::second),
                                           allocation(3, 0, 192, 50, two_callers::first)};
    EXPECT_EQ(tried(events, {"shop+99 48"})["objects"], 2);
    EXPECT_EQ(tried(events, {"shop+99 shop+10 48"})["objects"], 1);
    EXPECT_EQ(tried(events, {"shop+99 shop+20 64"})["objects"], 0);
    EXPECT_EQ(tried(events, {"shop+99 64", "shop+99 shop+20 48"})["bytes"], 90);
}

TEST(arena_trial, objects_that_die_in_time_are_never_wrong_and_pin_nothing) {
    std::vector<trace::event> events;
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        events.push_back(allocation(2 * i, 0, 64 * i, 40, two_callers::first));
        if (i > 10) events.push_back(deallocation(2 * i + 1, 0, 64 * (i - 10)));
    }
    const json found = tried(events, {"shop+99 48"});
    EXPECT_EQ(found["bytes"], 40'000);
    EXPECT_EQ(found["wrong_bytes"], 400) << "the last ten are never freed";
    for (const json& arena : found["arenas"]) {
        EXPECT_EQ(arena["refused_bytes"], 0);
        EXPECT_EQ(arena["most_pinned_bytes"], 0);
        EXPECT_LE(arena["most_held_bytes"].get<std::uint64_t>(), 2 * 4096);
    }
}

TEST(arena_trial, long_lived_objects_are_wrong_and_pin_their_chunk) {
    std::vector<trace::event> events{allocation(1, 0, 64, 40, two_callers::first)};
    for (std::uint64_t i = 1; i <= 100; ++i) {
        events.push_back(allocation(2 * i, 0, 128, 48, two_callers::first));
        events.push_back(deallocation(2 * i + 1, 0, 128));
    }
    json found = tried(events, {"shop+99 48"});
    EXPECT_EQ(found["wrong_bytes"], 40);
    for (const json& arena : found["arenas"]) EXPECT_EQ(arena["end_pinned_bytes"], 4096);
    events.push_back(deallocation(1000, 0, 64));
    found = tried(events, {"shop+99 48"});
    EXPECT_EQ(found["wrong_bytes"], 40);
    for (const json& arena : found["arenas"]) {
        EXPECT_EQ(arena["most_pinned_bytes"], 4096);
        EXPECT_EQ(arena["end_pinned_bytes"], 0);
    }
}

TEST(arena_trial, smaller_arenas_refuse_first) {
    std::vector<trace::event> events;
    for (std::uint64_t i = 1; i <= 40; ++i) events.push_back(allocation(i, 0, 1024 * i, 1024, two_callers::first));
    const json found = tried(events, {"shop+99 1024"});
    std::vector<std::uint64_t> refused;
    for (const json& arena : found["arenas"]) refused.push_back(arena["refused_bytes"].get<std::uint64_t>());
    EXPECT_EQ(refused, (std::vector<std::uint64_t>{24 * 1024, 8 * 1024, 0}));
}

}  // namespace
}  // namespace millpond::test
