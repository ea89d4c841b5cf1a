// SPDX-License-Identifier: BSL-1.0
// Every workload of every suite runs its measured part in one function, so that a simulator sees it; more measured work
// means more instructions seen.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>

#include "suite_run.hpp"

namespace {

using millpond::test::ended;
using millpond::test::run;
using nlohmann::json;

struct small_rounds {
    std::string few, more;  // the second does several times the work of the first
};
const std::map<std::string, small_rounds> rounds = {
    {"structures", {"--log2_leaves 10", "--log2_leaves 13"}},
    {"locality", {"--log2_g 9 --log2_s 6 --rf 1", "--log2_g 12 --log2_s 6 --rf 1"}},
    {"utilization", {"--log2_t 16", "--log2_t 19"}},
    {"contention", {"--log2_n 8 --threads 2", "--log2_n 11 --threads 2"}},
    {"dials", {"--log2_operations 12 --threads 2", "--log2_operations 15 --threads 2"}},
    {"unique_characters", {"--calls 16", "--calls 128"}},
    {"doubles", {"--count 1000", "--count 8000"}},
    {"five_operations", {"--count 1000", "--count 8000"}},
    {"larger_blocks", {"--count 1000", "--count 8000"}},
    {"set_inserts", {"--count 1000", "--count 8000"}},
    {"containers", {"--container set --count 1000", "--container set --count 8000"}},
    {"growth", {"--length 1000 --optimisation 0", "--length 8000 --optimisation 0"}},
    {"latency", {"--length 1000 --optimisation 1", "--length 8000 --optimisation 1"}},
    {"commit_step", {"--length 100000", "--length 800000"}},
    {"give_back", {"--log2_bytes 20", "--log2_bytes 26"}},
};

struct seen {
    std::uint64_t instructions = 0, loads = 0;
};

seen seen_of(const std::string& program, const std::string& workload, const std::string& strategy,
             const std::string& values) {
    const ended done =
        run("valgrind --tool=callgrind --callgrind-out-file=/dev/null --cache-sim=yes --trace-children=yes "
            "--toggle-collect=millpond_measured_window " +
                program,
            "--workload " + workload + " --contender '" + strategy + "' --seed 1 " + values);
    EXPECT_EQ(done.status, 0) << done.out;
    seen found;
    const std::string key = "Collected :";
    const std::size_t at = done.out.find(key);
    if (at == std::string::npos) return found;
    std::istringstream numbers(done.out.substr(at + key.size()));
    numbers >> found.instructions >> found.loads;
    return found;
}

class simulated_windows : public testing::TestWithParam<const char*> {};

TEST_P(simulated_windows, are_marked_in_every_workload) {
    if (run("valgrind", "--version").status != 0) GTEST_SKIP() << "valgrind is not installed";
    const std::string program = SUITES_FOLDER "/millpond-" + std::string(GetParam()) + "-suite";
    const json list = millpond::test::listed(program);
    for (const json& workload : list["workloads"]) {
        const std::string name = workload["name"];
        const std::string strategy = workload["contenders"].back();
        ASSERT_TRUE(rounds.contains(name)) << name << " needs a small round here";
        const seen few = seen_of(program, name, strategy, rounds.at(name).few);
        const seen more = seen_of(program, name, strategy, rounds.at(name).more);
        EXPECT_GT(few.instructions, 0u) << name;
        EXPECT_GT(few.loads, 0u) << name;
        EXPECT_GT(more.instructions, few.instructions) << name;
        EXPECT_GT(more.loads, few.loads) << name;
    }
}

TEST(simulated_window, covers_only_the_access_of_benchmark_2) {
    if (run("valgrind", "--version").status != 0) GTEST_SKIP() << "valgrind is not installed";
    const auto visited = [](const std::string& sf) {
        return seen_of(SUITES_FOLDER "/millpond-p0089-suite", "locality", "AS1",
                       "--log2_g 13 --log2_s 9 --af 1 --rf 1 --sf " + sf)
            .instructions;
    };
    const std::uint64_t links = 1 << 13, before = visited("-5"), after = visited("5"), more = visited("10");
    EXPECT_GT(after, links);
    EXPECT_LT(after, 20 * links);  // a single pair of pop and push takes more than a hundred
    EXPECT_NEAR(static_cast<double>(after), static_cast<double>(before), static_cast<double>(before) / 50);
    EXPECT_NEAR(static_cast<double>(after), static_cast<double>(more), static_cast<double>(before) / 50);
}

INSTANTIATE_TEST_SUITE_P(of, simulated_windows,
                         testing::Values("p0089", "unique_chars", "suballocator", "reserve_commit"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
