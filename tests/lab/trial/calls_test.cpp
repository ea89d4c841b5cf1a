// SPDX-License-Identifier: BSL-1.0
// Arenas for each call of a function: simple, nested, recursive, on several threads, after exceptions and forks.
#include <sys/syscall.h>
#include <unistd.h>

#include "trial_run.hpp"

namespace millpond::test {
namespace {

using program::json, program::json_object;

// True if the process has a shadow stack; no breakpoints are placed in it then.
bool has_shadow_stack() {
    unsigned long features = 0;
    return syscall(SYS_arch_prctl, 0x5005, &features) == 0 && (features & 1) != 0;
}

class calls : public trial_run {
  protected:
    void SetUp() override {
        trial_run::SetUp();
        if (has_shadow_stack()) GTEST_SKIP() << "calls cannot be observed in a process with a shadow stack";
        surveyed = survey({CALLS, "plain", "1", "0", "1"});
    }
    // The result of the pool, and the whole one in `whole`.
    json tried(const json& scope, const words& arguments) {
        const ended end = compile(surveyed, json::array({arena({"shop"}, "orders", scope)}));
        EXPECT_EQ(end.status, 0) << end.message;
        words program = {CALLS};
        program.insert(program.end(), arguments.begin(), arguments.end());
        whole = round("plan", program, in("routes"));
        EXPECT_EQ(whole["exit_status"], 0) << content(in("stderr"));
        const json& found = whole["router"]["pools"][0];
        EXPECT_EQ(found["allocations"], found["deallocations"].get<int>() + found["remote_deallocations"].get<int>());
        return found;
    }

    json surveyed, whole;
};

const json each_call = json_object({{"function", "shop::handle"}});
const json outermost_call = json_object({{"function", "shop::handle"}, {"outermost", true}});
const json not_observed = json_object({{"function", "shop::handle"}, {"observed", false}});

TEST_F(calls, each_has_an_arena_that_is_reset_at_its_end) {
    for (const int depth : {0, 1, 5}) {
        const int all = 50 * (depth + 1);
        const json of = tried(each_call, {"plain", "50", std::to_string(depth), "1"});
        EXPECT_EQ(of["calls"], all) << depth;
        EXPECT_EQ(of["resets"], all) << depth;
        EXPECT_EQ(of["allocations"], all * 20) << depth;
        EXPECT_EQ(of["outlived_calls"], 0) << depth;
        EXPECT_EQ(of["capped_bytes"], 0) << depth;
        EXPECT_EQ(whole["router"]["passed"]["refused"], 50) << "what is allocated outside of every call";
    }
}

TEST_F(calls, inner_calls_share_the_outermost_arena_on_request) {
    const json of = tried(outermost_call, {"plain", "50", "5", "1"});
    EXPECT_EQ(of["calls"], 50);
    EXPECT_EQ(of["resets"], 50);
    EXPECT_EQ(of["allocations"], 50 * 6 * 20);
}

// A function of any first instruction behaves as without us, and each of its calls is seen. A jump is placed wherever
// it covers no branch and no target of a branch.
TEST_F(calls, are_entered_by_jumps_that_change_nothing) {
    const words program = {ENTRIES, "20"};
    (void)round("bare", program);
    const std::string bare = content(in("stdout"));
    surveyed = survey(program);
    for (const std::string name : {"of_numbers", "of_vectors", "of_many", "of_any_number", "global", "with_frame",
                                   "by_loop", "by_jump", "by_call", "branching", "short_one"}) {
        const bool jumps = name != "by_loop" && name != "by_jump" && name != "by_call" && name != "branching";
        const json scope = json_object({{"function", "entries::" + name}});
        const ended end = compile(surveyed, json::array({arena({"entries"}, "blocks", scope)}));
        ASSERT_EQ(end.status, 0) << end.message;
        const json whole_round = round("plan", program, in("routes"));
        EXPECT_EQ(whole_round["exit_status"], 0) << name;
        EXPECT_EQ(content(in("stdout")), bare) << name;
        const json& of = whole_round["router"]["pools"][0];
        EXPECT_EQ(of["calls"], 20) << name;
        // The first instructions of the last two depend on the compiler.
        if (name != "short_one" && name != "of_any_number") {
            EXPECT_EQ(of["trapped_calls"], jumps ? 0 : 20) << name;
        }
    }
}

TEST_F(calls, threads_have_arenas_of_their_own) {
    for (const auto& scope : {each_call, outermost_call}) {
        const json of = tried(scope, {"plain", "40", "2", "4"});
        EXPECT_EQ(of["calls"], 4 * 40 * (scope.contains("outermost") ? 1 : 3));
        EXPECT_EQ(of["resets"], of["calls"]);
        EXPECT_EQ(of["outlived_calls"], 0);
    }
}

TEST_F(calls, exceptions_end_calls) {
    const json of = tried(each_call, {"thrown", "50", "3", "2"});
    EXPECT_EQ(of["calls"], 2 * 50 * 4);
    EXPECT_EQ(of["resets"], of["calls"]);
}

TEST_F(calls, an_object_that_outlives_its_call_delays_the_reset) {
    const json of = tried(each_call, {"kept", "50", "1", "1"});
    EXPECT_EQ(of["calls"], 100);
    EXPECT_EQ(of["outlived_calls"], 100);
    EXPECT_EQ(of["resets"], 100);
}

TEST_F(calls, forked_children_have_arenas_of_their_own_calls) {
    const json of = tried(each_call, {"forked", "10", "2", "1"});
    EXPECT_EQ(of["calls"], 2 * 10 * 3) << "of the parent and its children";
    EXPECT_EQ(of["outlived_calls"], 0);
}

TEST_F(calls, without_observed_calls_an_arena_is_reset_when_empty) {
    const json of = tried(not_observed, {"plain", "50", "5", "1"});
    EXPECT_EQ(of["calls"], 0);
    EXPECT_EQ(of["allocations"], 50 * 6 * 20 + 50);
    EXPECT_EQ(of["resets"], 100) << "after each outermost call, and each object outside";
}

TEST_F(calls, an_arena_of_an_unknown_function_is_reset_when_empty) {
    const json of = tried(json_object({{"function", "shop::nothing"}}), {"plain", "50", "0", "1"});
    EXPECT_EQ(of["calls"], 0);
    EXPECT_EQ(of["resets"], 100);
}

TEST_F(calls, a_call_that_allocates_far_more_than_is_alive_caps_the_pool) {
    const json of = tried(json_object({{"function", "main"}}), {"plain", "4000", "0", "1"});
    EXPECT_GE(of["capped_bytes"].get<long>(), 1 << 20);
    EXPECT_LT(of["capped_live_bytes"].get<long>() * 4, of["capped_bytes"].get<long>());
}

}  // namespace
}  // namespace millpond::test
