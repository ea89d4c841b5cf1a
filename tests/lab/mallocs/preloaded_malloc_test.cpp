// SPDX-License-Identifier: BSL-1.0
// Each libmillpond-NAME.so under unmodified programs: each program ends as it does with the C library's malloc.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lab/measure/measurement.hpp"

namespace {

using words = std::vector<std::string>;

const words libraries = {"multipool", "first_fit",    "gnu_gxx",         "bsd",     "gnu_local", "quick_fit",
                         "best_fit",  "binary_buddy", "fibonacci_buddy", "size_map"};

std::string path_of(const std::string& library) { return MALLOC_FOLDER "/libmillpond-" + library + ".so"; }

struct outcome {
    int status;  // negative: the signal
    std::string out, error;
};

std::string content(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

// `library`: its name; empty for none.
outcome run(const words& program, const std::string& library, const std::string& variable = "LC_ALL=C") {
    const auto folder = std::filesystem::temp_directory_path() / ("millpond_malloc_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    words arguments = {"/usr/bin/env", "-u", "LD_PRELOAD", "-u", "MILLPOND_CHECK", variable};
    if (!library.empty()) arguments.push_back("LD_PRELOAD=" + path_of(library));
    arguments.insert(arguments.end(), program.begin(), program.end());
    millpond::measure::start_options options;
    options.stdin_path = "/dev/null";
    options.stdout_path = folder / "out";
    options.stderr_path = folder / "error";
    const auto result = millpond::measure::measure(arguments[0], arguments, options);
    const outcome end = {result.signal != 0 ? -result.signal : result.exit_status, content(options.stdout_path),
                         content(options.stderr_path)};
    std::filesystem::remove_all(folder);
    return end;
}
void expect_as_bare(const words& program, const std::string& library, const std::string& variable = "LC_ALL=C") {
    const outcome bare = run(program, ""), tried = run(program, library, variable);
    EXPECT_EQ(tried.status, bare.status) << tried.error;
    EXPECT_EQ(tried.out, bare.out);
    EXPECT_EQ(tried.error, bare.error);
}

std::string name_of_library(const testing::TestParamInfo<std::string>& each) { return each.param; }

class preloaded : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(each, preloaded, testing::ValuesIn(libraries), &name_of_library);

// Expects success without output. The C library's own malloc passes, too; that is not repeated for each library.
void expect_silent_success(const words& program, const std::string& library) {
    const outcome tried = run(program, library);
    EXPECT_EQ(tried.status, 0) << tried.error;
    EXPECT_EQ(tried.out + tried.error, "");
}

TEST_P(preloaded, keeps_the_promises_of_c_and_posix) { expect_silent_success({SEMANTICS_C}, GetParam()); }
TEST_P(preloaded, keeps_its_promises_at_the_edges) {
    expect_silent_success({EDGES, "family"}, GetParam());
    expect_silent_success({EDGES, "threads"}, GetParam());
    expect_as_bare({EDGES, "exit"}, GetParam());
}
TEST(malloc_of_the_c_library, keeps_the_same_promises) {
    for (const words& each : {words{SEMANTICS_C}, {EDGES, "family"}, {EDGES, "threads"}})
        expect_silent_success(each, "");
}
TEST_P(preloaded, serves_cxx_programs_with_threads) { expect_as_bare({STRUCTURES, "2000", "4"}, GetParam()); }
TEST_P(preloaded, serves_programs_of_the_system) {
    expect_as_bare({"/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do x=$(echo $i); i=$((i+1)); done; echo $x"},
                   GetParam());
    expect_as_bare({"/usr/bin/sort", "/etc/passwd"}, GetParam());
    expect_as_bare({"/bin/sh", "-c", "exit 5"}, GetParam());
}

// The allocators of the study that lack a function, or never reuse a block: correct, but not fit for every program.
class preloaded_variant : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(each, preloaded_variant,
                         testing::Values("monotonic", "first_fit_uncoalesced", "gnu_gxx_uncoalesced", "gnu_gxx_heads",
                                         "gnu_local_padded", "gnu_local_tagged", "size_map_3", "size_map_9",
                                         "size_map_256"),
                         &name_of_library);
TEST_P(preloaded_variant, keeps_the_promises_of_c_and_posix) {
    words program = {SEMANTICS_C, "1"};
    if (GetParam() == "monotonic") program.emplace_back("never_again");
    expect_silent_success(program, GetParam());
}
TEST_P(preloaded_variant, serves_cxx_programs_with_threads) { expect_as_bare({STRUCTURES, "200", "4"}, GetParam()); }

TEST_P(preloaded, leaves_a_program_with_its_own_malloc_unchanged) { expect_as_bare({OWN_MALLOC}, GetParam()); }

TEST_P(preloaded, keeps_blocks_of_a_plugin_that_is_gone) {
    const outcome tried = run({LOADING, PLUGIN}, GetParam());
    EXPECT_EQ(tried.status, run({LOADING, PLUGIN}, "").status) << tried.error;
}

TEST_P(preloaded, prints_statistics_when_asked) {
    const outcome quiet = run({STRUCTURES, "20", "1"}, GetParam(), "MILLPOND_STATS=0");
    EXPECT_EQ(quiet.error, "");
    const outcome loud = run({STRUCTURES, "20", "1"}, GetParam(), "MILLPOND_STATS=1");
    EXPECT_EQ(loud.out, quiet.out);
    EXPECT_EQ(loud.error.find("millpond " + GetParam() + ": "), 0U) << loud.error;
    EXPECT_NE(loud.error.find(" bytes held\n"), std::string::npos) << loud.error;
    EXPECT_EQ(loud.error.find(" splits, ") != std::string::npos, GetParam() != "multipool") << loud.error;
}

TEST_P(preloaded, may_be_opened_by_a_running_program) {
    void* const library = dlopen(path_of(GetParam()).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) GTEST_SKIP() << dlerror();  // no room for its thread-local words, or a sanitizer
    auto* const allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "malloc"));
    auto* const deallocate = reinterpret_cast<void (*)(void*)>(dlsym(library, "free"));
    ASSERT_NE(allocate, nullptr);
    std::vector<char*> blocks;
    for (std::size_t i = 1; i < 20000; i += 7) blocks.push_back(static_cast<char*>(allocate(i)));
    for (std::size_t i = 0; i < blocks.size(); i += 2) deallocate(blocks[i]);
    dlclose(library);
    for (std::size_t i = 1; i < blocks.size(); i += 2) {
        *blocks[i] = 1;
        deallocate(blocks[i]);
    }
}

// ── forks and signal handlers ───────────────────────────────────────────────────────────────────────────────────────

// The layer handles these, so one allocator of each of its two kinds is enough. SEMANTICS_C forks under load in each
// library.
const words of_each_kind = {"multipool", "quick_fit"};

using pairing = std::pair<std::string, std::string>;

std::vector<pairing> paired(const words& of_libraries, const words& modes) {
    std::vector<pairing> found;
    for (const std::string& library : of_libraries)
        for (const std::string& mode : modes) found.emplace_back(library, mode);
    return found;
}
std::string name_of_pair(const testing::TestParamInfo<pairing>& each) {
    return each.param.first + "_by_" + each.param.second;
}

class preloaded_forks : public testing::TestWithParam<pairing> {};
TEST_P(preloaded_forks, end_as_they_should) {
    const outcome tried = run({FORKING, GetParam().second}, GetParam().first);
    EXPECT_EQ(tried.status, 0) << tried.error;
    EXPECT_EQ(tried.out, GetParam().second + ": all children ended as they should\n");
    EXPECT_EQ(tried.error, "");
}
INSTANTIATE_TEST_SUITE_P(each, preloaded_forks,
                         testing::ValuesIn(paired(of_each_kind,
                                                  {"streams", "threads", "handlers", "_Fork", "clone", "vfork", "spawn",
                                                   "daemon", "fifty", "chain", "late"})),
                         &name_of_pair);

class preloaded_interrupted : public testing::TestWithParam<pairing> {};
TEST_P(preloaded_interrupted, ends_as_bare_at_every_instruction) {
    const outcome tried = run({INTERRUPTED, GetParam().second}, GetParam().first);
    EXPECT_EQ(tried.out, "ok\n") << tried.status << ' ' << tried.error;
}
INSTANTIATE_TEST_SUITE_P(each, preloaded_interrupted,
                         testing::ValuesIn(paired(of_each_kind, {"fork_exit", "fork_return", "_Fork_return",
                                                                 "clone_return", "allocate"})),
                         &name_of_pair);
INSTANTIATE_TEST_SUITE_P(moving_table, preloaded_interrupted, testing::Values(pairing{"gnu_local", "allocate"}),
                         &name_of_pair);

class preloaded_handlers : public testing::TestWithParam<std::string> {};
TEST_P(preloaded_handlers, threaded_programs_may_fork_and_allocate_in_handlers) {
    for (const char* what : {"_Fork_return", "allocate"}) {
        const outcome tried = run({INTERRUPTED, what, "threads"}, GetParam());
        EXPECT_EQ(tried.out, "ok\n") << what << ": " << tried.status << ' ' << tried.error;
    }
}
INSTANTIATE_TEST_SUITE_P(each, preloaded_handlers, testing::ValuesIn(of_each_kind), &name_of_library);

// ── limits and untouched memory ─────────────────────────────────────────────────────────────────────────────────────

TEST_P(preloaded, leaves_untouched_memory_untouched) {
    const outcome tried = run({UNTOUCHED}, GetParam());
    if (tried.status == 77) GTEST_SKIP() << "the system does not give 2 GiB of addresses";
    EXPECT_EQ(tried.status, 0) << tried.error;
}
TEST(checked_malloc, leaves_untouched_memory_untouched) {
    const outcome tried = run({UNTOUCHED}, "multipool", "MILLPOND_CHECK=1");
    if (tried.status == 77) GTEST_SKIP() << "the system does not give 2 GiB of addresses";
    EXPECT_EQ(tried.status, 0) << tried.error;
}

TEST_P(preloaded_variant, leaves_untouched_memory_untouched) {
    if (GetParam() == "monotonic") GTEST_SKIP() << "it uses no block again";
    const outcome tried = run({UNTOUCHED}, GetParam());
    if (tried.status == 77) GTEST_SKIP() << "the system does not give 2 GiB of addresses";
    EXPECT_EQ(tried.status, 0) << tried.error;
}

TEST_P(preloaded, freed_blocks_serve_larger_ones_at_a_limit) {
    for (const char* bytes : {"30000", "262144", "0"}) {
        const outcome tried = run({REUSE, bytes}, GetParam());
        EXPECT_EQ(tried.status, 0) << bytes << ' ' << tried.out << tried.error;
    }
}
TEST(multipool_at_a_limit, gives_large_blocks_although_some_small_ones_stay) {
    for (const char* threads : {"1", "4"})
        for (const char* bytes : {"4096", "30000", "1048576"}) {
            const outcome tried = run({REUSE, bytes, threads, "kept"}, "multipool");
            EXPECT_EQ(tried.status, 0) << bytes << ' ' << threads << ' ' << tried.out << tried.error;
        }
}

// ── memory ──────────────────────────────────────────────────────────────────────────────────────────────────────────

// The multipool gives memory back, and blocks of one size serve another; a classic allocator promises neither.
class preloaded_sharing : public testing::TestWithParam<pairing> {};
TEST_P(preloaded_sharing, stays_within_its_bound) {
    const outcome tried = run({SHARING, GetParam().second}, GetParam().first);
    EXPECT_EQ(tried.status, 0) << tried.error;
}
INSTANTIATE_TEST_SUITE_P(multipool, preloaded_sharing,
                         testing::Values(pairing{"multipool", "handover"}, pairing{"multipool", "threads"},
                                         pairing{"multipool", "sizes"}, pairing{"multipool", "returned"},
                                         pairing{"multipool", "ends"}),
                         &name_of_pair);
INSTANTIATE_TEST_SUITE_P(classic, preloaded_sharing,
                         testing::Values(pairing{"quick_fit", "handover"}, pairing{"gnu_local", "threads"},
                                         pairing{"first_fit", "sizes"}, pairing{"bsd", "ends"}),
                         &name_of_pair);

// Returns the least share that this library has for users, of the memory that the C library's malloc finds under a
// limit. Most of the rest is lost to rounding: to powers of two, to Fibonacci numbers times 32, and to a heap that only
// doubles.
double least_share(const std::string& library) {
    static const std::map<std::string, double> of_rounded = {
        {"bsd", 0.45}, {"binary_buddy", 0.45}, {"fibonacci_buddy", 0.45}, {"gnu_local", 0.75}};
    const auto found = of_rounded.find(library);
    return found != of_rounded.end() ? found->second : 0.95;
}

TEST_P(preloaded, leaves_its_share_under_a_limit) {
    const words kinds = GetParam() == "multipool" ? words{"as", "as_more", "as_late", "data"} : words{"as_more"};
    for (const std::string& kind : kinds) {
        for (const char* block : {"96", "4096", "40000"}) {
            const words program = {LIMITED, kind, "48", block, "1"};
            const outcome bare = run(program, ""), tried = run(program, GetParam());
            ASSERT_EQ(bare.status, 0) << bare.error;
            ASSERT_EQ(tried.status, 0) << kind << ' ' << block << tried.error;
            EXPECT_GT(std::stod(tried.out), least_share(GetParam()) * std::stod(bare.out)) << kind << ' ' << block;
        }
    }
}

TEST_P(preloaded, fails_no_program_under_a_small_limit_that_runs_bare) {
    for (const char* limit : {"8", "16", "32"}) {
        const words program = {LIMITED, "as", limit, "0", "1"};
        EXPECT_EQ(run(program, GetParam()).status, run(program, "").status) << limit;
    }
}

// ── the checked mode of the multipool ───────────────────────────────────────────────────────────────────────────────

const std::string checked = "MILLPOND_CHECK=1";

class checked_misuse : public testing::TestWithParam<std::array<const char*, 3>> {};
TEST_P(checked_misuse, is_reported_with_block_and_sites) {
    const auto [what, kind, block] = GetParam();
    const outcome tried = run({MISUSING, what}, "multipool", checked);
    EXPECT_EQ(tried.status, -SIGABRT);
    EXPECT_EQ(tried.error.find("millpond: " + std::string(kind) + ": "), 0) << tried.error;
    EXPECT_NE(tried.error.find(block), std::string::npos) << tried.error;
    EXPECT_NE(tried.error.find("(test_misusing+0x"), std::string::npos) << tried.error;
    EXPECT_EQ(tried.error.find("libmillpond"), std::string::npos) << tried.error;
}
INSTANTIATE_TEST_SUITE_P(each, checked_misuse,
                         testing::Values(std::array{"double_free", "double free", "block of 24 bytes"},
                                         std::array{"overrun", "overrun", "at byte 24, behind its end"},
                                         std::array{"overrun_at_exit", "overrun", "at byte 27, behind its end"},
                                         std::array{"underrun", "underrun", "1 bytes before its start"},
                                         std::array{"use_after_free", "use after free", "at byte 5 after it was freed"},
                                         std::array{"use_after_realloc", "use after free", "block of 24 bytes"},
                                         std::array{"large_overrun", "overrun", "block of 100000 bytes"},
                                         std::array{"interior", "foreign pointer",
                                                    "8 bytes inside the block of 24 bytes"},
                                         std::array{"stack", "foreign pointer", "is not a block"},
                                         std::array{"page", "foreign pointer", "is not a block"},
                                         std::array{"realloc_of_freed", "double free", "block of 24 bytes"}),
                         [](const auto& each) { return std::string(each.param[0]); });

TEST(checked_clean, programs_end_as_bare) {
    expect_as_bare({MISUSING, "clean"}, "multipool", checked);
    expect_as_bare({SEMANTICS_C}, "multipool", checked);
    expect_as_bare({STRUCTURES, "200", "4"}, "multipool", checked);
    expect_as_bare({"/usr/bin/sort", "/etc/passwd"}, "multipool", checked);
    // Not "threads", which allocates in children of _Fork: checked_malloc.hpp.
    for (const char* how : {"streams", "handlers", "vfork", "spawn"})
        expect_as_bare({FORKING, how}, "multipool", checked);
}
TEST(checked_clean, the_variable_turns_it_on) {
    const outcome unchecked = run({MISUSING, "overrun_at_exit"}, "multipool");
    EXPECT_EQ(unchecked.status, 0) << unchecked.error;
}

}  // namespace
