// SPDX-License-Identifier: BSL-1.0
// litter: a littered program behaves as usual, in a heap with holes that depend only on the seed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/lab/suites/suite_run.hpp"

namespace {

using millpond::test::ended;
using millpond::test::run;

const std::string litter = LITTER_PROGRAM;
const std::string program = PROGRAM;

// Runs the command without its standard error.
ended quiet(const std::string& command) { return run("(" + command + " 2>/dev/null)", ""); }

// Returns the program's heap with the system's address randomisation switched off.
std::string heap(const std::string& options) {
    const ended done = quiet("setarch -R " + litter + " " + options + " -- " + program + " heap");
    EXPECT_EQ(done.status, 0) << done.out;
    return done.out;
}

std::size_t free_chunks(const std::string& heap) {
    std::size_t count = 0;
    std::istringstream(heap) >> count;
    return count;
}

class litter_files : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("millpond-litter-test-" + std::to_string(::getpid()));
};

TEST(litter, leaves_holes_in_the_programs_heap) {
    const ended plain = run(program, "heap");
    EXPECT_GT(free_chunks(heap("")), free_chunks(plain.out) + 1000);
    EXPECT_GT(free_chunks(heap("--fraction 0.5")), free_chunks(heap("--fraction 0.01")));
    EXPECT_GT(free_chunks(heap("--blocks 50000")), free_chunks(heap("--blocks 1000")));
}

TEST(litter, leaves_the_same_layout_for_the_same_seed) {
    EXPECT_EQ(heap("--seed 3"), heap("--seed 3"));
    EXPECT_NE(heap("--seed 3"), heap("--seed 4"));
}

TEST(litter, ends_as_the_program_does) {
    EXPECT_EQ(run(litter, "-- " + program + " end 7").status, 7);
    EXPECT_EQ(run(litter, "-- " + program + " kill 15").status, 128 + 15);
    EXPECT_EQ(quiet("echo a b | " + litter + " -- cat").out, "a b\n");
}

TEST(litter, says_on_standard_error_what_it_left) {
    const ended done = run(litter, "--blocks 1000 --fraction 0.25 -- true");
    EXPECT_NE(done.out.find("millpond: littered the heap: 1000 blocks"), std::string::npos) << done.out;
    EXPECT_NE(done.out.find("freed 250"), std::string::npos) << done.out;
    EXPECT_NE(done.out.find("750 blocks"), std::string::npos) << done.out;
    EXPECT_EQ(quiet(litter + " -- true").out, "");
}

TEST(litter, leaves_the_environment_and_the_descriptors_as_they_were) {
#if defined(__SANITIZE_ADDRESS__)
    const auto befores = {"env -u LD_PRELOAD "};  // millpond-litter itself wants the sanitizer's library first
#else
    const auto befores = {"env -u LD_PRELOAD ", "LD_PRELOAD=libc.so.6 ", "LD_PRELOAD=libc.so.6:libm.so.6 "};
#endif
    for (const std::string before : befores) {
        const std::string show = "sh -c 'env | grep -v ^_= | sort; ls /proc/self/fd'";
        EXPECT_EQ(quiet(before + litter + " -- " + show).out, quiet(before + show).out);
    }
}

TEST(litter, litters_no_other_program_that_this_one_starts) {
    const ended done = run(litter, "--blocks 1000 -- sh -c '" + program + " end 3; " + program + " end 4'");
    EXPECT_EQ(done.status, 4);
    EXPECT_EQ(done.out.find("littered"), done.out.rfind("littered")) << done.out;
}

TEST_F(litter_files, takes_the_sizes_of_a_trace_with_its_deletes_held_back) {
    const std::string trace = folder_ / "program.mpt";
    ASSERT_EQ(run(RECORD_PROGRAM, "-o " + trace + " -- " + program + " blocks").status, 0);
    const ended done = run(litter, "--trace " + trace + " --fraction 1 -- true");
    ASSERT_EQ(done.status, 0) << done.out;
    std::size_t blocks = 0, bytes = 0, freed = 0;
    ASSERT_EQ(std::sscanf(done.out.c_str(), "millpond: littered the heap: %zu blocks of %zu bytes, then freed %zu",
                          &blocks, &bytes, &freed),
              3)
        << done.out;
    EXPECT_GE(blocks, 3000u);
    EXPECT_LT(blocks, 3100u);
    EXPECT_GE(bytes, 3000u * 2000u);
    EXPECT_EQ(freed, blocks);
    std::ofstream(folder_ / "foreign") << "no trace";
    EXPECT_EQ(run(litter, "--trace " + (folder_ / "foreign").string() + " -- true").status, 3);
}

TEST(litter, errors_have_their_status_and_a_line) {
    const std::pair<std::string, int> wrong[] = {
        {"", 2},
        {"--", 2},
        {"--fraction 1.5 -- true", 2},
        {"--fraction some -- true", 2},
        {"--blocks 0 -- true", 2},
        {"--blocks 1000001 -- true", 2},
        {"--blocks 10 --trace x -- true", 2},
        {"--trace /nowhere/x.mpt -- true", 3},
        {std::string("-- ") + STATIC_PROGRAM, 4},
        {"-- /nowhere/program", 5},
    };
    for (const auto& [arguments, status] : wrong) {
        const ended done = run(litter, arguments);
        EXPECT_EQ(done.status, status) << arguments << ": " << done.out;
        EXPECT_TRUE(done.out.starts_with("millpond: ")) << arguments << ": " << done.out;
    }
}

TEST(litter, changes_nothing_for_programs_that_fork) {
    for (const std::string mode :
         {"streams", "threads", "handlers", "_Fork", "clone", "vfork", "spawn", "daemon", "fifty", "chain", "late"}) {
        const ended done = quiet(litter + " --blocks 2000 -- " FORKING " " + mode);
        EXPECT_EQ(done.status, 0) << mode;
        EXPECT_EQ(done.out, mode + ": all children ended as they should\n");
    }
    for (const std::string action : {"fork_return", "_Fork_return threads"})
        EXPECT_EQ(quiet(litter + " --blocks 2000 -- " INTERRUPTED " " + action).out, "ok\n") << action;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(litter, without_memory_ends_the_program_before_it_begins) {
    const ended full = run("ulimit -v 100000; " + litter, "--blocks 1000000 -- true");
    EXPECT_EQ(full.status, 4) << full.out;
    EXPECT_NE(full.out.find("no memory"), std::string::npos) << full.out;
}
#endif

}  // namespace
