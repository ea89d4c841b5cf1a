// SPDX-License-Identifier: BSL-1.0
// The program of P0089R0's benchmarks: every strategy does the same work in each benchmark, and the output can be
// parsed.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "suite_rounds.hpp"

namespace {

using millpond::test::ended;
using millpond::test::listed;
using millpond::test::run;
using nlohmann::json;

const millpond::test::suite_rounds rounds(P0089_SUITE);
const std::string& suite = rounds.program();

json round(const std::string& workload, const std::string& strategy, const std::string& more) {
    return rounds.round(workload, strategy, more);
}

void expect_same_work(const std::string& workload, const std::string& more, std::uint64_t units,
                      const std::string& only = "") {
    rounds.expect_same_work(workload, more, units, only);
}

// True for bindings that are compiled for a structure; extra bindings exist only for structures with an anomaly.
bool is_compiled_for(int ds, const std::string& strategy) {
    if (strategy.find(":type_") != std::string::npos) return ds == 4 || ds == 12;
    if (strategy.find(":base_") != std::string::npos) return ds >= 5 && ds <= 8;
    return true;
}

void expect_same_structures(int ds, const std::string& more, std::uint64_t units) {
    const auto takes = [&](const std::string& strategy) { return is_compiled_for(ds, strategy); };
    rounds.expect_same_work_of("structures", " --ds " + std::to_string(ds) + more, units, takes);
}

TEST(p0089_suite, every_strategy_builds_the_same_flat_structures) {
    for (int ds = 1; ds <= 4; ++ds) expect_same_structures(ds, " --log2_size 5 --log2_leaves 7", 128);
}

TEST(p0089_suite, every_strategy_builds_the_same_nested_structures) {
    for (int ds = 5; ds <= 12; ++ds) {
        expect_same_structures(ds, " --log2_size 2 --log2_leaves 10 --text_most 100", 1024);
    }
}

TEST(p0089_suite, a_vector_that_grows_at_its_last_element_has_the_same_leaves) {
    for (const int ds : {1, 2, 5, 6, 7, 8}) {
        const std::string size = " --log2_size 3 --log2_leaves " + std::string(ds < 5 ? "3" : "10");
        const json reserved = round("structures", "AS1", " --ds " + std::to_string(ds) + size);
        expect_same_structures(ds, size + " --short_by 1", ds < 5 ? 8 : 1024);
        EXPECT_EQ(round("structures", "AS1", " --ds " + std::to_string(ds) + size + " --short_by 1")["checksum"],
                  reserved["checksum"]);
    }
}

TEST(p0089_suite, every_strategy_shuffles_and_visits_the_same_lists) {
    const std::string small = " --log2_g 8 --log2_s 3 --af 3 --rf 2";
    for (const std::string sf : {"+2", "-2", "0"}) {
        expect_same_work("locality", small + " --sf " + sf, std::uint64_t{3} * 2 * 256);
    }
    expect_same_work("locality", " --log2_g 6 --log2_s 0 --af 1 --rf 1 --sf 3", 64);
    expect_same_work("locality", " --log2_g 6 --log2_s 6 --af 0 --rf 5 --sf 1", 0);
}

TEST(p0089_suite, every_strategy_allocates_the_same_blocks) {
    for (const std::string order : {"fifo", "lifo", "random"}) {
        for (const std::string sizes : {"fixed", "mixed"}) {
            const std::string more = " --log2_t 16 --log2_a 12 --log2_s 6 --order " + order + " --sizes " + sizes;
            expect_same_work("utilization", more, 1 << 10);
        }
    }
    expect_same_work("utilization", " --log2_t 23 --log2_a 22 --log2_s 21", 4);
}

TEST(p0089_suite, every_strategy_serves_threads) {
    const std::string small = " --log2_n 9 --log2_s 7 --threads 3";
    expect_same_work("contention", small, 3 * 512);
    for (const std::string sharing : {" --sharing shared", " --sharing handover"}) {
        expect_same_work("contention", small + sharing, 3 * 512, "synchronized");
        EXPECT_EQ(round("contention", "AS1", small + sharing)["checksum"],
                  round("contention", "AS2", small + sharing)["checksum"]);
    }
    expect_same_work("contention", " --log2_n 3 --threads 1 --sharing handover", 8, "synchronized");
}

// A structure on the stack has the same leaves, and its pool gets all memory back.
TEST(p0089_suite, a_structure_that_is_winked_out_may_lie_on_the_stack) {
    for (int ds = 1; ds <= 12; ++ds) expect_same_structures(ds, " --on_stack 1 --log2_size 2 --log2_leaves 9", 512);
}

TEST(p0089_suite, every_strategy_does_what_the_dials_say) {
    for (const std::string turned : {"", " --density 1000", " --density 50 --variation 0", " --variation 960",
                                     " --locality 0", " --locality 1000", " --utilization 0", " --utilization 1000",
                                     " --threads 2 --contention 160", " --threads 3 --contention 200"}) {
        const json first = round("dials", "AS1", " --log2_operations 13" + turned);
        expect_same_work("dials", " --log2_operations 13" + turned, first["units"]);
        EXPECT_NEAR(first["units"].get<double>(), 4096, 3 * 8) << turned;  // a thread has a block in each subsystem
    }
}

// The workload itself counts while it runs: I accesses, M lines, T transitions of one subsystem.
TEST(p0089_suite, locality_is_what_the_dial_says) {
    for (const int dial : {20, 100, 300, 500, 800, 950}) {
        const json line = round("dials", "AS1", " --log2_operations 20 --locality " + std::to_string(dial));
        const double accesses = line["accesses"], lines = line["lines"], transitions = line["transitions"];
        ASSERT_GT(transitions, 0) << line.dump();
        const double ratio = accesses / (lines * transitions);
        // The last visit may be cut short, and there are as many as the accesses allow.
        EXPECT_NEAR(ratio / (1 + ratio), dial / 1000.0, 0.01 + 0.5 / transitions) << line.dump();
    }
    EXPECT_EQ(round("dials", "AS1", " --log2_operations 16 --locality 1000")["transitions"], 0);
}

TEST(p0089_suite, a_pool_shared_by_threads_must_be_thread_safe) {
    for (const std::string sharing : {"shared", "handover"}) {
        for (const std::string name : {"AS3", "AS7", "AS13", "AS7-2015", "AS13-2015"}) {
            const ended done = run(suite, "--workload contention --contender " + name + " --sharing " + sharing);
            EXPECT_EQ(done.status, 2) << done.out;
            EXPECT_NE(done.out.find("synchronized_multipool:type:destroy"), std::string::npos) << done.out;
        }
    }
}

TEST(p0089_suite, figures_of_a_round_are_there) {
    const json line = round("structures", "AS8", " --ds 4 --log2_size 8 --log2_leaves 12");
    EXPECT_EQ(line["schema"], "millpond.suite/2");
    EXPECT_EQ(line["parameters"]["text_most"], 1000);
    EXPECT_EQ(line["parameters"]["seed"], 7);
    EXPECT_EQ(line["lives"], 16);
    const json three = round("structures", "AS8", " --ds 4 --log2_size 5 --log2_leaves 12 --lives 3");
    EXPECT_EQ(three["lives"], 3);
    EXPECT_EQ(three["units"], 3 << 5);
    EXPECT_GT(line["cold_cpu_seconds"], 0);
    EXPECT_TRUE(round("structures", "AS8", " --ds 4 --log2_leaves 12 --cold 0")["cold_cpu_seconds"].is_null());
    for (const std::string name : {"cpu_seconds", "wall_seconds", "peak_bytes", "end_bytes", "held_bytes"}) {
        EXPECT_GT(line[name], 0) << name << ": " << line.dump();
    }
    EXPECT_TRUE(round("structures", "AS1", " --log2_leaves 8")["held_bytes"].is_null());
    const json lists = round("locality", "AS7", " --log2_g 12 --log2_s 6");
    EXPECT_GT(lists["shuffle_seconds"], 0);
    EXPECT_TRUE(round("locality", "AS7", " --log2_g 12 --log2_s 6 --sf -5")["shuffle_seconds"].is_null());
    EXPECT_GT(lists["access_seconds"], 0);
    EXPECT_GE(lists["cpu_seconds"], lists["access_seconds"].get<double>() * 0.5) << "the window is around the access";
}

TEST(p0089_suite, a_round_does_what_its_seed_says) {
    for (const std::string more : {" --ds 2 --log2_leaves 8", " --ds 12 --log2_size 2 --log2_leaves 9"}) {
        const auto sum = [&](const std::string& last) { return round("structures", "AS1", more + last)["checksum"]; };
        EXPECT_EQ(sum(""), sum(""));
        EXPECT_NE(sum(""), sum(" --seed 8"));
    }
    const std::string small = " --log2_g 8 --log2_s 3";
    EXPECT_NE(round("locality", "AS1", small)["checksum"], round("locality", "AS1", small + " --seed 8")["checksum"]);
}

TEST(p0089_suite, links_may_be_given_as_numbers) {
    const std::string more = " --af 2 --sf 3 --rf 2";
    const json powers = round("locality", "AS7", " --log2_g 8 --log2_s 3" + more);
    const json numbers = round("locality", "AS7", " --links 256 --links_each 8" + more);
    EXPECT_EQ(powers["checksum"], numbers["checksum"]);
    EXPECT_EQ(round("locality", "AS1", " --links 1000 --links_each 100 --af 10 --sf 0 --rf 1")["units"], 10000);
}

TEST(p0089_suite, the_papers_labels_are_names_too) {
    std::map<std::string, std::string> by_alias;
    std::set<std::string> names;
    const json list = listed(suite);
    for (const json& each : list["contenders"]) {
        EXPECT_TRUE(names.insert(each["name"]).second) << each;
        if (each["alias"].is_null()) continue;
        EXPECT_TRUE(by_alias.emplace(each["alias"], each["name"]).second) << each;
    }
    for (int i = 1; i <= 14; ++i) {
        EXPECT_TRUE(by_alias.contains("AS" + std::to_string(i)));
        for (const std::string suffix : {"s", "-2015", "s-2015"})
            EXPECT_EQ(by_alias.contains("AS" + std::to_string(i) + suffix), i >= 7);
    }
    EXPECT_EQ(by_alias.size(), 14u + 3 * 8u);
    EXPECT_EQ(by_alias["AS1"], "new_delete:type:destroy");
    EXPECT_EQ(by_alias["AS2"], "new_delete:base:destroy");
    EXPECT_EQ(by_alias["AS4"], "monotonic:type:wink");
    EXPECT_EQ(by_alias["AS9"], "multipool:base:destroy");
    EXPECT_EQ(by_alias["AS14"], "multipool(monotonic):base:wink");
    EXPECT_EQ(by_alias["AS7s"], "synchronized(multipool):type:destroy");
    EXPECT_EQ(by_alias["AS7-2015"], "multipool_2015:type:destroy");
    EXPECT_EQ(by_alias["AS12-2015"], "multipool_2015(monotonic):type:wink");
    EXPECT_EQ(by_alias["AS9s-2015"], "synchronized(multipool_2015):base:destroy");
    EXPECT_EQ(by_alias["AS14s-2015"], "synchronized(multipool_2015(monotonic)):base:wink");
    for (const auto& [alias, name] : by_alias) {
        EXPECT_EQ(round("structures", alias, " --log2_leaves 6")["contender"], name);
    }
    for (const json& workload : list["workloads"]) {
        for (const std::string name : workload["contenders"]) EXPECT_TRUE(names.contains(name)) << name;
    }
}

TEST(p0089_suite, it_takes_every_name_that_it_lists) {
    const json list = listed(suite);
    EXPECT_EQ(list["schema"], "millpond.suite/2");
    EXPECT_EQ(list["suite"], "p0089");
    for (const std::string part : {"compiler", "standard_library"}) EXPECT_FALSE(list[part].get<std::string>().empty());
    for (const json& workload : list["workloads"]) {
        std::string all = " --memory-limit-bytes 0";
        std::set<std::string> names;
        for (const json& parameter : workload["parameters"]) {
            const std::string name = parameter["name"];
            EXPECT_TRUE(names.insert(name).second) << name;
            const json value = parameter["default"];
            all += " --" + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
        }
        EXPECT_TRUE(names.contains("seed"));
        if (workload["name"] == "structures") all += " --log2_leaves 6";
        const json line = round(workload["name"], "AS1", all);
        for (const std::string& name : names) EXPECT_TRUE(line["parameters"].contains(name)) << name;
    }
}

// The loader only warns of a library that it cannot preload, so the program reports the malloc that it really uses.
TEST(p0089_suite, says_which_malloc_it_runs_on) {
    const std::string work =
        " --workload structures --contender AS1 --ds 8 --log2_size 3 --log2_leaves 11 --litter 0.5";
    const std::string preloading = std::string("LD_PRELOAD=") + ANOTHER_MALLOC + " " + suite;
    for (const std::string& arguments : {std::string(" --list"), work}) {
        const json alone = json::parse(run(suite, arguments).out, nullptr, false);
        const json preloaded = json::parse(run(preloading, arguments).out, nullptr, false);
        EXPECT_NE(alone.value("malloc", "").find("libc.so"), std::string::npos) << alone;
        EXPECT_EQ(preloaded.value("malloc", ""), ANOTHER_MALLOC);
        EXPECT_EQ(alone.value("checksum", ""), preloaded.value("checksum", ""));
    }
    const ended warned = run("LD_PRELOAD=/nowhere/libmalloc.so " + std::string(suite), work);
    EXPECT_EQ(warned.status, 0);
    EXPECT_NE(warned.out.find("libc.so"), std::string::npos) << warned.out;
}

TEST(p0089_suite, a_littered_heap_changes_no_work) {
    const std::map<std::string, std::string> points = {
        {"structures", " --ds 8 --log2_size 3 --log2_leaves 11"},       {"locality", " --log2_g 10 --log2_s 4 --rf 2"},
        {"utilization", " --log2_t 18 --log2_a 14 --sizes mixed"},      {"contention", " --log2_n 8 --threads 2"},
        {"dials", " --log2_operations 12 --threads 2 --contention 50"},
    };
    for (const auto& [workload, more] : points) {
        for (const std::string strategy : {"AS1", "AS9"}) {
            const json plain = round(workload, strategy, more);
            for (const std::string fraction : {"0.3", "1"}) {
                const json littered = round(workload, strategy, more + " --litter " + fraction);
                EXPECT_EQ(littered["checksum"], plain["checksum"]) << workload;
                EXPECT_EQ(littered["units"], plain["units"]) << workload;
            }
        }
    }
}

TEST(p0089_suite, wrong_usage_is_refused_with_the_known_names) {
    rounds.expect_refused({
        {"--workload nothing --contender AS1", "structures, locality, utilization, contention, dials"},
        {"--workload structures --contender AS15", "multipool(monotonic):base:wink"},
        {"--workload structures --contender new_delete:type:wink", "new_delete:type:destroy"},
        {"--workload locality --contender AS8", "multipool:type:destroy"},
        {"--workload structures --contender AS1 --colour 3",
         "ds, log2_size, log2_leaves, lives, text_most, on_stack, short_by, counted, cold, seed"},
        {"--workload structures --contender AS1 --ds 13", "from 1 to 12"},
        {"--workload structures --contender AS1 --ds one", "from 1 to 12"},
        {"--workload structures --contender AS1 --text_most 32", "from 33 to 1000"},
        {"--workload structures --contender AS1 --ds 9 --short_by 1", "short_by is of an outer vector"},
        {"--workload structures --contender multipool:type_called:destroy --ds 5", "ds 4 and 12"},
        {"--workload structures --contender multipool:base_copied:wink --ds 4", "ds 5 to 8"},
        {"--workload structures --contender monotonic:base_copied:wink --ds 5", "multipool:base_copied:wink"},
        {"--workload locality --contender multipool:type_called:destroy", "multipool:type:destroy"},
        {"--workload locality --contender AS1 --walk jumps", "lists, links, links_unbranched"},
        {"--workload structures --contender AS1 --ds", "has no value"},
        {"--workload utilization --contender AS1 --order newest", "fifo, lifo, random"},
        {"--workload utilization --contender AS1 --log2_t 10 --log2_a 12", "log2_a must not be above log2_t"},
        {"--workload utilization --contender AS1 --log2_s 16", "log2_s must not be above log2_a"},
        {"--workload locality --contender AS1 --log2_g 4 --log2_s 5", "log2_s must not be above log2_g"},
        {"--workload locality --contender AS1 --links 10 --links_each 11", "links_each must not be above links"},
        {"--workload dials --contender AS1 --threads 2 --contention 161", "contention is from 0 to 160"},
        {"--workload dials --contender AS1 --contention 1", "contention is from 0 to 0"},
        {"--workload dials --contender AS1 --density 0", "from 1 to 1000"},
        {"--workload structures --contender AS1 --litter 0", "above 0 and at most 1"},
        {"--workload structures --contender AS1 --litter 1.5", "above 0 and at most 1"},
        {"--workload structures --contender AS1 --litter 0x1", "above 0 and at most 1"},
        {"--workload structures --contender AS1 --litter nan", "above 0 and at most 1"},
        {"--workload structures --contender AS1 --litter 0.5.5", "above 0 and at most 1"},
        {"--workload structures --contender AS1 --litter ' 0.5'", "above 0 and at most 1"},
        {"--workload structures", "--list"},
        {"", "--list"},
    });
    EXPECT_EQ(run(suite, "--help").status, 0);
    EXPECT_EQ(run(suite, "--list > /dev/full").status, 4);
    EXPECT_EQ(run(suite, "--workload structures --strategy AS1 --log2_leaves 6").status, 0);
}

// Each of these would exceed the test's time or this machine's memory.
TEST(p0089_suite, a_round_that_needs_too_much_memory_is_not_run) {
    const std::map<std::string, std::string> points = {
        {"utilization --contender AS3 --log2_t 40 --log2_a 15", "monotonic:type:destroy"},
        {"utilization --contender AS13 --log2_t 40 --log2_a 21 --log2_s 21", "multipool(monotonic):base:destroy"},
        {"utilization --contender AS11-2015 --log2_t 40 --log2_a 15 --log2_s 13",
         "multipool_2015(monotonic):type:destroy"},
        {"contention --contender AS5 --log2_n 30 --log2_s 10", "monotonic:base:destroy"},
        {"locality --contender AS3 --log2_g 29 --log2_s 20 --sf 1000", "monotonic:type:destroy"},
        {"locality --contender AS7 --log2_g 29 --log2_s 0", "multipool:type:destroy"},
        {"structures --contender AS1 --ds 12 --log2_size 20", "new_delete:type:destroy"},
    };
    for (const auto& [point, name] : points) {
        const ended done = run("ulimit -v 1000000; " + suite, "--memory-limit-bytes 12884901888 --workload " + point);
        EXPECT_EQ(done.status, 0) << done.out;
        const json line = json::parse(done.out, nullptr, false);
        EXPECT_EQ(line.value("status", ""), "predicted_bad_alloc") << done.out;
        EXPECT_EQ(line["contender"], name);
        EXPECT_FALSE(line.contains("checksum"));
    }
    const std::string small = " --log2_t 20 --log2_a 15 --memory-limit-bytes ";
    EXPECT_EQ(round("utilization", "AS3", small + "1048576")["status"], "ok");
    EXPECT_EQ(round("utilization", "AS3", small + "1048575")["status"], "predicted_bad_alloc");
    EXPECT_EQ(round("utilization", "AS7", small + "1048575")["status"], "ok");
    EXPECT_EQ(round("utilization", "AS11", small + "1048575")["status"], "ok");
    // A multipool of 2015 leaves blocks above 4 KiB to the monotonic beneath, which never uses them again.
    for (const std::string name : {"AS11-2015", "AS13s-2015"}) {
        EXPECT_EQ(round("utilization", name, small + "1048575 --log2_s 12")["status"], "ok");
        EXPECT_EQ(round("utilization", name, small + "1048575 --log2_s 13")["status"], "predicted_bad_alloc");
    }
}

TEST(p0089_suite, a_round_that_runs_out_of_memory_says_so) {
    for (const std::string point :
         {"utilization --contender AS3", "contention --contender AS5 --log2_n 20 --log2_s 11 --threads 2",
          "contention --contender AS13 --log2_n 9 --log2_s 22 --threads 2",
          "structures --contender AS8 --ds 4 --log2_size 20", "locality --contender AS1 --log2_g 24"}) {
        const ended done = run("ulimit -v 400000; " + suite, "--workload " + point);
        EXPECT_EQ(done.status, 0) << point << ": " << done.out;
        EXPECT_EQ(json::parse(done.out, nullptr, false).value("status", ""), "bad_alloc") << point << ": " << done.out;
    }
}

}  // namespace
