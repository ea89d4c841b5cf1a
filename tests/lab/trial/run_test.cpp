// SPDX-License-Identifier: BSL-1.0
// millpond-run: keeps the program's status and streams, uses the plan's pools, and refuses plans of other builds.
#include <signal.h>

#include "trial_run.hpp"

namespace {

using millpond::program::json_object, millpond::program::json_text;

class run_program : public millpond::test::trial_run {
  protected:
    std::string plan_of(const json& routes, const std::string& build_id = "") const {
        const json surveyed = survey({STRUCTURES, "10"});
        json program = surveyed["processes"][0]["program"];
        if (!build_id.empty()) program["build_id"] = build_id;
        const json plan = json_object({{"schema", "millpond.plan/1"}, {"program", program}, {"routes", routes}});
        return file("one.plan.json", json_text(plan, -1));
    }
    ended under(const std::string& plan, const words& program, const words& options = {}) const {
        words arguments = {RUN_PROGRAM, "--plan", plan};
        arguments.insert(arguments.end(), options.begin(), options.end());
        arguments.push_back("--");
        arguments.insert(arguments.end(), program.begin(), program.end());
        return run(arguments);
    }
    json routes() const {
        return json::array(
            {route({"alpha::table"}, "tables", "multipool"), arena({"beta"}, "trees", json_object({{"phase", true}}))});
    }
};

TEST_F(run_program, leaves_status_and_streams_to_the_program) {
    const std::string plan = plan_of(routes());
    const ended end = under(plan, {STRUCTURES, "1000"});
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.message, "");
    EXPECT_EQ(content(in("stdout")), "done\n");
    const ended other = under(plan, {"/bin/sh", "-c", std::string(STRUCTURES) + " 100; exit 7"});
    EXPECT_EQ(other.status, 7);
    EXPECT_EQ(content(in("stdout")), "done\n");
}

TEST_F(run_program, says_at_the_end_what_each_pool_did) {
    const ended end = under(plan_of(routes()), {STRUCTURES, "1000"}, {"--stats"});
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(content(in("stdout")), "done\n");
    std::istringstream lines(end.message);
    std::string millpond, name;
    long allocations = 0, frees = 0;
    std::string heading;
    std::getline(lines, heading);
    EXPECT_NE(heading.find("allocations"), std::string::npos) << end.message;
    lines >> millpond >> name >> allocations >> frees;
    EXPECT_EQ(name, "tables");
    EXPECT_EQ(allocations, 1000);
    EXPECT_EQ(frees, 1000);
    EXPECT_NE(end.message.find("trees"), std::string::npos);
}

TEST_F(run_program, dies_as_the_program_does) {
    const std::string plan = plan_of(routes());
    const ended end = run(
        {"/bin/sh", "-c", std::string(RUN_PROGRAM) + " --plan " + plan + " -- /bin/sh -c 'kill -TERM $$'; echo $?"});
    EXPECT_EQ(content(in("stdout")), std::to_string(128 + SIGTERM) + "\n") << end.message;
}

TEST_F(run_program, refuses_another_build_and_files_that_are_no_plan) {
    const ended other = under(plan_of(routes(), "00ff00ff"), {STRUCTURES, "10"});
    EXPECT_EQ(other.status, 3);
    EXPECT_NE(other.message.find("the plan belongs to "), std::string::npos) << other.message;
    EXPECT_EQ(content(in("stdout")), "") << "the program did not run";
    EXPECT_EQ(under(in("missing"), {STRUCTURES, "10"}).status, 3);
    EXPECT_EQ(run({RUN_PROGRAM, "--", STRUCTURES}).status, 2);
    EXPECT_EQ(run({RUN_PROGRAM, "--plan", plan_of(routes())}).status, 2);
    EXPECT_EQ(under(plan_of(routes()), {"/no/such/program"}).status, 5);
}

TEST_F(run_program, exports_a_library_that_pools_only_the_plans_program) {
    const std::string library = in("pools.so");
    ASSERT_EQ(run({RUN_PROGRAM, "--plan", plan_of(routes()), "--export", library}).status, 0);
    const words preloaded = {"/usr/bin/env", "LD_PRELOAD=" + library, "MILLPOND_STATS=1", STRUCTURES, "1000"};
    const ended end = run(preloaded);
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(content(in("stdout")), "done\n");
    EXPECT_NE(end.message.find("millpond: tables: 1000 allocations, 1000 frees"), std::string::npos) << end.message;
    EXPECT_NE(end.message.find("millpond: trees: 2000 allocations, 2000 frees"), std::string::npos) << end.message;
    const ended quiet = run({"/usr/bin/env", "LD_PRELOAD=" + library, STRUCTURES, "1000"});
    EXPECT_EQ(quiet.message, "");
    const ended other = run({"/usr/bin/env", "LD_PRELOAD=" + library, "MILLPOND_STATS=1", "/bin/echo", "hello"});
    EXPECT_EQ(other.message, "") << "the plan belongs to another program";
    EXPECT_EQ(content(in("stdout")), "hello\n");
}

TEST_F(run_program, says_to_another_build_that_nothing_is_pooled) {
    const std::string copy = in("structures"), library = in("pools.so");
    std::filesystem::copy_file(STRUCTURES, copy);
    json plan = millpond::program::parse_json(content(plan_of(routes())));
    plan["program"]["path"] = copy;
    ASSERT_EQ(run({RUN_PROGRAM, "--plan", file("two.plan.json", json_text(plan, -1)), "--export", library}).status, 0);
    std::filesystem::copy_file("/bin/echo", copy, std::filesystem::copy_options::overwrite_existing);
    const ended end = run({"/usr/bin/env", "LD_PRELOAD=" + library, copy, "hello"});
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(content(in("stdout")), "hello\n");
    EXPECT_NE(end.message.find("is not the build that the preloaded plan was made for"), std::string::npos);
}

TEST_F(run_program, takes_either_a_program_or_an_export) {
    const std::string plan = plan_of(routes());
    EXPECT_EQ(run({RUN_PROGRAM, "--plan", plan, "--export", in("x.so"), "--", STRUCTURES}).status, 2);
    EXPECT_EQ(run({RUN_PROGRAM, "--plan", plan, "--export", in("no/x.so")}).status, 4);
}

TEST_F(run_program, says_that_the_plans_program_did_not_run) {
    const ended end = under(plan_of(routes()), {"/bin/sh", "-c", "exit 3"});
    EXPECT_EQ(end.status, 3);
    EXPECT_NE(end.message.find("nothing was pooled"), std::string::npos) << end.message;
}

}  // namespace
