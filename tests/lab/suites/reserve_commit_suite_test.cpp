// SPDX-License-Identifier: BSL-1.0
// The program of "Reserve and commit": every array has the same elements at the end, dyn_array never moves one, and the
// counted steps are those of commit_steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lab/suites/reserve_commit/histogram.hpp"
#include "millpond/container/detail/stepped_reservation.hpp"
#include "suite_run.hpp"

namespace {

using millpond::reserve_commit::histogram;
using millpond::test::ended;
using millpond::test::listed;
using millpond::test::run;
using nlohmann::json;

const std::string suite = RESERVE_COMMIT_SUITE;

json round(const std::string& workload, const std::string& contender, const std::string& more) {
    return millpond::test::round_of(suite, "--workload " + workload + " --contender " + contender + " --seed 7" + more);
}

std::vector<std::string> contenders_of(const std::string& workload) {
    return millpond::test::contenders_of(suite, workload);
}

bool takes(const std::string& strategy, const std::string& element) {
    return element == "int" || (strategy != "realloc" && strategy != "mremap");
}

void expect_same_work(const std::string& workload, const std::vector<std::string>& strategies, const std::string& more,
                      std::uint64_t units) {
    std::set<std::string> checksums;
    ASSERT_GE(strategies.size(), 2u);
    for (const std::string& strategy : strategies) {
        const json line = round(workload, strategy, more);
        ASSERT_EQ(line.value("status", ""), "ok") << line.dump();
        EXPECT_EQ(line["workload"], workload);
        EXPECT_EQ(line["contender"], strategy);
        EXPECT_EQ(line["units"], units) << line.dump();
        checksums.insert(line["checksum"].get<std::string>());
    }
    EXPECT_EQ(checksums.size(), 1u) << workload << more;
}

TEST(reserve_commit_suite, every_array_ends_up_with_the_same_elements) {
    for (const std::string workload : {"growth", "latency"}) {
        for (const std::string element : {"int", "unique_ptr", "counted"}) {
            std::vector<std::string> able = contenders_of(workload);
            std::erase_if(able, [&](const std::string& name) { return !takes(name, element); });
            EXPECT_EQ(able.size(), element == "int" ? 7u : 5u);
            for (const std::uint64_t length : {1u, 1025u, 70000u}) {
                expect_same_work(workload, able, " --element " + element + " --length " + std::to_string(length),
                                 length);
            }
        }
    }
    expect_same_work("growth", contenders_of("growth"), " --pages huge --length 700000", 700000);
    expect_same_work("commit_step", contenders_of("commit_step"), " --length 70000 --log2_step 13", 70000);
}

TEST(reserve_commit_suite, every_level_of_optimisation_does_the_same_work) {
    std::set<std::string> checksums;
    for (const std::string level : {"0", "1", "2"}) {
        const json line = round("growth", "dyn_array", " --length 5000 --optimisation " + level);
        EXPECT_EQ(line["parameters"]["optimisation"].dump(), level);
        checksums.insert(line["checksum"].get<std::string>());
    }
    EXPECT_EQ(checksums.size(), 1u);
}

// Each optimisation level is a program of its own, which must report its own level.
TEST(reserve_commit_suite, a_level_is_the_program_that_was_compiled_with_it) {
    const std::string asked = " --workload growth --contender vector --length 10";
    for (const std::string program : {"", "-O0", "-O1"}) {
        const json usual = json::parse(run(suite + program, asked).out, nullptr, false);
        EXPECT_EQ(usual["parameters"]["optimisation"], 2);
        const ended wrong = run(suite + program, asked + " --optimisation 3");
        EXPECT_EQ(wrong.status, 2) << wrong.out;
        EXPECT_NE(wrong.out.find("from 0 to 2"), std::string::npos) << wrong.out;
    }
    EXPECT_EQ(run(suite, asked + " --optimisation +0").status, 2);
    const ended single = run("cp " + suite + " single-suite && ./single-suite", asked + " --optimisation 1");
    EXPECT_EQ(single.status, 4) << single.out;
    EXPECT_TRUE(single.out.starts_with("millpond: cannot start ")) << single.out;
    EXPECT_EQ(run("rm", "single-suite").status, 0);
}

TEST(reserve_commit_suite, only_a_vector_moves_elements_when_its_buffer_grows) {
    const std::string more = " --element counted --length ";
    for (const std::string level : {"0", "2"}) {
        for (const std::string strategy : {"dyn_array", "dyn_array_2023", "deque", "chunked"}) {
            EXPECT_EQ(round("growth", strategy, more + "100000 --optimisation " + level)["moved_elements"], 0);
        }
    }
    // libstdc++ and libc++ double: 1 + 2 + … elements were moved.
    EXPECT_EQ(round("growth", "vector", more + "1000")["moved_elements"], 1023);
    EXPECT_EQ(round("growth", "vector", more + "1025")["moved_elements"], 2047);
    EXPECT_TRUE(round("growth", "vector", " --length 100")["moved_elements"].is_null());
}

// Pages that count the calls of a stepped_reservation, on memory that exists from the start.
struct told_pages {
    static inline std::uint64_t commits = 0, populates = 0;
    static std::size_t size() noexcept { return 4096; }
    static std::size_t granularity() noexcept { return size(); }
    static void* reserve(std::size_t bytes) noexcept { return ::operator new(bytes, std::align_val_t(4096)); }
    static bool commit(void*, std::size_t) noexcept { return ++commits, true; }
    static void populate(void*, std::size_t) noexcept { ++populates; }
    static bool decommit(void*, std::size_t) noexcept { return true; }
    static void discard(void*, std::size_t) noexcept {}
    static bool advise_huge(void*, std::size_t, bool) noexcept { return false; }
    static void release(void* at, std::size_t) noexcept { ::operator delete(at, std::align_val_t(4096)); }
};

void note_steps(std::size_t bytes, millpond::commit_steps steps) {
    told_pages::commits = told_pages::populates = 0;
    millpond::detail::stepped_reservation<told_pages> memory(bytes * 16, alignof(int), steps);
    while (memory.ready() < bytes) EXPECT_TRUE(memory.advance(memory.ready() + 1));
}

// The sizes are below 2 MiB, where the end of a commit depends on no address.
TEST(reserve_commit_suite, commits_are_those_that_commit_steps_says) {
    constexpr std::uint64_t length = 200'000;
    constexpr std::size_t bytes = length * sizeof(int);
    for (int log2 = 12; log2 <= 18; ++log2) {
        const std::size_t step = std::size_t{1} << log2;
        const std::string more = " --length 200000 --log2_step " + std::to_string(log2);
        const json ours = round("commit_step", "dyn_array", more);
        note_steps(bytes, {.first = step, .step = step, .ahead = std::max(step, millpond::commit_steps{}.ahead)});
        EXPECT_EQ(ours["commits"], told_pages::commits) << step;
        EXPECT_EQ(ours["populates"], told_pages::populates) << step;
        EXPECT_GE(ours["committed_bytes"], bytes);
        const json published = round("commit_step", "dyn_array_2023", more);
        EXPECT_EQ(published["commits"], (bytes + step - 1) / step);
        EXPECT_EQ(published["committed_bytes"], (bytes + step - 1) / step * step);
        EXPECT_EQ(published["populates"], 0);
    }
    note_steps(bytes, {});
    for (const std::string workload : {"growth", "latency"}) {
        const json ours = round(workload, "dyn_array", " --length 200000");
        EXPECT_EQ(ours["commits"], told_pages::commits) << workload;
        EXPECT_EQ(ours["populates"], told_pages::populates) << workload;
        EXPECT_EQ(round(workload, "dyn_array_2023", " --length 200000")["commits"], (bytes + 4095) / 4096);
        EXPECT_TRUE(round(workload, "vector", " --length 200")["commits"].is_null());
    }
}

TEST(reserve_commit_suite, every_append_is_in_the_histogram_and_every_step_is_told) {
    constexpr std::uint64_t length = 50'000;
    const std::map<std::string, std::uint64_t> steps = {
        {"vector", 17}, {"dyn_array_2023", 49}, {"realloc", 17}, {"mremap", 7}, {"chunked", 9}};
    for (const std::string& strategy : contenders_of("latency")) {
        const json line = round("latency", strategy, " --length 50000");
        std::uint64_t appends = 0;
        std::uint64_t stepped = 0;
        const auto shortest = line["shortest_ns"].get<std::uint64_t>();
        EXPECT_TRUE(line.contains("appends:" + std::to_string(std::bit_floor(std::max<std::uint64_t>(shortest, 1)))));
        EXPECT_LE(shortest, line["longest_ns"].get<std::uint64_t>());
        for (const auto& [name, value] : line.items()) {
            if (name.starts_with("appends:")) appends += value.get<std::uint64_t>();
            if (name.starts_with("stepped:")) stepped += value.get<std::uint64_t>();
        }
        EXPECT_EQ(appends, length) << strategy;
        EXPECT_GE(line["longest_ns"], line["p99_9_ns"]);
        EXPECT_GE(line["p99_9_ns"], line["p50_ns"]);
        if (strategy == "deque") {
            EXPECT_TRUE(line["steps"].is_null());
            EXPECT_EQ(stepped, 0u);
        } else {
            EXPECT_EQ(line["steps"], stepped);
            EXPECT_GT(stepped, 0u);
        }
        if (steps.contains(strategy)) {
            EXPECT_EQ(stepped, steps.at(strategy)) << strategy;
        }
        if (!line["commit_seconds"].is_null()) {
            EXPECT_GT(line["commit_seconds"], 0) << strategy;
        }
    }
}

TEST(reserve_commit_suite, a_histogram_counts_all_and_is_wrong_by_a_sixteenth_at_most) {
    histogram found;
    EXPECT_FALSE(found.shortest_ns());
    EXPECT_FALSE(found.quantile_ns(0.5).has_value());
    std::vector<std::uint64_t> all;
    for (std::uint64_t ns = 0; ns < 200'000; ns = ns * 21 / 20 + 1) {
        all.push_back(ns);
        found.note(ns);
    }
    EXPECT_EQ(found.count(), all.size());
    EXPECT_EQ(found.shortest_ns(), static_cast<double>(all.front()));
    EXPECT_EQ(found.longest_ns(), static_cast<double>(all.back()));
    for (const double share : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
        const auto place = std::min(static_cast<std::size_t>(share * static_cast<double>(all.size())), all.size() - 1);
        const auto exact = static_cast<double>(all[place]);
        EXPECT_LE(*found.quantile_ns(share), exact);
        EXPECT_GE(*found.quantile_ns(share), exact * 16 / 17 - 1);
    }
    std::uint64_t sum = 0;
    for (std::size_t power = 0; power < histogram::powers; ++power) sum += found.of_power(power);
    EXPECT_EQ(sum, all.size());
    EXPECT_EQ(found.from(1024),
              static_cast<std::uint64_t>(std::count_if(all.begin(), all.end(), [](auto ns) { return ns >= 1024; })));
    found.note(~std::uint64_t{0});
    histogram other;
    other.add(found);
    EXPECT_EQ(other.count(), all.size() + 1);
    EXPECT_EQ(other.shortest_ns(), found.shortest_ns());
    EXPECT_EQ(other.longest_ns(), found.longest_ns());
}

TEST(reserve_commit_suite, a_range_is_the_same_after_it_was_given_back_and_touched) {
    const std::vector<std::string> ways = contenders_of("give_back");
    EXPECT_EQ(ways, (std::vector<std::string>{"keep", "madv_free", "madv_dontneed", "decommit"}));
    expect_same_work("give_back", ways, " --log2_bytes 14", 4);
    expect_same_work("give_back", ways, " --log2_bytes 23 --pages huge", 2048);
    // The kernel's account of resident pages is some dozens of them late.
    constexpr double range = 64 << 20;
    for (const std::string& way : ways) {
        const json line = round("give_back", way, " --log2_bytes 26");
        EXPECT_GT(line["touched_bytes"], 0.9 * range) << way;
        EXPECT_GT(line["end_bytes"], 0.9 * range) << way;
        if (way == "keep") {
            EXPECT_GT(line["given_bytes"], 0.9 * range);
        }
        if (way == "madv_dontneed" || way == "decommit") {
            EXPECT_LT(line["given_bytes"], 0.1 * range) << way;
        }
    }
}

TEST(reserve_commit_suite, it_takes_every_name_that_it_lists) {
    const json list = listed(suite);
    EXPECT_EQ(list["schema"], "millpond.suite/2");
    EXPECT_EQ(list["suite"], "reserve_commit");
    ASSERT_EQ(list["workloads"].size(), 4u);
    std::map<std::string, std::string> aliases;
    for (const json& each : list["contenders"]) {
        if (!each["alias"].is_null()) aliases[each["alias"]] = each["name"];
    }
    EXPECT_EQ(aliases["DynArray"], "dyn_array_2023");
    EXPECT_EQ(aliases["std::vector"], "vector");
    for (const json& workload : list["workloads"]) {
        std::string all;
        std::set<std::string> names;
        for (const json& parameter : workload["parameters"]) {
            const std::string name = parameter["name"];
            EXPECT_TRUE(names.insert(name).second) << name;
            const json value = parameter["default"];
            if (name != "seed")
                all += " --" + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
        }
        EXPECT_TRUE(names.contains("seed"));
        const json line = round(workload["name"], workload["contenders"].back(), all);
        for (const std::string& name : names) EXPECT_TRUE(line["parameters"].contains(name)) << name;
        const json littered = round(workload["name"], workload["contenders"].front(), " --litter 0.5");
        EXPECT_EQ(littered["checksum"], round(workload["name"], workload["contenders"].front(), "")["checksum"]);
    }
}

TEST(reserve_commit_suite, wrong_usage_is_refused_with_the_known_names) {
    const std::map<std::string, std::string> wrong = {
        {"--workload nothing --contender vector", "growth, latency, commit_step, give_back"},
        {"--workload growth --contender list", "vector, dyn_array_2023, dyn_array, deque"},
        {"--workload growth --contender keep", "no contender"},
        {"--workload give_back --contender vector", "keep, madv_free, madv_dontneed, decommit"},
        {"--workload commit_step --contender vector", "dyn_array_2023, dyn_array"},
        {"--workload growth --contender vector --element long", "int, unique_ptr, counted"},
        {"--workload growth --contender realloc --element unique_ptr", "element must be int"},
        {"--workload latency --contender mremap --element counted", "element must be int"},
        {"--workload growth --contender vector --pages large", "small, huge"},
        {"--workload growth --contender vector --length 0", "from 1 to"},
        {"--workload commit_step --contender dyn_array --log2_step 11", "from 12 to 24"},
        {"--workload give_back --contender keep --optimisation 2", "log2_bytes, pages, seed"},
        {"", "--list"},
    };
    for (const auto& [arguments, part] : wrong) {
        const ended done = run(suite, arguments);
        EXPECT_EQ(done.status, 2) << arguments << ": " << done.out;
        EXPECT_TRUE(done.out.starts_with("millpond: ")) << done.out;
        EXPECT_NE(done.out.find(part), std::string::npos) << arguments << ": " << done.out;
    }
    EXPECT_EQ(run(suite, "--help").status, 0);
    EXPECT_EQ(run(suite, "--list > /dev/full").status, 4);
}

TEST(reserve_commit_suite, an_array_that_runs_out_of_memory_says_so) {
    for (const std::string& strategy : contenders_of("growth")) {
        const ended done =
            run("ulimit -v 200000; " + suite, "--workload growth --length 100000000 --contender " + strategy);
        EXPECT_EQ(done.status, 0) << done.out;
        const json line = json::parse(done.out, nullptr, false);
        EXPECT_EQ(line.value("status", ""), "bad_alloc") << done.out;
    }
    EXPECT_EQ(round("growth", "deque", " --length 1000 --memory-limit-bytes 3999")["status"], "predicted_bad_alloc");
    EXPECT_EQ(round("growth", "deque", " --length 1000 --memory-limit-bytes 4000")["status"], "ok");
    EXPECT_EQ(round("growth", "vector", " --length 1000 --element unique_ptr --memory-limit-bytes 7999")["status"],
              "predicted_bad_alloc");
    EXPECT_EQ(round("give_back", "keep", " --log2_bytes 30 --memory-limit-bytes 999999")["status"],
              "predicted_bad_alloc");
}

}  // namespace
