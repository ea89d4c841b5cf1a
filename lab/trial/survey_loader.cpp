// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/survey_loader.hpp"

#include <stdlib.h>

#include <sstream>

#include "lab/measure/measurement.hpp"
#include "lab/measure/preload_check.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/symbols/module_functions.hpp"
#include "lab/trial/scratch_file.hpp"

namespace millpond::trial {
namespace {

constexpr std::size_t list_bytes_max = 1u << 20;

surveyed_module module_at(const std::string& path) {
    try {
        return {path, symbols::module_functions(path).build_id()};
    } catch (const std::runtime_error& error) {
        throw program::failure(program::input, path + ": " + error.what());
    }
}

// What the dynamic linker prints instead of running the program: "libc.so.6 => /lib/libc.so.6 (0x7f…)" a line.
std::string listed_by_loader(const std::string& image) {
    const scratch_file list("");
    measure::start_options options;
    options.stdin_path = options.stderr_path = "/dev/null";
    options.stdout_path = list.path();
    options.environment.emplace_back("LD_TRACE_LOADED_OBJECTS", "1");
    measure::measure(image, {image}, options);
    return program::read_regular(list.path(), list_bytes_max);
}

}  // namespace

survey survey_loader(const std::string& path) {
    const std::string image = measure::check_preloadable(path).image;
    char* const real = ::realpath(image.c_str(), nullptr);
    const std::string program = real != nullptr ? real : image;
    ::free(real);
    survey result;
    surveyed_process& process = result.processes.emplace_back();
    process.program = module_at(program);
    process.modules.push_back(process.program);
    std::istringstream lines(listed_by_loader(program));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find('/'), last = line.rfind(" (0x");
        if (first != std::string::npos && last != std::string::npos && first < last)
            process.modules.push_back(module_at(line.substr(first, last - first)));
    }
    return result;
}

}  // namespace millpond::trial
