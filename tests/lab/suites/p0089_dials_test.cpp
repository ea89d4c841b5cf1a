// SPDX-License-Identifier: BSL-1.0
// Dials in, DVLUC out: the workload `dials` recorded under AS1, and what millpond-characterise measures of it.
//
//   V, U  counted: what is left between dial and measurement is rounding to whole blocks, and the draw of the sizes
//         that are alive. Tolerances: 0.01, and a twentieth of the dial
//   D     time in operations / CPU time, which a machine decides. With D1 what is measured where the dial says that
//         there is nothing else (the turn itself is), and k the time of a pair in units of the nominal one,
//         1/D − 1/D1 = (1/dial − 1) / k for every setting: only D1 and k are the machine's. Tolerance: k from 1/4
//         to 4; and each setting's D is above that of the one before
//   C     d0 × d1 for two threads, d the time of each inside / the wall clock, which falls with whatever else runs on
//         the machine. C / (d0 + d1)² does not: it says how unequal the threads are. Tolerance: 3, as much as an
//         operation may take longer in one thread than in the other; and the same order
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "../trace/recording.hpp"
#include "suite_run.hpp"

namespace {

using nlohmann::json;

// Returns the dimensions of the rings' blocks.
json measured(const std::string& dials) {
    const millpond::test::scratch_folder folder;
    const std::string trace = folder.path("trace.mpt");
    const auto done = millpond::test::run(
        RECORD_PROGRAM,
        "-o " + trace + " -- " P0089_SUITE " --workload dials --contender AS1 --seed 5 --log2_operations 19" + dials);
    EXPECT_EQ(done.status, 0) << done.out;
    const auto found = millpond::test::run(CHARACTERISE_PROGRAM, "--group 'rings=*visitor*' " + trace);
    const json all = json::parse(found.out, nullptr, false);
    EXPECT_TRUE(all.is_object()) << found.out.substr(0, 400);
    for (const json& each : all.value("subsystems", json::array())) {
        if (each["name"] == "rings") return each;
    }
    ADD_FAILURE() << "no subsystem of rings in " << found.out.substr(0, 400);
    return json::object();
}

double value(const json& subsystem, const char* dimension) {
    return subsystem["dvluc"][dimension]["value"].get<double>();
}

// Returns the share of the CPU time in operations. It replaces D, which an ordinary recording does not tell. An
// estimate above the total is not used: then all of the time counts.
double share_of_time(const json& subsystem) {
    const json& times = subsystem["dvluc"]["D"]["absolute"];
    return std::min(1.0, times["operation_seconds"].get<double>() / times["cpu_seconds"].get<double>());
}

std::string setting(const char* dial, int thousandths) {
    return std::string(" --") + dial + " " + std::to_string(thousandths);
}

TEST(p0089_dials, variation_comes_out_as_it_went_in) {
    for (const int dial : {0, 250, 500, 800, 900, 960}) {
        EXPECT_NEAR(value(measured(setting("variation", dial)), "V"), dial / 1000.0, 0.01) << dial;
    }
}

TEST(p0089_dials, utilization_comes_out_as_it_went_in) {
    for (const int dial : {10, 50, 100, 300, 900, 1000}) {
        EXPECT_NEAR(value(measured(setting("utilization", dial)), "U"), dial / 1000.0, dial / 20000.0) << dial;
    }
    const std::string two = " --threads 2 --contention 40";
    EXPECT_NEAR(value(measured(setting("utilization", 300) + two), "U"), 0.3, 0.015);
}

// Returns the least share of several recordings; other work on the machine can only add to the time of an operation.
double least_share_of_time(const std::string& dials) {
    double found = 1;
    for (int i = 0; i < 3; ++i) found = std::min(found, share_of_time(measured(dials)));
    return found;
}

// Returns C / (time inside of both threads / the wall clock)², the median of several recordings.
double evenness(int contention) {
    double found[5];
    for (double& each : found) {
        const json of = measured(setting("contention", contention) + " --threads 2");
        EXPECT_EQ(of["threads"], 2);
        const double inside =
            of["operation_seconds"].get<double>() / of["dvluc"]["C"]["absolute"]["duration_seconds"].get<double>();
        each = value(of, "C") / (inside * inside);
    }
    std::sort(std::begin(found), std::end(found));
    return found[2];
}

TEST(p0089_dials, time_in_operations_rises_with_the_dial_of_density) {
    const double most = least_share_of_time(setting("density", 1000));
    double before = 0;
    for (const int dial : {50, 200, 500}) {
        const double found = least_share_of_time(setting("density", dial));
        const double k = (1000.0 / dial - 1) / (1 / found - 1 / most);
        EXPECT_GT(found, before) << dial;
        EXPECT_GT(k, 0.25) << dial << ": " << found;
        EXPECT_LT(k, 4.0) << dial << ": " << found;
        before = found;
    }
    EXPECT_GT(most, before);
}

TEST(p0089_dials, contention_rises_with_its_dial) {
    EXPECT_EQ(value(measured(""), "C"), 0);
    constexpr double both_inside = 2 * 0.4;  // the density that is usual, of two threads
    double before = 0;
    for (const int dial : {40, 80, 160}) {
        const double found = evenness(dial);
        const double wanted = dial / 1000.0 / (both_inside * both_inside);
        EXPECT_GT(found, before) << dial;
        EXPECT_GT(found, wanted / 3) << dial;
        EXPECT_LT(found, wanted * 3) << dial;
        before = found;
    }
}

}  // namespace
