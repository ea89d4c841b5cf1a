// SPDX-License-Identifier: BSL-1.0
// The program of the suballocator's benchmarks: every contender does the work that the paper describes.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "recorded_blocks.hpp"
#include "suite_rounds.hpp"

namespace {

using millpond::test::block;
using millpond::test::more_in;
using millpond::test::of_size;
using nlohmann::json;

const millpond::test::suite_rounds suite(SUBALLOCATOR_SUITE);

const std::string pooled = "pooled:type:destroy";
const std::vector<std::string> containers = {
    "list",          "forward_list",       "set",           "multiset",          "map", "multimap",
    "unordered_set", "unordered_multiset", "unordered_map", "unordered_multimap"};

std::vector<block> recorded(const std::string& strategy, const std::string& point) {
    return millpond::test::recorded(RECORD_PROGRAM,
                                    SUBALLOCATOR_SUITE " --seed 5 --contender '" + strategy + "' --workload " + point);
}

std::vector<std::string> names() {
    std::vector<std::string> found;
    const json list = millpond::test::listed(suite.program());
    for (const json& each : list["contenders"]) found.push_back(each["name"]);
    EXPECT_GE(found.size(), 10u);
    return found;
}

TEST(suballocator_suite, every_contender_does_the_same_operations) {
    for (const std::string count : {"1", "2", "1001"}) {
        for (const std::string workload : {"doubles", "five_operations"}) {
            EXPECT_EQ(suite.expect_same_work(workload, " --count " + count, std::stoull(count)), count);
        }
    }
}

TEST(suballocator_suite, every_contender_fills_the_same_set) {
    const std::string sum = suite.expect_same_work("set_inserts", " --count 700", 700);
    // The previous contents of the memory do not matter.
    EXPECT_EQ(suite.expect_same_work("set_inserts", " --count 700 --collections_before 2", 700), sum);
    const auto is_allocator = [](const std::string& name) { return name != pooled; };
    const std::string nodes = " --count 700 --collections_before 1 --inserts 0";
    EXPECT_EQ(suite.expect_same_work_of("set_inserts", nodes, 700, is_allocator), "700");
    EXPECT_NE(suite.round("set_inserts", "new_delete:type:destroy", " --count 700 --seed 8")["checksum"], sum);
}

TEST(suballocator_suite, every_contender_frees_and_fills_the_same_of_every_container) {
    const std::string sum = suite.expect_same_work("set_inserts", " --count 700", 700);
    const auto has_arrays = [](const std::string& name) { return !name.starts_with("fast_pool"); };
    const auto any = [](const std::string&) { return true; };
    for (const std::string& container : containers) {
        const std::string at = " --count 700 --container " + container;
        const bool is_hashed = container.starts_with("unordered");
        const auto sum_of = [&](const std::string& more) {
            return is_hashed ? suite.expect_same_work_of("containers", at + more, 700, has_arrays)
                             : suite.expect_same_work_of("containers", at + more, 700, any);
        };
        EXPECT_EQ(sum_of(""), sum) << container << ": what was freed is there again";
        EXPECT_EQ(sum_of(" --collections_before 2"), sum) << container;
    }
    for (const std::string count : {"2", "3", "1000", "1001"})
        for (const std::string container : {"list", "forward_list", "multimap", "unordered_multiset"})
            EXPECT_EQ(suite.round("containers", pooled, " --container " + container + " --count " + count)["checksum"],
                      suite.round("set_inserts", "std::allocator", " --count " + count)["checksum"]);
}

TEST(suballocator_suite, containers_have_the_operations_that_they_can) {
    for (const std::string& container : containers) {
        const json line = suite.round("containers", pooled, " --count 30000 --container " + container);
        const bool goes_backwards = container != "forward_list" && !container.starts_with("unordered");
        EXPECT_EQ(line["free_from_last_seconds"].is_number(), goes_backwards) << line;
        double sum = goes_backwards ? line["free_from_last_seconds"].get<double>() : 0.0;
        for (const std::string name : {"fill", "free_from_first", "free_odd", "free_and_allocate_odd"})
            sum += line[name + "_seconds"].get<double>();
        EXPECT_GE(line["cpu_seconds"].get<double>(), sum) << container;
        EXPECT_GE(line["full_bytes"].get<double>(), 0.9 * 16 * 30000) << container;
        EXPECT_LE(line["empty_bytes"].get<double>(), line["full_bytes"].get<double>()) << container;
    }
}

TEST(suballocator_suite, the_documents_names_are_names_too) {
    std::map<std::string, std::string> expected = {
        {"std::allocator", "new_delete:type:destroy"},   {"malloc_allocator", "malloc_alloc:type:destroy"},
        {"mt_allocator", "mt_alloc:type:destroy"},       {"pool_allocator", "pool_alloc:type:destroy"},
        {"suballocator64", "suballocator:type:destroy"}, {"suballocator32", "suballocator32:type:destroy"},
    };
    for (const std::string& name : names()) {
        if (name == "fast_pool:type:destroy") expected["boost::fast_pool_allocator"] = name;
    }
    suite.expect_aliases("doubles", " --count 9", expected);
}

TEST(suballocator_suite, every_operation_has_its_figures) {
    const std::map<std::string, std::vector<std::string>> seconds = {
        {"doubles", {"allocate_seconds", "deallocate_seconds"}},
        {"five_operations",
         {"allocate_seconds", "free_from_last_seconds", "free_from_first_seconds", "free_odd_seconds",
          "free_and_allocate_odd_seconds"}},
        {"set_inserts", {"fill_seconds", "clear_seconds"}},
    };
    for (const auto& [workload, figures] : seconds) {
        const json line = suite.round(workload, "suballocator32:type:destroy", " --count 30000");
        double sum = 0;
        for (const std::string& name : figures) {
            ASSERT_TRUE(line.contains(name)) << workload << ": " << name;
            EXPECT_GT(line[name], 0) << workload << ": " << name;
            sum += line[name].get<double>();
        }
        EXPECT_GE(line["cpu_seconds"].get<double>(), sum) << "the window has all operations";
        EXPECT_GT(line["page_faults"], 0);
        const double full = line[workload == "set_inserts" ? "full_bytes" : "elements_bytes"];
        const double kept = line[workload == "set_inserts" ? "empty_bytes" : "freed_bytes"];
        EXPECT_DOUBLE_EQ(line["kept_share"].get<double>(), kept / full);
    }
}

// The resident bytes are reported for every contender; elements cannot take less than their own bytes.
TEST(suballocator_suite, resident_bytes_are_those_of_the_elements) {
    constexpr double count = 200'000;
    const std::string more = " --count 200000";
    for (const std::string& strategy : names()) {
        const json set = suite.round("set_inserts", strategy, more);
        EXPECT_GE(set["full_bytes"].get<double>(), 0.9 * 40 * count) << strategy;
        EXPECT_LE(set["empty_bytes"].get<double>(), set["full_bytes"].get<double>() * 1.1 + 200'000) << strategy;
        if (strategy == pooled) continue;
        const json line = suite.round("five_operations", strategy, more);
        EXPECT_GE(line["elements_bytes"].get<double>(), 0.9 * 8 * count) << strategy;
        EXPECT_GE(line["peak_bytes"].get<double>(), line["elements_bytes"].get<double>()) << strategy;
        EXPECT_LE(line["freed_bytes"].get<double>(), line["elements_bytes"].get<double>() * 1.1 + 200'000) << strategy;
        // The array of pointers is in neither, so that its end changes nothing that is counted.
        EXPECT_LE(line["array_gone_bytes"].get<double>(), line["freed_bytes"].get<double>() + 200'000) << strategy;
    }
    // Ours give back what they can, as the document says of its own.
    for (const std::string strategy : {"suballocator:type:destroy", "compact_pool:type:destroy"}) {
        const json line = suite.round("five_operations", strategy, more);
        EXPECT_LE(line["freed_bytes"].get<double>(), line["elements_bytes"].get<double>() / 2) << strategy;
    }
}

TEST(suballocator_suite, a_littered_heap_changes_no_work) {
    for (const std::string workload : {"doubles", "five_operations", "set_inserts", "containers"}) {
        const json plain = suite.round(workload, "new_delete:type:destroy", " --count 500");
        const json littered = suite.round(workload, "new_delete:type:destroy", " --count 500 --litter 0.4");
        EXPECT_EQ(littered["checksum"], plain["checksum"]) << workload;
    }
}

TEST(suballocator_suite, wrong_usage_is_refused_with_the_known_names) {
    suite.expect_refused({
        {"--workload nothing --contender suballocator64",
         "doubles, five_operations, larger_blocks, set_inserts, containers"},
        {"--workload doubles --contender pooled:type:destroy", "pooled"},
        {"--workload set_inserts --contender pooled:type:destroy --inserts 0", "single node"},
        {"--workload containers --contender mt_allocator --container vector", "list"},
        {"--workload doubles --contender pool", "compact_pool:type:destroy"},
        {"--workload doubles --contender mt_allocator --size 3", "count, seed"},
        {"--workload doubles --contender mt_allocator --count 0", "from 1 to"},
        {"--workload set_inserts --contender mt_allocator --inserts 2", "from 0 to 1"},
        {"--workload set_inserts --contender mt_allocator --count", "has no value"},
        {"--contender mt_allocator", "--list"},
    });
}

// Both would exceed the test's time or this machine's memory.
TEST(suballocator_suite, too_large_rounds_are_not_run_and_exhaustion_is_reported) {
    const auto status = [](const std::string& limit, const std::string& point) {
        const auto done = millpond::test::run(limit + suite.program(), point);
        EXPECT_EQ(done.status, 0) << done.out;
        return json::parse(done.out, nullptr, false).value("status", "");
    };
    for (const std::string workload : {"doubles", "five_operations", "set_inserts", "containers"}) {
        const std::string point = " --workload " + workload + " --contender suballocator64 --count ";
        EXPECT_EQ(status("", "--memory-limit-bytes 1000000" + point + "1000000000"), "predicted_bad_alloc");
        EXPECT_EQ(status("ulimit -v 300000; ", point + "20000000"), "bad_alloc");
    }
}

TEST(suballocator_allocations, each_double_is_a_block_and_the_first_is_freed_first) {
    const auto blocks = recorded("std::allocator", "doubles --count 3000");
    const auto more = more_in(blocks, recorded("std::allocator", "doubles --count 1000"));
    EXPECT_EQ(more.at(sizeof(double)), 2000);
    EXPECT_EQ(more.at(3000 * sizeof(void*)), 1);
    const auto elements = of_size(blocks, 8, 8);
    ASSERT_GE(elements.size(), 3000u);
    for (std::size_t i = elements.size() - 3000 + 1; i < elements.size(); ++i) {
        ASSERT_TRUE(elements[i].end && elements[i - 1].end);
        EXPECT_LT(*elements[i - 1].end, *elements[i].end);
    }
}

// The container is filled three times, and its odd half another two times; all is freed in the end, and the number of
// live blocks never exceeds the number of elements.
TEST(suballocator_allocations, the_five_operations_are_those_of_the_document) {
    const auto large = recorded("std::allocator", "five_operations --count 3000");
    const auto more = more_in(large, recorded("std::allocator", "five_operations --count 1000"));
    EXPECT_EQ(more.at(8), 2000 * 3 + 2 * 1000);
    const auto elements = of_size(large, 8, 8);
    const std::size_t all = 3 * 3000 + 2 * 1500;
    ASSERT_GE(elements.size(), all);
    const std::vector<block> own(elements.end() - static_cast<std::ptrdiff_t>(all), elements.end());
    EXPECT_EQ(millpond::test::most_live(own), 3000u);
    const auto end = [&](std::size_t i) { return own[i].end.value_or(0); };
    for (std::size_t i = 1; i < 3000; ++i) {
        EXPECT_GT(end(i - 1), end(i)) << "from the last to the first";
        EXPECT_LT(end(3000 + i - 1), end(3000 + i)) << "from the first to the last";
    }
    for (std::size_t i = 0; i + 1 < 3000; i += 2) {
        EXPECT_GT(end(6000 + i), end(6000 + i + 1)) << "odd elements first";
    }
    for (const block& each : own) EXPECT_TRUE(each.end);
}

TEST(suballocator_allocations, a_set_is_a_node_of_40_bytes_for_each_number) {
    const std::string point = "set_inserts --count ";
    const auto nodes = [&](const std::string& more) {
        return of_size(recorded("std::allocator", point + more), 40, 40).size();
    };
    const std::size_t one = nodes("1000");
    EXPECT_EQ(nodes("3000") - one, 2000u);
    EXPECT_EQ(nodes("1000 --collections_before 2") - one, 2000u);
    EXPECT_EQ(nodes("1000 --inserts 0"), one) << "the same nodes without the set";
    EXPECT_EQ(nodes("1000 --inserts 0 --collections_before 1") - one, 1000u);
}

TEST(suballocator_allocations, the_suballocator_asks_its_allocator_for_pages_of_elements) {
    for (const std::string strategy : {"suballocator64", "suballocator32"}) {
        const auto many = recorded(strategy, "doubles --count 30000");
        const auto few = recorded(strategy, "doubles --count 10000");
        EXPECT_EQ(of_size(many, 8, 8).size(), of_size(few, 8, 8).size()) << strategy;
        // A report of few digits less may have one text less, so neither need be the smaller.
        EXPECT_LT(many.size(), few.size() + 20000 / 64) << strategy;
    }
}

}  // namespace
