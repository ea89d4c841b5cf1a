// SPDX-License-Identifier: BSL-1.0
// Errors of millpond-trial: each has the shared exit status, prints one line with the cause, and leaves no partial
// files.
#include "trial_run.hpp"

namespace {

class errors : public millpond::test::trial_run {
  protected:
    void expect_refused(const words& arguments, int status, const std::string& mentioned) {
        const ended end = trial(arguments);
        EXPECT_EQ(end.status, status) << end.message;
        EXPECT_TRUE(end.message.starts_with("millpond: ")) << end.message;
        EXPECT_EQ(end.message.find('\n'), end.message.size() - 1) << "one line: " << end.message;
        EXPECT_NE(end.message.find(mentioned), std::string::npos) << end.message;
        EXPECT_FALSE(std::filesystem::exists(in("result"))) << "no result was promised";
    }
    words round_of(const std::string& program) {
        return {"--round", "shared", "--result", in("result"), "--", program};
    }
};

TEST_F(errors, a_wrong_command_line_is_refused) {
    expect_refused({}, 2, "");
    expect_refused({"--round", "faster", "--result", in("result"), "--", "true"}, 2, "faster");
    expect_refused({"--round", "bare", "--", "true"}, 2, "--result");
    expect_refused({"--round", "bare", "--result", in("result")}, 2, "--");
    expect_refused({"--round", "plan", "--result", in("result"), "--", "true"}, 2, "--routes");
    expect_refused({"--survey", in("modules")}, 2, "--");
    expect_refused({"--compile", in("plan")}, 2, "--modules");
    expect_refused({"--compile", in("plan"), "--survey", in("modules")}, 2, "");
}

TEST_F(errors, untriable_programs_are_refused) {
    expect_refused(round_of("no-such-program"), 5, "no-such-program");
    expect_refused(round_of(file("plain", "not a program\n")), 5, "plain");
    expect_refused(round_of(folder), 5, "");
    expect_refused(round_of(STATIC_PROGRAM), 4, "static");
}

TEST_F(errors, unwritable_places_are_refused) {
    expect_refused({"--round", "bare", "--result", in("no/such/folder"), "--", "true"}, 4, "no/such/folder");
    expect_refused({"--survey", in("no/such/folder"), "--", "true"}, 4, "no/such/folder");
    expect_refused({"--round", "bare", "--result", in("result"), "--stdin", in("missing"), "--", "true"}, 3, "missing");
    expect_refused({"--round", "bare", "--result", in("result"), "--stdout", in("no/folder"), "--", "true"}, 4,
                   "no/folder");
}

TEST_F(errors, an_unknown_subsystem_is_named_with_those_near_it) {
    const json surveyed = survey({STRUCTURES, "10"});
    const ended end = compile(surveyed, json::array({route({"alpha::tabel"}, "a", "multipool")}));
    EXPECT_EQ(end.status, 2) << end.message;
    EXPECT_NE(end.message.find("\"alpha::tabel\""), std::string::npos) << end.message;
    EXPECT_NE(end.message.find("\"alpha::table\""), std::string::npos) << end.message;
    EXPECT_FALSE(std::filesystem::exists(in("routes")));
}

TEST_F(errors, unknown_strategies_and_damaged_plans_are_refused) {
    const json surveyed = survey({STRUCTURES, "10"});
    EXPECT_EQ(compile(surveyed, json::array({route({"beta"}, "b", "winking")})).status, 2);
    expect_refused({"--compile", in("missing"), "--modules", in("modules"), "-o", in("routes")}, 3, "missing");
    expect_refused({"--compile", file("half", "{\"schema\":"), "--modules", in("modules"), "-o", in("routes")}, 3,
                   "half");
    file("modules", "[]");
    EXPECT_EQ(compile(surveyed, json::array()).status, 3) << "damaged modules";
}

TEST_F(errors, a_plan_of_another_build_is_refused) {
    json surveyed = survey({STRUCTURES, "10"});
    surveyed["processes"][0]["program"]["build_id"] = "00ff";
    const ended end = compile(surveyed, json::array());
    EXPECT_EQ(end.status, 3) << end.message;
    EXPECT_NE(end.message.find("00ff"), std::string::npos) << end.message;
}

TEST_F(errors, every_truncation_of_the_routes_is_damaged_input) {
    ASSERT_EQ(compile(survey({STRUCTURES, "10"}), json::array({route({"*"}, "all", "multipool")})).status, 0);
    const std::string whole = content(in("routes"));
    for (std::size_t length = 0; length < whole.size(); length += 1 + whole.size() / 20) {
        const std::string cut = file("cut", whole.substr(0, length));
        expect_refused({"--round", "plan", "--routes", cut, "--result", in("result"), "--", STRUCTURES}, 3, "cut");
    }
    expect_refused({"--round", "plan", "--routes", in("none"), "--result", in("result"), "--", STRUCTURES}, 3, "none");
}

TEST_F(errors, the_programs_own_failure_is_a_result_and_no_error) {
    EXPECT_EQ(round("shared", {"/bin/sh", "-c", "exit 5"})["exit_status"], 5);
    EXPECT_EQ(round("bare", {"/bin/false"})["exit_status"], 1);
}

}  // namespace
