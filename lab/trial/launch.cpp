// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/launch.hpp"

#include <unistd.h>

#include <climits>

#include "lab/measure/preload_check.hpp"
#include "lab/probes/wanted_scopes.hpp"
#include "lab/program/program.hpp"
#include "lab/trial/control.hpp"

namespace millpond::trial {

namespace {

std::string library_path(const std::string& name) {
    char own[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", own, sizeof own);
    const std::string program(own, length > 0 ? static_cast<std::size_t>(length) : 0);
    const std::string folder = program.substr(0, program.rfind('/'));
    const std::string library = folder.substr(0, folder.rfind('/')) + "/lib/millpond/" + name;
    if (::access(library.c_str(), R_OK) != 0)
        throw program::failure(program::environment,
                               "the library to preload is not at '" + library + "': install millpond whole");
    if (library.find_first_of(" :") != std::string::npos)
        throw program::failure(program::environment,
                               "the library to preload is at '" + library +
                                   "', and LD_PRELOAD takes no path with spaces or colons: install millpond elsewhere");
    return library;
}

}  // namespace

std::string trial_library_path() { return library_path("libmillpond-trial.so"); }

measure::measurement run(const launch& launched, const std::string& control_path, const std::string& scopes) {
    measure::start_options options;
    options.stdin_path = launched.stdin_path;
    options.stdout_path = launched.stdout_path;
    options.stderr_path = launched.stderr_path;
    options.dies_with_caller = true;
    // The bare program runs under the same conditions as the others, so a program that cannot be preloaded is refused
    // here, too.
    const std::string path = measure::check_preloadable(launched.arguments).path;
    for (const std::string& variable : launched.variables) {
        const std::size_t equals = variable.find('=');
        options.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    }
    if (!control_path.empty()) {
        std::string libraries = trial_library_path();
        if (!scopes.empty()) {
            libraries += ":" + library_path("libmillpond-probes.so");
            options.environment.emplace_back(probes::scopes_variable, scopes);
        }
        options.environment.emplace_back("LD_PRELOAD", measure::preload_value(libraries));
        options.environment.emplace_back(control_variable, control_path);
    }
    measure::add_padding(options, launched.padding_bytes);
    return measure::measure(path, launched.arguments, options);
}

}  // namespace millpond::trial
