// SPDX-License-Identifier: BSL-1.0
// libmillpond-multipool.so under unmodified programs: whatever they do, they end as they end with the C library's
// malloc.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lab/measure/measurement.hpp"

namespace {

using words = std::vector<std::string>;

class preloaded : public testing::Test {
  protected:
    struct outcome {
        int status;  // negative: the signal
        std::string out, error;
    };

    void SetUp() override {
        folder = std::filesystem::temp_directory_path() / ("millpond_malloc_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    static std::string content(const std::string& path) {
        std::ifstream stream(path, std::ios::binary);
        std::ostringstream text;
        text << stream.rdbuf();
        return text.str();
    }
    outcome run(const words& program, bool is_preloaded) const {
        words arguments = {"/usr/bin/env", "-u", "LD_PRELOAD"};
        if (is_preloaded) arguments = {"/usr/bin/env", "LD_PRELOAD=" MALLOC_LIBRARY};
        arguments.insert(arguments.end(), program.begin(), program.end());
        millpond::measure::start_options options;
        options.stdin_path = "/dev/null";
        options.stdout_path = folder / "out";
        options.stderr_path = folder / "error";
        const auto result = millpond::measure::measure(arguments[0], arguments, options);
        return {result.signal != 0 ? -result.signal : result.exit_status, content(options.stdout_path),
                content(options.stderr_path)};
    }
    void expect_as_bare(const words& program) const {
        const outcome bare = run(program, false), tried = run(program, true);
        EXPECT_EQ(tried.status, bare.status) << tried.error;
        EXPECT_EQ(tried.out, bare.out);
        EXPECT_EQ(tried.error, bare.error);
    }

    std::filesystem::path folder;
};

TEST_F(preloaded, keeps_what_c_and_posix_promise) { expect_as_bare({SEMANTICS_C}); }
TEST_F(preloaded, serves_cxx_programs_with_threads) { expect_as_bare({STRUCTURES, "2000", "4"}); }
TEST_F(preloaded, serves_programs_of_the_system) {
    expect_as_bare({"/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do x=$(echo $i); i=$((i+1)); done; echo $x"});
    expect_as_bare({"/usr/bin/sort", "/etc/passwd"});
    expect_as_bare({"/bin/sh", "-c", "exit 5"});
}
TEST_F(preloaded, leaves_a_program_with_its_own_malloc_alone) { expect_as_bare({OWN_MALLOC}); }

class preloaded_forks : public preloaded, public testing::WithParamInterface<const char*> {};
TEST_P(preloaded_forks, end_as_bare) { expect_as_bare({FORKING, GetParam()}); }
INSTANTIATE_TEST_SUITE_P(each, preloaded_forks,
                         testing::Values("streams", "threads", "handlers", "_Fork", "clone", "vfork", "spawn", "daemon",
                                         "fifty", "chain", "late"),
                         [](const auto& each) { return "by_" + std::string(each.param); });

class preloaded_interrupted : public preloaded, public testing::WithParamInterface<const char*> {};
TEST_P(preloaded_interrupted, ends_as_bare_at_every_instruction) {
    const outcome tried = run({INTERRUPTED, GetParam()}, true);
    EXPECT_EQ(tried.out, "ok\n") << tried.status << ' ' << tried.error;
}
INSTANTIATE_TEST_SUITE_P(each, preloaded_interrupted,
                         testing::Values("fork_exit", "fork_return", "_Fork_return", "clone_return", "allocate"),
                         [](const auto& each) { return "by_" + std::string(each.param); });

TEST_F(preloaded, lets_handlers_of_threaded_programs_fork_and_allocate) {
    for (const char* what : {"_Fork_return", "allocate"}) {
        const outcome tried = run({INTERRUPTED, what, "threads"}, true);
        EXPECT_EQ(tried.out, "ok\n") << what << ": " << tried.status << ' ' << tried.error;
    }
}

class preloaded_sharing : public preloaded, public testing::WithParamInterface<const char*> {};
TEST_P(preloaded_sharing, stays_within_its_bound) {
    const outcome tried = run({SHARING, GetParam()}, true);
    EXPECT_EQ(tried.status, 0) << tried.error;
}
INSTANTIATE_TEST_SUITE_P(each, preloaded_sharing, testing::Values("handover", "threads", "sizes", "returned", "ends"),
                         [](const auto& each) { return std::string(each.param); });

TEST_F(preloaded, leaves_as_much_under_a_limit_as_bare) {
    for (const char* kind : {"as", "as_more", "as_late", "data"}) {
        for (const char* block : {"96", "4096", "40000"}) {
            const words program = {LIMITED, kind, "48", block, "1"};
            const outcome bare = run(program, false), tried = run(program, true);
            ASSERT_EQ(bare.status, 0) << bare.error;
            ASSERT_EQ(tried.status, 0) << kind << ' ' << block << tried.error;
            EXPECT_GT(std::stod(tried.out), 0.95 * std::stod(bare.out)) << kind << ' ' << block;
        }
    }
}

TEST_F(preloaded, fails_no_program_under_a_small_limit_that_runs_bare) {
    for (const char* limit : {"8", "16", "32"}) {
        const words program = {LIMITED, "as", limit, "0", "1"};
        EXPECT_EQ(run(program, true).status, run(program, false).status) << limit;
    }
}

TEST(multipool_library, may_be_opened_by_a_running_program) {
    void* const library = dlopen(MALLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) GTEST_SKIP() << dlerror();  // no room for its thread-local words, or a sanitizer
    auto* const allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "malloc"));
    auto* const deallocate = reinterpret_cast<void (*)(void*)>(dlsym(library, "free"));
    ASSERT_NE(allocate, nullptr);
    std::vector<void*> blocks;
    for (std::size_t i = 1; i < 20000; i += 7) blocks.push_back(allocate(i));
    for (void* each : blocks) deallocate(each);
    dlclose(library);
}

}  // namespace
