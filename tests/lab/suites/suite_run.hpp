// SPDX-License-Identifier: BSL-1.0
// suite_run: runs a suite's program as the conductor does, and parses its output.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace millpond::test {

struct ended {
    int status = -1;
    std::string out;  // of both streams
};

inline ended run(const std::string& program, const std::string& arguments) {
    const std::string command = program + " " + arguments + " 2>&1";
    ended result;
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> part{};
    for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
        result.out.append(part.data(), got);
    }
    const int status = ::pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

inline nlohmann::json listed(const std::string& program) {
    const ended list = run(program, "--list");
    EXPECT_EQ(list.status, 0) << list.out;
    return nlohmann::json::parse(list.out, nullptr, false);
}

// Returns a round's line with its metrics and details by their names.
inline nlohmann::json with_figures(nlohmann::json line) {
    for (const char* const part : {"metrics", "details"}) {
        if (line.contains(part)) line.update(line[part]);
    }
    return line;
}

// Runs one round, which must succeed. Returns its line, with_figures.
inline nlohmann::json round_of(const std::string& program, const std::string& arguments) {
    const ended done = run(program, arguments);
    EXPECT_EQ(done.status, 0) << arguments << ": " << done.out;
    nlohmann::json line = nlohmann::json::parse(done.out, nullptr, false);
    EXPECT_TRUE(line.is_object()) << arguments << ": " << done.out;
    return with_figures(std::move(line));
}

inline std::vector<std::string> contenders_of(const std::string& program, const std::string& workload) {
    const nlohmann::json list = listed(program);
    for (const nlohmann::json& each : list["workloads"]) {
        if (each["name"] == workload) return each["contenders"];
    }
    ADD_FAILURE() << "no workload " << workload;
    return {};
}

}  // namespace millpond::test
