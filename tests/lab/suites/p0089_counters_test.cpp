// SPDX-License-Identifier: BSL-1.0
// Counters around the window of a round: each is a value or has a reason, and counting changes no work.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "suite_run.hpp"

namespace {

using millpond::test::ended;
using millpond::test::run;
using nlohmann::json;

const std::string suite = P0089_SUITE;
const std::string round = "--workload structures --contender AS7 --log2_leaves 10";

json line_of(const std::string& program, const std::string& arguments) {
    const ended done = run(program, arguments);
    EXPECT_EQ(done.status, 0) << done.out;
    json line = json::parse(done.out, nullptr, false);
    EXPECT_TRUE(line.is_object()) << done.out;
    return line;
}

TEST(p0089_counters, are_not_there_unless_they_are_asked_for) {
    EXPECT_FALSE(line_of(suite, round).contains("counters"));
}

TEST(p0089_counters, each_is_a_value_or_null_with_the_reason) {
    for (const std::string more : {"", " --litter 0.5"}) {
        const json line = line_of(suite, round + more + " --counters --event taken=0xc4 --event page-faults");
        for (const std::string name : {"instructions", "cycles", "l1d_loads", "stores", "l1d_misses", "llc_loads",
                                       "llc_misses", "stalled_cycles", "l1d_stall_cycles", "branch_misses",
                                       "dtlb_misses", "page_walks", "taken", "page-faults"}) {
            const json& found = line["counters"][name];
            EXPECT_NE(found["value"].is_null(), found["why_null"].is_null()) << name << ": " << found;
            EXPECT_EQ(found["value"].is_null(), found["running_share"].is_null()) << name << ": " << found;
        }
        EXPECT_EQ(line["checksum"], line_of(suite, round)["checksum"]);
    }
}

// Shuffling with a monotonic allocator takes new pages all the time: 5 × 2^15 links of 24 bytes are 960 pages. Visits
// take none.
TEST(p0089_counters, count_only_the_access_of_benchmark_2) {
    for (const std::string sf : {"5", "-5"}) {
        const json line =
            line_of(suite, "--workload locality --contender AS3 --log2_g 15 --log2_s 9 --af 1 --rf 1 --sf " + sf +
                               " --event page-faults");
        EXPECT_LT(line["metrics"]["page_faults"], 100) << sf;
        const json& counted = line["counters"]["page-faults"]["value"];
        if (!counted.is_null()) EXPECT_LT(counted, 100) << sf;
        EXPECT_GT(line["metrics"]["peak_bytes"], (sf == "5" ? 6 : 1) * (24 << 15)) << sf;
    }
}

// A shell stands for perf: it reads a command from one pipe and answers in the other.
TEST(p0089_counters, an_outer_perf_is_told_when_the_window_begins_and_ends) {
    const std::string perf =
        "d=$(mktemp -d); mkfifo $d/c $d/a; exec 8<>$d/c 9<>$d/a; "
        "{ read x <&8; echo $x >$d/said; echo ack >&9; read x <&8; echo $x >>$d/said; echo ack >&9; } & ";
    const std::string after = "; s=$?; wait; cat $d/said; rm -r $d; exit $s";
    for (const std::string& how :
         {suite + " " + round + " --perf-control 8,9", "MILLPOND_PERF_CONTROL=8,9 " + suite + " " + round}) {
        const ended done = run(perf + how + after, "");
        EXPECT_EQ(done.status, 0) << done.out;
        EXPECT_NE(done.out.find("enable\ndisable\n"), std::string::npos) << done.out;
    }
}

TEST(p0089_counters, wrong_options_are_refused) {
    for (const std::string wrong :
         {"--raw-event taken", "--raw-event =0xc4", "--raw-event taken=c4", "--raw-event taken=0xg",
          "--raw-event taken=0x", "--raw-event taken=0x10000000000000000", "--perf-control x"}) {
        const ended done = run(suite, round + " " + wrong);
        EXPECT_EQ(done.status, 2) << wrong << ": " << done.out;
    }
    EXPECT_EQ(run(suite, round + " --perf-control 987,988").status, 4);
}

}  // namespace
