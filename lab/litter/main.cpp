// SPDX-License-Identifier: BSL-1.0
// millpond-litter: runs an unmodified program whose heap is littered before its main begins.
//
//   options ──▶ pattern ──▶ LD_PRELOAD, an inherited descriptor ──execve──▶ the program, in the same process
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/litter/pattern.hpp"
#include "lab/litter/pattern_layout.hpp"
#include "lab/measure/preload_check.hpp"
#include "lab/measure/start.hpp"
#include "lab/program/command_line.hpp"

namespace {

using namespace millpond;

struct litter_options {
    std::uint64_t blocks = 100'000;
    std::string trace;
    double fraction = 0.5;
    std::uint64_t seed = 1;
    std::vector<std::string> command;
};

std::string own_library() {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return (folder / "../lib/millpond/libmillpond-litter.so").lexically_normal();
}

[[noreturn]] void become(const litter_options& options) {
    const std::string path = measure::check_preloadable(options.command).path;
    const std::string library = own_library();
    if (::access(library.c_str(), R_OK) != 0) throw program::failure(program::environment, library + " is missing");
    std::vector<std::uint32_t> sizes =
        options.trace.empty() ? litter::drawn_sizes(options.blocks, options.seed) : litter::traced_sizes(options.trace);
    const int file = litter::write_pattern(litter::draw(std::move(sizes), options.fraction, options.seed));
    std::vector<char*> arguments;
    arguments.reserve(options.command.size() + 1);
    for (const std::string& each : options.command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    ::setenv("LD_PRELOAD", measure::preload_value(library).c_str(), 1);
    ::setenv(litter::pattern_variable, std::to_string(file).c_str(), 1);
    ::execv(path.c_str(), arguments.data());
    throw program::failure(program::not_started, "cannot start " + path + ": " + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
    program::command_line app{"Runs a program with a littered heap, and ends with its status.",
                              {},
                              "\nmillpond: run with --help for the options"};
    litter_options options;
    const auto blocks =
        app.option("--blocks", options.blocks, "the number of blocks of 16 to 1024 bytes (default: 100000)")
            .value_name("N")
            .within(std::uint64_t{1}, litter::most_drawn);
    app.option("--trace", options.trace, "use the sizes of this trace's allocations instead, without its frees")
        .value_name("FILE")
        .excludes(blocks);
    app.option("--fraction", options.fraction, "the share of the blocks that is freed, in random order (default: 0.5)")
        .value_name("F")
        .within(0.0, 1.0);
    app.option("--seed", options.seed, "the seed of all random choices (default: 1)").value_name("N");
    app.option("command", options.command, "-- PROGRAM ARGS").value_name("");
    return program::guarded_main(app, argc, argv, [&]() -> int {
        if (options.command.empty()) throw app.refusal("millpond-litter [OPTIONS] -- PROGRAM ARGS");
        become(options);
    });
}
