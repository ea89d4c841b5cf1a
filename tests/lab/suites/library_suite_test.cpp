// SPDX-License-Identifier: BSL-1.0
// The library's benchmark program: every contender does the same work in every workload, and the output can be parsed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory_resource>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lab/suites/common/multipool_2015.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/library/ideal.hpp"
#include "millpond/local/monotonic.hpp"
#include "suite_run.hpp"

namespace {

using millpond::test::ended;
using millpond::test::listed;
using millpond::test::run;
using nlohmann::json;

bool takes_units(const std::string& workload) {
    static const json list = listed(SUITE);
    for (const json& each : list["workloads"]) {
        if (each["name"] != workload) continue;
        for (const json& parameter : each["parameters"])
            if (parameter["name"] == "units") return true;
    }
    return false;
}

// Returns options small enough for hundreds of processes, with a size that no workload uses.
std::string tiny(const std::string& workload) {
    if (workload == "lists_shuffled") return " --size 24 --units 768 --af 3 --sf 2";
    if (workload == "size_sweep") return " --units 3000";
    if (workload == "free_allocate") return " --size 200 --units 1000";
    if (workload.starts_with("threads")) return " --size 48 --units 2000 --threads 2";
    if (workload.starts_with("churn")) return " --size 700 --units 3000";
    if (workload.starts_with("push_back")) return " --size 20001";
    if (workload == "construct_empty") return " --units 100";
    return std::string(" --size 37") + (takes_units(workload) ? " --units 100" : "");
}

json cell(const std::string& program, const std::string& workload, const std::string& contender,
          const std::string& more) {
    std::string arguments = "--workload '" + workload + "' --contender '" + contender + "' --seed 7" + more;
    if (contender == "adapter") arguments += " --peer " EXAMPLE_PEER;
    return millpond::test::round_of(program, arguments);
}

TEST(library_suite, every_contender_does_the_same_work) {
    const json list = listed(SUITE);
    for (const json& workload : list["workloads"]) {
        const std::string name = workload["name"];
        std::map<std::string, std::string> checksums;
        for (const std::string contender : workload["contenders"]) {
            const json line = cell(SUITE, name, contender, tiny(name));
            ASSERT_EQ(line.value("status", ""), "ok") << line.dump();
            EXPECT_EQ(line["workload"], name);
            EXPECT_EQ(line["contender"], contender);
            EXPECT_GT(line["units"], 0);
            EXPECT_GE(line["peak_bytes"], line["resident_bytes"]) << line.dump();
            checksums[contender] = line["checksum"];
        }
        ASSERT_FALSE(checksums.empty()) << name;
        for (const auto& [contender, sum] : checksums) {
            EXPECT_EQ(sum, checksums.begin()->second) << name << ": " << contender;
        }
    }
}

TEST(library_suite, contenders_of_workloads_are_described_once) {
    const json list = listed(SUITE);
    EXPECT_EQ(list["schema"], "millpond.suite/2");
    const std::set<std::string> kinds = {"ours",  "pool_peer",  "monotonic_peer", "malloc",
                                         "ideal", "heap_array", "array",          "tree"};
    std::set<std::string> known;
    for (const json& contender : list["contenders"]) {
        EXPECT_TRUE(known.insert(contender["name"]).second) << contender;
        EXPECT_TRUE(kinds.contains(contender["kind"])) << contender;
        EXPECT_EQ(contender["version"].is_string(), contender["is_built_in"].get<bool>()) << contender;
    }
    std::set<std::string> used;
    for (const json& workload : list["workloads"]) {
        for (const std::string name : workload["contenders"]) {
            EXPECT_TRUE(known.contains(name)) << workload["name"] << ": " << name;
            EXPECT_TRUE(used.insert(workload["name"].get<std::string>() + " " + name).second);
        }
    }
}

TEST(library_suite, times_and_bytes_of_a_cell_are_there) {
    const json line = cell(SUITE, "unordered_set_int", "multipool", " --size 5000 --units 20000");
    EXPECT_GT(line["cold_ns"], 0);
    EXPECT_GT(line["warm_ns"], 0);
    EXPECT_GT(line["end_bytes"], 0);
    EXPECT_TRUE(line["held_bytes"].is_number());
    EXPECT_FALSE(line.contains("wall_ns"));
    const json shuffled = cell(SUITE, "lists_shuffled", "malloc", tiny("lists_shuffled"));
    EXPECT_GT(shuffled["before_ns"], 0);
    EXPECT_GT(shuffled["after_ns"], 0);
    EXPECT_TRUE(shuffled["held_bytes"].is_null());
    EXPECT_GT(cell(SUITE, "threads_own", "multipool", tiny("threads_own"))["wall_ns"], 0);
}

TEST(library_suite, other_seeds_give_other_work) {
    const std::string size = " --size 50 --units 100";
    const json one = cell(SUITE, "vector_string", "malloc", size);
    EXPECT_NE(one["checksum"], cell(SUITE, "vector_string", "malloc", size + " --seed 8")["checksum"]);
    EXPECT_EQ(one["checksum"], cell(SUITE, "vector_string", "malloc", size)["checksum"]);
}

TEST(library_suite, a_sweep_has_four_sizes_per_octave_from_16_bytes_to_1_mib) {
    const json line = cell(SUITE, "size_sweep", "multipool", tiny("size_sweep"));
    const std::string series = "step_ns:";
    std::set<double> steps;
    for (const auto& [name, ns] : line["metrics"].items()) {
        if (name.starts_with(series)) steps.insert(std::stod(name.substr(series.size())));
    }
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(*steps.begin(), 16);
    EXPECT_EQ(*steps.rbegin(), 1 << 20);
    for (auto next = std::next(steps.begin()); next != steps.end(); ++next) {
        const double ratio = *next / *std::prev(next);
        EXPECT_GT(ratio, 1.0);
        EXPECT_LE(ratio, 1.25);
    }
}

TEST(library_suite, counted_functions_run_and_time_nothing) {
    for (const char* contender : {"multipool", "multipool:base"}) {
        const json line = cell(SUITE, "free_allocate", contender, " --instructions 100");
        EXPECT_EQ(line["units"], 100);
        EXPECT_TRUE(line["warm_ns"].is_null());
    }
    EXPECT_EQ(cell(SUITE, "construct_empty", "monotonic", " --instructions 100")["units"], 100);
    EXPECT_EQ(run(SUITE, "--workload vector_int --contender malloc --instructions 9").status, 2);
}

TEST(library_suite, the_hardened_twin_knows_our_contenders_by_their_plain_names) {
    for (const std::string workload : {"vector_string", "free_allocate", "churn_fifo", "lists_shuffled"}) {
        const json plain = cell(SUITE, workload, "multipool", tiny(workload));
        const json hardened = cell(HARDENED_SUITE, workload, "multipool", tiny(workload));
        EXPECT_EQ(hardened["contender"], "multipool:hardened");
        EXPECT_EQ(hardened["checksum"], plain["checksum"]);
    }
    EXPECT_EQ(listed(HARDENED_SUITE)["contenders"].size(), 2);
}

TEST(library_suite, unknown_names_are_refused_with_the_known_ones) {
    const ended workload = run(SUITE, "--workload nothing --contender malloc");
    EXPECT_EQ(workload.status, 2);
    EXPECT_TRUE(workload.out.starts_with("millpond: no workload \"nothing\"")) << workload.out;
    EXPECT_NE(workload.out.find("vector_string"), std::string::npos);
    const ended contender = run(SUITE, "--workload vector_string --contender nothing");
    EXPECT_EQ(contender.status, 2);
    EXPECT_NE(contender.out.find("multipool, "), std::string::npos) << contender.out;
    EXPECT_EQ(run(SUITE, "--workload vector_string --contender multipool:kept").status, 2);
    EXPECT_EQ(run(SUITE, "--workload vector_string --contender malloc --size many").status, 2);
    EXPECT_EQ(run(SUITE, "--workload vector_string --contender malloc --size").status, 2);
    EXPECT_EQ(run(SUITE, "--colour 3").status, 2);
    EXPECT_EQ(run(SUITE, "").status, 2);
    EXPECT_EQ(run(SUITE, "--help").status, 0);
}

TEST(library_suite, a_peer_that_is_no_adapter_is_refused) {
    const std::string asked = "--workload vector_string --contender adapter --size 9";
    EXPECT_EQ(run(SUITE, asked).status, 2);
    EXPECT_EQ(run(SUITE, asked + " --peer /nowhere/peer.so").status, 3);
    EXPECT_EQ(run(SUITE, asked + " --peer libm.so.6").status, 3);
    const json line = cell(SUITE, "vector_string", "adapter", " --size 9");
    EXPECT_EQ(line["peer"], "example");
}

TEST(library_suite, a_cell_that_runs_out_of_memory_says_so) {
    const ended done = run("ulimit -v 150000; " SUITE, "--workload churn_fifo --contender multipool --size 3000000");
    EXPECT_EQ(done.status, 0) << done.out;
    EXPECT_EQ(json::parse(done.out, nullptr, false).value("status", ""), "bad_alloc") << done.out;
}

// Checks contenders that exist only in this program: blocks do not overlap and keep their contents.
template <class Pool>
void hold_contents(std::uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    millpond::suites::random_numbers random(seed);
    struct block {
        unsigned char* memory;
        std::size_t bytes;
        unsigned char mark;
    };
    std::vector<block> live;
    Pool pool;
    for (int step = 0; step < 20000; ++step) {
        if (live.size() > 300 || (!live.empty() && random.below(3) == 0)) {
            block& chosen = live[random.below(static_cast<std::uint32_t>(live.size()))];
            for (std::size_t i = 0; i < chosen.bytes; ++i) ASSERT_EQ(chosen.memory[i], chosen.mark) << "step " << step;
            pool.deallocate(chosen.memory, chosen.bytes, 8);
            chosen = live.back();
            live.pop_back();
        } else {
            const std::size_t bytes = 1 + random.below(random.below(20) == 0 ? 20000 : 600);
            const auto mark = static_cast<unsigned char>(random.next());
            auto* const memory = static_cast<unsigned char*>(pool.allocate(bytes, 8));
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 8, 0u);
            std::memset(memory, mark, bytes);
            live.push_back({memory, bytes, mark});
        }
    }
}

