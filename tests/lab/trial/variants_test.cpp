// SPDX-License-Identifier: BSL-1.0
// millpond-trial: under every variant malloc keeps its promises, and the router's counts are exact.
#include <signal.h>

#include "trial_run.hpp"

namespace {

using millpond::program::json, millpond::program::json_object;

const std::string multipool = "multipool", synchronized = "synchronized(multipool)";

class variants : public millpond::test::trial_run, public testing::WithParamInterface<const char*> {};

TEST_P(variants, malloc_keeps_its_promises_to_C) {
    const json result = round(GetParam(), {SEMANTICS_C});
    EXPECT_EQ(result["exit_status"], 0) << content(in("stderr"));
    EXPECT_EQ(result["schema"], "millpond.round/1");
    EXPECT_EQ(result["variant"], GetParam());
    EXPECT_GT(result["peak_bytes"].get<long>(), 1 << 20);
    EXPECT_EQ(result["router"].is_null(), std::string(GetParam()) == "bare");
}

TEST_P(variants, under_a_limit_of_addresses_malloc_keeps_its_promises) {
    // The limit holds only for the program.
    const json result = round(GetParam(), {"/bin/sh", "-c", "ulimit -v 600000; exec " + std::string(SEMANTICS_C)});
    EXPECT_EQ(result["exit_status"], 0) << content(in("stderr"));
}

INSTANTIATE_TEST_SUITE_P(each, variants, testing::Values("bare", "empty", "shared", "shared_huge", "looked_up"),
                         [](const auto& each) { return std::string(each.param); });

class plans : public millpond::test::trial_run {
  protected:
    void compiled(const words& program, const json& routes) {
        const ended end = compile(survey(program), routes);
        ASSERT_EQ(end.status, 0) << end.message;
    }
    static const json& pool(const json& result, const std::string& name) {
        for (const json& each : result["router"]["pools"])
            if (each["pool"] == name) return each;
        static const json none;
        ADD_FAILURE() << "no pool " << name;
        return none;
    }
};

TEST_F(plans, malloc_keeps_its_promises_under_every_strategy) {
    for (const std::string& strategy : {multipool, synchronized}) {
        for (const bool huge : {false, true}) {
            compiled({SEMANTICS_C}, json::array({route({"*"}, "all", strategy, huge)}));
            const json result = round("plan", {SEMANTICS_C}, in("routes"));
            EXPECT_EQ(result["exit_status"], 0) << strategy << content(in("stderr"));
            EXPECT_GT(pool(result, "all")["allocations"].get<long>(), 10000);
        }
    }
    for (const char* scope : {"phase", "thread"}) {
        compiled({SEMANTICS_C}, json::array({arena({"*"}, "all", json_object({{scope, true}}))}));
        const json result = round("plan", {SEMANTICS_C}, in("routes"));
        EXPECT_EQ(result["exit_status"], 0) << scope << content(in("stderr"));
        EXPECT_GT(pool(result, "all")["allocations"].get<long>(), 10000);
    }
}

TEST_F(plans, an_arena_is_reset_whenever_it_is_empty_and_counts_every_call) {
    compiled({STRUCTURES, "10"},
             json::array({arena({"alpha::table"}, "a", json_object({{"function", "alpha::table::fill"}})),
                          arena({"beta"}, "b", json_object({{"phase", true}}))}));
    for (const char* threads : {"1", "4"}) {
        const json result = round("plan", {STRUCTURES, "1000", threads}, in("routes"));
        EXPECT_EQ(result["exit_status"], 0);
        for (const char* name : {"a", "b"}) {
            const json& of = pool(result, name);
            EXPECT_EQ(of["allocations"], (name[0] == 'a' ? 1000 : 2000) * std::stoi(threads)) << name;
            EXPECT_EQ(of["allocations"], of["deallocations"].get<int>() + of["remote_deallocations"].get<int>());
            EXPECT_GE(of["resets"].get<long>(), 1) << name;
            EXPECT_EQ(of["capped_bytes"], 0) << name;
        }
    }
}

TEST_F(plans, blocks_keep_their_contents_over_resets_and_several_chunks) {
    compiled({CHURN, "1"}, json::array({arena({"*"}, "all", json_object({{"phase", true}}))}));
    for (const char* phase : {"1", "77", "5000"}) {
        const json result = round("plan", {CHURN, "60000", phase}, in("routes"));
        EXPECT_EQ(result["exit_status"], 0) << phase << content(in("stderr"));
        EXPECT_EQ(pool(result, "all")["capped_bytes"], 0) << phase;
        EXPECT_GE(pool(result, "all")["resets"].get<int>(), 60000 / std::stoi(phase) - 1) << phase;
    }
}

TEST_F(plans, an_arena_of_a_thread_is_reset_at_its_end_only) {
    compiled({STRUCTURES, "10"}, json::array({arena({"beta"}, "b", json_object({{"thread", true}}))}));
    EXPECT_EQ(pool(round("plan", {STRUCTURES, "1000", "3"}, in("routes")), "b")["resets"], 3);
    EXPECT_EQ(pool(round("plan", {STRUCTURES, "1000"}, in("routes")), "b")["resets"], 0) << "exit ends no thread";
}

TEST_F(plans, an_arena_that_would_hold_too_much_becomes_a_multipool) {
    compiled({CHURN, "1"}, json::array({arena({"*"}, "all", json_object({{"phase", true}}))}));
    const json result = round("plan", {CHURN, "400000"}, in("routes"));
    EXPECT_EQ(result["exit_status"], 0) << content(in("stderr"));
    const json& all = pool(result, "all");
    EXPECT_GE(all["capped_bytes"].get<long>(), 1 << 20);
    EXPECT_LT(all["capped_live_bytes"].get<long>() * 4, all["capped_bytes"].get<long>());
    EXPECT_LT(result["peak_bytes"].get<long>(), 32 << 20) << "what was allocated in all is ten times as much";
}

TEST_F(plans, exactly_the_named_subsystems_are_routed_to_their_pools) {
    compiled({STRUCTURES, "10"}, json::array({route({"alpha::table"}, "a", multipool), route({"beta"}, "b", multipool),
                                              route({"gamma_ray::log"}, "c", synchronized)}));
    const json result = round("plan", {STRUCTURES, "1000"}, in("routes"));
    EXPECT_EQ(result["exit_status"], 0);
    EXPECT_EQ(pool(result, "a")["allocations"], 1000);
    EXPECT_EQ(pool(result, "a")["deallocations"], 1000);
    EXPECT_EQ(pool(result, "b")["allocations"], 2000) << "a realloc that moves is an allocation of its pool";
    EXPECT_EQ(pool(result, "b")["deallocations"], 2000);
    EXPECT_EQ(pool(result, "c")["allocations"], 11) << "a vector that doubles to 1024";
    EXPECT_EQ(result["router"]["processes"], 1);
    EXPECT_EQ(result["router"]["look_up_misses"], 0);
    EXPECT_EQ(result["router"]["unlisted_modules"], 0);
}

TEST_F(plans, other_subsystems_go_to_the_pool_of_the_star) {
    compiled({STRUCTURES, "10"},
             json::array({route({"alpha::table"}, "a", multipool), route({"*"}, "rest", synchronized)}));
    const json result = round("plan", {STRUCTURES, "1000"}, in("routes"));
    EXPECT_EQ(pool(result, "a")["allocations"], 1000);
    EXPECT_GE(pool(result, "rest")["allocations"].get<long>(), 2011);
    EXPECT_EQ(result["router"]["passed"]["unrouted"], 0);
}

TEST_F(plans, routes_of_one_pool_share_it) {
    compiled({STRUCTURES, "10"},
             json::array({route({"alpha::table"}, "both", multipool), route({"beta"}, "both", multipool)}));
    const json result = round("plan", {STRUCTURES, "500"}, in("routes"));
    ASSERT_EQ(result["router"]["pools"].size(), 1u);
    EXPECT_EQ(pool(result, "both")["allocations"], 1500);
}

TEST_F(plans, the_empty_plan_routes_nothing) {
    compiled({STRUCTURES, "10"}, json::array());
    const json result = round("plan", {STRUCTURES, "500"}, in("routes"));
    EXPECT_EQ(result["exit_status"], 0);
    EXPECT_TRUE(result["router"]["pools"].empty());
    EXPECT_GE(result["router"]["passed"]["unrouted"].get<long>(), 1000);
}

TEST_F(plans, only_synchronized_pools_serve_more_than_one_thread) {
    compiled({STRUCTURES, "10"},
             json::array({route({"alpha::table"}, "a", multipool), route({"beta"}, "b", synchronized)}));
    const json result = round("plan", {STRUCTURES, "2000", "4"}, in("routes"));
    EXPECT_EQ(result["exit_status"], 0);
    EXPECT_EQ(pool(result, "b")["allocations"], 4 * 4000);
    EXPECT_EQ(pool(result, "b")["refused_thread"], 0);
    const json& single = pool(result, "a");
    EXPECT_EQ(single["allocations"].get<int>() + single["refused_thread"].get<int>(), 4 * 2000);
    EXPECT_GE(single["allocations"].get<long>(), 2000);
    EXPECT_EQ(single["allocations"], single["deallocations"].get<int>() + single["remote_deallocations"].get<int>());
}

TEST_F(plans, another_program_is_left_unchanged_and_counted) {
    compiled({STRUCTURES, "10"}, json::array({route({"*"}, "all", synchronized)}));
    for (const char* variant : {"plan", "shared", "looked_up"}) {
        const json result = round(variant, {"/bin/sh", "-c", std::string(STRUCTURES) + " 100; true"}, in("routes"));
        EXPECT_EQ(result["exit_status"], 0);
        EXPECT_EQ(result["router"]["processes"], 1) << variant << ": the program that the plan is about";
        EXPECT_GE(result["router"]["other_processes"].get<long>(), 1) << variant << ": the shell";
    }
}

TEST_F(plans, a_pairs_cost_is_measured_for_every_strategy_in_every_round) {
    const ended end = trial({"--pair-costs", "2"});
    ASSERT_EQ(end.status, 0) << end.message;
    const json costs = millpond::program::parse_json(content(in("stdout")));
    EXPECT_EQ(costs["schema"], "millpond.pair_costs/1");
    ASSERT_EQ(costs["seconds"].size(), 3u);
    for (const char* strategy : {"multipool", "synchronized(multipool)", "monotonic"})
        EXPECT_EQ(costs["seconds"][strategy].size(), 2u) << strategy;
    EXPECT_EQ(costs["look_up_seconds"].size(), 2u);
    EXPECT_EQ(trial({"--pair-costs", "0"}).status, 2);
}

TEST_F(plans, counts_survive_a_kill) {
    const json result = round("shared", {"/bin/sh", "-c", std::string(STRUCTURES) + " 100; kill -9 $$"});
    EXPECT_EQ(result["signal"], SIGKILL);
    EXPECT_TRUE(result["exit_status"].is_null());
    EXPECT_GT(result["router"]["pools"][0]["allocations"].get<long>(), 100);
}

TEST_F(plans, the_programs_streams_and_arguments_are_its_own) {
    const std::string input = file("input", "one\ntwo\n");
    const ended end = trial({"--round", "shared", "--result", in("round.json"), "--stdin", input, "--stdout", in("out"),
                             "--stderr", in("err"), "--", "/bin/sh", "-c", "cat; echo \"$1\" >&2", "sh", "--result"});
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(content(in("out")), "one\ntwo\n");
    EXPECT_EQ(content(in("err")), "--result\n");
}

}  // namespace
