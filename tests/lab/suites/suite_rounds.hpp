// SPDX-License-Identifier: BSL-1.0
// suite_rounds: checks for the program of every published experiment: rounds can be parsed, all contenders do the same
// work, and wrong usage is refused with the known names.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "suite_run.hpp"

namespace millpond::test {

class suite_rounds {
  public:
    explicit suite_rounds(std::string program) : program_(std::move(program)) {}

    [[nodiscard]] const std::string& program() const { return program_; }

    // Returns the line of one round with seed 7.
    [[nodiscard]] nlohmann::json round(const std::string& workload, const std::string& contender,
                                       const std::string& more) const {
        return round_of(program_, "--workload " + workload + " --contender '" + contender + "' --seed 7" + more);
    }

    // Expects success of every contender whose name contains `only`, with these units and one checksum. Returns the
    // checksum.
    std::string expect_same_work(const std::string& workload, const std::string& more, std::uint64_t units,
                                 const std::string& only = "") const {
        const auto has = [&](const std::string& name) { return name.find(only) != std::string::npos; };
        return expect_same_work_of(workload, more, units, has);
    }

    // The same of those that `takes` names.
    template <class Takes>
    std::string expect_same_work_of(const std::string& workload, const std::string& more, std::uint64_t units,
                                    Takes takes) const {
        std::map<std::string, std::string> checksums;
        for (const std::string& contender : contenders_of(program_, workload)) {
            if (!takes(contender)) continue;
            const nlohmann::json line = round(workload, contender, more);
            EXPECT_EQ(line.value("status", ""), "ok") << line.dump();
            EXPECT_EQ(line.value("workload", ""), workload);
            EXPECT_EQ(line.value("contender", ""), contender);
            EXPECT_EQ(line.value("units", std::uint64_t{0}), units) << line.dump();
            checksums[contender] = line.value("checksum", "");
        }
        EXPECT_GT(checksums.size(), 5u);
        for (const auto& [contender, sum] : checksums) {
            EXPECT_EQ(sum, checksums.begin()->second) << workload << more << ": " << contender;
        }
        return checksums.empty() ? std::string() : checksums.begin()->second;
    }

    // Every name and alias of the list is there once, and every alias means its name.
    void expect_aliases(const std::string& workload, const std::string& small,
                        const std::map<std::string, std::string>& expected) const {
        std::map<std::string, std::string> by_alias;
        std::set<std::string> names;
        const nlohmann::json list = listed(program_);
        for (const nlohmann::json& each : list["contenders"]) {
            EXPECT_TRUE(names.insert(each["name"]).second) << each;
            if (each["alias"].is_null()) continue;
            EXPECT_TRUE(by_alias.emplace(each["alias"], each["name"]).second) << each;
        }
        EXPECT_EQ(by_alias, expected);
        for (const auto& [alias, name] : by_alias) EXPECT_EQ(round(workload, alias, small)["contender"], name);
    }

    // Each of these command lines is refused with one line that holds its text.
    void expect_refused(const std::map<std::string, std::string>& wrong) const {
        for (const auto& [arguments, part] : wrong) {
            const ended done = run(program_, arguments);
            EXPECT_EQ(done.status, 2) << arguments << ": " << done.out;
            EXPECT_TRUE(done.out.starts_with("millpond: ")) << done.out;
            EXPECT_NE(done.out.find(part), std::string::npos) << arguments << ": " << done.out;
            EXPECT_EQ(done.out.find('\n'), done.out.size() - 1) << done.out;
        }
    }

  private:
    std::string program_;
};

}  // namespace millpond::test
