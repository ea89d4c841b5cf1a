// SPDX-License-Identifier: BSL-1.0
// command_line: guarded_main for a program whose command line CLI11 parses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lab/program/program.hpp"

namespace millpond::program {

// Parses, then returns what `action` returns. A parse error, which `action` may throw too, ends with status 2 and
// `hint` behind its message; --help prints the help and ends with 0.
template <class Action>
int guarded_main(CLI::App& app, int argc, char** argv, const Action& action, const std::string& hint = "") {
    return guarded_main([&]() -> int {
        try {
            app.parse(argc, argv);
            return action();
        } catch (const CLI::ParseError& error) {
            if (error.get_exit_code() == 0) return app.exit(error);
            throw failure(usage, error.what() + hint);
        }
    });
}

}  // namespace millpond::program
