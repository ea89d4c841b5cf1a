// SPDX-License-Identifier: BSL-1.0
// millpond-reserve_commit-suite: runs the measurements of "Reserve and commit", at three levels of optimisation.
//
// There is one program for each level: --optimisation 0 starts millpond-reserve_commit-suite-O0, in the same folder.
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "lab/program/program.hpp"
#include "lab/suites/frame/contender.hpp"
#include "lab/suites/frame/suite.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

constexpr std::string_view usual_program = "millpond-reserve_commit-suite";

std::span<const frame::contender> contenders() {
    static constexpr const frame::package* standard = &frame::packages::standard_library;
    static constexpr frame::contender all[] = {
        {.name = "vector", .alias = "std::vector", .kind = "heap_array", .from = standard},
        {.name = "dyn_array_2023", .alias = "DynArray", .kind = "array"},
        {.name = "dyn_array"},
        {.name = "deque", .kind = "heap_array", .from = standard},
        {.name = "chunked", .kind = "heap_array"},
        {.name = "realloc", .kind = "heap_array", .from = &frame::packages::libc},
        {.name = "mremap", .kind = "array"},
        {.name = "keep", .kind = "ideal"},
        {.name = "madv_free", .alias = "MADV_FREE", .kind = "system"},
        {.name = "madv_dontneed", .alias = "MADV_DONTNEED", .kind = "system"},
        {.name = "decommit"},
    };
    return all;
}

constexpr const frame::workload* workloads[] = {&reserve_commit::growth, &reserve_commit::latency,
                                                &reserve_commit::commit_step, &reserve_commit::give_back};
constexpr frame::suite suite{.name = "reserve_commit",
                             .of = "a measurement of \"Reserve and commit\"",
                             .workloads = workloads,
                             .contenders = contenders,
                             .note_blocks = reserve_commit::note_blocks};

// Returns: the level that the line asks for; this program's own if the line names no valid level (the suite reports
// that).
int level_of(int argc, char** argv) {
    int level = static_cast<int>(reserve_commit::optimisation_parameter.usual);
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::string_view(argv[i]) != "--optimisation") continue;
        const std::string_view given = argv[i + 1];
        level = given == "0" || given == "1" || given == "2" ? given[0] - '0' : MILLPOND_LEVEL;
    }
    return level;
}

// Returns only if the other program cannot be started.
int start(int level, char** argv) {
    std::error_code error;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    std::string name(usual_program);
    if (level != reserve_commit::optimisation_parameter.usual) name += "-O" + std::to_string(level);
    const std::string path = here / name;
    if (!error) ::execv(path.c_str(), argv);
    return program::fail(
        program::environment,
        "cannot start " + path + ", which has this optimisation: build it in the folder of this program");
}

}  // namespace

int main(int argc, char** argv) {
    const int level = level_of(argc, argv);
    return level == MILLPOND_LEVEL ? frame::run_suite(suite, argc, argv) : start(level, argv);
}