using millpond::monotonic, millpond::suites::multipool_2015;
using over_monotonic = millpond::suites::multipool_2015_over<monotonic<>>;

TEST(library_suite, the_multipool_of_2015_holds_its_contents) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
        hold_contents<multipool_2015>(seed);
        hold_contents<over_monotonic>(seed);
        hold_contents<millpond::suites::locked_2015<multipool_2015>>(seed);
        hold_contents<millpond::suites::locked_2015<over_monotonic>>(seed);
    }
}

class counted_heap : public std::pmr::memory_resource {
  public:
    std::size_t live_bytes = 0;

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        live_bytes += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        live_bytes -= bytes;
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST(library_suite, the_multipool_of_2015_passes_large_blocks_on) {
    constexpr std::size_t largest = multipool_2015::largest_bytes;
    counted_heap heap;
    {
        multipool_2015 pool(&heap);
        void* const small = pool.allocate(largest, 8);
        const std::size_t before = heap.live_bytes;
        void* const large = pool.allocate(largest + 1, 8);
        EXPECT_GT(heap.live_bytes, before + largest);
        pool.deallocate(large, largest + 1, 8);
        EXPECT_EQ(heap.live_bytes, before) << "a freed large block is the upstream's";
        pool.deallocate(small, largest, 8);
        EXPECT_EQ(heap.live_bytes, before) << "a freed small block stays the pool's";
        EXPECT_EQ(pool.allocate(largest, 8), small);
        static_cast<void>(pool.allocate(largest + 1, 8));
    }
    EXPECT_EQ(heap.live_bytes, 0u) << "all goes back at the end, whether it was freed or not";

    over_monotonic pool;
    void* const large = pool.allocate(largest + 1, 8);
    pool.deallocate(large, largest + 1, 8);
    EXPECT_NE(pool.allocate(largest + 1, 8), large) << "a monotonic uses no block again";
}

TEST(library_suite, the_mutex_of_2015_lets_one_thread_in) {
    constexpr int times = 20000;
    millpond::suites::mutex_2015 mutex;
    int count = 0;
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) {
        threads.emplace_back([&] {
            for (int i = 0; i < times; ++i) {
                const std::lock_guard lock(mutex);
                ++count;
            }
        });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(count, 3 * times);
}

TEST(library_suite, the_ideal_free_list_holds_its_contents) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) hold_contents<millpond::library::ideal_free_list>(seed);
}

TEST(library_suite, an_ideal_bump_starts_again_in_the_same_memory) {
    millpond::library::ideal_bump bump;
    void* const first = bump.allocate(100, 8);
    for (int i = 0; i < 10; ++i) static_cast<void>(bump.allocate(std::size_t{700} << 10, 8));
    const std::uint64_t held = millpond::library::ideal_bump::held_bytes();
    bump.restart();
    EXPECT_EQ(bump.allocate(100, 8), first);
    for (int i = 0; i < 10; ++i) static_cast<void>(bump.allocate(std::size_t{700} << 10, 8));
    EXPECT_EQ(millpond::library::ideal_bump::held_bytes(), held);
}

}  // namespace
