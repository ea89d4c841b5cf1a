// SPDX-License-Identifier: BSL-1.0
// Owners that are found in a recording without a hint, and tried: from the program to the pool for each instance.
#include <algorithm>

#include "trial_run.hpp"

namespace millpond::test {
namespace {

class owners : public trial_run {
  protected:
    // Records the program and characterises it; its plans lie in `plans`.
    json characterised(const words& program) {
        words recording = {RECORD_PROGRAM, "--owners", "-o", in("trace.mpt"), "--"};
        recording.insert(recording.end(), program.begin(), program.end());
        EXPECT_EQ(run(recording).status, 0);
        const ended end =
            run({CHARACTERISE_PROGRAM, "--plan-out", in("plans"), "--json", in("found.json"), in("trace.mpt")});
        EXPECT_EQ(end.status, 0) << end.message;
        return program::parse_json(content(in("found.json")));
    }
    // Returns the plan with a pool for each instance that has the most objects; an empty text if no such plan exists.
    std::string plan() const {
        for (const auto& entry : std::filesystem::directory_iterator(in("plans")))
            if (entry.path().filename().string().starts_with("instances-01")) return entry.path();
        return "";
    }
};

TEST_F(owners, are_found_and_each_has_a_pool) {
    for (const char* kind : {"list", "map", "set", "strings", "nodes"}) {
        const words program = {OWNERS, kind, "20000"};
        const json found = characterised(program);
        std::vector<json> keys;
        for (const json& subsystem : found["subsystems"])
            for (const json& key : subsystem.value("owners")) keys.push_back(key);
        const auto is_right = [](const json& key) {
            return key["owners"] == 32 && key["samples"].get<long>() >= 10000;
        };
        EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), is_right)) << kind << json::array(keys);
        ASSERT_NE(plan(), "") << kind;
        survey(program);
        const ended end = trial({"--compile", plan(), "--modules", in("modules"), "-o", in("routes")});
        ASSERT_EQ(end.status, 0) << end.message;
        const json result = round("plan", program, in("routes"));
        EXPECT_EQ(result["exit_status"], 0) << kind << content(in("stderr"));
        const json& of = result["router"]["pools"][0];
        EXPECT_GE(of["allocations"].get<long>(), 10000) << kind;
        EXPECT_EQ(of["allocations"], of["deallocations"]) << kind;
        EXPECT_EQ(of["capped_bytes"], 0) << kind;
        std::filesystem::remove_all(in("plans"));
    }
}

TEST_F(owners, are_not_sampled_without_being_asked_for) {
    EXPECT_EQ(run({RECORD_PROGRAM, "-o", in("trace.mpt"), "--", OWNERS, "list", "20000"}).status, 0);
    EXPECT_EQ(run({CHARACTERISE_PROGRAM, "--json", in("found.json"), in("trace.mpt")}).status, 0);
    EXPECT_EQ(content(in("found.json")).find("\"owners\""), std::string::npos);
}

TEST_F(owners, are_sampled_on_no_memory_behind_a_stack) {
    EXPECT_EQ(run({RECORD_PROGRAM, "--owners", "-o", in("trace.mpt"), "--", OWNERS, "coroutine", "2000"}).status, 0);
}

TEST_F(owners, are_absent_if_one_instance_has_all_objects) {
    const json found = characterised({STRUCTURES, "20000"});
    for (const json& subsystem : found["subsystems"]) EXPECT_FALSE(subsystem.contains("owners")) << subsystem["name"];
    EXPECT_EQ(plan(), "");
}

TEST_F(owners, owners_of_a_damaged_plan_are_refused) {
    const json surveyed = survey({OWNERS, "list", "1"});
    const json key = program::json_object({{"module", ""}, {"address", "1a40"}, {"word", "rax"}});
    json route = trial_run::route({"main"}, "a", "multipool");
    route["instances"] = json::array({key});
    EXPECT_EQ(compile(surveyed, json::array({route})).status, 3);
    route["instances"][0]["word"] = "rbx";
    route["instances"][0]["address"] = "not hex";
    EXPECT_EQ(compile(surveyed, json::array({route})).status, 3);
    route["instances"] = json::array();
    EXPECT_EQ(compile(surveyed, json::array({route})).status, 3);
}

}  // namespace
}  // namespace millpond::test
