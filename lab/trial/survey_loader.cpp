// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/survey_loader.hpp"

#include <stdlib.h>

#include "lab/measure/preload_check.hpp"
#include "lab/program/program.hpp"
#include "lab/symbols/module_functions.hpp"

namespace millpond::trial {
namespace {

surveyed_module module_at(const std::string& path) {
    try {
        return {path, symbols::module_functions(path).build_id()};
    } catch (const std::runtime_error& error) {
        throw program::failure(program::input, path + ": " + error.what());
    }
}

}  // namespace

survey survey_loader(const std::vector<std::string>& command) {
    const measure::preloadable started = measure::check_preloadable(command);
    char* const real = ::realpath(started.image.c_str(), nullptr);
    const std::string program = real != nullptr ? real : started.image;
    ::free(real);
    survey result;
    surveyed_process& process = result.processes.emplace_back();
    process.program = module_at(program);
    process.modules.push_back(process.program);
    for (const std::string& module : started.modules) process.modules.push_back(module_at(module));
    return result;
}

}  // namespace millpond::trial
