// SPDX-License-Identifier: BSL-1.0
// trial_run: runs millpond-trial as a user would, in a folder of its own, and reads what it wrote.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lab/measure/measurement.hpp"
#include "lab/program/json.hpp"

namespace millpond::test {

class trial_run : public testing::Test {
  protected:
    using json = program::json;
    using words = std::vector<std::string>;

    struct ended {
        int status;
        std::string message;
    };

    void SetUp() override {
        folder = std::filesystem::temp_directory_path() / ("millpond_trial_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string in(const std::string& name) const { return folder / name; }
    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(in(name), std::ios::binary) << text;
        return in(name);
    }
    static std::string content(const std::string& path) {
        std::ifstream stream(path, std::ios::binary);
        std::ostringstream text;
        text << stream.rdbuf();
        return text.str();
    }

    ended run(words arguments) const {
        measure::start_options options;
        options.stdin_path = "/dev/null";
        options.stdout_path = in("stdout");
        options.stderr_path = in("stderr");
        const measure::measurement result = measure::measure(arguments[0], arguments, options);
        EXPECT_EQ(result.signal, 0);
        return {result.exit_status, content(in("stderr"))};
    }
    ended trial(words arguments) const {
        arguments.insert(arguments.begin(), TRIAL_PROGRAM);
        return run(std::move(arguments));
    }

    // One round that must succeed, as its result.
    json round(const std::string& variant, const words& program, const std::string& routes = "") const {
        words arguments = {"--round", variant, "--result", in("round.json")};
        if (!routes.empty()) arguments.insert(arguments.end(), {"--routes", routes});
        arguments.push_back("--");
        arguments.insert(arguments.end(), program.begin(), program.end());
        const ended end = trial(arguments);
        EXPECT_EQ(end.status, 0) << end.message;
        return program::parse_json(content(in("round.json")));
    }

    // The survey's view of the program, for plans.
    json survey(const words& program) const {
        words arguments = {"--survey", in("modules"), "--"};
        arguments.insert(arguments.end(), program.begin(), program.end());
        const ended end = trial(arguments);
        EXPECT_EQ(end.status, 0) << end.message;
        return program::parse_json(content(in("modules")));
    }

    static json route(const words& subsystems, const std::string& pool, const std::string& strategy,
                      bool huge = false) {
        return program::json_object(
            {{"subsystems", subsystems}, {"pool", pool}, {"strategy", strategy}, {"huge_pages", huge}});
    }
    // An arena for what such a scope allocates of these.
    static json arena(const words& subsystems, const std::string& pool, const json& scope) {
        json result = route(subsystems, pool, "monotonic");
        result["scope"] = scope;
        return result;
    }

    // Compiles a plan of these routes for the program that was surveyed.
    ended compile(const json& surveyed, const json& routes) const {
        const json plan = program::json_object(
            {{"schema", "millpond.plan/1"}, {"program", surveyed["processes"][0]["program"]}, {"routes", routes}});
        return trial({"--compile", file("a.plan.json", program::json_text(plan, -1)), "--modules", in("modules"), "-o",
                      in("routes")});
    }

    std::filesystem::path folder;
};

}  // namespace millpond::test
