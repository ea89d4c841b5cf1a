// SPDX-License-Identifier: BSL-1.0
// D of ten workloads against callgrind's count of the same window. A capture gives the exact count; each of five
// ordinary recordings is within a factor of 1.5, or null. No time is compared, so a busy machine gives the same result.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "../references/capture_run.hpp"
#include "callgrind_profile.hpp"

namespace {

using millpond::test::command_result;
using nlohmann::json;

// True for the allocator's functions, by the names that callgrind gives them.
bool is_operation(const std::string& name) {
    if (name.starts_with("operator new") || name.starts_with("operator delete")) return true;
    const std::string plain = name.substr(0, name.find_first_of("@'"));
    return plain == "malloc" || plain == "calloc" || plain == "realloc" || plain == "free";
}

class density : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override { MILLPOND_SKIP_WITHOUT_VALGRIND(); }

    std::string program() const { return std::string(DENSITY_WORKLOADS " ") + GetParam(); }

    double truth() const {
        const std::string profile = folder_ / "profile";
        const command_result done(
            "LD_BIND_NOW=1 valgrind --tool=callgrind "
            "--toggle-collect=millpond_measured_window --callgrind-out-file=" +
            profile + " " + program() + " 2>&1");
        EXPECT_EQ(done.status, 0) << done.output;
        const millpond::test::instructions found = millpond::test::counted_in(profile, is_operation);
        EXPECT_GT(found.allocator, 0);
        return found.allocator / found.all;
    }

    json dimension_d(const std::string& trace) const {
        const command_result done(MILLPOND_CHARACTERISE " --group 'subject=work*' " + trace);
        EXPECT_EQ(done.status, 0) << done.output.substr(0, 400);
        const json all = json::parse(done.output, nullptr, false);
        for (const json& each : all.value("subsystems", json::array())) {
            if (each["name"] == "subject") return each["dvluc"]["D"];
        }
        ADD_FAILURE() << "no subsystem of work in " << done.output.substr(0, 400);
        return json::object();
    }

    millpond::test::folder folder_;
};

TEST_P(density, counted_is_what_callgrind_counts) {
    const std::string trace = folder_ / "trace.mpt";
    const command_result done("LD_BIND_NOW=1 " +
                              millpond::test::capture_command(trace, program(), "--window millpond_measured_window") +
                              " 2>&1");
    ASSERT_EQ(done.status, 0) << done.output;
    const json found = dimension_d(trace);
    const double expected = truth();
    std::printf("%s: callgrind %.4f, references %s\n", GetParam(), expected, found["value"].dump().c_str());
    EXPECT_EQ(found["method"], "references");
    EXPECT_EQ(found["kind"], "counted");
    ASSERT_TRUE(found["value"].is_number()) << found;
    EXPECT_NEAR(found["value"].get<double>(), expected, expected / 200);
}

TEST_P(density, is_near_or_null_for_ordinary_recordings) {
    const double expected = truth();
    const std::string trace = folder_ / "trace.mpt";
    std::printf("%s: callgrind %.4f, recordings", GetParam(), expected);
    for (int i = 0; i < 5; ++i) {
        const command_result done(RECORD_PROGRAM " -o " + trace + " -- " + program() + " 2>&1");
        ASSERT_EQ(done.status, 0) << done.output;
        const json found = dimension_d(trace);
        std::printf(" %s (at least %s)", found["value"].dump().c_str(), found["absolute"]["at_least"].dump().c_str());
        EXPECT_EQ(found["method"], "CPU time");
        // Null: no CPU time is known in the window, as of a short run.
        if (const json& least = found["absolute"]["at_least"]; least.is_number())
            EXPECT_LE(least.get<double>(), expected) << found;
        if (found["value"].is_null()) {
            EXPECT_TRUE(found["why_null"].is_string());
            continue;
        }
        EXPECT_LE(std::abs(std::log(found["value"].get<double>() / expected)), std::log(1.5)) << found;
    }
    std::printf("\n");
}

INSTANTIATE_TEST_SUITE_P(workloads, density,
                         testing::Values("list_walked", "list_left", "list_shuffled", "pairs", "pairs_written",
                                         "pairs_large", "growing", "texts_in_tree", "sparse", "two_threads"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
