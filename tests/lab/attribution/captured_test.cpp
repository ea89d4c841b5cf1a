// SPDX-License-Identifier: BSL-1.0
// Programs with known references, captured by millpond-references and read by millpond-characterise.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "../references/capture_run.hpp"
#include "lab/program/json.hpp"

namespace {

using millpond::program::json, millpond::program::parse_json;
using millpond::test::command_result;

json characterised(const std::string& trace, const std::string& options = {}) {
    const command_result done(std::string(MILLPOND_CHARACTERISE) + " " + options + " " + trace);
    EXPECT_EQ(done.status, 0) << done.output;
    json all;
    try {
        all = parse_json(done.output);
    } catch (const millpond::program::json_kind_error&) {  // no JSON at all, which is no object either
    }
    EXPECT_TRUE(all.is_object()) << done.output.substr(0, 400);
    return all;
}

json references_of(const json& all, const std::string& end) {
    for (const json& each : all["subsystems"]) {
        if (each["name"].text().ends_with(end)) return each["references"];
    }
    ADD_FAILURE() << "no subsystem " << end;
    return json::object();
}

std::uint64_t sum(const json& entries, const char* key) {
    std::uint64_t all = 0;
    for (const json& each : entries) all += each[key].get<std::uint64_t>();
    return all;
}

class captured : public testing::Test {
  protected:
    void SetUp() override { MILLPOND_SKIP_WITHOUT_VALGRIND(); }

    std::string capture(const std::string& program) {
        const std::string trace = folder_ / "trace.mpt";
        const command_result done(millpond::test::capture_command(trace, program) + " 2>&1");
        EXPECT_EQ(done.status, 0) << done.output;
        output_ = done.output;
        return trace;
    }

    millpond::test::folder folder_;
    std::string output_;
};

TEST_F(captured, planted_references_are_found) {
    const json all = characterised(capture(PLANTED_PROGRAM));
    const json wide = references_of(all, "wide"), narrow = references_of(all, "narrow");
    EXPECT_EQ(wide["references"], 10000);
    EXPECT_EQ(wide["transitions"], 1000);
    EXPECT_EQ(wide["lines"], 10);
    EXPECT_EQ(wide["lines_packed"], 1);
    EXPECT_EQ(wide["locality"], 0.5);
    EXPECT_EQ(wide["allocator"]["calls"], 20);
    EXPECT_EQ(wide["cold"].get<int>() + wide["capacity"].get<int>() + wide["conflict"].get<int>(), wide["misses"]);
    EXPECT_EQ(narrow["references"], 2000);
    EXPECT_EQ(narrow["transitions"], 999);
    EXPECT_EQ(narrow["lines"], 2);
}

TEST_F(captured, parts_add_up_to_the_whole) {
    const std::string trace = capture(PLANTED_PROGRAM);
    for (const std::string options : {"", "--cache attributed:size=1K,ways=2,line=32", "--cache fifo:size=4K,ways=4"}) {
        const json all = characterised(trace, options);
        const json& whole = all["references"];
        const json& places = whole["places"];
        EXPECT_EQ(sum(places, "references"), whole["references"]);
        EXPECT_EQ(sum(places, "misses"),
                  whole["misses"]["program"].get<int>() + whole["misses"]["allocator"].get<int>());
        std::uint64_t references = 0, misses = 0,
                      instructions = whole["allocator"]["instructions"].get<std::uint64_t>();
        double instruction_share = 0, miss_share = 0;
        for (const json& each : all["subsystems"]) {
            const json& own = each["references"];
            references += own["references"].get<std::uint64_t>();
            misses += own["misses"].get<std::uint64_t>();
            instructions += own["allocator"]["instructions"].get<std::uint64_t>();
            instruction_share += own["instruction_share"].get<double>();
            miss_share += own["miss_share"].get<double>();
            EXPECT_LE(own["useful_bytes"].get<std::uint64_t>(), own["fetched_bytes"].get<std::uint64_t>());
            EXPECT_EQ(each["dvluc"]["L"]["kind"], "counted");
            EXPECT_EQ(each["dvluc"]["D"]["kind"], "counted");
            EXPECT_EQ(each["dvluc"]["C"]["kind"], "counted");
            EXPECT_GE(each["dvluc"]["D"]["value"].get<double>(), own["instruction_share"].get<double>());
            EXPECT_LE(each["dvluc"]["D"]["value"].get<double>(), 1.0);
        }
        EXPECT_EQ(places[0]["references"], references);
        EXPECT_EQ(places[0]["misses"], misses);
        EXPECT_EQ(whole["allocator_instructions"], instructions);
        EXPECT_LE(instruction_share, whole["instruction_share"].get<double>() + 1e-9);
        EXPECT_LE(miss_share, 1.0);
        std::uint64_t in_cells = 0;
        for (const json& cell : whole["map"]["cells"]) in_cells += cell[2].get<std::uint64_t>();
        EXPECT_EQ(in_cells, sum(places, "references") - places[5]["references"].get<std::uint64_t>());
    }
}

TEST_F(captured, dial_of_locality_comes_out_as_it_went_in) {
    for (const int dial : {20, 100, 300, 500, 800, 950}) {
        const std::string trace = capture(P0089_SUITE
                                          " --workload dials --contender AS1 --seed 5 --log2_operations 14"
                                          " --locality " +
                                          std::to_string(dial));
        const std::size_t line = output_.find("{\"");
        ASSERT_NE(line, std::string::npos) << output_;
        const json said = parse_json(output_.substr(line, output_.find('\n', line) - line))["details"];
        const auto accesses = said["accesses"].get<double>(), lines = said["lines"].get<double>(),
                   transitions = said["transitions"].get<double>();
        const json found = references_of(characterised(trace), "first_ring");
        const double wanted = accesses / (accesses + lines * transitions);
        EXPECT_NEAR(found["locality"].get<double>(), wanted, wanted / 20) << dial;
        EXPECT_EQ(found["references"], accesses) << dial;
        EXPECT_EQ(found["lines"], lines) << dial;
        EXPECT_NEAR(found["transitions"].get<double>(), transitions, 3) << dial;
    }
}

TEST_F(captured, cut_traces_are_refused_or_read_in_part) {
    const std::string trace = capture(PLANTED_PROGRAM), cut = folder_ / "cut.mpt";
    const auto bytes = std::filesystem::file_size(trace);
    for (unsigned part = 1; part < 40; ++part) {
        std::filesystem::copy_file(trace, cut, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(cut, bytes * part / 40);
        const command_result done(std::string(MILLPOND_CHARACTERISE) + " --json - " + cut + " 2>&1");
        EXPECT_TRUE(done.status == 0 || done.status == 3) << part << ": " << done.output.substr(0, 400);
    }
}

TEST_F(captured, damaged_traces_are_refused_or_read_in_part) {
    const std::string trace = capture(PLANTED_PROGRAM), damaged = folder_ / "damaged.mpt";
    const auto bytes = std::filesystem::file_size(trace);
    for (unsigned part = 1; part < 40; ++part) {
        std::filesystem::copy_file(trace, damaged, std::filesystem::copy_options::overwrite_existing);
        std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(bytes * part / 40));
        file.write("\xFF\xFF\xFF", 3);
        file.close();
        const command_result done(std::string(MILLPOND_CHARACTERISE) + " --json - " + damaged + " 2>&1");
        EXPECT_TRUE(done.status == 0 || done.status == 3) << part << ": " << done.output.substr(0, 400);
    }
}

}  // namespace
