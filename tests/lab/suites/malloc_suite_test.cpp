// SPDX-License-Identifier: BSL-1.0
// The program of the malloc benchmarks: it does the same work under every preloaded malloc, and checks contents.
#include <gtest/gtest.h>

#include <string>

#include "suite_run.hpp"

namespace {

using millpond::test::ended;
using nlohmann::json;

const std::string suite = MALLOC_SUITE " --contender malloc --seed 3 --workload ";
const std::string preloaded = "env LD_PRELOAD=" MALLOC_LIBRARY " " + suite;

TEST(malloc_suite, work_is_the_same_on_every_malloc) {
    for (const char* workload :
         {"own --units 20000 --threads 2", "handover --units 20000 --threads 2", "handover --units 100 --threads 1",
          "larson --units 20000 --lives 5", "random_sizes --units 20000 --live 500 --most 1000000",
          "churn_sizes --live 2000 --phases 5", "grow --bytes 3000000 --blocks 2 --units 1"}) {
        const json bare = millpond::test::round_of(suite, workload);
        const json other = millpond::test::round_of(preloaded, workload);
        EXPECT_EQ(bare["checksum"], other["checksum"]) << workload;
        EXPECT_EQ(bare["units"], other["units"]) << workload;
        EXPECT_NE(bare["checksum"], "0") << workload;
        EXPECT_GT(bare["cpu_seconds"], 0.0) << workload;
    }
}

TEST(malloc_suite, blocks_grow_to_the_bytes_asked_for) {
    EXPECT_EQ(millpond::test::round_of(suite, "grow --bytes 100000 --blocks 3 --units 2")["checksum"], "600000");
}

TEST(malloc_suite, stress_checks_contents_and_tells_the_growth) {
    const json line = millpond::test::round_of(preloaded, "stress --seconds 1 --threads 3 --live 200 --most 4096");
    EXPECT_GT(line["units"], 0.0);
    EXPECT_LE(line["slope_low"], line["slope_share"]);
    EXPECT_GE(line["slope_high"], line["slope_share"]);
    EXPECT_GT(line["mean_bytes"], 0.0);
}

TEST(malloc_suite, littering_is_refused) {
    const ended refused = millpond::test::run(suite, "own --litter 0.5");
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_NE(refused.out.find("leave --litter out"), std::string::npos) << refused.out;
}

}  // namespace
